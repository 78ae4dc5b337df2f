"""Files that survive a crash and cannot be redirected: atomic writes, private folders, locks."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_LOCK_PAUSE_S: Final = 0.02


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace `path` by `data` as one step: a crash leaves the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def is_there(name: str) -> bool:
    """Return True if something has this name. A path that cannot be examined (no permission, name too long) counts as
    absent.
    """
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def sync_folder(path: Path) -> None:
    """Make names created in or removed from a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def private_folder(path: Path) -> Path:
    """Create `path` (0700) if need be and verify that only this user can write to it.

    Raises PermissionError for a symlink, another owner, or a folder that group or others may write.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    info = path.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o022:
        raise PermissionError(f"{path} must be a folder of its own user that no one else may write")
    return path


def lock_file(fd: int, patience_s: float = 0.0, how: int = fcntl.LOCK_EX) -> bool:
    """Lock an open file (flock) until it is closed; return False if others keep it locked for all of `patience_s`."""
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(fd, how | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_LOCK_PAUSE_S)


def read_text(path: str | Path) -> str | None:
    """Return a small file's text without its trailing newline; None if it cannot be read."""
    try:
        return Path(path).read_bytes().decode("utf-8", "backslashreplace").rstrip("\n")
    except OSError:
        return None


def read_int(path: str | Path) -> int | None:
    """Return the number in a small file; None if there is none."""
    text = read_text(path)
    try:
        return int(text) if text else None
    except ValueError:
        return None


def newest_first(folder: Path, pattern: str) -> list[tuple[float, Path]]:
    """Return the files that match and when they were last changed, the newest first; those gone meanwhile are left out."""
    found = []
    with suppress(OSError):
        for path in folder.glob(pattern):
            with suppress(OSError):
                found.append((path.stat().st_mtime, path))
    return sorted(found, reverse=True)
