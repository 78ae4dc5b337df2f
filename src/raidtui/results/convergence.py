"""How a workload that was run pass by pass came to a steady state, in words."""

from __future__ import annotations

from collections.abc import Iterator

from raidtui.model.measure import Summary
from raidtui.model.result import Cell, Steady, Tracked
from raidtui.results.numbers import Unit, latency_text, rate_text
from raidtui.results.rates import directions


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
    """Operations or bytes per second of one pass, all directions together."""
    return sum(one.iops if unit == "IOPS" else one.bytes_per_s for one in directions(summary))


def _marked(number: int, summary: Summary, steady: Steady, unit: Unit) -> str:
    """Those of the window in brackets."""
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
