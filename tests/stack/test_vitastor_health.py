"""Marks of cells on a Vitastor cluster, made from its answers before and after them (`tests/data/vitastor`: 3.0.8)."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from raidtui.stack.vitastor.health import Look, changes, other_load, troubles
from raidtui.stack.vitastor.pool import domains
from raidtui.stack.vitastor.spec import VitastorCluster, VitastorPool

DATA = Path(__file__).parents[1] / "data/vitastor"
SAID: dict[str, Any] = json.loads((DATA / "cluster.json").read_text())
STATES: dict[str, Any] = json.loads((DATA / "states.json").read_text())
POOL = VitastorPool("rtabcdefgha", "u", VitastorCluster(), ("rtabcdefgha-1",), 1 << 30, 8)


def look(status: Any = None, pools: Any = None, groups: Any = None, nodes: Any = None) -> Look:
    given = (status or SAID["status"], pools or SAID["ls-pools"], groups or SAID["pg-list"], nodes or SAID["ls-osd"])
    return Look(*copy.deepcopy(given))


def at(state: str) -> Look:
    return look(STATES[state]["status"], STATES[state]["pools"])


def with_status(**more: Any) -> Look:
    return look({**SAID["status"], **more})


def codes(seen: Look) -> set[str]:
    return {one.refusal.code for one in troubles(seen)}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("base", set()),
        ("killed-1s", {"vitastor-not-clean"}),
        ("killed-20s", {"vitastor-osd-down", "vitastor-recovering"}),
        ("restarted", set()),
        ("reweighted-1s", {"vitastor-not-clean"}),
        ("reweighted-4s", {"vitastor-recovering"}),
        ("reweighted-14s", set()),
        ("back", set()),
    ],
)
def test_each_state_has_its_own_code(name: str, found: set[str]) -> None:
    assert codes(at(name)) == found


def test_a_cluster_at_rest_has_no_trouble_with_pools_or_without() -> None:
    assert codes(look()) == set()
    assert codes(look(SAID["status-empty"], [], [], SAID["ls-osd"])) == set()


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ({"pg_states": {"active": 15, "active+scrubbing": 1}}, "vitastor-scrubbing"),
        ({"pg_states": {"active": 15, "active+has_misplaced+scrubbing": 1}}, "vitastor-recovering"),
        ({"pg_states": {"active": 15, "active+has_inconsistent": 1}}, "vitastor-not-clean"),
        ({"pg_states": {"active": 15, "peering": 1}}, "vitastor-not-clean"),
        ({"pg_states": {"active": 15, "offline": 1}}, "vitastor-not-clean"),
        ({"incomplete_data": "4096"}, "vitastor-not-clean"),
        ({"degraded_data": "4096"}, "vitastor-recovering"),
        ({"osds_nearfull": 1}, "vitastor-full"),
        ({"backfillfull_pools": [1]}, "vitastor-full"),
        ({"osds_secondary_slow_ops": [2]}, "vitastor-slow-ops"),
        ({"readonly": True}, "vitastor-readonly"),
        ({"no_recovery": True}, "vitastor-flags"),
        ({"mon_count": 0}, "vitastor-no-monitor"),
        ({"etcd_alive": 2, "etcd_count": 3}, "vitastor-no-monitor"),
    ],
)
def test_what_the_status_says_is_told_apart(status: dict[str, Any], code: str) -> None:
    assert codes(with_status(**status)) == {code}


def test_a_cluster_that_does_not_repair_is_a_caution() -> None:
    (found,) = troubles(with_status(no_rebalance=True))
    assert (found.mark.weight, found.sentence) == ("caution", "the cluster has no_rebalance")


def test_an_osd_that_is_down_is_named() -> None:
    nodes = copy.deepcopy(SAID["ls-osd"])
    nodes[2]["up"] = "down"
    (found,) = troubles(look({**SAID["status"], "osd_up": 2}, nodes=nodes))
    assert found.sentence == "2 of 3 OSDs are up: 2"


def test_data_that_moved_between_two_looks_is_seen_by_its_counter_alone() -> None:
    (found,) = changes(at("base"), at("reweighted-14s"))
    assert (found.refusal.code, found.sentence) == ("vitastor-recovering", "1408 objects were repaired or moved meanwhile")
    assert not list(changes(at("base"), at("restarted"))), "its status alone does not tell"


def test_another_primary_set_or_epoch_is_a_change() -> None:
    for what, value in (("cur_primary", 1), ("target_set", [1, 3]), ("epoch", 1)):
        groups = copy.deepcopy(SAID["pg-list"])
        groups[0][what] = value
        (found,) = changes(look(), look(groups=groups))
        assert (found.refusal.code, found.sentence[:18]) == ("vitastor-changed", "1 placement groups")


def test_an_osd_that_was_started_anew_counts_from_zero() -> None:
    before, after = look(), look()
    before.nodes[1]["op_stats"]["list"]["count"] = "16"
    (found,) = changes(before, after)
    assert found.sentence == "OSDs were started, or started anew, meanwhile: 1"
    assert not list(changes(after, before)), "counters grow"


def test_changed_settings_and_processes_of_osds_are_seen() -> None:
    (found,) = changes(look(), with_status(no_scrub=True))
    assert found.sentence == "settings of the cluster were changed: no_scrub"
    (found,) = changes(look()._replace(here=frozenset({"7"})), look()._replace(here=frozenset({"8"})))
    assert found.refusal.code == "vitastor-changed"


def test_the_load_of_other_images_is_named_and_the_own_one_is_not() -> None:
    busy = [{**one, "read_iops": "30", "write_iops": 9} for one in SAID["ls-l"]]
    (mark,) = other_load(busy, POOL)
    assert (mark.code, mark.weight) == ("vitastor-other-load", "caution")
    assert "rt0 (39 op/s), rt1 (39 op/s)" in mark.sentence
    assert not list(other_load([{**one, "pool_name": POOL.name} for one in busy], POOL))
    assert not list(other_load(SAID["ls-l"], POOL)), "an image that nobody has used has no counters"


@pytest.mark.parametrize(
    ("size", "level", "found"), [(2, "osd", 0), (4, "osd", 1), (2, None, 1), (1, "host", 0), (9, "rack", 0)]
)
def test_failure_domains_are_counted_by_their_level(size: int, level: str | None, found: int) -> None:
    pool = VitastorPool("rta", "u", VitastorCluster(), (), 1, 8, size=size, failure_domain=level)
    assert [one.code for one in domains(pool, look())] == ["vitastor-too-few-domains"] * found
