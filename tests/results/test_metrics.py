"""Comparison by another metric than the rate: numbers, shares, verdicts and what is offered."""

from __future__ import annotations

import msgspec
import pytest
from test_comparing import cell, result
from test_cores import used

from raidtui.model.measure import Direction, Latency, Summary
from raidtui.model.result import Cell, Result
from raidtui.results.compare import compare, compare_many
from raidtui.results.comparison import NOT_TOLD, TOLD
from raidtui.results.cores import core_lines
from raidtui.results.lines import entry_words, share_text
from raidtui.results.metrics import METRICS, metrics_of
from raidtui.results.percentiles import curve_of, time_at
from raidtui.results.verdicts import answer_lines


def timed(layout: str, round_: int, bins: dict[int, int], *, sync_us: float | None = None) -> Cell:
    """A cell whose writes took so many ns each; the percentiles that fio prints are those of its histogram."""
    ordered = sorted(ns for ns, count in bins.items() for _ in range(count))
    p50, p99 = (ordered[int(share * (len(ordered) - 1))] / 1000 for share in (0.5, 0.99))
    write = Direction(1000, 4096000, 100.0, 409600.0, 10.0, Latency(p50, p50, p99, None, ordered[-1] / 1000))
    sync = None if sync_us is None else Direction(100, 0, 10.0, 0.0, 10.0, Latency(sync_us, sync_us, sync_us))
    report = {"jobs": [{"write": {"clat_ns": {"bins": {str(ns): count for ns, count in bins.items()}}}}]}
    summary = Summary(write=write, sync=sync)
    return Cell(f"{layout}/w#{round_}", layout, "w", round_, True, (), summary=summary, report=report)


def two_layouts(factor: float = 2.0, rounds: int = 5) -> Result:
    found = []
    for number in range(1, rounds + 1):
        for layout, times in (("a", 1.0), ("b", factor)):
            scatter = 1000 + 10 * (number * 3 % 5)
            found.append(timed(layout, number, {int(scatter * times): 900, int(40 * scatter * times): 100}))
    return result(*found, loads=("w",))


def test_a_percentile_is_that_of_the_merged_histograms_and_its_verdict_that_of_the_rounds() -> None:
    one = result(timed("a", 1, {1000: 990, 9000: 10}), timed("a", 2, {1000: 500, 50000: 500}), loads=("w",))
    entry = compare_many([one], metric="p99").rows[0].entries[0]
    assert entry is not None
    # The geometric mean of the rounds' 1 µs and 50 µs would be 7 µs.
    assert entry.typical == 50.0
    slower = compare_many([two_layouts()], metric="p90").rows[1].entries[0]
    assert slower is not None
    assert (slower.verdict, share_text(slower)) == (TOLD, "▲200 %")


def test_p90_and_p95_come_from_the_histogram_and_are_unknown_without_one() -> None:
    one = timed("a", 1, {1000: 93, 7000: 7})
    shown = {name: compare_many([result(one, loads=("w",))], metric=name).rows[0].entries[0] for name in ("p90", "p95")}
    assert {name: entry and entry.typical for name, entry in shown.items()} == {"p90": 1.0, "p95": 7.0}
    bare = result(msgspec.structs.replace(one, report=None), loads=("w",))
    entry = compare_many([bare], metric="p90").rows[0].entries[0]
    assert entry is not None
    assert entry.typical is None
    assert "p90" not in metrics_of(compare(bare))
    assert "p99" in metrics_of(compare(bare))


def test_the_slowest_direction_counts_and_a_sync_is_one() -> None:
    one = result(timed("a", 1, {1000: 100}, sync_us=700.0), loads=("w",))
    entry = compare_many([one], metric="p50").rows[0].entries[0]
    assert entry is not None
    assert entry.typical == 700.0


def test_less_latency_is_best_and_says_so() -> None:
    found = compare_many([two_layouts()], metric="p99")
    assert found.verdicts[0].best == ("a",)
    assert answer_lines(found)[0].startswith("a is best for w: 50 % below b (")
    few = compare_many([two_layouts(rounds=1)], metric="p99")
    assert answer_lines(few)[0] == "a has the lowest number for w: 50 % below b"


def test_an_older_result_is_better_where_the_newer_one_takes_longer() -> None:
    old, new = two_layouts(1.0), msgspec.structs.replace(two_layouts(1.0), run="20260201-120000-abcd9999")
    slow = [timed(one.layout, one.round, {3000 + one.round: 900, 90000: 100}) for one in new.cells]
    found = compare_many([old, msgspec.structs.replace(new, cells=tuple(slow))], metric="p50")
    assert [pair.way for pair in found.pairs] == ["worse", "worse"]
    assert all(pair.change is not None and pair.change > 1.9 for pair in found.pairs)
    same = compare_many([old, new], metric="p50")
    assert [pair.verdict for pair in same.pairs] == [NOT_TOLD, NOT_TOLD]


def test_cores_and_the_rate_of_each_are_those_of_the_table_of_cores() -> None:
    one = result(
        used(cell("a", "w", 1000), 2.0), used(cell("a", "w", 1200, round=2), 3.0), used(cell("b", "w", 900), 1.0),
        loads=("w",),
    )  # fmt: skip
    shown = {}
    for metric in ("cores", "per core"):
        found = compare_many([one], metric=metric)
        shown[metric] = [entry_words(row, 0, found.units[0]).split()[0] for row in found.rows]
    table = list(core_lines(compare(one)))
    assert shown["cores"] == [line[2] for line in table] == ["1.55", "0.05"]
    assert [f"{words} IOPS" for words in shown["per core"]] == [line[3] for line in table]


@pytest.mark.parametrize("metric", list(METRICS))
def test_a_metric_that_nothing_has_is_not_offered_and_makes_no_number(metric) -> None:
    bare = result(cell("a", "w", 1000), cell("b", "w", 900), loads=("w",))
    known = metrics_of(compare(bare))
    assert known == ["rate", "MB/s"]
    entries = [row.entries[0] for row in compare_many([bare], metric=metric).rows]
    assert all((entry is not None and entry.typical is not None) == (metric in (*known, "IOPS")) for entry in entries)


def test_a_curve_says_which_latency_a_share_exceeded() -> None:
    curve = curve_of({1000: 90, 5000: 9, 80000: 1})
    assert [time_at(curve, share) for share in (0.5, 0.1, 0.01)] == [1.0, 1.0, 5.0]
    assert time_at(curve, 0.001) is None
