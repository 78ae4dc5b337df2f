"""Images of a real Vitastor cluster: measured by fio's engine and by vitastor-nbd, and gone afterwards, killed or not.

These tests run where RAIDTUI_VITASTOR names a folder with an installation of Vitastor for the lab's Debian 13, and are
skipped elsewhere, because no distribution has Vitastor. The folder is copied to /opt/vitastor of a lab:

- `bin/`: vitastor-cli, vitastor-nbd, vitastor-osd, and whatever else `up` needs (etcd, the monitor);
- `lib/`: libraries, with libfio_vitastor.so built for the fio of Debian 13;
- `up`: a program that, as root, starts a cluster of three OSDs in the guest (in files, each of 2 GiB or less), writes
  /etc/vitastor/vitastor.conf, and ends when `vitastor-cli status` shows three OSDs up. bin/ is in its PATH.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import start_lab
from lab_kills import killed_at
from lab_runs import raidtui
from raidtui.lab.control import Lab

FOLDER = os.environ.get("RAIDTUI_VITASTOR", "")

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not FOLDER, reason="RAIDTUI_VITASTOR names no installation of Vitastor"),
]

SMALL: dict[str, Any] = {"size": "16MiB", "pg_num": 4, "failure_domain": "osd"}
COPIES: dict[str, Any] = {**SMALL, "replicated": {"size": 2, "min_size": 1}}
XOR: dict[str, Any] = {**SMALL, "images": 2, "erasure": {"k": 2, "m": 1, "scheme": "xor"}}
LEFT = (
    "vitastor-cli ls-pools --json | python3 -c 'import json, sys; print([p[\"name\"] for p in json.load(sys.stdin)])'"
    "; vitastor-cli ls --json; vitastor-nbd ls --json; ls /dev/vitastor 2>&1"
)
"""Pools, images and mappings of the cluster."""
SET_UP = (
    "echo /opt/vitastor/lib > /etc/ld.so.conf.d/vitastor.conf && ldconfig"
    " && ln -sf /opt/vitastor/bin/* /usr/local/bin/ && /opt/vitastor/up"
)


def layout(options: dict[str, Any], through: str) -> dict[str, Any]:
    return {"vitastor": {**options, "through": through}}


def scenario(layouts: dict[str, Any]) -> dict[str, Any]:
    depth = {"bs": "4KiB", "iodepth": 4, "runtime": "6s"}
    workloads = {"write": {"fio": {"rw": "randwrite", **depth}}, "read": {"fio": {"rw": "randread", **depth}}}
    return {"schema": "raidtui.scenario/1", "name": "vitastor", "roles": {}, "layouts": layouts, "workloads": workloads,
            "policy": {"rounds": 1, "cooldown": "1s"}}  # fmt: skip


def words(layouts: dict[str, Any], folder: Path) -> list[str]:
    (folder / "vitastor.json").write_text(json.dumps(scenario(layouts)))
    return [str(folder / "vitastor.json"), "-o", str(folder / "vitastor.result.json")]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("vitastor", "1x64M")
    try:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            tar.add(FOLDER, arcname="vitastor")
        lab.run("tar -xC /opt", 600, input_bytes=packed.getvalue())
        lab.run(SET_UP, 1800)
        make = "vitastor-cli create-pool canary -s 2 --pg_minsize 1 -n 4 --failure_domain osd --wait --json"
        lab.run(make, 300, check=False)  # it may say that the pool is not active yet
        lab.wait_for("vitastor-cli create -s 16M -p canary kept", 300)
        lab.run("head -c 16M /dev/urandom > /tmp/kept && vitastor-cli dd if=/tmp/kept oimg=kept", 300)
        yield lab
    finally:
        lab.down()


def canary(lab: Lab) -> str:
    return lab.run("vitastor-cli dd iimg=kept of=/tmp/found && sha256sum < /tmp/found", 300).text


@pytest.mark.parametrize("through", ["engine", "nbd"])
def test_it_is_measured_and_gone(lab: Lab, through: str, tmp_path: Path) -> None:
    layouts = {"copies": layout(COPIES, through), "xor": layout(XOR, through)}
    before, kept = lab.run(LEFT, 300).text, canary(lab)
    done = raidtui(lab, "replay", *words(layouts, tmp_path), timeout_s=3000)
    result = json.loads((tmp_path / "vitastor.result.json").read_text())
    marks = [mark for cell in result["cells"] for mark in cell.get("marks", ())]
    wrong = {mark["code"] for mark in marks if mark.get("weight", "invalid") == "invalid"}
    assert wrong <= {"vitastor-slow-ops"}, done.stdout + done.stderr  # two emulated cores are slow
    assert all(cell["summary"] for cell in result["cells"])
    assert {one["layout"] for one in result["layouts"] if one["taken_down"]} == set(layouts)
    assert lab.run(LEFT, 300).text == before
    assert canary(lab) == kept


@pytest.mark.parametrize(
    ("options", "through", "points"),
    [
        (COPIES, "nbd", ("vitastor.pool:create-pool", "vitastor.images:create", "vitastor.map:map", "measure:after")),
        (COPIES, "nbd", ("vitastor.unmap:after", "vitastor.remove:before")),
        (XOR, "engine", ("vitastor.images:before", "measure:after", "vitastor.remove:after")),
    ],
    ids=["nbd", "nbd-down", "engine"],
)
def test_a_killed_run_leaves_nothing(lab: Lab, options: dict[str, Any], through: str, points: tuple[str, ...]) -> None:
    before, kept = lab.run(LEFT, 300).text, canary(lab)
    killed_at(lab, scenario({"images": layout(options, through)}), {}, ",".join(points), 3000)
    assert lab.run(LEFT, 300).text == before
    assert canary(lab) == kept


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"erasure": {"k": 4, "m": 2}}, "vitastor-too-few-domains"),
        ({"failure_domain": "host", "replicated": {"size": 2}}, "vitastor-too-few-domains"),
        ({"size": "1000GiB"}, "vitastor-too-large"),
        ({"config": "/etc/vitastor/none.conf"}, "vitastor-no-config"),
    ],
)
def test_what_the_cluster_would_refuse_is_refused_by_the_plan(
    lab: Lab, more: dict[str, Any], code: str, tmp_path: Path
) -> None:
    before = lab.run(LEFT, 300).text
    done = raidtui(lab, "plan", words({"images": {"vitastor": {**SMALL, **more}}}, tmp_path)[0], timeout_s=600)
    assert done.returncode == 3
    assert code in done.stderr
    assert lab.run(LEFT, 300).text == before


def test_a_cluster_whose_osd_died_is_not_measured(lab: Lab, tmp_path: Path) -> None:
    """Its placement groups are incomplete at once, although it counts as up for some seconds. It stays dead."""
    lab.run("kill -KILL $(pgrep -x osd3)", 60)
    lab.wait_for("! vitastor-cli status --json | grep -q '\"pg_states\": {\"active\": [0-9]*}'", 120)
    done = raidtui(lab, "plan", words({"images": layout(COPIES, "engine")}, tmp_path)[0], timeout_s=600)
    assert done.returncode == 3
    assert "vitastor-" in done.stderr
