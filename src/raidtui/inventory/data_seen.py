"""Where data was found on disks of no known signature, kept until the next boot.

A look reads some places of a disk, by chance others each time. A disk on which data was found once must not be offered as
free when the next look misses it, so that place is read first from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import msgspec

from raidtui.base.files import write_atomic
from raidtui.base.paths import run_folder
from raidtui.inventory.sampling import Content
from raidtui.model.disk import Disk

_NAME = "data-seen.json"


class DataSeen:
    """Disk → the first byte at which a look found data. To be used by one scan at a time."""

    def __init__(self) -> None:
        self._path = run_folder() / _NAME
        try:
            self._places = msgspec.json.decode(self._path.read_bytes(), type=dict[str, int])
        except (OSError, ValueError, msgspec.DecodeError):  # none was found yet, or the file was damaged
            self._places = {}

    def get(self, disk: Disk) -> int | None:
        return self._places.get(_key(disk))

    def update(self, found: Mapping[Disk, Content]) -> None:
        """Remember where these disks hold data, and forget it of those that were read there and are blank now."""
        places = dict(self._places)
        for disk, content in found.items():
            if content.data_at is not None:
                places[_key(disk)] = content.data_at
            elif content.blank:
                places.pop(_key(disk), None)
        if places != self._places:
            self._places = places
            with suppress(OSError):  # then the next look depends on chance again, as this one did
                write_atomic(self._path, msgspec.json.encode(places))


def _key(disk: Disk) -> str:
    """By identity and size: the place is of no meaning on another disk."""
    return f"{disk.wwid or disk.serial or disk.name} {disk.size_bytes}"
