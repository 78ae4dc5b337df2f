"""All that is known of one disk, and why it is not free."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from raidtui.base.text import clean, clean_lines
from raidtui.front.phrases import look_line
from raidtui.model.disk import Disk
from raidtui.tui.disks.rows import Entry
from raidtui.tui.disks.words import (
    Signs,
    best_link_words,
    link_words,
    reasons_of,
    state_words,
    temperature_words,
    wear_words,
)

_LABEL_WIDTH = 11


def detail(entry: Entry | None, signs: Signs) -> RenderableType:
    """For the pane beside the table."""
    if entry is None:
        return Text("No disk is under the cursor.", style="dim")
    facts, disk = entry.facts, entry.facts.disk
    heading = Text(facts.model or "unknown model", style="bold", overflow="ellipsis", no_wrap=True)
    parts: list[RenderableType] = [
        heading,
        Text(state_words(facts, signs) + _role(entry)),
        Text(),
        *_standing(entry, signs),
    ]
    parts.append(Text())
    if disk is None:
        parts.append(_facts([("serial", facts.serial)]))
    else:
        parts.append(_facts([*_identity(disk, signs), *_attachment(disk, signs), *_state(disk, signs)]))
    return Group(*parts)


def _role(entry: Entry) -> str:
    return f", in role {entry.role}" if entry.role else ""


def _facts(rows: list[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=_LABEL_WIDTH, style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in rows:
        grid.add_row(Text(label), Text(value))
    return grid


def _identity(disk: Disk, signs: Signs) -> Iterator[tuple[str, str]]:
    yield "id", clean(disk.id)
    if disk.serial != disk.id:
        yield "serial", clean(disk.serial) or signs.none
    yield "WWN", clean(disk.wwid) or signs.none
    yield "firmware", clean(disk.firmware) or signs.none
    yield "size", f"{_size(disk)}"
    logical, physical = disk.logical_sector_bytes, disk.physical_sector_bytes
    yield "sectors", f"{logical} B" if logical == physical else f"{logical} B logical, {physical} B physical"


def _size(disk: Disk) -> str:
    """`1.92 TB (1,920,383,410,176 bytes)`: as it is printed on the disk, and exactly."""
    value, unit = float(disk.size_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit} ({disk.size_bytes:,} bytes)"


def _attachment(disk: Disk, signs: Signs) -> Iterator[tuple[str, str]]:
    medium = "unknown medium" if disk.rotational is None else "rotating" if disk.rotational else "not rotating"
    yield "attached", f"{clean(disk.transport) or 'unknown'}, {medium}"
    yield "name now", clean(disk.path)
    if disk.link is not None:
        words = link_words(disk.link, signs)
        yield "PCIe link", f"{words} below its maximum, {best_link_words(disk.link)}" if disk.link.below_maximum else words
    yield "NUMA node", signs.none if disk.numa_node is None else str(disk.numa_node)


def _state(disk: Disk, signs: Signs) -> Iterator[tuple[str, str]]:
    yield "scheduler", clean(disk.scheduler) if disk.scheduler else signs.none
    yield "write cache", clean(disk.write_cache) if disk.write_cache else signs.none
    yield "discard", "yes" if disk.discard else "no"
    yield "temperature", temperature_words(disk, signs)
    yield "wear", f"{wear_words(disk, signs)} of the rated endurance" if disk.wear_percent is not None else signs.none


def _standing(entry: Entry, signs: Signs) -> Iterator[RenderableType]:
    """Why it is not free and what would free it; what can be done with it where it is."""
    facts = entry.facts
    if facts.gone:
        yield Text(f"gone: {facts.serial}", style="bold")
        yield Text(
            f"It was chosen for role {entry.role} and is not there. It counts again when it is back; x takes it out."
        )
    elif facts.free:
        yield Text("Free: nothing was found on it and nothing uses it.", style="bold")
        if facts.disk is not None and facts.disk.look is not None:
            yield Text(f"{look_line(facts.disk.look)}.")
        yield Text("x takes it out of its role." if entry.role else "space selects it, r gives it to a role.", style="dim")
    elif facts.disk is not None:
        yield Text("Not free:", style="bold")
        for reason in reasons_of(facts.disk):
            yield _hanging(signs.used, Text(f"{clean(reason.message)} [{clean(reason.code)}]"))
            remedy = (
                "nothing frees it: the running system stands on it"
                if reason.system and not reason.remedy
                else reason.remedy
            )
            if remedy:
                yield _hanging(f"  {signs.remedy}", Text(clean_lines(remedy), style="dim"))


def _hanging(sign: str, words: Text) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(sign), words)
    return grid
