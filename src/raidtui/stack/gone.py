"""Kinds of layers that people know from older campaigns and that no kernel of today has: said when a scenario names one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from raidtui.base.files import read_text

REASONS: Final[dict[str, tuple[str, str, str]]] = {
    "flashcache": (
        "flashcache is gone",
        "flashcache is a module from outside the kernel that was given up years ago; none exists for today's kernels. "
        "bcache, LVM's cache (dm-cache) and, for writes alone, LVM's writecache took its place, all part of the kernel. A "
        "server that has the module all the same is refused as well: what raidtui would do with it could not be tried.",
        'Use a "bcache" layer with mode writeback, or an lvm layer with "cache" or "writecache".',
    ),
}


def kinds() -> dict[str, tuple[str, str]]:
    """Kind → why it cannot be built here, and what to use instead. The kind is also the code to explain."""
    return {kind: (_why(kind), way_out) for kind, (_, _, way_out) in REASONS.items()}


def _why(kind: str) -> str:
    if has_module(kind):
        return f"this server has a module {kind}, but raidtui builds nothing with it: no supported kernel has one to try"
    return f"no module {kind} exists for this kernel"


def has_module(name: str, sys: Path = Path("/sys"), lib: Path = Path("/lib/modules")) -> bool:
    """Whether the running kernel has a module of this name: loaded, built in, or to be loaded."""
    listed = read_text(lib / os.uname().release / "modules.dep") or ""
    return (sys / "module" / name).is_dir() or f"/{name}.ko" in listed
