"""Integrity devices as formats and devices of blivet. Runs in the builder's process alone."""

from __future__ import annotations

from typing import Any

from blivet.devices import IntegrityDevice as Device
from blivet.errors import IntegrityError
from blivet.formats.luks import Integrity

from raidtui.stack.builder.libraries import BlockDev, Node, tell
from raidtui.stack.integrity.spec import IntegrityDevice

_FLAGS = BlockDev.CryptoIntegrityOpenFlags
_MODES = {"journal": 0, "bitmap": _FLAGS.NO_JOURNAL_BITMAP, "direct": _FLAGS.NO_JOURNAL}


class Superblock(Integrity):
    """A superblock with journal and tags, opened in the planned mode, for which blivet has no option."""

    def __init__(self, device: IntegrityDevice, path: str, *, exists: bool = False) -> None:
        super().__init__(device=path, exists=exists, name=device.name, algorithm=device.tag,
                         sector_size=device.sector_bytes)  # fmt: skip
        self._mode = device.mode

    def _setup(self, **_: Any) -> None:
        try:
            BlockDev.crypto.integrity_open(self.device, self.map_name, self.algorithm, flags=_MODES[self._mode])
        except BlockDev.CryptoError as error:
            raise IntegrityError(error) from error


def create(planned: IntegrityDevice, path: str) -> None:
    """Write the superblock, and every sector with its tag."""
    node = Node(path)
    node.format = Superblock(planned, path)
    tell("bd_crypto_integrity_format", path, planned.tag, f"sector_size={planned.sector_bytes}")
    node.format.create()


def open(planned: IntegrityDevice, path: str) -> None:
    """Open the device under its planned name."""
    node = Node(path)
    node.format = Superblock(planned, path, exists=True)
    tell("bd_crypto_integrity_open", path, planned.name, planned.tag, f"mode={planned.mode}")
    Device(planned.name, parents=[node], exists=True).setup()
