"""Fill roles with free disks, as an operator would choose them: alike, and as the role's conditions say. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from raidtui.model.convert import decode
from raidtui.model.disk import Disk
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Where
from raidtui.tui.compose.document import at
from raidtui.tui.draft import Draft, is_of_hosts, role_names


def short_roles(draft: Draft) -> dict[str, int]:
    """Return the roles that have fewer disks than they count, with the number of missing ones."""
    missing = {}
    for name in role_names(draft):
        count = at(draft.document, ("roles", name, "count"), None)
        if is_of_hosts(draft, name):
            continue  # none of these disks is known here
        if isinstance(count, int) and (lacking := count - len(draft.bind.get(name, ()))) > 0:
            missing[name] = lacking
    return missing


def filled(draft: Draft, disks: Sequence[Disk], roles: Sequence[str]) -> tuple[Draft, dict[str, int]]:
    """Return the draft with free disks for these roles, and the roles that still lack disks with how many."""
    bind, lacking = {name: list(ids) for name, ids in draft.bind.items()}, short_roles(draft)
    for name in roles:
        taken = {disk for ids in bind.values() for disk in ids}
        chosen = bind.setdefault(name, [])
        fitting = [disk for disk in disks if disk.free and disk.id not in taken and _fits(draft, name, disk)]
        new = _alike(fitting, [disk for disk in disks if disk.id in chosen])[: lacking.get(name, 0)]
        chosen += [disk.id for disk in new]
    made = draft._replace(bind={name: tuple(ids) for name, ids in bind.items() if ids})
    return made, {name: short for name, short in short_roles(made).items() if name in roles}


def _fits(draft: Draft, role: str, disk: Disk) -> bool:
    where: Any = at(draft.document, ("roles", role, "where"), {})
    try:
        return decode(Where, where).mismatch(disk) is None
    except ProblemError:
        return False


def _alike(fitting: Sequence[Disk], chosen: Sequence[Disk]) -> list[Disk]:
    """Return the disks in the order of choice: those like the chosen ones, then those of which there are most."""
    like = {_sort(disk) for disk in chosen}
    count = {kind: sum(_sort(disk) == kind for disk in fitting) for kind in set(map(_sort, fitting))}
    place = {disk.id: number for number, disk in enumerate(fitting)}
    return sorted(fitting, key=lambda disk: (_sort(disk) not in like, -count[_sort(disk)], _sort(disk), place[disk.id]))


def _sort(disk: Disk) -> tuple[str, int, str]:
    return disk.model, disk.size_bytes, disk.transport


def words(lacking: dict[str, int]) -> Iterator[str]:
    """Yield which roles still lack disks."""
    for name, count in lacking.items():
        yield f"{name} still needs {count} more: no other free disk fits its conditions"
