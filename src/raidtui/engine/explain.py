"""The explanations of all problem codes that the engine knows."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache
from typing import Any, Final

from raidtui.model.problem import REFUSALS, Refusal, fail

UNKNOWN_CODE: Final = Refusal(
    "unknown-code", "No such code", "raidtui does not have this problem code.", "`raidtui explain` lists all codes."
)

_BUILDER_MODULES: Final = re.compile(r"raidtui\.stack\.(builder\.(libraries|tree)|\w+\.builder)")
"""Modules that only the builder's child imports, with its libraries; they define no refusals."""


@cache
def _all() -> dict[str, tuple[str, str, str]]:
    _import_all()
    return {code: (one.title, one.why, one.way_out) for code, one in REFUSALS.items()}


def _import_all() -> None:
    """Import every module that may define a refusal, so that REFUSALS is complete."""
    for package in ("model", "inventory", "gate", "stack", "load", "engine"):
        parent = importlib.import_module(f"raidtui.{package}")
        for info in pkgutil.walk_packages(parent.__path__, f"{parent.__name__}."):
            if not _BUILDER_MODULES.fullmatch(info.name):
                importlib.import_module(info.name)


def explain(code: str) -> Any:
    """Return the explanation of one code, or of all (empty code). Raises ProblemError (`unknown-code`)."""
    known = _all()
    if not code:
        return [_entry(name) for name in sorted(known)]
    name = code.removeprefix("not-free.")
    if name not in known:
        raise fail(UNKNOWN_CODE, f"there is no problem code {code[:60]!r}", remedy=UNKNOWN_CODE.way_out)
    return _entry(name)


def _entry(code: str) -> dict[str, str]:
    title, meaning, way_out = _all()[code]
    return {"code": code, "title": title, "meaning": meaning, "way_out": way_out}
