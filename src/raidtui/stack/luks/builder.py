"""LUKS2 volumes as formats and devices of blivet. Runs in the builder's process alone, the only one that has the keys."""

from __future__ import annotations

import ctypes
import secrets
from typing import Any, Final

from blivet.devices import LUKSDevice
from blivet.errors import LUKSError
from blivet.formats.luks import LUKS

from raidtui.stack.builder.libraries import BlockDev, Node, program, tell
from raidtui.stack.luks.plan import PBKDF_ITERATIONS
from raidtui.stack.luks.spec import LuksVolume

_KEYS: Final[dict[str, str]] = {}
"""Keys by UUID of the header, from its creation until it is opened; the kernel has its own copy from then on."""
_LOCK_ALL: Final = 1 | 2 | 4
"""MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT of mlockall(2)."""
_ACTIVATION: Final = 0
_FLAGS: Final = {"allow_discards": 1 << 3, "no_read_workqueue": 1 << 24, "no_write_workqueue": 1 << 25}
"""Flags of crypt_persistent_flags_set (libcryptsetup.h)."""


class Header(LUKS):
    """A LUKS2 header with what blivet has no option for: planned UUID, start of the data, flags of dm-crypt."""

    def __init__(self, volume: LuksVolume, path: str, key: str, *, exists: bool = False) -> None:
        super().__init__(device=path, exists=exists, uuid=volume.uuid, name=volume.name, label=volume.name,
                         luks_version="luks2", cipher=volume.cipher, key_size=volume.key_bits,
                         luks_sector_size=volume.sector_bytes)  # fmt: skip
        # Not among the arguments above: blivet logs those.
        self.contexts.add_passphrase(passphrase=key)
        self._volume = volume

    def _create(self, **_: Any) -> None:
        volume = self._volume
        pbkdf = BlockDev.CryptoLUKSPBKDF(type="pbkdf2", hash="sha256", iterations=PBKDF_ITERATIONS)
        # 16 MiB are rounded up to this alignment, so that the data begins exactly at the planned offset.
        options = BlockDev.CryptoLUKSExtra(data_alignment=volume.offset_bytes // 512, sector_size=volume.sector_bytes,
                                           label=volume.name, pbkdf=pbkdf)  # fmt: skip
        context = self.contexts.get_context()._context
        tell("bd_crypto_luks_format", self.device, "luks2", f"cipher={self.cipher}", f"key_size={self.key_size}",
             f"data_alignment={volume.offset_bytes // 512}", f"sector_size={volume.sector_bytes}", f"label={volume.name}",
             "pbkdf=pbkdf2", f"iterations={PBKDF_ITERATIONS}")  # fmt: skip
        try:
            BlockDev.crypto.luks_format(self.device, context=context, cipher=self.cipher, key_size=self.key_size,
                                        luks_version=BlockDev.CryptoLUKSVersion.LUKS2, extra=options)  # fmt: skip
            tell("bd_crypto_luks_set_uuid", self.device, volume.uuid)
            BlockDev.crypto.luks_set_uuid(self.device, volume.uuid)
        except BlockDev.CryptoError as error:
            raise LUKSError(error) from error
        if volume.flags:
            tell("crypt_persistent_flags_set", self.device, *volume.flags)
            _set_flags(self.device, sum(_FLAGS[flag] for flag in volume.flags))

    def _post_create(self, **_: Any) -> None:
        self.exists, self.map_name = True, self._volume.name


def create(planned: LuksVolume, path: str) -> None:
    """Write a header with a random key, which stays in this process until `open`."""
    ctypes.CDLL(None).mlockall(_LOCK_ALL)  # best effort: no page of this process goes to swap
    node = Node(path)
    _KEYS[planned.uuid] = secrets.token_hex(32)
    node.format = Header(planned, path, _KEYS[planned.uuid])
    node.format.create()


def open(planned: LuksVolume, path: str) -> None:
    """Open the volume that `create` made, under its planned name, and forget the key."""
    node = Node(path)
    node.format = Header(planned, path, _KEYS.pop(planned.uuid), exists=True)
    tell("bd_crypto_luks_open", path, planned.name)
    LUKSDevice(planned.name, parents=[node], uuid=planned.uuid, exists=True).setup()


class Open(LUKS):
    """A mapping of libcryptsetup, whatever its type; blivet would not close one whose link is missing."""

    @property
    def status(self) -> bool:
        return True


def close(name: str) -> None:
    """Close the mapping of this name."""
    tell("bd_crypto_luks_close", name)
    Open(exists=True, name=name).teardown()


def remove(name: str) -> None:
    """Remove a mapping that libcryptsetup cannot close: left by an interrupted format, or without a table in force."""
    program(("dmsetup", "remove", name))


def _set_flags(path: str, flags: int) -> None:
    """Store flags of dm-crypt in the header, so that opening sets them; libblockdev 3.3 has no function for it."""
    library = ctypes.CDLL("libcryptsetup.so.12")
    library.crypt_init.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p]
    library.crypt_load.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    library.crypt_persistent_flags_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
    library.crypt_free.argtypes, library.crypt_free.restype = [ctypes.c_void_p], None
    device = ctypes.c_void_p()
    code = library.crypt_init(ctypes.byref(device), path.encode())
    try:
        code = code or library.crypt_load(device, b"LUKS2", None)
        code = code or library.crypt_persistent_flags_set(device, _ACTIVATION, flags)
    finally:
        library.crypt_free(device)
    if code:
        raise LUKSError(f"libcryptsetup cannot store the flags of {path} (error {-code})")
