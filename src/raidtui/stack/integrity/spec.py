"""Options of an integrity device, and the arguments of its steps."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.units import Size
from raidtui.stack.tuning.spec import Tuning

Tag = Literal["crc32c", "crc32", "xxhash64", "sha1", "sha256"]
Mode = Literal["journal", "bitmap", "direct"]
TAG_BYTES: Final = {"crc32c": 4, "crc32": 4, "xxhash64": 8, "sha1": 20, "sha256": 32}
"""Bytes of a tag, one for each sector."""
MODE_LETTERS: Final = {"journal": "J", "bitmap": "B", "direct": "D"}
"""dm-integrity's letters (Documentation/admin-guide/device-mapper/dm-integrity.rst)."""


class DmIntegritySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A device that stores a checksum with each sector and verifies it at each read (dm-integrity, integritysetup(8))."""

    on: Operand
    """The device below: one disk, or one layer."""
    tag: Tag = "crc32c"
    """Checksum of each sector: crc32c and crc32 with 4 bytes, xxhash64 8, sha1 20, sha256 32."""
    mode: Mode = "journal"
    """journal: data and tags are written to a journal first; bitmap: in place, and checked again after a crash where a
    bitmap says so; direct: in place, without protection against a crash."""
    sector_size: Annotated[Size, Meta(examples=["4KiB", "512B"])] | None = None
    """Bytes that share a tag, a power of two up to 4KiB; it becomes the logical sector. Default: the sector of the device
    below."""
    tuning: Tuning | None = None
    """Kernel settings while the device stands."""

    @property
    def tag_bytes(self) -> int:
        return TAG_BYTES[self.tag]


class IntegrityDevice(msgspec.Struct, frozen=True):
    """Arguments of all integrity steps: the whole device."""

    name: str
    """Name of the mapping."""
    ref: str
    """`integrity:NAME`"""
    on: str
    """Reference of the device below."""
    on_path: str
    """Planned path of the device below."""
    disks: tuple[str, ...]
    """Ids of all disks below."""
    tag: str
    mode: str
    sector_bytes: int

    @property
    def dm_uuid(self) -> str:
        """UUID that libcryptsetup gives the mapping: the superblock has none."""
        return f"CRYPT-INTEGRITY-{self.name}"

    @property
    def tag_bytes(self) -> int:
        return TAG_BYTES[self.tag]
