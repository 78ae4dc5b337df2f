"""Where the rest went, as text: the same lines for a terminal, a page, Markdown and the screens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from raidtui.model.plan import Amplification
from raidtui.results.accounting import Account, Rate, over_rounds
from raidtui.results.comparison import Comparison
from raidtui.results.limiter import NOT_KNOWN
from raidtui.results.numbers import NOTHING, Unit, mb_s_text, percent_text, rate_text, ratio_text

TITLE = "Where the rest went"
HEADS = ("Layout", "Workload", "Reached", "Each alone", "All at once", "Share", "W.amp", "Expected", "Limited by")
TEXTS = frozenset(("Layout", "Workload", "Limited by"))
"""Columns that hold words."""
ABOUT = (
    "Each alone and all at once: what the bare disks of the data gave under the same workload. Share: of all at once (or "
    "of each alone, where only that was measured), with what has to be written beside the data taken off."
)


class Line(NamedTuple):
    """One layout under one workload."""

    layout: str
    workload: str
    numbers: tuple[str, ...]
    """Reached, each alone, all at once, share, amplification as it was and as it was expected."""
    limiter: str
    why: str
    """In sentences: what limited it, and how the amplification comes about."""
    values: tuple[float | None, ...] = ()
    """What the numbers are sorted by."""

    @property
    def cells(self) -> tuple[str, ...]:
        """As `HEADS`."""
        return (self.layout, self.workload, *self.numbers, self.limiter)


def where_lines(comparison: Comparison) -> list[Line]:
    """Row by row. Nothing where no disk was measured bare and no limit was seen: then there is nothing to say."""
    units = dict(zip(comparison.workloads, comparison.units, strict=True))
    found = [(one, units.get(one.workload, "IOPS")) for one in over_rounds(comparison.accounts)]
    told = any(one.solo or one.together or one.expected or one.limiter != NOT_KNOWN for one, _ in found)
    return [_line(one, unit) for one, unit in found] if told else []


def _line(one: Account, unit: Unit) -> Line:
    found = [_in(rate, unit) for rate in (one.reached, one.solo, one.together)]
    rates = [rate_text(rate, unit) for rate in found]
    written = (ratio_text(one.observed), expected_text(one.expected))
    numbers = (f"{rates[0]} {unit}", *rates[1:], percent_text(one.share), *written)
    values = (*found, one.share, one.observed, one.expected.low if one.expected else None)
    return Line(one.row, one.workload, numbers, one.limiter, "; ".join(sentences(one)), values)


def sentences(one: Account) -> Iterator[str]:
    """What limited it, what should be written and why, what the links carry."""
    yield one.why
    if one.expected is not None:
        words = "write amplification expected" if one.expected.low is not None else "write amplification cannot be foretold"
        figure = f" {expected_text(one.expected)}" if one.expected.low is not None else ""
        yield f"{words}{figure}: {one.expected.why}{_read_before(one.expected)}"
    if one.link_bytes_per_s is not None:
        yield f"PCIe links of its disks: {mb_s_text(one.link_bytes_per_s)} MB/s in one direction"


def expected_text(expected: Amplification | None) -> str:
    """`1.33×`, `1.50–6.00×`, `1.00× or more`; a dash where it is not known."""
    return NOTHING if expected is None or expected.low is None else _range(expected.low, expected.high)


def _read_before(expected: Amplification) -> str:
    """What has to be read before it can be written; nothing where that is nothing."""
    if expected.low is None or expected.read_high == 0:
        return ""
    return f"; read before that {_range(expected.read_low, expected.read_high)}"


def _range(low: float, high: float | None) -> str:
    if high is None:
        return f"{low:.2f}× or more"
    return f"{low:.2f}×" if f"{high:.2f}" == f"{low:.2f}" else f"{low:.2f}–{high:.2f}×"


def cell_words(one: Account, unit: Unit) -> str:
    """One cell in a line: its share, what it wrote, and what limited it."""
    parts = []
    if one.share is not None:
        ceiling = rate_text(_in(one.bound, unit), unit)
        parts.append(f"{percent_text(one.share)} of the {ceiling} {unit} that its bare disks allow")
    if one.observed is not None:
        foretold = expected_text(one.expected)
        parts.append(f"wrote {ratio_text(one.observed)}" + (f", expected {foretold}" if foretold != NOTHING else ""))
    limited = "what limited it is not known" if one.limiter == NOT_KNOWN else f"limited by {one.limiter}"
    return "; ".join([*parts, f"{limited}: {one.why}"])


def _in(rate: Rate | None, unit: Unit) -> float | None:
    return None if rate is None else rate.iops if unit == "IOPS" else rate.bytes_per_s
