"""Charts: what is drawn of series, and how the playhead and the window move."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pilot import drive
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot

from raidtui.results.rates import latency_text
from raidtui.tui.widgets.chart import Chart, SharedTime
from raidtui.tui.widgets.chart_picture import CURSOR, SERIES, GrowingPlot, Look, Series, picture, value_at
from raidtui.tui.widgets.glyphs import ASCII, UNICODE
from raidtui.tui.widgets.plot import (
    NOBODY,
    Point,
    Scale,
    clock_text,
    plot,
    round_top,
    scale_for,
    short_number,
    time_ticks,
    window_for,
    window_text,
)

RISING: list[Point] = [(float(at), float(at)) for at in range(11)]


def drawn(series: list[list[Point]], **how: Any) -> list[str]:
    return plot(series, 10, 4, 0, 10, Scale(0, 10), **how).lines


def test_a_rising_line_goes_from_corner_to_corner() -> None:
    assert drawn([RISING])[3][0] != " "
    assert drawn([RISING])[0][-1] != " "
    assert drawn([RISING])[0][0] == drawn([RISING])[3][-1] == " "


def test_without_braille_each_series_has_a_sign_of_its_own() -> None:
    lines = drawn([RISING, [(at, 10 - value) for at, value in RISING if value is not None]], braille=False)
    assert lines[0][0] == "+"
    assert lines[0][-1] == "*"
    assert all(line.isascii() for line in lines)


@settings(deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from([0.3, 1.0, 7.0]), st.lists(st.none() | st.floats(0, 100), min_size=2, max_size=2)),
        min_size=1,
        max_size=30,
    ),
    size=st.tuples(st.integers(2, 40), st.integers(1, 9)),
    braille=st.booleans(),
)
def test_lines_that_grow_look_as_if_they_were_drawn_at_once(
    steps: list[tuple[float, list[float | None]]], size: tuple[int, int], braille: bool
) -> None:
    grown, at_s = GrowingPlot(), 0.0
    lines: list[list[Point]] = [[], []]
    for after_s, values in steps:
        at_s += after_s
        for line, value in zip(lines, values, strict=True):
            line.append((at_s, value))
        window = max(0.0, at_s // 5 * 5 - 25), at_s // 5 * 5 + 5
        shown = plot(lines, *size, *window, Scale(0, 100), braille=braille)
        assert grown(lines, *size, *window, Scale(0, 100), braille=braille) == shown


def test_a_gap_stays_a_gap() -> None:
    lines = drawn([[(0, 5), (2, 5), (4, None), (6, 5), (9, 5)]], braille=False)
    assert [line for line in lines if line.strip()] == ["***   ****"]


def test_samples_further_apart_than_dots_are_joined() -> None:
    lines = drawn([[(0, 5), (9, 5)]], braille=False)
    assert [line for line in lines if line.strip()] == ["**********"]


def test_of_many_samples_in_one_dot_the_extremes_are_seen() -> None:
    points: list[Point] = [(5 + i / 1000, 10.0 if i == 50 else 0.0) for i in range(100)]
    plotted = plot([points], 10, 4, 0, 10, Scale(0, 10))
    assert all(line[5] != " " for line in plotted.lines)


@pytest.mark.parametrize(("highest", "top"), [(0, 1), (0.7, 1), (1, 1), (3, 5), (5.1, 10), (101, 200), (math.nan, 1)])
def test_scales_end_at_round_numbers(highest: float, top: float) -> None:
    assert round_top(highest) == top


def test_a_logarithmic_scale_has_whole_decades() -> None:
    assert scale_for([80, 3000, 0], log=True) == Scale(10, 10000, True)
    assert scale_for([], log=True) == Scale(1, 10, True)
    assert scale_for([100], log=True) == Scale(100, 1000, True)
    assert Scale(10, 1000, True).fraction(100) == pytest.approx(0.5)
    assert Scale(10, 1000, True).fraction(0) == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.25, "0.25"),
        (9.996, "10"),
        (12.34, "12.3"),
        (999.4, "999"),
        (999.6, "1k"),
        (340_000, "340k"),
        (1.5e6, "1.5M"),
    ],
)
def test_numbers_on_axes_are_short(value: float, text: str) -> None:
    assert short_number(value) == text


def test_times_are_read_as_on_a_clock() -> None:
    assert [clock_text(at) for at in (0, 65, 3723, -5)] == ["0:00", "1:05", "1:02:03", "-0:05"]
    assert [window_text(at) for at in (30, 60, 900, None)] == ["30 s", "1 min", "15 min", "all"]


def test_the_time_axis_has_round_times_that_do_not_touch() -> None:
    ticks = time_ticks(100, 160, 60, origin_s=100)
    assert [text for _, text in ticks] == ["0:00", "0:10", "0:20", "0:30", "0:40", "0:50", "1:00"]


def test_the_window_moves_on_in_steps_and_holds_the_playhead() -> None:
    assert window_for(0, 10, 60) == (0, 60)
    assert window_for(0, 61, 60) == (5, 65)
    assert window_for(0, 64, 60) == (5, 65)
    assert window_for(0, 500, None) == (0, 600)
    assert window_for(0, 500, None, ended=True) == (0, 500)
    start, end = window_for(0, 900, 60, 100)
    assert start <= 100 <= end
    assert end - start == 60


def test_the_title_says_the_newest_values_or_those_at_the_playhead() -> None:
    series = [Series("read", RISING), Series("write", [(0, 1), (5, None)])]
    look = Look(title="IOPS", note="1 min")
    assert picture(series, look, 60, 8, (0, 10))[0].text == "IOPS  1 read 10  2 write –".ljust(55) + "1 min"
    assert picture(series, look, 60, 8, (0, 10), cursor_s=2.5)[0].text.startswith("IOPS  1 read 2  2 write 1")


def test_a_series_number_stands_where_its_line_ends() -> None:
    rows = picture([Series("a", RISING), Series("b", [(0, 0), (10, 0)])], Look(), 40, 10, (0, 10))
    assert [row.text[-1] for row in rows[1:-1]] == ["1", " ", " ", " ", " ", " ", " ", "2"]


def test_both_axes_have_their_unit_and_no_number_is_cut_by_it() -> None:
    last = picture([Series("", RISING)], Look(axes=("MB/s", "min:s")), 46, 10, (0, 60))[-1].text
    assert last.split() == ["MB/s", "0:00", "0:15", "0:30", "0:45", "min:s"]
    narrow = picture([Series("", RISING)], Look(axes=("MB/s", "min:s")), 20, 10, (0, 60))[-1].text
    assert narrow.split() == ["MB/s", "0:00", "1:00"]


def test_without_values_it_says_so() -> None:
    rows = picture([Series("a", [])], Look(empty="no values yet"), 40, 8, (0, 60))
    assert any("no values yet" in row.text for row in rows)


def test_the_playhead_is_a_line_through_the_plot() -> None:
    rows = picture([Series("", RISING)], Look(), 40, 10, (0, 10), cursor_s=5)
    assert all(sum(role >= CURSOR for role in row.roles) == 1 for row in rows[1:-1])


values = st.none() | st.floats(allow_nan=False, allow_infinity=False)
times = st.lists(st.floats(0, 1e4), max_size=40).map(sorted)


@st.composite
def any_series(draw: st.DrawFn) -> Series:
    return Series(draw(st.text(max_size=12)), [(at, draw(values)) for at in draw(times)])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(any_series(), max_size=4),
    st.integers(0, 60),
    st.integers(0, 20),
    st.floats(0, 1e4),
    st.sampled_from([30.0, 900.0, 1e5]),
    st.none() | st.floats(-1e5, 1e5),
    st.booleans(),
    st.sampled_from([ASCII, UNICODE]),
)
def test_a_picture_always_fits(
    series: list[Series],
    width: int,
    height: int,
    start: float,
    span: float,
    cursor: float | None,
    log: bool,
    signs: Any,
) -> None:
    look = Look("title", log=log, note="1 min", glyphs=signs)
    rows = picture(series, look, width, height, (start, start + span), 0.0, cursor)
    assert len(rows) == (height if width else 0)
    for row in rows:
        assert cell_len(row.text) == width
        assert len(row.roles) == len(row.text)
        assert not any(unicodedata.category(sign) in ("Cc", "Cf") for sign in row.text)


@settings(max_examples=100, deadline=None)
@given(st.lists(any_series(), max_size=3), st.booleans())
def test_every_drawn_cell_belongs_to_a_series_and_no_other_does(series: list[Series], braille: bool) -> None:
    points = [one.points for one in series]
    found = plot(points, 20, 6, 0, 1e4, scale_for([1e6]), braille=braille)
    for line, owners in zip(found.lines, found.owners, strict=True):
        assert all((sign == " ") == (who == NOBODY) for sign, who in zip(line, owners, strict=True))


@given(any_series(), st.floats(0, 1e4))
def test_the_value_at_a_time_is_the_last_one_before_it(series: Series, at: float) -> None:
    before = [value for when, value in series.points if when <= at]
    assert value_at(series.points, at) == (before[-1] if before else None)


class Host(App[None]):
    CSS = "SharedTime { layout: horizontal; } Chart { width: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[object] = []

    def compose(self) -> ComposeResult:
        with SharedTime():
            yield Chart("IOPS", id="left")
            yield Chart("latency", id="right", format=latency_text)

    def on_mount(self) -> None:
        self.query_one("#right", Chart).log_scale = True

    def on_chart_moved(self, event: Chart.Moved) -> None:
        self.heard.append(event.at_s)

    def on_chart_zoomed(self, event: Chart.Zoomed) -> None:
        self.heard.append(("zoom", event.window_s))


Talk = Callable[[Host, Chart, Chart, Pilot[Any]], Any]


def talk_to(talk: Talk) -> None:
    host = Host()

    async def conversation(pilot: Pilot[Any]) -> None:
        left, right = host.query_one("#left", Chart), host.query_one("#right", Chart)
        for chart in (left, right):
            chart.show([Series("", [(1000.0 + at, 50.0 + at % 7) for at in range(90)])])
        left.focus()
        await pilot.pause()
        await talk(host, left, right, pilot)

    drive(host, conversation)


def test_charts_side_by_side_have_one_playhead_and_one_window() -> None:
    async def talk(host: Host, left: Chart, right: Chart, pilot: Pilot[Any]) -> None:
        await pilot.press("left", "plus")
        await pilot.pause()
        assert host.heard[0] == left.cursor_s == right.cursor_s
        assert host.heard[-1] == ("zoom", 30.0)
        assert left.window_s == right.window_s == 30.0

    talk_to(talk)


def test_keys_move_the_playhead_and_give_it_up() -> None:
    async def talk(host: Host, left: Chart, right: Chart, pilot: Pilot[Any]) -> None:
        await pilot.press("home")
        assert left.cursor_s == 1000.0
        await pilot.press("shift+right", "right")
        assert left.cursor_s is not None
        assert left.cursor_s > 1010
        await pilot.press("escape")
        assert left.cursor_s is None
        await pilot.press("shift+left", "left", "end")
        assert left.cursor_s is None
        await pilot.press("left", "right", "right")
        assert left.cursor_s is None

    talk_to(talk)


def test_windows_are_chosen_by_keys_and_end_somewhere() -> None:
    async def talk(host: Host, left: Chart, right: Chart, pilot: Pilot[Any]) -> None:
        await pilot.press(*["minus"] * 6)
        assert left.window_s is None
        await pilot.press(*["plus"] * 9)
        assert left.window_s == 30.0

    talk_to(talk)


def test_the_scale_is_logarithmic_at_the_press_of_a_key() -> None:
    async def talk(host: Host, left: Chart, right: Chart, pilot: Pilot[Any]) -> None:
        await pilot.press("L")
        assert left.log_scale
        assert "log" in left.render_line(0).text

    talk_to(talk)


def test_a_click_puts_the_playhead_there() -> None:
    async def talk(host: Host, left: Chart, right: Chart, pilot: Pilot[Any]) -> None:
        await pilot.click("#left", offset=(20, 5))
        assert host.heard
        assert left.cursor_s == host.heard[0] == right.cursor_s
        roles = {role for row in left._picture for role in row.roles}
        assert any(role & CURSOR for role in roles)
        assert SERIES in {role & ~CURSOR for role in roles}

    talk_to(talk)


def test_the_same_data_again_draws_nothing() -> None:
    async def talk(host: Host, left: Chart, right: Chart, pilot: Pilot[Any]) -> None:
        asked: list[Region] = []
        left.refresh = lambda *regions, **how: asked.extend(regions)  # type: ignore[method-assign,assignment,return-value]
        points: list[Point] = [(1000.0 + at, 50.0 + at % 7) for at in range(90)]
        left.show([Series("", points)])
        assert asked == []
        left.show([Series("", [*points, (1090.0, 50.0)])])
        assert asked
        assert all(region.x > 0 for region in asked if region.y > 0)

    talk_to(talk)


def test_every_binding_has_an_id_and_a_tooltip() -> None:
    for binding in Chart.BINDINGS:
        assert binding.id.startswith("chart.")  # type: ignore[union-attr]
        assert binding.tooltip  # type: ignore[union-attr]


def test_a_title_that_is_too_long_loses_whole_series_and_its_note_where_two_have_no_room() -> None:
    series = [Series("mean", RISING), Series("p99", RISING), Series("max", [(0, 1), (5, None)]), Series("disks", RISING, 4)]
    look = Look(title="Latency", note="1 min")
    whole = "Latency  1 mean 10  2 p99 10  4 disks 10  3 max –"
    assert picture(series, look, 60, 8, (0, 10))[0].text == whole.ljust(55) + "1 min"
    assert picture(series, look, 52, 8, (0, 10))[0].text == "Latency  1 mean 10  2 p99 10  4 disks 10…".ljust(47) + "1 min"
    assert picture(series, look, 30, 8, (0, 10))[0].text == "Latency  1 mean 10  2 p99 10… "
    assert picture(series, look, 25, 8, (0, 10))[0].text.rstrip() == "Latency  1 mean 10…"
    assert picture(series, look, 5, 8, (0, 10))[0].text == "Late…"


def test_a_number_that_does_not_fit_beside_the_axis_is_left_out() -> None:
    rows = picture([Series("a", RISING)], Look(format=lambda value: f"{value:.3f}"), 40, 8, (0, 10))
    assert rows[1].text[:6] == "     │"
    assert rows[-2].text[:6] == "0.000│"
