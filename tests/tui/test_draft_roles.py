"""Roles of a draft and their disks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from raidtui.tui.draft import (
    EMPTY,
    Draft,
    next_role,
    role_names,
    roles_of,
    with_role,
    without_disks,
    without_role,
    wrong_role_name,
)

DISKS = st.lists(st.sampled_from([f"S{n}" for n in range(8)]), max_size=6)
CHANGES = st.lists(st.tuples(st.sampled_from(["data", "journal", "spare"]), DISKS), max_size=8)


def test_a_new_role_has_as_many_disks_as_it_was_given():
    draft = with_role(EMPTY, "data", ["S1", "S2"])
    assert draft.document["roles"] == {"data": {"count": 2}}
    assert draft.bind == {"data": ("S1", "S2")}
    assert EMPTY.bind == {}


def test_disks_are_added_to_those_that_the_role_has():
    draft = with_role(with_role(EMPTY, "data", ["S1"]), "data", ["S1", "S2"])
    assert draft.bind == {"data": ("S1", "S2")}
    assert draft.document["roles"]["data"]["count"] == 2


def test_a_disk_moves_from_one_role_to_another():
    draft = with_role(with_role(EMPTY, "data", ["S1", "S2"]), "journal", ["S2"])
    assert draft.bind == {"data": ("S1",), "journal": ("S2",)}
    assert draft.document["roles"] == {"data": {"count": 1}, "journal": {"count": 1}}


def test_the_requirements_of_a_role_are_kept():
    draft = EMPTY._replace(document={**EMPTY.document, "roles": {"data": {"count": 4, "where": {"kind": "nvme"}}}})
    assert with_role(draft, "data", ["S1"]).document["roles"]["data"] == {"count": 1, "where": {"kind": "nvme"}}


def test_a_role_without_disks_goes_unless_a_layout_stands_on_it():
    draft = with_role(with_role(EMPTY, "data", ["S1"]), "journal", ["S2"])
    draft = draft._replace(document={**draft.document, "layouts": {"raid1": {"md": {"level": "raid1", "on": "@data"}}}})
    left = without_disks(draft, ["S1", "S2"])
    assert left.bind == {}
    assert left.document["roles"] == {"data": {"count": 1}}


def test_a_role_is_taken_away_with_its_disks():
    draft = with_role(with_role(EMPTY, "data", ["S1"]), "journal", ["S2"])
    left = without_role(draft, "data")
    assert (left.bind, left.document["roles"]) == ({"journal": ("S2",)}, {"journal": {"count": 1}})
    assert without_role(left, "data") is left


def test_the_next_role_is_one_in_want_of_disks_then_a_usual_name():
    assert next_role(EMPTY) == "data"
    assert next_role(with_role(EMPTY, "data", ["S1"])) == "journal"
    wanting = EMPTY._replace(document={**EMPTY.document, "roles": {"slow": {"count": 2}}})
    assert next_role(wanting) == "slow"
    assert role_names(wanting) == ("slow",)


def test_role_names_follow_the_rule_of_the_engine():
    assert wrong_role_name("data-2") == ""
    for name in ("", "2data", "Data", "a b", "@data", "d" * 32, "data\n"):
        assert wrong_role_name(name)


def test_an_unfinished_document_can_be_edited():
    assert with_role(Draft({"roles": [1], "layouts": 5}), "data", ["S1"]).document["roles"] == {"data": {"count": 1}}


@given(CHANGES, DISKS)
def test_a_disk_is_in_one_role_only_and_counts_are_true(changes, out):
    draft = EMPTY
    for role, disks in changes:
        draft = with_role(draft, role, disks)
        assert set(disks) <= set(draft.bind.get(role, ()))
    draft = without_disks(draft, out)
    bound = [disk for disks in draft.bind.values() for disk in disks]
    assert len(bound) == len(set(bound)) == len(roles_of(draft))
    assert not set(out) & set(bound)
    assert {role: given["count"] for role, given in draft.document["roles"].items()} == {
        role: len(disks) for role, disks in draft.bind.items()
    }
