"""Editing a scenario: every edit can be undone, leaves what it was given alone, and what it makes is JSON."""

from __future__ import annotations

import copy
import json

import made_compose
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_compose import BOUND, IDS

from raidtui.tui.compose import edit
from raidtui.tui.compose.document import MISSING, at, drop, kind_of, path_of, place_of, put, rekey, shift
from raidtui.tui.draft import EMPTY, Draft, History

KINDS = made_compose.known()
MD = kind_of(KINDS, "md")
FIO = kind_of(KINDS, "fio", workload=True)
RAID5 = ("layouts", "raid5", "md")

words = st.text("abcdefgh", min_size=1, max_size=4)
scalars = st.none() | st.booleans() | st.integers() | words
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))
documents = st.dictionaries(words, values, max_size=4)
paths = st.lists(words | st.integers(0, 3), min_size=1, max_size=4).map(tuple)


@given(documents, paths, values)
def test_put_sets_one_path_and_keeps_the_others(document, path, value):
    before = copy.deepcopy(document)
    after = put(document, path, value)
    assert document == before
    if all(isinstance(step, str) for step in path):
        assert at(after, path) == value
    assert json.loads(json.dumps(after)) == after


@given(documents, paths)
def test_drop_removes_a_path_and_is_idempotent(document, path):
    before = copy.deepcopy(document)
    after = drop(document, path)
    assert document == before
    if isinstance(path[-1], str):
        assert at(after, path) is MISSING
        assert drop(after, path) == after


@given(documents, words)
def test_a_renamed_key_keeps_its_position(document, new):
    for old in document:
        if new not in document:
            renamed = rekey(document, (old,), new)
            assert list(renamed) == [new if key == old else key for key in document]


@given(documents, st.integers(-3, 3))
def test_moving_keeps_every_entry(document, by):
    for key in document:
        assert shift(document, (key,), by) == document


def every_path(value, here=()):
    yield here
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from every_path(entry, (*here, key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from every_path(entry, (*here, index))


@given(st.dictionaries(words, values, max_size=3))
def test_a_place_leads_back_to_its_path(document):
    for path in every_path(document):
        assert path_of(document, place_of(path)) == path


def test_the_longest_key_matches_if_keys_contain_dots():
    document = {"layouts": {"raid5": {"md": {}}, "raid5.md": {"md": {"chunk": "64KiB"}}}}
    assert path_of(document, "$.layouts.raid5.md.md.chunk") == ("layouts", "raid5.md", "md", "chunk")
    assert path_of(document, "$.layouts.raid5.md.md.journal") == ("layouts", "raid5.md", "md", "journal")
    assert path_of(document, "--bind data") == ("roles", "data")


def changes(draft, name, number):
    """Random edits of every kind."""
    entries = [(section, key) for section in ("roles", "layouts", "workloads") for key in draft.document.get(section, {})]
    layers = [("layouts", key, "md") for key, top in draft.document.get("layouts", {}).items() if "md" in top]
    yield lambda: edit.add_role(draft, name)
    yield lambda: edit.add_layout(draft, MD, {"level": "raid6"})
    yield lambda: edit.add_workload(draft, FIO, {"rw": "read"})
    yield lambda: edit.add_preset(draft, KINDS.presets[number % len(KINDS.presets)])
    for entry in entries[number % 3 :: 3]:
        yield lambda entry=entry: edit.remove(draft, entry)
        yield lambda entry=entry: edit.rename(draft, entry, name)
        yield lambda entry=entry: edit.duplicate(draft, entry)
        yield lambda entry=entry: edit.move(draft, entry, 1)
    for path in layers[number % 2 :: 2]:
        yield lambda path=path: edit.put_on_top(draft, path, MD, {"level": "raid1"})
        yield lambda path=path: edit.put_below(draft, (*path, "on"), MD, {"level": "raid0"})
        yield lambda path=path: edit.remove_layer(draft, KINDS, path)
        yield lambda path=path: edit.set_value(draft, (*path, "journal"), "@journal")
        yield lambda path=path: edit.set_value(draft, (*path, "on"), MISSING)
    for role, disks in draft.bind.items():
        yield lambda role=role, disks=disks: edit.take_disk_out(draft, role, disks[0])


@given(st.lists(st.tuples(words, st.integers(0, 1000)), min_size=1, max_size=12))
def test_any_sequence_of_edits_can_be_undone_and_redone(picks):
    history = History(BOUND)
    seen = [BOUND]
    for name, number in picks:
        draft = history.draft
        before = copy.deepcopy(draft)
        possible = list(changes(draft, name, number))
        try:
            change = possible[number % len(possible)]()
        except ValueError:
            continue
        assert draft == before, "an edit changed what it was given"
        assert json.loads(json.dumps(change.draft.document)) == change.draft.document
        if history.change(change.draft, change.what):
            seen.append(change.draft)
    for draft in reversed(seen[:-1]):
        assert history.undo() is not None
        assert history.draft == draft
        assert list(history.draft.document["layouts"]) == list(draft.document["layouts"])
    assert history.undo() is None
    for draft in seen[1:]:
        history.redo()
        assert history.draft == draft


def test_a_new_layout_stands_on_the_role_for_data_and_is_named_by_its_level():
    change = edit.add_layout(BOUND, MD, {"level": "raid6"})
    assert change.path == ("layouts", "raid6")
    assert at(change.draft.document, change.path) == {"md": {"level": "raid6", "on": "@data"}}
    again = edit.add_layout(change.draft, MD, {"level": "raid6"})
    assert again.path == ("layouts", "raid6-2")


def test_a_new_layout_without_any_role_leaves_its_members_to_be_chosen():
    change = edit.add_layout(EMPTY, MD, {"level": "raid5"})
    assert at(change.draft.document, change.path) == {"md": {"level": "raid5"}}


def test_a_renamed_role_is_renamed_where_it_is_used_and_keeps_its_disks():
    change = edit.rename(BOUND, ("roles", "data"), "fast")
    document = change.draft.document
    assert list(document["roles"]) == ["fast", "journal"]
    assert document["layouts"]["raid5-journal"]["md"]["on"] == "@fast"
    assert document["layouts"]["raid5-journal"]["md"]["journal"] == "@journal"
    assert change.draft.bind == {"fast": IDS[:4], "journal": IDS[4:5]}


def test_invalid_and_taken_names_are_refused():
    for path in (("roles", "Data"), ("roles", "1st"), ("layouts", "-x"), ("layouts", "raid5\n"), ("workloads", "")):
        with pytest.raises(ValueError, match="name"):
            edit.check_name(BOUND, path)
    with pytest.raises(ValueError, match="already"):
        edit.check_name(BOUND, ("layouts", "raid5"))


def test_a_layer_put_on_top_stands_on_what_was_there_and_taking_it_away_brings_it_back():
    on_top = edit.put_on_top(BOUND, RAID5, MD, {"level": "raid1"})
    below = at(BOUND.document, ("layouts", "raid5"))
    assert at(on_top.draft.document, ("layouts", "raid5")) == {"md": {"level": "raid1", "on": below}}
    back = edit.remove_layer(on_top.draft, KINDS, ("layouts", "raid5", "md"))
    assert back.draft == BOUND


def test_a_layer_put_below_takes_over_what_was_in_the_input():
    change = edit.put_below(BOUND, ("layouts", "raid5-journal", "md", "journal"), MD, {"level": "raid1"})
    assert at(change.draft.document, (*change.path[:-1], "md")) == {"level": "raid1", "on": "@journal"}
    assert change.path == ("layouts", "raid5-journal", "md", "journal", "md")


def test_the_only_layer_goes_with_its_layout():
    assert "raid5" not in edit.remove_layer(BOUND, KINDS, RAID5).draft.document["layouts"]


def test_the_last_of_several_sources_takes_its_input_with_it():
    several = edit.set_value(BOUND, (*RAID5, "spares"), ["@journal"]).draft
    assert "spares" not in at(edit.remove(several, (*RAID5, "spares", 0)).draft.document, RAID5)


def test_a_disk_that_is_taken_out_makes_its_role_smaller():
    change = edit.take_disk_out(BOUND, "data", IDS[1])
    assert change.draft.bind["data"] == (IDS[0], IDS[2], IDS[3])
    assert change.draft.document["roles"]["data"]["count"] == 3


def test_a_copy_stands_right_after_its_original_and_shares_nothing_with_it():
    change = edit.duplicate(BOUND, ("layouts", "raid5"))
    assert list(change.draft.document["layouts"]) == ["raid5", "raid5-2", "raid5-journal", "raid10"]
    assert change.draft.document["layouts"]["raid5-2"]["md"] is not BOUND.document["layouts"]["raid5"]["md"]


def test_moving_an_entry_is_a_change_of_its_own():
    history = History(BOUND)
    change = edit.move(BOUND, ("layouts", "raid10"), -1)
    assert history.change(change.draft, change.what)
    assert list(history.draft.document["layouts"]) == ["raid5", "raid10", "raid5-journal"]
    assert history.unsaved


def test_every_shipped_preset_is_a_workload_that_previews_without_a_problem():
    draft: Draft = BOUND
    for preset in KINDS.presets:
        draft = edit.add_preset(draft, preset).draft
    assert not [p for view in made_compose.previewed(draft).workloads for p in view.problems]
