"""What several results have in common and what not: names that stay unique, and what a reader of both must know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from raidtui.model.result import NOT_PRECONDITIONED
from raidtui.results.facts import PRECONDITIONING

if TYPE_CHECKING:
    from raidtui.results.extract import Extract


def layout_names(extracts: Sequence[Extract]) -> list[dict[str, str]]:
    """For each result, by layout: its name here. The same name in several results gets the result's number: `raid5:2`."""
    count = Counter(name for one in extracts for name in one.layouts)
    return [
        {name: f"{name}:{number}" if count[name] > 1 else name for name in one.layouts}
        for number, one in enumerate(extracts, 1)
    ]


def workload_names(extracts: Sequence[Extract]) -> list[dict[str, str]]:
    """For each result, by workload: its name here. One name for one definition, run the same way; else it is numbered."""
    first: dict[tuple[str, str], int] = {}
    for number, one in enumerate(extracts, 1):
        for item in one.workloads.items():
            first.setdefault(item, number)
    count = Counter(name for name, _ in first)
    return [
        {name: f"{name}:{first[name, key]}" if count[name] > 1 else name for name, key in one.workloads.items()}
        for one in extracts
    ]


def in_order(section: object, found: Sequence[str]) -> list[str]:
    """Names that were found, each once, in the order in which the scenario gives them."""
    known = set(found)
    given = [name for name in section if name in known] if isinstance(section, Mapping) else []
    return list(dict.fromkeys([*given, *found]))


def notes_on(extracts: Sequence[Extract]) -> list[str]:
    """Sentences about what makes numbers of these results unlike each other."""
    several = len(extracts) > 1
    notes = []
    for number, one in enumerate(extracts, 1):
        name = f"result {number}" if several else "this result"
        if one.imported:
            notes.append(f"{name} is a table: nothing but its numbers tells how they were measured")
        notes += [f"{name}: {note}" for note in one.notes]
        if one.rehearsal:
            notes.append(f"{name} is a rehearsal (--quick): good for trying, not for comparing")
        if not one.complete:
            notes.append(f"{name} is not complete: not every planned cell was measured")
        if one.facts.get("policy order") == "grouped" and any(point.round > 1 for point in one.points):
            notes.append(f"in {name} all rounds of a layout share one build (order grouped): "
                         "what that build was like by chance is in every round")  # fmt: skip
        if (state := one.facts.get(PRECONDITIONING, NOT_PRECONDITIONED)) != NOT_PRECONDITIONED:
            notes.append(f"disks of {name}: {state}")
    for what, fact in _LIKENESS:
        found = list(dict.fromkeys(value for one in extracts if (value := one.facts.get(fact))))
        if len(found) > 1:
            shown = [*found[:_MOST], f"and {len(found) - _MOST} more"] if len(found) > _MOST + 1 else found
            notes.append(f"measured {what}: {'; '.join(shown)}")
    return notes


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
