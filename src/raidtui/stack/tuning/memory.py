"""What was found, kept in the run's folder before anything is set: after a crash nobody else remembers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from raidtui.base.files import sync_folder, write_atomic
from raidtui.inventory import boot_id
from raidtui.stack.tuning import kernel


class Entry(msgspec.Struct):
    """One setting of one device, or of the server."""

    what: str
    """As results name it: `SERIAL queue/scheduler`."""
    file: str
    """Below the device's folder in /sys/block, or a whole path."""
    found: str
    asked: str | None = None
    """None for what is only put back, because another setting changes it."""
    set: str | None = None
    """As it was read back; None until then."""
    device: str = ""
    diskseq: int = 0

    @property
    def path(self) -> Path:
        return kernel.SYS_BLOCK / self.device / self.file if self.device else Path(self.file)

    @property
    def is_there(self) -> bool:
        """Whether what was set is still there: this very device, or the server's file."""
        if self.device:
            return kernel.Device(self.device, self.diskseq).is_there()
        return self.path.exists()


class Memory(msgspec.Struct):
    """All of one step, in the order in which it is set and put back."""

    boot_id: str
    """A restart forgets every setting by itself."""
    entries: list[Entry]


def _file(folder: Path, uuid: str) -> Path:
    return folder / f"tuning-{uuid}.json"


def remember(folder: Path, args: dict[str, Any], entries: list[Entry]) -> None:
    """On return it survives a power cut."""
    write_atomic(_file(folder, args["uuid"]), msgspec.json.encode(Memory(boot_id(), entries)))


def recall(folder: Path, args: dict[str, Any]) -> Memory | None:
    """None where nothing was remembered, or it is put back already."""
    try:
        return msgspec.json.decode(_file(folder, args["uuid"]).read_bytes(), type=Memory)
    except FileNotFoundError:
        return None


def forget(folder: Path, args: dict[str, Any]) -> None:
    _file(folder, args["uuid"]).unlink(missing_ok=True)
    sync_folder(folder)
