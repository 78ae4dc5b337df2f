"""Check of rates: operations × block size and amount ÷ time against bandwidth, and columns with a wrong factor of 1024."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Final, NamedTuple

from raidtui.base.text import named
from raidtui.foreign.lint.figures import (
    SLACK,
    STEP,
    CellKey,
    base,
    block_sizes,
    by_cell,
    cell_of,
    decimals_step,
    factor,
    found,
    implied_sizes,
    is_multiple,
    layout_label,
    number,
    of_metric,
    rounded,
    shown,
    workload_label,
)
from raidtui.foreign.published import Interval, interval, printed_interval
from raidtui.model import findings
from raidtui.model.table import Figure, Finding, Table, Unit

SLIP_SLACK: Final = 0.0055
"""A slip is exact: only rounding and little else may lie between the number and what it should be."""
CONTRADICTED: Final = "numbers contradict those beside them"
_MOST_NAMES: Final = 4
FEW_ODD: Final = 8
"""So many numbers without any difference have to stand against each one that has a small one."""
MOST_SIZES: Final = 3
"""Request sizes of one line: of reads, of writes and of what is discarded."""


class Slip(NamedTuple):
    """A factor by which a number is wrong when units were mixed up, and the words for it."""

    factor: float
    words: str
    units: tuple[str, ...] = ()
    """Published units that the words are about; empty for any."""

    def kind(self, of: str) -> str:
        """Return the words for all numbers `of` a unit and place: `MB/s of rand-read`."""
        if self.words.startswith("it is "):
            return f"numbers in {of} are {self.words.removeprefix('it is ')}"
        return f"numbers in {of} slipped: {self.words}"


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
    judged: list[tuple[Figure, Judged]] = []
    compared: list[Compared] = []
    for key, figures in by_cell(table).items():
        blocks = sizes.get(key.workload) or ((implied[key],) if key in implied else ())
        for bandwidth in of_metric(figures, "bandwidth"):
            why = ", like all others of their kind," if key in implied else ""
            judged += ((bandwidth, one) for one in _contradicted(table, figures, bandwidth, blocks, why))
            compared.append(Compared(bandwidth, list(_by_operations(table, figures, bandwidth, blocks))))
    yield from _told(table, [*judged, *_odd_ones(table, compared)])
    yield from _request_sizes(table)
    yield from _one_at_a_time(table)


class Judged(NamedTuple):
    """A bandwidth that differs from what follows from other numbers."""

    sentence: str
    expected: float
    """In the unit of the bandwidth."""
    slip: Slip | None


class Compared(NamedTuple):
    """A bandwidth beside what follows from its operations."""

    figure: Figure
    expected: list[tuple[Interval, str]]
    """In bytes per second, with the derivation; several if it may follow from one of them."""


def _odd_ones(table: Table, compared: Sequence[Compared]) -> Iterator[tuple[Figure, Judged]]:
    """Yield numbers that differ by less than measuring may (`SLACK`), where all but few of their unit have no difference.

    In such a table bandwidth was computed from operations: what differs at all was mistyped.
    """
    for unit in dict.fromkeys(one.figure.unit for one in compared):
        known = [one for one in compared if one.figure.unit == unit and one.expected]
        odd = [one for one in known if all(_stands_for(table, one.figure).gap(rate) for rate, _ in one.expected)]
        near = [one for one in odd if any(_is_near(table, one.figure, rate) for rate, _ in one.expected)]
        if len(odd) * FEW_ODD <= len(known) - len(odd):
            for one in near:
                rate, from_what = one.expected[0]
                middle = rate.middle / factor(unit)
                sentence = (f"{from_what} are {number(middle)} {unit}, not {shown(one.figure)}; "
                            f"{len(known) - len(odd)} others agree to the last digit")  # fmt: skip
                yield one.figure, Judged(sentence, rounded(middle), None)


def _is_near(table: Table, figure: Figure, rate: Interval) -> bool:
    return _stands_for(table, figure).gap(rate.widened(SLACK)) == 0


def _told(table: Table, judged: Iterable[tuple[Figure, Judged]]) -> Iterator[Finding]:
    """Yield the findings. Those of one slip have one kind, which says where all numbers slipped."""
    slipped: dict[tuple[str, str], list[Figure]] = {}
    judged = list(judged)
    for figure, one in judged:
        if one.slip is not None:
            slipped.setdefault((one.slip.words, figure.unit), []).append(figure)
    scopes = {key: _scope(table, figures) for key, figures in slipped.items()}
    for figure, one in judged:
        if one.slip is None:
            yield found(findings.IOPS_BANDWIDTH, table, figure, f"{one.sentence}.", one.expected, CONTRADICTED)
        else:
            where, among = scopes[one.slip.words, figure.unit]
            yield found(findings.UNIT_SLIP, table, figure, f"{one.sentence}: {one.slip.words}.", one.expected,
                        one.slip.kind(figure.unit + where), f"{one.sentence}.", among)  # fmt: skip


def _scope(table: Table, wrong: Sequence[Figure]) -> tuple[str, int]:
    """Return the workloads, or else the layouts, whose numbers of this unit all are wrong, and the number of these.

    The words are empty if all numbers of the table are, or if it is neither; then the number is that of the table.
    """
    column = [figure for figure in of_metric(table.figures, "bandwidth") if figure.unit == wrong[0].unit]
    workloads, layouts = {figure.workload for figure in wrong}, {figure.layout for figure in wrong}
    if len(wrong) < len(column):
        if sum(figure.workload in workloads for figure in column) == len(wrong):
            labels = dict.fromkeys(workload_label(table, figure.workload) for figure in wrong)
            return f" of {named(list(labels), _MOST_NAMES)}", len(wrong)
        if sum(figure.layout in layouts for figure in column) == len(wrong):
            labels = dict.fromkeys(layout_label(table, figure.layout) for figure in wrong)
            return f" of {named(list(labels), _MOST_NAMES)}", len(wrong)
    return "", len(column)


def _contradicted(
    table: Table, figures: Sequence[Figure], bandwidth: Figure, blocks: Sequence[int], why: str
) -> Iterator[Judged]:
    """At most one: by its operations, else by amount and time, else by the same rate in another unit.

    What follows from one of several (two block sizes that were said, a cell that was published twice) is right.
    """
    expected = [(rate, from_what + why) for rate, from_what in _by_operations(table, figures, bandwidth, blocks)]
    expected = expected or list(_by_others(table, figures, bandwidth))
    judged = [_judged(table, bandwidth, rate, from_what) for rate, from_what in expected]
    if judged and None not in judged and not _told_already(figures, bandwidth):
        yield from (finding for finding in judged[:1] if finding is not None)


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
    """Return the expected bandwidth by amount and time, or by the same rate in another unit."""
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
    return (printed_interval(figure) if table.kind == "printed" else interval(figure)).times(factor(figure.unit))


def _judged(table: Table, bandwidth: Figure, expected: Interval, from_what: str) -> Judged | None:
    published = _stands_for(table, bandwidth)
    if published.gap(expected.widened(SLACK)) == 0:
        return None
    scale = factor(bandwidth.unit)
    middle = expected.middle / scale
    sentence = f"{from_what} are {number(middle)} {bandwidth.unit}, not {shown(bandwidth)}"
    slip = slip_of(published.times(1 / scale), expected.times(1 / scale), bandwidth.value, bandwidth.unit)
    return Judged(sentence, rounded(middle), slip)


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
            if moved.gap(expected.widened(SLACK)) > 0:
                mean = moved.middle / done.middle / factor(size.unit)
                sentence = f"{number(mean)} {size.unit} were moved by each operation, not {shown(size)}."
                yield found(findings.IOPS_BANDWIDTH, table, size, sentence, rounded(mean), CONTRADICTED)


def _one_at_a_time(table: Table) -> Iterator[Finding]:
    """pg_test_fsync's operations per second and the time of each, which are one number told twice."""
    own = {key for key, asked in table.workloads.items() if asked.command == "pg_test_fsync"}
    cells = by_cell(table).items() if own else ()
    for key, figures in cells:
        for iops in of_metric(figures, "iops") if key.workload in own else ():
            for latency in (f for f in of_metric(figures, "latency") if f.place == iops.place):
                expected = Interval(1.0, 1.0).over(base(iops))
                if expected is not None and base(latency).gap(expected.widened(SLACK)):
                    mean = expected.middle / factor(latency.unit)
                    each = f"{number(mean)} {latency.unit} each, not {shown(latency)}"
                    sentence = f"{shown(iops)} one after another take {each}."
                    yield found(findings.IOPS_BANDWIDTH, table, latency, sentence, rounded(mean), CONTRADICTED)


def _sum(figures: Iterable[Figure]) -> Interval | None:
    parts = [base(figure) for figure in figures]
    return Interval(sum(part.low for part in parts), sum(part.high for part in parts)) if parts else None


def _hidden_half_step(before: float) -> float:
    """Half the last digit that counts of a number that has few: 10,200 before its slip stands for 10,150 to 10,250."""
    digits = f"{before:.6g}"
    whole = digits.partition(".")[0]
    if "e" in digits or "." in digits or not whole.endswith("0"):
        return 0.0
    zeros = len(whole) - len(whole.rstrip("0"))
    return float(min(0.5 * 10.0 ** min(zeros, len(whole) - 2), before * 0.006))


SMALLEST: Final = 1000.0
CHANCE: Final = 0.002
FEWEST: Final = 2
"""A single such number may be right: 300,000 operations of 4 KiB are 1228.8 MB/s."""
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
            for expected in (operations.get(cell_of(figure)), sums.get(cell_of(figure)))
            if expected is not None and not base(figure).gap(expected.widened(SLACK))
        }
        for figure in _suspicious(column, right):
            if cell_of(figure) not in operations:
                before = round(figure.value / 1.024, 6)
                how = f"{larger} were made {unit} by multiplying with 1024"
                told, right_one = f"{shown(figure)} are {before / 1000:g} × 1024", f"it should be {before:,.0f} {unit}."
                sentence = f"{told}, as are all of the largest numbers here: {how}; {right_one}"
                kind = f"numbers, the largest in {unit}, are multiples of 1024: {how}"
                yield found(findings.UNIT_SLIP, table, figure, sentence, before, kind, f"{told}; {right_one}", len(column))


def _suspicious(column: Sequence[Figure], right: set[int]) -> list[Figure]:
    """The largest figures, as long as they are multiples of the step; none where chance may have done it."""
    falling = sorted((f for f in column if f.value >= SMALLEST), key=lambda f: -f.value)
    top = list(takewhile(lambda f: id(f) not in right and is_multiple(f.value), falling))
    if not top:
        return []
    rest = falling[len(top) :]
    step = decimals_step(rest or top)
    different = len({figure.value for figure in top})
    return top if different >= FEWEST and (step / STEP) ** different <= CHANCE else []


def _operations(table: Table) -> dict[CellKey, Interval]:
    """Bytes per second of each cell whose operations and block size are known."""
    sizes = {key: block_sizes(table, key) for key in table.workloads}
    return {
        cell_of(figure): base(figure).times(size)
        for figure in of_metric(table.figures, "iops")
        for size in sizes.get(figure.workload, ())[:1]
    }


def _sums(column: Sequence[Figure]) -> dict[CellKey, Interval]:
    """Bytes per second of reads and writes together, of cells that tell both."""
    parts: dict[CellKey, dict[str, Figure]] = {}
    for figure in column:
        if figure.direction:
            parts.setdefault(cell_of(figure)._replace(direction=""), {}).setdefault(figure.direction, figure)
    sums = {key: _sum(one.values()) for key, one in parts.items() if len(one) > 1}
    return {key: total for key, total in sums.items() if total is not None}
