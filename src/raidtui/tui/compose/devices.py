"""What may stand in an input of a layer: roles, and layers that are there already. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from raidtui.base.text import clean
from raidtui.tui.compose.layers import layer_at
from raidtui.tui.compose.paths import MISSING

NEW_LAYER: Final = "a layer …"
NOTHING: Final = "nothing"


def entries(value: Any, roles: Mapping[str, str]) -> tuple[list[tuple[str, Any]], list[str], dict[str, str]]:
    """What can be chosen, each with its source; what of it is taken; and a note for some.

    `roles` are those that there are, with what is said of each.
    """
    taken = _several(value)
    found: list[tuple[str, Any]] = [(f"@{role}", f"@{role}") for role in roles]
    notes = {f"@{role}": note for role, note in roles.items()}
    for number, source in enumerate(taken):
        layer = layer_at(source, ())
        if layer is not None:
            name = f"{clean(layer.kind, 30)} {number + 1}" if len(taken) > 1 else clean(layer.kind, 30)
            found.append((name, source))
            notes[name] = "a layer of its own"
        elif all(source != known for _, known in found):
            found.append((clean(source, 60), source))
            notes[clean(source, 60)] = "there is no such role"
    found += [(NEW_LAYER, None), (NOTHING, MISSING)]
    notes[NEW_LAYER] = "put a new layer in here, on what is there now"
    chosen = [name for name, source in found if source in taken] or [NOTHING]
    return found, chosen, notes


def alone(value: Any, source: Any) -> Any:
    """The input with `source` and nothing else."""
    return MISSING if source is MISSING else source


def toggled(value: Any, source: Any) -> Any:
    """The input with `source` added, or without it where it was there."""
    if source is MISSING:
        return MISSING
    taken = _several(value)
    left = [each for each in taken if each != source] if source in taken else [*taken, source]
    return MISSING if not left else left[0] if len(left) == 1 else left


def _several(value: Any) -> list[Any]:
    if value is MISSING:
        return []
    return list(value) if isinstance(value, list) else [value]
