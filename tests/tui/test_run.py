"""The screen Run, over a pipe to an engine that plays a recorded run."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import msgspec
import pytest
from pictures import same_picture
from pilot import LARGE, SMALL, drive, until
from recorded import RUN, records
from recorded import until as records_until
from textual.widgets import OptionList, SelectionList

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

import made

from raidtui.engine.run.tally import Tally
from raidtui.model.convert import encode
from raidtui.model.disk import Fingerprint
from raidtui.model.event import CancelAsked, FrameTaken, Record, RecoverFinished, RunFinished
from raidtui.model.frame import Frame
from raidtui.model.network import NetworkUse
from raidtui.model.problem import Problem
from raidtui.model.protocol import PlanRequest, RunInfo, RunList
from raidtui.tui.run.desk import RunDesk
from raidtui.tui.run.device_table import DevicePane, FilterLine
from raidtui.tui.run.dialogs import ChooseColumns, ChooseRun, Confirm
from raidtui.tui.run.feed import records_of
from raidtui.tui.run.lines import Lines
from raidtui.tui.run.panes import RunCharts, top_lines
from raidtui.tui.run.shown_run import Story
from raidtui.tui.screens.base import Head
from raidtui.tui.widgets.chart import Chart

MID_CELL_S = 320.0
"""The last cell is measured: RAID5 with a journal."""
PANES = ["charts", "devices", "spread", "cells", "steps", "machine"]


def info(state: str = "running", run: str = RUN, **changes: object) -> RunInfo:
    facts: dict[str, object] = {"run": run, "scenario": "write-hole", "state": state, "started": "", "disks": (),
                                "cells_done": 3, "cells": 10}  # fmt: skip
    return RunInfo(**(facts | changes))


def runs(*some: RunInfo) -> dict[str, object]:
    return {"result": RunList("raidtui.runs/1", some)}


def result():
    tally = Tally()
    for record in records():
        tally.add(record)
    return tally.result()


def following(stage, upto_s: float = MID_CELL_S, **more):
    """An engine where the recorded run goes on at a second of it, until somebody cancels it."""
    seen = records_until(upto_s)
    then = [
        Record(seen[-1].seq + 1, upto_s + 1, "", CancelAsked("somebody")),
        Record(seen[-1].seq + 2, upto_s + 2, "", RunFinished(130, "cancelled")),
    ]
    answers = {
        "follow": {"events": seen, "until": "cancel", "then": then},
        "cancel": {"result": info()},
        "result": {"result": result()},
        "runs": runs(info()),
    }
    stage.answers(**(answers | more))
    return stage.app(), seen[-1].seq


def finished(stage, **more):
    stage.answers(**({"follow": {"events": records()}, "result": {"result": result()}} | more))
    return stage.app(), records()[-1].seq


async def caught_up(pilot, app, seq, *, run=RUN, how="follow_run"):
    """The run is shown as far as the engine tells."""
    await until(pilot, lambda: app.link_state.up)
    getattr(app, how)(run)
    await until(pilot, lambda: app.desk.story.view.seq >= seq and app.current_mode == "run")
    await drawn(pilot, app)


async def drawn(pilot, app):
    await until(pilot, lambda: app.screen._waiting is None)
    await pilot.pause()


def top(app) -> list[str]:
    return [line.plain for line in top_lines(app.desk, app.screen.moment(), 200)]


def panes(app) -> list[str]:
    return [pane for pane in PANES if app.screen.query_one(f"#{pane}").display]


def table(app):
    return app.screen.query_one(DevicePane).table


def test_without_a_run_the_screen_says_how_to_get_one(stage):
    app = stage.app()

    async def talk(pilot):
        await pilot.press("4")
        assert app.screen.has_class("-none")
        assert app.screen.check_action("cancel", ()) is None
        assert app.screen.check_action("save", ()) is None
        assert app.screen.check_action("recover", ()) is False
        await until(pilot, lambda: app.link_state.up)
        await same_picture(pilot, "run-empty-80")

    drive(app, talk)


def test_the_one_run_that_goes_on_is_attached_to_when_the_application_starts(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await until(pilot, lambda: app.desk.story.view.seq >= seq)
        assert app.desk.source == "followed"
        assert app.desk.run == RUN
        assert app.current_mode == "disks"
        assert app.desk.running

    drive(app, talk)


def test_where_several_runs_go_on_none_is_chosen(stage):
    app, _ = following(stage, runs=runs(info(), info(run="another")))

    async def talk(pilot):
        await until(pilot, lambda: stage.requests("runs"))
        await pilot.pause(0.3)
        assert app.desk.source == "nothing"
        await pilot.press("4", "l")
        await until(pilot, lambda: isinstance(app.screen, ChooseRun))
        assert app.screen.query_one(OptionList).option_count == 2
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.desk.source == "followed" and app.desk.run == RUN)

    drive(app, talk)


def test_leaving_the_screens_leaves_the_run_alone(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        await pilot.press("q")

    drive(app, talk)
    assert not stage.requests("cancel")


def test_a_cancel_that_nobody_heard_is_asked_again_when_the_connection_is_back(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        app.link._client.close()
        await until(pilot, lambda: not app.link_state.up)
        await pilot.press("x", "y")
        await until(pilot, lambda: app.link_state.up)
        await until(pilot, lambda: app.desk.story.view.finished is not None)
        assert [one["params"]["run"] for one in stage.requests("cancel")] == [RUN]

    drive(app, talk)


def test_cancelling_asks_once_and_the_run_is_seen_to_its_end(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        await pilot.press("x")
        assert isinstance(app.screen, Confirm)
        await pilot.press("enter")
        assert not isinstance(app.screen, Confirm)
        assert not stage.requests("cancel"), "the default is no"
        await pilot.press("x", "y")
        await until(pilot, lambda: app.desk.story.view.finished is not None)
        assert [one["params"]["run"] for one in stage.requests("cancel")] == [RUN]
        assert app.screen.check_action("cancel", ()) is None
        assert "cancelled; the disks are as they were found" in top(app)[1]

    drive(app, talk)


def test_the_result_is_saved_when_the_run_ends_and_where_it_is_is_told(stage):
    app, seq = finished(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        await until(pilot, lambda: app.desk.saved)
        assert Path(app.desk.saved).name == f"write-hole-{RUN}.result.json"
        assert msgspec.json.decode(Path(app.desk.saved).read_bytes())["run"] == RUN
        assert app.desk.saved in top(app)[2]

    drive(app, talk)


def test_an_opened_run_is_saved_only_when_that_is_asked_for(stage):
    app, seq = finished(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq, how="open_run")
        assert not stage.requests("result")
        await pilot.press("w")
        await until(pilot, lambda: app.desk.saved)

    drive(app, talk)


def test_space_holds_the_view_while_the_run_goes_on(stage):
    seen = records_until(300.0)
    later = [record for record in records_until(MID_CELL_S) if record.seq > seen[-1].seq]
    stage.answers(follow={"events": seen, "until": "cancel", "then": later}, cancel={"result": info()})
    app = stage.app()

    async def talk(pilot):
        await caught_up(pilot, app, seen[-1].seq)
        await pilot.press("space")
        held = top(app)
        shown = [table(app).rows.cells(key) for key in table(app).row_keys]
        await app.desk.cancel()
        await until(pilot, lambda: app.desk.story.view.seq == later[-1].seq)
        await drawn(pilot, app)
        assert [table(app).rows.cells(key) for key in table(app).row_keys] == shown
        assert top(app)[1] == held[1]
        assert "(esc: newest)" in top(app)[2]
        await pilot.press("space")
        assert app.screen.playhead_s is None
        assert "cell 10 of 10" in top(app)[1]

    drive(app, talk)


def test_the_playhead_goes_through_a_finished_run(stage):
    app, seq = finished(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq, how="open_run")
        screen = app.screen
        assert all(chart.window_s is None for chart in screen.query(Chart)), "the whole run is in view"
        await pilot.press("left")
        first = screen.playhead_s
        assert first is not None
        await pilot.press("left")
        assert screen.playhead_s < first
        await pilot.press("right")
        assert screen.playhead_s == pytest.approx(first)
        await pilot.press("home")
        assert screen.playhead_s == 0.0
        await pilot.press("right_square_bracket", "right_square_bracket")
        edges = app.desk.story.cell_edges()
        assert screen.playhead_s == edges[1]
        assert "cell 2 of 10" in top(app)[1]
        await pilot.press("left_square_bracket")
        assert screen.playhead_s == edges[0]
        assert {chart.cursor_s for chart in screen.query(Chart)} == {edges[0]}
        await pilot.press("end")
        assert screen.playhead_s is None
        await pilot.press("home", "escape")
        assert screen.playhead_s is None

    drive(app, talk)


def test_the_window_of_time_is_zoomed(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        windows = []
        for key in ("plus", "minus", "minus", "equals_sign"):
            await pilot.press(key)
            windows.append({chart.window_s for chart in app.screen.query(Chart)})
        assert windows == [{30.0}, {60.0}, {300.0}, {60.0}]

    drive(app, talk)


def test_on_a_small_terminal_there_is_one_pane_at_a_time(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        seen = []
        for _ in PANES:
            seen += panes(app)
            await pilot.press("tab")
        await pilot.press("tab", "shift+tab")
        assert seen[1:] + seen[:1] == PANES or seen == PANES
        await pilot.click("#tab-machine")
        assert panes(app) == ["machine"]
        await pilot.press("shift+tab")
        assert panes(app) == ["steps"]

    drive(app, talk, SMALL)


def test_the_newest_step_stays_in_view_until_somebody_scrolls_away(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        steps = app.screen.query_one("#steps", Lines)

        def at_end():
            return 0 < steps.max_scroll_y == steps.scroll_offset.y

        await until(pilot, at_end)
        before = steps.size.height
        await pilot.resize_terminal(200, 48)
        await until(pilot, lambda: 0 < steps.size.height < before and at_end())
        steps.focus()
        await pilot.press("up")
        await pilot.resize_terminal(200, 44)
        await drawn(pilot, app)
        assert not at_end()
        await pilot.press("pagedown")
        await pilot.resize_terminal(200, 60)
        await until(pilot, lambda: steps.size.height == before and at_end())

    drive(app, talk, LARGE)


def test_a_scrollbar_that_comes_after_the_scrolling_stands_where_the_lines_do(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        steps = app.screen.query_one("#steps", Lines)
        steps.show(lambda width: ["a line"])
        await until(pilot, lambda: not steps.show_vertical_scrollbar)
        steps.show(lambda width: ["a line"] * 100)
        steps.scroll_end(animate=False, force=True, immediate=True)
        assert steps.scroll_y > 0
        assert not steps.show_vertical_scrollbar
        await until(pilot, lambda: steps.show_vertical_scrollbar)
        await drawn(pilot, app)
        assert steps.vertical_scrollbar.position == steps.scroll_y == steps.max_scroll_y

    drive(app, talk, LARGE)


def test_on_a_large_terminal_all_panes_are_there_and_one_can_be_alone(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        assert panes(app) == PANES
        await pilot.press("tab", "tab")
        await pilot.press("z")
        assert len(panes(app)) == 1
        await pilot.press("z")
        assert panes(app) == PANES
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: len(panes(app)) == 1)
        await pilot.resize_terminal(200, 60)
        await until(pilot, lambda: panes(app) == PANES)

    drive(app, talk, LARGE)


def test_the_distribution_of_latency_is_shown_and_hidden_by_its_key(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        assert "spread" in panes(app), "there is room for it"
        await pilot.press("d")
        assert "spread" not in panes(app)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: len(panes(app)) == 1)
        await pilot.press("d")
        assert panes(app) == ["spread"]
        await drawn(pilot, app)
        spread = app.screen.query_one("#spread", Lines)
        assert spread.render_line(0).text.strip() == "raid5-journal/rand-rw-8k-q16/1"
        await pilot.press("d")
        assert panes(app) == ["charts"]

    drive(app, talk, LARGE)


def test_devices_are_sorted_filtered_and_chosen(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        pane = app.screen.query_one(DevicePane)
        await pilot.click("#tab-devices")
        assert panes(app) == ["devices"]
        assert [pane.rows._places[key].depth for key in table(app).row_keys] == [0, 1, 1, 1, 1, 1]
        await pilot.press("s")
        assert pane.rows.sort == "r"
        reads = [pane.rows._figure(key, "r") for key in table(app).row_keys[1:]]
        assert reads == sorted(reads, reverse=True)
        await pilot.press("S")
        reads = [pane.rows._figure(key, "r") for key in table(app).row_keys[1:]]
        assert reads == sorted(reads)
        await pilot.press("slash", *"journal")
        assert isinstance(app.focused, FilterLine)
        assert [pane.rows._places[key].role for key in table(app).row_keys] == ["target", "journal"]
        await pilot.press("enter")
        assert app.focused is table(app)
        await pilot.press("slash", "escape")
        assert len(table(app).row_keys) == 6
        await pilot.press("a")
        assert len(table(app).row_keys) > 6
        await pilot.press("a")
        await pilot.press("o")
        assert isinstance(app.screen, ChooseColumns)
        app.screen.query_one(SelectionList).select("aqu")
        await pilot.press("o")
        assert "aqu" in pane.columns
        assert "aqu-sz" in [column.title for column in table(app).columns]
        before = pane.columns
        await pilot.press("o", "space", "escape")
        assert pane.columns == before

    drive(app, talk)


def test_a_click_on_a_title_sorts(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        await pilot.click("#device-table", offset=(28, 0))
        pane = app.screen.query_one(DevicePane)
        assert pane.rows.sort is not None
        was = pane.rows.descending
        await pilot.click("#device-table", offset=(28, 0))
        assert pane.rows.descending != was

    drive(app, talk, LARGE)


def test_a_lost_connection_comes_back_and_nothing_is_lost_or_doubled(stage):
    app, seq = finished(stage, follow={"events": records(), "die_after": 200})

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        assert len(stage.requests("follow")) == 2
        assert stage.requests("follow")[1]["params"]["after"] == 200
        assert len(app.desk.story.view.cells) == 10
        assert app.desk.feed_state.word == "ended"

    drive(app, talk)


def test_an_interrupted_run_is_recovered_when_that_is_confirmed(stage):
    seen = records_until(100.0)
    gone = Problem("run-interrupted", "the runner is gone and did not finish", place=RUN, exit=6)
    undone = {"result": {"runs": [{"run": RUN, "exit": 0, "actions": ["stopped"]}]}}
    stage.answers(follow={"failure": [gone]}, recover=undone)
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        app.follow_run(RUN)
        await until(pilot, lambda: app.desk.interrupted and app.current_mode == "run")
        app.desk.story.take(seen)
        await drawn(pilot, app)
        assert "r recovers" in top(app)[1]
        assert app.screen.check_action("recover", ()) is True
        recovered = Record(seen[-1].seq + 1, 200.0, "", RecoverFinished(0))
        stage.answers(follow={"events": [*seen, recovered]})
        await pilot.press("r", "y")
        await until(pilot, lambda: app.desk.story.view.recovered is not None)
        assert not app.desk.interrupted

    # The engine that answers reads its file once: the one that recovers is the application's own.
    drive(app, talk)
    assert [one["params"]["run"] for one in stage.requests("recover")] == [RUN]


def test_a_disk_that_is_lost_while_it_is_measured_is_marked(stage):
    seen = records_until(MID_CELL_S)
    last = next(record for record in reversed(seen) if isinstance(record.event, FrameTaken))
    lost = next(name for name, role in app_cell(seen).devices.items() if role == "member")
    frame = last.event.frame
    gone = Record(seen[-1].seq + 1, MID_CELL_S, "", FrameTaken(Frame(frame.at_s + 1, 0, 1.0, gone=(lost,))))
    stage.answers(follow={"events": [*seen, gone], "until": "never", "then": []})
    app = stage.app()

    async def talk(pilot):
        await caught_up(pilot, app, gone.seq)
        await pilot.click("#tab-devices")
        await drawn(pilot, app)
        rows = table(app).rows
        assert rows.state(lost) == "alert"
        assert "✗" in str(rows.cells(lost)[0])

    drive(app, talk)


def app_cell(seen):
    from raidtui.tui.run.shown_run import Story

    story = Story()
    story.take(seen)
    return story.now().cell


def test_a_result_file_is_shown_on_the_same_screen(stage, tmp_path):
    app = stage.app()
    file = tmp_path / "some.result.json"
    file.write_bytes(encode(result()))

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        app.open_result(file)
        await until(pilot, lambda: app.desk.source == "file" and app.current_mode == "run")
        await drawn(pilot, app)
        assert len(app.desk.story.view.cells) == 10
        assert app.screen.query_one(RunCharts).leading.cursor_s is None
        await pilot.press("home", "right_square_bracket", "right_square_bracket")
        assert "cell 2 of 10" in top(app)[1]
        await pilot.press("w")
        await until(pilot, lambda: app.desk.saved)

    drive(app, talk)


def test_a_file_that_is_no_result_is_one_notice(stage):
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        app.open_result(b"{}")
        await until(pilot, lambda: len(app._notifications) == 1)
        assert app.desk.source == "nothing"

    drive(app, talk)


def test_what_runs_say_of_themselves_can_neither_colour_nor_break_the_screen(stage):
    evil = "EVIL\x1b[31m[red]\u202e"
    app, seq = following(stage, runs=runs(info(run=evil, scenario=evil, outcome=evil)))

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, ChooseRun))
        assert "\x1b" not in app.export_screenshot()
        await pilot.press("escape")
        app.desk.story.take([Record(seq + 1, 500.0, "", FrameTaken(Frame(1, 1, 1.0, devices={evil: "1 2 3"})))])
        await pilot.press("a")
        assert evil in table(app).row_keys

    drive(app, talk)


def over_network(seq, *sent):
    """Frames from second 400 on, in which the loopback and an interface have sent so many bytes."""
    for number, count in enumerate(sent):
        networks = dict.fromkeys(("lo", "eth0"), f"{count} 1 0 0 {count} 1 0 0")
        frame = Frame(1000.0 + number, 0, 1.0 if number else None, not number, {"sda": "1 2 3"}, networks=networks)
        yield Record(seq + 1 + number, 400.0 + number, "", FrameTaken(frame))


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_interfaces_that_move_data_are_below_the_devices_now_and_at_the_playhead(stage, size):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        if size == SMALL:
            await pilot.click("#tab-devices")
        network = app.screen.query_one("#network", Lines)
        assert not network.display
        app.desk.story.take(over_network(seq, 0, 50_000_000, 50_000_000))
        app.desk.changed.publish(app.desk)
        await drawn(pilot, app)
        assert not network.display, "nothing moved in the newest second"
        app.screen._go_to(401.0)
        await drawn(pilot, app)
        assert network.display
        assert network.region.height == 1
        assert network.region.y == table(app).region.bottom
        assert network.render_line(0).text.strip() == "Network MB/s  lo in 50.0 out 50.0  eth0 in 50.0 out 50.0"
        await pilot.press("escape")
        await drawn(pilot, app)
        assert not network.display

    drive(app, talk, size)


def test_a_result_file_has_the_network_of_its_cells_at_the_playhead():
    found = result()
    series = {"received_bytes_per_s": [2e6] * 5, "sent_bytes_per_s": [7e6] * 5}
    cell = msgspec.structs.replace(found.cells[0], networks={"eth0": NetworkUse(10**7, 35 * 10**6, series=series)})
    story = Story()
    story.take(records_of(msgspec.structs.replace(found, cells=(cell,))))
    frames = story.at(story.cell_edges()[0] + cell.device_at_s[2] + 0.01).frames
    rates = frames.network_rates("eth0")
    assert rates is not None
    assert (rates.received_bytes_per_s, rates.sent_bytes_per_s) == (pytest.approx(2e6), pytest.approx(7e6))


@pytest.mark.parametrize(("size", "name"), [(SMALL, "80"), (LARGE, "200")])
def test_looks_while_it_runs(stage, size, name, monkeypatch):
    monkeypatch.setattr(RunDesk, "elapsed_s", property(lambda desk: desk.story.end_s))
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        await until(pilot, lambda: app.link_state.up and not app._notifications)
        if size == SMALL:
            await pilot.click("#tab-devices")
        await drawn(pilot, app)
        await same_picture(pilot, f"run-{name}")

    drive(app, talk, size)


def test_looks_when_it_has_ended(stage):
    app, seq = finished(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq, how="open_run")
        await same_picture(pilot, "run-finished-200")

    drive(app, talk, LARGE)


def test_the_recorded_journal_is_a_real_one():
    path = Path(__file__).parent.parent / "data" / "tui" / "write-hole.journal.jsonl.gz"
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == len(records()) == 710
    assert isinstance(next(iter(records()[0].event.plan.binding.values()))[0], Fingerprint)


def head(app) -> str:
    return str(app.screen.query_one(Head).render())


def test_every_screen_says_how_far_the_run_is_and_that_it_ended(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await until(pilot, lambda: app.desk.story.view.seq >= seq)
        for key in ("1", "5"):
            await pilot.press(key)
            await until(pilot, lambda: "run 9" in head(app) and " min left" in head(app))
        await pilot.press("4")
        assert "run 9" not in head(app), "the screen itself says it"
        await pilot.press("5")
        app.run_worker(app.desk.cancel())
        await until(pilot, lambda: app.desk.story.view.finished is not None)
        await until(pilot, lambda: any("cancelled" in note.message for note in app._notifications))
        assert "run 9" not in head(app)

    drive(app, talk)


def test_enter_opens_the_result_of_a_run_that_ended(stage):
    app, seq = finished(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        await until(pilot, lambda: app.desk.saved)
        assert "enter opens the result" in top(app)[2]
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "results" and app.screen.has_class("-opened"))

    drive(app, talk)


def test_a_second_run_is_started_only_after_a_question(stage):
    app, seq = following(stage)

    async def talk(pilot):
        await caught_up(pilot, app, seq)
        await pilot.press("3")
        app.screen._plan, app.screen._request = made.plan(), PlanRequest("{}")
        app.screen.action_consent()
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("n")
        await until(pilot, lambda: app.current_mode == "run")

    drive(app, talk)
