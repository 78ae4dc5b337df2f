"""Layouts × workloads of one result or several: the typical round, its share of the baseline, and what to believe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from math import log, log1p
from statistics import median

import msgspec

from raidtui.base.collecting import uncollected
from raidtui.base.text import named
from raidtui.model.mark import Mark
from raidtui.model.result import Result
from raidtui.model.statistics.judge import Judged, interval, judge
from raidtui.model.statistics.samples import geometric_mean, noise_floor, odd_one, typical
from raidtui.results.accounting import accounts
from raidtui.results.comparison import NOT_TOLD, TOLD, Comparison, Entry, Noted, Pair, Row, Source
from raidtui.results.extract import Extract, Point, extract
from raidtui.results.metrics import Metric, units_in
from raidtui.results.notes import Confounder, Differences, Side, given_options, notes_on
from raidtui.results.rates import Unit, again_label, merged_latency, number_of, rate_of, rate_text, rates_of, units_of
from raidtui.results.same_name import redefined_layouts, redefined_workloads
from raidtui.results.sweeps import sweeps_of
from raidtui.results.verdicts import verdicts_of

_MANY = 500
"""Results, from which on garbage collection is suspended."""


class _Draft:
    """A row in the making: its points by workload, and what of them counts."""

    __slots__ = ("again", "label", "layout", "part", "points", "source", "typical", "values")

    def __init__(self, label: str, source: int, layout: str, part: str, points: Mapping[str, Sequence[Point]]) -> None:
        self.label, self.source, self.layout, self.part = label, source, layout, part
        self.points = {name: own for name, of in points.items() if (own := [one for one in of if not one.again])}
        self.again = {name: second for name, of in points.items() if (second := [one for one in of if one.again])}
        self.values: dict[str, list[float]] = {}
        """Numbers of valid cells, by workload; only where there are any."""
        self.typical: dict[str, float] = {}

    def count(self, units: Mapping[str, Unit]) -> None:
        """Find the values, once units are known."""
        for name, points in self.points.items():
            if values := rates_of(points, units[name]):
                self.values[name] = values
                if (number := number_of(points, units[name])) is not None:
                    self.typical[name] = number


def compare(result: Result | Extract, baseline: str = "") -> Comparison:
    """The cells of a result as a table. `baseline` is a row's label; by default the first with a valid number above 0."""
    return compare_many((result,), baseline)


def compare_many(
    results: Sequence[Result | Extract], baseline: str = "", meant: frozenset[str] = frozenset(), metric: Metric = "rate"
) -> Comparison:
    """The cells of several results as one table. A layout that several have is told apart by the result's number.

    Workloads of one name are one column only where they are the same workload, run the same way. `meant` names facts that
    were meant to differ. `metric` is the number that is compared: shares, verdicts and pairs are of it.
    """
    extracts = [extract(one) if isinstance(one, Result) else one for one in results]
    with uncollected(len(extracts) > _MANY):
        return _compared(extracts, baseline, meant, metric)


def _compared(extracts: Sequence[Extract], baseline: str, meant: frozenset[str], metric: Metric) -> Comparison:
    layouts, loads = _layout_names(extracts), _workload_names(extracts)
    drafts = [draft for number, one in enumerate(extracts, 1)
              for draft in _drafts(number, one, layouts[number - 1], loads[number - 1])]  # fmt: skip
    workloads = tuple(dict.fromkeys(name for names in loads for name in names.values()))
    units = units_in(metric, units_of((draft.points for draft in drafts), workloads))
    table = _Table(extracts, drafts, workloads, units, baseline, meant)
    pairs, floors = table.noise()
    rows, places = tuple(table.rows(pairs, floors)), {name: place for place, name in enumerate(workloads)}
    columns = {places[names[name]]: swept for one, names in zip(extracts, loads, strict=True)
               for name, swept in one.sweeps.items()}  # fmt: skip
    same = (*redefined_layouts(extracts, meant), *redefined_workloads(extracts))
    found = Comparison(workloads, units, rows, table.reference.label if table.reference else "",
                       tuple(map(_source, extracts)), (*notes_on(extracts), *_split_workloads(loads), *same, *table.told()),
                       tuple(floors.values()), tuple(pairs), accounts(extracts, layouts, loads),
                       () if baseline else tuple(table.old_new(floors)))  # fmt: skip
    return msgspec.structs.replace(found, verdicts=verdicts_of(found), sweeps=tuple(sweeps_of(columns, rows)))


class _Table:
    """Rows in the making, and their baseline."""

    def __init__(
        self, extracts: Sequence[Extract], drafts: Sequence[_Draft], workloads: tuple[str, ...], units: tuple[Unit, ...],
        baseline: str, meant: frozenset[str],
    ) -> None:  # fmt: skip
        self._extracts, self._drafts, self._meant = extracts, drafts, meant
        self._places = {name: place for place, name in enumerate(workloads)}
        self._units = dict(zip(workloads, units, strict=True))
        for draft in drafts:
            draft.count(self._units)
        self.reference = _reference(drafts, baseline)
        self._differences = None if self.reference is None else Differences(self._side(self.reference), meant)

    def noise(self) -> tuple[list[tuple[str, str]], dict[str, float | None]]:
        """Differences of repeated measurements in one run, by label and workload."""
        pairs = [pair for group in self._same() for pair in combinations(group, 2)]
        twice = [draft for draft in self._drafts if draft.again]
        floors = {}
        for name, unit in self._units.items():
            both = [(a.typical[name], b.typical[name]) for a, b in pairs if name in a.typical and name in b.typical]
            both += [(one.typical[name], second) for one in twice if name in one.typical
                     and (second := number_of(one.again.get(name, ()), unit)) is not None]  # fmt: skip
            floors[name] = noise_floor(both)
        labels = [(one.label, again_label(one.label)) for one in twice] + [(a.label, b.label) for a, b in pairs]
        return labels, floors

    def told(self) -> Iterator[str]:
        """Return the notes on the rows."""
        if self.reference is not None and not any(self.reference.typical.values()):
            what = " and ".join(dict.fromkeys(self._units.values()))
            yield f"{self.reference.label} has no valid number above 0 in {what}: nothing can be said in percent of it"
        yield from self._told_from_itself()
        yield from self._odd_rounds()

    def _odd_rounds(self) -> Iterator[str]:
        """Rounds far from the others, and rounds of 0: the geometric mean of those is 0, so their median is shown."""
        odd: list[str] = []
        none: list[str] = []
        still: list[str] = []
        for draft in self._drafts:
            for name, values in draft.values.items():
                still += [f"{draft.label} under {name}, round {point.round}" for point in draft.points[name]
                          if point.valid and (point.iops, point.bytes_per_s, point.percent) == (None,) * 3]  # fmt: skip
                unit = self._units[name]
                rounds = [point.round for point in draft.points[name] if point.valid and rate_of(point, unit) is not None]
                where = f"{draft.label} under {name}"
                none += [f"{where}, round {number}" for number, value in zip(rounds, values, strict=True)
                         if value == 0 and len(values) > 1]  # fmt: skip
                if (at := odd_one(values)) is not None:
                    others = rate_text(typical([*values[:at], *values[at + 1 :]]), unit)
                    odd.append(f"{where}, round {rounds[at]} is unlike the others: {rate_text(values[at], unit)} against "
                               f"{others} {unit}")  # fmt: skip
        if odd:
            yield named(odd, 6)
        if still:
            yield f"{named(still, 6)}: nothing was moved; it is not in the number"
        if none:
            yield f"{named(none, 6)}: measured 0; it counts, so the number shown is a median, and no verdict is given"

    def _told_from_itself(self) -> Iterator[str]:
        """Find differences between the two builds of one layout: their cause is part of every other difference, too."""
        asked = [(one, name, second) for one in self._drafts for name, points in one.again.items()
                 if name in one.values and (second := rates_of(points, self._units[name]))]  # fmt: skip
        judged = judge([(one.values[name], second) for one, name, second in asked])
        for (one, name, _), found in zip(asked, judged, strict=True):
            if found.verdict == TOLD:
                yield (f"{one.label} is told apart from itself under {name}: something beside the layouts changed, "
                       "and is in the other differences too")  # fmt: skip

    def _same(self) -> Iterator[list[_Draft]]:
        """Rows of one definition in one run."""
        groups: dict[tuple[int, str, frozenset[tuple[str, str]]], list[_Draft]] = {}
        options: dict[int, frozenset[tuple[str, str]]] = {}
        for draft in self._drafts:
            one = self._extracts[draft.source - 1]
            if one.imported:
                continue
            facts = one.layouts[draft.layout]
            # Results share what they have in common: what was defined is then worked out once.
            given = options.get(id(facts))
            if given is None:
                given = options[id(facts)] = given_options(facts)
            if given:
                groups.setdefault((draft.source, draft.part, given), []).append(draft)
        return (group for group in groups.values() if len(group) > 1)

    def rows(self, pairs: Sequence[tuple[str, str]], floors: Mapping[str, float | None]) -> Iterator[Row]:
        """All rows; verdicts are given to all of them together."""
        judged = self._judged()
        same = {*pairs, *((b, a) for a, b in pairs)}
        for draft in self._drafts:
            entries: list[Entry | None] = [None] * len(self._places)
            of_same = self.reference is not None and (draft.label, self.reference.label) in same
            for name in draft.points:
                entry = _entry(draft, name, self._base(draft, name), judged.get((draft.label, name)))
                floor = floors[name]
                entries[self._places[name]] = entry if floor is None or of_same else _above(entry, floor)
            shares = [entry.of_baseline for entry in entries if entry is not None and entry.of_baseline is not None]
            failed = self._extracts[draft.source - 1].failed.get(draft.layout, "")
            yield Row(draft.label, tuple(entries), failed, draft.source, geometric_mean(shares), len(shares),
                      self._confounders(draft), self._extracts[draft.source - 1].bare.get(draft.layout, ""))  # fmt: skip

    def old_new(self, floors: Mapping[str, float | None]) -> Iterator[Pair]:
        """Pairs of two results of one scenario, by layout and workload. All of them are one family of comparisons."""
        one, two = self._extracts if len(self._extracts) == 2 else (None, None)
        if one is None or two is None or not one.scenario or one.scenario != two.scenario or one.run == two.run:
            return
        sides: list[dict[tuple[str, str], _Draft]] = [{}, {}]
        for draft in self._drafts:
            sides[draft.source - 1][draft.layout, draft.part] = draft
        keys = [(both, name) for both in dict.fromkeys(chain(*sides)) for name in self._places
                if any(both in side and name in side[both].points for side in sides)]  # fmt: skip
        values = [tuple(side[both].values.get(name, []) if both in side else [] for side in sides) for both, name in keys]
        judged = judge([(old, new) for old, new in values if old and new])
        found = iter(judged)
        for (both, name), (old, new) in zip(keys, values, strict=True):
            told, (layout, part) = next(found) if old and new else None, both
            before, after = (side[both].typical.get(name) if both in side else None for side in sides)
            label = f"{layout} {part}" if part else layout
            labels = tuple(side[layout, part].label if (layout, part) in side else "" for side in sides)
            pair = Pair(label, name, self._units[name], before, after, len(old), len(new), labels=(labels[0], labels[1]))
            if told is None or not before or after is None:
                lost = [self._lost(side, layout, one.get((layout, part)), name) for side, one, rate in
                        zip(("old", "new"), sides, (before, after), strict=True) if not rate]  # fmt: skip
                yield msgspec.structs.replace(pair, why=", ".join(lost))
                continue
            ratio, floor = after / before, floors.get(name)
            inside = floor is not None and ratio > 0 and abs(log(ratio)) <= log1p(floor)
            told = _agreeing(told, ratio)
            verdict = NOT_TOLD if told.verdict == TOLD and inside else told.verdict
            here, there = (self._side(side[layout, part]) for side in reversed(sides))
            yield msgspec.structs.replace(
                pair, change=ratio - 1, low=None if told.low is None else told.low - 1,
                high=None if told.high is None else told.high - 1, p=told.p, verdict=verdict,
                confounders=Differences(there, self._meant).of(here),
            )  # fmt: skip

    def _lost(self, side: str, layout: str, draft: _Draft | None, name: str) -> str:
        """Say why a side of a pair has no number above 0."""
        failed = self._extracts[side == "new"].failed.get(layout, "")
        if draft is None or name not in draft.points:
            return f"{side} was not built: {failed}" if failed else f"{side} was not measured"
        why = "; ".join(_reasons(draft.points[name])) or failed
        return f"{side} is not valid: {why}" if why else f"{side} has no number above 0"

    def _base(self, draft: _Draft, name: str) -> float | None:
        return None if self.reference is None or draft is self.reference else self.reference.typical.get(name)

    def _judged(self) -> dict[tuple[str, str], Judged]:
        """Entries by row and workload. All comparisons of the table belong to one family."""
        keys, pairs = [], []
        base = self.reference.values if self.reference is not None else {}
        for draft in self._drafts:
            for name, values in draft.values.items() if draft is not self.reference else ():
                if name in base:
                    keys.append((draft.label, name))
                    pairs.append((base[name], values))
        return dict(zip(keys, judge(pairs), strict=True))

    def _confounders(self, draft: _Draft) -> tuple[Confounder, ...]:
        if self._differences is None or draft is self.reference:
            return ()
        return self._differences.of(self._side(draft))

    def _side(self, draft: _Draft) -> Side:
        one = self._extracts[draft.source - 1]
        return Side(one.facts, one.layouts[draft.layout], {name: _done_with(of) for name, of in draft.points.items()},
                    draft.layout)  # fmt: skip


def _done_with(points: Sequence[Point]) -> Mapping[str, str]:
    """Facts of the first cell that counts: one that failed may have no report."""
    return next((point for point in points if point.valid), points[0]).facts


def _drafts(number: int, one: Extract, layouts: Mapping[str, str], loads: Mapping[str, str]) -> Iterator[_Draft]:
    by_layout: dict[str, dict[str, dict[str, list[Point]]]] = {}
    for point in one.points:
        rows = by_layout.setdefault(point.layout, {})
        rows.setdefault(point.part, {}).setdefault(loads[point.workload], []).append(point)
    for layout, name in layouts.items():
        for part, points in by_layout.get(layout, {"": {}}).items():
            yield _Draft(f"{name} {part}" if part else name, number, layout, part, points)


def _reference(drafts: Sequence[_Draft], wanted: str) -> _Draft | None:
    """The row that was asked for, else the first one with a number above 0, else with any valid cell."""
    named = (draft for draft in drafts if wanted and draft.label == wanted)
    above = (draft for draft in drafts if any(draft.typical.values()))
    valid = (draft for draft in drafts if any(point.valid for points in draft.points.values() for point in points))
    return next(chain(named, above, valid), None)


def _source(one: Extract) -> Source:
    return Source(one.run, one.scenario, one.title, one.host, one.started, one.rehearsal, one.complete,
                  len(one.points), sum(point.valid for point in one.points))  # fmt: skip


def _entry(draft: _Draft, name: str, base: float | None, judged: Judged | None) -> Entry:
    points, values, middle = draft.points[name], draft.values.get(name, ()), draft.typical.get(name)
    valid = [point for point in points if point.valid]
    low, high = interval(values) or (None, None)
    share = middle / base if middle is not None and base else None
    word, share_low, share_high, rank_p, p = (
        _NOT_JUDGED if judged is None or share is None else _agreeing(judged, share)
    )  # fmt: skip
    return Entry(
        median(values) if values else None, min(values, default=None), max(values, default=None), share,
        len(valid), len(points),
        () if len(valid) == len(points) else _reasons(points), low, high, word, share_low, share_high, rank_p, p,
        merged_latency(valid), _marks(valid), tuple(points), middle, tuple(draft.again.get(name, ())),
    )  # fmt: skip


_NOT_JUDGED = ("", None, None, None, None)


def _agreeing(judged: Judged, ratio: float) -> Judged:
    """Return the judgement without an interval that the shown ratio is not in, or a verdict that it contradicts.

    Rounds are judged by their own numbers, but a percentile that is shown is that of all rounds together.
    """
    if judged.low is None or judged.high is None or judged.low <= ratio <= judged.high:
        return judged
    against = judged.verdict == TOLD and (ratio > 1) != (judged.low > 1)
    return judged._replace(low=None, high=None, verdict=NOT_TOLD if against else judged.verdict)


def _above(entry: Entry, floor: float) -> Entry:
    """A difference that is no larger than between two measurements of the same is none."""
    share = entry.of_baseline
    if entry.verdict != TOLD or not share or abs(log(share)) > log1p(floor):
        return entry
    return msgspec.structs.replace(entry, verdict=NOT_TOLD)


def _reasons(points: Sequence[Point]) -> tuple[str, ...]:
    """Return the reasons of invalid cells, each once."""
    return tuple(dict.fromkeys(reason for point in points if not point.valid for reason in point.reasons))


def _marks(valid: Sequence[Point]) -> tuple[Noted, ...]:
    """The marks of these cells, by code."""
    found: dict[str, list[Mark]] = {}
    for point in valid:
        for mark in {one.code: one for one in reversed(point.marks)}.values():
            found.setdefault(mark.code, []).append(mark)
    marks = [Noted(code, its[0].sentence, its[0].weight, len(its)) for code, its in found.items()]
    return tuple(sorted(marks, key=lambda mark: (mark.weight, mark.code)))


def _layout_names(extracts: Sequence[Extract]) -> list[dict[str, str]]:
    """For each result, by layout: its name here. The same name in several results gets the result's number: `raid5:2`.

    So does a layout with the name of a disk's row of another result.
    """
    count = Counter(name for one in extracts for name in one.layouts)
    rows = {f"{point.layout} {point.part}" for one in extracts for point in one.points if point.part}
    taken = {*count, *rows}
    return [
        {name: _numbered(name, number, taken) if count[name] > 1 or name in rows else name for name in one.layouts}
        for number, one in enumerate(extracts, 1)
    ]


def _workload_names(extracts: Sequence[Extract]) -> list[dict[str, str]]:
    """For each result, by workload: its name here. One name for one definition, run the same way; else it is numbered."""
    first: dict[tuple[str, str], int] = {}
    for number, one in enumerate(extracts, 1):
        for item in one.workloads.items():
            first.setdefault(item, number)
    count = Counter(name for name, _ in first)
    taken = set(count)
    names = {
        (name, key): _numbered(name, number, taken) if count[name] > 1 else name for (name, key), number in first.items()
    }
    return [{name: names[name, key] for name, key in one.workloads.items()} for one in extracts]


def _numbered(name: str, number: int, taken: set[str]) -> str:
    """Return `raid5:2`, or a longer name if that one is taken; it is taken from now on."""
    found = f"{name}:{number}"
    while found in taken:
        found += f":{number}"
    taken.add(found)
    return found


def _split_workloads(loads: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Return notes on names that stand for several workloads. `loads`: as in `_workload_names`."""
    shown: dict[str, dict[str, None]] = {}
    for names in loads:
        for name, here in names.items():
            shown.setdefault(name, {})[here] = None
    split = [" and ".join(columns) for columns in shown.values() if len(columns) > 1]
    if split:
        yield f"{named(split, 6)}: of one name, but not the same workload, or not run the same way"
