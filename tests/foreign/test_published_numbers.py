"""Numbers as people write them: their value, and the interval that their digits stand for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.foreign.published import decimals, interval, read_number
from raidtui.model.table import Figure


@pytest.mark.parametrize(
    ("text", "value", "half_step"),
    [
        ("11 827.20", 11827.2, 0.005),
        ("2\u00a0817\u202f002,93", 2817002.93, 0.005),
        ("1,473.5", 1473.5, 0.05),
        ("1.473,5", 1473.5, 0.05),
        ("1,473", 1473, 0.5),
        ("0,473", 0.473, 0.0005),
        ("27000", 27000, 50),  # three digits of a round number are taken at their word
        ("48213", 48213, 0.5),
        ("~27000", 27000, 500),
        ("63.6k", 63600, 50),
        ("512k", 512000, 500),
        ("100k", 100000, 500),  # whoever writes k has rounded, and to the last digit
        ("30.0k", 30000, 50),
        ("~100k", 100000, 5000),
        ("5.0", 5, 0.05),
        ("1.2M", 1200000, 50000),
        ("2811.00", 2811, 0.005),
        ("0", 0, 0.5),
    ],
)
def test_a_number_and_what_its_digits_mean(text, value, half_step):
    found = read_number(text)
    assert found.value == pytest.approx(value)
    assert found.half_step == pytest.approx(half_step)


def test_a_number_without_its_text_is_a_round_one_where_it_ends_in_zeros():
    assert interval(Figure("a", "w", "iops", 100000.0, "IOPS")) == (99500, 100500)
    assert interval(Figure("a", "w", "iops", 5.0, "IOPS")) == (4.5, 5.5)


@pytest.mark.parametrize("text", ["", "-", "n/a", "x", "1e999", "12 MB/s", "4M qd=32", "1.2.3.x", "9" * 60])
def test_what_is_no_number_is_none(text):
    assert read_number(text) is None


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(text):
    found = read_number(text)
    assert found is None or found.half_step >= 0


@given(st.floats(0.001, 1e7), st.integers(0, 3))
def test_the_true_number_lies_in_the_interval_of_its_rounded_text(true, places):
    text = f"{true:.{places}f}"
    if places == 0 and text.endswith("000"):
        return
    figure = Figure("a", "w", "iops", float(text), "IOPS", text)
    found = interval(figure)
    assert found.low - 1e-6 <= true <= found.high + 1e-6
    assert decimals(figure) == places


@pytest.mark.parametrize("text", ["0", "7", "10", "1000", "27000", "123456", "100000", "007", "0.5", "12.50", "412.345"])
def test_plain_digits_are_read_as_those_behind_a_sign(text):
    signed = read_number(f"+{text}")
    assert read_number(text) == signed
