"""A busy loop, and a dd on another disk of the same controller, are named in the cell that they ran beside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import start_lab
from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

LOOP = "setsid python3 -c 'while True: pass' > /dev/null 2>&1 < /dev/null &"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("neighbours", "3x1100M:ssd,1x32G:ssd", cpus=2)
    try:
        yield lab
    finally:
        lab.down()


def replayed(lab: Lab, tmp_path: Path, *, disturb: str = "") -> dict[str, Any]:
    """Measure three of the four disks; with `disturb`, run this in the guest once the workload has begun. The cell."""
    path, out = tmp_path / "neighbours.json", tmp_path / "out.result.json"
    path.write_text(json.dumps({
        "schema": "raidtui.scenario/1", "name": "neighbours", "roles": {"data": {"count": 3}},
        "layouts": {"raid0": {"md": {"level": "raid0", "on": "@data", "chunk": "64KiB"}}},
        "workloads": {"read": {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 4, "size": "128MiB", "runtime": "20s"}}},
        "policy": {"initial_sync": "skip-if-zeroed"},
    }))  # fmt: skip
    disks = ",".join(lab.serials[:3])
    words = ("replay", str(path), "--bind", f"data={disks}", "--erase", disks, "-o", str(out))
    if disturb:
        process, _ = start_and_await(lab, "measure", *words)
        lab.run(disturb)
        said = process.communicate(timeout=600)
        assert out.exists(), said
    else:
        done = raidtui(lab, *words, timeout_s=900)
        assert out.exists(), done.stdout + done.stderr
    (cell,) = json.loads(out.read_text())["cells"]
    print([(mark["code"], mark["sentence"]) for mark in cell.get("marks", ())], cell["host"])
    return cell


def test_a_quiet_server_has_no_neighbour_and_the_workload_is_accounted(lab: Lab, tmp_path: Path) -> None:
    cell = replayed(lab, tmp_path)
    assert not {mark["code"] for mark in cell.get("marks", ())} & {"noisy-neighbour", "foreign-writes", "swapped"}
    fio, read = cell["host"]["workload"], cell["summary"]["read"]["bytes"]
    assert fio["user_s"] + fio["system_s"] > 0.5
    assert read * 0.9 < fio["read_bytes"] < read * 1.1 + (4 << 20)
    assert fio["context_switches"] > 1000
    assert fio["memory_max_bytes"] > 1 << 20
    assert fio["threads"] >= 1
    assert len(fio["at_s"]) >= 15
    assert {len(values) for values in fio["series"].values()} == {len(fio["at_s"])}
    assert max(filter(None, fio["series"]["context_switches_per_s"])) > 10
    own = cell["host"]["own"]
    assert 0 < own["user_s"] + own["system_s"] < cell["seconds"]


def test_a_busy_loop_and_a_dd_on_another_disk_are_named(lab: Lab, tmp_path: Path) -> None:
    other = lab.kernel_name(lab.serials[3])
    dd = f"setsid dd if=/dev/zero of=/dev/{other} bs=64k oflag=direct > /dev/null 2>&1 < /dev/null &"
    cell = replayed(lab, tmp_path, disturb=f"{dd} {LOOP}")
    lab.run("pkill -x dd; pkill -f 'while True'", check=False)
    named = {mark["about"].split()[1]: mark for mark in cell["marks"] if mark["code"] == "noisy-neighbour"}
    assert {"dd", "python3"} <= named.keys()
    assert "used 0." in named["python3"]["sentence"] or "used 1." in named["python3"]["sentence"]
    assert cell["valid"]
    assert f"with {other} of the same controller open for writing" in named["dd"]["sentence"]
    dd_use = next(one for one in cell["host"]["neighbours"] if one["name"] == "dd")
    assert dd_use["written_bytes"] > 10 << 20
    assert cell["host"]["beside_written_bytes"][other] > 10 << 20
