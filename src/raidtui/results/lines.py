"""A comparison as flat lines, one for each layout and workload: the same data for every format."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from raidtui.base.text import named
from raidtui.results.comparison import Comparison, Entry, Noted, Row, Source
from raidtui.results.numbers import NOTHING, SCALE, Unit, percent_text, rate_text

VALID, PARTLY, INVALID, NOT_BUILT, NOT_MEASURED = "valid", "partly valid", "invalid", "not built", "not measured"
OTHER_RATE = "other rate"
"""Valid, but only IOPS or only MB/s are known of it, and its column is in the other one."""
TOLD, NOT_TOLD, TOO_FEW = "different", "not told apart", "too few rounds"
MARKS = {VALID: "✓", PARTLY: "⚠", INVALID: "✗", NOT_BUILT: "✗", NOT_MEASURED: NOTHING, OTHER_RATE: NOTHING}


class Line(msgspec.Struct, frozen=True):
    """One layout under one workload. Numbers are None where there is no valid cell."""

    layout: str
    workload: str
    unit: Unit
    state: str
    """One of `valid`, `partly valid`, `invalid`, `not built`, `not measured`, `other rate`."""
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
    verdict: str = ""
    """Against the baseline; see `Entry.verdict`."""


def lines(comparison: Comparison) -> Iterator[Line]:
    """Row by row, in the comparison's order."""
    for row in comparison.rows:
        for index, (workload, unit) in enumerate(zip(comparison.workloads, comparison.units, strict=True)):
            entry = row.entries[index]
            scale = SCALE[unit]
            low, middle, high = (
                value if value is None else value * scale
                for value in ((entry.low, entry.median, entry.high) if entry else (None,) * 3)
            )
            share = entry.of_baseline if entry else None
            yield Line(
                row.label, workload, unit, state_of(row, index), middle, low, high, None if share is None else share * 100,
                entry.valid if entry else 0, entry.cells if entry else 0, why(row, index), row.source,
                entry.verdict if entry else "",
            )  # fmt: skip


def state_of(row: Row, index: int) -> str:
    """The state of the entry in this column."""
    entry = row.entries[index]
    if entry is None:
        return NOT_BUILT if row.failed else NOT_MEASURED
    if entry.median is None:
        return OTHER_RATE if entry.valid else INVALID
    return PARTLY if entry.valid < entry.cells else VALID


def why(row: Row, index: int) -> str:
    """Why an entry is not wholly valid; empty where it is."""
    entry = row.entries[index]
    if entry is None:
        return row.failed
    if entry.valid < entry.cells:
        return "; ".join(entry.reasons) or "no reason was given"
    return "only operations or only bytes per second are known of it" if state_of(row, index) == OTHER_RATE else ""


def beside(row: Row, index: int) -> str:
    """What must be known of an entry's valid cells; empty where there is nothing."""
    entry = row.entries[index]
    return "; ".join(map(mark_words, entry.marks if entry is not None else ()))


def mark_words(mark: Noted) -> str:
    """`disk S1 reached 80 °C [hot-disk]`, and of how many cells it holds where there are several."""
    return f"{mark.sentence} [{mark.code}]" + (f" ({mark.cells} cells)" if mark.cells > 1 else "")


def entry_words(row: Row, index: int, unit: Unit) -> str:
    """The number with its spread and its share, or the mark that stands in its place."""
    entry = row.entries[index]
    state = state_of(row, index)
    if entry is None or entry.median is None:
        return NOTHING if state == NOT_MEASURED else f"{MARKS[state]} {state}"
    words = rate_text(entry.median, unit)
    if spread := spread_text(entry):
        words += f" {spread}"
    if entry.of_baseline is not None:
        words += f" {share_text(entry):>5}"
        if inside := share_interval_text(entry):
            words += f" {inside}"
    if state == PARTLY:
        words += f" ({entry.valid} of {entry.cells} valid)"
    return words


def spread_text(entry: Entry) -> str:
    """`±2.1 %`: half the distance between the best and the worst round, of the median; empty for a single round."""
    if entry.valid < 2 or not entry.median or entry.low is None or entry.high is None:
        return ""
    return f"±{percent_text((entry.high - entry.low) / 2 / entry.median)}"


def share_text(entry: Entry) -> str:
    """`84 %` of the baseline; `~98 %` where the two are not told apart, `84 %?` where there are too few rounds to say."""
    if entry.of_baseline is None:
        return ""
    words = percent_text(entry.of_baseline)
    return f"~{words}" if entry.verdict == NOT_TOLD else f"{words}?" if entry.verdict == TOO_FEW else words


def share_interval_text(entry: Entry) -> str:
    """`[81–87]`: in percent, where the share lies with 95 % confidence; empty where there are too few rounds."""
    if entry.verdict in ("", TOO_FEW) or entry.share_low is None or entry.share_high is None:
        return ""
    return f"[{_percent(entry.share_low)}–{_percent(entry.share_high)}]"


def geometric_mean_text(row: Row) -> str:
    """`91 % of 4`: the geometric mean of the shares, and of how many workloads; empty without shares."""
    return "" if row.geometric_mean is None else f"{percent_text(row.geometric_mean)} of {row.shares}"


def has_means(comparison: Comparison) -> bool:
    """Whether a column of geometric means says more than the shares do."""
    return len(comparison.workloads) > 1 and any(row.shares for row in comparison.rows)


def _percent(share: float) -> str:
    return percent_text(share).removesuffix(" %")


def legend_lines(comparison: Comparison) -> list[str]:
    """What the signs of the table mean, as far as they are in it, and how far two measurements of the same are apart."""
    entries = [entry for row in comparison.rows for entry in row.entries if entry is not None]
    verdicts = {entry.verdict for entry in entries}
    floors = [
        f"{percent_text(floor)} ({name})"
        for name, floor in zip(comparison.workloads, comparison.noise_floors, strict=False)
        if floor is not None
    ]
    found = []
    if NOT_TOLD in verdicts:
        found.append("~: not told apart from the baseline (Mann-Whitney and Welch at 5 %, Holm over all comparisons"
                     f"{', or apart by no more than the noise floor' if floors else ''})")  # fmt: skip
    if TOO_FEW in verdicts:
        found.append("?: too few rounds to tell a difference from chance: four of each are enough, none of them 0")
    if any(map(share_interval_text, entries)):
        found.append("[ ]: the share of typical rounds (geometric means) lies there with 95 % confidence")
    if floors:
        pairs = named([f"{a} and {b}" for a, b in comparison.same], 4)
        found.append(f"noise floor {', '.join(floors)}: so far apart were {pairs}, which are the same")
    return found


def confounder_lines(comparison: Comparison) -> list[str]:
    """What differs beside what was meant to: a line for each fact, with the rows that it concerns."""
    by_fact: dict[str, dict[tuple[str, str], list[str]]] = {}
    for row in comparison.rows:
        for fact, here, there in row.confounders:
            by_fact.setdefault(fact, {}).setdefault((here, there), []).append(row.label)
    found = [f"confounders: {len(by_fact)}, beside what was meant to differ from {comparison.baseline}"] if by_fact else []
    for fact, values in by_fact.items():
        for (here, there), labels in values.items():
            found.append(f"confounder {fact}: {here} with {named(labels, 6)}; {there} with {comparison.baseline}")
    return found


class Footnotes:
    """Sentences by number: the same sentence has the same number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def mark(self, sentence: str) -> str:
        """` [1]`, or nothing for no sentence."""
        return f" [{self.numbers.setdefault(sentence, len(self.numbers) + 1)}]" if sentence else ""

    def marks(self, row: Row, index: int) -> str:
        """Of an entry: why it is not wholly valid, and what must be known of what is valid."""
        return self.mark(why(row, index)) + self.mark(beside(row, index))


def source_lines(comparison: Comparison) -> list[str]:
    """What was compared, a line for each result; nothing where it is one alone."""
    if len(comparison.sources) < 2:
        return []
    return [
        f"result {number}: {source.scenario}, {_run_words(source)}{source.valid} of {source.cells} cells valid"
        for number, source in enumerate(comparison.sources, 1)
    ]


def _run_words(source: Source) -> str:
    """Which run, where and when, as far as that is known; a table of somebody else's has a name alone."""
    run = f"run {source.run}" if source.run != source.scenario else ""
    words = " on ".join(filter(None, (run, source.host)))
    return "".join(f"{part}, " for part in (words, source.started and f"began {source.started}") if part)
