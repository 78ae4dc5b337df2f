"""Operations times block size, and amount divided by time, against the bandwidth that stands beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from raidtui.model.table import Figure, Finding, Table
from raidtui.results.lint.cells import SLACK, base, by_cell, factor, number, of_metric, shown, where
from raidtui.results.published import Interval

SLIP_SLACK: Final = 0.0055
"""A slip is exact: only rounding and little else may lie between the number and what it should be."""


class Slip(NamedTuple):
    """A factor by which a number is wrong when units were mixed up, and the words for it."""

    factor: float
    words: str
    units: tuple[str, ...] = ()
    """Published units that the words are about; empty for any."""


SLIPS: Final = (
    Slip(1.024, "a number in GB/s was made MB/s by multiplying with 1024 instead of 1000", ("MB/s",)),
    Slip(1 / 1.024, "KiB/s were made MB/s by dividing by 1000", ("MB/s",)),
    Slip(1 / 1.048576, "it is MiB/s (2²⁰ bytes), not MB/s (10⁶ bytes)", ("MB/s",)),
    Slip(1.048576, "it is MB/s (10⁶ bytes), not MiB/s (2²⁰ bytes)", ("MiB/s",)),
    Slip(1 / 1.073741824, "it is GiB/s (2³⁰ bytes), not GB/s (10⁹ bytes)", ("GB/s",)),
    Slip(1.073741824, "it is GB/s (10⁹ bytes), not GiB/s (2³⁰ bytes)", ("GiB/s",)),
    Slip(1.048576**2, "MB/s (10⁶ bytes) and MiB/s (2²⁰ bytes) were exchanged", ("MB/s", "MiB/s")),
    Slip(1.048576**-2, "MB/s (10⁶ bytes) and MiB/s (2²⁰ bytes) were exchanged", ("MB/s", "MiB/s")),
    Slip(8, "bits were taken for bytes"),
    Slip(1 / 8, "bytes were taken for bits"),
    Slip(1000, "it is off by a factor of 1000"),
    Slip(1 / 1000, "it is off by a factor of 1000"),
    Slip(1024, "it is off by a factor of 1024"),
    Slip(1 / 1024, "it is off by a factor of 1024"),
)


def check(table: Table) -> Iterator[Finding]:
    """`iops-bandwidth` and `unit-slip`, one for each bandwidth that contradicts its cell."""
    for key, figures in by_cell(table).items():
        asked = table.workloads.get(key.workload)
        block = asked.block_bytes if asked is not None else None
        for bandwidth in of_metric(figures, "bandwidth"):
            for expected, from_what in _expectations(figures, bandwidth, block):
                if (finding := _judged(table, bandwidth, expected, from_what)) is not None:
                    yield finding
                    break
    yield from _request_sizes(table)


def slip_of(published: Interval, expected: Interval, exact: float, unit: str = "") -> Slip | None:
    """The slip that makes one of the other; `exact` is the published value, whose rounding before it slipped counts too.

    Of several, one that is about the published unit.
    """
    for slip in sorted(SLIPS, key=lambda slip: bool(slip.units) and unit not in slip.units):
        before = exact / slip.factor
        wide = max((published.high - published.low) / 2 / slip.factor, _hidden_half_step(before))
        low, high = (before - wide) * (1 - SLIP_SLACK), (before + wide) * (1 + SLIP_SLACK)
        if Interval(low, high).gap(expected) == 0:
            return slip
    return None


def _expectations(figures: Sequence[Figure], bandwidth: Figure, block: int | None) -> Iterator[tuple[Interval, str]]:
    """What the bandwidth should be in bytes per second, and from what."""
    if block:
        counted = list(of_metric(figures, "iops"))
        # Where a cell was published more than once, numbers of one line belong together.
        for iops in [f for f in counted if f.place == bandwidth.place] or counted:
            yield base(iops).times(block), f"{shown(iops)} of {block:,} bytes"
    amounts = [f for f in of_metric(figures, "amount") if f.unit != "operations" and f.place == bandwidth.place]
    times = [f for f in of_metric(figures, "time") if f.place == bandwidth.place]
    if amounts and times and (rate := base(amounts[0]).over(base(times[0]))) is not None:
        yield rate, f"{shown(amounts[0])} in {shown(times[0])}"
    for other in of_metric(figures, "bandwidth"):
        if other is bandwidth:
            break
        if other.unit != bandwidth.unit and other.place == bandwidth.place:
            yield base(other), f"the {shown(other)} beside it"


def _judged(table: Table, bandwidth: Figure, expected: Interval, from_what: str) -> Finding | None:
    published = base(bandwidth)
    room = Interval(expected.low * (1 - SLACK), expected.high * (1 + SLACK))
    if published.gap(room) == 0:
        return None
    scale = factor(bandwidth.unit)
    middle = (expected.low + expected.high) / 2 / scale
    sentence = f"{from_what} are {number(middle)} {bandwidth.unit}, not {shown(bandwidth)}"
    in_unit = expected.times(1 / scale)
    slip = slip_of(published.times(1 / scale), in_unit, bandwidth.value, bandwidth.unit)
    code = "unit-slip" if slip else "iops-bandwidth"
    return Finding(code, where(table, bandwidth), f"{sentence}{': ' + slip.words if slip else ''}.", bandwidth.value,
                   _rounded(middle))  # fmt: skip


def _request_sizes(table: Table) -> Iterator[Finding]:
    """iostat's mean request size, which is over both directions of one line."""
    rows: dict[tuple[str, str, int, str], list[Figure]] = {}
    for figure in table.figures:
        rows.setdefault((figure.layout, figure.workload, figure.round, figure.place), []).append(figure)
    for row in rows.values():
        for size in list(of_metric(row, "request-size"))[:1]:
            moved, done = _sum(of_metric(row, "bandwidth")), _sum(of_metric(row, "iops"))
            if size.direction or moved is None or done is None or moved.low <= 0:
                continue
            expected = Interval(base(size).low * done.low, base(size).high * done.high)
            if moved.gap(Interval(expected.low * (1 - SLACK), expected.high * (1 + SLACK))) > 0:
                mean = (moved.low + moved.high) / (done.low + done.high) / factor(size.unit)
                yield Finding("iops-bandwidth", where(table, size),
                              f"{number(mean)} {size.unit} were moved by each operation, not {shown(size)}.",
                              size.value, _rounded(mean))  # fmt: skip


def _sum(figures: Iterable[Figure]) -> Interval | None:
    found = [base(figure) for figure in figures]
    return Interval(sum(f.low for f in found), sum(f.high for f in found)) if found else None


def _hidden_half_step(before: float) -> float:
    """Half the last digit that counts of a number that has few: 10,200 before its slip stands for 10,150 to 10,250."""
    digits = f"{before:.6g}"
    whole = digits.partition(".")[0]
    if "e" in digits or "." in digits or not whole.endswith("0"):
        return 0.0
    zeros = len(whole) - len(whole.rstrip("0"))
    return float(min(0.5 * 10.0 ** min(zeros, len(whole) - 2), before * 0.006))


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


CHECK = check
