"""Rates, latencies and other numbers of cells: their units, their pooling over rounds, their text.

MB is 10⁶ bytes. Texts are the same in every locale. Percentiles come from merged histograms and are never averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import Any, Literal, get_args

from raidtui.model.measure import DIRECTIONS, Direction, Latency, Part, Summary, in_bulk, pooled_latency
from raidtui.model.result import Cell, Steady, Tracked
from raidtui.model.statistics.samples import merged, percentiles, typical
from raidtui.results.extract import Point

Unit = Literal[
    "IOPS", "MB/s", "%", "p50", "p90", "p95", "p99", "p99.9", "cores", "IOPS/core", "MB/s/core", "daemon cores",
    "IOPS/daemon core", "MB/s/daemon core", "W.amp"
]  # fmt: skip
"""`%` where a table has nothing but percentages of one of its layouts. Comparisons by another metric have the others:
`p50` to `p99.9` are latencies, `cores` those that storage took, `daemon cores` those of a cluster's daemons on all hosts,
`W.amp` is what members were written for each byte."""
SHARES: Mapping[Unit, float] = MappingProxyType({"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999})
"""Units of latencies, with the share of operations that took no longer."""
LESS_IS_BETTER: frozenset[Unit] = frozenset((*SHARES, "cores", "daemon cores", "W.amp"))
_OF_CORE: Mapping[Unit, tuple[Unit, Unit]] = MappingProxyType({
    "IOPS/core": ("IOPS", "cores"), "MB/s/core": ("MB/s", "cores"),
    "IOPS/daemon core": ("IOPS", "daemon cores"), "MB/s/daemon core": ("MB/s", "daemon cores"),
})  # fmt: skip
"""Rates for each core, with the rate and the cores."""
_CORES: frozenset[Unit] = frozenset(("cores", "daemon cores"))
_LEAST_CORES = 0.01
"""Cores below which no rate for each core is told: the kernel counts hundredths of a second."""
_KEPT_SHARES = MappingProxyType({0.5: "p50_us", 0.99: "p99_us", 0.999: "p999_us"})
"""Percentiles that are known without a histogram."""
RATES: frozenset[Unit] = frozenset(("IOPS", "MB/s"))
"""Units that one second and one pass have, too."""
SCALE: Mapping[Unit, float] = MappingProxyType(
    dict.fromkeys(get_args(Unit), 1.0) | dict.fromkeys(("MB/s", "MB/s/core", "MB/s/daemon core"), 1e-6)
)
"""Factors from stored units (operations, bytes per second, percent, µs) to those of charts and workbooks."""
NOTHING = "–"
"""Stands where nothing was measured; never 0."""


def iops_text(value: float) -> str:
    """`2,817,003`, `412`, `8.3`: whole numbers, with one digit more where there are few."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def mb_s_text(bytes_per_s: float) -> str:
    """`20,275`, `90.4`: MB/s."""
    mb = bytes_per_s / 1e6
    return f"{mb:,.0f}" if mb >= 100 else f"{mb:.1f}"


def rate_text(value: float | None, unit: Unit) -> str:
    """A number without its unit (a latency has one); `value` is operations or bytes per second, percent, or µs."""
    if value is None:
        return NOTHING
    if unit == "%":
        return f"{value:.1f}".removesuffix(".0")
    if unit in SHARES:
        return latency_text(value)
    if unit in _CORES or unit == "W.amp":
        return f"{value:.2f}" if unit in _CORES else ratio_text(value)
    return iops_text(value) if unit.startswith("IOPS") else mb_s_text(value)


def unit_words(unit: Unit) -> str:
    """Return a unit for an axis or a column of bare numbers: `IOPS`, `p99 in µs`."""
    return f"{unit} in µs" if unit in SHARES else unit


def latency_text(us: float | None) -> str:
    """`85 µs`, `1.24 ms`, `2.10 s`."""
    if us is None:
        return NOTHING
    if us < 1000:
        return f"{us:.0f} µs" if us >= 10 else f"{us:.1f} µs"
    return f"{us / 1000:.2f} ms" if us < 1e6 else f"{us / 1e6:.2f} s"


def ratio_text(value: float | None) -> str:
    """`2.01×`."""
    return NOTHING if value is None else f"{value:.2f}×"


def percent_text(share: float | None) -> str:
    """`84 %` of 0.84; one digit more below 10 %."""
    if share is None:
        return NOTHING
    return f"{share * 100:.0f} %" if share >= 0.0995 else f"{share * 100:.1f} %"


def directions(summary: Summary | None) -> tuple[Direction, ...]:
    """Return the directions that moved data (`Summary.moved`); empty if nothing was measured."""
    return summary.moved if summary is not None else ()


def label_of(cell: Cell) -> str:
    """The row a cell belongs to: its layout, and the disk where the layout is measured disk by disk."""
    label = f"{cell.layout} {cell.part}" if cell.part else cell.layout
    return again_label(label) if cell.again else label


def again_label(label: str) -> str:
    """Return the label of a row whose layout is measured against itself."""
    return f"{label} again"


def unit_of(cells: Sequence[Cell]) -> Unit:
    """IOPS, or MB/s where the mean operation moved at least 256 KiB."""
    ios = sum(direction.ios for cell in cells for direction in directions(cell.summary))
    moved = sum(direction.bytes for cell in cells for direction in directions(cell.summary))
    return "MB/s" if in_bulk(ios, moved) else "IOPS"


def rate(cell: Cell, unit: Unit) -> float | None:
    """Return operations or bytes per second of a cell, all directions together; None where nothing was measured."""
    return pass_rate(cell.summary, unit) if cell.summary is not None and cell.summary.moved else None


def rate_of(point: Point, unit: Unit) -> float | None:
    """Return the number of a point in this unit."""
    if unit in SHARES:
        return latency_at([point], SHARES[unit])
    if unit in _OF_CORE:
        rate, cores = _OF_CORE[unit]
        return per_core(rate_of(point, rate), rate_of(point, cores))
    if unit in _CORES:
        return point.storage_cores if unit == "cores" else point.daemon_cores
    if unit == "W.amp":
        return point.write_amplification
    return point.iops if unit == "IOPS" else point.bytes_per_s if unit == "MB/s" else point.percent


def rates_of(points: Iterable[Point], unit: Unit) -> list[float]:
    """Return the numbers of the valid points that have one in this unit."""
    return [value for point in points if point.valid and (value := rate_of(point, unit)) is not None]


def number_of(points: Sequence[Point], unit: Unit) -> float | None:
    """Return the one number of several rounds; None without a valid one that has it.

    Rates and amplifications are those of the typical round, cores a mean, latencies of the merged histograms: they are
    None where a round has no histogram.
    """
    values = rates_of(points, unit)
    if not values:
        return None
    if unit in SHARES:
        return latency_at([point for point in points if point.valid], SHARES[unit])
    if unit in _CORES:
        return fmean(values)
    if unit in _OF_CORE:
        rate, cores = _OF_CORE[unit]
        return per_core(number_of(points, rate), number_of(points, cores))
    return typical(values)


def per_core(rate: float | None, cores: float | None) -> float | None:
    """Return the rate of one core; None where it cannot be told."""
    return None if rate is None or cores is None or cores < _LEAST_CORES else rate / cores


def latency_at(points: Sequence[Point], share: float) -> float | None:
    """Return the latency in µs within which this share of operations ended, in the slowest direction, syncs included.

    None where no direction has it.
    """
    found: list[float] = []
    for name, latency in merged_latency(points).items():
        kept = _KEPT_SHARES.get(share)
        us = getattr(latency, kept) if kept else None
        if not kept and (ns := percentiles(histogram([one for one in points if name in one.latency], name), (share,))[0]):
            us = min(ns / 1000, latency.max_us or ns / 1000)
        if us is not None:
            found.append(us)
    return max(found, default=None)


def units_of(rows: Iterable[Mapping[str, Sequence[Point]]], workloads: Sequence[str]) -> tuple[Unit, ...]:
    """Return `unit_of` for each workload of a table, whose rows are points by workload.

    Where only one of the two rates is known it is shown in that one, where only percentages are in percent.
    """
    sums = {name: [0.0, 0.0, 0, 0, 0] for name in workloads}
    for row in rows:
        for name, points in row.items():
            of = sums[name]
            for point in points:
                iops, moved = point.iops, point.bytes_per_s
                if iops is not None and moved is not None:
                    of[0] += iops
                    of[1] += moved
                of[2] += iops is not None
                of[3] += moved is not None
                of[4] += point.percent is not None
    return tuple(_unit(*sums[name]) for name in workloads)


def _unit(iops: float, bytes_per_s: float, with_iops: float, with_bytes: float, with_percent: float) -> Unit:
    if with_percent and not with_iops and not with_bytes:
        return "%"
    if with_iops != with_bytes:
        return "IOPS" if with_iops > with_bytes else "MB/s"
    return "MB/s" if in_bulk(iops, bytes_per_s) else "IOPS"


def merged_latency(points: Sequence[Point]) -> dict[str, Latency]:
    """Return latencies by direction. For a single cell they are the tool's; for several, percentiles need all histograms.
    """
    if len(points) == 1:
        return points[0].latency
    names = [name for name in DIRECTIONS if any(name in one.latency for one in points)]
    return {name: _merged([one for one in points if name in one.latency], name) for name in names}


def histogram(points: Sequence[Point], direction: str) -> dict[int, int]:
    """Return the merged histogram in ns; empty where one of the cells has none."""
    found = bins(points, direction)
    return merged(found) if len(found) == len(points) else {}


def bins(points: Sequence[Point], direction: str) -> list[dict[int, int]]:
    """The latency histograms of these cells as fio counted them: operations by the middle of their bin in ns.

    One for each cell that has them whole; a cell with several reports (a window of passes) has them merged. A cell
    without a latency of its syncs has none of them, whatever its tool printed.
    """
    found = []
    for one in points:
        if one.cell is not None and not _untimed(one, direction) and (counted := report_bins(one.cell.report, direction)):
            found.append(counted)
    return found


def report_bins(report: Any, direction: str) -> dict[int, int]:
    """Return the latency histogram of a cell's report, or of its several reports; empty where one of them has none."""
    parts = [_of_report(each, direction) for each in (report if isinstance(report, list) else [report])]
    if not parts or not all(parts):
        return {}
    return parts[0] if len(parts) == 1 else merged(parts)


def _untimed(one: Point, direction: str) -> bool:
    return direction == "sync" and one.latency.get("sync", Latency()).mean_us is None


def _of_report(report: Any, direction: str) -> dict[int, int]:
    """Empty where one of its jobs has none."""
    found = []
    for job in report.get("jobs", ()) if isinstance(report, dict) else ():
        part = job.get(direction, {}) if isinstance(job, dict) else {}
        spread = part.get("lat_ns" if direction == "sync" else "clat_ns") if isinstance(part, dict) else None
        given = spread.get("bins") if isinstance(spread, dict) else None
        found.append(_counted(given) if isinstance(given, dict) else {})
    if len(found) == 1:
        return found[0]
    return merged(found) if all(found) else {}


def _counted(given: Mapping[Any, Any]) -> dict[int, int]:
    """Return the bins of a report of unknown origin: entries that are no numbers are ignored."""
    try:
        return {int(bin_): int(count) for bin_, count in given.items()}
    except (TypeError, ValueError):
        return {}


def _merged(points: Sequence[Point], name: str) -> Latency:
    found = [bins([one], name) for one in points]
    return pooled_latency([
        Part(one.latency[name], _ios(one, name), of[0] if of else {}) for one, of in zip(points, found, strict=True)
    ])  # fmt: skip


def _ios(one: Point, name: str) -> int | None:
    summary = one.cell.summary if one.cell is not None else None
    of: Direction | None = getattr(summary, name) if summary is not None else None
    return of.ios if of is not None else None


def convergence_lines(cell: Cell, unit: Unit) -> Iterator[str]:
    """The verdict, a line for each tracking variable, and the rate of every pass; nothing where it was not asked for."""
    steady = cell.steady
    if steady is None:
        return
    first, last = steady.window
    many = f"passes {first} to {last} of {len(steady.passes)}"
    yield f"steady at pass {steady.reached}, reported: {many}" if steady.reached else f"NOT steady, reported: {many}"
    for name, one in steady.variables.items():
        yield f"{name} {_average(name, one)}: {_spread(one)}{'' if one.steady else ', not steady'}"
    rates = (_marked(number, one.summary, steady, unit) for number, one in enumerate(steady.passes, 1))
    yield f"{unit} by pass: {' '.join(rates)}"


def pass_rate(summary: Summary, unit: Unit) -> float:
    """Return operations or bytes per second of one pass, all directions together."""
    return sum(one.iops if unit == "IOPS" else one.bytes_per_s for one in summary.moved)


def _marked(number: int, summary: Summary, steady: Steady, unit: Unit) -> str:
    """Return the passes of the window in brackets."""
    words = rate_text(pass_rate(summary, unit), unit)
    first, last = steady.window
    return f"{'[' if number == first else ''}{words}{']' if number == last else ''}"


def _average(name: str, one: Tracked) -> str:
    if name.endswith("latency"):
        return latency_text(one.average)
    unit: Unit = "MB/s" if name.endswith("bandwidth") else "IOPS"
    return rate_text(one.average, unit) + (" MB/s" if unit == "MB/s" else "")


def _spread(one: Tracked) -> str:
    if one.range_percent is None or one.excursion_percent is None:
        return "nothing was done"
    return f"range {one.range_percent:.1f} %, line {one.excursion_percent:.1f} % of the average"
