"""Disks that came or went since the last look, as sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from raidtui.base.text import clean, named, plural
from raidtui.model.disk import Disk
from raidtui.model.protocol import DiskList
from raidtui.model.units import size_text

_ONE_BY_ONE: Final = 3
"""Up to so many disks are named each on a line of its own."""


class Said(NamedTuple):
    """A sentence about disks."""

    words: str
    alarming: bool
    """True if a disk went that the draft has chosen."""


def changes(before: DiskList | None, now: DiskList, bind: Mapping[str, Sequence[str]]) -> Iterator[Said]:
    """Yield which disks came and went. `bind` maps each role to the ids of its disks."""
    if before is None or before.boot_id != now.boot_id:
        return
    old, new = ({disk.id: disk for disk in found.disks} for found in (before, now))
    roles = {disk: role for role, disks in bind.items() for disk in disks}
    yield from _said([disk for key, disk in old.items() if key not in new], "gone", roles)
    yield from _said([disk for key, disk in new.items() if key not in old], "there now", roles)


def _said(disks: Sequence[Disk], how: str, roles: Mapping[str, str]) -> Iterator[Said]:
    if len(disks) > _ONE_BY_ONE:
        mine = sorted({roles[disk.id] for disk in disks if disk.id in roles})
        of = f"; chosen for {named([clean(role) for role in mine], 6)}" if mine else ""
        yield Said(f"{plural(len(disks), 'disk')} are {how}{of}", bool(mine) and how == "gone")
        return
    for disk in disks:
        role = roles.get(disk.id, "")
        of = f"; role {clean(role)} has it" if role else ""
        facts = f"{clean(disk.id)} ({size_text(disk.size_bytes)} {clean(disk.model, 40)})"
        yield Said(f"disk {facts} is {how}{of}", bool(role) and how == "gone")
