"""Groups of a form: closed until wanted, with what is set; opened by keys and by search; vdevs and other objects."""

from __future__ import annotations

import pytest
from compose_pilot import at_line, lines, opened, typed
from made_compose import BOUND, DISKS, known, previewed
from pilot import SMALL, drive

from raidtui.tui.compose import edit
from raidtui.tui.compose.document import MISSING, at
from raidtui.tui.compose.edit import Change, layer_offers, takes_layer
from raidtui.tui.compose.folding import GROUPS, folded, holders
from raidtui.tui.compose.form import form
from raidtui.tui.compose.lists import ascii_signs, form_line
from raidtui.tui.draft import Draft

KINDS = known()
ROOM = 11
"""Lines of a form at 80×24, above the editor."""


def born(word: str, draft: Draft = BOUND) -> Change:
    offer = next(offer for offer in layer_offers(KINDS, takes_layer) if offer.words == word)
    return edit.add_layout(draft, offer.kind, offer.given, f"new-{word}")


def rows_of(change: Change, *opened_names: str):
    kind = next(iter(at(change.draft.document, change.path[:2])))
    made = form(change.draft.document, (*change.path[:2], kind), KINDS, previewed(change.draft))
    return made.rows, folded(made.rows, {row.path for row in made.rows if row.field.name in opened_names})


def by_name(rows):
    return {row.field.name: row for row in rows}


def test_every_option_of_a_group_exists():
    kinds = {kind.kind: {field.name for field in kind.fields} for kind in (*KINDS.layers, *KINDS.workloads, KINDS.policy)}
    for kind, groups in GROUPS.items():
        named = [name for names in groups.values() for name in names]
        assert set(named) <= kinds[kind], kind
        assert len(named) == len(set(named)), kind


@pytest.mark.parametrize("part", range(3))
def test_the_form_of_a_new_layer_fits_a_small_terminal(part):
    for offer in layer_offers(KINDS, takes_layer)[part::3]:
        every, shown = rows_of(born(offer.words))
        assert len(shown) <= ROOM, offer.words
        assert len(every) > len(shown)


def test_a_closed_group_says_what_is_set_in_it():
    raid5 = born("raid5")
    _, shown = rows_of(raid5)
    assert by_name(shown)["tuning"].summary == "12 options"
    tuning = {"disks": {"scheduler": "none"}, "stripe_cache_size": 512}
    change = edit.set_value(raid5.draft, (*raid5.path, "md", "tuning"), tuning)
    change = edit.set_value(change.draft, (*raid5.path, "md", "bitmap"), "internal")._replace(path=raid5.path)
    every, shown = rows_of(change)
    assert by_name(shown)["tuning"].summary == "12 options, 2 set: scheduler none, stripe_cache_size 512"
    assert by_name(shown)["more options"].summary == "4 options, 1 set: bitmap internal"
    assert "▸tuning" in form_line(by_name(shown)["tuning"], 14, 78).plain
    assert ">tuning" in ascii_signs(form_line(by_name(shown)["tuning"], 14, 78)).plain
    assert holders(every, (*raid5.path, "md", "tuning", "disks", "scheduler")) == {
        (*raid5.path, "md", "tuning"), (*raid5.path, "md", "tuning", "disks"),
    }  # fmt: skip


def test_an_error_in_a_closed_group_is_on_its_line():
    raid5 = born("raid5")
    change = edit.set_value(raid5.draft, (*raid5.path, "md", "bitmap_chunk"), "3KiB")._replace(path=raid5.path)
    _, shown = rows_of(change)
    assert by_name(shown)["more options"].wrong.startswith("bitmap_chunk: ")
    _, shown = rows_of(change, "more options")
    assert not by_name(shown)["more options"].wrong
    assert by_name(shown)["bitmap_chunk"].wrong


def test_options_of_other_kinds_are_a_line_that_says_so():
    _, shown = rows_of(born("xfs"))
    assert by_name(shown)["btrfs"].summary.startswith("refused: xfs has no")
    assert by_name(shown)["xfs"].summary == "2 options"


def test_the_policy_closes_what_most_runs_leave_alone():
    document = {**BOUND.document, "policy": {"rounds": 2, "cooldown": "5s", "only": {"raid5": ["randread"]}}}
    every = form(document, ("policy",), KINDS, previewed(Draft(document, BOUND.bind))).rows
    shown = by_name(folded(every, ()))
    assert [*shown] == ["rounds", "ranking", "order", "steady", "state of disks and caches", "more or fewer cells"]
    assert shown["state of disks and caches"].summary == "6 options, 1 set: cooldown 5s"
    assert shown["more or fewer cells"].summary.startswith("3 options, 1 set: only ")
    assert holders(every, ("policy", "caches")) == {("policy", "(state of disks and caches)")}


def test_an_object_that_is_left_out_asks_for_nothing_and_is_added_complete():
    pool = born("raidz1")
    lvm = born("lvm")
    _, shown = rows_of(pool)
    assert by_name(shown)["dataset"].summary == "left out; space adds it (2 options)"
    _, shown = rows_of(lvm)
    assert not any(row.wrong for row in shown)
    cache = next(field for kind in KINDS.layers if kind.kind == "lvm" for field in kind.fields if field.name == "cache")
    made = edit.add_object(lvm.draft, (*lvm.path, "lvm", "cache"), cache)
    assert at(made.draft.document, made.path) == {"on": "@journal"}, "the role that the layout does not use yet"
    assert not previewed(made.draft).layouts[-1].problems


def test_vdevs_are_added_swapped_and_removed_without_json():
    pool = born("raidz1")
    vdevs = next(field for kind in KINDS.layers if kind.kind == "zpool" for field in kind.fields if field.name == "vdevs")
    there = (*pool.path, "zpool", "vdevs")
    made = edit.add_object(pool.draft, there, vdevs, {"mirror": edit.BELOW})
    assert at(made.draft.document, there) == [{"raidz1": "@data"}, {"mirror": "@journal"}]
    every, shown = rows_of(made._replace(path=pool.path), "vdevs[0]")
    assert by_name(shown)["vdevs"].shown == "2 · enter adds one"
    assert by_name(shown)["vdevs[1]"].summary == "mirror @journal"
    assert by_name(shown)["type"].value == "raidz1"
    assert "data" not in by_name(every), "draid alone has data disks"
    assert by_name(shown)["devices"].path == (*there, 0, "raidz1")
    swapped = edit.give(made.draft, by_name(every)["type"]._replace(path=(*there, 0, "(type)"), value="raidz1"), "raidz2")
    assert at(swapped.draft.document, there)[0] == {"raidz2": "@data"}
    less = edit.give(swapped.draft, by_name(shown)["vdevs[1]"], MISSING)
    assert at(less.draft.document, there) == [{"raidz2": "@data"}]


def test_a_special_device_can_be_given_to_a_pool_with_redundancy():
    every, _ = rows_of(born("raidz1"))
    assert not by_name(every)["special"].refused
    assert not by_name(every)["arc_max"].refused
    every, _ = rows_of(born("luks"))
    assert not by_name(every)["key_size"].refused


def test_groups_open_and_close_by_keys_and_by_search(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5")
        screen.focus_pane("form")
        form_list = screen.query_one("#form")
        assert any(line.lstrip().startswith("▸tuning") for line in lines(screen, "#form"))
        await pilot.press("end", "right", "down")
        assert form_list.row.field.name == "disks"
        await pilot.press("enter", "down")
        assert form_list.row.field.name == "read_ahead"
        await pilot.press("left")
        assert form_list.row.field.name == "disks"
        await pilot.press("left", "left")
        assert form_list.row.field.name == "tuning"
        assert not form_list.row.is_open
        await pilot.press("slash")
        await typed(pilot, "metadata")
        await pilot.press("enter")
        await pilot.pause()
        assert form_list.row.field.name == "metadata"

    drive(app, talk, SMALL)


def test_a_pool_is_composed_by_keys_alone(shop):
    app = shop.app(Draft({**BOUND.document, "layouts": {}}, {**BOUND.bind, "journal": (DISKS[4].id,)}))

    async def talk(pilot):
        screen = await opened(pilot)
        await pilot.press("l")
        await typed(pilot, "zvol")
        await pilot.press("enter")
        document = app.draft.document["layouts"]["raidz1"]["zpool"]
        assert document == {"vdevs": [{"raidz1": "@data"}], "volume": {"size": "80%"}}
        screen.focus_pane("form")
        screen.query_one("#form").go_to(("layouts", "raidz1", "zpool", "vdevs"))
        await pilot.press("enter")
        await typed(pilot, "stripe")
        await pilot.press("enter")
        document = app.draft.document["layouts"]["raidz1"]["zpool"]
        assert document["vdevs"] == [{"raidz1": "@data"}, {"stripe": "@journal"}]
        screen.query_one("#form").go_to(("layouts", "raidz1", "zpool", "vdevs", 1))
        await pilot.press("delete")
        assert app.draft.document["layouts"]["raidz1"]["zpool"]["vdevs"] == [{"raidz1": "@data"}]
        screen.query_one("#form").go_to(("layouts", "raidz1", "zpool", "vdevs", 0, "(type)"))
        await pilot.press("right")
        assert app.draft.document["layouts"]["raidz1"]["zpool"]["vdevs"] == [{"raidz2": "@data"}]

    drive(app, talk, SMALL)
