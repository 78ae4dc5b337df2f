"""Verdicts and the draft that they belong to: what of an older preview may still be shown. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from msgspec import structs

from raidtui.model.describe import LayerView, LayoutView, Preview, Setting, WorkloadView
from raidtui.model.disk import Disk
from raidtui.tui.compose.document import at, path_of
from raidtui.tui.draft import Draft

_KEPT: Final = 20
_SHARED: Final = ("roles", "policy", "hosts")
"""Parts of a scenario that the verdict on every layout and workload depends on."""


class Judged(NamedTuple):
    """A preview with what it was made for."""

    preview: Preview
    draft: Draft
    disks: tuple[Disk, ...]
    lineage: int
    """`History.lineage` of the draft."""


class Verdicts:
    """The latest previews; the current draft gets its own, or what still holds of the one before it."""

    def __init__(self) -> None:
        self._latest: Judged | None = None
        self._kept: dict[str, Judged] = {}

    def take(self, judged: Judged) -> None:
        self._latest = judged
        key = _key(judged.draft)
        self._kept.pop(key, None)
        self._kept[key] = judged
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]

    def of(self, draft: Draft, disks: tuple[Disk, ...], lineage: int) -> tuple[Preview | None, bool]:
        """Return what may be shown for a draft, and True if it is the engine's answer to this very draft.

        Of another draft (undone, begun anew) nothing is shown, even if its layouts have the same names.
        """
        latest = self._latest
        if latest is not None and (latest.draft, latest.disks) == (draft, disks):
            return latest.preview, True
        kept = self._kept.get(_key(draft))
        if kept is not None and (kept.draft, kept.disks) == (draft, disks):
            self._latest = kept._replace(lineage=lineage)
            return kept.preview, True
        if latest is None or latest.lineage != lineage:
            return None, False
        return _still(latest, draft), False


def _key(draft: Draft) -> str:
    return json.dumps([draft.document, draft.bind])


def _still(judged: Judged, draft: Draft) -> Preview:
    """Return a preview without the verdicts on what was changed since."""
    before, now = judged.draft.document, draft.document
    shared = judged.draft.bind == draft.bind and all(before.get(part) == now.get(part) for part in _SHARED)
    layouts, loads = _entries(now, "layouts"), _entries(now, "workloads")
    same = {name for name, entry in layouts.items() if shared and _entries(before, "layouts").get(name) == entry}
    same_loads = {name for name, entry in loads.items() if shared and _entries(before, "workloads").get(name) == entry}
    problems = tuple(
        problem for problem in judged.preview.problems
        if at(before, place := path_of(before, problem.place)) == at(now, place)
    )  # fmt: skip
    return structs.replace(
        judged.preview,
        layouts=tuple(
            view if view.name in same else _unjudged(view) for view in judged.preview.layouts if view.name in layouts
        ),
        workloads=tuple(
            view if view.name in same_loads else _unjudged_load(view)
            for view in judged.preview.workloads if view.name in loads
        ),
        problems=problems,
    )  # fmt: skip


def _unjudged(view: LayoutView) -> LayoutView:
    stack = None if view.stack is None else _unjudged_layer(view.stack)
    return structs.replace(view, stack=stack, problems=(), warnings=())


def _unjudged_layer(view: LayerView) -> LayerView:
    inputs = {
        name: tuple(_unjudged_layer(one) if isinstance(one, LayerView) else one for one in below)
        for name, below in view.inputs.items()
    }
    return structs.replace(view, inputs=inputs, settings=_allowed(view.settings), problems=())


def _unjudged_load(view: WorkloadView) -> WorkloadView:
    return structs.replace(view, problems=(), warnings=(), settings=_allowed(view.settings))


def _allowed(settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
    return tuple(structs.replace(setting, refused="", refused_choices={}) for setting in settings)


def _entries(document: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    found = document.get(section)
    return found if isinstance(found, Mapping) else {}
