"""The best layout of each workload, how sure that is, and the words for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import comb, log, log1p
from typing import Final, NamedTuple

from raidtui.base.text import named, plural
from raidtui.model.statistics.judge import Judged, judge
from raidtui.results.comparison import NOT_TOLD, TOLD, TOO_FEW, Comparison, Entry, Row, Verdict
from raidtui.results.rates import LESS_IS_BETTER, Unit, percent_text, rates_of
from raidtui.results.sweep_answers import Place, places_of, sweep_words

MOST_WORKLOADS: Final = 6
"""Workloads that an answer says in a line each."""
ENOUGH: Final = "four of each are enough, if all are above 0"
_MOST_NAMES = 6


class _Ranked(NamedTuple):
    """The layouts of one workload that have a number, the best first, and their rounds."""

    column: int
    rows: Sequence[tuple[Row, float]]
    rounds: Mapping[str, list[float]]


def verdicts_of(comparison: Comparison) -> tuple[Verdict, ...]:
    """Return a verdict for each workload. The best is compared with every other layout.

    The best was chosen by its number, so each p is corrected for all pairs of layouts, not only for those that are judged.
    """
    rows = [row for row in comparison.rows if not row.bare] or list(comparison.rows)
    ranked = [_ranked(rows, index, unit) for index, _, unit in comparison.columns()]
    pairs = [(one.rounds[other.label], one.rounds[one.rows[0][0].label]) for one in ranked for other, _ in one.rows[1:]]
    found = iter(judge(pairs, sum(comb(len(one.rows), 2) for one in ranked)))
    return tuple(_verdict(comparison, rows, one, [next(found) for _ in one.rows[1:]]) for one in ranked)


def _ranked(rows: Sequence[Row], index: int, unit: Unit) -> _Ranked:
    known = [(row, entry.typical) for row in rows if (entry := row.entries[index]) and entry.typical is not None]
    known.sort(key=lambda one: one[1] if unit in LESS_IS_BETTER else -one[1])
    return _Ranked(index, known, {row.label: _rounds(row.entries[index], unit) for row, _ in known})


def _rounds(entry: Entry | None, unit: Unit) -> list[float]:
    return rates_of(entry.points, unit) if entry is not None else []


def _verdict(comparison: Comparison, rows: Sequence[Row], ranked: _Ranked, judged: Sequence[Judged]) -> Verdict:
    index = ranked.column
    measured = [(row.label, entry) for row in rows if (entry := row.entries[index]) is not None]
    invalid = tuple(label for label, entry in measured if entry.typical is None)
    asked = {row.source for row in comparison.rows if row.entries[index] is not None}
    missing = tuple(row.label for row in rows if row.entries[index] is None and row.source in asked)
    workload = comparison.workloads[index]
    if not ranked.rows:
        return Verdict(workload, invalid=invalid, missing=missing)
    (top, highest), others = ranked.rows[0], ranked.rows[1:]
    groups: dict[str, list[str]] = {TOLD: [], NOT_TOLD: [], TOO_FEW: []}
    largest: float | None = None
    for (row, rate), one in zip(others, judged, strict=True):
        verdict = NOT_TOLD if one.verdict == TOLD and _inside_floor(comparison, index, highest, rate) else one.verdict
        groups[verdict].append(row.label)
        if verdict == TOLD and one.p is not None:
            largest = max(largest or 0.0, one.p)
    second = others[0] if others else None
    first = judged[0] if judged else None
    return Verdict(
        workload, (top.label, *groups[NOT_TOLD]),
        "alone" if second is None else "not told apart" if groups[NOT_TOLD] else
        "too few rounds" if groups[TOO_FEW] else "told apart",
        second[0].label if second else "", highest / second[1] - 1 if second and second[1] else None,
        first.low - 1 if first and first.low is not None else None,
        first.high - 1 if first and first.high is not None else None,
        largest, tuple(groups[TOLD]), tuple(groups[TOO_FEW]), max(map(len, ranked.rounds.values())),
        invalid, missing, _confounders(comparison, top, [row for row, _ in others]),
    )  # fmt: skip


def _inside_floor(comparison: Comparison, index: int, highest: float, rate: float) -> bool:
    """Return True if two numbers are no further apart than two measurements of one layout were."""
    floor = comparison.noise_floors[index]
    return floor is not None and rate > 0 and highest > 0 and abs(log(highest / rate)) <= log1p(floor)


def _confounders(comparison: Comparison, best: Row, others: Sequence[Row]) -> tuple[str, ...]:
    """Return the facts in which the best and another differ. Rows have their differences from the baseline alone."""
    here = {one.fact: one.here for one in best.confounders}
    facts: dict[str, None] = {}
    for row in others:
        there = {one.fact: one for one in row.confounders}
        for fact, one in there.items():
            if here.get(fact, one.baseline) != one.here:
                facts[fact] = None
        facts |= {one.fact: None for one in best.confounders if one.fact not in there}
    if len({day for row in (best, *others) if (day := comparison.sources[row.source - 1].started[:10])}) > 1:
        facts["date"] = None
    return tuple(facts)


def answer_lines(comparison: Comparison, most: int = MOST_WORKLOADS) -> list[str]:
    """Return the verdicts in words: the best of each workload, what is missing, what confounds.

    Of more than `most` workloads the first ones are said, after a summary of all.
    """
    rivals = [one for one in comparison.verdicts if one.sure not in ("", "alone")]
    swept = places_of(comparison)
    sweeps: dict[str, list[tuple[Place, Verdict]]] = {}
    for one in rivals:
        if (place := swept.get(one.workload)) is not None:
            sweeps.setdefault(place.sweep, []).append((place, one))
    lines = []
    for one in rivals:
        of_sweep = sweeps[swept[one.workload].sweep] if one.workload in swept else []
        if not of_sweep:
            lines.append(_words(one))
        elif of_sweep[0][1] is one:
            lines.append(sweep_words(of_sweep) if len(of_sweep) > 1 else _words(one))
    if len(lines) > most:
        lines = [_summary(rivals, swept), *lines[: most - 1], f"and {plural(len(lines) - most + 1, 'more workload')}"]
    elif len(lines) > 1:
        lines = [*_for_all(rivals), *lines]
    return [*lines, *_beside(comparison, swept)]


def _for_all(rivals: Sequence[Verdict]) -> Iterator[str]:
    """Yield which layouts are among the best of every workload; nothing for one workload, or without verdicts."""
    if len(rivals) < 2 or any(one.sure == "too few rounds" for one in rivals):
        return
    always = [label for label in rivals[0].best if all(label in one.best for one in rivals)]
    if not always:
        yield f"no layout is among the best for {all_workloads(len(rivals))}"
        return
    wins = all(one.sure == "told apart" for one in rivals)
    among = "the best" if wins else "the best, or not told apart from it,"
    yield f"{named(always, _MOST_NAMES)}: {among} for {all_workloads(len(rivals))}"


def all_workloads(count: int) -> str:
    """Return `both workloads`, `all 4 workloads`."""
    return "both workloads" if count == 2 else f"all {count} workloads"


def _words(one: Verdict) -> str:
    """`raid10 is best for w: 12 % above raid5 (9.1 to 15 %), told apart from all 3 others`."""
    top, ahead = one.best[0], _ahead(one)
    others = len(one.beaten) + len(one.unjudged) + len(one.best) - 1
    if one.sure == "told apart":
        apart = f"told apart from all {others} others" if others > 1 else "told apart"
        return f"{top} is best for {one.workload}: {ahead}, {apart}"
    beaten = f"; {top} is told apart from {plural(len(one.beaten), 'other')}" if one.beaten else ""
    if one.sure == "not told apart":
        return f"{named(one.best, _MOST_NAMES)} cannot be told apart for {one.workload}: {top} is {ahead}{beaten}"
    return f"{top} has the {one.extreme} number for {one.workload}: {ahead}{beaten}"


def _ahead(one: Verdict) -> str:
    if one.ahead is None:
        return f"{one.second} has 0"
    known = one.low is not None and one.high is not None and one.second not in one.unjudged
    sign, where = (-1, "below") if one.extreme == "lowest" else (1, "above")
    low, high = sorted((sign * (one.low or 0.0), sign * (one.high or 0.0)))
    inside = f" ({_number(low)} to {_number(high)} %)" if known else ""
    return f"{percent_text(sign * one.ahead)} {where} {one.second}{inside}"


def _number(share: float | None) -> str:
    words = percent_text(abs(share or 0.0)).removesuffix(" %")
    return f"-{words}" if (share or 0.0) < 0 and float(words) else words


def _summary(rivals: Sequence[Verdict], swept: Mapping[str, Place]) -> str:
    """`of 12 workloads: best are raid10 for 7, raid5 for 2; 3 without a clear best`. A sweep counts as one workload."""
    best: dict[str, set[str]] = {}
    for one in rivals:
        name = swept[one.workload].sweep if one.workload in swept else one.workload
        best.setdefault(name, set()).add(one.best[0] if one.sure == "told apart" else "")
    clear = Counter(next(iter(labels)) for labels in best.values() if len(labels) == 1 and "" not in labels)
    names = [f"{name} for {count}" for name, count in clear.most_common()]
    open_ = len(best) - clear.total()
    said = [f"best are {named(names, _MOST_NAMES)}"] if names else []
    return f"of {len(best)} workloads: " + "; ".join([*said, *([f"{open_} without a clear best"] if open_ else [])])


def _beside(comparison: Comparison, swept: Mapping[str, Place]) -> Iterator[str]:
    """Yield a line each for what has no verdict, is not valid, is missing, and confounds."""
    verdicts = comparison.verdicts
    few = [one for one in verdicts if one.unjudged]
    if few:
        yield _few(few, [one for one in verdicts if one.sure not in ("", "alone")], swept)
    invalid = places([(label, one.workload) for one in verdicts for label in one.invalid], len(verdicts))
    if invalid:
        yield f"no valid number: {named(invalid, _MOST_NAMES)}"
    several = len(comparison.rows) > 1
    missing = places([(label, one.workload) for one in verdicts for label in one.missing if several], len(verdicts))
    if missing:
        words = named(missing, 3) if len(missing) <= 3 else plural(len(missing), "layout")
        yield f"not built or not measured{' under every workload' if len(missing) > 3 else ''}: {words}"
    confounders = list(dict.fromkeys(fact for one in verdicts for fact in one.confounders))
    if confounders:
        yield f"differs beside the layouts, and may be the cause: {named(confounders, _MOST_NAMES)}"


def _few(few: Sequence[Verdict], all_: Sequence[Verdict], swept: Mapping[str, Place]) -> str:
    if all(one.rounds == 1 for one in all_):
        return "one number of each, no rounds: no intervals, so no verdict"
    names = dict.fromkeys(swept[one.workload].sweep if one.workload in swept else one.workload for one in few)
    where = "" if len(few) == len(all_) else f" for {named(list(names), _MOST_NAMES)}"
    return f"too few rounds for a verdict{where}: {ENOUGH}"


def places(found: Sequence[tuple[str, str]], workloads: int, link: str = "for") -> list[str]:
    """Return `raid6 for w, v` by layout, or its name alone where it concerns every workload."""
    by_layout: dict[str, list[str]] = {}
    for label, workload in found:
        by_layout.setdefault(label, []).append(workload)
    return [label if len(of) == workloads else f"{label} {link} {named(of, 3)}" for label, of in by_layout.items()]
