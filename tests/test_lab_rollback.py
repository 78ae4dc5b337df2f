"""`"reset": "rollback"` on a real kernel: every cell meets the identical volume; a killed run with a snapshot is recovered.

One lab; the cases are driven in it by `stack/zfs_driver.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lab_harness import seen_by_driver, start_driver, start_lab
from lab_kills import killed_at
from raidtui.lab import ssh
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(2400)]

WRITES = (
    "dd if=/dev/urandom of={path} bs=1M count=32 seek=8 oflag=direct conv=fsync status=none",
    "dd if=/dev/urandom of={path} bs=64k count=200 status=none",  # stays in the page cache
    "fio --name=w --filename={path} --rw=randwrite --bs=16k --size=64M --io_size=16M --direct=1 --allow_file_create=0",
    "blkdiscard -o 0 -l 33554432 {path}",
)
ROUNDS = 5
SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "rollback",
    "roles": {"data": {"count": 3}},
    "layouts": {"raidz1": {"zpool": {"vdevs": [{"raidz1": "@data"}], "volume": {"size": "50%"}}}},
    "workloads": {
        "mixed": {"fio": {"rw": "randrw", "bs": "16KiB", "size": "64MiB", "runtime": "1s"}},
        "write": {"fio": {"rw": "randwrite", "bs": "16KiB", "size": "32MiB", "runtime": "1s"}},
    },
    "policy": {"reset": "rollback", "order": "grouped", "rounds": ROUNDS},
}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = start_lab("rollback", "3x256M")
    try:
        yield made
    finally:
        made.down()


def test_the_volume_is_the_same_after_every_kind_of_writing(lab: Lab) -> None:
    case = {"do": "rolled_back", "name": "rolled back", "counts": {"vdevs[0].raidz1": 3},
            "zpool": {"vdevs": [{"raidz1": "@d"}]}, "writes": WRITES}  # fmt: skip
    start_driver(lab, "zfs_driver.py", [case, {"do": "blank", "name": "blank"}])
    lab.wait_for("test -e /root/ended", 900)
    seen = seen_by_driver(lab)["rolled back"]
    assert "problems" not in seen, seen
    assert seen["taken"] == ["created", "already there"]
    assert len(set(seen["sums"])) == 1, "the checksum before each cell"
    assert all(one["changed"] for one in seen["rollbacks"])
    (calls,) = {json.dumps([argv[0] for argv in one["calls"]]) for one in seen["rollbacks"]}
    assert json.loads(calls) == ["lzc_sync", "lzc_rollback_to", "lzc_sync", "lzc_wait"]
    assert [argv[0] for argv in seen["settled"]] == ["lzc_sync"]
    assert seen["health"] == []
    assert (seen["undo"], seen["left"]) == (["undone", "nothing to do"], {})


def test_ten_cells_are_measured_on_one_building_that_is_filled_once(lab: Lab) -> None:
    lab.run("cat > /root/rollback.json", input_bytes=json.dumps(SCENARIO).encode())
    ssh.sync_code(lab.name)
    ran = lab.raidtui("replay", "/root/rollback.json", "--erase", ",".join(lab.serials), "--json", timeout_s=900)
    assert ran.code == 0, ran.error_text
    events: list[dict[str, Any]] = [json.loads(line)["event"] for line in ran.text.splitlines()]
    started = [event["action"] for event in events if event["kind"] == "step-started"]
    assert (started.count("prefill"), started.count("zpool.volume")) == (1, 1)
    assert started.count("zpool.rollback") == started.count("measure") == 2 * ROUNDS
    seconds: dict[str, float] = {}
    action = {event["step"]: event["action"] for event in events if event["kind"] == "step-started"}
    done = [event for event in events if event["kind"] == "step-done"]
    for event in done:
        seconds[action[event["step"]]] = seconds.get(action[event["step"]], 0.0) + event["seconds"]
    building = sum(seconds[name] for name in ("zpool.create", "zpool.volume", "zpool.verify", "prefill", "zpool.destroy"))
    print(seconds)
    assert seconds["zpool.rollback"] < 2 * ROUNDS * building / 2, "less than half of building it anew for each cell"
    for event in done:
        if action[event["step"]] == "measure":
            assert event["commands"][0][0] == "lzc_sync", "a cell begins with nothing dirty"
        if action[event["step"]] == "zpool.rollback":
            assert event["facts"]["written_bytes"] < 1 << 20, "metadata alone"
    assert all(lab.is_zero(serial) for serial in lab.serials)


def test_a_killed_run_with_a_snapshot_is_recovered(lab: Lab) -> None:
    policy = {**SCENARIO["policy"], "rounds": 1}  # type: ignore[dict-item]
    killed_at(lab, {**SCENARIO, "policy": policy}, {"data": lab.serials}, ",".join(KILLS), 900)


KILLS = ("15:after", "18:before")
"""The snapshot is taken, which is not journaled yet; and a cell was rolled back."""
