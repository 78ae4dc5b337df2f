"""Result files of many servers: one folder, one file per server. No existing file is replaced."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path

from raidtui.base.files import write_atomic
from raidtui.base.text import clean
from raidtui.front.files import save
from raidtui.model.problem import fail
from raidtui.model.refusals import OUTPUT


def check_folder(path: str | None) -> None:
    """Check, before anything starts, that the folder of results can be used or made. Raises ProblemError (`output`)."""
    if path is None:
        return
    target = Path(path)
    try:
        there, is_folder = target.exists() or target.is_symlink(), target.is_dir()
        has_parent = target.absolute().parent.is_dir()
    except OSError as error:
        raise fail(OUTPUT, f"it cannot be used: {error.strerror}", place=path, remedy="Name another folder.") from None
    if there and not is_folder:
        raise fail(OUTPUT, "it is not a folder", place=path,
                   remedy="With several servers, -o names the folder of their results.")  # fmt: skip
    if not there and not has_parent:
        raise fail(OUTPUT, "the folder above it does not exist", place=path, remedy=f"Create {target.parent} first.")
    if not os.access(target if there else target.absolute().parent, os.W_OK | os.X_OK):
        raise fail(OUTPUT, "it cannot be written to", place=path, remedy="Name another folder.")


class Outputs:
    """Names of the result files: `NAME.SERVER.result.json` in a folder, or names in the results folder without one."""

    def __init__(self, folder: str | None, servers: Sequence[str]) -> None:
        self._folder = folder
        self._words = _words(servers)

    def check_free(self, scenario: str, servers: Iterable[str]) -> None:
        """Check that no file of these servers exists. Raises ProblemError (`output`)."""
        for server in servers if self._folder is not None else ():
            if (path := self._path(scenario, server)).exists() or path.is_symlink():
                raise fail(OUTPUT, "it exists already", place=clean(path, 4096),
                           remedy="Name another folder with -o; nothing was touched.")  # fmt: skip

    def save(self, data: bytes, scenario: str, run: str, server: str) -> Path:
        """Save the result of one server and return its path. If the name was taken meanwhile, another one is used."""
        if self._folder is None:
            return save(data, scenario, run, None)
        path = first = self._path(scenario, server)
        path.parent.mkdir(exist_ok=True)
        part = path.with_name(path.name.replace(".result.json", f".{os.getpid()}.result.json"))
        write_atomic(part, data, 0o644)
        for number in count(2):
            try:
                path.hardlink_to(part)  # fails where the name is taken
                break
            except FileExistsError:
                path = first.with_name(first.name.replace(".result.json", f".{number}.result.json"))
            except OSError:
                # A filesystem without hard links: the result stays under the name that it was written to.
                return part
        part.unlink()
        return path

    def _path(self, scenario: str, server: str) -> Path:
        return Path(self._folder or "") / f"{_word(scenario)}.{self._words[server]}.result.json"


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]", "_", text)[:80].lstrip(".") or "run"


def _words(servers: Sequence[str]) -> dict[str, str]:
    """Return a part of a file name for each server; no two have the same."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for server in servers:
        word = first = _word(server)
        number = 2
        while word.casefold() in taken:
            word, number = f"{first}-{number}", number + 1
        taken.add(word.casefold())
        found[server] = word
    return found
