"""A busy loop, and a dd on another disk of the same controller, are named in the cell that they ran beside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lab_harness import start_lab
from lab_runs import start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

LOOP = "python3 -c 'while True: pass'"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("neighbours", "3x1100M:ssd,1x32G:ssd", cpus=2)
    try:
        yield lab
    finally:
        lab.down()


@pytest.fixture(scope="module")
def cells(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Two cells on three of the four disks: one beside a busy loop and a dd on the fourth disk, then one in peace."""
    folder = tmp_path_factory.mktemp("neighbours")
    path, out = folder / "neighbours.json", folder / "out.result.json"
    read = {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 4, "size": "128MiB", "runtime": "15s"}}
    path.write_text(json.dumps({
        "schema": "raidtui.scenario/1", "name": "neighbours", "roles": {"data": {"count": 3}},
        "layouts": {"raid0": {"md": {"level": "raid0", "on": "@data", "chunk": "64KiB"}}},
        "workloads": {"busy": read, "quiet": read},
        "policy": {"initial_sync": "skip-if-zeroed"},
    }))  # fmt: skip
    disks = ",".join(lab.serials[:3])
    process, run = start_and_await(lab, "measure", "replay", str(path), "--bind", f"data={disks}", "--erase", disks,
                                   "-o", str(out))  # fmt: skip
    dd = f"dd if=/dev/zero of=/dev/{lab.kernel_name(lab.serials[3])} bs=64k oflag=direct"
    # They end with the first cell. Nobody asks over ssh how far it is: that would be a neighbour of the second one.
    until = f"tail -n +1 -f /var/lib/raidtui/runs/{run}/journal.jsonl | grep -q -m 1 cell-done; kill $a $b"
    (folder / "beside").write_text(f"{dd} & a=$!\n{LOOP} & b=$!\n{until}\n")
    lab.put_file(folder / "beside", "/root/beside")
    lab.run("setsid sh /root/beside > /dev/null 2>&1 < /dev/null &")
    said = process.communicate(timeout=600)
    assert out.exists(), said
    found = {cell["workload"]: cell for cell in json.loads(out.read_text())["cells"]}
    for cell in found.values():
        print([(mark["code"], mark["sentence"]) for mark in cell.get("marks", ())], cell["host"])
    return found


def test_a_quiet_server_has_no_neighbour_and_the_workload_is_accounted(cells: dict[str, dict[str, Any]]) -> None:
    cell = cells["quiet"]
    assert not {mark["code"] for mark in cell.get("marks", ())} & {"noisy-neighbour", "foreign-writes", "swapped"}
    fio, read = cell["host"]["workload"], cell["summary"]["read"]["bytes"]
    assert fio["user_s"] + fio["system_s"] > 0.5
    assert read * 0.9 < fio["read_bytes"] < read * 1.1 + (4 << 20)
    assert fio["context_switches"] > 1000
    assert fio["memory_max_bytes"] > 1 << 20
    assert fio["threads"] >= 1
    assert len(fio["at_s"]) >= 10
    assert {len(values) for values in fio["series"].values()} == {len(fio["at_s"])}
    assert max(filter(None, fio["series"]["context_switches_per_s"])) > 10
    own = cell["host"]["own"]
    assert 0 < own["user_s"] + own["system_s"] < cell["seconds"]


def test_a_busy_loop_and_a_dd_on_another_disk_are_named(lab: Lab, cells: dict[str, dict[str, Any]]) -> None:
    cell, other = cells["busy"], lab.kernel_name(lab.serials[3])
    named = {mark["about"].split()[1]: mark for mark in cell["marks"] if mark["code"] == "noisy-neighbour"}
    assert {"dd", "python3"} <= named.keys()
    assert "used 0." in named["python3"]["sentence"] or "used 1." in named["python3"]["sentence"]
    assert cell["valid"]
    assert f"with {other} of the same controller open for writing" in named["dd"]["sentence"]
    dd_use = next(one for one in cell["host"]["neighbours"] if one["name"] == "dd")
    assert dd_use["written_bytes"] > 10 << 20
    assert cell["host"]["beside_written_bytes"][other] > 10 << 20
