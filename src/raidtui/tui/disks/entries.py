"""Disks as table rows: their facts as text, sorted and filtered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text

from raidtui.base.text import clean
from raidtui.model.disk import Disk, Link, Reason, host_of, names_of, on_host, plain_role
from raidtui.model.units import size_text
from raidtui.tui.draft import Draft, roles_of
from raidtui.tui.shared import Freeing
from raidtui.tui.widgets.glyphs import Glyphs

_GENERATIONS = {2.5: "1.0", 5.0: "2.0", 8.0: "3.0", 16.0: "4.0", 32.0: "5.0", 64.0: "6.0"}
"""PCIe generation by its speed in GT/s."""

WORN_PERCENT = 90.0
"""Wear from which a disk is flagged, in percent."""


class Facts(NamedTuple):
    """Facts of one present or missing disk, as text cleaned for display."""

    id: str
    """Id used by the engine and the draft; not cleaned for display."""
    disk: Disk | None
    """None if only the id is known."""
    gone: bool
    serial: str
    model: str
    size: str
    kind: str
    name: str
    used: str
    search_text: str
    """Text that filters search, in lower case."""

    @property
    def free(self) -> bool:
        return not self.gone and self.disk is not None and self.disk.free

    @property
    def state(self) -> str:
        """`free`, `used`, `system` (the running system uses it, so that it cannot be freed) or `gone`."""
        if self.gone or self.free:
            return "gone" if self.gone else "free"
        return "system" if self.disk is not None and any(reason.system for reason in self.disk.reasons) else "used"


def facts_of(disk: Disk) -> Facts:
    """Return the facts of a present disk."""
    kind, size = kind_words(disk), size_text(disk.size_bytes)
    used = used_by(disk)
    reasons = " ".join(clean(reason.message) for reason in disk.reasons)
    words = (clean(disk.id), clean(disk.serial), clean(disk.wwid), clean(disk.model), size, kind, clean(disk.name), reasons)
    return Facts(disk.id, disk, False, clean(disk.id), clean(disk.model), size, kind, clean(disk.name), used,
                 " ".join(dict.fromkeys(words)).casefold())  # fmt: skip


def gone_facts(id_: str, last: Facts | None) -> Facts:
    """Return the facts of a chosen disk that is missing; `last` are its facts when it was last seen."""
    words = f"gone: {clean(id_)}"
    if last is None:
        return Facts(id_, None, True, clean(id_), "", "", "", "", words, words.casefold())
    return last._replace(gone=True, name="", used=words, search_text=f"{last.search_text} {words.casefold()}")


def kind_words(disk: Disk) -> str:
    """Return transport and, if known, medium: `nvme`, `sas/hdd`, `virtio/ssd`."""
    if disk.transport == "nvme":
        return "nvme"
    medium = "" if disk.rotational is None else "hdd" if disk.rotational else "ssd"
    return "/".join(word for word in (clean(disk.transport, 20), medium) if word)


def reasons_of(disk: Disk) -> tuple[Reason, ...]:
    """Return the reasons why a disk is not free. A holding run comes first: what it built must not be undone by hand."""
    return tuple(sorted(disk.reasons, key=lambda reason: reason.code != "held"))


def used_by(disk: Disk, room: int | None = None) -> str:
    """Return the first reason why a disk is not free and the count of further ones, in `room` cells."""
    if not disk.reasons:
        return ""
    first, more = clean(reasons_of(disk)[0].message), len(disk.reasons) - 1
    tail = f" +{more} more" if more else ""
    if room is not None and len(first) + len(tail) > room > len(tail) + 4:
        first = first[: room - len(tail) - 1].rstrip() + "…"
    return first + tail


def link_words(link: Link | None, signs: Glyphs) -> str:
    """Return `4.0 x4`, with a sign if it is below its maximum."""
    if link is None or link.speed_gts is None or link.width is None:
        return signs.absent
    return f"{_speed(link.speed_gts)} x{link.width}{' ' + signs.below if link.below_maximum else ''}"


def best_link_words(link: Link) -> str:
    """Return the best link that both ends support: `4.0 x4`."""
    speed = "?" if link.max_speed_gts is None else _speed(link.max_speed_gts)
    return f"{speed} x{'?' if link.max_width is None else link.max_width}"


def _speed(gts: float) -> str:
    return _GENERATIONS.get(gts, f"{gts:g} GT/s")


def temperature_words(disk: Disk | None, signs: Glyphs) -> str:
    if disk is None or disk.temperature_c is None:
        return signs.absent
    return f"{disk.temperature_c:.0f} {signs.degree}"


def wear_words(disk: Disk | None, signs: Glyphs) -> str:
    """Return `3 %`, with a sign if the rated endurance is nearly used up."""
    if disk is None or disk.wear_percent is None:
        return signs.absent
    return f"{disk.wear_percent:.0f} %{' !' if disk.wear_percent >= WORN_PERCENT else ''}"


def state_words(facts: Facts, signs: Glyphs) -> str:
    """`✓ free`, `✗ used`, `✗ system`, `! gone`."""
    return f"{'!' if facts.gone else signs.good if facts.free else signs.bad} {facts.state}"


class Entry(NamedTuple):
    """One row: a disk and the role of the draft that it belongs to, if any."""

    facts: Facts
    role: str = ""
    freeing: Freeing | None = None
    """Set if it was freed, or is being freed, from this application."""

    @property
    def id(self) -> str:
        return self.facts.id

    @property
    def progress(self) -> str:
        """Return how far it is freed: `42 %: writing zeroes`; empty if it is not being freed."""
        return self.freeing.progress if self.freeing is not None else ""


class DiskEntries:
    """Entries made from the engine's disks. Remembers former disks, so that a missing one can be described."""

    def __init__(self) -> None:
        self._facts: dict[str, Facts] = {}

    def entries(self, disks: Sequence[Disk], draft: Draft) -> list[Entry]:
        """Return every disk in the engine's order, then the missing disks of the draft."""
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
    """Return disk ids by every name that identifies exactly one disk."""
    ids: dict[str, str] = {}
    twice: set[str] = set()
    for disk in disks:
        for name in names_of(disk):
            if ids.setdefault(name, disk.id) != disk.id:
                twice.add(name)
    own = {disk.id: disk.id for disk in disks}
    return {name: id_ for name, id_ in ids.items() if name not in twice} | own


def on_this_host(draft: Draft, host: str) -> Draft:
    """Return the draft with the disks of one host alone, under the ids that they have there; empty: the storage server."""
    bind = {
        plain_role(role): tuple(disk.removeprefix(on_host(host, "")) for disk in disks)
        for role, disks in draft.bind.items() if host_of(role) == host
    }  # fmt: skip
    return draft._replace(bind=bind)


def by_id(draft: Draft, disks: Sequence[Disk]) -> Draft:
    """Return the draft with disk names replaced by ids: a loaded draft may name disks by WWN."""
    ids = ids_by_name(disks)
    bind = {role: tuple(ids.get(name, name) for name in names) for role, names in draft.bind.items()}
    return draft if bind == draft.bind else draft._replace(bind=bind)


def fitting(entries: Sequence[Entry], wanted: str) -> list[Entry]:
    """Return the entries that contain every word of `wanted`, ignoring case."""
    words = wanted.casefold().split()
    return [
        one for one in entries
        if all(word in one.facts.search_text or word in one.role or word == one.facts.state for word in words)
    ]  # fmt: skip


def ordered(entries: Sequence[Entry], by: str | None, descending: bool = False) -> list[Entry]:
    """Return entries sorted by a column, absent values last; None keeps the order."""
    if by is None:
        return list(entries)
    keyed = [(order_of(entry, by), entry) for entry in entries]
    known = sorted((pair for pair in keyed if pair[0] is not None), key=lambda pair: pair[0], reverse=descending)
    return [entry for _, entry in known] + [entry for key, entry in keyed if key is None]


def order_of(entry: Entry, by: str) -> Any:
    """Return the sort key of an entry in the column `by`; None if it has no value."""
    facts, disk = entry.facts, entry.facts.disk
    words: Mapping[str, str] = {"model": facts.model, "serial": facts.serial, "kind": facts.kind, "name": facts.name,
                                "role": entry.role, "used": facts.used}  # fmt: skip
    if by in words:
        return _natural(words[by]) if words[by] else None
    if by == "state":
        return ("free", "used", "system", "gone").index(facts.state)
    if disk is None:
        return None
    if by == "link":
        link = disk.link
        return None if link is None or link.speed_gts is None or link.width is None else link.speed_gts * link.width
    return {"size": disk.size_bytes, "temperature": disk.temperature_c, "wear": disk.wear_percent}[by]


def same_model(entries: Sequence[Entry], to: Entry) -> frozenset[str]:
    """Return the ids of free disks of the same model and size, including itself if it is free."""
    if to.facts.disk is None:
        return frozenset()
    model, size = to.facts.disk.model, to.facts.disk.size_bytes
    alike = (one for one in entries if (disk := one.facts.disk) and (disk.model, disk.size_bytes) == (model, size))
    return frozenset(one.id for one in alike if one.facts.free)


def _natural(text: str) -> list[tuple[int, str]]:
    """Return a sort key that puts `nvme10n1` after `nvme9n1`."""
    parts = re.split(r"(\d+)", text)
    return [(int(part), "") if part.isdigit() and part.isascii() else (0, part.casefold()) for part in parts]


def fact_grid(rows: Iterable[tuple[str, str]], label_width: int = 11) -> Table:
    """Return a table of labels and wrapped values."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=label_width, style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in rows:
        grid.add_row(Text(label), Text(value))
    return grid


def hanging(sign: Text | str, words: Text) -> Table:
    """Return text wrapped beside a sign."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(sign) if isinstance(sign, str) else sign, words)
    return grid
