"""Draft of a scenario: plain JSON data that is replaced as a whole, so that every change can be undone."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from raidtui.model.disk import host_of, on_host, plain_role
from raidtui.model.scenario_words import ROLE_PATTERN, SCHEMA

MAX_UNDO: Final = 200
USUAL_ROLES: Final = ("data", "journal", "spare", "cache", "log", "special")
"""Suggested role names, in this order."""


class Draft(NamedTuple):
    """An unfinished scenario, and the disks chosen for its roles. Never changed in place."""

    document: Mapping[str, Any]
    """Content of a scenario file (`raidtui.scenario/1`), perhaps unfinished."""
    bind: Mapping[str, tuple[str, ...]] = {}
    """Role → ids of its disks, in order; host and role for disks of other hosts (`model.disk.on_host`)."""


EMPTY: Final = Draft({"schema": SCHEMA, "name": "my-layouts", "roles": {}, "layouts": {}, "workloads": {}, "policy": {}})


def with_role(draft: Draft, name: str, disks: Sequence[str], host: str = "") -> Draft:
    """Add disks to the end of the role `name` and remove them from every other role. `host`: that has them, or empty.

    A role that had disks of the storage server is one of the host's group then, and the other way round.
    """
    key, group = on_host(host, name), group_in(host)
    left = without_disks(draft, [disk for disk in disks if disk not in draft.bind.get(key, ())])
    chosen = tuple(dict.fromkeys((*left.bind.get(key, ()), *disks)))
    if not chosen:
        return left
    roles, of_role = _roles(left), _given(_roles(left).get(name))
    roles[name] = {**{key: value for key, value in of_role.items() if key != "host"}, "count": len(chosen)}
    if group:
        roles[name]["host"] = group
    kept = {one: ids for one, ids in left.bind.items() if plain_role(one) != name or group_in(host_of(one)) == group}
    return Draft({**left.document, "roles": roles}, {**kept, key: chosen})


def group_in(host: str) -> str:
    """Return the group of a host by its name (`nodes-1`); empty for the storage server."""
    return host.rpartition("-")[0]


def is_of_hosts(draft: Draft, name: str) -> bool:
    """Return True if the disks of a role are those of other hosts."""
    host = _given(_roles(draft).get(name)).get("host")
    return host is not None and host not in names_in(draft, "hosts")[:1]


def chosen_for(draft: Draft, name: str) -> tuple[str, ...]:
    """Return the disks of a role, on every host that has some."""
    return tuple(disk for one, disks in draft.bind.items() if plain_role(one) == name for disk in disks)


def without_disks(draft: Draft, disks: Collection[str]) -> Draft:
    """Remove disks from their roles. A role without disks stays only if a layout uses it."""
    roles, bind = _roles(draft), dict(draft.bind)
    for name, chosen in draft.bind.items():
        kept = tuple(disk for disk in chosen if disk not in disks)
        if kept == chosen:
            continue
        role = plain_role(name)
        if kept:
            bind[name] = kept
            roles[role] = {**_given(roles.get(role)), "count": len(kept)}
        else:
            del bind[name]
            if role not in mentioned_roles(draft) and not any(plain_role(other) == role for other in bind):
                roles.pop(role, None)
    return draft if bind == draft.bind else Draft({**draft.document, "roles": roles}, bind)


def without_role(draft: Draft, name: str) -> Draft:
    """Remove a role and its choice of disks. Layouts keep mentioning it."""
    roles, bind = _roles(draft), {one: ids for one, ids in draft.bind.items() if plain_role(one) != name}
    if name not in roles and len(bind) == len(draft.bind):
        return draft
    roles.pop(name, None)
    return Draft({**draft.document, "roles": roles}, bind)


def roles_of(draft: Draft) -> dict[str, str]:
    """Return the role of each disk, by the disk's id in the draft."""
    return {disk: role for role, disks in draft.bind.items() for disk in disks}


def names_in(draft: Draft, part: str) -> tuple[str, ...]:
    """Return the names of the draft's `roles`, `layouts`, `workloads` or `hosts`."""
    return tuple(_given(draft.document.get(part)))


def host_groups(draft: Draft) -> tuple[str, ...]:
    """Return the groups of hosts beside the storage server, which is the first."""
    return names_in(draft, "hosts")[1:]


def role_names(draft: Draft) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*_roles(draft), *map(plain_role, draft.bind))))


def next_role(draft: Draft) -> str:
    """Return the most likely role of selected disks: the first without disks, else the first unused suggested name."""
    wanting = [name for name in role_names(draft) if not chosen_for(draft, name)]
    return next((name for name in (*wanting, *USUAL_ROLES) if not chosen_for(draft, name)), USUAL_ROLES[0])


def wrong_role_name(name: str) -> str:
    """Return why the name is not allowed for a role; empty if it is."""
    if re.match(ROLE_PATTERN, f"@{name}"):
        return ""
    return "a role's name has up to 31 small letters, digits, - and _, and begins with a letter"


def mentioned_roles(draft: Draft) -> frozenset[str]:
    """Return every role that layouts mention."""
    return roles_mentioned(draft.document.get("layouts"))


def roles_mentioned(value: Any) -> frozenset[str]:
    """Return every role in a layout, or in a part of a scenario."""
    return frozenset(word[1:] for word in _words(value) if re.match(ROLE_PATTERN, word))


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
    return dict(_given(draft.document.get("roles")))


def _given(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _same(one: Draft, other: Draft) -> bool:
    """Return True if two drafts are equal, including the order of their entries."""
    return one == other and json.dumps(one.document) == json.dumps(other.document)


class History:
    """The current draft with undo and redo."""

    def __init__(self, draft: Draft = EMPTY) -> None:
        self._past: list[tuple[str, Draft]] = []
        self._future: list[tuple[str, Draft]] = []
        self.draft = draft
        self.saved = draft
        """Draft as last saved to a file or read from one."""
        self.lineage = 0
        """Number of times that the draft was replaced by another one, not edited: undone, done again, begun anew."""

    @property
    def unsaved(self) -> bool:
        return not _same(self.draft, self.saved)

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)

    def change(self, draft: Draft, what: str, *, anew: bool = False) -> bool:
        """Record the next draft; `what` names the change, as in `undo: add raid5`. Return False if nothing changed.

        `anew` is True for a draft that is no edit of the one before.
        """
        if _same(draft, self.draft):
            return False
        self._past = [*self._past[-MAX_UNDO + 1 :], (what, self.draft)]
        self._future = []
        self.draft = draft
        self.lineage += anew
        return True

    def undo(self) -> str | None:
        """Undo one change and return its name; None if there is none."""
        return self._step(self._past, self._future)

    def redo(self) -> str | None:
        return self._step(self._future, self._past)

    def _step(self, source: list[tuple[str, Draft]], target: list[tuple[str, Draft]]) -> str | None:
        if not source:
            return None
        what, draft = source.pop()
        target.append((what, self.draft))
        self.draft = draft
        self.lineage += 1
        return what
