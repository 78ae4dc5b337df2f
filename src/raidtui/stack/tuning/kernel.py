"""Reading and writing kernel settings in /sys, with a bounded wait."""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import read_int, read_text
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.stack.blockdev import bounded
from raidtui.stack.tuning.spec import TUNING_NOT_OFFERED, TUNING_NOT_TAKEN

SYS_BLOCK: Final = Path("/sys/block")
_MAY_DIFFER: Final[Mapping[str, int]] = {"nr_requests": 4, "read_ahead_kb": 64}
"""Rounding by the kernel: 4 requests at least; whole pages, of 64 KiB at most."""


class Device(NamedTuple):
    """A block device with its sequence number, because another device may have its name later."""

    name: str
    diskseq: int

    @property
    def folder(self) -> Path:
        return SYS_BLOCK / self.name

    def is_there(self) -> bool:
        return read_int(self.folder / "diskseq") == self.diskseq


def device_at(path: str) -> Device:
    """Return the device of a node. Raises ProblemError (`tuning-not-offered`) if it has no sequence number."""
    name = Path(path).resolve().name
    diskseq = read_int(SYS_BLOCK / name / "diskseq")
    if diskseq is None:
        raise fail(TUNING_NOT_OFFERED, f"{path} is not a block device of the kernel", place=path,
                   remedy="Tune another device.", exit=Exit.BUILD_FAILED)  # fmt: skip
    return Device(name, diskseq)


def echo(file: str, value: str, path: str = "", *, built: bool = False) -> Argv:
    """Return the equivalent shell command. `path`: the device's node; a built device gets its kernel name only later."""
    if "*" in file:
        return ("sh", "-c", f"echo {shlex.quote(value)} | tee {file}")
    if path and built:
        folder = f'{SYS_BLOCK}/"$(basename "$(realpath {shlex.quote(path)})")"/'
    else:
        folder = f"{SYS_BLOCK}/{Path(path).name}/" if path else ""
    return ("sh", "-c", f"echo {shlex.quote(value)} > {folder}{file}")


def read(file: Path) -> str | None:
    """Return the present value of a setting, as it can be written; None if it cannot be read.

    `[none] mq-deadline` is `none`; `1000 (system)` is `system`, and `1000 (local)` is `1000`.
    """
    text = bounded(lambda: read_text(file), f"reading {file}")
    if text is None:
        return None
    if match := re.search(r"\[([^\]]+)\]", text):
        return clean(match.group(1), 200)
    if match := re.fullmatch(r"(\d+) \((system|local)\)", text):
        return "system" if match.group(2) == "system" else match.group(1)
    return clean(text.strip(), 200)


def write(file: Path, value: str) -> None:
    """Write a setting. Raises ProblemError: `tuning-not-taken` with the kernel's error, `stuck` without an answer."""

    def work() -> None:
        with file.open("wb", buffering=0) as open_file:
            open_file.write(f"{value}\n".encode())

    try:
        bounded(work, f"writing {value} to {file}", to_the_end=True)
    except OSError as error:
        choices = f" It offers: {clean(offered, 200)}." if (offered := _choices(file)) else ""
        raise fail(TUNING_NOT_TAKEN, f"the kernel does not accept {value!r} here: {error.strerror}", place=str(file),
                   remedy=f"Choose another value.{choices}", exit=Exit.BUILD_FAILED) from error  # fmt: skip


def holds(file: str, asked: str, now: str | None) -> bool:
    """Return True if the value read back is the requested one, apart from the kernel's rounding."""
    if now == asked:
        return True
    name = Path(file).name
    if now is None or not (now.lstrip("-").isdigit() and asked.lstrip("-").isdigit()):
        return _number(now) is not None and _number(now) == _number(asked)
    return abs(int(now) - int(asked)) < _MAY_DIFFER.get(name, 1)


def dragged_along(folder: Path) -> Iterator[str]:
    """Yield the files below the device's folder that change with the scheduler and are restored with it."""
    yield from ("queue/nr_requests", "queue/wbt_lat_usec")
    for file in sorted((folder / "queue/iosched").glob("*")):
        if can_be_set(file):
            yield f"queue/iosched/{file.name}"


def can_be_set(file: Path) -> bool:
    """Return True if the setting exists and is writable."""
    try:
        return bool(file.stat().st_mode & stat.S_IWUSR)
    except OSError:
        return False


def _choices(file: Path) -> str:
    text = read_text(file) or ""
    return text if "[" in text else read_text(file.with_name("scaling_available_governors")) or ""


def _number(text: str | None) -> int | None:
    try:
        return int(text or "", 0)
    except ValueError:
        return None
