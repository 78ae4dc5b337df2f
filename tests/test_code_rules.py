"""Rules that the code keeps and no type checker sees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from raidtui.cli.main import COMMANDS

SOURCE = Path(__file__).parent.parent / "src" / "raidtui"
FILES = sorted(SOURCE.rglob("*.py"))
FORCE = re.compile(r"^(--force|-f|-ff|-F|--force-\w+|-y|--yes)$")
MAY_NAME_FORCE = {"lab", "cli/prepare.py"}
"""The lab handles files of its own: it has no disk of anybody's. `prepare --yes` installs packages."""


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in FILES:
        yield path, ast.parse(path.read_text())


def test_nothing_is_forced() -> None:
    found = []
    for path, tree in trees():
        if {path.relative_to(SOURCE).parts[0], str(path.relative_to(SOURCE))} & MAY_NAME_FORCE:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and FORCE.match(node.value):
                found.append(f"{path}:{node.lineno} {node.value}")
            # Screens scroll by force; storage is not within their reach.
            if isinstance(node, ast.keyword) and node.arg == "force" and path.relative_to(SOURCE).parts[0] != "tui":
                found.append(f"{path}:{node.value.lineno} force=")
    assert not found


def test_nothing_is_run_by_a_shell() -> None:
    found = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "shell":
                found.append(f"{path}:{node.value.lineno} shell=")
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.system", "os.popen"):
                found.append(f"{path}:{node.lineno} {node.attr}")
    assert not found


@pytest.mark.parametrize("module", ["gi", "blivet", "libzfs_core", "rtslib_fb"])
def test_storage_libraries_are_only_under_stack(module: str) -> None:
    for path, tree in trees():
        if path.relative_to(SOURCE).parts[0] == "stack":
            continue
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.split(".")[0] == module for name in names), path


def test_permits_are_issued_by_the_gate_only() -> None:
    for path, tree in trees():
        if path.relative_to(SOURCE).parts[0] == "gate":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Permit":
                pytest.fail(f"{path}:{node.lineno} makes a permit")
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                assert "ISSUER" not in [alias.name for alias in node.names], path


def test_files_are_small_enough_to_read_in_one_sitting() -> None:
    long = {str(path.relative_to(SOURCE)): n for path in FILES if (n := len(path.read_text().splitlines())) > 420}
    assert not long


def test_the_texts_speak_of_raidtui_alone() -> None:
    root = SOURCE.parent.parent
    for path in [*FILES, *root.glob("*.md"), *root.glob("scenarios/*.json")]:
        text = path.read_text()
        assert "/work/" not in text, path
        assert not re.search(r"/root/(?!\.)\w+/raidtui", text), path


RIDDLE = re.compile(r"^(What|Whether|Of|As|How|Why|Who|That|Those|Which)\b")
NO_MODULE_NAMES = {
    "said", "lost", "gone", "called", "below", "likes", "where", "turns", "talk", "recent", "anything", "words", "meaning",
    "proof",
}  # fmt: skip
"""Words that name no duty and no thing of the field."""


def test_docstrings_can_be_read_alone() -> None:
    found = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
                continue
            text = node.value.value
            if isinstance(text, str) and RIDDLE.match(text.strip()):
                found.append(f"{path}:{node.lineno} {text[:60]}")
    assert not found


def test_modules_are_named_for_a_duty_or_a_thing_of_the_field() -> None:
    assert not [path for path, _ in trees() if path.stem in NO_MODULE_NAMES]


def test_every_problem_is_made_from_a_refusal() -> None:
    """A refusal is an UPPER_CASE constant, so that `raidtui explain` knows every code that can be printed."""
    found = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) not in ("fail", "Problem"):
                continue
            if node.args and isinstance(node.args[0], ast.Constant):
                found.append(f"{path}:{node.lineno} {ast.unparse(node.args[0])}")
    assert not found


def test_every_command_that_a_text_mentions_exists() -> None:
    """Walks the strings of the source for `raidtui WORD`, in backquotes or as a remedy."""
    known = {*COMMANDS, "engine", "runner"}
    found = []
    for path, tree in trees():
        nodes = list(ast.walk(tree))
        remedies = {id(node.value) for node in nodes if isinstance(node, ast.keyword) and node.arg == "remedy"}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                start = "(?:`|^)" if id(node) in remedies else "`"
                words = re.findall(start + r"raidtui(?: --on \S+)? ([a-z]+)", node.value)
                found += [f"{path}:{node.lineno} raidtui {word}" for word in words if word not in known]
    assert not found
