"""What a byte that is written to a volume or a file of a ZFS pool comes to on the pool's devices.

Sources: zfsprops(7) (copies, logbias, sync, special_small_blocks), zpoolconcepts(7), OpenZFS's module/zfs: vdev_raidz.c
(parity and padding of a block), vdev_draid.c, zil.c and zvol.c (what is logged, and how). Metadata is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Final

from raidtui.model.units import size_text
from raidtui.stack.amplification import PAGE_BYTES, Share, Spread, Writes
from raidtui.stack.zfs import size
from raidtui.stack.zfs.spec import (
    Group,
    ZpoolSpec,
    ashift,
    block_bytes,
    copies,
    groups,
    measured_properties,
    number,
    operands,
)

_RECORD_BYTES: Final = 384
"""Of a log block beside the data: the chain that leads to the next one and the head of one record, both 192 bytes."""
_INDIRECT_FROM: Final = {True: 128 << 10, False: 32 << 10}
"""By whether it is a volume: what is larger goes to its place at once, and the log only points at it, unless there is a log
device (zvol_immediate_write_sz, zfs_immediate_write_sz)."""
_AGGREGATED_BYTES: Final = 1 << 20
"""What is written in a row at most: zfs_vdev_aggregation_limit."""

Range = tuple[float, float]


def amplifies(spec: ZpoolSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
    """Data of the vdevs that hold it; beside it the log of what has to be durable at once."""
    given = {**spec.inherited, **measured_properties(spec)}
    found, names = groups(spec, dict(counts)), _inputs(spec, counts)
    holding = _holding(spec, given, found)
    reduced = [name for name, off in (("compression", "off"), ("dedup", "off")) if _is_on(given, name, off)]
    below = Writes(min(writes.block_bytes, 1 << ashift(spec)), _AGGREGATED_BYTES, False, writes.syncs, False)
    if reduced and writes.reducible:
        unknown = {names[group.devices]: Share(None, None, below) for group in holding}
        return Spread(unknown, f"ZFS has {' and '.join(reduced)} on: how much becomes less, only the data tells")
    blocks, read, words = _blocks(spec, writes)
    kept = copies(spec)
    of_data = [_on(group, block_bytes(spec), ashift(spec)) for group in holding]
    shares = _shared(holding, names, of_data, (blocks[0] * kept, blocks[1] * kept), below, reads_high=read)
    why = f"{words}, on {holding[0].kind} {_text(of_data)}" + (f", {kept} copies" if kept > 1 else "")
    if logged := _logged(spec, given, found, writes):
        log = [group for group in found if group.role == "log"] or [group for group in found if group.role == "member"]
        of_log = [_on(group, logged[2], ashift(spec)) for group in log]
        for name, share in _shared(log, names, of_log, logged[:2], below, keeps=False).items():
            shares[name] = _sum(shares[name], share) if name in shares else share
        where = "its own device" if log[0].role == "log" else "the same"
        why += f", and the log of synchronous writes ({_text([logged[:2]])}) on {where}"
    if writes.syncs and spec.dataset is not None:
        # Each sync of a file writes metadata: of small writes more than data.
        shares = {name: share._replace(high=None) for name, share in shares.items()}
    return Spread(shares, f"{why}; metadata not counted, and what is still in memory at the end is missing")


def _inputs(spec: ZpoolSpec, counts: Mapping[str, int]) -> dict[tuple[int, ...], str]:
    """By the devices of a vdev: the input that they came in by."""
    found, at = {}, 0
    ends = {}
    for name in operands(spec):
        ends[name] = range(at, at + counts.get(name, 0))
        at += counts.get(name, 0)
    for group in groups(spec, dict(counts)):
        found[group.devices] = next(name for name, places in ends.items() if group.devices[0] in places)
    return found


def _holding(spec: ZpoolSpec, given: Mapping[str, str | int], found: list[Group]) -> list[Group]:
    """The vdevs that data goes to: special ones where its blocks are small enough for them."""
    special = [group for group in found if group.role == "special"]
    small = number(given.get("special_small_blocks", 0)) or 0
    if special and small >= block_bytes(spec):
        return special
    return [group for group in found if group.role == "member"]


def _is_on(given: Mapping[str, str | int], name: str, off: str) -> bool:
    default = {"compression": "on", "dedup": "off"}[name]
    return str(given.get(name, default)) != off


def _blocks(spec: ZpoolSpec, writes: Writes) -> tuple[Range, float, str]:
    """Whole blocks (volblocksize, recordsize) for each byte, and what is read for it at most.

    Writes within one transaction group share a block. One that is written in part is read before (dbuf.c,
    dmu_buf_will_dirty), unless it is in memory.
    """
    block, size_ = block_bytes(spec), writes.block_bytes
    named = size_text(block)
    if size_ % block == 0:
        return (1.0, 1.0), 0.0, f"whole blocks of {named}"
    if not writes.random:
        # Of a stream every block is written once it is full, or as far as it was filled when a transaction group ended.
        return (1.0, 1.0), 1.0, f"blocks of {named}, filled by what follows"
    touched = _touched(size_, block)
    words = f"whole blocks of {named} for {size_text(size_)} each, {touched:.3g} unless some meet in one"
    return (1.0, touched), touched, words


def _touched(size_: int, block: int) -> float:
    """Bytes of all blocks that a write at a multiple of its size touches, for each byte of it."""
    places = block // gcd(size_, block)
    count = sum((place * size_ % block + size_ - 1) // block + 1 for place in range(places))
    return count * block / (places * size_)


def _on(group: Group, block: int, shift: int) -> Range:
    """What a block comes to on one vdev: sectors with their parity; padding of raidz is written only where it joins two
    writes into one."""
    if group.kind == "mirror":
        return (float(len(group.devices)),) * 2
    allocated = size.allocated_bytes(group, block, shift) / block
    if not group.kind.startswith("raidz"):
        return allocated, allocated
    sectors = max(1, -(-block // (1 << shift)))
    columns = len(group.devices) - group.parity
    return ((sectors + group.parity * -(-sectors // columns)) << shift) / block, allocated


def _shared(
    found: list[Group], names: Mapping[tuple[int, ...], str], of_each: list[Range], times: Range, below: Writes,
    *, keeps: bool = True, reads_high: float = 0.0,
) -> dict[str, Share]:  # fmt: skip
    """A pool stripes over its vdevs: each takes as much as any other, and is read as much."""
    shares: dict[str, Share] = {}
    for group, (low, high) in zip(found, of_each, strict=True):
        share = Share(low * times[0] / len(found), high * times[1] / len(found), below,
                      reads_high=reads_high / len(found), keeps=keeps)  # fmt: skip
        name = names[group.devices]
        shares[name] = _sum(shares[name], share) if name in shares else share
    return shares


def _sum(one: Share, other: Share) -> Share:
    low = None if one.low is None or other.low is None else one.low + other.low
    high = None if one.high is None or other.high is None else one.high + other.high
    reads_high = None if one.reads_high is None or other.reads_high is None else one.reads_high + other.reads_high
    return one._replace(low=low, high=high, reads_high=reads_high, keeps=one.keeps or other.keeps)


def _logged(
    spec: ZpoolSpec, given: Mapping[str, str | int], found: list[Group], writes: Writes
) -> tuple[float, float, int] | None:
    """Bytes that go to the log for each byte, and how large a log block is; None where nothing is logged.

    Only what is used of a log block is written, in pages: a write that comes alone takes its record's head along.
    """
    if str(given.get("sync", "standard")) == "disabled":
        return None
    if not writes.syncs and str(given.get("sync", "standard")) != "always":
        return None
    if str(given.get("logbias", "latency")) == "throughput":
        return None
    has_device = any(group.role == "log" for group in found)
    volume = spec.dataset is None
    alone = -(-(writes.block_bytes + _RECORD_BYTES) // PAGE_BYTES) * PAGE_BYTES
    points = not has_device and writes.block_bytes >= _INDIRECT_FROM[volume] and (
        not volume or block_bytes(spec) > _INDIRECT_FROM[True]
    )  # fmt: skip
    # Whole records that come by O_DIRECT go past memory to their place at once, and the log points at them (since 2.3,
    # unless direct=disabled; zil.c, zil_write_state).
    past = not volume and writes.block_bytes % block_bytes(spec) == 0 and str(given.get("direct", "")) != "disabled"
    return (0.0 if points or past else 1.0), alone / writes.block_bytes, min(alone, 128 << 10)


def _text(ranges: list[Range]) -> str:
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    return f"{low:.3g}" if high - low < 1e-9 else f"{low:.3g} to {high:.3g}"
