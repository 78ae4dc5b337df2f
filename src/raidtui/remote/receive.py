"""Put a version of raidtui into its folder, in one step. This file is sent to the server and runs there, as root.

It therefore imports nothing of raidtui. A failure is one line on its standard output: `raidtui: cannot: KIND: TEXT`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

KEPT = 3
"""Number of newest versions that are kept, used or not."""


class Cannot(Exception):
    """The folder of raidtui cannot be used."""


def check_folder(path: Path, owner: int) -> None:
    """Raise Cannot unless `path` is a real folder that `owner` alone may change."""
    info = path.lstat()
    if not stat.S_ISDIR(info.st_mode):
        raise Cannot(f"{path} is a symbolic link or no folder")
    if info.st_uid != owner:
        raise Cannot(f"{path} belongs to user {info.st_uid}")
    if info.st_mode & 0o022:
        raise Cannot(f"{path} may be written by others than its owner")


def unpack(payload: bytes, version: str) -> dict[str, bytes]:
    """Return the files that were sent, by name. Raises Cannot if they are not those of `version`."""
    try:
        index, _, rest = zlib.decompress(payload).partition(b"\n")
    except zlib.error as error:
        raise Cannot(f"the code arrived damaged: {error}") from None
    digest, files, at = hashlib.sha256(), {}, 0
    for name, size in json.loads(index):
        data = rest[at : at + size]
        at += size
        digest.update(f"{name}\0{size}\0".encode())
        digest.update(data)
        files[name] = data
    if digest.hexdigest()[: len(version)] != version:
        raise Cannot("the code arrived damaged")
    if any(name.startswith("/") or ".." in name.split("/") for name in files):
        raise Cannot("the code has a file outside of its folder")
    return files


def install(top: Path, version: str, files: dict[str, bytes], *, link: bool = False, owner: int = 0) -> Path:
    """Create `top/version` with these files unless it is there and complete, remove old versions, and return it.

    The files are written beside it and flushed, then the folder is renamed: a part of a version never has its name. With
    `link`, `top/raidtui` leads to this version. Raises Cannot or OSError.
    """
    os.umask(0o022)
    for folder in (top.parent, top):
        folder.mkdir(mode=0o755, exist_ok=True)
        check_folder(folder, owner)
    lock = os.open(top / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in top.glob(".new-*"):  # of one that was killed: whoever works there holds the lock
            shutil.rmtree(left, ignore_errors=True)
        target = top / version
        if not is_complete(target, files, owner):
            _create(top, target, files)
        if link:
            _link(top, version)
        remove_old(top, version)
    finally:
        os.close(lock)
    return target


def is_complete(target: Path, files: dict[str, bytes], owner: int) -> bool:
    """Return True if the version is there, unchanged, and its Python too."""
    try:
        check_folder(target, owner)
        same = all((target / name).read_bytes() == data for name, data in files.items())
        return same and os.access((target / "python").read_text().strip(), os.X_OK)
    except (OSError, Cannot):
        return False


def _create(top: Path, target: Path, files: dict[str, bytes]) -> None:
    new = top / f".new-{os.getpid()}"
    try:
        for name, data in {**files, "python": f"{sys.executable}\n".encode()}.items():
            path = new / name
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            path.write_bytes(data)
        _flush(new)
        if os.path.lexists(target):  # damaged, or made for a Python that is gone
            target.rename(top / f".new-{os.getpid()}-damaged")
        new.rename(target)
        _flush(top)
    finally:
        for left in top.glob(f".new-{os.getpid()}*"):
            shutil.rmtree(left, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Write everything of the folder's filesystem to stable storage. Raises OSError if that failed."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            import ctypes

            libc = ctypes.CDLL(None, use_errno=True)
            if libc.syncfs(fd) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        except (ImportError, AttributeError):
            os.sync()
        os.fsync(fd)
    finally:
        os.close(fd)


def _link(top: Path, version: str) -> None:
    link = top / "raidtui"
    if link.is_dir() and not link.is_symlink():
        link.rename(top / f".new-{os.getpid()}-link")
    beside = top / f".link-{os.getpid()}"
    beside.unlink(missing_ok=True)
    beside.symlink_to(f"{version}/raidtui")
    beside.rename(link)


def remove_old(top: Path, version: str, proc: Path = Path("/proc"), runs: Path | None = None) -> None:
    """Remove all versions but the newest, this one, those that a process runs, and those of runs that are not closed."""
    found = [path for path in top.iterdir() if re.fullmatch("[0-9a-f]{16}", path.name) and not path.is_symlink()]
    found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    old = [path for path in found[KEPT:] if path.name != version]
    if not old:
        return
    used = _used(proc) | _owed(runs or _runs())
    for path in old:
        if str(path).encode() not in used:
            gone = top / f".new-{os.getpid()}-{path.name}"
            path.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)


def _used(proc: Path) -> set[bytes]:
    """Return the version folders that are named in the command line of a process."""
    used: set[bytes] = set()
    for cmdline in proc.glob("[0-9]*/cmdline"):
        try:
            used.update(re.findall(rb"/[\w./-]*?/[0-9a-f]{16}(?=[/\s\0;]|$)", cmdline.read_bytes()))
        except OSError:
            continue
    return used


def _owed(runs: Path) -> set[bytes]:
    """Return the version folders of runs that left something, or may have: their recovery may need the same version."""
    owed: set[bytes] = set()
    for code in runs.glob("*/code"):
        try:
            if not (code.parent / "closed").exists():
                owed.add(code.read_bytes().strip())
        except OSError:
            continue
    return owed


def _runs() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if state else Path("/var/lib")) / "raidtui/runs"


def main(top: str, version: str, size: int, words: Sequence[str], link: bool) -> None:
    """Read `size` bytes from standard input, install them, and become `raidtui WORDS`; without words, say so and end."""
    try:
        payload = bytearray()
        while len(payload) < size:
            chunk = os.read(0, min(1 << 20, size - len(payload)))
            if not chunk:
                raise Cannot("the connection broke while the code was sent")
            payload += chunk
        target = install(Path(top), version, unpack(bytes(payload), version), link=link)
    except (OSError, Cannot) as error:
        text = str(error) if isinstance(error, Cannot) else f"{error.filename or top}: {error.strerror}"
        print(f"raidtui: cannot: folder: {text}", flush=True)
        sys.exit(1)
    if not words:
        print("raidtui: sent", flush=True)
        return
    os.execv(sys.executable, (sys.executable, "-I", str(target / "raidtui/__main__.py"), *words))  # noqa: S606
