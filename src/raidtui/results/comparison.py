"""Comparison: layouts × workloads with typical rounds, intervals, verdicts and notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from raidtui.model.measure import Latency
from raidtui.results.accounting import Account
from raidtui.results.extract import Point
from raidtui.results.notes import Confounder
from raidtui.results.rates import LESS_IS_BETTER, Unit

TOLD: Final = "different"
NOT_TOLD: Final = "not told apart"
TOO_FEW: Final = "too few rounds"
"""The verdicts about two sets of rounds."""


class Noted(msgspec.Struct, frozen=True, gc=False):
    """A mark that valid cells of an entry have."""

    code: str
    sentence: str
    """Figures of the first cell; they differ from cell to cell."""
    weight: str
    cells: int
    """Number of cells that have it."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One layout under one workload, over all rounds. Invalid cells are counted but never enter a number."""

    median: float | None
    """Operations or bytes per second, or percent, by the workload's unit; None without a valid cell."""
    low: float | None
    high: float | None
    of_baseline: float | None
    """Share of the baseline's typical round (1.0 is equal); None for the baseline itself and without one."""
    valid: int
    cells: int
    reasons: tuple[str, ...]
    """Reasons of invalid cells, each once."""
    interval_low: float | None = None
    """95 % confidence interval of the geometric mean (`typical`); None for fewer than two valid rounds, or one of 0."""
    interval_high: float | None = None
    verdict: str = ""
    """Against the baseline: `different`, `not told apart` or `too few rounds`; empty where there is no share."""
    share_low: float | None = None
    """95 % confidence interval of the share of the baseline: that of the geometric means of the rounds."""
    share_high: float | None = None
    rank_p: float | None = None
    """Mann-Whitney's p of the rounds, exact."""
    p: float | None = None
    """Welch's p on logarithms, corrected (Holm) for all comparisons of the table."""
    latency: dict[str, Latency] = {}
    """Latency by direction, over all valid rounds: percentiles of the merged histograms, never averages of percentiles."""
    marks: tuple[Noted, ...] = ()
    """Marks of its valid cells, each code once."""
    points: tuple[Point, ...] = ()
    """The cells, in the order in which they were measured."""
    typical: float | None = None
    """The number that is shown: geometric mean of the valid rounds, or their median where one is 0. Unit as of `median`."""
    again: tuple[Point, ...] = ()
    """Cells on the second building of a layout that is measured against itself: for the noise floor alone."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """One layout, or one disk of a layout that is measured disk by disk."""

    label: str
    entries: tuple[Entry | None, ...]
    """Entries by workload, in the comparison's order; None if nothing was measured."""
    failed: str = ""
    """Reason why the layout could not be built."""
    source: int = 1
    """Number of the result that it is from, counted from 1."""
    geometric_mean: float | None = None
    """Geometric mean of the shares of the baseline; None for the baseline itself and without shares."""
    shares: int = 0
    """Number of workloads in that mean."""
    confounders: tuple[Confounder, ...] = ()
    """Unintended differences from the baseline."""
    bare: str = ""
    """`each` or `together` where it is bare disks, measured so; `nothing` for null devices and exports of them; empty for
    every other layout."""


class Source(msgspec.Struct, frozen=True):
    """One of the results that are compared."""

    run: str
    scenario: str
    title: str
    host: str
    started: str
    rehearsal: bool
    complete: bool
    cells: int
    valid: int


class Pair(msgspec.Struct, frozen=True):
    """One layout under one workload in an older and a newer result of the same scenario."""

    layout: str
    workload: str
    unit: Unit
    old: float | None
    """Typical round, in operations or bytes per second, or percent; None without a valid cell."""
    new: float | None
    old_rounds: int
    new_rounds: int
    change: float | None = None
    """New ÷ old - 1: 0.05 is 5 % more."""
    low: float | None = None
    """95 % confidence interval of the change."""
    high: float | None = None
    p: float | None = None
    """Welch's p on logarithms, corrected (Holm) for all pairs."""
    verdict: str = ""
    """`different`, `not told apart`, `too few rounds`; empty without a change."""
    why: str = ""
    """Reason why there is no change."""
    confounders: tuple[Confounder, ...] = ()
    """Unintended differences between the two; `baseline` is the value in old."""
    labels: tuple[str, str] = ("", "")
    """Labels of the rows of old and new; empty where there is none."""

    @property
    def way(self) -> Literal["better", "worse", ""]:
        """`better` or `worse` where new is told apart from old; else empty."""
        if self.verdict != TOLD or not self.gain:
            return ""
        return "better" if self.gain > 0 else "worse"

    @property
    def gain(self) -> float | None:
        """The change; with the other sign where less is better. None without a change."""
        return -self.change if self.change is not None and self.unit in LESS_IS_BETTER else self.change


class Verdict(msgspec.Struct, frozen=True):
    """The best layout under one workload, and how sure that is."""

    workload: str
    best: tuple[str, ...] = ()
    """Label of the layout with the best number, then of those not told apart from it; empty without a number."""
    sure: Literal["told apart", "not told apart", "too few rounds", "alone", ""] = ""
    """`told apart`: from all others; `alone`: no other layout has a number; empty without a number."""
    second: str = ""
    """Label of the layout with the second best number."""
    ahead: float | None = None
    """Best ÷ second - 1: 0.12 is 12 % above it, -0.12 is 12 % below it."""
    low: float | None = None
    """95 % confidence interval of `ahead`; None for fewer than two rounds."""
    high: float | None = None
    p: float | None = None
    """Largest p of the layouts that the best is told apart from (Welch on logarithms, Holm over all pairs of layouts)."""
    beaten: tuple[str, ...] = ()
    """Labels that the best is told apart from."""
    unjudged: tuple[str, ...] = ()
    """Labels with too few rounds."""
    rounds: int = 0
    """Most rounds that one of the layouts has."""
    invalid: tuple[str, ...] = ()
    """Labels that were measured, but have no valid cell."""
    missing: tuple[str, ...] = ()
    """Labels that were not built, or not measured under this workload, though other layouts of their result were."""
    confounders: tuple[str, ...] = ()
    """Facts in which the best differs from another layout without intention; `date` for days of measuring."""

    @property
    def extreme(self) -> Literal["highest", "lowest"]:
        """`lowest` where less is better."""
        return "lowest" if self.ahead is not None and self.ahead < 0 else "highest"


class SweepPoint(msgspec.Struct, frozen=True, gc=False):
    """One combination of a sweep on one layout."""

    column: int
    """Place of its workload in `Comparison.workloads`."""
    numjobs: int
    iodepth: int
    in_flight: int
    """Jobs × queue depth, on one device."""
    iops: float | None
    """Typical round, all directions together; None without a valid cell."""
    mean_us: float | None
    """Mean latency of the slowest direction over all valid rounds."""
    p99_us: float | None


class Curve(msgspec.Struct, frozen=True, gc=False):
    """One layout under a sweep, with one block size."""

    label: str
    """Label of the row."""
    bs: str
    points: tuple[SweepPoint, ...]
    """In the order of what is in flight."""
    knee: int | None
    """Place of the fewest in flight with at least 90 % of the best rate; None if only the most in flight has them."""


class Sweep(msgspec.Struct, frozen=True, gc=False):
    """One sweep: its curves by row and block size."""

    name: str
    curves: tuple[Curve, ...]


class Comparison(msgspec.Struct, frozen=True):
    workloads: tuple[str, ...]
    units: tuple[Unit, ...]
    rows: tuple[Row, ...]
    baseline: str
    """Label of the row that shares refer to, or empty."""
    sources: tuple[Source, ...] = ()
    """The results, in the order in which they were given."""
    notes: tuple[str, ...] = ()
    """Notes to know before believing the shares: a rehearsal, different servers."""
    noise_floors: tuple[float | None, ...] = ()
    """Difference of repeated measurements in one run, by workload (0.02 is 2 %); None without any.

    The same are two layouts of one definition, and a layout that was built and measured twice in every round.
    """
    same: tuple[tuple[str, str], ...] = ()
    """Pairs of repeated measurements."""
    accounts: tuple[Account, ...] = ()
    """Accounts of all valid cells that are kept whole: the ceiling of their bare disks, the reached share, and the limit.
    """

    pairs: tuple[Pair, ...] = ()
    """Old against new; empty unless exactly two results of one scenario are compared without a chosen baseline."""
    verdicts: tuple[Verdict, ...] = ()
    """The best layout of each workload. Bare disks take part only where there is nothing else."""
    sweeps: tuple[Sweep, ...] = ()

    def columns(self) -> Iterator[tuple[int, str, Unit]]:
        """Yield index, workload and unit of every column."""
        for index, (workload, unit) in enumerate(zip(self.workloads, self.units, strict=True)):
            yield index, workload, unit

    def measured(self, index: int) -> Iterator[tuple[Row, Entry]]:
        """Yield the rows that were measured under the workload of this column, with their entries."""
        return ((row, entry) for row in self.rows if (entry := row.entries[index]) is not None)


def without_curves(comparison: Comparison) -> Comparison:
    """The same without workloads of sweeps of which all layouts have a rate and a latency: curves have their numbers."""
    points = [point for sweep in comparison.sweeps for curve in sweep.curves for point in curve.points]
    drawn = {one.column for one in points} - {one.column for one in points if one.iops is None or not one.mean_us}
    kept = [index for index in range(len(comparison.workloads)) if index not in drawn]
    replace = msgspec.structs.replace
    rows = tuple(replace(row, entries=tuple(row.entries[index] for index in kept)) for row in comparison.rows)
    workloads = tuple(comparison.workloads[index] for index in kept)
    units = tuple(comparison.units[index] for index in kept)
    return replace(comparison, workloads=workloads, units=units, rows=rows, sweeps=())


def without_cells(comparison: Comparison) -> Comparison:
    """The same numbers; `points` and `again` of every entry are empty."""
    replace = msgspec.structs.replace
    rows = tuple(
        replace(row, entries=tuple(None if entry is None else replace(entry, points=(), again=()) for entry in row.entries))
        for row in comparison.rows
    )
    return replace(comparison, rows=rows)
