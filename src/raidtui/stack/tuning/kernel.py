"""Reading and writing settings of the kernel: what their text means, whose they are, and never waiting for good."""

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

SYS_BLOCK: Final = Path("/sys/block")
"""A new scheduler waits until the device has answered everything that is under way."""
_MAY_DIFFER: Final[Mapping[str, int]] = {"nr_requests": 4, "read_ahead_kb": 64}
"""What the kernel may round by: at least 4 requests; whole pages, of 64 KiB at most."""


class Device(NamedTuple):
    """One appearance of a block device: what has its name later may be another one."""

    name: str
    diskseq: int

    @property
    def folder(self) -> Path:
        return SYS_BLOCK / self.name

    def is_there(self) -> bool:
        return read_int(self.folder / "diskseq") == self.diskseq


def device_at(path: str) -> Device:
    """The device of a node. Raises ProblemError (`tuning-not-offered`) where the kernel does not number its appearance."""
    name = Path(path).resolve().name
    diskseq = read_int(SYS_BLOCK / name / "diskseq")
    if diskseq is None:
        raise fail("tuning-not-offered", f"there is no device of the kernel behind {path}", place=path,
                   remedy="Tune another device.", exit=Exit.BUILD_FAILED)  # fmt: skip
    return Device(name, diskseq)


def echo(file: str, value: str, path: str = "", *, built: bool = False) -> Argv:
    """How a shell would do it. `path`: the device's node; the kernel's name of one that is built is not known before."""
    if "*" in file:
        return ("sh", "-c", f"echo {shlex.quote(value)} | tee {file}")
    if path and built:
        folder = f'{SYS_BLOCK}/"$(basename "$(realpath {shlex.quote(path)})")"/'
    else:
        folder = f"{SYS_BLOCK}/{Path(path).name}/" if path else ""
    return ("sh", "-c", f"echo {shlex.quote(value)} > {folder}{file}")


def read(file: Path) -> str | None:
    """What a setting is now, as the kernel would take it; None where it cannot be read.

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
    """Raises ProblemError: `tuning-not-taken` with the kernel's word, `stuck` where it does not answer."""

    def work() -> None:
        with file.open("wb", buffering=0) as open_file:
            open_file.write(f"{value}\n".encode())

    try:
        bounded(work, f"writing {value} to {file}", to_the_end=True)
    except OSError as error:
        choices = f" It offers: {clean(offered, 200)}." if (offered := _choices(file)) else ""
        raise fail("tuning-not-taken", f"the kernel does not take {value!r} here: {error.strerror}", place=str(file),
                   remedy=f"Ask for another value.{choices}", exit=Exit.BUILD_FAILED) from error  # fmt: skip


def holds(file: str, asked: str, now: str | None) -> bool:
    """Whether what is read back is what was asked, but for what the kernel rounds."""
    if now == asked:
        return True
    name = Path(file).name
    if now is None or not (now.lstrip("-").isdigit() and asked.lstrip("-").isdigit()):
        return _number(now) is not None and _number(now) == _number(asked)
    return abs(int(now) - int(asked)) < _MAY_DIFFER.get(name, 1)


def dragged_along(folder: Path) -> Iterator[str]:
    """Files that a change of the scheduler changes too, below the device's folder: they are put back with it."""
    yield from ("queue/nr_requests", "queue/wbt_lat_usec")
    for file in sorted((folder / "queue/iosched").glob("*")):
        if can_be_set(file):
            yield f"queue/iosched/{file.name}"


def can_be_set(file: Path) -> bool:
    """Whether the kernel offers this setting, and lets it be changed."""
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
