"""Locks of the disks: a run holds one for each of its disks, and the kernel releases them when the run ends in any way."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from raidtui.base.files import lock_file, private_folder
from raidtui.base.paths import run_folder
from raidtui.base.text import clean
from raidtui.inventory.reasons import REASONS
from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.problem import Exit, Problem, ProblemError

_PATIENCE_S = 0.3
"""Longest wait for a lock: `holders` takes each for an instant to test it, and that must not look like another run."""
_MAX_BYTES = 4096


class Lock(NamedTuple):
    """Lock that this process holds on one disk."""

    key: str
    run_id: str
    fd: int
    shared: bool = False

    def release(self) -> None:
        """Release the lock and remove its file, unless other holders share it."""
        # The file is removed while it is locked: a process that opened it earlier notices that and opens a new one.
        with suppress(OSError):
            if not self.shared or lock_file(self.fd):
                lock_path(self.key).unlink(missing_ok=True)
        os.close(self.fd)


def lock_key(disk: Disk | Fingerprint) -> str:
    """Return the name of a disk's lock: its worldwide name, else its id."""
    return disk.wwid or disk.id


def lock_folder() -> Path:
    return private_folder(run_folder() / "locks")


def lock_path(key: str) -> Path:
    """Return a file name that is safe for any bytes of an identity, and different for different keys."""
    readable = re.sub(r"[^A-Za-z0-9._-]", "_", key)[:80]
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return lock_folder() / f"{readable}.{digest}"


def take(run_id: str, keys: Iterable[str], shared: Iterable[str] = ()) -> list[Lock]:
    """Lock all of these disks or none. Disks that are only in `shared` get a shared lock.

    Raises ProblemError (`held`) naming the run that holds each disk that could not be locked.
    """
    taken: list[Lock] = []
    refused: list[Problem] = []
    try:
        alone = set(keys)
        for key in sorted(alone | set(shared)):  # always in this order, so that two runs never wait for each other
            how = fcntl.LOCK_EX if key in alone else fcntl.LOCK_SH
            while True:
                fd = _open(lock_path(key), os.O_RDWR | os.O_CREAT)
                if not lock_file(fd, _PATIENCE_S, how):
                    refused.append(_held(key, _read(fd).get("run", "?")))
                    os.close(fd)
                elif _is_current(fd, lock_path(key)):
                    taken.append(Lock(key, run_id, fd, key not in alone))
                    _write(fd, {"key": key, "run": run_id, "pid": os.getpid()})
                else:
                    os.close(fd)  # its last holder removed it in between
                    continue
                break
        if refused:
            raise ProblemError(*refused)
    except BaseException:
        for lock in taken:
            lock.release()
        raise
    return taken


def holders() -> dict[str, str]:
    """Return the run of every lock that any process holds now, by disk key."""
    found = {}
    for path in sorted(lock_folder().iterdir()):
        try:
            fd = _open(path, os.O_RDWR)
        except OSError:
            continue
        try:
            if not lock_file(fd, how=fcntl.LOCK_SH):
                facts = _read(fd)
                found[facts.get("key", path.name)] = facts.get("run", "?")
        finally:
            os.close(fd)
    return found


def _open(path: Path, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _is_current(fd: int, path: Path) -> bool:
    """Return True if the open file still has the name under which others open it."""
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False


def _write(fd: int, facts: dict[str, object]) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, json.dumps(facts).encode(), 0)


def _read(fd: int) -> dict[str, str]:
    try:
        facts = json.loads(os.pread(fd, _MAX_BYTES, 0))
        return {str(name): str(value) for name, value in facts.items()}
    except (ValueError, AttributeError):  # the holder has not finished writing the file
        return {}


def _held(key: str, run_id: str) -> Problem:
    run = clean(run_id, 80)
    remedy = f"raidtui attach {run} follows it, raidtui cancel {run} ends it"
    return REASONS["held"].problem(f"held by run {run}", place=clean(key), remedy=remedy, exit=Exit.REFUSED)
