"""Facts to know beside a comparison: differences of a row from the baseline, tuning, builds, notes on several results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from raidtui.base.text import clean, plural
from raidtui.model.result import NOT_PRECONDITIONED, Built, Cell, Tuned
from raidtui.results.extract import Extract, Point
from raidtui.results.facts import AS_BUILT, PRECONDITIONING, TOOL_FIO, leaf

NOT_GIVEN = "not given"
Facts = Mapping[str, str]
_Items = tuple[tuple[str, str], ...]


class Confounder(NamedTuple):
    """Something that differs between a row and the baseline, beside what was meant to."""

    fact: str
    here: str
    baseline: str


class Side(NamedTuple):
    """One side of a comparison: a row, or the baseline."""

    facts: Facts
    """Facts of its result."""
    layout: Facts
    cells: Mapping[str, Facts]
    """Facts of its cells alone, by workload."""
    name: str = ""
    """Name of the layout in its scenario."""


class Differences:
    """Differences of rows from one baseline. Thousands of rows share their facts, which are compared once."""

    def __init__(self, baseline: Side, meant: frozenset[str]) -> None:
        """`meant` names facts that were meant to differ."""
        self._baseline, self._meant = baseline, meant
        self._known: dict[tuple[object, ...], tuple[Side, tuple[Confounder, ...]]] = {}

    def of(self, row: Side) -> tuple[Confounder, ...]:
        """Facts of a row, each once: first those of the result, then those of the layout and of its cells."""
        key = (row.name, id(row.facts), id(row.layout), *((name, id(facts)) for name, facts in row.cells.items()))
        if key not in self._known:
            # With the row, so that what its facts are known by stays theirs.
            self._known[key] = row, self._found(row)
        return self._known[key][1]

    def _found(self, row: Side) -> tuple[Confounder, ...]:
        base = self._baseline
        one_name = bool(row.name) and row.name == base.name
        found = list(confounders(row.facts, base.facts, row.layout, base.layout, self._meant, one_name=one_name))
        known = {confounder.fact for confounder in found}
        for name, facts in row.cells.items():
            for other in confounders(facts, base.cells[name], {}, {}, self._meant) if name in base.cells else ():
                if other.fact not in known:
                    known.add(other.fact)
                    found.append(other)
        return tuple(found)


def confounders(
    here: Facts, there: Facts, layout: Facts, baseline: Facts, meant: frozenset[str] = frozenset(), *,
    one_name: bool = False,
) -> tuple[Confounder, ...]:  # fmt: skip
    """Return the unintended differences between two rows: facts of the surroundings, then options of the layouts.

    A layout is meant to differ in what it is: its layers and their levels; where those are the same, in one option. What
    only one of them has is part of what it is. Two of one name (`one_name`) are meant to be the same layout. `meant` names
    facts that were meant to differ.
    """
    found = []
    if here is not there and here != there:
        names = [name for name in {**here, **there} if _known(name, here) and _known(name, there)]
        sides = [(name, here.get(name, NOT_GIVEN), there.get(name, NOT_GIVEN)) for name in names]
        found += [Confounder(*one) for one in sides if one[1] != one[2]]
    if layout and layout != baseline:
        found += _of_layouts(tuple(layout.items()), tuple(baseline.items()), one_name)
    return tuple(one for one in found if one.fact not in meant)


def _known(name: str, facts: Facts) -> bool:
    """Return True if these facts include the option: fio's list of options is complete, so that a missing one is a fact,
    too.
    """
    return name in facts or (name.startswith("fio ") and TOOL_FIO in facts)


@lru_cache(maxsize=4096)
def _of_layouts(given_here: _Items, given_there: _Items, one_name: bool) -> list[Confounder]:
    layout, baseline = dict(given_here), dict(given_there)
    common = [name for name in layout if name in baseline and layout[name] != baseline[name] and not is_place(name)]
    given = [name for name in common if not _built(name)]
    if not one_name and len(given) == 1 and not _is_kind(given[0]) and _given_names(layout) == _given_names(baseline):
        given = []  # that one is what was meant
    # A chunk that was asked for is named once, not again as it was built.
    asked = {leaf(name) for name in layout if not _built(name)}
    built = [name for name in common if _built(name) and not _follows(name, asked)]
    shown = [name for name in [*given, *built] if one_name or not _is_kind(name)]
    return [Confounder(name, layout[name], baseline[name]) for name in shown]


def _built(name: str) -> bool:
    return name.startswith(AS_BUILT)


def _given_names(facts: Facts) -> set[str]:
    return {name for name in facts if not _built(name) and not is_place(name)}


_FROM = {"bitmap": "consistency", "consistency": "journal", "journal_mode": "consistency", "stripe_bytes": "stripe_size",
         "cache_mode": "mode"}  # fmt: skip
"""Options that imply a fact of the kernel."""


def _follows(name: str, asked: set[str]) -> bool:
    """Facts of the kernel about a requested option, or about the layout itself."""
    option = name.removeprefix(AS_BUILT)
    names = {option, option.removesuffix("_bytes"), _FROM.get(option, option)}
    return bool(names & asked) or option in ("layout", "raid_disks", "metadata")


def _is_kind(name: str) -> bool:
    return name.removeprefix(AS_BUILT).rpartition(".")[2] in ("level", "type", "mode", "raid", "segtype")


def is_place(name: str) -> bool:
    """Devices below a layer: they have their own facts, and the name of a role tells nothing about them."""
    return re.fullmatch(r"on(\[\d+\])*", name.rpartition(".")[2]) is not None


def given_options(facts: Facts) -> frozenset[tuple[str, str]]:
    """Return the definition of a layout with its roles, without values that were read back: equal for equal layouts."""
    return frozenset((name, value) for name, value in facts.items() if not _built(name))


def build_words(built: Built) -> str:
    """`raid5, round 2`, `raid5, round 2 again` (measured against itself), `raid5, rounds 1 to 3 on one build`."""
    last = built.round + built.rounds - 1
    rounds = f"rounds {built.round} to {last} on one build" if built.rounds > 1 else f"round {built.round}"
    return f"{built.layout}, {rounds}{' again' if built.again else ''}"


def measured_on(cell: Cell, built: Built) -> bool:
    """Return True if a cell was measured on this build."""
    of_round = built.round <= cell.round < built.round + built.rounds
    return of_round and (cell.layout, cell.again) == (built.layout, built.again)


def tuning_lines(built: Built) -> list[str]:
    """`queue/scheduler mq-deadline of 3 devices; was none, put back`."""
    groups: dict[tuple[str, Tuned], list[str]] = {}
    for what, tuned in built.tuning.items():
        owner, _, file = what.rpartition(" ")
        groups.setdefault((file, tuned), []).append(owner)
    return [_line(file, tuned, owners) for (file, tuned), owners in groups.items()]


def _line(file: str, tuned: Tuned, owners: list[str]) -> str:
    where = f" of {plural(len(owners), 'device') if len(owners) > 1 else clean(owners[0], 80)}" if owners[0] else ""
    if not tuned.set:
        return f"{clean(file)} {clean(tuned.asked)}{where}: not set; {_end(tuned)}"
    rounded = f" (asked {clean(tuned.asked)})" if tuned.set != tuned.asked else ""
    return f"{clean(file)} {clean(tuned.set)}{rounded}{where}; was {clean(tuned.found)}, {_end(tuned)}"


def _end(tuned: Tuned) -> str:
    if not tuned.restored:
        return "NOT put back"
    return "put back" if tuned.restored == tuned.found else clean(tuned.restored)


_MOST = 8
"""Different values that are listed."""
_LIKENESS = (
    ("on different servers", "server"),
    ("under different kernels", "kernel"),
    ("with different versions of fio", "tool fio"),
    ("on different disks", "disks"),
    ("with and without waiting for a steady state", "steady state"),
    ("on disks in different states", PRECONDITIONING),
)


def notes_on(extracts: Sequence[Extract]) -> list[str]:
    """Sentences about what makes numbers of these results unlike each other."""
    said: dict[tuple[str, str], list[int]] = {}
    for number, one in enumerate(extracts, 1):
        for sentences in _of(one):
            said.setdefault(sentences, []).append(number)
    several = len(extracts) > 1
    notes = [
        (one if len(numbers) == 1 else many).replace("WHO", who(numbers) if several else "this result", 1)
        for (one, many), numbers in said.items()
    ]
    return [*notes, *_twice(extracts), *_unlike(extracts)]


def _twice(extracts: Sequence[Extract]) -> Iterator[str]:
    """Runs that were given more than once: a run agrees with itself, whatever it measured."""
    given: dict[str, list[int]] = {}
    for number, one in enumerate(extracts, 1):
        if not one.imported:
            given.setdefault(one.run, []).append(number)
    for run, numbers in given.items():
        if len(numbers) > 1:
            yield f"{who(numbers)} are one and the same run: {run}"


def _of(one: Extract) -> Iterator[tuple[str, str]]:
    """Return each sentence for one result and for several, with WHO in place of the results."""
    if one.imported:
        yield ("WHO is a table: nothing but its numbers tells how they were measured",
               "WHO are tables: nothing but their numbers tells how they were measured")  # fmt: skip
    for note in one.notes:
        yield _same(f"WHO: {note}")
    if one.rehearsal:
        yield ("WHO is a rehearsal (--quick): good for trying, not for comparing",
               "WHO are rehearsals (--quick): good for trying, not for comparing")  # fmt: skip
    if not one.complete:
        yield ("WHO is not complete: not every planned cell was measured",
               "WHO are not complete: not every planned cell was measured")  # fmt: skip
    if not one.imported and one.points and one.points[0].cell is None:
        yield _same("of WHO the index's numbers are compared: no percentiles over all rounds, no charts over time; "
                    "fewer results are read whole")  # fmt: skip
    if not one.imported and len(set(map(_which, one.points))) < len(one.points):
        yield _same("in WHO some cells are there more than once: there were fewer rounds than are counted")
    if one.facts.get("policy order") == "grouped" and any(point.round > 1 for point in one.points):
        yield _same("in WHO all rounds of a layout share one build (order grouped): "
                    "what that build was like by chance is in every round")  # fmt: skip
    if (state := one.facts.get(PRECONDITIONING, NOT_PRECONDITIONED)) != NOT_PRECONDITIONED:
        yield _same(f"disks of WHO: {state}")


def _which(point: Point) -> tuple[str, str, str, int, bool]:
    """Return what identifies a cell within its result."""
    return point.layout, point.part, point.workload, point.round, point.again


def _same(sentence: str) -> tuple[str, str]:
    return sentence, sentence


def who(numbers: Sequence[int]) -> str:
    """`result 3`, `results 1-4, 7`."""
    runs = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        runs.append(f"{found[0]}-{found[-1]}" if len(found) > 1 else f"{found[0]}")
    return f"result{'s' if len(numbers) > 1 else ''} {', '.join(runs)}"


def _unlike(extracts: Sequence[Extract]) -> Iterator[str]:
    for what, fact in _LIKENESS:
        found = list(dict.fromkeys(value for one in extracts if (value := one.facts.get(fact))))
        if len(found) > 1:
            shown = [*found[:_MOST], f"and {len(found) - _MOST} more"] if len(found) > _MOST + 1 else found
            yield f"measured {what}: {'; '.join(shown)}"
