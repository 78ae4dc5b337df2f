"""Order of the listed devices: members below their array, sorted and filtered. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from raidtui.model.event import CellStarted
from raidtui.tui.run.frame_track import Use

_ODD_POINTS = 15.0
_ODD_SHARE = 0.35
_WORTH_COMPARING = 1e6


class Place(NamedTuple):
    """Position of a device in the list."""

    name: str
    role: str
    depth: int
    last: bool
    """True for the last device below its parent."""
    parent: str


SortKey = Callable[[str], tuple[float, str]]


def roots_and_children(cell: CellStarted) -> tuple[list[str], dict[str, list[str]]]:
    """Devices on which nothing stands, and by each device those directly below it."""
    names = list(cell.devices)
    children: dict[str, list[str]] = {}
    for name, parent in cell.parents.items():
        if parent in cell.devices and name in cell.devices:
            children.setdefault(parent, []).append(name)
    below = {name for names_below in children.values() for name in names_below}
    targets = [name for name in names if cell.devices[name] == "target"]
    if not children and len(targets) == 1:
        # Results and old journals do not say what stands on what, but there is only one way.
        return targets, {targets[0]: [name for name in names if name not in targets]}
    return [name for name in names if name not in below], children


def places(cell: CellStarted, sort: SortKey | None = None, wanted: Callable[[str, str], bool] | None = None) -> list[Place]:
    """Return the devices from the top of the layout down. Filtered devices stay only as parents of shown ones."""
    roots, children = roots_and_children(cell)
    seen: set[str] = set()
    found: list[Place] = []

    def add(names: Iterable[str], depth: int, parent: str) -> bool:
        ordered = [name for name in names if name not in seen]
        seen.update(ordered)
        if sort is not None:
            ordered.sort(key=sort)
        level: list[tuple[Place, list[Place]]] = []
        for name in ordered:
            place, at = Place(name, cell.devices.get(name, ""), depth, False, parent), len(found)
            kept = add(children.get(name, ()), depth + 1, name)
            below = found[at:]
            del found[at:]
            if kept or wanted is None or wanted(name, place.role):
                level.append((place, below))
        for index, (place, below) in enumerate(level):
            found.append(place._replace(last=index == len(level) - 1))
            found.extend(below)
        return bool(level)

    add(roots, 0, "")
    return found


def plain_places(names: Sequence[str], sort: SortKey | None, wanted: Callable[[str, str], bool] | None) -> list[Place]:
    """Devices of which nothing is known but their names."""
    kept = [name for name in names if wanted is None or wanted(name, "")]
    if sort is not None:
        kept.sort(key=sort)
    return [Place(name, "", 0, False, "") for name in kept]


def odd_ones(uses: Mapping[str, Use | None]) -> frozenset[str]:
    """Members that do clearly more or less than the middle one of their array: a slow disk, or an uneven layout."""
    known = {name: use for name, use in uses.items() if use is not None}
    if len(known) < 2:
        return frozenset()
    odd: set[str] = set()
    utils = {name: use.util_percent for name, use in known.items() if use.util_percent is not None}
    if utils:
        middle = median(utils.values())
        apart = max(_ODD_POINTS, middle * _ODD_SHARE)
        odd |= {name for name, util in utils.items() if abs(util - middle) > apart}
    middle = median(use.bytes_per_s for use in known.values())
    most = max(use.bytes_per_s for use in known.values())
    if most >= _WORTH_COMPARING:
        odd |= {name for name, use in known.items() if abs(use.bytes_per_s - middle) > max(most, middle) * _ODD_SHARE}
    return frozenset(odd)
