"""Names of layouts and workloads that stay unique among several results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from raidtui.base.text import named

if TYPE_CHECKING:
    from raidtui.results.extract import Extract


_MOST = 6
"""Names that are listed."""


def layout_names(extracts: Sequence[Extract]) -> list[dict[str, str]]:
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


def workload_names(extracts: Sequence[Extract]) -> list[dict[str, str]]:
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


def split_workloads(loads: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Return notes on names that stand for several workloads. `loads`: as in `workload_names`."""
    shown: dict[str, dict[str, None]] = {}
    for names in loads:
        for name, here in names.items():
            shown.setdefault(name, {})[here] = None
    split = [" and ".join(columns) for columns in shown.values() if len(columns) > 1]
    if split:
        yield f"{named(split, _MOST)}: of one name, but not the same workload, or not run the same way"


def in_order(section: object, found: Sequence[str]) -> list[str]:
    """Names that were found, each once, in the order in which the scenario gives them."""
    known = set(found)
    given = [name for name in section if name in known] if isinstance(section, Mapping) else []
    return list(dict.fromkeys([*given, *found]))
