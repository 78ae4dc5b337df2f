"""Build the initrd of the lab: busybox, four modules and a short script, packed as a cpio archive.

The initrd of Debian takes longer to make and to boot.
"""

from __future__ import annotations

import gzip
import lzma
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from raidtui.lab import recipe


def build(root: Path, kernel: str) -> bytes:
    """Return the compressed initrd for the guest in `root`."""
    modules_folder = root / "usr/lib/modules" / kernel
    entries = [folder(name) for name in ("bin", "dev", "proc", "sys", "root", "modules")]
    entries.append(file("bin/busybox", (root / "usr/bin/busybox").read_bytes(), 0o755))
    entries.append(Entry("bin/sh", 0o120777, b"busybox"))
    entries.append(file("init", (recipe.GUEST_FOLDER / "init").read_bytes(), 0o755))
    for number, path in enumerate(load_order((modules_folder / "modules.dep").read_text(), recipe.INITRD_MODULES)):
        data = (modules_folder / path).read_bytes()
        name = Path(path).name.removesuffix(".xz")
        entries.append(file(f"modules/{number:02d}-{name}", lzma.decompress(data) if path.endswith(".xz") else data))
    return gzip.compress(pack(entries), compresslevel=1, mtime=0)


def load_order(modules_dep: str, wanted: tuple[str, ...]) -> list[str]:
    """Return the paths of the wanted modules and their dependencies, dependencies first; built-in modules have no entry."""
    needs: dict[str, list[str]] = {}
    by_name: dict[str, str] = {}
    for line in modules_dep.splitlines():
        path, _, rest = line.partition(":")
        needs[path] = rest.split()
        by_name[Path(path).name.split(".")[0].replace("-", "_")] = path
    order: list[str] = []
    for name in wanted:
        if name not in by_name:
            continue
        wanted_path = by_name[name]
        # modules.dep lists the nearest need first, so the farthest is loaded first.
        for item in (*reversed(needs[wanted_path]), wanted_path):
            if item not in order:
                order.append(item)
    return order


class Entry(NamedTuple):
    """One name in the archive. A folder has no data; a symlink's data is its target."""

    name: str
    mode: int
    data: bytes = b""


def folder(name: str) -> Entry:
    return Entry(name, stat.S_IFDIR | 0o755)


def file(name: str, data: bytes, mode: int = 0o644) -> Entry:
    return Entry(name, stat.S_IFREG | mode, data)


def pack(entries: Iterable[Entry]) -> bytes:
    """Return the archive; all files belong to root and have the epoch as time."""
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
