"""What a byte that is written to a file comes to below its filesystem: the data alone.

Sources: ext4(5), data=; btrfs(5), profiles, and mkfs.btrfs(8); the kernel's Documentation/filesystems/. What a filesystem
writes for itself (journal, inodes, trees) is not counted: it depends on what it finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.stack.amplification import PAGE_BYTES, Share, Spread, Writes, copies, parity_share, parity_words
from raidtui.stack.fs.spec import COPIES, KIB, PARITY, FilesystemSpec, block_bytes, profile

_BTRFS_STRIPE_BYTES: Final = 64 * KIB
"""BTRFS_STRIPE_LEN of fs/btrfs/volumes.h."""
_OWN: Final = "its own metadata not counted"


def amplifies(spec: FilesystemSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
    if spec.compress is not None and writes.reducible:
        return Spread({"on": Share(None, None, writes)}, f"{spec.type} compresses, by how much only the data tells")
    found = _data(spec, counts.get("on", 0), writes._replace(aligned=False))
    if not writes.syncs:
        return found
    # Each sync writes metadata: of small writes more than data.
    return Spread({"on": found.inputs["on"]._replace(high=None)}, found.why)


def _data(spec: FilesystemSpec, devices: int, writes: Writes) -> Spread:
    # A block that is smaller than a page is written with the page that it is in.
    least = max(1.0, max(PAGE_BYTES, block_bytes(spec) if spec.type == "xfs" else 0) / writes.block_bytes)
    if spec.type == "btrfs":
        return _btrfs(spec, devices, writes, least)
    if spec.type == "ext4" and spec.journal_mode == "journal":
        return Spread({"on": Share(2.0, 2.0 * least, writes)}, f"data through the journal as well, 2, {_OWN}")
    return Spread({"on": Share(1.0, least, writes)}, f"{spec.type} once, {_OWN}")


def _btrfs(spec: FilesystemSpec, devices: int, writes: Writes, least: float) -> Spread:
    """It writes elsewhere what it overwrites, and gathers on the way: what was random may be in a row below."""
    kind = profile(spec, "data", devices)
    if kind in PARITY:
        parity = PARITY[kind]
        share = parity_share(writes, _BTRFS_STRIPE_BYTES, max(1, devices - parity), parity)
        whole = devices / max(1, devices - parity)
        words = parity_words(share, devices - parity, parity)
        return Spread({"on": share._replace(low=whole)}, f"btrfs {kind}: {words}, {_OWN}")
    share = copies(COPIES[kind], writes)
    return Spread({"on": share._replace(high=COPIES[kind] * least)}, f"btrfs {kind}: {COPIES[kind]}, {_OWN}")
