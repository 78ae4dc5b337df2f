"""Table of disks, and the details of the disk under its cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from raidtui.base.text import clean, clean_lines
from raidtui.model.disk import Disk
from raidtui.tui.disks.entries import (
    WORN_PERCENT,
    Entry,
    best_link_words,
    fact_grid,
    hanging,
    link_words,
    reasons_of,
    state_words,
    temperature_words,
    used_by,
    wear_words,
)
from raidtui.tui.disks.overview import overview
from raidtui.tui.widgets.glyphs import Glyphs, glyphs
from raidtui.tui.widgets.live_table import LiveTable
from raidtui.tui.widgets.table_line import GAP, Column
from raidtui.tui.widgets.table_view import MARK_WIDTH, Rows

if TYPE_CHECKING:
    from raidtui.model.smart import Smart


class Field(NamedTuple):
    """A possible column of the table."""

    key: str
    title: str
    least: int
    """Narrowest useful width in cells."""
    most: int
    help: str
    words: Callable[[Entry, Glyphs], str | Text]
    right: bool = False


def _state(entry: Entry, signs: Glyphs) -> Text:
    facts = entry.facts
    style = "alert" if facts.gone else "good" if facts.free else "dim"
    return Text(state_words(facts, signs), style=style)


def _link(entry: Entry, signs: Glyphs) -> str | Text:
    link = entry.facts.disk.link if entry.facts.disk else None
    words = link_words(link, signs)
    return Text(words, style="warn") if link is not None and link.below_maximum else words


def _wear(entry: Entry, signs: Glyphs) -> str | Text:
    disk = entry.facts.disk
    words = wear_words(disk, signs)
    return Text(words, style="warn") if disk and (disk.wear_percent or 0) >= WORN_PERCENT else words


_FIELDS = (
    Field("state", "state", 8, 8, "State: free, used, system or gone", _state),
    Field("model", "model", 12, 30, "Model name that the disk reports", lambda e, s: e.facts.model or s.absent),
    Field("serial", "serial", 8, 24, "Identity of the disk: its serial, or its WWN", lambda e, s: e.facts.serial),
    Field("size", "size", 8, 8, "In binary units", lambda e, s: e.facts.size or s.absent, right=True),
    Field("kind", "kind", 6, 10, "Transport and medium", lambda e, s: e.facts.kind or s.absent),
    Field("name", "now", 7, 10, "The kernel's name at this moment", lambda e, s: e.facts.name or s.absent),
    Field("link", "PCIe", 8, 10, "PCIe generation and lanes; a sign where it could do more", _link),
    Field("temperature", "temp", 5, 5, "Temperature", lambda e, s: temperature_words(e.facts.disk, s), right=True),
    Field("wear", "wear", 5, 7, "Share of the rated endurance that is used up", _wear, right=True),
    Field("role", "role", 7, 16, "The role of the draft that it belongs to", lambda e, s: Text(e.role, style="accent")),
    Field("used", "used by", 16, 16, "Why it is not free", lambda e, s: e.facts.used),
)  # fmt: skip
FIELDS = {field.key: field for field in _FIELDS}
_IMPORTANCE = ("state", "serial", "size", "model", "role", "used", "kind", "link", "name", "temperature", "wear")
"""Columns by importance: the first are shown first."""


def fit_columns(entries: Sequence[Entry], width: int, signs: Glyphs) -> tuple[Column, ...]:
    """Return the columns that fit; spare width goes to the serial first, to the model last."""
    wanted = {key: _needed_width(field, entries, signs) for key, field in FIELDS.items()}
    left = width - MARK_WIDTH - GAP
    widths: dict[str, int] = {}
    for key in _IMPORTANCE:
        least = FIELDS[key].least
        if key != "used":
            least = min(wanted[key], 16 if key == "serial" else least)
        if left < least + GAP and widths:
            continue
        widths[key] = least
        left -= least + GAP
    for key in ("serial", "kind", "link", "wear", "name", "role", "model"):
        if key in widths and left > 0:
            more = min(left, max(0, wanted[key] - widths[key]))
            widths[key] += more
            left -= more
    stretch = "used" if "used" in widths else "model"
    return tuple(
        Column(f.key, f.title, widths[f.key], "right" if f.right else "left", f.help, flexible=f.key == stretch)
        for f in _FIELDS
        if f.key in widths
    )


def _needed_width(field: Field, entries: Sequence[Entry], signs: Glyphs) -> int:
    """Return the width at which no value is cut, within the field's limits."""
    if field.least == field.most:
        return field.most
    longest = max((len(field.words(entry, signs)) for entry in entries), default=0)
    return min(field.most, max(len(field.title) + 1, longest))


class DiskRows(Rows):
    """Table rows of the entries, for the columns that fit."""

    def __init__(self, entries: Sequence[Entry], columns: Sequence[Column], signs: Glyphs, used_room: int) -> None:
        self.keys = [entry.id for entry in entries]
        self._entries = {entry.id: entry for entry in entries}
        self._fields = [FIELDS[column.key] for column in columns]
        self._signs = signs
        self._used_room = used_room
        self._serial_room = next((column.width for column in columns if column.key == "serial"), 0)

    def cells(self, key: str) -> Sequence[str | Text]:
        entry = self._entries[key]
        own = {"used": self._used, "serial": self._serial}
        return [own[field.key](entry) if field.key in own else field.words(entry, self._signs) for field in self._fields]

    def state(self, key: str) -> str:
        facts = self._entries[key].facts
        return "alert" if facts.gone else "" if facts.free else "dim"

    def _serial(self, entry: Entry) -> str:
        """Return the serial, cut at its start: the end tells disks of a batch apart and is typed for consent."""
        serial, room = entry.facts.serial, self._serial_room
        return serial if len(serial) <= room else glyphs().ellipsis + serial[len(serial) - room + 1 :]

    def _used(self, entry: Entry) -> str:
        """Return the use of a disk; the count of further reasons is never cut."""
        facts = entry.facts
        if entry.progress:
            return f"freeing {entry.progress}"
        return facts.used if facts.gone or facts.disk is None else used_by(facts.disk, self._used_room)


class DiskTable(LiveTable):
    """Table of disks; free ones can be selected.

    A LiveTable, not a DataTable: the list changes while it is shown, and only changed lines are sent.
    """

    HELP = """\
## Disks

A disk is free when every check says so; only free disks can be selected. **space** selects the disk under the cursor,
**shift** and up or down a range, **a** all free disks of the same model and size. **r** gives the selected disks to a role
of the draft, **x** takes them out of theirs. **enter** shows all facts about the disk, and how to free it. **f** frees the
disk under the cursor: it shows what is left on it, and erases that after you typed your consent, if nobody uses it.

The list is updated continuously, and the head shows its age; **ctrl+r** looks at every disk now. If the draft has other
hosts, **h** goes from one to the next: system, network and disks of each, as it was when it was asked.

`/` filters by what you type: serial, model, kind, size, name, role, state, and what uses the disk.
`<`, `>` and a click on a title sort.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "space", "select", "Select", id="table.select", tooltip="Select the disk, or no longer; says why it cannot be"
        ),
        Binding("enter", "choose", "Details", id="table.open", tooltip="Details of the disk under the cursor"),
        # Columns always fit here: `h` is not needed to go to the left.
        Binding("h", "host(1)", "Hosts", id="disks.host", tooltip="The next host of the draft"),
    ]

    def __init__(self, selectable: Callable[[str], bool], *, id: str, empty: str) -> None:
        super().__init__((), id=id, empty=empty, multi=True, selectable=selectable)
        self._entries: Sequence[Entry] = ()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "host":
            return self.screen.check_action(action, parameters)
        return super().check_action(action, parameters)

    async def action_host(self, by: int) -> None:
        await self.screen.run_action(f"host({by})")

    def present(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        columns = fit_columns(entries, self.size.width, glyphs())
        if columns != self.columns:
            self.columns = columns
        taken = sum(column.width + GAP for column in columns if column.key != "used")
        used_room = self.size.width - MARK_WIDTH - GAP - taken - GAP
        self.show(DiskRows(entries, columns, glyphs(), used_room))

    def on_resize(self, event: events.Resize) -> None:
        self.present(self._entries)


class Detail(VerticalScroll):
    """Details of the disk under the cursor, or of the clusters."""

    HELP = """\
## Details

All facts about this disk, every reason why it is not free, and how to free it; after **c** the storage clusters. **tab**
goes back.
"""


def detail(
    entry: Entry | None, signs: Glyphs, beside: Sequence[Entry] = (), smart: Smart | None = None
) -> RenderableType:  # fmt: skip
    """Return the content of the details pane.

    `beside`: all disks of its server, where there is room to compare it with them. `smart`: its SMART data, if known.
    """
    if entry is None:
        return Text("No disk is under the cursor.", style="dim")
    facts, disk = entry.facts, entry.facts.disk
    heading = Text(facts.model or "unknown model", style="bold", overflow="ellipsis", no_wrap=True)
    role = f", in role {entry.role}" if entry.role else ""
    state = Text(state_words(facts, signs) + role)
    known = fact_grid([("serial", facts.serial)] if disk is None else _known(disk, signs, smart))
    return Group(heading, state, Text(), *_availability(entry, signs), Text(), known,
                 *overview(entry, beside, signs))  # fmt: skip


def _known(disk: Disk, signs: Glyphs, smart: Smart | None) -> Iterator[tuple[str, str]]:
    """Yield identity, attachment and condition of a disk."""
    yield "id", clean(disk.id)
    if disk.serial != disk.id:
        yield "serial", clean(disk.serial) or signs.absent
    yield "WWN", clean(disk.wwid) or signs.absent
    yield "firmware", clean(disk.firmware) or signs.absent
    yield "size", _size(disk)
    logical, physical = disk.logical_sector_bytes, disk.physical_sector_bytes
    yield "sectors", f"{logical} B" if logical == physical else f"{logical} B logical, {physical} B physical"
    medium = "unknown medium" if disk.rotational is None else "rotating" if disk.rotational else "not rotating"
    yield "attached", f"{clean(disk.transport) or 'unknown'}, {medium}"
    yield "name now", clean(disk.path)
    if disk.link is not None:
        words = link_words(disk.link, signs)
        yield "PCIe link", f"{words} below its maximum, {best_link_words(disk.link)}" if disk.link.below_maximum else words
    yield "NUMA node", signs.absent if disk.numa_node is None else str(disk.numa_node)
    yield "scheduler", clean(disk.scheduler) if disk.scheduler else signs.absent
    yield "write cache", clean(disk.write_cache) if disk.write_cache else signs.absent
    yield "discard", "yes" if disk.discard else "no"
    yield "temperature", temperature_words(disk, signs)
    yield "wear", f"{wear_words(disk, signs)} of the rated endurance" if disk.wear_percent is not None else signs.absent
    if smart is not None:
        from raidtui.front.smart import smart_rows  # the first frame does without it

        yield from smart_rows(smart, wear=disk.wear_percent is None)


def _size(disk: Disk) -> str:
    """Return the size as printed on the disk and in bytes: `1.92 TB (1,920,383,410,176 bytes)`."""
    value, unit = float(disk.size_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit} ({disk.size_bytes:,} bytes)"


def _availability(entry: Entry, signs: Glyphs) -> Iterator[RenderableType]:
    """Yield why the disk is not free and how to free it, or the keys for a free disk."""
    facts = entry.facts
    if entry.progress:
        yield Text(f"It is being freed, {entry.progress}.", style="bold")
        yield Text("It goes on while you do something else; the list shows when it is free.", style="dim")
    elif facts.gone:
        yield Text(f"gone: {facts.serial}", style="bold")
        yield Text(
            f"The disk belongs to role {entry.role} but is missing. It is used again once it is back; x takes it out."
        )
    elif facts.free:
        yield Text("Free: nothing was found on it and nothing uses it.", style="bold")
        if facts.disk is not None and facts.disk.look is not None:
            from raidtui.front.phrases import look_line  # the first frame does without it

            yield Text(f"{look_line(facts.disk.look)}.")
        if entry.freeing is not None and entry.freeing.saved:
            where = f"{clean(entry.freeing.saved)} on the server."
            yield Text(f"raidtui freed it. Its first and last 4 MiB as they were: {where}")
        keys = "x takes it out of its role." if entry.role else "space selects it, r gives it to a role."
        yield Text(keys, style="dim")
    elif facts.disk is not None:
        yield Text("Not free:", style="bold")
        for reason in reasons_of(facts.disk):
            yield hanging(signs.bad, Text(f"{clean(reason.message)} [{clean(reason.code)}]"))
            unfreeable = "it cannot be freed: the running system uses it" if reason.system else ""
            if remedy := reason.remedy or unfreeable:
                yield hanging(f"  {signs.remedy}", Text(clean_lines(remedy), style="dim"))
        if facts.state == "used":
            yield Text("f erases what is on it, if nobody uses it; you are asked first.", style="dim")
