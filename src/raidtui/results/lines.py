"""A comparison as flat lines, one for each layout and workload: the same data for every format."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from raidtui.results.compare import Comparison, Entry, Row
from raidtui.results.numbers import NOTHING, Unit, percent_text, rate_text

VALID, PARTLY, INVALID, NOT_BUILT, NOT_MEASURED = "valid", "partly valid", "invalid", "not built", "not measured"
MARKS = {VALID: "✓", PARTLY: "⚠", INVALID: "✗", NOT_BUILT: "✗", NOT_MEASURED: NOTHING}


class Line(msgspec.Struct, frozen=True):
    """One layout under one workload. Numbers are None where there is no valid cell."""

    layout: str
    workload: str
    unit: Unit
    state: str
    """One of `valid`, `partly valid`, `invalid`, `not built`, `not measured`."""
    median: float | None
    """In `unit`: MB is 10⁶ bytes."""
    low: float | None
    high: float | None
    percent: float | None
    """Of the baseline's median; None for the baseline itself and without one."""
    valid: int
    cells: int
    reasons: str
    """Why cells are invalid, or the layout missing."""
    result: int
    """Number of the result, counted from 1."""


def lines(comparison: Comparison) -> Iterator[Line]:
    """Row by row, in the comparison's order."""
    for row in comparison.rows:
        for index, (workload, unit) in enumerate(zip(comparison.workloads, comparison.units, strict=True)):
            entry = row.entries[index]
            scale = 1.0 if unit == "IOPS" else 1e-6
            low, middle, high = (
                value if value is None else value * scale
                for value in ((entry.low, entry.median, entry.high) if entry else (None,) * 3)
            )
            share = entry.of_baseline if entry else None
            yield Line(
                row.label, workload, unit, state_of(row, index), middle, low, high, None if share is None else share * 100,
                entry.valid if entry else 0, entry.cells if entry else 0, why(row, index), row.source,
            )  # fmt: skip


def state_of(row: Row, index: int) -> str:
    """The state of the entry in this column."""
    entry = row.entries[index]
    if entry is None:
        return NOT_BUILT if row.failed else NOT_MEASURED
    if entry.median is None:
        return INVALID
    return PARTLY if entry.valid < entry.cells else VALID


def why(row: Row, index: int) -> str:
    """Why an entry is not wholly valid; empty where it is."""
    entry = row.entries[index]
    if entry is None:
        return row.failed
    return "; ".join(entry.reasons) or "no reason was given" if entry.valid < entry.cells else ""


def entry_words(row: Row, index: int, unit: Unit) -> str:
    """The number with its spread and its share, or the mark that stands in its place."""
    entry = row.entries[index]
    state = state_of(row, index)
    if entry is None or state == INVALID:
        return NOTHING if state == NOT_MEASURED else f"{MARKS[state]} {state}"
    words = rate_text(entry.median, unit)
    if spread := spread_text(entry):
        words += f" {spread}"
    if entry.of_baseline is not None:
        words += f" {percent_text(entry.of_baseline):>5}"
    if state == PARTLY:
        words += f" ({entry.valid} of {entry.cells} valid)"
    return words


def spread_text(entry: Entry) -> str:
    """`±2.1 %`: half the distance between the best and the worst round, of the median; empty for a single round."""
    if entry.valid < 2 or not entry.median or entry.low is None or entry.high is None:
        return ""
    return f"±{percent_text((entry.high - entry.low) / 2 / entry.median)}"


class Footnotes:
    """Sentences by number: the same sentence has the same number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def mark(self, sentence: str) -> str:
        """` [1]`, or nothing for no sentence."""
        return f" [{self.numbers.setdefault(sentence, len(self.numbers) + 1)}]" if sentence else ""


def source_lines(comparison: Comparison) -> list[str]:
    """What was compared, a line for each result; nothing where it is one alone."""
    if len(comparison.sources) < 2:
        return []
    return [
        f"result {number}: {source.scenario}, run {source.run} on {source.host}, began {source.started}, "
        f"{source.valid} of {source.cells} cells valid"
        for number, source in enumerate(comparison.sources, 1)
    ]
