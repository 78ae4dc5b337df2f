"""md arrays on a real kernel: built as planned, read back as asked, and taken away whatever happened in between.

One lab, and one process in it for all cases (`stack/md_driver.py`); each test looks at one thing that was seen there.
The `SLOW` cases are built only when slow tests are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from lab_harness import seen_by_driver, slow_ones_run, start_driver, start_lab
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

DISKS = 7
SKIP = "skip-if-zeroed"


def array(name: str, on: int, sync: str = "wait", journal: int = 0, spares: int = 0, **md: Any) -> dict[str, Any]:
    roles = {"journal": "@journal"} if journal else {}
    roles |= {"spares": "@spares"} if spares else {}
    return {"do": "whole", "name": name, "on": on, "sync": sync, "journal": journal, "spares": spares, "md": md | roles}


ARRAYS = [
    array("raid0", 3, level="raid0", chunk="64KiB"),
    array("raid0 at the end", 2, level="raid0", metadata="1.0"),
    array("raid1", 2, sync=SKIP, level="raid1"),
    array("raid1 with bitmap", 2, spares=1, level="raid1", bitmap="internal", bitmap_chunk="128MiB", metadata="1.1"),
    array("raid4 with journal", 3, journal=1, level="raid4"),
    array("raid5 of two", 2, level="raid5", chunk="64KiB"),
    array("raid5 with ppl", 4, sync=SKIP, level="raid5", consistency="ppl"),
    array("raid5 with ppl at the end", 3, level="raid5", consistency="ppl", metadata="1.0"),
    array("raid5 with bitmap", 3, level="raid5", bitmap="internal", layout="parity-first"),
    array("raid5 with journal and spare", 3, journal=1, spares=1, level="raid5", chunk="64KiB"),
    array("raid6", 4, sync=SKIP, level="raid6", layout="right-asymmetric", consistency="bitmap"),
    array("raid6 with journal at the end", 4, journal=1, spares=1, level="raid6", metadata="1.0"),
    array("raid10 far", 4, level="raid10", layout="far2", chunk="256KiB"),
    array("raid10 of three", 3, sync=SKIP, level="raid10"),
    array("raid10 offset", 3, spares=1, level="raid10", layout="offset2", bitmap="internal", metadata="1.0"),
    array("raid10 three copies on five", 5, sync=SKIP, level="raid10", layout="near3"),
]
RAID1 = {"on": 2, "sync": "wait", "md": {"level": "raid1"}}
RAID5 = {"on": 3, "sync": "wait", "md": {"level": "raid5"}}
JOURNALED = {"on": 3, "journal": 1, "sync": "wait", "md": {"level": "raid5", "journal": "@journal"}}
BROKEN = {
    "a member kicked out": (JOURNALED, "mdadm $MD --fail $A; sleep 1; mdadm $MD --remove $A"),
    "inactive": (RAID5, "mdadm --stop $MD; mdadm --incremental $B"),
    "stopped": (RAID1, "mdadm --stop $MD"),
    "one superblock gone": (RAID1, "mdadm --stop $MD; mdadm --zero-superblock $A"),
    "under another name": (RAID1, "mdadm --stop $MD; mdadm --assemble /dev/md99 $A $B"),
}
MOMENTS = ["array", 0.2, 0.7, 0.1, 0.3, 0.4, 0.5, 0.9, 1.2]
"""After so many seconds, or when there is an array with something in it."""
EVERYDAY_MOMENTS = 2
"""The first of them."""
FAULTS = [
    {"do": "killed", "name": "killed", "after_s": MOMENTS[:EVERYDAY_MOMENTS], **JOURNALED},
    {"do": "killed", "name": "killed later", "after_s": MOMENTS[EVERYDAY_MOMENTS:], **JOURNALED},
    {"do": "still_creating", "name": "still creating", **JOURNALED},
    *({"do": "broken", "name": name, "then": then, **case} for name, (case, then) in BROKEN.items()),
    {"do": "foreign", "name": "foreign", **RAID1},
    {"do": "refused", "name": "refused", **RAID1, "sync": SKIP},
    {"do": "cancelled", "name": "cancelled", **RAID5},
    {"do": "stacked", "name": "stacked"},
    {"do": "unplugged", "name": "unplugged", **RAID5},
    {"do": "blank", "name": "blank"},
]
SLOW = {
    "raid0 at the end", "raid1 with bitmap", "raid4 with journal", "raid5 of two", "raid5 with ppl at the end",
    "raid5 with bitmap", "raid6", "raid6 with journal at the end", "raid10 far", "raid10 offset",
    "raid10 three copies on five", "cancelled",
    "killed later", "still creating", "inactive", "stopped", "one superblock gone", "under another name", "stacked",
}  # fmt: skip
Seen = dict[str, dict[str, Any]]


def each(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in names]


@pytest.fixture(scope="module")
def bench(request: pytest.FixtureRequest) -> Iterator[tuple[Lab, Seen]]:
    """The lab and everything that was seen in it, by case."""
    left_out = set() if slow_ones_run(request) else SLOW
    cases = [case for case in [*ARRAYS, *FAULTS] if case["name"] not in left_out]
    lab = start_lab("md", f"{DISKS}x128M")
    try:
        start_driver(lab, "md_driver.py", cases)
        lab.wait_for("test -e /run/md-ready -o -e /root/ended", 1200)
        serial = lab.run("cat /run/md-ready || cat /root/error").text.strip()
        assert serial in lab.serials, serial
        lab.unplug(serial)
        lab.run("touch /run/md-pulled")
        lab.wait_for("test -e /root/ended", 400)
        seen = seen_by_driver(lab)
        seen["unplugged"]["serial"] = serial
        yield lab, seen
    finally:
        lab.down()


@pytest.fixture(scope="module")
def seen(bench: tuple[Lab, Seen]) -> Seen:
    return bench[1]


@pytest.mark.parametrize("name", each(case["name"] for case in ARRAYS))
def test_an_array_is_built_as_planned_and_read_back_as_asked(seen: Seen, name: str) -> None:
    case = seen[name]
    assert "problems" not in case, case
    assert case["commands"]["md.create"] == case["planned"]["md.create"], "what was shown is what ran"
    assert case["actual_size"] == case["args"]["size_bytes"], "the size was known to the byte"
    asked, found = case["args"], case["md.verify"]
    for what in ("uuid", "level", "chunk_bytes", "layout", "metadata"):
        assert found[what] == asked[what], what
    if asked["level"] != "raid0":
        assert (found["consistency"], found["bitmap"]) == (asked["consistency"], asked["bitmap"])
        assert (found["degraded"], found["sync_action"]) == (0, "idle")
    assert case["health"] == []
    assert case["again"] == "already there"
    roles = ["target"] + ["member"] * len(asked["members"]) + ["spare"] * len(asked["spares"])
    assert sorted(case["members"].values()) == sorted(roles + ["journal"] * (asked["journal"] is not None))


@pytest.mark.parametrize("name", each(case["name"] for case in ARRAYS))
def test_its_teardown_runs_as_planned_and_leaves_nothing(seen: Seen, name: str) -> None:
    case = seen[name]
    assert case["commands"]["md.stop"] == case["planned"]["md.stop"]
    assert case["left"] == {}
    assert case["second"] == "nothing to do"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raid0", "none needed"), ("raid1", "skipped: all members were proven zero (discard)"),
        pytest.param("raid10 far", "waited for ", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_how_members_became_consistent_is_said(seen: Seen, name: str, said: str) -> None:
    facts = {**seen[name]["md.create"], **seen[name].get("md.sync", {})}
    assert facts["initial_sync"].startswith(said)


@pytest.mark.parametrize("name", each(["killed", "killed later"]))
def test_a_creation_that_was_killed_is_undone(seen: Seen, name: str) -> None:
    for kill in seen[name]["kills"]:
        check_undone(kill)


def check_undone(kill: dict[str, Any]) -> None:
    assert kill["left"] == {}, kill
    assert kill["undo"][0] == ("undone" if {"arrays", "superblocks"} & kill["before"].keys() else "nothing to do")
    assert kill["undo"][1] == "nothing to do"


def test_the_kills_hit_half_made_arrays(seen: Seen) -> None:
    before = [kill["before"] for kill in seen["killed"]["kills"] if kill["ended"] is None]
    assert any("arrays" in one for one in before)


@pytest.mark.parametrize("name", each([*BROKEN, "still creating", "cancelled"]))
def test_an_array_is_taken_away_in_whatever_state_it_is(seen: Seen, name: str) -> None:
    case = seen[name]
    assert "problems" not in case, case
    assert case["undo"] == ["undone", "nothing to do"]
    assert case["left"] == {}


def test_a_degraded_array_is_not_healthy(seen: Seen) -> None:
    assert any("degraded: 1 of 3" in sentence for sentence in seen["a member kicked out"]["health"])
    assert any("is not a member of the array any more" in sentence for sentence in seen["a member kicked out"]["health"])


@pytest.mark.slow
def test_an_array_that_is_gone_or_waits_for_its_first_write_is_not_healthy(seen: Seen) -> None:
    assert seen["stopped"]["health"] == ["the array does not exist"]
    assert seen["under another name"]["health"] == ["the array is read-auto"], "it is known by its UUID"


def test_an_array_of_somebody_else_is_not_touched(seen: Seen) -> None:
    case = seen["foreign"]
    assert (case["refused"][0], case["refused"][2]) == ("md-name-taken", 3)
    assert case["running"] == ["nothing to do", "nothing to do"]
    assert case["made"] == "created"
    assert case["same"], "byte for byte"
    assert case["undo"] == ["undone", "nothing to do"]
    assert not {f"disk:{name}" for name in case["theirs"]} & set(case["facts"]["erased"])


def test_actions_refuse_what_is_not_proven_not_as_asked_or_in_use(seen: Seen) -> None:
    case = seen["refused"]
    assert (case["unproven"][0], case["unproven"][2]) == ("not-proven-zero", 4)
    assert case["untouched"] == {}
    code, message, exit_code = case["mismatch"]
    assert (code, exit_code) == ("read-back", 4)
    assert "level: asked raid10, found raid1" in message
    assert "metadata: asked 1.0, found 1.2" in message
    code, message, exit_code = case["busy"]
    assert (code, exit_code) == ("md-busy", 6)
    assert f"pid {case['pid']} (sleep" in message
    assert case["undo"] == ["undone", "nothing to do"]


@pytest.mark.slow
def test_a_sync_can_be_cancelled(seen: Seen) -> None:
    assert (seen["cancelled"]["stopped"][0], seen["cancelled"]["stopped"][2]) == ("cancelled", 130)
    assert seen["cancelled"]["reports"][-1].startswith("initial sync")


@pytest.mark.slow
def test_arrays_stand_on_arrays_and_go_from_above(seen: Seen) -> None:
    case = seen["stacked"]
    assert case["size"][0] == case["size"][1]
    assert sorted(case["members"].values()) == ["member", "member", "target"]
    assert case["health"] == []
    assert case["undo"] == ["undone"] * 3
    assert case["left"] == {}


def test_an_unplugged_member_makes_it_sick_and_does_not_hinder_its_end(seen: Seen) -> None:
    case = seen["unplugged"]
    assert any("degraded" in sentence for sentence in case["health"])
    assert any(f"{case['serial']} does not exist any more" in sentence for sentence in case["health"])
    assert case["undo"] == ["undone", "nothing to do"]
    assert case["facts"]["missing"] == [f"disk:{case['serial']}"]
    assert case["left"] == {}


def test_the_survivors_are_blank_from_outside(bench: tuple[Lab, Seen]) -> None:
    lab, seen = bench
    assert sorted(seen["blank"]["disks"]) == sorted(set(lab.serials) - {seen["unplugged"]["serial"]})
    assert all(lab.is_zero(serial) for serial in seen["blank"]["disks"])
