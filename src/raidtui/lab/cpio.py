"""Writes a cpio archive (format `newc`), which is what the kernel unpacks as an initrd."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from typing import NamedTuple


class Entry(NamedTuple):
    """One name in the archive. A folder has no data; a symlink's data is where it points."""

    name: str
    mode: int
    data: bytes = b""


def folder(name: str) -> Entry:
    return Entry(name, stat.S_IFDIR | 0o755)


def file(name: str, data: bytes, mode: int = 0o644) -> Entry:
    return Entry(name, stat.S_IFREG | mode, data)


def pack(entries: Iterable[Entry]) -> bytes:
    """The archive, owned by root, with the epoch as every time."""
    out = bytearray()
    for number, entry in enumerate([*entries, Entry("TRAILER!!!", 0)], start=1):
        name = entry.name.encode() + b"\0"
        links = 2 if stat.S_ISDIR(entry.mode) else 1
        fields = (number, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, 0, 0, len(name), 0)
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + name
        out += b"\0" * (-len(out) % 4)
        out += entry.data
        out += b"\0" * (-len(out) % 4)
    return bytes(out)
