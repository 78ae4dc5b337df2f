"""The scenario that is being composed: plain JSON data, changed only as a whole, so that every change can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from raidtui.model.scenario import SCHEMA

MAX_UNDO: Final = 200


class Draft(NamedTuple):
    """A scenario in the making, and the disks chosen for its roles. Never changed in place."""

    document: Mapping[str, Any]
    """As a scenario file has it (`raidtui.scenario/1`), perhaps unfinished."""
    bind: Mapping[str, tuple[str, ...]] = {}
    """Role → ids of its disks, in order."""


EMPTY: Final = Draft({"schema": SCHEMA, "name": "my-layouts", "roles": {}, "layouts": {}, "workloads": {}, "policy": {}})


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
        return self.draft != self.saved

    def change(self, draft: Draft, what: str) -> bool:
        """Take the next draft; `what` names the change, as in `undo: add raid5`. False when nothing changed."""
        if draft == self.draft:
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
