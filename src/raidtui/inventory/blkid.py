"""Signatures by libblkid's low-level probing: every one on a device, damaged ones too, without its cache."""

from __future__ import annotations

import ctypes
import functools
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import Any, NamedTuple

from raidtui.base.text import clean

_SUBLKS_FLAGS = 1 << 1 | 1 << 3 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10
"""LABEL, UUID, TYPE, USAGE, VERSION, MAGIC, BADCSUM."""
_PARTS_FLAGS = 1 << 1 | 1 << 3
"""FORCE_GPT (also where the protective MBR is missing), MAGIC."""
_FOUND, _NOTHING_MORE = 0, 1
_MAX_SIGNATURES = 64


class Signature(NamedTuple):
    """One thing that was recognised, mostly by libblkid."""

    type: str
    """libblkid's name: `linux_raid_member`, `zfs_member`, `ext4`, `gpt`, …"""
    uuid: str = ""
    label: str = ""
    usage: str = ""
    """`raid`, `filesystem`, `crypto`, `other`, or `partitions` for a partition table."""
    version: str = ""
    where: str = ""
    """The block device: the disk or one of its partitions."""
    damaged: bool = False
    """True if the checksum of the signature is wrong."""
    remains: bool = False
    """A copy or a part that is left where libblkid does not look."""


@functools.cache
def _library() -> Any:
    library = ctypes.CDLL("libblkid.so.1", use_errno=True)
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "blkid_new_probe": (c_void_p, []),
        "blkid_free_probe": (None, [c_void_p]),
        "blkid_probe_set_device": (c_int, [c_void_p, c_int, c_int64, c_int64]),
        "blkid_probe_enable_superblocks": (c_int, [c_void_p, c_int]),
        "blkid_probe_set_superblocks_flags": (c_int, [c_void_p, c_int]),
        "blkid_probe_enable_partitions": (c_int, [c_void_p, c_int]),
        "blkid_probe_set_partitions_flags": (c_int, [c_void_p, c_int]),
        "blkid_do_probe": (c_int, [c_void_p]),
        "blkid_probe_lookup_value": (c_int, [c_void_p, c_char_p, POINTER(c_char_p), POINTER(c_size_t)]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def signatures(fd: int, offset: int, size: int, where: str) -> tuple[Signature, ...]:
    """Return every signature in `size` bytes from `offset` of an open device or image.

    Raises OSError when libblkid is missing or gives up: then nothing is known.
    """
    library = _library()
    probe = library.blkid_new_probe()
    if not probe:
        raise OSError("libblkid could not start")
    try:
        if library.blkid_probe_set_device(probe, fd, offset, size):
            raise OSError(f"libblkid cannot read {where}")
        library.blkid_probe_enable_superblocks(probe, 1)
        library.blkid_probe_set_superblocks_flags(probe, _SUBLKS_FLAGS)
        library.blkid_probe_enable_partitions(probe, 1)
        library.blkid_probe_set_partitions_flags(probe, _PARTS_FLAGS)
        found: list[Signature] = []
        while len(found) < _MAX_SIGNATURES:
            result = library.blkid_do_probe(probe)
            if result == _NOTHING_MORE:
                return tuple(found)
            if result != _FOUND:
                raise OSError(f"libblkid gave up on {where} ({result})")
            found.append(_signature(library, probe, where))
        return tuple(found)
    finally:
        library.blkid_free_probe(probe)


def _signature(library: Any, probe: int, where: str) -> Signature:
    def value(name: bytes) -> str:
        data, length = c_char_p(), c_size_t()
        if library.blkid_probe_lookup_value(probe, name, byref(data), byref(length)) or not data.value:
            return ""
        return clean(data.value)

    if kind := value(b"TYPE"):
        damaged = value(b"SBBADCSUM") == "1"
        return Signature(kind, value(b"UUID"), value(b"LABEL"), value(b"USAGE"), value(b"VERSION"), where, damaged)
    return Signature(value(b"PTTYPE") or "unknown", value(b"PTUUID"), usage="partitions", where=where)
