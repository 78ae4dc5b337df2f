"""Check of rates: operations × block size and amount ÷ time against bandwidth, and columns with a wrong factor of 1024."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Final, NamedTuple

from raidtui.foreign.lint.figures import (
    SLACK,
    CellKey,
    base,
    block_sizes,
    by_cell,
    decimals_step,
    factor,
    implied_sizes,
    number,
    of_metric,
    shown,
    where,
)
from raidtui.foreign.published import Interval, interval, printed_interval
from raidtui.model import findings
from raidtui.model.table import Figure, Finding, Table, Unit

SLIP_SLACK: Final = 0.0055
"""A slip is exact: only rounding and little else may lie between the number and what it should be."""
MOST_SIZES: Final = 3
"""Request sizes of one line: of reads, of writes and of what is discarded."""


class Slip(NamedTuple):
    """A factor by which a number is wrong when units were mixed up, and the words for it."""

    factor: float
    words: str
    units: tuple[str, ...] = ()
    """Published units that the words are about; empty for any."""


SLIPS: Final = (
    Slip(1.024, "a number in GB/s was made MB/s by multiplying with 1024 instead of 1000", ("MB/s",)),
    Slip(1.024, "MiB/s were made GiB/s by dividing by 1000 instead of 1024", ("GiB/s",)),
    Slip(1 / 1.048576, "it is MiB/s (2²⁰ bytes), not MB/s (10⁶ bytes)", ("MB/s",)),
    Slip(1 / 1.024, "KiB/s were made MB/s by dividing by 1000", ("MB/s",)),
    Slip(1 / 1.024, "it is KiB/s (1024 bytes), not kB/s (1000 bytes)", ("kB/s",)),
    Slip(1.024, "it is kB/s (1000 bytes), not KiB/s (1024 bytes)", ("KiB/s",)),
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


def check_rates(table: Table) -> Iterator[Finding]:
    """`iops-bandwidth` and `unit-slip`, one for each bandwidth that contradicts its cell."""
    sizes = {key: block_sizes(table, key) for key in table.workloads}
    implied = implied_sizes(table, sizes)
    for key, figures in by_cell(table).items():
        blocks = sizes.get(key.workload) or ((implied[key],) if key in implied else ())
        for bandwidth in of_metric(figures, "bandwidth"):
            why = ", like all others of their kind," if key in implied else ""
            yield from _contradicted(table, figures, bandwidth, blocks, why)
    yield from _request_sizes(table)
    yield from _one_at_a_time(table)


def _contradicted(
    table: Table, figures: Sequence[Figure], bandwidth: Figure, blocks: Sequence[int], why: str
) -> Iterator[Finding]:
    """At most one finding: by its operations, else by amount and time, else by the same rate in another unit.

    What follows from one of several (two block sizes that were said, a cell that was published twice) is right.
    """
    expected = [(rate, from_what + why) for rate, from_what in _by_operations(table, figures, bandwidth, blocks)]
    expected = expected or list(_by_others(table, figures, bandwidth))
    findings = [_judged(table, bandwidth, rate, from_what) for rate, from_what in expected]
    if findings and None not in findings and not _told_already(figures, bandwidth):
        yield from (finding for finding in findings[:1] if finding is not None)


def _told_already(figures: Sequence[Figure], bandwidth: Figure) -> bool:
    """Return True if the same wrong rate was given in another unit before."""
    before = takewhile(lambda figure: figure is not bandwidth, of_metric(figures, "bandwidth"))
    others = (one for one in before if one.place == bandwidth.place and one.unit != bandwidth.unit)
    return any(base(one).gap(base(bandwidth)) == 0 for one in others)


def slip_of(published: Interval, expected: Interval, exact: float, unit: str = "") -> Slip | None:
    """The slip that makes one of the other; `exact` is the published value, whose rounding before it slipped counts too.

    Of several, one that is about the published unit; words about other units would be wrong.
    """
    for slip in sorted(SLIPS, key=lambda slip: bool(slip.units) and unit not in slip.units):
        before = exact / slip.factor
        wide = max((published.high - published.low) / 2 / slip.factor, _hidden_half_step(before))
        low, high = (before - wide) * (1 - SLIP_SLACK), (before + wide) * (1 + SLIP_SLACK)
        if Interval(low, high).gap(expected) == 0:
            other = bool(slip.units) and unit not in slip.units
            apart = f"it is off by a factor of {max(slip.factor, 1 / slip.factor):.4g}, which lies between two units"
            return slip._replace(words=apart) if other else slip
    return None


def _by_operations(
    table: Table, figures: Sequence[Figure], bandwidth: Figure, blocks: Sequence[int]
) -> Iterator[tuple[Interval, str]]:
    """Return the expected bandwidth in bytes per second, and its derivation."""
    # Where a cell was published more than once, numbers of one line belong together, and numbers of one rank.
    counted = list(of_metric(figures, "iops"))
    counted = [figure for figure in counted if figure.place == bandwidth.place] or counted
    alike = [f for f in of_metric(figures, "bandwidth") if (f.unit, f.place) == (bandwidth.unit, bandwidth.place)]
    if 1 < len(counted) == len(alike):
        counted = [iops for iops, one in zip(counted, alike, strict=True) if one is bandwidth]
    for block in blocks:
        for iops in counted:
            yield _stands_for(table, iops).times(block), f"{shown(iops)} of {block:,} bytes"


def _by_others(table: Table, figures: Sequence[Figure], bandwidth: Figure) -> Iterator[tuple[Interval, str]]:
    """The same without operations."""
    amounts = [f for f in of_metric(figures, "amount") if f.unit != "operations" and f.place == bandwidth.place]
    times = [f for f in of_metric(figures, "time") if f.place == bandwidth.place]
    if amounts and times and (rate := base(amounts[0]).over(base(times[0]))) is not None:
        yield rate, f"{shown(amounts[0])} in {shown(times[0])}"
        return
    for other in of_metric(figures, "bandwidth"):
        if other is bandwidth:
            break
        if other.unit != bandwidth.unit and other.place == bandwidth.place:
            yield _stands_for(table, other), f"the {shown(other)} beside it"
            return


def _stands_for(table: Table, figure: Figure) -> Interval:
    """Return the rate in bytes per second or operations per second."""
    found = printed_interval(figure) if table.kind == "printed" else interval(figure)
    return found.times(factor(figure.unit))


def _judged(table: Table, bandwidth: Figure, expected: Interval, from_what: str) -> Finding | None:
    published = _stands_for(table, bandwidth)
    room = Interval(expected.low * (1 - SLACK), expected.high * (1 + SLACK))
    if published.gap(room) == 0:
        return None
    scale = factor(bandwidth.unit)
    middle = (expected.low + expected.high) / 2 / scale
    sentence = f"{from_what} are {number(middle)} {bandwidth.unit}, not {shown(bandwidth)}"
    in_unit = expected.times(1 / scale)
    slip = slip_of(published.times(1 / scale), in_unit, bandwidth.value, bandwidth.unit)
    code = findings.UNIT_SLIP.code if slip else findings.IOPS_BANDWIDTH.code
    return Finding(code, where(table, bandwidth), f"{sentence}{': ' + slip.words if slip else ''}.", bandwidth.value,
                   _rounded(middle))  # fmt: skip


def _request_sizes(table: Table) -> Iterator[Finding]:
    """iostat's mean request sizes: of one direction, or over both of one line."""
    rows: dict[tuple[str, str, int, str], list[Figure]] = {}
    for figure in table.figures:
        rows.setdefault((figure.layout, figure.workload, figure.round, figure.place), []).append(figure)
    for row in rows.values():
        for size in islice(of_metric(row, "request-size"), MOST_SIZES):
            own = [figure for figure in row if not size.direction or figure.direction == size.direction]
            moved, done = _sum(of_metric(own, "bandwidth")), _sum(of_metric(own, "iops"))
            if moved is None or done is None or moved.low <= 0 or done.low + done.high <= 0:
                continue
            expected = Interval(base(size).low * done.low, base(size).high * done.high)
            if moved.gap(Interval(expected.low * (1 - SLACK), expected.high * (1 + SLACK))) > 0:
                mean = (moved.low + moved.high) / (done.low + done.high) / factor(size.unit)
                yield Finding(findings.IOPS_BANDWIDTH.code, where(table, size),
                              f"{number(mean)} {size.unit} were moved by each operation, not {shown(size)}.",
                              size.value, _rounded(mean))  # fmt: skip


def _one_at_a_time(table: Table) -> Iterator[Finding]:
    """pg_test_fsync's operations per second and the time of each, which are one number told twice."""
    own = {key for key, asked in table.workloads.items() if asked.command == "pg_test_fsync"}
    cells = by_cell(table).items() if own else ()
    for key, figures in cells:
        for iops in of_metric(figures, "iops") if key.workload in own else ():
            for latency in (f for f in of_metric(figures, "latency") if f.place == iops.place):
                expected = Interval(1.0, 1.0).over(base(iops))
                if expected is None:
                    continue
                if base(latency).gap(Interval(expected.low * (1 - SLACK), expected.high * (1 + SLACK))):
                    mean = (expected.low + expected.high) / 2 / factor(latency.unit)
                    yield Finding(findings.IOPS_BANDWIDTH.code, where(table, latency),
                                  f"{shown(iops)} one after another take {number(mean)} {latency.unit} each, not "
                                  f"{shown(latency)}.", latency.value, _rounded(mean))  # fmt: skip


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


SMALLEST: Final = 1000.0
STEP: Final = 51.2
"""Tools print GB/s with one or two digits behind the point: half of a tenth, times 1024."""
CHANCE: Final = 0.002
FEWEST: Final = 2
"""One such number alone is right as often: 300,000 operations of 4 KiB are 1228.8 MB/s."""
_LARGER: Final[dict[Unit, str]] = {"MB/s": "GB/s", "kB/s": "MB/s"}


def check_columns(table: Table) -> Iterator[Finding]:
    """`unit-slip` for bandwidths that have no operations beside them to tell by."""
    operations = _operations(table)
    for unit, larger in _LARGER.items():
        column = [figure for figure in of_metric(table.figures, "bandwidth") if figure.unit == unit]
        sums = _sums(column)
        right = {
            id(figure)
            for figure in column
            if any(_confirmed(figure, expected.get(_cell(figure))) for expected in (operations, sums))
        }
        for figure in _suspicious(column, right):
            if _cell(figure) not in operations:
                before = round(figure.value / 1.024, 6)
                yield Finding(
                    findings.UNIT_SLIP.code, where(table, figure),
                    f"{shown(figure)} are {before / 1000:g} × 1024, as are all of the largest numbers here: {larger} were "
                    f"made {unit} by multiplying with 1024; it should be {before:,.0f} {unit}.", figure.value, before,
                )  # fmt: skip


def _suspicious(column: Sequence[Figure], right: set[int]) -> list[Figure]:
    """The largest figures, as long as they are multiples of the step; none where chance may have done it."""
    falling = sorted((f for f in column if f.value >= SMALLEST), key=lambda f: -f.value)
    top = list(takewhile(lambda f: id(f) not in right and _is_multiple(f.value), falling))
    if not top:
        return []
    rest = falling[len(top) :]
    step = decimals_step(rest or top)
    different = len({figure.value for figure in top})
    return top if different >= FEWEST and (step / STEP) ** different <= CHANCE else []


def _is_multiple(value: float) -> bool:
    ratio = value / STEP
    return abs(ratio - round(ratio)) < 1e-6 * max(1.0, ratio)


def _cell(figure: Figure) -> CellKey:
    return CellKey(figure.layout, figure.workload, figure.round, figure.direction)


def _operations(table: Table) -> dict[CellKey, Interval]:
    """Bytes per second of each cell whose operations and block size are known."""
    found: dict[CellKey, Interval] = {}
    sizes = {key: block_sizes(table, key) for key in table.workloads}
    for figure in of_metric(table.figures, "iops"):
        for size in sizes.get(figure.workload, ())[:1]:
            found[_cell(figure)] = base(figure).times(size)
    return found


def _sums(column: Sequence[Figure]) -> dict[CellKey, Interval]:
    """Bytes per second of reads and writes together, of cells that tell both."""
    parts: dict[CellKey, dict[str, Interval]] = {}
    for figure in column:
        if figure.direction:
            parts.setdefault(_cell(figure)._replace(direction=""), {}).setdefault(figure.direction, base(figure))
    return {
        key: Interval(sum(one.low for one in found.values()), sum(one.high for one in found.values()))
        for key, found in parts.items()
        if len(found) > 1
    }


def _confirmed(figure: Figure, expected: Interval | None) -> bool:
    """Return True if the operations beside it confirm the number."""
    return expected is not None and not base(figure).gap(Interval(expected.low * (1 - SLACK), expected.high * (1 + SLACK)))
