"""Comparison on the screen Results: metrics, charts of all layouts over each other, letters and colours."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from pictures import same_picture
from pilot import LARGE, SMALL
from test_results import compared, scene, shelf

from raidtui.tui.results.compare_charts import (
    CompareCharts,
    PercentileChart,
    percentile_text,
    percentile_ticks,
    short_latency,
)
from raidtui.tui.widgets.chart import Chart
from raidtui.tui.widgets.chart_picture import SERIES
from raidtui.tui.widgets.signs import ink

__all__ = ("shelf",)


def column(view, place):
    return [str(view.table.rows.cells(key)[place]).split() for key in view.table.row_keys]


def test_a_key_goes_through_the_metrics_that_were_measured_and_back(stage, shelf):
    async def act(pilot, app, screen):
        view = await compared(pilot, screen, "quick")
        rates = column(view, 1)
        await pilot.press("m", "m", "m")
        assert str(view.border_title) == "Comparison · p50 latency"
        assert view.table.columns[1].title == "fsync-write-4k-t1q1 p50"
        shown = column(view, 1)
        assert all(row[1] in ("µs", "ms") for row in shown)
        # raid5 reads before it writes: it takes longer than the baseline.
        assert shown[-1][2:4] > ["100", "%"]
        await pilot.press("M", "M", "M")
        assert column(view, 1) == rates
        await pilot.press("M")
        assert str(view.border_title) == "Comparison · write amplification"
        assert column(view, 1)[-1][0] == "2.00×"

    scene(stage, act)


def test_what_is_exported_is_the_comparison_of_rates_with_the_chosen_baseline(stage, shelf):
    async def act(pilot, app, screen):
        view = await compared(pilot, screen, "quick")
        await pilot.press("down", "b", "m", "m", "m")
        assert view.comparison.units == ("p50", "p50")
        assert view.of_rates.units == ("IOPS", "MB/s")
        assert view.of_rates.baseline == view.comparison.baseline == "disk RTLAB-372F7E2F-02"

    scene(stage, act)


def test_a_layout_has_one_letter_and_one_colour_in_the_table_and_in_every_chart(stage, shelf):
    async def act(pilot, app, screen):
        view = await compared(pilot, screen, "quick")
        assert view.has_class("-beside")
        await pilot.press("end")
        await pilot.pause()
        rows = view.comparison.rows
        for place, key in enumerate(view.table.row_keys):
            name, *cells = view.table.rows.cells(key)
            assert name.plain == f"{'abcdef'[place]} {rows[place].label}"
            assert name.spans[0].style == ink(place)
            assert {str(span.style) for cell in cells for span in cell.spans if "series" in str(span.style)} == {ink(place)}
        for chart in view.query(Chart):
            # The row under the cursor is drawn in front.
            assert [one.sign for one in chart._series] == ["f", "a", "b", "c", "d", "e"]
            assert [one.style for one in chart._series] == [5, 0, 1, 2, 3, 4]
            letters = {(row.text[-1], row.roles[-1] - SERIES) for row in chart._picture[1:-1] if row.text[-1] != " "}
            assert letters == {(letter, "abcdef".index(letter)) for letter in "abcdef"}

    scene(stage, act, LARGE)


def test_charts_stand_in_the_place_of_the_table_where_both_do_not_fit(stage, shelf):
    async def act(pilot, app, screen):
        view = await compared(pilot, screen, "quick")
        charts = view.query_one(CompareCharts)
        assert not charts.display
        await pilot.press("v")
        assert charts.display
        assert isinstance(app.focused, PercentileChart)
        assert app.focused.title.startswith("fsync-write-4k-t1q1: latency of sync")
        await pilot.press("full_stop")
        assert app.focused.title.startswith("seq-write-1m-q8: latency of write")
        await pilot.press("home", "right", "right")
        assert app.focused.note().startswith("at p")
        await pilot.press("escape", "v")
        assert app.focused is view.table
        await pilot.press("x", "down", "v")
        assert view.query_one(PercentileChart).title.startswith("seq-write-1m-q8")
        await pilot.press("escape")
        assert not screen.has_class("-comparing")

    scene(stage, act)


def test_a_percentile_is_named_by_its_place():
    assert [percentile_text(at) for at in (0.301, 1, 1.5, 2, 3, 4)] == ["p50", "p90", "p96.8", "p99.0", "p99.90", "p99.990"]
    assert percentile_ticks(0.0, 4.0, 80, 0.0) == [(6, "p50"), (20, "p90"), (40, "p99"), (60, "p99.9")]


@pytest.mark.parametrize(
    ("us", "words"), [(1.5, "1.5µs"), (85.4, "85µs"), (1000, "1ms"), (1240, "1.2ms"), (99960, "100ms"), (2e6, "2s")]
)
def test_a_latency_at_an_axis_has_its_unit_in_five_cells(us, words):
    assert short_latency(us) == words


@pytest.mark.parametrize(("size", "name"), [(SMALL, "80"), (LARGE, "200")])
def test_the_charts_of_a_comparison_look_as_they_did(stage, shelf, size, name):
    async def act(pilot, app, screen):
        await compared(pilot, screen, "quick")
        await pilot.press("end", "m", "m", "m", *(["v"] if size == SMALL else []))
        await pilot.pause(0.3)
        await same_picture(pilot, f"compare-charts-{name}")

    scene(stage, act, size)
