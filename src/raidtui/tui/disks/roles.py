"""The dialog that asks for the role of some disks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raidtui.base.text import clean, plural
from raidtui.tui.disks.entries import Entry
from raidtui.tui.draft import USUAL_ROLES, Draft, chosen_for, next_role, role_names, wrong_role_name
from raidtui.tui.widgets.dialog import AskText, Offer

_OFFERED: Final = 6


def ask_role(draft: Draft, entries: Sequence[Entry]) -> AskText:
    """Return the dialog that asks for the role of the disks."""
    count = plural(len(entries), "disk")
    asked = [f"Which role {'is' if len(entries) == 1 else 'are'} {_names(entries)} for?"]
    if moving := [entry for entry in entries if entry.role]:
        asked.append(f"{len(moving)} of them {'leaves its' if len(moving) == 1 else 'leave their'} role for it.")
    return AskText(
        f"Role of {count}", "\n".join(asked), value=next_role(draft), check=wrong_role_name, offers=_offers(draft)
    )


def _offers(draft: Draft) -> tuple[Offer, ...]:
    """Return the roles of the draft with their number of disks, then usual names that it does not have."""
    held = {name: len(chosen_for(draft, name)) for name in role_names(draft)}
    here = [Offer(name, f"has {plural(count, 'disk')}" if count else "has no disks yet") for name, count in held.items()]
    usual = [Offer(name, "new") for name in USUAL_ROLES if name not in held]
    return tuple((here + usual)[: max(_OFFERED, len(here))])


def _names(entries: Sequence[Entry]) -> str:
    if len(entries) == 1:
        return clean(entries[0].facts.serial, 40)
    kinds = {(entry.facts.model, entry.facts.size) for entry in entries}
    same = f", {clean(entries[0].facts.model, 30)} of {entries[0].facts.size}," if len(kinds) == 1 else ""
    return f"these {len(entries)} disks{same}"
