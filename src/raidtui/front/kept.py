"""Scenarios kept on this machine with the disks of their roles: the library, and drafts that were never saved."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from raidtui.base.files import lock_file, newest_first, private_folder, write_atomic
from raidtui.base.paths import state_folder
from raidtui.front.deleted import put_away, put_back
from raidtui.model.jsonio import MAX_SCENARIO_BYTES, read_json
from raidtui.model.problem import ProblemError, fail
from raidtui.model.refusals import FILE

DRAFT_SCHEMA: Final = "raidtui.draft/1"
_MOST_BYTES: Final = 2 * MAX_SCENARIO_BYTES


class KeptScenario(msgspec.Struct, frozen=True):
    """Content of a file of the library, or of an unsaved draft."""

    schema: str
    document: dict[str, Any]
    """Scenario, perhaps unfinished."""
    bind: dict[str, tuple[str, ...]] = {}
    """Role → ids of its disks."""


class Kept(NamedTuple):
    """A kept scenario and its file."""

    path: Path
    when: str
    """Local time of the last change: `2026-03-01 14:05`."""
    scenario: KeptScenario

    @property
    def name(self) -> str:
        return self.path.stem


def scenarios_folder() -> Path:
    return private_folder(state_folder() / "scenarios")


def kept_scenarios() -> Iterator[Kept]:
    """Yield the scenarios of the library, the newest first. Files that cannot be read are left out."""
    yield from _read_all(scenarios_folder())


def kept_path(name: str) -> Path:
    """Return the file of a name in the library."""
    return scenarios_folder() / f"{re.sub(r'[^A-Za-z0-9._+-]+', '-', name).strip('-.') or 'scenario'}.json"


def keep(path: Path, document: Mapping[str, Any], bind: Mapping[str, tuple[str, ...]]) -> None:
    """Write a kept scenario. Raises OSError."""
    write_atomic(path, msgspec.json.encode(KeptScenario(DRAFT_SCHEMA, dict(document), dict(bind))))


def delete_kept(path: Path) -> Path:
    """Move a scenario out of the library, and return its new path. Raises ProblemError (`file`)."""
    return put_away(path, _deleted_folder())


def bring_back_kept() -> Path:
    """Undo the latest deletion of a scenario of the library. Raises ProblemError (`file`)."""
    latest = next((path for _, path in newest_first(_deleted_folder(), "*.json")), None)
    if latest is None:
        raise fail(FILE, "no scenario of the library was deleted in the last 30 days", place=str(scenarios_folder()))
    return put_back(latest, scenarios_folder())


def read_kept(data: bytes) -> KeptScenario | None:
    """Return the kept scenario in a file's bytes; None for another file."""
    try:
        return msgspec.convert(read_json(data, max_bytes=_MOST_BYTES), KeptScenario)
    except (ProblemError, msgspec.ValidationError):
        return None


class UnsavedDraft:
    """File of the draft that one process edits. It is locked while the process lives, so that others leave it alone."""

    def __init__(self) -> None:
        self._lock = -1
        self._path: Path | None = None

    def keep(self, document: Mapping[str, Any], bind: Mapping[str, tuple[str, ...]]) -> None:
        """Write the draft. Raises OSError."""
        if self._path is None:
            path = _drafts_folder() / f"{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}.json"
            self._lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            lock_file(self._lock)
            self._path = path
        keep(self._path, document, bind)

    def forget(self) -> None:
        """Remove the file: the draft was saved, or is not wanted."""
        if self._path is not None:
            discard(self._path)
            os.close(self._lock)
            self._path = None


def left_drafts() -> list[Kept]:
    """Return the drafts of processes that ended without saving them, the newest first."""
    if not (state_folder() / "drafts").is_dir():
        return []
    return [kept for kept in _read_all(_drafts_folder()) if _is_left(kept.path)]


def discard(path: Path) -> None:
    """Remove an unsaved draft."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.with_suffix(".lock").unlink(missing_ok=True)


def _is_left(path: Path) -> bool:
    """Return True if no process holds the draft's lock."""
    try:
        fd = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        return lock_file(fd)
    finally:
        os.close(fd)


def _deleted_folder() -> Path:
    return state_folder() / "deleted-scenarios"


def _drafts_folder() -> Path:
    return private_folder(state_folder() / "drafts")


def _read_all(folder: Path) -> Iterator[Kept]:
    for mtime, path in newest_first(folder, "*.json"):
        with suppress(OSError):
            if (scenario := read_kept(path.read_bytes())) is not None:
                yield Kept(path, datetime.fromtimestamp(mtime).strftime("%Y-%m-%d %H:%M"), scenario)
