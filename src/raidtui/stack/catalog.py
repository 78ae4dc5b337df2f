"""The layers and actions that exist: every package of `stack/` with an object `LAYER`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from raidtui import stack
from raidtui.model.problem import Exit, fail
from raidtui.stack import blank
from raidtui.stack.action import STEP_ARGUMENTS, Action, BoundAction
from raidtui.stack.builder.process import LIBRARIES, TREE, require, require_modules
from raidtui.stack.layer import Layer
from raidtui.stack.tuning import apply as tuning


@cache
def all_layers() -> dict[str, Layer[Any]]:
    """Return every layer by its kind."""
    names = sorted(info.name for info in pkgutil.iter_modules(stack.__path__) if info.ispkg)
    modules = [vars(importlib.import_module(f"{stack.__name__}.{name}")) for name in names]
    return {module["LAYER"].kind: module["LAYER"] for module in modules if "LAYER" in module}


@cache
def all_actions() -> dict[str, Action[Any]]:
    """Return every action by the name that steps use."""
    of_layers = {name: action for layer in all_layers().values() for name, action in layer.actions.items()}
    modules = [layer.parameters for layer in all_layers().values() if layer.parameters is not None]
    return {**blank.ACTIONS, **tuning.actions(modules), **of_layers}


def _layers_with(actions: Collection[str]) -> list[Layer[Any]]:
    """Return the layers of which the builder does something for these actions."""
    wanted = set(actions)
    return [layer for layer in all_layers().values() if (layer.actions.keys() & wanted) - set(layer.without_builder)]


def builder_modules(actions: Collection[str]) -> list[str]:
    """Return the modules that the builder loads for the layers with these actions."""
    layers = _layers_with(actions)
    blivet = [LIBRARIES, TREE] if any(layer.built_by_blivet for layer in layers) else []
    return blivet + [module for layer in layers for module in layer.builder_modules]


def require_libraries(actions: Collection[str]) -> None:
    """Check that the libraries of the layers with these actions are installed. Raises ProblemError (`missing-library`)."""
    for layer in _layers_with(actions):
        require_modules(layer.builder_modules)
        if layer.built_by_blivet:
            require()


def bind(action: str, args: Mapping[str, Any]) -> BoundAction:
    """Return the action with its decoded arguments. Raises ProblemError (`step-arguments`)."""
    if action not in all_actions():
        raise fail(STEP_ARGUMENTS, f"there is no action {action[:60]!r}", exit=Exit.LEFT_BEHIND)
    return all_actions()[action].bind(args)
