"""The scenario that is being composed: plain JSON data, changed only as a whole, so that every change can be undone."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from raidtui.model.scenario_words import ROLE_PATTERN, SCHEMA

MAX_UNDO: Final = 200
USUAL_ROLES: Final = ("data", "journal", "spare", "cache", "log", "special")
"""Offered as names, in this order."""


class Draft(NamedTuple):
    """A scenario in the making, and the disks chosen for its roles. Never changed in place."""

    document: Mapping[str, Any]
    """As a scenario file has it (`raidtui.scenario/1`), perhaps unfinished."""
    bind: Mapping[str, tuple[str, ...]] = {}
    """Role → ids of its disks, in order."""


EMPTY: Final = Draft({"schema": SCHEMA, "name": "my-layouts", "roles": {}, "layouts": {}, "workloads": {}, "policy": {}})


def with_role(draft: Draft, name: str, disks: Sequence[str]) -> Draft:
    """These disks belong to the role `name`, after those that it has; they leave every other role."""
    left = without_disks(draft, [disk for disk in disks if disk not in draft.bind.get(name, ())])
    chosen = tuple(dict.fromkeys((*left.bind.get(name, ()), *disks)))
    if not chosen:
        return left
    roles = _roles(left)
    roles[name] = {**_given(roles.get(name)), "count": len(chosen)}
    return Draft({**left.document, "roles": roles}, {**left.bind, name: chosen})


def without_disks(draft: Draft, disks: Collection[str]) -> Draft:
    """These disks belong to no role. A role left with none stays where a layout stands on it."""
    roles, bind = _roles(draft), dict(draft.bind)
    for name, chosen in draft.bind.items():
        kept = tuple(disk for disk in chosen if disk not in disks)
        if kept == chosen:
            continue
        if kept:
            bind[name] = kept
            roles[name] = {**_given(roles.get(name)), "count": len(kept)}
        else:
            del bind[name]
            if name not in mentioned_roles(draft):
                roles.pop(name, None)
    return draft if bind == draft.bind else Draft({**draft.document, "roles": roles}, bind)


def without_role(draft: Draft, name: str) -> Draft:
    """There is no such role, and its disks belong to none. What layouts say of it stays."""
    roles, bind = _roles(draft), dict(draft.bind)
    if name not in roles and name not in bind:
        return draft
    roles.pop(name, None)
    bind.pop(name, None)
    return Draft({**draft.document, "roles": roles}, bind)


def roles_of(draft: Draft) -> dict[str, str]:
    """Disk → its role, by the id that the draft has."""
    return {disk: role for role, disks in draft.bind.items() for disk in disks}


def role_names(draft: Draft) -> tuple[str, ...]:
    """All roles of the draft, in its order."""
    return tuple(dict.fromkeys((*_roles(draft), *draft.bind)))


def next_role(draft: Draft) -> str:
    """The role that disks are most likely meant for: the first in want of disks, else the first usual name not taken."""
    wanting = [name for name in role_names(draft) if not draft.bind.get(name)]
    return next((name for name in (*wanting, *USUAL_ROLES) if not draft.bind.get(name)), USUAL_ROLES[0])


def wrong_role_name(name: str) -> str:
    """What is wrong with it as a role's name; empty where nothing is."""
    if re.match(ROLE_PATTERN, f"@{name}"):
        return ""
    return "a role's name has up to 31 small letters, digits, - and _, and begins with a letter"


def mentioned_roles(draft: Draft) -> frozenset[str]:
    """Every role that a layout mentions."""
    return frozenset(word[1:] for word in _words(draft.document.get("layouts")) if re.match(ROLE_PATTERN, word))


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _words(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _words(inner)


def _roles(draft: Draft) -> dict[str, Any]:
    """The document's roles, as far as they are any: a document may be unfinished."""
    return dict(_given(draft.document.get("roles")))


def _given(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _same(one: Draft, other: Draft) -> bool:
    """Whether two drafts are the same, the order of their entries included."""
    return one == other and json.dumps(one.document) == json.dumps(other.document)


class History:
    """The draft now, what it was before, and what was undone."""

    def __init__(self, draft: Draft = EMPTY) -> None:
        self._past: list[tuple[str, Draft]] = []
        self._future: list[tuple[str, Draft]] = []
        self.draft = draft
        self.saved = draft
        """As it last was in a file."""

    @property
    def unsaved(self) -> bool:
        return not _same(self.draft, self.saved)

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)

    def change(self, draft: Draft, what: str) -> bool:
        """Take the next draft; `what` names the change, as in `undo: add raid5`. False when nothing changed."""
        if _same(draft, self.draft):
            return False
        self._past = [*self._past[-MAX_UNDO + 1 :], (what, self.draft)]
        self._future = []
        self.draft = draft
        return True

    def undo(self) -> str | None:
        """Go back one change and say which; None when there is none."""
        if not self._past:
            return None
        what, before = self._past.pop()
        self._future.append((what, self.draft))
        self.draft = before
        return what

    def redo(self) -> str | None:
        if not self._future:
            return None
        what, after = self._future.pop()
        self._past.append((what, self.draft))
        self.draft = after
        return what
