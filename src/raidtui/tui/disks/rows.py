"""The disks as rows: those that are there, those that are chosen and gone, filtered and in order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from raidtui.model.disk import Disk, names_of
from raidtui.tui.disks.words import Facts, facts_of, gone_facts
from raidtui.tui.draft import Draft, roles_of


class Entry(NamedTuple):
    """One row: a disk and the role of the draft that it belongs to, if any."""

    facts: Facts
    role: str = ""

    @property
    def id(self) -> str:
        return self.facts.id


class Shelf:
    """Makes entries of what the engine says. Remembers disks that were there, so that one that is gone can be told of."""

    def __init__(self) -> None:
        self._facts: dict[str, Facts] = {}

    def entries(self, disks: Sequence[Disk], draft: Draft) -> list[Entry]:
        """Every disk in the engine's order, then those of the draft that are gone."""
        facts = [self._known(disk) for disk in disks]
        bound = roles_of(draft)
        there = ids_by_name(disks) if bound else {}
        roles = {there[name]: role for name, role in bound.items() if name in there}
        gone = [Entry(gone_facts(name, self._facts.get(name)), role) for name, role in bound.items() if name not in there]
        return [Entry(one, roles.get(one.id, "")) for one in facts] + gone

    def _known(self, disk: Disk) -> Facts:
        known = self._facts.get(disk.id)
        if known is None or known.disk != disk:
            known = self._facts[disk.id] = facts_of(disk)
        return known


def ids_by_name(disks: Sequence[Disk]) -> dict[str, str]:
    """The id of every disk, by each word that names this disk and no other."""
    ids: dict[str, str] = {}
    twice: set[str] = set()
    for disk in disks:
        for name in names_of(disk):
            if ids.setdefault(name, disk.id) != disk.id:
                twice.add(name)
    own = {disk.id: disk.id for disk in disks}
    return {name: id_ for name, id_ in ids.items() if name not in twice} | own


def fitting(entries: Sequence[Entry], wanted: str) -> list[Entry]:
    """Those that hold every word of `wanted`, in any case."""
    words = wanted.casefold().split()
    if not words:
        return list(entries)
    return [e for e in entries if all(word in e.facts.hay or word in e.role or word == _state(e) for word in words)]


def ordered(entries: Sequence[Entry], by: str | None, descending: bool = False) -> list[Entry]:
    """Sorted by a column, the absent last either way; None leaves them as they are."""
    if by is None:
        return list(entries)
    keyed = [(order_of(entry, by), entry) for entry in entries]
    known = sorted((pair for pair in keyed if pair[0] is not None), key=lambda pair: pair[0], reverse=descending)
    return [entry for _, entry in known] + [entry for key, entry in keyed if key is None]


def order_of(entry: Entry, by: str) -> Any:
    """What an entry is sorted by in the column `by`; None where there is nothing."""
    facts, disk = entry.facts, entry.facts.disk
    words: Mapping[str, str] = {"model": facts.model, "serial": facts.serial, "kind": facts.kind, "name": facts.name,
                                "role": entry.role, "used": facts.used}  # fmt: skip
    if by in words:
        return _natural(words[by]) if words[by] else None
    if by == "state":
        return ("free", "used", "system", "gone").index(_state(entry))
    if disk is None:
        return None
    if by == "link":
        link = disk.link
        return None if link is None or link.speed_gts is None or link.width is None else link.speed_gts * link.width
    return {"size": disk.size_bytes, "temperature": disk.temperature_c, "wear": disk.wear_percent}[by]


def alike(entries: Sequence[Entry], to: Entry) -> frozenset[str]:
    """Free disks of the same model and size, itself included if it is free."""
    if to.facts.disk is None:
        return frozenset()
    model, size = to.facts.disk.model, to.facts.disk.size_bytes
    return frozenset(
        entry.id
        for entry in entries
        if entry.facts.free and (disk := entry.facts.disk) and (disk.model, disk.size_bytes) == (model, size)
    )


def _state(entry: Entry) -> str:
    facts = entry.facts
    return "gone" if facts.gone else "free" if facts.free else "system" if facts.system else "used"


def _natural(text: str) -> list[tuple[int, str]]:
    """`nvme10n1` after `nvme9n1`."""
    return [
        (int(part), "") if part.isdigit() and part.isascii() else (0, part.casefold()) for part in re.split(r"(\d+)", text)
    ]
