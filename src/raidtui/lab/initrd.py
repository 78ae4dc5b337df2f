"""The lab's initrd: busybox, four modules and a ten-line script. Debian's own takes longer to make and to boot."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

from raidtui.lab import cpio, recipe


def build(root: Path, kernel: str) -> bytes:
    """The compressed initrd for the guest in `root`."""
    modules_folder = root / "usr/lib/modules" / kernel
    entries = [cpio.folder(name) for name in ("bin", "dev", "proc", "sys", "root", "modules")]
    entries.append(cpio.file("bin/busybox", (root / "usr/bin/busybox").read_bytes(), 0o755))
    entries.append(cpio.Entry("bin/sh", 0o120777, b"busybox"))
    entries.append(cpio.file("init", (recipe.GUEST_FOLDER / "init").read_bytes(), 0o755))
    for number, path in enumerate(load_order((modules_folder / "modules.dep").read_text(), recipe.INITRD_MODULES)):
        data = (modules_folder / path).read_bytes()
        name = Path(path).name.removesuffix(".xz")
        entries.append(cpio.file(f"modules/{number:02d}-{name}", lzma.decompress(data) if path.endswith(".xz") else data))
    return gzip.compress(cpio.pack(entries), compresslevel=1, mtime=0)


def load_order(modules_dep: str, wanted: tuple[str, ...]) -> list[str]:
    """Paths of the wanted modules and all they need, needed ones first. A module that is built in has no entry."""
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
