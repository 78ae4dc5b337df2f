"""Giving disks to a role: what is asked, and the draft that comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raidtui.base.text import clean, plural
from raidtui.tui.disks.rows import Entry
from raidtui.tui.draft import USUAL_ROLES, Draft, next_role, role_names, with_role, without_disks, wrong_role_name
from raidtui.tui.widgets.dialog import AskText, Offer

_OFFERED = 6


def ask_role(draft: Draft, entries: Sequence[Entry]) -> AskText:
    """The dialog that asks which role these disks are for."""
    count = plural(len(entries), "disk")
    asked = [f"Which role {'is' if len(entries) == 1 else 'are'} {_names(entries)} for?"]
    if moving := [entry for entry in entries if entry.role]:
        asked.append(f"{len(moving)} of them {'leaves its' if len(moving) == 1 else 'leave their'} role for it.")
    return AskText(
        f"Role of {count}", "\n".join(asked), value=next_role(draft), check=wrong_role_name, offers=_offers(draft)
    )


def given(draft: Draft, role: str, entries: Sequence[Entry], ids: Mapping[str, str]) -> Draft:
    """The draft in which these disks belong to `role`. `ids` has the id of every disk by its names."""
    return with_role(_with_ids(draft, ids), role, [entry.id for entry in entries])


def taken(draft: Draft, entries: Sequence[Entry], ids: Mapping[str, str]) -> Draft:
    """The draft in which these disks belong to no role."""
    return without_disks(_with_ids(draft, ids), {entry.id for entry in entries})


def _with_ids(draft: Draft, ids: Mapping[str, str]) -> Draft:
    """A draft from elsewhere may name disks by WWN: the same draft, naming those that are here by their ids."""
    bind = {role: tuple(ids.get(name, name) for name in names) for role, names in draft.bind.items()}
    return draft if bind == draft.bind else draft._replace(bind=bind)


def _offers(draft: Draft) -> tuple[Offer, ...]:
    names = role_names(draft)
    here = [Offer(name, _held(draft, name)) for name in names]
    usual = [Offer(name, "new") for name in USUAL_ROLES if name not in names]
    return tuple((here + usual)[: max(_OFFERED, len(here))])


def _held(draft: Draft, name: str) -> str:
    count = len(draft.bind.get(name, ()))
    return f"has {plural(count, 'disk')}" if count else "has no disks yet"


def _names(entries: Sequence[Entry]) -> str:
    if len(entries) == 1:
        return clean(entries[0].facts.serial, 40)
    kinds = {(entry.facts.model, entry.facts.size) for entry in entries}
    same = f", {clean(entries[0].facts.model, 30)} of {entries[0].facts.size}," if len(kinds) == 1 else ""
    return f"these {len(entries)} disks{same}"
