"""Sentences of the screen Disks: the table's title, why it is empty, and why a disk cannot be selected or freed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from raidtui.base.text import clean
from raidtui.tui.disks.entries import Entry, reasons_of, used_by

if TYPE_CHECKING:
    from raidtui.model.host_view import HostView
    from raidtui.tui.shared import SharedApp


def empty_words(app: SharedApp, host: HostView | None, listed: bool, filtered: str) -> str:
    """Return why no disk is shown. `host`: the marked one, if it is not the storage server; `listed`: it has disks."""
    if host is not None and not listed:
        ref = clean(host.ref, 40)
        if host.waits_for:
            return f"{ref} has not answered yet …"
        return f"No disks were found on {ref}." if host.kernel else f"{ref} was not seen.\nctrl+r asks again"
    if app.disks is None:
        there = clean(app.place, 60)
        return f"connecting to {there} …" if app.link_state.problem is None else f"{there} does not answer yet"
    if not listed:
        return f"No disks were found on {clean(app.disks.host, 60)}.\nThey appear here as soon as they are plugged in."
    return f"No disk fits the filter: {clean(filtered, 40)}\nesc clears it"


def not_selectable(entry: Entry) -> str:
    """Return why a disk cannot be selected, with the first way out."""
    facts = entry.facts
    if facts.disk is None or facts.gone:
        return f"{facts.serial} cannot be selected: {facts.used or 'the disk is missing'}"
    remedies = [clean(reason.remedy) for reason in reasons_of(facts.disk) if reason.remedy]
    words = [f"{facts.serial} is not free: {used_by(facts.disk)}"]
    words += ["The running system uses it; it cannot be freed."] if facts.state == "system" else remedies[:1]
    return "\n".join(words)


def not_freeable(entry: Entry, host: HostView | None) -> str:
    """Return why the engine need not be asked to free a disk; empty if it has to be asked."""
    serial = entry.facts.serial
    if host is not None:
        return f"a disk of {clean(host.ref, 40)} is freed there: raidtui --on {clean(host.address, 60)}"
    if entry.facts.gone:
        return f"{serial} is gone"
    if entry.progress:
        return f"{serial} is being freed, {entry.progress}"
    return f"{serial} is free: there is nothing on it to erase" if entry.facts.free else ""


def title_parts(host: HostView | None, entries: Collection[Entry], picked: int, shown: int | None) -> Iterator[str]:
    """Yield the parts of the table's title. `host`: if it is not the storage server; `shown`: disks that fit the filter."""
    there = [entry for entry in entries if not entry.facts.gone]
    yield "Disks" if host is None else f"Disks of {clean(host.ref, 40)}"
    if there:
        yield f"{len(there)}"
        yield f"{sum(entry.facts.free for entry in there)} free"
    if gone := len(entries) - len(there):
        yield f"{gone} gone"
    if picked:
        yield f"{picked} selected"
    if shown is not None:
        yield f"{shown} shown"
