"""Expected write amplification: bytes that reach the disks for each byte that a workload writes, from geometry alone."""

from __future__ import annotations

import msgspec


class Amplification(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Bytes that all disks together ought to move for each byte that a workload writes, by geometry and pattern alone.

    What it cannot know is not in it: metadata of filesystems and of ZFS, superblocks, bits of write-intent bitmaps.
    """

    why: str
    """One sentence with the derivation, or with the reason why the value cannot be known."""
    low: float | None = None
    """Written at least; None where it cannot be known."""
    high: float | None = None
    """Written at most; None where nothing bounds it, or where it cannot be known."""
    read_low: float = 0.0
    """Read at least before something can be written (read-modify-write)."""
    read_high: float | None = 0.0
    """Read at most; None where nothing bounds it."""
    low_beside: float = 0.0
    """Part of `low` that goes to disks that do not keep the data: journals, logs, caches."""
