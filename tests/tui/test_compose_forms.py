"""Forms, outline and texts of Compose: pure functions over the engine's definitions and plain JSON data."""

from __future__ import annotations

import json

import made_compose
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_compose import BOUND, DISKS, DOCUMENT, IDS, previewed

from raidtui.engine.compose.reading import read_document
from raidtui.model.describe import Field, Kind
from raidtui.tui.compose import edit, files
from raidtui.tui.compose.document import MISSING
from raidtui.tui.compose.edit import layer_offers
from raidtui.tui.compose.editor import entries, toggled
from raidtui.tui.compose.form import form
from raidtui.tui.compose.outline import outline
from raidtui.tui.compose.value_text import as_text, input_hint, parse
from raidtui.tui.draft import EMPTY, Draft

KINDS = made_compose.known()
THERE = {disk.id: disk for disk in DISKS}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


def test_a_layer_known_only_to_the_engine_is_offered_and_has_a_form():
    cache = Kind("newcache", "newcache", "A cache before a disk.", (
        Field("on", "devices", "What is cached.", required=True),
        Field("mode", "choice", "How.", required=True, choices=("writeback", "writethrough")),
        Field("bucket", "size", default="512KiB"),
    ), "block")  # fmt: skip
    kinds = msgspec.structs.replace(KINDS, layers=(*KINDS.layers, cache))
    offers = [offer for offer in layer_offers(kinds) if offer.kind.kind == "newcache"]
    assert [offer.words for offer in offers] == ["writeback", "writethrough"]
    change = edit.add_layout(BOUND, cache, offers[0].given, offers[0].words)
    made = form(change.draft.document, ("layouts", "writeback", "newcache"), kinds, None)
    assert [(row.field.name, row.shown) for row in made.rows] == [
        ("name", "writeback"), ("on", "@data"), ("mode", "writeback"), ("bucket", "512KiB"),
    ]  # fmt: skip


def test_every_layer_that_is_offered_can_be_added_and_has_a_form():
    for offer in layer_offers(KINDS):
        change = edit.add_layout(BOUND, offer.kind, offer.given, offer.words)
        name = change.path[1]
        made = form(change.draft.document, ("layouts", name, offer.kind.kind), KINDS, previewed(change.draft))
        assert len(made.rows) > len(offer.kind.fields) / 2
        assert json.loads(json.dumps(change.draft.document)) == change.draft.document


def test_a_form_shows_the_values_of_omitted_options_and_their_reasons():
    made = form(BOUND.document, ("layouts", "raid5", "md"), KINDS, previewed(BOUND))
    rows = {row.field.name: row for row in made.rows}
    assert rows["layout"].shown == "left-symmetric"
    assert rows["layout"].setting.why == "mdadm's default"
    assert rows["bitmap_chunk"].refused


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [("size", "64 KiB", "64KiB"), ("extent", "80%", "80%"), ("duration", "60s", "60s"), ("integer", "4,096", 4096),
     ("number", "1.5", 1.5), ("switch", "yes", True), ("devices", "@data", "@data"), ("list", "[1, 2]", [1, 2]),
     ("object", '{"a": 1}', {"a": 1}), ("text", "zipf:1.2", "zipf:1.2"), ("size", "", MISSING)],
)  # fmt: skip
def test_texts_become_values(type_, text, value):
    assert parse(Field("x", type_), text) == value


def test_a_virtual_size_may_exceed_100_percent():
    (thin,) = (field for kind in KINDS.layers if kind.kind == "lvm" for field in kind.fields if field.name == "thin")
    virtual = next(field for field in thin.fields if field.name == "virtual_size")
    assert parse(virtual, "300%") == "300%"
    with pytest.raises(ValueError, match="at most 100%"):
        parse(Field("x", "extent"), "300%")


@pytest.mark.parametrize(
    ("field", "text"),
    [(Field("x", "size"), "64"), (Field("x", "duration"), "60"), (Field("x", "integer", least=1, most=8), "9"),
     (Field("x", "integer"), "four"), (Field("x", "number"), "nan"), (Field("x", "object"), "{"),
     (Field("x", "text", pattern="^a+$"), "b"), (Field("x", "choice", choices=("a",)), "b"), (Field("x", "switch"), "x")],
)  # fmt: skip
def test_invalid_texts_are_refused_with_a_message(field, text):
    with pytest.raises(ValueError, match=r"\w"):
        parse(field, text)


DEPTH = Field("iodepth", "integer", default=1, least=1, most=4096, sweep=True)


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [(DEPTH, "1, 4,16 , 64", [1, 4, 16, 64]), (DEPTH, "4", 4), (DEPTH, "4,", [4]), (DEPTH, "", MISSING),
     (Field("bs", "size", sweep=True), "4 KiB, 1MiB", ["4KiB", "1MiB"])],
)  # fmt: skip
def test_an_option_of_a_sweep_takes_values_with_commas(field, text, value):
    assert parse(field, text) == value
    assert parse(field, as_text(field, value)) == value


@pytest.mark.parametrize(("text", "why"), [("1, 4, 1", "1 is there twice"), ("1,,4", "missing"), ("1, 9999", "1 to 4096"),
                                           ("1, x", "whole number"), (",", "missing")])  # fmt: skip
def test_a_wrong_list_of_a_sweep_is_refused_with_a_message(text, why):
    with pytest.raises(ValueError, match=why):
        parse(DEPTH, text)


def test_a_sweep_is_one_workload_in_outline_and_form():
    path = ("workloads", "seq-write-4m-q32", "fio")

    def shown(value):
        draft = edit.set_value(BOUND, (*path, "iodepth"), value).draft
        found = previewed(draft)
        rows = {row.field.name: row for row in form(draft.document, path, KINDS, found).rows}
        (line,) = (one for one in outline(draft, KINDS, found, THERE) if one.path == path[:2])
        return rows["iodepth"], line

    row, line = shown([1, 8, 32])
    assert (row.shown, row.wrong) == ("1, 8, 32", "")
    assert "for a sweep" in input_hint(row.field)
    assert "sweep of 3" in line.note
    row, line = shown([8, 8])
    assert (row.shown, row.wrong, line.wrong) == ("8, 8", *["iodepth 8 is listed twice"] * 2)


@given(st.sampled_from(["list", "object"]), json_values)
def test_json_text_reads_back_as_the_same_value(type_, value):
    field = Field("x", type_)
    assert parse(field, as_text(field, value)) == value


@given(st.dictionaries(st.sampled_from(["schema", "name", "roles", "layouts", "workloads", "policy"]), json_values))
def test_outline_and_form_accept_any_document(document):
    draft = Draft(document)
    for line in outline(draft, KINDS, previewed(draft), THERE):
        form(document, line.form, KINDS, None)


def test_the_outline_marks_missing_disks_and_wrong_layers():
    wrong = edit.set_value(BOUND, ("layouts", "raid5", "md", "chunk"), "3KiB").draft
    lines = outline(wrong, KINDS, previewed(wrong), {key: disk for key, disk in THERE.items() if key != IDS[0]})
    by_path = {line.path: line for line in lines}
    assert by_path[("bind", "data", IDS[0])].wrong == "missing"
    assert not by_path[("bind", "data", IDS[1])].wrong
    assert "3KiB" in by_path[("layouts", "raid5")].wrong


@given(st.sampled_from([MISSING, "@a", ["@a", "@b"], {"md": {}}, [{"md": {}}, "@a"]]), st.sampled_from(["@a", "@b", "@c"]))
def test_adding_and_removing_a_source_restores_the_input(value, source):
    _, before, _ = entries(value, dict.fromkeys("abc", ""))
    once = toggled(value, source)
    _, after, _ = entries(toggled(once, source), dict.fromkeys("abc", ""))
    assert sorted(after) == sorted(before)


def test_a_saved_scenario_reads_back_unchanged_by_engine_and_screen(tmp_path):
    path = tmp_path / "it.json"
    files.write(str(path), DOCUMENT)
    assert files.read(str(path)).document == DOCUMENT
    assert list(read_document(path.read_text()).scenario.layouts) == list(DOCUMENT["layouts"])


@pytest.mark.parametrize(("text", "wrong"), [
    ("~no-such-user/x.json", "no folder ~no-such-user"), ("x" * 300, "too long"), ("no-folder/x", "no folder no-folder"),
    ("x.json", ""),
])  # fmt: skip
def test_any_text_can_be_typed_as_the_name_of_a_file(tmp_path, monkeypatch, text, wrong):
    monkeypatch.chdir(tmp_path)
    assert wrong in files.wrong_target(text)
    assert bool(files.wrong_target(text)) == bool(wrong)


def test_a_dangling_link_does_not_hide_the_results_to_begin_from(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = files.results_folder()
    (folder / "gone.json").symlink_to(tmp_path / "nothing")
    (folder / "mine.result.json").write_text("{}")
    assert [one.words for one in files.beginnings() if one.note.startswith("result")] == ["mine"]


def test_every_shipped_scenario_can_start_a_draft():
    names = [beginning for beginning in files.beginnings() if beginning.note.startswith("shipped")]
    assert names
    for beginning in names:
        assert files.read(beginning.name).document["layouts"]
    assert files.read("") == EMPTY
