"""Old against new: two results of one scenario, paired by layout and workload. Texts, and the condition of `--fail-if`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Final, NamedTuple

from rich.cells import cell_len

from raidtui.base.text import clean, named, plural, shortened
from raidtui.model.problem import fail
from raidtui.model.refusals import BAD_CONDITION
from raidtui.results.comparison import NOT_TOLD, TOO_FEW, Comparison, Pair
from raidtui.results.lines import common_marks, floor_lines
from raidtui.results.rates import NOTHING, rate_text
from raidtui.results.verdicts import ENOUGH, all_workloads, places

HEADS: Final = ("LAYOUT", "WORKLOAD", "OLD", "NEW", "CHANGE", "95 %", "n", "p", "VERDICT")
WIDTH: Final = 80
_LEAST_NAME: Final = 18
"""Columns that the name of a layout has at least; for them p and n are left out."""
_MOST_LAYOUTS: Final = 4
"""Layouts that the answer names."""
_MOST_WITHOUT: Final = 6
"""Rows without a number that the table has."""
LEGEND: Final = (
    "change: new against old by the geometric means of the rounds; 95 %: where it lies with 95 % confidence; n: valid "
    "rounds of old and new; p: Welch on logarithms, after Holm over all lines; better, worse: told apart by Welch and by "
    "Mann-Whitney at 5 %"
)
_CONDITION = re.compile(r"\s*worse\s*>\s*(\d{1,3}(?:\.\d{1,6})?)\s*%\s*")


def ordered(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that are told apart, best first and worst last; then those that are not; last, without a number."""

    def key(pair: Pair) -> tuple[int, float]:
        place = 2 if pair.change is None else 0 if pair.way else 1
        return place, -(pair.gain if pair.gain is not None else inf)

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


def rows_of(comparison: Comparison) -> list[tuple[Pair, tuple[str, ...]]]:
    """Return the pairs in their order with their texts. Where no pair has rounds enough, that is said once, not in each."""
    pairs = ordered(comparison.pairs)
    judged = any(pair.verdict not in ("", TOO_FEW) for pair in pairs)
    rows = [(pair, cells_of(pair)) for pair in pairs]
    return [(pair, cells if judged or pair.verdict != TOO_FEW else (*cells[:8], "")) for pair, cells in rows]


class Line(NamedTuple):
    """A line of the table of pairs."""

    words: str
    head: bool = False


def lines(comparison: Comparison) -> list[Line]:
    """Return the table, at most 80 columns wide, and a legend of shortened names; nothing without pairs.

    Where names are long, workloads have lines of their own above their layouts.
    """
    if not comparison.pairs:
        return []
    shown = rows_of(comparison)
    if sum(pair.change is None for pair, _ in shown) > _MOST_WITHOUT:  # `missing_lines` has all of them
        shown = [(pair, cells) for pair, cells in shown if pair.change is not None]
    rows = [HEADS, *((*cells[:8], "no number" if pair.change is None else cells[8]) for pair, cells in shown)]
    wide = [max(cell_len(row[place]) for row in rows) for place in range(len(HEADS))]
    if sum(wide) + len(wide) - 1 <= WIDTH:
        return [Line(_aligned(row, wide, range(len(HEADS))), head=row is HEADS) for row in rows]
    places = [0, *range(2, len(HEADS))]
    for dropped in (7, 6):
        if sum(wide[place] + 1 for place in places[1:]) > WIDTH - _LEAST_NAME:
            places.remove(dropped)
    room = WIDTH - sum(wide[place] + 1 for place in places[1:])
    full: dict[str, str] = {}
    names = [_fitting(f"  {row[0]}", room, full) for row in rows[1:]]
    wide[0] = min(room, max(map(cell_len, ("LAYOUT", *names))))
    found = [Line(_aligned(HEADS, wide, places), head=True)]
    order = {name: place for place, name in enumerate(comparison.workloads)}
    by_workload = {cells[1]: order.get(pair.workload, 0) for pair, cells in shown}
    for workload in sorted(by_workload, key=by_workload.__getitem__):
        found.append(Line(_fitting(workload, WIDTH, full)))
        found += [Line(_aligned((name, *row[1:]), wide, places))
                  for name, row in zip(names, rows[1:], strict=True) if row[1] == workload]  # fmt: skip
    return [*found, *(Line(f"{mark} {name}") for name, mark in full.items())]


def _fitting(name: str, room: int, full: dict[str, str]) -> str:
    """Return a name that fits, with a number `[1]` if it was shortened; `full` gets the number of each whole name."""
    if cell_len(name) <= room:
        return name
    whole = name.strip()
    mark = full.setdefault(whole, f"[{len(full) + 1}]")
    left = name[: len(name) - len(name.lstrip())]
    for width in range(room - len(mark) - len(left) - 1, 0, -1):
        shown = f"{left}{shortened(whole, width)} {mark}"
        if cell_len(shown) <= room:
            return shown
    return f"{left}{mark}"


def _aligned(row: Sequence[str], wide: Sequence[int], places: Iterable[int]) -> str:
    cells = []
    for place in places:
        blank = " " * (wide[place] - cell_len(row[place]))
        cells.append(row[place] + blank if place in (0, 1, 8) else blank + row[place])
    return " ".join(cells).rstrip()


def missing_lines(comparison: Comparison) -> list[str]:
    """Return the reasons why pairs have no change, each with its pairs."""
    found: dict[str, list[tuple[str, str]]] = {}
    for pair in comparison.pairs:
        if pair.change is None:
            found.setdefault(pair.why, []).append((pair.layout, pair.workload))
    count = len(comparison.workloads)
    return [f"{named(places(where, count, 'under'), 6)}: {why}" for why, where in found.items()]


def verdict_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the answer in words: how many are better and worse, what cannot be told, and what else differs."""
    pairs = comparison.pairs
    if not pairs:
        return
    better, worse = ([pair for pair in ordered(pairs) if pair.way == way] for way in ("better", "worse"))
    same = [pair.change for pair in pairs if pair.verdict == NOT_TOLD and pair.change is not None]
    few = sum(pair.verdict == TOO_FEW for pair in pairs)
    none = sum(pair.change is None for pair in pairs)
    counted = plural(len(pairs), "pair")
    yield f"new is better in {len(better)}, worse in {len(worse)} and not told apart in {len(same)} of {counted}"
    for way, of in (("better", better), ("worse", worse)):
        if of:
            yield f"{way}: {'; '.join(_by_layout(of, comparison))}"
    if same:
        yield f"not told apart: {_span(same)}"
    if few:
        yield f"{plural(few, 'pair')} with too few rounds for a verdict: {ENOUGH}"
    if none:
        yield f"{plural(none, 'pair')} without a number on one side"
    yield from (f"⚠ {line}" for line in common_marks(comparison))
    for fact, here, there in dict.fromkeys(one for pair in pairs for one in pair.confounders):
        yield f"confounder {fact}: {there} in old, {here} in new"


def _by_layout(pairs: Sequence[Pair], comparison: Comparison) -> Iterator[str]:
    """Yield `raid5 under all 4 workloads (-17 to -13 %)`; after some layouts, how many more there are."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair.layout, []).append(pair)
    count = len(comparison.workloads)
    for layout, of in list(found.items())[:_MOST_LAYOUTS]:
        where = all_workloads(count) if len(of) == count > 1 else named([pair.workload for pair in of], 3)
        yield f"{layout} under {where} ({_span([pair.change for pair in of if pair.change is not None])})"
    if len(found) > _MOST_LAYOUTS:
        yield plural(len(found) - _MOST_LAYOUTS, "more layout")


def _span(changes: Sequence[float]) -> str:
    """Return `-17 to -13 %`, or one change."""
    low, high = change_text(min(changes)), change_text(max(changes))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def legend(comparison: Comparison) -> list[str]:
    """Return explanations of the columns, and the noise floor, within which nothing is told apart."""
    return [LEGEND, *floor_lines(comparison)]


def warning(pairs: Sequence[Pair]) -> str:
    """Say that a condition cannot be met by pairs with too few rounds; empty where all have enough."""
    few = sum(pair.verdict == TOO_FEW for pair in pairs)
    return f"{few} of {plural(len(pairs), 'pair')} can never fail --fail-if: too few rounds; {ENOUGH}" if few else ""


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
        elif pair.change is not None and pair.way == "worse" and abs(pair.change) > share:
            found.append(f"{pair.layout} under {pair.workload} is worse: {change_text(pair.change)}")
    return found
