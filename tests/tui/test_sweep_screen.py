"""Sweeps on the screen Results: the points and the knee of each curve, and the curves as a plot."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from made import result
from pictures import same_picture
from pilot import SMALL, drive, until
from textual.widgets import Static

from raidtui.model.convert import encode
from raidtui.model.measure import Direction, Latency, Summary
from raidtui.model.protocol import RunList
from raidtui.model.result import Cell
from raidtui.model.sweep import Swept
from raidtui.tui.results.compare_view import CompareView
from raidtui.tui.results.library_pane import LibraryPane

MIDDLE = (120, 40)
CURVE = {1: (10_000, 100), 4: (30_000, 133), 16: (41_000, 390), 64: (42_230, 1482)}


def point(layout, name, depth, iops, us):
    read = Direction(int(iops * 5), int(iops * 5 * 4096), iops, iops * 4096, 5.0, Latency(us, us, us * 2, us * 3, us * 4))
    load = f"{name}-q{depth}"
    return Cell(f"{layout}/{load}", layout, load, 1, True, (), summary=Summary(read=read),
                sweep=Swept(name, "4KiB", iodepth=depth))  # fmt: skip


@pytest.fixture
def shelf(stage, tmp_path):
    """A results folder with a run of two sweeps on two layouts."""
    folder = tmp_path / "state" / "raidtui" / "results"
    folder.mkdir(parents=True)
    for part in (folder, folder.parent):
        part.chmod(0o700)
    cells = [point(layout, name, depth, iops * factor, us / factor)
             for name in ("seek", "other") for layout, factor in (("raid5", 1.0), ("raid10", 2.0))
             for depth, (iops, us) in CURVE.items()]  # fmt: skip
    one = result(*cells, layouts=(), run="20260201-120000-aaaa0001", started="2026-02-01T12:00:00Z")
    (folder / f"tiny-{one.run}.result.json").write_bytes(encode(one))
    stage.answers(runs={"result": RunList("raidtui.runs/1", ())})


def scene(stage, act, size=SMALL):
    """Act on the screen Results once the result is compared and its first sweep is shown."""
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        await pilot.press("5")
        await until(pilot, lambda: len(app.screen.query_one(LibraryPane).entries) == 1)
        app.clear_notifications()
        await pilot.press("c")
        await until(pilot, lambda: app.screen.has_class("-comparing"))
        await pilot.press("s")
        await pilot.pause()
        await act(pilot, app.screen, app.screen.query_one(CompareView))

    drive(app, talk, size)


def words(view, which):
    return " ".join(str(view.query_one(f"#compare-{which} > Static", Static).render()).split())


def test_a_sweep_has_a_row_for_each_point_and_a_sentence_on_the_knee_of_the_row_s_curve(stage, shelf):
    async def act(pilot, screen, view):
        assert str(view.border_title) == "Sweep seek (1 of 2)"
        rows = [[str(one).strip() for one in view.table.rows.cells(key)] for key in view.table.rows.keys]
        assert len(rows) == 8
        assert rows[2][:4] == ["a raid5", "16×1", "41,000", "97 %"]
        assert [row[-1] for row in rows] == ["", "", "knee", ""] * 2
        assert "raid5: knee at 16 in flight: 41,000 IOPS at 390 µs" in words(view, "answer")
        await pilot.press("end")
        assert "raid10: knee at 16 in flight: 82,000 IOPS at 195 µs" in words(view, "answer")

    scene(stage, act)


def test_the_curves_are_drawn_with_their_knees_and_the_row_s_one_is_named(stage, shelf):
    async def act(pilot, screen, view):
        drawn = str(view.query_one("#compare-about > Static", Static).render())
        plot = drawn[: drawn.index("0 ")]
        assert [plot.count(sign) for sign in "aAbB"] == [3, 1, 3, 1]
        assert "a raid5, b raid10; capital: the knee" in words(view, "about")
        lines = plot.splitlines()
        above = next(number for number, line in enumerate(lines) if "A" in line)
        below = next(number for number, line in enumerate(lines) if "B" in line)
        assert above < below, "the curve with the higher latency is above"
        assert lines[above].index("A") < lines[below].index("B"), "the one with more IOPS is further right"

    scene(stage, act, MIDDLE)


def test_the_key_goes_through_all_sweeps_and_back_to_the_table(stage, shelf):
    async def act(pilot, screen, view):
        assert screen.check_action("baseline", ()) is False
        await pilot.press("s")
        assert str(view.border_title) == "Sweep other (2 of 2)"
        await pilot.press("s")
        assert str(view.border_title) == "Comparison"
        assert view.table.columns[0].title == "Layout"
        assert screen.check_action("baseline", ()) is True
        assert screen.check_action("sweep", ()) is True

    scene(stage, act)


@pytest.mark.parametrize(("size", "name"), [(SMALL, "80"), (MIDDLE, "120")])
def test_a_sweep_looks_as_it_did(stage, shelf, size, name):
    async def act(pilot, screen, view):
        await pilot.press("down", "down")
        await pilot.pause(0.3)
        await same_picture(pilot, f"sweep-{name}")

    scene(stage, act, size)
