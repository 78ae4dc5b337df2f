"""Bars and histories in a table's cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.tui.widgets.glyphs import ASCII, UNICODE, Glyphs, bar, spark

signs = st.sampled_from([ASCII, UNICODE])
numbers = st.none() | st.floats(allow_nan=True, allow_infinity=True)


@pytest.mark.parametrize(
    ("percent", "drawn"),
    [(0, "    "), (50, "██  "), (100, "████"), (3.2, "▏   "), (250, "████"), (-1, "    "), (None, "–   ")],
)
def test_a_bar_shows_its_percent_in_eighths_of_a_cell(percent: float | None, drawn: str) -> None:
    assert bar(percent, 4, signs=UNICODE).plain == drawn


def test_a_bar_is_plain_where_there_are_no_blocks() -> None:
    assert bar(50, 4, signs=ASCII).plain == "##  "


def test_a_history_has_the_newest_on_the_right_and_gaps_where_nothing_is_known() -> None:
    assert spark([9, 0, 50, None, 100], 6, signs=UNICODE).plain == " ▂▁▅ █"
    assert spark([0, 50, None, 100], 3, signs=UNICODE).plain == "▅ █"
    assert spark([0, 50, None, 100], 4, signs=ASCII).plain == "_= #"


def test_a_history_is_measured_against_a_given_top() -> None:
    assert spark([10, 10], 2, top=100, signs=UNICODE).plain == "▂▂"
    assert spark([0, 0], 2, signs=UNICODE).plain == "▁▁"


@given(numbers, st.integers(0, 40), signs)
def test_a_bar_is_always_as_wide_as_asked(percent: float | None, width: int, with_signs: Glyphs) -> None:
    assert len(bar(percent, width, signs=with_signs).plain) == width


@given(st.lists(numbers, max_size=50), st.integers(0, 40), st.none() | st.floats(0, 1e9), signs)
def test_a_history_is_always_as_wide_as_asked(
    values: list[float | None], width: int, top: float | None, with_signs: Glyphs
) -> None:
    assert len(spark(values, width, top=top, signs=with_signs).plain) == width


def test_what_is_not_there_has_a_sign() -> None:
    assert UNICODE.absent == "–"
    assert ASCII.absent == "-"
