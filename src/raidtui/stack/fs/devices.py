"""The devices of a filesystem, and the signatures on them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from raidtui.inventory.blkid import Signature, signatures
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack.context import Context


class Device(NamedTuple):
    """A device that the filesystem is on."""

    ref: str
    path: str
    devno: int

    @property
    def name(self) -> str:
        """Its kernel name."""
        return Path(f"/sys/dev/block/{os.major(self.devno)}:{os.minor(self.devno)}").resolve().name


def all_devices(context: Context, args: dict[str, Any]) -> list[Device]:
    """In order. Raises ProblemError when one is not there, or is not what it was."""
    found = []
    for ref in args["devices"]:
        path = context.path(ref)
        try:
            found.append(Device(ref, path, Path(path).stat().st_rdev))
        except OSError as error:
            raise fail("fs-device", f"{path}: {error.strerror}", place=ref, exit=Exit.BUILD_FAILED) from error
    return found


def planned_paths(context: Context, args: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """References of the devices, and where they are, or were when it was planned: good for looking, never for writing."""
    for ref in args["devices"]:
        with suppress(ProblemError):
            yield ref, context.path(ref)
            continue
        yield ref, args["paths"][ref]


def signatures_on(path: str) -> tuple[Signature, ...]:
    """Every signature on a device. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return signatures(fd, 0, os.lseek(fd, 0, os.SEEK_END), path)
    finally:
        os.close(fd)


def is_ours(args: dict[str, Any], path: str) -> bool:
    """Whether the filesystem of this step is on the device at `path`. Raises OSError where it cannot be read."""
    return any(one.type == args["type"] and one.uuid == args["uuid"] for one in signatures_on(path))
