"""LVM volumes on a real kernel: built as planned, read back as asked, and taken away whatever happened in between.

One lab, and one process in it for all cases of a row (`stack/lvm_driver.py`); each test looks at one thing that was seen
there. The row with a cache on stripes is the one that is not `slow`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab_harness import MakeLab, seen_by_driver, start_driver, start_lab
from lab_kills import in_thirds, killed_at
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(3600)]
slow = pytest.mark.slow

HERE = Path(__file__).parent
DISKS = "5x256M,1x512M,2x6G"
"""A VDO pool has an index of 2.5 GiB and a slab of 2."""
SKIP = "skip-if-zeroed"
LONGEST_S = 3300.0


def volume(name: str, on: int, sync: str = "wait", fast: int = 0, large: bool = False, **lvm: Any) -> dict[str, Any]:
    """`fast`: how many devices its cache has; `large`: of the large disks."""
    case = {"do": "whole", "name": name, "on": on, "sync": sync, "large": large, "lvm": lvm}
    for cache in ("cache", "writecache"):
        if cache in lvm:
            case |= {f"{cache}.on": fast, "lvm": {**lvm, cache: {"on": "@fast", **lvm[cache]}}}
    return case


THREADS = {"ack_threads": 2, "bio_threads": 8, "bio_rotation": 32, "cpu_threads": 4, "hash_zone_threads": 2,
           "logical_threads": 2, "block_map_cache": "256MiB", "block_map_era_length": 8192}  # fmt: skip
SMALL = [
    volume("striped", 2, fast=1, type="striped", size="50%", cache={"mode": "writeback", "chunk": "128KiB"}),
]
SHORT = [
    volume("raid4", 3, SKIP, fast=1, type="raid4", writecache={"high_watermark": 60, "writeback_jobs": 64}),
    volume("raid5", 3, type="raid5", size="32MiB", thin={"chunk": "128KiB", "zero": False}),
    volume("vdo", 1, large=True, vdo={"virtual_size": "1TB", "compression": False, "bio_threads": 2}),
]
"""One of each other family."""
PLAIN = [
    volume("linear", 2, type="linear", extent_size="1MiB"),
    volume("striped of four", 4, type="striped", stripe_size="256KiB", size="50%"),
    volume("raid0", 3, type="raid0", allocation="anywhere"),
    volume("raid1 alone", 2, sync=SKIP, type="raid1"),
    volume("plain raid4", 3, type="raid4", stripe_size="4KiB", extent_size="1MiB"),
    volume("raid5 in sync", 3, type="raid5", size="64MiB"),
    volume("raid6", 5, sync=SKIP, type="raid6", region_size="4MiB"),
    volume("raid10", 4, sync=SKIP, type="raid10", stripe_size="16KiB"),
    volume("mirror in sync", 2, type="mirror", mirror_log="core", size="32MiB"),
]
GEOMETRY = [
    volume("linear of unequal", 6, type="linear"),
    volume("cling", 2, type="linear", allocation="cling"),
    volume("striped 2 of 5", 5, type="striped", stripes=2),
    volume("striped of unequal", 6, type="striped", stripes=3),
    volume("contiguous", 3, type="striped", stripes=2, allocation="contiguous"),
    volume("raid1 of three on five", 5, sync=SKIP, type="raid1", mirrors=2),
    volume("raid1 of two on six", 6, sync=SKIP, type="raid1", mirrors=1),
    volume("raid5 anywhere", 5, sync=SKIP, type="raid5", allocation="anywhere", size="99%"),
    volume("small raid6", 5, type="raid6", size="24MiB"),
    volume("raid10 of six", 6, sync=SKIP, type="raid10"),
    volume("mirror", 3, sync=SKIP, type="mirror", mirrors=1),
    volume("mirror without a log", 2, SKIP, type="mirror", mirror_log="core"),
]
CACHED = [
    volume("cachevol on raid5", 3, SKIP, fast=2, type="raid5", cache={"size": "50%", "policy": "mq"}),
    volume("cleaner", 1, fast=1, cache={"kind": "pool", "policy": "cleaner"}),
    volume(
        "cache pool of threshold", 1, fast=1, cache={"kind": "pool", "mode": "writeback", "migration_threshold": "4MiB"}
    ),
    volume("raid1 behind a pool", 2, SKIP, fast=1, type="raid1", cache={"kind": "pool", "mode": "passthrough"}),
    volume("raid0 behind a writecache", 2, fast=1, type="raid0", stripe_size="256KiB", writecache={}),
    volume("writecache", 3, SKIP, fast=1, type="raid5", writecache={"high_watermark": 60, "writeback_jobs": 64}),
    volume("writecache of sectors", 2, fast=2, type="striped", writecache={"block_size": "512B", "size": "64MiB"}),
]
CHECKED = [
    volume("checksums", 2, type="raid1", size="32MiB", integrity={"mode": "bitmap"}),
    volume("small checksums", 4, type="raid10", size="16MiB", integrity={"mode": "bitmap"}),
    volume("checksums of raid5", 3, type="raid5", integrity={"block_size": "4KiB"}),
    volume("checksums of raid10", 4, type="raid10", size="50%", integrity={}),
    volume("checksums behind a cache", 2, fast=1, type="raid1", size="32MiB", integrity={}, cache={"mode": "writeback"}),
    volume("checksums behind a writecache", 2, fast=1, type="raid1", size="32MiB", integrity={}, writecache={}),
]
THIN_POOLS = [
    volume("thin", 2, type="striped", thin={"virtual_size": "2GiB", "chunk": "128KiB", "zero": False}),
    volume("thin on raid1", 2, SKIP, type="raid1", thin={}),
    volume("thin on raid6", 5, type="raid6", thin={"virtual_size": "50%", "discards": "nopassdown"}),
    volume("thin behind a cache", 2, fast=1, type="striped", thin={}, cache={"mode": "writethrough"}),
    volume("thin behind a pool", 2, SKIP, fast=1, type="raid1", thin={}, cache={"kind": "pool", "mode": "writeback"}),
    volume("thin behind a writecache", 1, fast=1, thin={"virtual_size": "1GiB"}, writecache={}),
]
THIN_ON_VDO = {"vdo": {"virtual_size": "100GiB"}, "thin": {"virtual_size": "50%", "chunk": "1MiB"}}
VDO_POOLS = [
    volume("thin on vdo", 2, large=True, type="striped", **THIN_ON_VDO),
    volume("thin on vdo behind a cache", 1, fast=1, large=True, vdo={}, thin={}, cache={"mode": "writeback"}),
    volume("vdo on striped", 2, large=True, type="striped", vdo={"virtual_size": "1TB"}),
    volume("vdo on raid1", 2, SKIP, large=True, type="raid1", vdo={"deduplication": False, "slab_size": "512MiB"}),
    {**volume("vdo on raid1 looked at", 2, SKIP, large=True, type="raid1", vdo={}), "do": "looked_at", "part": "_rimage_1"},
    volume("vdo behind a cache", 1, fast=1, large=True, vdo={}, cache={"mode": "writeback"}),
    volume("vdo behind a pool", 1, fast=1, large=True, vdo=THREADS, cache={"kind": "pool", "size": "256MiB"}),
]
RAID1 = {"on": 2, "sync": "wait", "lvm": {"type": "raid1", "size": "32MiB"}}
RAID5 = {"on": 3, "sync": "wait", "lvm": {"type": "raid5", "size": "64MiB"}}
STRIPED = {"on": 2, "lvm": {"type": "striped"}}
WIPE = "dd if=/dev/zero of={} bs=4096 seek=1 count=255 oflag=direct"
BROKEN = {
    "deactivated": (RAID1, "lvm vgchange -an $VG --devices $ALL"),
    "suspended": (STRIPED, "dmsetup suspend $VG-volume"),
    "one label gone": (STRIPED, "dmsetup remove $VG-volume; dd if=/dev/zero of=$A bs=1M count=1 oflag=direct"),
    "metadata gone": (STRIPED, f"{WIPE.format('$A')}; {WIPE.format('$B')}"),
}
CACHE = volume("", 2, fast=1, type="striped", cache={"mode": "writeback"})
THIN = volume("", 2, type="striped", thin={})
VDO = volume("", 2, large=True, type="striped", vdo={})
KILLED_IN = [0.3, 0.6, 1.0, 1.5, 2.2, 3.0, 4.5]
MOMENTS = [0.2, 0.4, 0.7, 1.0, 1.4, 1.8, 2.4, 3.0]
KILLED = [
    {"do": "killed", "name": "killed", "after_s": MOMENTS, **RAID5},
    {**CACHE, "do": "killed", "name": "cache killed", "in": "lvm.cache", "after_s": KILLED_IN},
    {**THIN, "do": "killed", "name": "thin killed", "in": "lvm.pool", "after_s": KILLED_IN},
    {**VDO, "do": "killed", "name": "vdo killed", "in": "lvm.pool", "after_s": [*KILLED_IN, 8.0]},
]
FAULTS = [
    {"do": "foreign", "name": "foreign", **STRIPED},
    {"do": "namesakes", "name": "namesakes", **STRIPED},
    {"do": "refused", "name": "refused", **RAID1, "sync": SKIP},
    {"do": "still_creating", "name": "still creating", **RAID5},
    *({"do": "broken", "name": name, "then": then, **case} for name, (case, then) in BROKEN.items()),
    {"do": "cancelled", "name": "cancelled", "on": 2, "sync": "wait", "lvm": {"type": "raid1"}},
    {"do": "stacked", "name": "stacked"},
    {"do": "unplugged", "name": "unplugged", **RAID5},
]
ROWS = {
    "small": [{**case, "brief": True} for case in SMALL],
    "short": [{**case, "brief": True} for case in SHORT],
    "plain": PLAIN,
    "geometry": [{**case, "brief": True} for case in GEOMETRY],
    "cached": CACHED,
    "checked": CHECKED,
    "thin": THIN_POOLS,
    "vdo": VDO_POOLS,
    "killed": KILLED,
    "faults": FAULTS,
}
"""What one lab sees, one after the other."""
QUICK = "small"
"""The row that is not slow."""
VOLUMES = [
    pytest.param(row, case["name"], marks=() if row == QUICK else slow)
    for row, cases in ROWS.items()
    for case in cases
    if case["do"] == "whole"
]
Seen = dict[str, dict[str, Any]]


_SEEN: dict[str, Seen] = {}


def seen_of(row: str) -> Seen:
    """What was seen of a row, by case. It is driven once, whatever comes of it."""
    if row not in _SEEN:
        _SEEN[row] = {}
        disks = "3x256M" if row == QUICK else DISKS
        _SEEN[row] |= drive(f"lvm-{row}", disks, [*ROWS[row], {"do": "blank", "name": "blank"}])
    assert _SEEN[row], "the row did not come to its end"
    return _SEEN[row]


def drive(suffix: str, disks: str, cases: list[dict[str, Any]]) -> Seen:
    """Everything that was seen of these cases in a lab of their own, by case; and which of its disks are zero then."""
    lab = start_lab(suffix, disks)
    try:
        start_driver(lab, "lvm_driver.py", cases)
        lab.wait_for("test -e /run/lvm-ready -o -e /root/ended", LONGEST_S)
        unplugged = lab.run("cat /run/lvm-ready 2>/dev/null || true").text.strip()
        if unplugged:
            lab.unplug(unplugged)
            lab.run("touch /run/lvm-pulled")
        lab.wait_for("test -e /root/ended", LONGEST_S)
        seen = seen_by_driver(lab)
        if unplugged:
            seen["unplugged"]["serial"] = unplugged
        seen["blank"]["left"] = sorted(set(lab.serials) - {unplugged})
        seen["blank"]["zero"] = [serial for serial in lab.serials if serial != unplugged and lab.is_zero(serial)]
        print({name: (case["seconds"], case.get("took")) for name, case in seen.items()})
        return seen
    finally:
        lab.down()


def check_whole(case: dict[str, Any]) -> None:
    """Built as planned and read back as asked; taken down as planned, and nothing is left."""
    assert "problems" not in case, json.dumps(case)
    for action, planned in case["planned"].items():
        assert case["commands"][action] == planned, "what was shown is what ran"
    assert case["actual_size"] == case["planned_size"], "the size was known to the byte"
    args, found = case["args"], case["lvm.verify"]
    assert {row["pv_uuid"] for row in found["pvs"]} == {pv["uuid"] for pv in args["pvs"]}
    assert found["group"]["vg_autoactivation"] == ""
    assert case["health"] == []
    assert set(case.get("again", [])) <= {"already there", "done"}
    assert sorted(case["members"].values()) == sorted(["target", *(pv["role"] for pv in args["pvs"])])
    assert case["left"] == {}
    assert case["second"] == "nothing to do"


@pytest.mark.parametrize(("row", "name"), VOLUMES)
def test_a_volume_is_built_read_back_and_taken_away(row: str, name: str) -> None:
    check_whole(seen_of(row)[name])


@pytest.mark.parametrize(
    ("row", "name", "said"),
    [
        ("small", "striped", "none needed"),
        pytest.param("short", "raid4", "skipped: all disks were proven zero (discard)", marks=slow),
        pytest.param("short", "raid5", "waited for ", marks=slow),
    ],
)
def test_how_images_became_consistent_is_said(row: str, name: str, said: str) -> None:
    seen = seen_of(row)
    facts = {**seen[name]["lvm.group"], **seen[name].get("lvm.sync", {})}
    assert facts["initial_sync"].startswith(said)


@slow
def test_what_lvm_does_not_activate_over_a_part_in_use_is_activated_again() -> None:
    assert seen_of("vdo")["vdo on raid1 looked at"]["activated_again"] == 1


@slow
def test_threads_and_memory_of_vdo_are_those_that_were_asked_for() -> None:
    seen = seen_of("vdo")
    pool = seen["vdo behind a pool"]["lvm.verify"]["volumes"]["pool"]
    assert {name: pool[f"vdo_{name}"] for name in THREADS if name != "block_map_cache"} == {
        name: str(value) for name, value in THREADS.items() if name != "block_map_cache"
    }
    assert pool["vdo_block_map_cache_size"] == str(256 << 20)


def check_kills(case: dict[str, Any]) -> None:
    for kill in case["kills"]:
        assert kill["left"] == {}, kill
        assert kill["active"] == [], "what is active goes without any disk being admitted"
        assert kill["undo"][0] == ("undone" if {"mapped", "labels"} & kill["before"].keys() else "nothing to do")
        assert kill["undo"][1] == "nothing to do"


@slow
@pytest.mark.parametrize("name", ["killed", "cache killed", "thin killed", "vdo killed"])
def test_a_creation_that_was_killed_at_any_moment_is_undone(name: str) -> None:
    seen = seen_of("killed")
    check_kills(seen[name])
    assert any("labels" in kill["before"] for kill in seen[name]["kills"])


def check_undone(case: dict[str, Any]) -> None:
    assert "problems" not in case, json.dumps(case)
    assert case["undo"] == ["undone", "nothing to do"]
    assert case["left"] == {}


@slow
def test_a_suspended_volume_is_not_healthy() -> None:
    seen = seen_of("faults")
    assert seen["suspended"]["health"] == ["volume is suspended"]


@slow
@pytest.mark.parametrize("name", [*BROKEN, "still creating", "cancelled"])
def test_a_volume_is_taken_away_in_whatever_state_it_is(name: str) -> None:
    seen = seen_of("faults")
    check_undone(seen[name])


@slow
def test_a_sync_can_be_cancelled() -> None:
    seen = seen_of("faults")
    assert (seen["cancelled"]["stopped"][0], seen["cancelled"]["stopped"][2]) == ("cancelled", 130)
    assert seen["cancelled"]["reports"][-1].startswith("initial sync")


@slow
def test_a_group_of_somebody_else_is_not_touched() -> None:
    seen = seen_of("faults")
    case = seen["foreign"]
    assert (case["taken"][0], case["taken"][2]) == ("lvm-name-taken", 3)
    assert (case["inactive"][0], case["inactive"][2]) == ("lvm-name-taken", 3)
    assert case["running"] == ["nothing to do", "nothing to do"]
    assert case["still"], "his volume is still there"
    assert (case["shared"][0], case["shared"][2]) == ("lvm-foreign", 6)
    assert (case["renamed"][0], case["renamed"][2]) == ("lvm-foreign", 6)
    assert case["kept"], "his physical volume is still one"
    check_undone(case)


@slow
def test_what_has_the_same_name_beside_the_run_is_neither_read_nor_touched() -> None:
    case = seen_of("faults")["namesakes"]
    assert case["both"] == 2, "two groups of one name were there"
    assert case["results"] == ["done", "undone"]
    assert case["sectors"] == [0, 0, 0], "no byte of them was read"
    assert case["same"]
    assert case["left"] == {}


@slow
def test_actions_refuse_what_is_not_proven_not_as_asked_or_in_use() -> None:
    seen = seen_of("faults")
    case = seen["refused"]
    assert (case["unproven"][0], case["unproven"][2]) == ("not-proven-zero", 4)
    assert case["untouched"] == {}
    code, message, exit_code = case["mismatch"]
    assert (code, exit_code) == ("read-back", 4)
    assert "segtype: asked raid10, found raid1" in message
    code, message, exit_code = case["busy"]
    assert (code, exit_code) == ("lvm-busy", 6)
    assert f"pid {case['pid']} (sleep" in message
    check_undone(case)


def check_stack(case: dict[str, Any]) -> None:
    assert case["size"][0] == case["size"][1]
    assert case["members"] == ["member", "member", "target"]
    assert case["health"] == []
    assert case["left"] == {}


@slow
@pytest.mark.parametrize("stack", ["lvm on md", "md on lvm", "lvm on lvm"])
def test_arrays_and_volumes_stand_on_volumes(stack: str) -> None:
    seen = seen_of("faults")
    check_stack(seen["stacked"]["stacks"][stack])


@slow
def test_an_unplugged_device_makes_it_sick_and_does_not_hinder_its_end() -> None:
    seen = seen_of("faults")
    case = seen["unplugged"]
    assert any(f"{case['serial']} is not there any more" in sentence for sentence in case["health"])
    assert any("dead image" in sentence for sentence in case["health"])
    assert case["undo"] == ["undone", "nothing to do"]
    assert case["facts"]["missing"] == [f"disk:{case['serial']}"]
    assert case["left"] == {}


@pytest.mark.parametrize("row", [pytest.param(row, marks=() if row == QUICK else slow) for row in ROWS])
def test_all_disks_that_are_left_are_blank_from_outside(row: str) -> None:
    blank = seen_of(row)["blank"]
    assert sorted(blank["disks"]) == blank["left"] == blank["zero"]


MIRROR = {"md": {"level": "raid1", "on": "@data"}}
CACHED_MIRROR = {"lvm": {"on": MIRROR, "cache": {"on": "@fast", "mode": "writeback"}}}
VDO_OF_RAID5 = {"lvm": {"type": "raid5", "on": "@data", "vdo": {"slab_size": "128MiB"}}}
STACKS = {
    "md, cache and xfs": ({"data": 2, "fast": 1}, {"filesystem": {"type": "xfs", "on": CACHED_MIRROR}}, "3x512M"),
    "vdo over raid5": ({"data": 3}, VDO_OF_RAID5, "3x2G"),
}
"""Roles, layout and disks of what is killed at every record."""


def kill_at(lab: Lab, stack: str, points: str) -> None:
    """Kill a run of this stack at these points."""
    roles, layout, _ = STACKS[stack]
    scenario = {
        "schema": "raidtui.scenario/1",
        "name": "kill",
        "roles": {name: {"count": count} for name, count in roles.items()},
        "layouts": {"stack": layout},
        "workloads": {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "size": "32MiB", "runtime": "1s"}}},
        "policy": {"initial_sync": "skip-if-zeroed"},
    }
    left = iter(lab.serials)
    killed_at(lab, scenario, {name: [next(left) for _ in range(count)] for name, count in roles.items()}, points)


@slow
def test_recover_takes_a_stack_away_that_was_killed_while_it_was_cached(make_lab: MakeLab) -> None:
    kill_at(make_lab("3x512M"), "md, cache and xfs", "lvm.cache:lvconvert")


@in_thirds
@pytest.mark.parametrize("stack", STACKS)
def test_recover_takes_a_stack_away_after_every_kill(make_lab: MakeLab, stack: str, part: str) -> None:
    kill_at(make_lab(STACKS[stack][2]), stack, f"every:{part}")
