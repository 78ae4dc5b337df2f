"""Options of an encrypted volume, and the arguments of its steps."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.units import Size
from raidtui.stack.tuning.spec import Tuning

Cipher = Literal[
    "aes-xts-plain64",
    "aes-cbc-essiv:sha256",
    "serpent-xts-plain64",
    "twofish-xts-plain64",
    "camellia-xts-plain64",
    "xchacha20,aes-adiantum-plain64",
]
KEY_BITS: Final = {"xts": (512, 256), "cbc": (256, 128, 192), "adiantum": (256,)}
"""Key sizes by chaining mode, cryptsetup's default first; xts uses half of the key for each of its two ciphers."""


class LuksSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An encrypted volume (LUKS2, cryptsetup(8)) with a random key that is kept in memory only."""

    on: Operand
    """The device to encrypt: one disk, or one layer."""
    cipher: Cipher = "aes-xts-plain64"
    """Cipher, chaining mode and initial vector of dm-crypt."""
    key_size: Annotated[int, Meta(examples=[256, 512, 128, 192], extra={"unit": "bit"})] | None = None
    """Bits of the key: 512 (the default) or 256 with xts, 256, 192 or 128 with cbc, 256 with adiantum."""
    sector_size: Annotated[Size, Meta(examples=["512B", "4KiB"])] | None = None
    """Unit of encryption, a power of two up to 4KiB; it becomes the logical sector. Default: the sector of the device
    below."""
    no_read_workqueue: bool = False
    """Decrypt where a read completes, not in a kernel thread."""
    no_write_workqueue: bool = False
    """Encrypt in the process that writes, not in a kernel thread."""
    discards: bool = False
    """Pass discards on to the device below."""
    tuning: Tuning | None = None
    """Kernel settings while the volume is open."""

    @property
    def key_bits(self) -> int:
        """The effective size of the key."""
        return self.key_size if self.key_size is not None else self.allowed_key_bits[0]

    @property
    def allowed_key_bits(self) -> tuple[int, ...]:
        return KEY_BITS[self.cipher.split("-")[1]]


class LuksVolume(msgspec.Struct, frozen=True):
    """Arguments of all luks steps: the whole volume. The key is no part of it."""

    name: str
    """Name of the mapping, and label of the header."""
    uuid: str
    ref: str
    """`luks:NAME`"""
    on: str
    """Reference of the device below."""
    on_path: str
    """Planned path of the device below."""
    disks: tuple[str, ...]
    """Ids of all disks below."""
    cipher: str
    key_bits: int
    sector_bytes: int
    offset_bytes: int
    """Start of the data behind header and key slots."""
    flags: tuple[str, ...] = ()
    """dm-crypt's: `allow_discards`, `no_read_workqueue`, `no_write_workqueue`."""

    @property
    def dm_uuid(self) -> str:
        """UUID that libcryptsetup gives the mapping."""
        return f"CRYPT-LUKS2-{self.uuid.replace('-', '')}-{self.name}"
