"""`"reset": "rollback"` and `"rewind"` on a real kernel: every cell meets the identical volume, filesystem or pool; a
killed run with a snapshot or a checkpoint is recovered.

One lab; the cases are driven in it by `stack/zfs_driver.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lab_harness import seen_by_driver, start_driver, start_lab
from lab_kills import in_thirds, killed_at
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


def reset(lab: Lab, *cases: dict[str, Any]) -> list[dict[str, Any]]:
    """Run these cases, check that the data is the same before every cell and nothing is left, and return their records."""
    whole = [{"do": "reset", "name": str(at), "counts": {"vdevs[0].raidz1": 3}, "zpool": {"vdevs": [{"raidz1": "@d"}]},
              "writes": WRITES, **case} for at, case in enumerate(cases)]  # fmt: skip
    start_driver(lab, "zfs_driver.py", [*whole, {"do": "blank", "name": "blank"}])
    lab.wait_for("test -e /root/ended", 900)
    seen = seen_by_driver(lab)
    found = [seen[case["name"]] for case in whole]
    for one in found:
        assert "problems" not in one, one
        assert one["taken"] == ["created", "already there"]
        assert len(set(one["sums"])) == 1, "the checksum before each cell"
        assert all(way["changed"] for way in one["rollbacks"])
        assert [argv[0] for argv in one["settled"]] == ["lzc_sync"]
        if one["held"]:  # while the builder lives; after it ended; since the next one rolled back; after an import
            assert one["held"][0::2] == ["raidtui", "", *["raidtui"] * (len(one["held"]) // 2 - 2)]
            assert [bool(said) for said in one["held"][1::2]] == [bool(hold) for hold in one["held"][0::2]], one["held"]
        assert one["health"] == []
        assert (one["undo"], one["left"]) == (["undone", "nothing to do"], {})
        print([(round(way["seconds"], 2), way["facts"]) for way in one["rollbacks"]])
    return found


def calls_of(seen: dict[str, Any]) -> list[str]:
    """The commands and calls by which it was brought back, the same each time."""
    (calls,) = {json.dumps([argv[0] for argv in one["calls"]]) for one in seen["rollbacks"]}
    return list(json.loads(calls))


FILES = {"vdevs": [{"raidz1": "@d"}], "dataset": {"size": "50%"}}
REWIND = {"reset": "rewind", "writes": WRITES[::2],
          "zpool": {"vdevs": [{"raidz1": "@d"}], "volume": {"size": "80MiB"}}}  # fmt: skip


def test_what_is_measured_is_the_same_after_writing(lab: Lab) -> None:
    (volume,) = reset(lab, {"reset": "rollback", "caches": "cold", "writes": WRITES[1:3]})
    assert len(volume["held"]) == 2 * 4
    assert calls_of(volume) == ["lzc_sync", "lzc_rollback_to", "lzc_sync", "lzc_wait"]


@pytest.mark.slow
def test_what_is_measured_is_the_same_after_every_kind_of_writing(lab: Lab) -> None:
    volume, rewound = reset(lab, {"reset": "rollback", "caches": "cold"}, REWIND)
    assert len(volume["held"]) == 2 * 4
    assert calls_of(volume) == ["lzc_sync", "lzc_rollback_to", "lzc_sync", "lzc_wait"]
    _is_rewound(rewound, ["zpool", "zpool", "lzc_sync", "lzc_pool_checkpoint"])


@pytest.mark.slow
def test_files_are_the_same_too_and_a_pool_is_taken_down_wherever_its_rewind_ended(lab: Lab) -> None:
    writes = (WRITES[0], WRITES[1], "rm {path}; dd if=/dev/urandom of={path} bs=1M count=9 status=none")
    files = {"zpool": FILES, "writes": writes}
    exported, without = "zpool export {pool}", "zpool checkpoint --discard --wait {pool}"
    back = "zpool export {pool}; zpool import -N -o cachefile=none --rewind-to-checkpoint {devices} {pool}"
    rolled, rewound, *_ = reset(
        lab,
        {**files, "reset": "rollback"},
        {**files, "reset": "rewind"},
        *({**REWIND, "writes": WRITES[:1], "away": away} for away in (exported, without, back)),
    )
    assert calls_of(rolled) == ["umount", "lzc_sync", "lzc_rollback_to", "lzc_sync", "lzc_wait", "mount"]
    _is_rewound(rewound, ["umount", "zpool", "zpool", "lzc_sync", "lzc_pool_checkpoint", "mount"])


def _is_rewound(seen: dict[str, Any], calls: list[str]) -> None:
    """It was imported by its GUID from its own devices, as it was shown; and is allocated as it was."""
    assert calls_of(seen) == calls
    (ran,) = {tuple(argv) for one in seen["rollbacks"] for argv in one["calls"] if argv[1] == "import"}
    (shown,) = (tuple(argv) for argv in seen["planned"] if argv[1] == "import")
    assert ran == (*shown[:-1], seen["guid"])
    assert ran.count("-d") == 3
    allocated = [one["facts"]["allocated_bytes"] for one in seen["rollbacks"]]
    assert max(allocated) - min(allocated) < 1 << 20, "metadata alone"


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_killed_run_with_a_snapshot_is_recovered(lab: Lab) -> None:
    policy = {**SCENARIO["policy"], "rounds": 1}  # type: ignore[dict-item]
    killed_at(lab, {**SCENARIO, "policy": policy}, {"data": lab.serials}, ",".join(KILLS), 900)


KILLS = ("15:after", "18:before")
"""The snapshot is taken, which is not journaled yet; and a cell was rolled back."""


def rewinding(**policy: Any) -> dict[str, Any]:
    return {**SCENARIO, "policy": {**SCENARIO["policy"], "reset": "rewind", "rounds": 1, **policy}}  # type: ignore[dict-item]


@pytest.mark.slow
def test_every_cell_of_a_run_meets_the_rewound_pool(lab: Lab) -> None:
    """Also with cold caches, which export and import the pool with its checkpoint."""
    lab.run("cat > /root/rewind.json", input_bytes=json.dumps(rewinding(caches="cold")).encode())
    ssh.sync_code(lab.name)
    argv = ("replay", "/root/rewind.json", "--erase", ",".join(lab.serials), "--json", "-o", "/root/rewound.json")
    ran = lab.raidtui(*argv, timeout_s=900)
    assert ran.code == 0, ran.error_text
    events: list[dict[str, Any]] = [json.loads(line)["event"] for line in ran.text.splitlines()]
    started = {event["step"]: event["action"] for event in events if event["kind"] == "step-started"}
    assert [action for action in started.values() if action in CELL] == [*CELL[:2], *CELL[2:] * 2]
    done = {event["step"]: event for event in events if event["kind"] == "step-done"}
    rewinds = [done[step] for step, action in started.items() if action == "zpool.rewind"]
    for one in rewinds:
        assert [argv[:2] for argv in one["commands"] if argv[0] == "zpool"] == [["zpool", "export"], ["zpool", "import"]]
    first, second = (one["facts"]["allocated_bytes"] for one in rewinds)
    assert abs(first - second) < 1 << 20
    (layout,) = json.loads(lab.run("cat /root/rewound.json").text)["layouts"]
    assert any(facts.get("reset") == "rewind" for facts in layout["read_back"].values()), "the result says so"
    assert all(lab.is_zero(serial) for serial in lab.serials)


CELL = ("prefill", "zpool.checkpoint", "zpool.rewind", "zpool.cold", "measure")


@in_thirds
def test_a_rewinding_run_that_is_killed_at_any_record_is_recovered(lab: Lab, part: str) -> None:
    killed_at(lab, rewinding(), {"data": lab.serials}, f"every:{part}")


@pytest.mark.slow
def test_a_run_that_is_killed_while_its_pool_is_away_is_recovered(lab: Lab) -> None:
    points = ("call=zfs.checkpoint", "export", "import", "after")
    killed_at(lab, rewinding(), {"data": lab.serials}, ",".join(f"zpool.rewind:{point}" for point in points), 900)
