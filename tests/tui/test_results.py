"""The screen Results: the library, one result and its pages, several compared, what is exported, used and deleted."""

from __future__ import annotations

import csv
import gzip
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from made import HOSTILE, RUN, cell, disk, result
from pictures import same_picture
from pilot import LARGE, SMALL, drive, until
from textual.widgets import OptionList, Static

from raidtui.base.text import clean
from raidtui.front.files import results_folder
from raidtui.model.convert import encode
from raidtui.model.disk import Reason
from raidtui.model.mark import Mark
from raidtui.model.problem import Problem
from raidtui.model.protocol import DiskList, RunInfo, RunList
from raidtui.model.result import Ranked, RankedLayout, marked
from raidtui.model.statistics.ranking import Told
from raidtui.results import library as index
from raidtui.results.formats import FORMATS
from raidtui.tui.results import library, pages
from raidtui.tui.results.compare_view import CompareView
from raidtui.tui.results.library_pane import LibraryPane
from raidtui.tui.results.view import PAGES, ResultView
from raidtui.tui.shared import DisksSeen
from raidtui.tui.widgets.live_table import LiveTable

REAL = Path(__file__).parent.parent / "data" / "results"
FINISHED = "20260201-120000-bbbb1234"


@pytest.fixture
def shelf(stage, tmp_path):
    """A results folder with a measured, a real, a rehearsed and a broken result; two runs on the server."""
    folder = tmp_path / "state" / "raidtui" / "results"
    folder.mkdir(parents=True)
    for part in (folder, folder.parent):
        part.chmod(0o700)
    (folder / f"tiny-{RUN}.result.json").write_bytes(encode(result(exit=5)))
    (folder / "quick-20261120-155544-hvha3h43.result.json").write_bytes(
        gzip.decompress((REAL / "quick-1.result.json.gz").read_bytes())
    )
    (folder / "tried-20260101-120000-aaaa1234.result.json").write_bytes(
        encode(result(rehearsal=True, started="2026-01-01T12:00:00Z", run="20260101-120000-aaaa1234"))
    )
    (folder / "broken-20251231-120000-cccc1234.result.json").write_text('{"schema": "raidtui.re')
    os.utime(folder / "broken-20251231-120000-cccc1234.result.json", (1_767_182_400,) * 2)
    runs = (
        RunInfo(RUN, "tiny", "finished", "2026-01-31T12:00:00Z", (), 5, "invalid", 8, 8),
        RunInfo(FINISHED, "md-local", "interrupted", "2026-02-01T12:00:00Z", (), cells_done=7, cells=78),
    )
    stage.answers(runs={"result": RunList("raidtui.runs/1", runs)}, result={"result": result(run=FINISHED)})
    return folder


def scene(stage, act, size=SMALL):
    """Act on the screen Results once its list is there."""
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        await pilot.press("5")
        pane = app.screen.query_one(LibraryPane)
        await until(pilot, lambda: len(pane.entries) >= 5 and any(e.on_server for e in pane.entries.values()))
        app.clear_notifications()
        await pilot.pause()
        await act(pilot, app, app.screen)

    drive(app, talk, size)


def names(screen):
    pane = screen.query_one(LibraryPane)
    return [pane.entries[key].scenario for key in pane.table.row_keys]


async def go_to(pilot, screen, scenario):
    """The cursor onto the first entry of this name."""
    pane = screen.query_one(LibraryPane)
    pane.table.cursor_key = next(key for key in pane.table.row_keys if pane.entries[key].scenario == scenario)
    await pilot.pause()


async def opened(pilot, screen, scenario):
    await go_to(pilot, screen, scenario)
    await pilot.press("enter")
    view = screen.query_one(ResultView)
    await until(pilot, lambda: view.result and view.result.scenario["name"] == scenario and screen.has_class("-opened"))
    return view


async def compared(pilot, screen, *scenarios):
    for scenario in scenarios:
        await go_to(pilot, screen, scenario)
        await pilot.press("space")
    await pilot.press("c")
    await until(pilot, lambda: screen.has_class("-comparing"))
    return screen.query_one(CompareView)


# The library.


def test_runs_and_files_are_one_list_the_newest_first(stage, shelf):
    async def act(pilot, app, screen):
        assert names(screen) == ["quick", "md-local", "tiny", "tiny", "broken-20251231-120000-cccc1234.result.json"]
        entries = list(screen.query_one(LibraryPane).entries.values())
        assert [entry.state for entry in entries] == ["done", "interrupted", "invalid", "done", "unreadable"]
        assert [(entry.valid, entry.cells) for entry in entries[:3]] == [(12, 12), (None, 7), (7, 8)]
        assert entries[2].path is not None
        assert entries[2].on_server
        assert entries[3].rehearsal

    scene(stage, act)


def test_a_broken_file_is_a_row_with_its_reason(stage, shelf):
    async def act(pilot, app, screen):
        await go_to(pilot, screen, "broken-20251231-120000-cccc1234.result.json")
        await pilot.press("enter")
        await until(pilot, lambda: "truncated" in str(screen.query_one("#results-message").render()))
        await pilot.press("escape")
        assert screen.query_one(LibraryPane).table.has_focus

    scene(stage, act)


def test_an_empty_library_shows_the_next_keys(stage):
    stage.answers(runs={"result": RunList("raidtui.runs/1", ())})
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        await pilot.press("5")
        table = app.screen.query_one("#results-table", LiveTable)
        await until(pilot, lambda: "compose layouts" in table.empty)
        await same_picture(pilot, "results-empty-80")

    drive(app, talk)


def test_search_finds_by_every_word_and_escape_clears_it(stage, shelf):
    async def act(pilot, app, screen):
        await pilot.press("slash", *"tiny 2026-01-31", "enter")
        assert names(screen) == ["tiny"]
        await pilot.press("escape")
        assert len(names(screen)) == 5
        await pilot.press("slash", *"rehearsal")
        assert names(screen) == ["tiny"]
        await pilot.press("escape", "slash", *"nonsense")
        assert names(screen) == []

    scene(stage, act)


def test_marks_survive_a_search_that_hides_them(stage, shelf):
    async def act(pilot, app, screen):
        await go_to(pilot, screen, "quick")
        await pilot.press("space", "slash", *"tiny", "enter", "space", "escape")
        assert [entry.scenario for entry in screen.query_one(LibraryPane).marked] == ["quick", "tiny"]
        await pilot.press("escape")
        assert screen.query_one(LibraryPane).marked == []

    scene(stage, act)


def test_marks_made_faster_than_they_are_shown_are_all_kept(stage, shelf):
    async def act(pilot, app, screen):
        pane = screen.query_one(LibraryPane)
        for _ in range(3):
            pane.table.action_select()
        await pilot.pause()
        assert len(pane.marked) == 3
        pane.table.action_move(-1)
        pane.table.action_select()
        pane.table.action_select()
        await pilot.pause()
        assert len(pane.marked) == len(pane.table.selected) == 3

    scene(stage, act)


def test_a_title_sorts_and_sorts_the_other_way(stage, shelf):
    async def act(pilot, app, screen):
        await pilot.press("less_than_sign")
        assert names(screen) == sorted(names(screen))
        table = screen.query_one(LibraryPane).table
        table.post_message(LiveTable.HeaderPressed(table, "scenario"))
        await pilot.pause()
        assert names(screen) == sorted(names(screen), reverse=True)

    scene(stage, act)


def test_a_new_file_is_listed_after_a_reload(stage, shelf):
    async def act(pilot, app, screen):
        (shelf / "new-20270101-120000-dddd1234.result.json").write_bytes(
            encode(result(started="2027-01-01T12:00:00Z", run="x"))
        )
        await pilot.press("r")
        await until(pilot, lambda: len(names(screen)) == 6)
        assert names(screen)[0] == "tiny"

    scene(stage, act)


def many(folder, number):
    data = encode(result())
    paths = [folder / f"r-{number:05}.result.json" for number in range(number)]
    for path in paths:
        path.write_bytes(data)
    return paths


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Folder with the index and results; `cache.reads` are the files that were read for it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    reads, honest = [], index._read
    monkeypatch.setattr(index, "_read", lambda path, size: reads.append(path) or honest(path, size))
    return SimpleNamespace(folder=results_folder(), reads=reads, home=tmp_path / "cache" / "raidtui")


def test_the_list_is_read_again_when_a_run_begins_or_ends_and_not_for_other_reasons(stage, shelf):
    def disks(*reasons):
        return DisksSeen(DiskList("raidtui.disks/1", "stor1", "boot", (disk(1, reasons=reasons),)))

    async def act(pilot, app, screen):
        asked = len(stage.requests("runs"))
        app.say(disks(Reason("held", f"held by run {FINISHED}")))
        await until(pilot, lambda: len(stage.requests("runs")) == asked + 1)
        app.say(disks(Reason("held", f"held by run {FINISHED}"), Reason("open", "open in pid 7")))
        app.say(disks())
        await until(pilot, lambda: len(stage.requests("runs")) == asked + 2)
        await pilot.press("1")
        app.say(disks(Reason("held", f"held by run {RUN}")))
        await pilot.pause(0.2)
        assert len(stage.requests("runs")) == asked + 2
        await pilot.press("5")
        await until(pilot, lambda: len(stage.requests("runs")) == asked + 3)

    scene(stage, act)


def test_a_result_that_was_saved_is_listed_without_a_key(stage, shelf):
    async def act(pilot, app, screen):
        (shelf / "new-20260301-120000-dddd1234.result.json").write_bytes(
            encode(result(started="2026-03-01T12:00:00Z", run="20260301-120000-dddd1234"))
        )
        app.desk.saved = str(shelf / "new-20260301-120000-dddd1234.result.json")
        app.desk.changed.publish(app.desk)
        await until(pilot, lambda: any("dddd1234" in key for key in screen.query_one(LibraryPane).entries))

    scene(stage, act)


def test_an_opened_run_is_updated_with_new_cells(stage, shelf):
    async def act(pilot, app, screen):
        pane = screen.query_one(LibraryPane)
        await go_to(pilot, screen, "md-local")
        await pilot.press("enter")
        await until(pilot, lambda: screen.query_one(ResultView).result is not None)
        asked = len(stage.requests("result"))
        pane._runs = [one._replace(cells=one.cells + 1) if one.run == FINISHED else one for one in pane._runs]
        pane._show()
        await until(pilot, lambda: len(stage.requests("result")) == asked + 1)
        pane._show()
        await pilot.pause(0.2)
        assert len(stage.requests("result")) == asked + 1

    scene(stage, act)


def test_the_list_of_runs_says_how_old_it_is(stage, shelf):
    def head(app):
        return str(app.screen.query_one("Head").render()).rstrip()

    async def act(pilot, app, screen):
        await until(pilot, lambda: head(app).endswith("runs seen 0 s ago"))
        stage.now_s = 61.0
        await until(pilot, lambda: head(app).endswith("runs seen 1 min ago"))
        await pilot.press("r")
        await until(pilot, lambda: head(app).endswith("runs seen 0 s ago"))

    scene(stage, act)


def test_thousands_of_files_come_in_batches_and_are_read_once(cache):
    paths = many(cache.folder, 1200)
    batches = list(library.FileEntries().all())
    assert len(batches) > 3
    assert sum(map(len, batches)) == len(cache.reads) == 1200
    paths[7].write_bytes(paths[7].read_bytes() + b"\n")
    again = list(library.FileEntries().all())
    assert sum(map(len, again)) == 1200
    assert len(again[1]) == 1199, "what the index knows comes first, in one piece"
    assert len(cache.reads) == 1201


def test_files_that_were_named_are_read_once_too(tmp_path, cache):
    paths = many(tmp_path, 3)
    shelf = library.FileEntries()
    (first, *_), (again, *_) = list(shelf.all(paths)), list(shelf.all(paths))
    assert [entry.path for entry in first] == paths
    assert all(one is other for one, other in zip(first, again, strict=True))
    assert cache.reads == []


@pytest.mark.parametrize("broken", ["no database", "inside", "nothing", "a folder"])
def test_files_are_read_if_the_index_is_unusable(cache, broken):
    many(cache.folder, 60)
    assert sum(map(len, library.FileEntries().all())) == 60
    (kept,) = cache.home.glob("*.sqlite")
    whole = kept.read_bytes()
    kept.unlink()
    if broken == "a folder":
        kept.mkdir()
    elif broken != "nothing":
        kept.write_bytes(b"no database" * 999 if broken == "no database" else whole[:4096] + bytes(len(whole) - 4096))
    found = {entry.key: entry for batch in library.FileEntries().all() for entry in batch}
    assert len(found) == 60
    assert {entry.state for entry in found.values()} == {"done"}
    assert kept.is_dir() == (broken == "a folder")


def test_files_are_listed_without_a_writable_index(cache, monkeypatch):
    many(cache.folder, 3)
    cache.home.parent.write_text("no folder")
    assert sum(map(len, library.FileEntries().all())) == 3


def test_indexed_entries_equal_entries_read_from_files(cache):
    (path,) = many(cache.folder, 1)
    (cache.folder / "broken.json").write_bytes(b"{")
    entries = {entry.path.name: entry for batch in library.FileEntries().all() for entry in batch}
    for name in (path.name, "broken.json"):
        ((read,),) = library.FileEntries().read([cache.folder / name])
        assert entries[name]._replace(problem="") == read._replace(problem="")
        assert bool(entries[name].problem) == bool(read.problem)


def test_files_that_the_index_skips_are_rows(cache):
    os.mkfifo(cache.folder / "pipe.json")
    Path(os.fsdecode(os.fsencode(cache.folder) + b"/\xff.json")).write_text("{")
    found = [entry for batch in library.FileEntries().all() for entry in batch]
    assert sorted(entry.state for entry in found) == ["unreadable", "unreadable"]


@pytest.mark.parametrize("data", [b"", b"[]", b'{"schema": 1}', b'{"schema":"other/1"}', b"\xff", b'{"a":' * 5000])
def test_a_file_with_any_content_is_a_row(tmp_path, data):
    path = tmp_path / "x.json"
    path.write_bytes(data)
    ((entry,),) = library.FileEntries().read([path])
    assert entry.state == "unreadable"
    assert entry.problem


def test_a_folder_a_pipe_and_a_file_that_is_gone_are_rows_too(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    ((*entries,),) = library.FileEntries().read([tmp_path / name for name in ("pipe.json", "folder.json", "gone.json")])
    assert [entry.state for entry in entries] == ["unreadable"] * 3


# One result.


def test_every_page_is_reached_by_its_keys_and_shown(stage, shelf):
    async def act(pilot, app, screen):
        view = await opened(pilot, screen, "quick")
        for page in [*list(PAGES)[1:], "summary"]:
            await pilot.press("right_square_bracket")
            assert view.page == page
            assert view.query_one(f"#{page}").display
        await pilot.press("left_square_bracket")
        assert view.page == "commands"
        await pilot.press("escape")
        assert screen.query_one(LibraryPane).table.has_focus

    scene(stage, act)


def test_pages_and_results_are_reached_with_the_mouse(stage, shelf):
    async def act(pilot, app, screen):
        await pilot.click("#results-table", offset=(10, 1))
        await pilot.click("#results-table", offset=(10, 1), times=2)
        view = screen.query_one(ResultView)
        await until(pilot, lambda: view.result is not None and screen.has_class("-opened"))
        await pilot.click("#tab-machine")
        assert view.page == "machine"

    scene(stage, act)


def test_the_cell_chosen_is_the_one_that_is_charted(stage, shelf):
    async def act(pilot, app, screen):
        view = await opened(pilot, screen, "quick")
        await pilot.press("right_square_bracket", "end", "enter")
        assert view.page == "charts"
        assert view.cell.layout == "raid5"
        await pilot.press("comma")
        assert view.cell.workload == "fsync-write-4k-t1q1"
        await pilot.press("full_stop", "full_stop")
        assert view.cell is view.result.cells[0]
        await pilot.press("right_square_bracket", "down")
        assert view.page == "devices"

    scene(stage, act)


def test_the_cell_under_the_cursor_shows_its_account(stage, shelf):
    async def act(pilot, app, screen):
        view = await opened(pilot, screen, "quick")
        await pilot.press("right_square_bracket", "end")
        assert view.cell.layout == "raid5"
        said = view.query_one("#cell-reasons")
        assert "wrote 1.34×; what limited it is not known" in str(said.render())
        await pilot.press("home")
        assert view.cell.layout == "disk"
        assert "limited" not in str(said.render())

    scene(stage, act)


def test_the_summary_shows_the_ranking_of_a_campaign():
    ranked = Ranked(
        "w", "best", 95, 5, "IOPS", True,
        (RankedLayout("raid0", 1, 9012.0, 3), RankedLayout("raid10", 1, 8990.0, 3), RankedLayout("raid5", 3, 2500.0, 2),
         RankedLayout(HOSTILE, None, None, 0)),
        (Told("raid0", "raid5", "apart", 2, 3.6), Told("raid0", "raid10", "close", 3, 1.002)), 3, 12, 77.0, 336.0, 37,
    )  # fmt: skip
    assert "Ranking" not in pages.summary(result(), 100).plain
    page = pages.summary(msgspec.structs.replace(result(), ranking=(ranked,)), 100).plain
    assert "w: raid0, raid10 share the first place (within 5 %) at 95 %, after 3 of 12 rounds" in page
    assert "1 raid0: 9,012 in 3 rounds; better than raid5 (3.60×, round 2)" in page
    assert "3 raid5: 2,500 in 2 rounds\n" in page
    assert "raid0 and raid10: within 5 % of each other, round 3" in page
    assert clean(HOSTILE, 20)[:10] in page


def test_escape_leaves_the_playhead_first(stage, shelf):
    async def act(pilot, app, screen):
        view = await opened(pilot, screen, "quick")
        await pilot.press("right_square_bracket", "enter", "home")
        chart = view.query_one("#chart-rate")
        assert chart.cursor_s is not None
        await pilot.press("escape")
        assert chart.cursor_s is None
        await pilot.press("escape")
        assert not screen.has_class("-opened")

    scene(stage, act)


def test_a_run_without_a_file_is_fetched_from_the_server(stage, shelf):
    async def act(pilot, app, screen):
        await go_to(pilot, screen, "md-local")
        await pilot.press("enter")
        await until(pilot, lambda: screen.query_one(ResultView).result is not None)
        assert stage.requests("result")[-1]["params"] == {"run": FINISHED}

    scene(stage, act)


def test_a_run_without_a_result_shows_the_error(stage, shelf):
    stage.answers(result={"failure": [Problem("no-result", "run x has no result yet", exit=2)]})

    async def act(pilot, app, screen):
        await go_to(pilot, screen, "md-local")
        await pilot.press("enter")
        await until(pilot, lambda: "no result yet" in str(screen.query_one("#results-message").render()))

    scene(stage, act)


def test_the_entry_under_the_cursor_is_opened_beside_the_list(stage, shelf):
    async def act(pilot, app, screen):
        view = screen.query_one(ResultView)
        await go_to(pilot, screen, "tiny")
        await until(pilot, lambda: view.result is not None and view.result.scenario["name"] == "tiny")
        assert screen.query_one(LibraryPane).table.has_focus
        await pilot.press("tab")
        assert view in screen.focused.ancestors
        await pilot.press("tab")
        assert screen.query_one(LibraryPane).table.has_focus

    scene(stage, act, LARGE)


def test_live_resize_keeps_what_is_opened(stage, shelf):
    async def act(pilot, app, screen):
        view = await opened(pilot, screen, "quick")
        for size in (LARGE, (120, 30), SMALL):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert view.display
            assert view.result is not None

    scene(stage, act)


# Several results.


def test_marked_results_are_compared_and_the_baseline_is_chosen(stage, shelf):
    async def act(pilot, app, screen):
        view = await compared(pilot, screen, "tiny", "quick")
        assert [source.scenario for source in view.comparison.sources] == ["tiny", "quick"]
        assert view.comparison.baseline == "disk:1 S64GNE0R100001"
        await pilot.press("down", "b")
        assert view.comparison.baseline == "disk:1 S64GNE0R100002"
        await pilot.press("x")
        assert view.table.columns[0].title == "Workload"
        await pilot.press("b")
        assert view.comparison.baseline == "raid1"
        await pilot.press("x", "escape")
        assert screen.query_one(LibraryPane).table.has_focus

    scene(stage, act)


def test_an_invalid_cell_shows_its_mark_and_no_percentage(stage, shelf):
    async def act(pilot, app, screen):
        view = await compared(pilot, screen, "tiny")
        key = next(k for k in view.table.row_keys if "raid5" in str(view.table.rows.cells(k)[0]))
        shown = [str(one) for one in view.table.rows.cells(key)[1:]]
        assert all(one.strip().startswith("✗ not built") and "%" not in one for one in shown)

    scene(stage, act)


def test_a_column_sorts_the_comparison(stage, shelf):
    async def act(pilot, app, screen):
        view = await compared(pilot, screen, "quick")
        given = list(view.table.row_keys)
        view.table.post_message(LiveTable.HeaderPressed(view.table, "0"))
        await pilot.pause()
        assert view.table.row_keys != given
        view.table.post_message(LiveTable.HeaderPressed(view.table, "label"))
        await pilot.pause()
        assert view.table.row_keys == given

    scene(stage, act)


def test_a_comparison_is_exported_in_the_format_that_was_chosen(stage, shelf, tmp_path):
    async def act(pilot, app, screen):
        await compared(pilot, screen, "tiny", "quick")
        await pilot.press("e", "down", "enter")
        await until(pilot, lambda: (tmp_path / "comparison.csv").exists())
        await pilot.pause(0.1)
        # Ten layouts with four workloads; one of them was measured in two rounds with two of the workloads.
        assert len(list(csv.DictReader((tmp_path / "comparison.csv").open()))) == 10 * 4 + 2
        kept = (tmp_path / "comparison.csv").read_bytes()
        await pilot.press("e", "down", "enter")
        assert "exists already" in str(app.screen.query_one(".wrong").render())
        await pilot.press("escape")
        assert (tmp_path / "comparison.csv").read_bytes() == kept

    scene(stage, act)


def test_every_format_of_the_command_line_is_offered_and_a_page_is_written(stage, shelf, tmp_path):
    async def act(pilot, app, screen):
        await compared(pilot, screen, "tiny")
        await pilot.press("e")
        await until(pilot, lambda: app.screen is not screen)
        assert [option.id for option in app.screen.query_one(OptionList).options] == list(FORMATS)
        await pilot.press(*["down"] * list(FORMATS).index("html"), "enter")
        await until(pilot, lambda: any(tmp_path.glob("*.html")), patience_s=180)

    scene(stage, act)


def test_one_result_is_exported_from_the_list(stage, shelf, tmp_path):
    async def act(pilot, app, screen):
        await go_to(pilot, screen, "quick")
        await pilot.press("e")
        await until(pilot, lambda: app.screen is not screen)
        await pilot.press("tab", *["backspace"] * 20, *"mine.md", "enter")
        await until(pilot, lambda: (tmp_path / "mine.md").exists())

    scene(stage, act)


# What else is done with one.


def test_the_timeline_is_shown_on_the_screen_run(stage, shelf, monkeypatch):
    asked = []
    monkeypatch.setattr("raidtui.tui.app.RaidtuiApp.open_run", lambda app, run: asked.append(run))
    monkeypatch.setattr("raidtui.tui.app.RaidtuiApp.open_result", lambda app, path: asked.append(path.name))

    async def act(pilot, app, screen):
        for scenario in ("md-local", "quick"):
            await go_to(pilot, screen, scenario)
            await pilot.press("t")
        assert asked == [FINISHED, "quick-20261120-155544-hvha3h43.result.json"]

    scene(stage, act)


def test_a_results_scenario_and_disks_become_a_draft(stage, shelf):
    async def act(pilot, app, screen):
        await go_to(pilot, screen, "tiny")
        await pilot.press("n")
        await until(pilot, lambda: app.current_mode == "compose")
        assert app.draft.document["name"] == "tiny"
        assert app.draft.bind == {"data": ("S64GNE0R100001", "S64GNE0R100002")}

    scene(stage, act)


def test_a_file_is_deleted_only_after_confirmation(stage, shelf):
    path = shelf / f"tiny-{RUN}.result.json"

    async def act(pilot, app, screen):
        await go_to(pilot, screen, "tiny")
        await pilot.press("d", "enter")
        assert path.exists()
        await pilot.press("delete", "tab", "enter")
        await until(pilot, lambda: not path.exists())
        await until(pilot, lambda: len(list(shelf.iterdir())) == 3)
        # The server still knows the run.
        assert any(entry.run == RUN and entry.path is None for entry in screen.query_one(LibraryPane).entries.values())

    scene(stage, act)


def test_a_file_of_another_folder_is_opened_but_never_deleted(stage, shelf, tmp_path):
    other = tmp_path / "other.json"
    other.write_bytes(encode(result(run="20250101-120000-eeee1234", started="2025-01-01T12:00:00Z")))

    async def act(pilot, app, screen):
        await pilot.press("o", *str(other), "enter")
        await until(pilot, lambda: screen.has_class("-opened"))
        assert screen.check_action("delete", ()) is None
        await pilot.press("d")
        assert app.screen is screen
        assert other.exists()
        await pilot.press("escape", "r")
        await until(pilot, lambda: len(names(screen)) == 6)

    scene(stage, act)


@pytest.mark.parametrize(("text", "wrong"), [("~no-such-user", "does not exist"), ("x" * 300, "too long")])
def test_any_text_can_be_typed_as_the_path_of_a_file(stage, shelf, text, wrong):
    async def act(pilot, app, screen):
        await pilot.press("o")
        await until(pilot, lambda: app.screen is not screen)
        app.screen.query_one("#text").value = text
        await until(pilot, lambda: wrong in str(app.screen.query_one(".wrong").render()))

    scene(stage, act)


def test_the_path_and_the_commands_are_copied(stage, shelf):
    async def act(pilot, app, screen):
        await go_to(pilot, screen, "quick")
        await pilot.press("y")
        assert app.clipboard.endswith("hvha3h43.result.json")
        await opened(pilot, screen, "quick")
        await pilot.press("left_square_bracket", "y")
        assert app.clipboard.startswith("mdadm --create")

    scene(stage, act)


def test_hostile_names_are_text(stage, shelf):
    scenario = {"name": HOSTILE, "title": HOSTILE, "why": HOSTILE, "layouts": {}, "workloads": {}}
    bad = result(cell(HOSTILE, HOSTILE, 5.0, reasons=(HOSTILE,)), cell(HOSTILE, "w", 7.0), scenario=scenario,
                 started="2027-01-01T12:00:00Z", run="20270101-120000-ffff1234", outcome=HOSTILE)  # fmt: skip
    (shelf / "bad-20270101-120000-ffff1234.result.json").write_bytes(encode(bad))

    async def act(pilot, app, screen):
        await until(pilot, lambda: len(names(screen)) == 6)
        await pilot.press("home", "enter")
        await until(pilot, lambda: screen.has_class("-opened"))
        for _ in PAGES:
            await pilot.press("right_square_bracket")
            await pilot.pause()
            assert not set("\x1b\x9b\u202e") & set(app.export_screenshot())
        await pilot.press("escape", "c")
        await until(pilot, lambda: screen.has_class("-comparing"))
        assert not set("\x1b\x9b\u202e") & set(app.export_screenshot())

    scene(stage, act)


def test_a_cells_marks_are_shown_with_their_codes(stage, shelf):
    hot = Mark("hot-disk", "disk S1 reached 90 °C", "caution")
    marked_cell = marked(cell("raid1", "w", 5.0), (hot,))
    made = result(marked_cell, scenario={"name": "hot", "layouts": {}, "workloads": {}},
                  started="2027-01-01T12:00:00Z", run="20270101-120000-ffff1234")  # fmt: skip
    (shelf / "hot-20270101-120000-ffff1234.result.json").write_bytes(encode(made))

    async def act(pilot, app, screen):
        await until(pilot, lambda: len(names(screen)) == 6)
        await pilot.press("home", "enter")
        await until(pilot, lambda: screen.has_class("-opened"))
        shown = screen.query_one("#cell-reasons", Static)
        assert str(shown.render()) == "⚠ disk S1 reached 90 °C [hot-disk]"

    scene(stage, act)


# Looks.


@pytest.mark.parametrize(("size", "name"), [(SMALL, "80"), (LARGE, "200")])
def test_the_library_looks_as_it_did(stage, shelf, size, name):
    async def act(pilot, app, screen):
        await go_to(pilot, screen, "tiny")
        await pilot.press("space")
        await go_to(pilot, screen, "quick")
        if size == LARGE:
            await until(pilot, lambda: screen.query_one(ResultView).result is not None)
            await until(pilot, lambda: screen.query_one(ResultView).result.scenario["name"] == "quick")
        await pilot.pause(0.3)
        await same_picture(pilot, f"results-{name}")

    scene(stage, act, size)


@pytest.mark.parametrize(("size", "name"), [(SMALL, "80"), (LARGE, "200")])
def test_a_comparison_looks_as_it_did(stage, shelf, size, name):
    async def act(pilot, app, screen):
        await compared(pilot, screen, "tiny", "quick")
        await pilot.press("down", "down", "down")
        await pilot.pause(0.3)
        await same_picture(pilot, f"compare-{name}")

    scene(stage, act, size)


def test_the_charts_of_a_cell_look_as_they_did(stage, shelf):
    async def act(pilot, app, screen):
        await opened(pilot, screen, "quick")
        await pilot.press("right_square_bracket", "end", "enter")
        await pilot.pause(0.3)
        await same_picture(pilot, "result-charts-80")

    scene(stage, act)
