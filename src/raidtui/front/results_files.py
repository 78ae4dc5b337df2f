"""Where results go: a name of their own each, and nobody's file is ever replaced unasked."""

from __future__ import annotations

import os
import re
from pathlib import Path

from raidtui.base.files import private_folder, write_atomic
from raidtui.base.paths import state_folder
from raidtui.model.problem import fail


def results_folder() -> Path:
    return private_folder(state_folder() / "results")


def check_output(path: str | None) -> None:
    """Refuse, before anything starts, an output that could not be written at the end. Raises ProblemError (`output`)."""
    if path is None:
        return
    target = Path(path)
    if not path or path.endswith("/"):
        raise fail("output", "it is not the name of a file", place=path, remedy="Name a file.")
    try:
        taken, has_folder = target.exists() or target.is_symlink(), target.parent.is_dir()
    except OSError as error:
        raise fail("output", f"it cannot be written: {error.strerror}", place=path, remedy="Choose another name.") from None
    if taken:
        raise fail("output", "it exists already", place=path, remedy="Choose another name, or remove it first.")
    if not has_folder:
        raise fail("output", "its folder does not exist", place=path, remedy=f"Create {target.parent} first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise fail("output", "its folder cannot be written to", place=path, remedy="Choose another folder.")


def save(data: bytes, scenario: str, run: str, output: str | None) -> Path:
    """Keep a result: as `output`, else under its own name in the state folder, which the same run may write again."""
    path = Path(output) if output else results_folder() / f"{_file_name(scenario)}-{_file_name(run)}.result.json"
    write_atomic(path, data, 0o644)
    return path


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]", "_", text)[:80].lstrip(".") or "run"
