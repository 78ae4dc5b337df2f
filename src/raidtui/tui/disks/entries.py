"""Disks as table rows: their facts as text, sorted and filtered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from raidtui.base.text import clean
from raidtui.model.disk import Disk, Link, Reason, names_of
from raidtui.model.units import size_text
from raidtui.tui.draft import Draft, roles_of

_GENERATIONS = {2.5: "1.0", 5.0: "2.0", 8.0: "3.0", 16.0: "4.0", 32.0: "5.0", 64.0: "6.0"}
"""PCIe generation by its speed in GT/s."""

WORN_PERCENT = 90.0
"""From here on, wear is flagged."""


class Signs(NamedTuple):
    """Signs that stand beside a word, so that nothing is said by colour alone."""

    free: str
    used: str
    gone: str
    below: str
    """A link that runs below its maximum."""
    remedy: str
    dot: str
    celsius: str
    none: str


UNICODE = Signs("✓", "✗", "!", "↓", "→", "·", "°C", "–")
ASCII = Signs("+", "x", "!", "!", "->", "-", "C", "-")


class Facts(NamedTuple):
    """One disk, known or gone, in harmless words."""

    id: str
    """As the engine and the draft have it: not harmless."""
    disk: Disk | None
    """None when only its id is known."""
    gone: bool
    serial: str
    model: str
    size: str
    kind: str
    name: str
    used: str
    hay: str
    """All that a filter looks into, in small letters."""

    @property
    def free(self) -> bool:
        return not self.gone and self.disk is not None and self.disk.free

    @property
    def system(self) -> bool:
        """Whether nothing could free it."""
        return self.disk is not None and any(reason.system for reason in self.disk.reasons)


def facts_of(disk: Disk) -> Facts:
    """Of a disk that is there."""
    kind, size = kind_words(disk), size_text(disk.size_bytes)
    used = used_by(disk)
    reasons = " ".join(clean(reason.message) for reason in disk.reasons)
    words = (clean(disk.id), clean(disk.serial), clean(disk.wwid), clean(disk.model), size, kind, clean(disk.name), reasons)
    return Facts(disk.id, disk, False, clean(disk.id), clean(disk.model), size, kind, clean(disk.name), used,
                 " ".join(dict.fromkeys(words)).casefold())  # fmt: skip


def gone_facts(id_: str, last: Facts | None) -> Facts:
    """Of a disk that was chosen and is not there; `last` is what it was, where it was seen."""
    words = f"gone: {clean(id_)}"
    if last is None:
        return Facts(id_, None, True, clean(id_), "", "", "", "", words, words.casefold())
    return last._replace(gone=True, name="", used=words, hay=f"{last.hay} {words.casefold()}")


def kind_words(disk: Disk) -> str:
    """`nvme`, `sas/hdd`, `virtio/ssd`: how it is attached, and whether it rotates where that is known."""
    if disk.transport == "nvme":
        return "nvme"
    medium = "" if disk.rotational is None else "hdd" if disk.rotational else "ssd"
    return "/".join(word for word in (clean(disk.transport, 20), medium) if word)


def reasons_of(disk: Disk) -> tuple[Reason, ...]:
    """Every reason why it is not free. A run that holds it stands first: what the run built there is not to be undone."""
    return tuple(sorted(disk.reasons, key=lambda reason: reason.code != "held"))


def used_by(disk: Disk, room: int | None = None) -> str:
    """The first reason why it is not free, and how many more there are: that always fits into `room` cells."""
    if not disk.reasons:
        return ""
    first, more = clean(reasons_of(disk)[0].message), len(disk.reasons) - 1
    tail = f" +{more} more" if more else ""
    if room is not None and len(first) + len(tail) > room > len(tail) + 4:
        first = first[: room - len(tail) - 1].rstrip() + "…"
    return first + tail


def link_words(link: Link | None, signs: Signs) -> str:
    """`4.0 x4`, with a sign where it is below its maximum."""
    if link is None or link.speed_gts is None or link.width is None:
        return signs.none
    return f"{_speed(link.speed_gts)} x{link.width}{' ' + signs.below if link.below_maximum else ''}"


def best_link_words(link: Link) -> str:
    """What both ends could: `4.0 x4`."""
    speed = "?" if link.max_speed_gts is None else _speed(link.max_speed_gts)
    return f"{speed} x{'?' if link.max_width is None else link.max_width}"


def _speed(gts: float) -> str:
    return _GENERATIONS.get(gts, f"{gts:g} GT/s")


def temperature_words(disk: Disk | None, signs: Signs) -> str:
    if disk is None or disk.temperature_c is None:
        return signs.none
    return f"{disk.temperature_c:.0f} {signs.celsius}"


def wear_words(disk: Disk | None, signs: Signs) -> str:
    """`3 %`, with a sign where little is left."""
    if disk is None or disk.wear_percent is None:
        return signs.none
    return f"{disk.wear_percent:.0f} %{' ' + signs.gone if disk.wear_percent >= WORN_PERCENT else ''}"


def state_words(facts: Facts, signs: Signs) -> str:
    """`✓ free`, `✗ used`, `✗ system`, `! gone`."""
    if facts.gone:
        return f"{signs.gone} gone"
    if facts.free:
        return f"{signs.free} free"
    return f"{signs.used} {'system' if facts.system else 'used'}"


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
