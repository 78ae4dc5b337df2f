"""Old against new on the screen Results: two results of one scenario in pairs, and the answer in words."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from made import cell, result
from pictures import same_picture
from pilot import SMALL, drive, until
from textual.widgets import Static

from raidtui.model.convert import encode
from raidtui.model.protocol import RunList
from raidtui.tui.results.compare_view import CompareView
from raidtui.tui.results.library_pane import LibraryPane

WIDE = (160, 50)
LONG = "raid5-journal-64k-chunk-stripe-cache-16384"
OLD = {"raid1": (6000, 2600), "raid5": (3000, 2400), LONG: (4000, 1900)}
NEW = {"raid1": (6900, 2605), "raid5": (2500, 2402), LONG: (4010, 1900)}


def rounds(rates, number, *, count=5):
    cells = []
    for layout, pair in rates.items():
        for workload, rate in zip(("sync-4k", "seq-1m"), pair, strict=True):
            lost = number == 2 and (layout, workload) == (LONG, "seq-1m")
            why = ("the array resynced while it was measured",) if lost else ()
            cells += [cell(layout, workload, rate * (1 + (n * 7 + number) % 5 / 500), round=n, reasons=why)
                      for n in range(1, count + 1)]  # fmt: skip
    one = result(*cells, layouts=(), run=f"2026020{number}-120000-aaaa000{number}", started=f"2026-02-0{number}T12:00:00Z")
    definitions = {name: {"md": {"level": name, "on": "@data"}} for name in rates}
    return msgspec.structs.replace(one, scenario={**one.scenario, "layouts": definitions})


@pytest.fixture
def shelf(stage, tmp_path):
    """A results folder with two runs of one scenario."""
    folder = tmp_path / "state" / "raidtui" / "results"
    folder.mkdir(parents=True)
    for part in (folder, folder.parent):
        part.chmod(0o700)
    for number, rates in ((1, OLD), (2, NEW)):
        one = rounds(rates, number)
        (folder / f"tiny-{one.run}.result.json").write_bytes(encode(one))
    stage.answers(runs={"result": RunList("raidtui.runs/1", ())})


def scene(stage, act, size=SMALL):
    """Act on the screen Results once both results are marked, the newer first, and compared."""
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        await pilot.press("5")
        pane = app.screen.query_one(LibraryPane)
        await until(pilot, lambda: len(pane.entries) == 2)
        app.clear_notifications()
        await pilot.press("home", "space", "end", "space", "c")
        await until(pilot, lambda: app.screen.has_class("-comparing"))
        await pilot.pause()
        await act(pilot, app.screen, app.screen.query_one(CompareView))

    drive(app, talk, size)


def words(view, which):
    return str(view.query_one(f"#compare-{which} > Static", Static).render())


def row_of(view, layout, workload):
    rows = view.table.rows
    keys = {(pair.layout, pair.workload): key for key, pair in zip(rows.keys, rows.pairs, strict=True)}
    key = keys[layout, workload]
    return key, [str(one) for one in rows.cells(key)]


def test_two_results_of_one_scenario_are_shown_in_pairs_the_older_one_as_old(stage, shelf):
    async def act(pilot, screen, view):
        assert [source.run[:8] for source in view.comparison.sources] == ["20260201", "20260202"]
        assert "new is better in 1, worse in 1 and not told apart in 3 of 6 pairs" in words(view, "answer")
        assert "better" in row_of(view, "raid1", "sync-4k")[1][-1]
        assert "worse" in row_of(view, "raid5", "sync-4k")[1][-1]

    scene(stage, act)


def test_the_row_under_the_cursor_has_its_whole_name_and_why_there_is_no_change(stage, shelf):
    async def act(pilot, screen, view):
        key, shown = row_of(view, LONG, "seq-1m")
        assert shown[0] != LONG
        view.table.cursor_key = key
        await pilot.pause()
        assert LONG in " ".join(words(view, "about").split())
        assert "the array resynced" in words(view, "about")

    scene(stage, act)


def test_the_pairs_give_way_to_layouts_and_workloads_and_come_back(stage, shelf):
    async def act(pilot, screen, view):
        assert screen.check_action("baseline", ()) is False
        await pilot.press("p")
        assert view.table.columns[0].title == "Layout"
        assert len(view.table.row_keys) == 6
        assert view.border_title == "Comparison of 2 results"
        assert "raid1:2 is best for sync-4k: 15 % above raid1:1" in " ".join(words(view, "answer").split())
        await pilot.press("down", "b")
        assert view.comparison.pairs == ()
        await pilot.press("p")
        assert view.border_title == "Old against new"
        assert len(view.comparison.pairs) == 6

    scene(stage, act)


@pytest.mark.parametrize(("size", "name"), [(SMALL, "80"), (WIDE, "160")])
def test_old_against_new_looks_as_it_did(stage, shelf, size, name):
    async def act(pilot, screen, view):
        await pilot.pause(0.3)
        await same_picture(pilot, f"old-new-{name}")

    scene(stage, act, size)
