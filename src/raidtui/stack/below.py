"""What an input stands on, however deep, as the scenario has it: for layers that must not stand on others of some kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def layers_below(raw: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Kind and options of every layer that is somewhere in an operand as it was written (`Operand.raw`)."""
    if isinstance(raw, list):
        for one in raw:
            yield from layers_below(one)
    if isinstance(raw, dict):
        for kind, options in raw.items():
            if isinstance(options, dict):
                yield kind, options
            yield from layers_below(options)


def stands_on(raw: Any, kind: str) -> bool:
    """Whether a layer of this kind is somewhere in an operand as it was written."""
    return any(found == kind for found, _ in layers_below(raw))
