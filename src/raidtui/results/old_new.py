"""Old against new: two results of one scenario, paired by layout and workload. Texts, and the condition of `--fail-if`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

from rich.cells import cell_len

from raidtui.base.text import clean, named, plural
from raidtui.model.problem import fail
from raidtui.model.refusals import BAD_CONDITION
from raidtui.results.comparison import NOT_TOLD, TOO_FEW, Comparison, Pair
from raidtui.results.rates import NOTHING, rate_text

HEADS: Final = ("LAYOUT", "WORKLOAD", "OLD", "NEW", "CHANGE", "95 %", "n", "p", "VERDICT")
LEGEND: Final = (
    "change: new against old by the geometric means of the rounds; 95 %: where it lies with 95 % confidence; n: valid "
    "rounds of old and new; p: Welch on logarithms, after Holm over all lines"
)
_CONDITION = re.compile(r"\s*worse\s*>\s*(\d{1,3}(?:\.\d{1,6})?)\s*%\s*")


def ordered(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that are told apart, best first and worst last; then those that are not; last, without a number."""

    def key(pair: Pair) -> tuple[int, float]:
        place = 2 if pair.change is None else 0 if pair.way else 1
        return place, -(pair.change if pair.change is not None else inf)

    return sorted(pairs, key=key)


def change_text(change: float | None) -> str:
    """`+4.2 %`, `-31 %`; a dash where it is not known."""
    if change is None:
        return NOTHING
    return f"{change * 100:+.1f} %" if abs(change) < 0.0995 else f"{change * 100:+.0f} %"


def cells_of(pair: Pair) -> tuple[str, ...]:
    """Return the texts of a pair, in the order of `HEADS`."""
    ends = [change_text(end).removesuffix(" %") for end in (pair.low, pair.high) if end is not None]
    inside = " to ".join(ends)
    verdict = pair.way or pair.verdict or pair.why
    return (
        clean(pair.layout), f"{clean(pair.workload)} {pair.unit}", rate_text(pair.old, pair.unit),
        rate_text(pair.new, pair.unit), change_text(pair.change), inside, f"{pair.old_rounds}+{pair.new_rounds}",
        "" if pair.p is None else f"{pair.p:.2g}", clean(verdict),
    )  # fmt: skip


def lines(comparison: Comparison) -> Iterator[str]:
    """Yield a heading and one line for each pair, in columns; nothing without pairs."""
    rows = [HEADS, *map(cells_of, ordered(comparison.pairs))]
    wide = [max(cell_len(row[place]) for row in rows) for place in range(len(HEADS))]
    for row in rows if comparison.pairs else ():
        cells = [
            cell + " " * (room - cell_len(cell)) if place in (0, 1, 8) else " " * (room - cell_len(cell)) + cell
            for place, (cell, room) in enumerate(zip(row, wide, strict=True))
        ]
        yield " ".join(cells).rstrip()


def verdict_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the answer in words: how many are better and worse, what cannot be told, and what else differs."""
    pairs = comparison.pairs
    if not pairs:
        return
    better = sum(pair.way == "better" for pair in pairs)
    worse = [f"{pair.layout} under {pair.workload}" for pair in pairs if pair.way == "worse"]
    same = sum(pair.verdict == NOT_TOLD for pair in pairs)
    few = sum(pair.verdict == TOO_FEW for pair in pairs)
    none = sum(pair.change is None for pair in pairs)
    counted = plural(len(pairs), "pair")
    yield f"new is better in {better}, worse in {len(worse)} and not told apart in {same} of {counted}"
    if worse:
        yield f"worse: {named(worse, 6)}"
    if few:
        yield f"{plural(few, 'pair')} with too few rounds for a verdict: four of each are enough, if all are above 0"
    if none:
        yield f"{plural(none, 'pair')} without a number on one side"
    for fact, here, there in dict.fromkeys(one for pair in pairs for one in pair.confounders):
        yield f"confounder {fact}: {there} in old, {here} in new"


def parse_condition(words: str) -> float:
    """Return the share (0.05 of `worse > 5 %`). Raises ProblemError (`bad-condition`)."""
    found = _CONDITION.fullmatch(words)
    if found is None:
        raise fail(BAD_CONDITION, f"{clean(words[:80])!r} is not of the form 'worse > 5 %'", place="--fail-if",
                   remedy="Write worse, >, a number and %.")  # fmt: skip
    return float(found[1]) / 100


def failing(pairs: Sequence[Pair], share: float) -> list[str]:
    """Return sentences about pairs that are surely different and worse by more than `share`, or that lost their number."""
    found = []
    for pair in pairs:
        if pair.change is None and pair.old is not None:
            found.append(f"{pair.layout} under {pair.workload} lost its number: {pair.why}")
        elif pair.change is not None and pair.way == "worse" and pair.change < -share:
            found.append(f"{pair.layout} under {pair.workload} is worse: {change_text(pair.change)}")
    return found
