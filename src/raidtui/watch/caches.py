"""Hits and misses of the kernel's block caches: the ARC and L2ARC of ZFS, dm-cache and dm-writecache (LVM), bcache.

Sources: module/zfs/arc.c (arcstats); the kernel's Documentation/admin-guide/device-mapper/cache.rst and writecache.rst,
include/uapi/linux/dm-ioctl.h; Documentation/admin-guide/bcache.rst.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from raidtui.base.files import read_int, read_text
from raidtui.model.frame import CacheState

ARCSTATS: Final = "spl/kstat/zfs/arcstats"
_CONTROL: Final = Path("/dev/mapper/control")
_HEADER: Final = struct.Struct("=IIIIIIiIIIQ128s129s7x")
_TARGET: Final = struct.Struct("=QQiI16s")
_BUFFER_BYTES: Final = 16 << 10
_TABLE_STATUS: Final = 0xC000FD0C | _HEADER.size << 16
_NOFLUSH: Final = 1 << 11
"""Flag that keeps dm-cache from writing its metadata each time that its status is read."""
_SECTOR_BYTES: Final = 512


class Caches:
    """The set of caches is refreshed by `list_soon`, because asking every device each second would cost too much."""

    def __init__(self, procfs: Path = Path("/proc"), sys_block: Path = Path("/sys/block")) -> None:
        self._arcstats = procfs / ARCSTATS
        self._sys_block = sys_block
        self._known: dict[str, str] = {}
        """States of caches by kernel name: `dm` or `bcache`."""
        self._listed = False

    def read(self) -> dict[str, CacheState]:
        """All of them: `arc`, `l2arc`, and devices by their kernel names."""
        if not self._listed:
            self._known, self._listed = dict(self._list()), True
        found = arc_states(read_text(self._arcstats) or "")
        for name, kind in self._known.items():
            state = self._bcache(name) if kind == "bcache" else _dm(self._sys_block / name / "dev")
            if state is not None:
                found[name] = state
        return found

    def list_soon(self) -> None:
        """Something was built: look for caches at the next call of `read`."""
        self._listed = False

    def _list(self) -> Iterator[tuple[str, str]]:
        for name in sorted(path.name for path in self._sys_block.glob("*")):
            if name.startswith("bcache"):
                yield name, "bcache"
            elif name.startswith("dm-") and _dm(self._sys_block / name / "dev") is not None:
                yield name, "dm"

    def _bcache(self, name: str) -> CacheState | None:
        folder = self._sys_block / name / "bcache" / "stats_total"
        hits, misses = read_int(folder / "cache_hits"), read_int(folder / "cache_misses")
        return None if hits is None or misses is None else CacheState(hits, misses)


def arc_states(text: str) -> dict[str, CacheState]:
    """Parse arcstats: requested data, without ZFS's prefetch. Waiting for a running read counts as a miss."""
    rows = (line.split() for line in text.splitlines())
    numbers = {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[2].isdigit()}
    if "size" not in numbers:
        return {}

    def asked(what: str) -> int:
        return sum(numbers.get(f"demand_{kind}_{what}", 0) for kind in ("data", "metadata"))

    found = {
        "arc": CacheState(
            asked("hits"), asked("misses") + asked("iohits"), size_bytes=numbers["size"], target_bytes=numbers.get("c")
        )
    }
    if numbers.get("l2_asize"):
        hits, misses = numbers.get("l2_hits", 0), numbers.get("l2_misses", 0)
        found["l2arc"] = CacheState(hits, misses, size_bytes=numbers["l2_asize"])
    return found


def _dm(dev: Path) -> CacheState | None:
    """Return the counters of a device-mapper cache; None if the device is no cache or cannot be asked."""
    major, _, minor = (read_text(dev) or "").partition(":")
    if not (major.isdigit() and minor.isdigit()):
        return None
    number = int(minor) & 0xFF | int(major) << 8 | (int(minor) & ~0xFF) << 12
    request = bytearray(_BUFFER_BYTES)
    _HEADER.pack_into(request, 0, 4, 0, 0, _BUFFER_BYTES, _HEADER.size, 0, 0, _NOFLUSH, 0, 0, number, b"", b"")
    try:
        fd = os.open(_CONTROL, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.ioctl(fd, _TABLE_STATUS, request)
    except OSError:
        return None
    finally:
        os.close(fd)
    return dm_state(bytes(request))


def dm_state(answer: bytes) -> CacheState | None:
    """Parse the answer to DM_TABLE_STATUS of a device that is one cache."""
    fields = _HEADER.unpack_from(answer)
    at, targets = fields[4], fields[5]
    if targets != 1 or at + _TARGET.size > len(answer):
        return None
    kind = _TARGET.unpack_from(answer, at)[4].split(b"\0", 1)[0]
    words = answer[at + _TARGET.size :].split(b"\0", 1)[0].decode("ascii", "replace").split()
    try:
        return {b"cache": _cache, b"writecache": _writecache}[kind](words)
    except (KeyError, ValueError, IndexError):
        return None


def _cache(words: list[str]) -> CacheState:
    """`8 72/1024 128 12/4096 hits misses write-hits write-misses demotions promotions dirty …`"""
    block = int(words[2]) * _SECTOR_BYTES
    used, _, whole = words[3].partition("/")
    hits, misses, write_hits, write_misses = map(int, words[4:8])
    return CacheState(
        hits, misses, write_hits, write_misses, int(used) * block, int(whole) * block, dirty_bytes=int(words[10]) * block
    )


def _writecache(words: list[str]) -> CacheState | None:
    """`0 blocks free writeback reads read-hits writes hits-uncommitted hits-committed …`; None before kernel 5.15."""
    if len(words) < 9:
        return None
    reads, hits, writes, *write_hits = map(int, words[4:9])
    return CacheState(hits, reads - hits, sum(write_hits), writes - sum(write_hits))
