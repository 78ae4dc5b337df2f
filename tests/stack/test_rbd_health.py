"""Marks of cells on a Ceph cluster, made from its status before and after them (`tests/data/ceph`: Ceph 16.2.15)."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from raidtui.stack.rbd.health import changes, daemons_up, other_load, troubles
from raidtui.stack.rbd.spec import Cluster, RbdPool

DATA = Path(__file__).parents[1] / "data/ceph"
STATUS: dict[str, Any] = json.loads((DATA / "status.json").read_text())
POOL = RbdPool("rtabcdefgha", "u", Cluster(), 1 << 30)


def codes(status: Any) -> set[str]:
    return {one.refusal.code for one in troubles(status)}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("base", set()),
        ("moving", {"rbd-recovering"}),
        ("peering", {"rbd-not-clean", "rbd-recovering"}),
        ("osd-down", {"rbd-osd-down", "rbd-recovering"}),
        ("osd-up-again", set()),
        ("nearfull", {"rbd-full"}),
        ("flags", set()),
        ("paused", {"rbd-paused"}),
        ("no-manager", {"rbd-no-manager"}),
    ],
)
def test_each_state_has_its_own_code(name: str, found: set[str]) -> None:
    assert codes(STATUS[name]) == found


def with_groups(*states: tuple[str, int], **more: Any) -> Any:
    status = copy.deepcopy(STATUS["base"])
    groups = [{"state_name": name, "count": count} for name, count in states]
    status["pgmap"] |= {"pgs_by_state": groups, "num_pgs": sum(count for _, count in states), **more}
    return status


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("active+clean+scrubbing", "rbd-scrubbing"), ("active+clean+scrubbing+deep", "rbd-scrubbing"),
        ("active+clean+snaptrim", "rbd-not-clean"), ("active+clean+inconsistent", "rbd-not-clean"),
        ("active+remapped+backfill_wait", "rbd-recovering"), ("creating+incomplete", "rbd-not-clean"),
        ("unknown", "rbd-not-clean"), ("stale+active+clean", "rbd-not-clean"),
    ],
)  # fmt: skip
def test_exactly_active_and_clean_is_clean(state: str, code: str) -> None:
    assert codes(with_groups(("active+clean", 40), (state, 1))) == {code}


def test_pools_without_any_group_are_known_to_no_manager() -> None:
    assert codes(with_groups()) == {"rbd-no-manager"}


def test_misplaced_objects_are_a_move_whatever_the_states_say() -> None:
    assert codes(with_groups(("active+clean", 48), misplaced_objects=3)) == {"rbd-recovering"}


def test_an_osd_that_was_lost_and_returned_is_seen_by_the_epoch_alone() -> None:
    """Nothing is wrong with either status by itself."""
    (found,) = changes(STATUS["base"], STATUS["osd-up-again"])
    assert found.refusal.code == "rbd-map-changed"
    assert "an OSD was down meanwhile" in found.sentence
    assert not list(changes(STATUS["base"], STATUS["base"]))


def test_changed_flags_are_named() -> None:
    (found,) = changes(STATUS["base"], STATUS["flags"])
    assert "noscrub flag(s) set" in found.sentence


def test_the_load_of_other_pools_is_named_and_the_own_one_is_not() -> None:
    stats = json.loads((DATA / "pool-stats.json").read_text())
    (mark,) = other_load(stats, POOL)
    assert (mark.code, mark.weight) == ("rbd-other-load", "caution")
    assert "t1 (39 op/s)" in mark.sentence
    assert not list(other_load([{**one, "pool_name": POOL.name} for one in stats], POOL))


def test_daemons_that_are_up_are_counted_by_kind() -> None:
    def up(state: str, standbys: int) -> dict[str, int]:
        status = copy.deepcopy(STATUS[state])
        status["mgrmap"]["num_standbys"] = standbys
        return daemons_up({**status, "quorum_names": ["a", "b", "c"]})

    assert up("base", 1) == {"osd": 3, "mon": 3, "mgr": 2}
    assert up("osd-down", 0)["osd"] == 2
    assert up("no-manager", 0)["mgr"] == 0
