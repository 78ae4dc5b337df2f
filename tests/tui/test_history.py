"""The last values of every device."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.tui.widgets.history import History


def test_values_come_back_oldest_first_and_the_oldest_are_forgotten() -> None:
    history = History(3)
    for at in range(5):
        history.push("sda", at * 10, at)
    assert history.values("sda") == [20, 30, 40]
    assert history.values("sda", 2) == [30, 40]
    assert history.points("sda", 2) == [(3, 30), (4, 40)]
    assert history.latest("sda") == 40


def test_a_device_that_was_not_there_has_gaps() -> None:
    history = History(4)
    history.push("sda", 1, 0)
    history.push("sda", 2, 1)
    history.push("sdb", 7, 1)
    history.push("sda", None, 2)
    assert history.values("sda") == [1, 2, None]
    assert history.values("sdb") == [None, 7, None]
    assert history.values("sdc") == [None, None, None]
    assert history.latest("sdb") is None


def test_devices_that_went_are_forgotten() -> None:
    history = History(4)
    history.push("sda", 1, 0)
    history.push("sdb", 2, 0)
    history.forget_all_but(["sdb"])
    assert "sda" not in history
    assert history.values("sdb") == [2]


def test_a_history_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        History(0)


@given(
    st.integers(1, 5),
    st.lists(st.dictionaries(st.sampled_from("abc"), st.none() | st.floats(allow_nan=False)), max_size=15),
)
def test_it_is_what_a_plain_list_would_hold(length: int, ticks: list[dict[str, float | None]]) -> None:
    history = History(length)
    kept = [tick for tick in ticks if tick]
    for at, tick in enumerate(kept):
        for key, value in tick.items():
            history.push(key, value, float(at))
    for key in "abc":
        assert history.values(key) == [tick.get(key) for tick in kept][-length:]
