"""What a byte that is written to a bcache device comes to on both its devices (Documentation/admin-guide/bcache.rst)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.stack.amplification import Share, Spread, Writes
from raidtui.stack.bcache.spec import MIB, BcacheSpec

_DEFAULT_CUTOFF_BYTES: Final = 4 * MIB
"""bcache.rst, sequential_cutoff."""


def amplifies(spec: BcacheSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
    """Its journal and its tree of keys are not counted: keys of many writes go in one block."""
    cutoff = spec.sequential_cutoff.bytes if spec.sequential_cutoff is not None else _DEFAULT_CUTOFF_BYTES
    if spec.mode in ("writearound", "none"):
        return _spread((1, 1), (0, 0), writes, "to the backing device alone, 1")
    if cutoff and (not writes.random or writes.block_bytes >= cutoff):
        # A stream goes past the cache once it is longer than the cutoff.
        return _spread((1, 1), (0, 0), writes, "past the cache, since it is sequential, 1")
    if spec.mode == "writethrough":
        least = 1 if spec.congestion == "off" else 0
        return _spread((1, 1), (least, 1), writes, "to both, 2" if least else "to both, 2, unless the cache is slow")
    return _spread((0, 1), (1, 1), writes, "into the cache, and written back later")


def _spread(on: tuple[int, int], cache: tuple[int, int], writes: Writes, why: str) -> Spread:
    # A flush writes a block of its journal.
    open_end = {"cache"} if writes.syncs and cache[1] else set()
    shares = {name: Share(float(low), None if name in open_end else float(high), writes, keeps=name == "on")
              for name, (low, high) in (("on", on), ("cache", cache))}  # fmt: skip
    return Spread(shares, why)
