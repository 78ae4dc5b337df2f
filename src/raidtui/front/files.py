"""Files of the operator: scenarios and results to read, results and comparisons to write. No existing file is replaced."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from raidtui.base.files import is_there, private_folder, write_atomic
from raidtui.base.paths import shipped_folder, state_folder
from raidtui.base.text import clean
from raidtui.model.jsonio import MAX_RESULT_BYTES, MAX_SCENARIO_BYTES
from raidtui.model.problem import Refusal, fail
from raidtui.model.refusals import FILE, JSON, OUTPUT
from raidtui.model.result import without_cells

NO_SCENARIO: Final = Refusal(
    "no-scenario",
    "No such scenario",
    "The name is neither a file nor a shipped scenario.",
    "`raidtui scenarios` lists the shipped scenarios; a path names a file.",
)

RUN: Final = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]{8}")
"""Name of a run."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._+-]{0,62}")


def read_bytes(name: str) -> bytes:
    """Return the content of a file, or of stdin for `-`. Raises ProblemError (`file`)."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(MAX_RESULT_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(MAX_RESULT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise fail(FILE, f"it cannot be read: {getattr(error, 'strerror', None) or error}", place=name,
                   remedy=_like_it(name) if isinstance(error, FileNotFoundError) else "") from None  # fmt: skip
    if len(data) > MAX_RESULT_BYTES:
        raise fail(FILE, f"it has more than {MAX_RESULT_BYTES >> 20} MiB", place=name)
    return data


def _like_it(name: str) -> str:
    """Return a question with names like this one; empty if there is none.

    They are of files in its folder, and for a name without a folder of shipped tables and of runs whose results are kept.
    """
    path = Path(name)
    try:
        found = [entry.name for entry in os.scandir(path.parent)]
        if name == path.name:
            found += [*_shipped_tables(), *_kept_runs()]
    except (OSError, ValueError):
        return ""
    near = [clean(str(path.with_name(one))) for one in get_close_matches(path.name, dict.fromkeys(found), n=3, cutoff=0.8)]
    return f"Did you mean {' or '.join(near)}?" if near else ""


def _shipped_tables() -> Iterator[str]:
    folder = shipped_folder("scenarios")
    for path in sorted((folder / "published").glob("*.json")) if folder else ():
        yield path.stem


def _kept_runs() -> Iterator[str]:
    for path in results_folder().glob("*.result.json"):
        if match := RUN.search(path.name):
            yield match[0]


def typed_path(text: str) -> Path:
    """Return the path that was typed, with the home folder in place of `~`. The `~name` of an unknown user stays."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser fails for an unknown user


def document(name: str) -> str:
    """Return the text of a scenario or result, given by path, `-` for stdin, or the name of a shipped scenario."""
    path = Path(name)
    if name != "-" and not is_there(name) and _NAME.fullmatch(name):
        path = _shipped_path(name)
    data = read_bytes(str(path))
    if len(data) > MAX_SCENARIO_BYTES:
        data = without_cells(data)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise fail(JSON, f"byte {error.start} is not UTF-8", place=str(path)) from None


def shipped() -> Iterator[tuple[str, Path]]:
    """Yield name and path of every shipped scenario, sorted by name."""
    folder = shipped_folder("scenarios")
    for path in sorted(folder.glob("*.json")) if folder else ():
        yield path.stem, path


def table_file(name: str) -> str:
    """Return `name`, or the path of the shipped table of published numbers with this name if there is no such file."""
    if name == "-" or is_there(name):
        return name
    folder = shipped_folder("scenarios")
    wanted = Path(name).name.removesuffix(".json")
    path = folder / "published" / f"{wanted}.json" if folder and _NAME.fullmatch(wanted) else None
    return str(path) if path is not None and path.is_file() else name


def _shipped_path(name: str) -> Path:
    known = dict(shipped())
    if name not in known:
        raise fail(NO_SCENARIO, f"there is neither a file nor a shipped scenario {name!r}",
                   remedy=f"Shipped scenarios: {', '.join(known) or 'none'}.")  # fmt: skip
    return known[name]


def results_folder() -> Path:
    return private_folder(state_folder() / "results")


def check_output(path: str | None) -> None:
    """Check, before anything starts, that the output can be written at the end. Raises ProblemError (`output`)."""
    if path is None:
        return
    target = Path(path)
    if not path or path.endswith("/"):
        raise fail(OUTPUT, "it is not the name of a file", place=path, remedy="Name a file.")
    try:
        taken, has_folder = target.exists() or target.is_symlink(), target.parent.is_dir()
    except OSError as error:
        raise fail(OUTPUT, f"it cannot be written: {error.strerror}", place=path, remedy="Choose another name.") from None
    if taken:
        raise fail(OUTPUT, "it exists already", place=path, remedy="Choose another name, or remove it first.")
    if not has_folder:
        raise fail(OUTPUT, "its folder does not exist", place=path, remedy=f"Create {target.parent} first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise fail(OUTPUT, "its folder cannot be written to", place=path, remedy="Choose another folder.")


def save(data: bytes, scenario: str, run: str, output: str | None) -> Path:
    """Save a result as `output`, else in the results folder, where the same run may replace it. Return its path."""
    path = Path(output) if output else results_folder() / f"{_file_name(scenario)}-{_file_name(run)}.result.json"
    write_atomic(path, data, 0o644)
    return path


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]", "_", text)[:80].lstrip(".") or "run"
