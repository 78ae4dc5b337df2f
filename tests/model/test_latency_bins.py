"""Bins of latencies: six a decade."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from raidtui.model.latency_bins import binned, edge, edges, median_bin


@given(st.integers(0, 10**13))
def test_a_latency_is_in_the_bin_between_two_neighbouring_edges(ns: int) -> None:
    first = edge(ns)
    after = edges(first, ns + 1)[1:] or edges(first, first + 1)[1:]
    assert first <= ns < after[0]


def test_edges_are_round_numbers() -> None:
    assert edges(0, 300) == [0, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300]
    assert edges(edge(69_999), edge(1_000_000)) == [50_000, 70_000, 100_000, 150_000, 200_000, 300_000, 500_000, 700_000,
                                                    1_000_000]  # fmt: skip


def test_operations_are_counted_once() -> None:
    found = binned([(70_000, 3), (99_999, 1), (100_000, 2), (5, 0)])
    assert found == {70_000: 4, 100_000: 2}
    assert median_bin(found) == 70_000
    assert median_bin({}) is None
