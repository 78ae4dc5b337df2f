"""Whatever the engine's side refuses or fails with, `raidtui explain` has more to say of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import raidtui
from raidtui.engine.explain import explain

SIDE = ("engine", "gate", "inventory", "load", "model", "stack", "watch")
MAKERS = ("fail", "Problem", "refusal", "_refusal")
NOT_PROBLEMS = {"note"}
"""What an observer of a run noted."""


def codes() -> Iterator[str]:
    """Every code that is written out where a problem is made."""
    root = Path(raidtui.__file__).parent
    for path in sorted(path for side in SIDE for path in (root / side).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name, first = getattr(node.func, "id", getattr(node.func, "attr", "")), node.args[0]
            if name in MAKERS and isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def test_every_code_of_the_engine_is_explained() -> None:
    known = {entry["code"] for entry in explain("")}
    found = {code.removeprefix("not-free.") for code in codes()} - NOT_PROBLEMS
    assert len(known) > 250
    assert found <= known, found - known
