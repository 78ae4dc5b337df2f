"""Pack this raidtui and the Python libraries of its engine for another machine. A version is a hash of its files."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import raidtui
from raidtui.base.paths import shipped_folder

LIBRARIES: Final = ("msgspec", "pyudev", "psutil", "blivet", "dasbus", "packaging")
"""Libraries that an engine imports and that are no part of every distribution. Those installed here are brought along; what
the server has itself is preferred there (`raidtui/__main__.py`)."""
_SKIPPED: Final = ("__pycache__", "tests", "testing")
_VERSION_DIGITS: Final = 16


class Code(NamedTuple):
    """Files to send, as (name below the version's folder, content), sorted by name, and their version."""

    version: str
    files: tuple[tuple[str, bytes], ...]

    def payload(self) -> bytes:
        """Return the files as they are sent: compressed; a line of JSON with names and lengths, then the contents."""
        index = json.dumps([(name, len(data)) for name, data in self.files]).encode()
        return zlib.compress(index + b"\n" + b"".join(data for _, data in self.files), 3)


def local_code(libraries: Sequence[str] = LIBRARIES) -> Code:
    """Return the raidtui that runs here, with those of `libraries` that are installed here."""
    package = Path(raidtui.__file__).resolve().parent
    # The libraries of a package are chosen one by one below: no server needs those of the screens.
    own = package / "shipped/own"
    files = (path for path in _files(package) if own not in path.parents)
    found = {f"raidtui/{path.relative_to(package)}": path.read_bytes() for path in files}
    for kind in ("scenarios", "themes"):
        # In a checkout what is shipped lies at the top of the repository, in an installed package inside of it.
        if (folder := shipped_folder(kind)) is not None and package not in folder.parents:
            found |= {f"raidtui/shipped/{kind}/{path.relative_to(folder)}": path.read_bytes() for path in _files(folder)}
    for name in libraries:
        found |= dict(_library(name))
    sent = tuple(sorted(found.items()))
    return Code(version_of(sent), sent)


def version_of(files: Sequence[tuple[str, bytes]]) -> str:
    """Return the version of these files: sixteen hexadecimal digits."""
    digest = hashlib.sha256()
    for name, data in files:
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()[:_VERSION_DIGITS]


def _library(name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an installed library, and the file from which its version is read; nothing if it is not installed.

    A library with machine code is only looked for on machines of the same kind.
    """
    try:
        spec, version = importlib.util.find_spec(name), importlib.metadata.version(name)
    except (ImportError, ValueError):
        return
    if spec is None or not spec.submodule_search_locations:
        return
    folder = Path(next(iter(spec.submodule_search_locations)))
    files = [path for path in _files(folder) if path.suffix != ".pyi"]
    kind = os.uname().machine if any(path.suffix == ".so" for path in files) else "any"
    place = f"raidtui/shipped/libraries/{kind}"
    for path in files:
        yield f"{place}/{name}/{path.relative_to(folder)}", path.read_bytes()
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    yield f"{place}/{name}-{version}.dist-info/METADATA", about.encode()


def _files(folder: Path) -> list[Path]:
    return [
        path for path in sorted(folder.rglob("*"))
        if path.is_file() and not set(_SKIPPED) & set(path.relative_to(folder).parts[:-1]) and path.suffix != ".pyc"
    ]  # fmt: skip
