"""Images of a real Ceph cluster: measured by the kernel's client and by librbd, and gone afterwards, killed or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import start_lab
from lab_kills import killed_at
from lab_runs import raidtui
from raidtui.lab.control import Lab
from raidtui.lab.flavours import CEPH

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]

CANARY = "canary/kept"
SMALL = {"size": "16MiB", "pg_num": 4}
COPIES: dict[str, Any] = {"rbd": {**SMALL, "replicated": {"size": 2}, "features": ["layering", "exclusive-lock"]}}
PIECES: dict[str, Any] = {"rbd": {**SMALL, "images": 2, "erasure": {"k": 2, "m": 1}, "failure_domain": "osd"}}
LEFT = (
    "ceph osd pool ls; ceph osd crush rule ls; ceph osd erasure-code-profile ls; ls /sys/bus/rbd/devices 2>/dev/null;"
    " ceph osd dump | grep ^flags"
)
"""Pools, rules, profiles, mappings and flags of the cluster."""


def through_librbd(layout: dict[str, Any]) -> dict[str, Any]:
    return {"rbd": {**layout["rbd"], "through": "librbd", "scrub": "hold"}}


def scenario(layouts: dict[str, Any]) -> dict[str, Any]:
    depth = {"bs": "4KiB", "iodepth": 4, "runtime": "6s"}
    workloads = {"write": {"fio": {"rw": "randwrite", **depth}}, "read": {"fio": {"rw": "randread", **depth}}}
    return {"schema": "raidtui.scenario/1", "name": "rbd", "roles": {}, "layouts": layouts, "workloads": workloads,
            "policy": {"rounds": 1, "cooldown": "1s"}}  # fmt: skip


def words(layouts: dict[str, Any], folder: Path) -> list[str]:
    (folder / "rbd.json").write_text(json.dumps(scenario(layouts)))
    return [str(folder / "rbd.json"), "-o", str(folder / "rbd.result.json")]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("rbd", "1x64M", flavour=CEPH)
    try:
        lab.run("ceph osd pool create canary 4 4 replicated --size 2 && ceph osd pool application enable canary rbd", 300)
        lab.run(f"head -c 4M /dev/urandom > /tmp/kept && rbd import --no-progress /tmp/kept {CANARY}", 300)
        yield lab
    finally:
        lab.down()


def canary(lab: Lab) -> str:
    return lab.run(f"rbd export --no-progress {CANARY} - | sha256sum; rbd info {CANARY} | grep -v timestamp", 300).text


@pytest.mark.parametrize(
    "layouts",
    [{"copies": COPIES, "pieces": PIECES}, {"copies": through_librbd(COPIES), "pieces": through_librbd(PIECES)}],
    ids=["krbd", "librbd"],
)
def test_it_is_measured_and_gone(lab: Lab, layouts: dict[str, Any], tmp_path: Path) -> None:
    before, kept = lab.run(LEFT, 300).text, canary(lab)
    done = raidtui(lab, "replay", *words(layouts, tmp_path), timeout_s=3000)
    result = json.loads((tmp_path / "rbd.result.json").read_text())
    # Two emulated cores may change the map; nothing else is forgiven.
    marks = [mark for cell in result["cells"] for mark in cell.get("marks", ())]
    wrong = {mark["code"] for mark in marks if mark.get("weight", "invalid") == "invalid"}
    assert wrong <= {"rbd-map-changed", "rbd-slow-ops"}, done.stdout + done.stderr
    assert all(cell["summary"] for cell in result["cells"])
    assert {one["layout"] for one in result["layouts"] if one["taken_down"]} == set(layouts)
    assert lab.run(LEFT, 300).text == before
    assert canary(lab) == kept


@pytest.mark.parametrize("through", ["krbd", "librbd"])
def test_a_cell_has_its_daemons_and_its_client(lab: Lab, through: str, tmp_path: Path) -> None:
    options = {**COPIES["rbd"], "through": through}
    done = raidtui(lab, "replay", *words({"copies": {"rbd": options}}, tmp_path), timeout_s=3000)
    result = json.loads((tmp_path / "rbd.result.json").read_text())
    write, read = sorted(result["cells"], key=lambda cell: cell["workload"], reverse=True)
    for cell in (write, read):
        print(cell["cores"], cell["daemons"], cell.get("write_amplification"))
        assert cell["daemons"] == {"osd": 3, "mon": 1, "mgr": 1}
        assert {kind: use["processes"] for kind, use in cell["cores"]["daemons"].items()} == cell["daemons"]
        assert all(use["memory_bytes"] > 10 << 20 for use in cell["cores"]["daemons"].values())
        assert 0 < cell["cores"]["daemons"]["osd"]["user"] <= cell["cores"]["cpus"]
        assert cell["cores"]["workload_user"] + cell["cores"]["workload_system"] > 0
        busy = [mark["about"] for mark in cell.get("marks", ()) if mark["code"] == "noisy-neighbour"]
        assert not [about for about in busy if "ceph-" in about]
    written = sum(one["bytes"] for name, one in write["summary"].items() if name == "write")
    assert write["cores"]["daemons"]["osd"]["written_bytes"] >= 2 * written
    assert write["write_amplification"] >= 2.0 == write["expected_write_amplification"]["low"]
    assert write["cores"]["sent_bytes"] >= 2 * written, "from the client to one OSD, and from there to the other one"
    shown = raidtui(lab, "show", str(tmp_path / "rbd.result.json"), timeout_s=300).stdout
    assert ("5 of 5" in shown) == bool(write["valid"] or read["valid"]), shown + done.stderr


COUNTED_TWICE = """
import glob, json, os, subprocess, sys, time
sys.path.insert(0, "/opt/raidtui")
import msgspec
from raidtui.watch.cores import CoreWatch

KINDS = {"ceph-osd": "osd", "ceph-mon": "mon", "ceph-mgr": "mgr"}
pids = [path.split("/")[2] for path in glob.glob("/proc/[0-9]*/comm") if open(path).read().strip() == "ceph-osd"]

def ticks():
    fields = [open(f"/proc/{pid}/stat").read().rpartition(")")[2].split() for pid in pids]
    return time.monotonic(), sum(int(one[11]) + int(one[12]) for one in fields)

load = subprocess.Popen(["rbd", "bench", "--io-type", "write", "--io-size", "16K", "--io-threads", "4", "--io-total", "1G",
                         "counted/twice"], stdout=subprocess.DEVNULL)
time.sleep(10)
watch = CoreWatch(None, ())
before = ticks()
watch.start(KINDS)
time.sleep(40)
cores = watch.stop()
after = ticks()
load.kill()
own = (after[1] - before[1]) / os.sysconf("SC_CLK_TCK") / (after[0] - before[0])
print(json.dumps({"osds": len(pids), "own": own, "seen": msgspec.to_builtins(cores)}))
"""


def test_cores_of_osds_are_those_that_the_kernel_tells(lab: Lab) -> None:
    lab.run("ceph osd pool create counted 4 4 replicated --size 2 && rbd create --size 16M counted/twice", 300)
    try:
        lab.raidtui("--version")  # brings the code over
        seen = json.loads(lab.run(["python3", "-I", "-"], 300, input_bytes=COUNTED_TWICE.encode()).out)
    finally:
        lab.run("ceph osd pool delete counted counted --yes-i-really-really-mean-it", 300)
    osd = seen["seen"]["daemons"]["osd"]
    print(seen)
    assert osd["processes"] == seen["osds"] == 3
    assert seen["own"] > 0.1
    assert osd["user"] + osd["system"] == pytest.approx(seen["own"], rel=0.05)


@pytest.mark.parametrize(
    ("layout", "points"),
    [
        (COPIES, ("rbd.pool:/usr/bin/ceph", "rbd.images:create", "rbd.map:map", "measure:after", "rbd.unmap:after")),
        (through_librbd(PIECES), ("rbd.hold:after", "rbd.images:before", "measure:after", "rbd.remove:after")),
    ],
    ids=["krbd", "librbd"],
)
def test_a_killed_run_leaves_nothing(lab: Lab, layout: dict[str, Any], points: tuple[str, ...]) -> None:
    before, kept = lab.run(LEFT, 300).text, canary(lab)
    killed_at(lab, scenario({"images": layout}), {}, ",".join(points), 3000)
    assert lab.run(LEFT, 300).text == before
    assert canary(lab) == kept


INTO: dict[str, Any] = {"rbd": {"size": "16MiB", "images": 2, "pool": "canary"}}
OF_POOL = f"{LEFT}; rbd ls canary; rbd config pool ls canary --format json; ceph osd pool get canary all"
"""The pool that is there, too: its images, its settings for images, its own settings."""


@pytest.mark.parametrize("through", ["krbd", "librbd"])
def test_images_in_a_pool_that_is_there_leave_it_as_it_was(lab: Lab, through: str, tmp_path: Path) -> None:
    before, kept = lab.run(OF_POOL, 300).text, canary(lab)
    layouts = {"into": {"rbd": {**INTO["rbd"], "through": through}}}
    for consent in ([], ["--pool", "rbd"]):
        refused = raidtui(lab, "replay", *words(layouts, tmp_path), *consent, timeout_s=600)
        assert (refused.returncode, "pool-consent" in refused.stderr) == (3, True), refused.stderr
    done = raidtui(lab, "replay", *words(layouts, tmp_path), "--pool", "canary", timeout_s=3000)
    result = json.loads((tmp_path / "rbd.result.json").read_text())
    assert all(cell["summary"] for cell in result["cells"]), done.stdout + done.stderr
    assert [one["taken_down"] for one in result["layouts"]] == [True]
    assert lab.run(OF_POOL, 300).text == before
    assert canary(lab) == kept


def test_a_killed_run_takes_its_images_alone_from_a_pool_that_is_there(lab: Lab) -> None:
    before, kept = lab.run(OF_POOL, 300).text, canary(lab)
    points = ("rbd.put:before", "rbd.put:create", "rbd.put:after", "rbd.map:map", "measure:after", "rbd.take:rm")
    killed_at(lab, scenario({"into": INTO}), {}, ",".join(points), 3000)
    assert lab.run(OF_POOL, 300).text == before
    assert canary(lab) == kept


def test_a_pool_that_is_missing_or_has_a_quota_is_refused_by_its_name(lab: Lab, tmp_path: Path) -> None:
    found = []
    lab.run("ceph osd pool set-quota canary max_bytes 33554432", 300)  # 4 MiB are in it
    try:
        for pool in ("none", "canary"):
            done = raidtui(lab, "plan", words({"into": {"rbd": {**INTO["rbd"], "pool": pool}}}, tmp_path)[0], timeout_s=600)
            codes = tuple(code in done.stderr for code in ("rbd-pool-missing", "rbd-quota"))
            found.append((done.returncode, *codes, pool in done.stderr))
    finally:
        lab.run("ceph osd pool set-quota canary max_bytes 0", 300)
    assert found == [(3, True, False, True), (3, False, True, True)]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"erasure": {"k": 4, "m": 2}, "failure_domain": "osd"}, "rbd-too-few-domains"),
        ({"size": "100GiB"}, "rbd-too-large"),
        ({"user": "nobody"}, "rbd-not-admitted"),
        ({"user": "images", "keyring": "/etc/ceph/ceph.client.images.keyring"}, "rbd-no-permission"),
        ({"conf": "/etc/ceph/none.conf"}, "rbd-no-conf"),
    ],
)
def test_what_the_cluster_would_refuse_is_refused_by_the_plan(
    lab: Lab, more: dict[str, Any], code: str, tmp_path: Path
) -> None:
    before = lab.run(LEFT, 300).text
    done = raidtui(lab, "plan", words({"images": {"rbd": {**SMALL, **more}}}, tmp_path)[0], timeout_s=600)
    assert done.returncode == 3
    assert code in done.stderr
    assert lab.run(LEFT, 300).text == before


def test_a_cluster_that_lets_nobody_delete_pools_gets_none(lab: Lab, tmp_path: Path) -> None:
    lab.run("ceph tell mon.* injectargs --mon_allow_pool_delete=false", 300)
    try:
        done = raidtui(lab, "plan", words({"images": COPIES}, tmp_path)[0], timeout_s=600)
    finally:
        lab.run("ceph tell mon.* injectargs --mon_allow_pool_delete=true", 300)
    assert (done.returncode, "rbd-pool-delete" in done.stderr) == (3, True), done.stderr
