"""The verdicts of a sweep in one sentence: which layout is best at which queue depths, jobs and block sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from raidtui.base.text import named
from raidtui.results.comparison import Comparison, Sweep, Verdict
from raidtui.results.rates import percent_text

_MOST_PLACES = 6
_FEWEST_OF_A_RANGE = 3


class Place(NamedTuple):
    """One combination of a sweep."""

    sweep: str
    by: str
    """Options that vary: `queue depth`."""
    words: str
    """The combination, as far as it varies: `16`, `4k 16×4`."""
    order: tuple[str, int, int]


def places_of(comparison: Comparison) -> dict[str, Place]:
    """Return the place in its sweep of each workload of a sweep that has several combinations."""
    found: dict[str, Place] = {}
    for sweep in comparison.sweeps:
        places = dict(_places(sweep))
        if len(places) > 1:
            found |= {comparison.workloads[column]: place for column, place in sorted(places.items())}
    return found


def _places(sweep: Sweep) -> Iterator[tuple[int, Place]]:
    points = [(curve.bs, point) for curve in sweep.curves for point in curve.points]
    sizes, depths, jobs = ({*values} for values in zip(*((bs, p.iodepth, p.numjobs) for bs, p in points), strict=True))
    varied = [("block size", len(sizes) > 1), ("queue depth", len(depths) > 1), ("jobs", len(jobs) > 1)]
    by = " × ".join(name for name, several in varied if several)
    for bs, point in points:
        load = [str(number) for number, all_ in ((point.iodepth, depths), (point.numjobs, jobs)) if len(all_) > 1]
        words = " ".join(filter(None, (bs if len(sizes) > 1 else "", "×".join(load))))
        yield point.column, Place(sweep.name, by, words, (bs, point.in_flight, point.numjobs))


def sweep_words(verdicts: Sequence[tuple[Place, Verdict]]) -> str:
    """`sweep seek by queue depth: raid10 is best at 4 to 64 (9.1 to 40 % above the next); raid5 … at 1, not told apart`."""
    ordered = sorted(verdicts, key=lambda one: one[0].order)
    first = ordered[0][0]
    groups: dict[tuple[str, str], list[int]] = {}
    for number, (_, one) in enumerate(ordered):
        groups.setdefault((one.best[0], one.sure), []).append(number)
    said = []
    for (label, sure), numbers in sorted(groups.items(), key=lambda group: (group[0][1] != "told apart", group[1])):
        verb = "is best" if sure == "told apart" else f"has the {ordered[numbers[0]][1].extreme} number"
        said.append(f"{label} {verb} {_where(ordered, numbers)}{_ahead([ordered[number][1] for number in numbers])}"
                    f"{', not told apart' if sure == 'not told apart' else ''}")  # fmt: skip
    return f"sweep {first.sweep} by {first.by}: {'; '.join(said)}"


def _where(ordered: Sequence[tuple[Place, Verdict]], numbers: Sequence[int]) -> str:
    """`at 1, 8 to 64`, or `at all 5`."""
    if len(numbers) == len(ordered):
        return f"at all {len(ordered)}"
    words = [place.words for place, _ in ordered]
    if "×" in ordered[0][0].by:
        return f"at {named([words[number] for number in numbers], _MOST_PLACES)}"
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda one: one[1] - one[0])]
    shown = [[words[number] for number in run] for run in runs]
    ranges = [[f"{run[0]} to {run[-1]}"] if len(run) >= _FEWEST_OF_A_RANGE else run for run in shown]
    return f"at {named([word for run in ranges for word in run], _MOST_PLACES)}"


def _ahead(verdicts: Sequence[Verdict]) -> str:
    """` (9.1 to 40 % above the next)`; nothing where it is not known."""
    known = sorted(abs(one.ahead) for one in verdicts if one.ahead is not None)
    if not known:
        return ""
    low, high = percent_text(known[0]), percent_text(known[-1])
    shown = high if low == high else f"{low.removesuffix(' %')} to {high}"
    return f" ({shown} {'below' if verdicts[0].extreme == 'lowest' else 'above'} the next)"
