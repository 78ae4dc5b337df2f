"""The layers there are: every module under `layers/` that offers `LAYER`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from raidtui.stack import common, layers
from raidtui.stack.layer import Action, Layer
from raidtui.stack.tuning import apply as tuning


@cache
def all_layers() -> dict[str, Layer]:
    """By kind."""
    found: dict[str, Layer] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(layers.__path__)):
        layer: Layer = importlib.import_module(f"{layers.__name__}.{module}").LAYER
        found[layer.kind] = layer
    return found


@cache
def all_actions() -> dict[str, Action]:
    """By the name that steps use."""
    of_layers = {name: action for layer in all_layers().values() for name, action in layer.actions.items()}
    return {**common.ACTIONS, **tuning.ACTIONS, **of_layers}
