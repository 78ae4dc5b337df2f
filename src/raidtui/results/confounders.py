"""What differs between a row and the baseline beside what was meant to: it may be why their numbers differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from raidtui.results.facts import AS_BUILT, TOOL_FIO, leaf

NOT_GIVEN = "not given"

Facts = Mapping[str, str]
_Items = tuple[tuple[str, str], ...]


class Confounder(NamedTuple):
    """Something that differs between a row and the baseline, beside what was meant to."""

    fact: str
    here: str
    baseline: str


class Side(NamedTuple):
    """One side of what is held against each other: a row, or the baseline."""

    facts: Facts
    """Of its result."""
    layout: Facts
    cells: Mapping[str, Facts]
    """By workload: what holds for its cells alone."""


class Differences:
    """What rows differ in from one baseline. Thousands of rows share their facts, and are looked at once."""

    def __init__(self, baseline: Side, meant: frozenset[str]) -> None:
        """`meant` names facts that were meant to differ."""
        self._baseline, self._meant = baseline, meant
        self._known: dict[tuple[object, ...], tuple[Side, tuple[Confounder, ...]]] = {}

    def of(self, row: Side) -> tuple[Confounder, ...]:
        """Each fact once, those of the result first, then those of the layout and of its cells."""
        key = (id(row.facts), id(row.layout), *((name, id(facts)) for name, facts in row.cells.items()))
        if key not in self._known:
            # With the row, so that what its facts are known by stays theirs.
            self._known[key] = row, self._found(row)
        return self._known[key][1]

    def _found(self, row: Side) -> tuple[Confounder, ...]:
        base = self._baseline
        found = list(confounders(row.facts, base.facts, row.layout, base.layout, self._meant))
        known = {confounder.fact for confounder in found}
        for name, facts in row.cells.items():
            for other in confounders(facts, base.cells[name], {}, {}, self._meant) if name in base.cells else ():
                if other.fact not in known:
                    known.add(other.fact)
                    found.append(other)
        return tuple(found)


def confounders(
    here: Facts, there: Facts, layout: Facts, baseline: Facts, meant: frozenset[str] = frozenset()
) -> tuple[Confounder, ...]:
    """What differs between two rows (facts of the surroundings, then options of the layouts) beside what was meant to.

    A layout is meant to differ in what it is: its layers and their levels; where those are the same, in one option. What
    only one of them has is part of what it is. `meant` names facts that were meant to differ.
    """
    found = []
    if here is not there and here != there:
        names = [name for name in {**here, **there} if _known(name, here) and _known(name, there)]
        sides = [(name, here.get(name, NOT_GIVEN), there.get(name, NOT_GIVEN)) for name in names]
        found += [Confounder(*one) for one in sides if one[1] != one[2]]
    if layout and layout != baseline:
        found += _of_layouts(tuple(layout.items()), tuple(baseline.items()))
    return tuple(one for one in found if one.fact not in meant)


def _known(name: str, facts: Facts) -> bool:
    """Whether these facts say something of it: of fio's options, whose list is whole, also by leaving it out."""
    return name in facts or (name.startswith("fio ") and TOOL_FIO in facts)


@lru_cache(maxsize=4096)
def _of_layouts(given_here: _Items, given_there: _Items) -> list[Confounder]:
    layout, baseline = dict(given_here), dict(given_there)
    common = [name for name in layout if name in baseline and layout[name] != baseline[name] and not _is_place(name)]
    given = [name for name in common if not _built(name)]
    if len(given) == 1 and not _is_kind(given[0]) and _given_names(layout) == _given_names(baseline):
        given = []  # that one is what was meant
    # A chunk that was asked for is named once, not again as it was built.
    asked = {leaf(name) for name in layout if not _built(name)}
    built = [name for name in common if _built(name) and not _follows(name, asked)]
    return [Confounder(name, layout[name], baseline[name]) for name in [*given, *built] if not _is_kind(name)]


def _built(name: str) -> bool:
    return name.startswith(AS_BUILT)


def _given_names(facts: Facts) -> set[str]:
    return {name for name in facts if not _built(name) and not _is_place(name)}


_FROM = {"bitmap": "consistency", "consistency": "journal", "journal_mode": "consistency", "stripe_bytes": "stripe_size",
         "cache_mode": "mode"}  # fmt: skip
"""What is built because of an option of another name."""


def _follows(name: str, asked: set[str]) -> bool:
    """What the kernel says of an option that was asked for, or of what the layout is."""
    option = name.removeprefix(AS_BUILT)
    names = {option, option.removesuffix("_bytes"), _FROM.get(option, option)}
    return bool(names & asked) or option in ("layout", "raid_disks", "metadata")


def _is_kind(name: str) -> bool:
    return name.removeprefix(AS_BUILT).rpartition(".")[2] in ("level", "type", "mode", "raid", "segtype")


def _is_place(name: str) -> bool:
    """Which disks a layer stands on: they have facts of their own, and a role's name says nothing of them."""
    return re.fullmatch(r"on(\[\d+\])*", name.rpartition(".")[2]) is not None


def given_options(facts: Facts) -> frozenset[tuple[str, str]]:
    """What a layout was defined by, roles included, without what was read back: equal for layouts that are the same."""
    return frozenset((name, value) for name, value in facts.items() if not _built(name))
