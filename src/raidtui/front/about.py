"""Names, notes, tags and pins of kept results, and deleted results, which can come back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from raidtui.base.files import lock_file, newest_first, write_atomic
from raidtui.base.paths import state_folder
from raidtui.base.text import clean
from raidtui.front.deleted import put_away, put_back
from raidtui.front.files import results_folder
from raidtui.model.problem import Refusal, fail
from raidtui.model.refusals import FILE

RESULT_IN_USE: Final = Refusal(
    "result-in-use",
    "The result is being written",
    "A result that another process is writing, or whose run goes on, is not deleted.",
    "Wait until the run has ended, then delete it.",
)
NOT_DELETED: Final = Refusal(
    "not-deleted",
    "No such deleted result",
    "No result that was deleted has this name.",
    "`raidtui results --deleted` lists the deleted results; they are kept for 30 days.",
)

_SCHEMA: Final = "raidtui.about-results/1"
_PATIENCE_S: Final = 5.0


class About(msgspec.Struct, frozen=True, omit_defaults=True):
    """Name, note, tags and pin of one result."""

    name: str = ""
    """Shown in place of the scenario's name."""
    note: str = ""
    tags: tuple[str, ...] = ()
    pinned: bool = False
    """Pinned results come first in lists."""

    @property
    def words(self) -> str:
        """Text that searches look through, in lower case."""
        return " ".join((self.name, self.note, *self.tags, "pinned" if self.pinned else "")).casefold()


class _Abouts(msgspec.Struct, frozen=True):
    schema: str
    results: dict[str, About]
    """By the name of the file."""


NOTHING: Final = About()


def abouts() -> Mapping[str, About]:
    """Return what is said about results, by the name of their file in the results folder."""
    with suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(_file().read_bytes(), type=_Abouts).results
    return {}


def describe(path: Path, about: About) -> None:
    """Say this about a result of the results folder. Raises ProblemError (`file`)."""
    _check_kept(path)
    try:
        with _locked():
            said = {name: one for name, one in abouts().items() if name != path.name}
            if about != NOTHING:
                said[path.name] = about
            write_atomic(_file(), msgspec.json.encode(_Abouts(_SCHEMA, said)))
    except OSError as error:
        raise fail(FILE, f"it cannot be written: {error.strerror or error}", place=str(_file())) from None


def may_be_deleted(path: Path) -> bool:
    """Return True for JSON files directly in the results folder."""
    return path.parent == results_folder() and path.suffix == ".json"


def delete(path: Path) -> Path:
    """Move a result out of the results folder, and return its new path. Raises ProblemError (`result-in-use`, `file`)."""
    _check_kept(path)
    if any(path.parent.glob(f".{path.name}.*.tmp")):
        raise fail(RESULT_IN_USE, "another process is writing it", place=str(path))
    return put_away(path, _deleted_folder())


def bring_back(name: str) -> Path:
    """Undo the deletion of the newest deleted result with these words in its name. Raises ProblemError (`not-deleted`)."""
    found = next((path for path in deleted() if name in path.name), None)
    if found is None:
        raise fail(NOT_DELETED, f"no deleted result has {clean(name, 80)!r} in its name")
    return put_back(found, results_folder())


def deleted() -> list[Path]:
    """Return the deleted results, the latest deleted first."""
    return [path for _, path in newest_first(_deleted_folder(), "*.json")]


def _check_kept(path: Path) -> None:
    if not may_be_deleted(path):
        raise fail(FILE, "it is not a result in the results folder", place=str(path))


def _file() -> Path:
    return state_folder() / "about-results.json"


def _deleted_folder() -> Path:
    return state_folder() / "deleted-results"


@contextmanager
def _locked() -> Iterator[None]:
    """Keep other processes from changing what is said meanwhile. Raises OSError."""
    fd = os.open(state_folder() / "about-results.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not lock_file(fd, _PATIENCE_S):
            raise TimeoutError("another process keeps it locked")
        yield
    finally:
        os.close(fd)
