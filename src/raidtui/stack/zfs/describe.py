"""Description of a pool in words: its options, its defaults, the failures that it tolerates, its write amplification.

Sources of the amplification: zfsprops(7) (copies, logbias, sync, special_small_blocks), zpoolconcepts(7), OpenZFS's
module/zfs: vdev_raidz.c (parity and padding of a block), vdev_draid.c, zil.c and zvol.c (logged data). Metadata is not
counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from math import gcd
from typing import Final

from raidtui.base.text import plural
from raidtui.model.units import size_text
from raidtui.stack.amplification import PAGE_BYTES, Share, Spread, Writes
from raidtui.stack.layer import EVERY_WRITE, WritePath
from raidtui.stack.zfs import size
from raidtui.stack.zfs.notation import number
from raidtui.stack.zfs.spec import Group, ZpoolSpec, vdev_input


def describe(spec: ZpoolSpec, counts: Mapping[str, int]) -> str:
    """`raidz1 of 6, log, blocks of 16KiB`, or `…, files in records of 128KiB`."""
    found = spec.groups(counts)
    data = [group for group in found if group.role == "member"]
    texts = []
    for (kind, width), alike in groupby(data, key=lambda group: (group.word or group.kind, len(group.devices))):
        number = len(list(alike))
        if kind == "stripe":
            texts.append(f"stripe of {number}" if number > 1 else "one disk")
        else:
            texts.append(f"{f'{number} × ' if number > 1 else ''}{kind}" + ("" if ":" in kind else f" of {width}"))
    for role in dict.fromkeys(group.role for group in found if group.role != "member"):
        mirrors = sum(group.kind == "mirror" for group in found if group.role == role)
        texts.append(f"{role} of {mirrors} mirrors" if mirrors > 1 else f"{'mirrored ' if mirrors else ''}{role}")
    for name in ("compression", "dedup"):
        value = spec.in_force(name, "")
        if value and (name, value) != ("dedup", "off"):
            texts.append(f"{name} {value}")
    if spec.volumes > 1:
        texts.append(f"{spec.volumes} volumes")
    texts += [word for word, done in (("trimmed", spec.trim), ("initialized", spec.initialize)) if done]
    blocks, size_ = "blocks" if spec.dataset is None else "files in records", spec.block_bytes
    return ", ".join([*texts, f"{blocks} of " + (f"{size_ >> 10}KiB" if size_ >= 1024 else f"{size_}B")])


def defaults(spec: ZpoolSpec, counts: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """Return the default of each optional field, with the reason."""
    none = "none"
    return {
        "volume": (none, "files in a dataset are measured" if spec.dataset is not None else "nothing is measured"),
        "dataset": (none, "a volume is measured" if spec.volume is not None else "nothing is measured"),
        "volumes": ("1", "one volume is measured"),
        "log": (none, "synchronous writes go to the disks of the pool themselves"),
        "cache": (none, "reads are cached in memory only"),
        "special": (none, "metadata is on the same disks as data"),
        "dedup": (none, "deduplication tables are on the same disks as data"),
        "spares": (none, "nothing takes a failed disk's place"),
        "mirrored": (none, "each of these devices stands alone"),
        "mirrored_per": ("all", "each of them is one mirror of all its devices"),
        "properties": ("ashift 12, failmode continue", "most disks write no less than 4KiB; a pool that fails says so"),
        "inherited": (none, "as ZFS has them: it compresses unless told not to"),
        "trim": ("false", "the disks are blank before, by discards where they promise zeroes"),
        "initialize": ("false", "free space is as the disks have it"),
        "arc_max": ("as it is", "the ARC is left as the server has it"),
    }  # fmt: skip


def write_path(spec: ZpoolSpec) -> tuple[WritePath, ...]:
    """A log takes synchronous writes (zfsprops(7): sync, logbias). An L2ARC is filled from memory, past all writes."""
    sync = spec.in_force("sync", "standard")
    if spec.log is None or sync == "disabled" or spec.in_force("logbias", "latency") == "throughput":
        return ()
    behind = tuple(vdev_input(index, vdev) for index, vdev in enumerate(spec.vdevs))
    return (WritePath("log", behind, EVERY_WRITE if sync == "always" else "every synchronous write", large=True),)


def tolerates_failures(spec: ZpoolSpec, counts: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """Return for each input the number of devices that may fail without data loss, and a sentence about it."""
    found, at = spec.groups(counts), spec.places(counts)
    holding = [name for name in at if name not in ("log", "cache", "spares")]
    answer = {name: _of_vdevs([group for group in found if group.devices[0] in at[name]]) for name in holding}
    if "log" in at:
        answer["log"] = (len(at["log"]), "the log: nothing is lost unless power fails at that moment")
    if "cache" in at:
        answer["cache"] = (len(at["cache"]), "the cache: reads are slower, nothing is lost")
    if spares := len(at.get("spares", ())):
        what = "the spare" if spares == 1 else f"all {plural(spares, 'spare')}"
        answer["spares"] = (spares, f"{what}: nothing takes the place of the next disk that fails")
    return answer


def _of_vdevs(alike: list[Group]) -> tuple[int, str]:
    count = min((group.may_fail for group in alike), default=0)
    if count == 0:
        return 0, "no disk: one that fails takes the whole pool with it"
    if len(alike) > 1:
        return count, f"any {plural(count, 'disk')} of each vdev"
    return count, f"any {count} of the {len(alike[0].devices)} disks"


def may_fail(found: list[Group]) -> int:
    """Return the number of arbitrary disks that may fail without data loss."""
    return min((group.may_fail for group in found if group.role in ("member", "special", "dedup")), default=0)


def write_penalty(found: list[Group], block: int, ashift: int, copies: int) -> float:
    """Device writes for one small random write: the volume's block anew, with its parity; without metadata."""
    worst = 1.0
    for group in found:
        if group.role != "member":
            continue
        sectors = max(1, block >> ashift)
        if group.kind == "mirror":
            worst = max(worst, float(len(group.devices)))
        elif group.kind.startswith("raidz"):
            worst = max(worst, float(min(sectors, len(group.devices) - group.parity) + group.parity))
        elif group.kind.startswith("draid"):
            worst = max(worst, float(group.data + group.parity))
    return worst * copies


def read_penalty(found: list[Group], block: int, ashift: int) -> float:
    """Device reads for one small random read: all data sectors of the block, to verify its checksum."""
    sectors = max(1, block >> ashift)
    striped = [group for group in found if group.role == "member" and group.kind.startswith(("raidz", "draid"))]
    return float(max((min(sectors, group.data or len(group.devices) - group.parity) for group in striped), default=1))


_RECORD_BYTES: Final = 384
"""Bytes of a log block beside the data: the chain to the next block and the head of one record, both 192 bytes."""
_INDIRECT_FROM: Final = {True: 128 << 10, False: 32 << 10}
"""Size from which data is written to its place at once, and the log only refers to it, unless there is a log device; by
whether it is a volume (zvol_immediate_write_sz, zfs_immediate_write_sz).
"""
_AGGREGATED_BYTES: Final = 1 << 20
"""Largest aggregated write: zfs_vdev_aggregation_limit."""
Range = tuple[float, float]


def amplifies(spec: ZpoolSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
    """Data of the vdevs that hold it; beside it the log of what has to be durable at once."""
    found, at = spec.groups(counts), spec.places(counts)
    names = {group.devices: next(name for name in at if group.devices[0] in at[name]) for group in found}
    holding = [group for group in found if group.role == "member"]
    special = [group for group in found if group.role == "special"]
    if special and (number(spec.in_force("special_small_blocks", "0")) or 0) >= spec.block_bytes:
        holding = special
    below = Writes(min(writes.block_bytes, 1 << spec.ashift), _AGGREGATED_BYTES, False, writes.syncs, False)
    if (reduced := spec.reducing) and writes.reducible:
        unknown = {names[group.devices]: Share(None, None, below) for group in holding}
        return Spread(unknown, f"ZFS has {' and '.join(reduced)} on: how much becomes less, only the data tells")
    blocks, read, words = _blocks(spec, writes)
    kept = spec.copies
    of_data = [_on_vdev(group, spec.block_bytes, spec.ashift) for group in holding]
    shares = _shared(holding, names, of_data, (blocks[0] * kept, blocks[1] * kept), below, reads_high=read)
    why = f"{words}, on {holding[0].kind} {_range_text(of_data)}" + (f", {kept} copies" if kept > 1 else "")
    log = [group for group in found if group.role == "log"]
    if logged := _logged(spec, bool(log), writes):
        where = "its own device" if log else "the same"
        log = log or [group for group in found if group.role == "member"]
        of_log = [_on_vdev(group, logged[2], spec.ashift) for group in log]
        for name, share in _shared(log, names, of_log, logged[:2], below, keeps=False).items():
            shares[name] = _sum_of(shares[name], share) if name in shares else share
        why += f", and the log of synchronous writes ({_range_text([logged[:2]])}) on {where}"
    if writes.syncs and spec.dataset is not None:
        # Each sync of a file writes metadata: of small writes more than data.
        shares = {name: share._replace(high=None) for name, share in shares.items()}
    return Spread(shares, f"{why}; metadata not counted, and what is still in memory at the end is missing")


def _blocks(spec: ZpoolSpec, writes: Writes) -> tuple[Range, float, str]:
    """Whole blocks (volblocksize, recordsize) for each byte, and what is read for it at most.

    Writes within one transaction group share a block. One that is written in part is read before (dbuf.c,
    dmu_buf_will_dirty), unless it is in memory.
    """
    block, size_ = spec.block_bytes, writes.block_bytes
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


def _on_vdev(group: Group, block: int, shift: int) -> Range:
    """Return the bytes on one vdev for each byte of a block: sectors with their parity; padding of raidz is written only if
    it joins two writes into one.
    """
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
        shares[name] = _sum_of(shares[name], share) if name in shares else share
    return shares


def _sum_of(one: Share, other: Share) -> Share:
    pairs = ((one.low, other.low), (one.high, other.high), (one.reads_high, other.reads_high))
    low, high, reads_high = (None if mine is None or theirs is None else mine + theirs for mine, theirs in pairs)
    return one._replace(low=low, high=high, reads_high=reads_high, keeps=one.keeps or other.keeps)


def _logged(spec: ZpoolSpec, has_device: bool, writes: Writes) -> tuple[float, float, int] | None:
    """Bytes that go to the log for each byte, and how large a log block is; None where nothing is logged.

    Only what is used of a log block is written, in pages: a write that comes alone takes its record's head along.
    """
    sync = spec.in_force("sync", "standard")
    if sync == "disabled" or not (writes.syncs or sync == "always"):
        return None
    if spec.in_force("logbias", "latency") == "throughput":
        return None
    volume = spec.dataset is None
    alone = -(-(writes.block_bytes + _RECORD_BYTES) // PAGE_BYTES) * PAGE_BYTES
    points = not has_device and writes.block_bytes >= _INDIRECT_FROM[volume] and (
        not volume or spec.block_bytes > _INDIRECT_FROM[True]
    )  # fmt: skip
    # Whole records that come by O_DIRECT go past memory to their place at once, and the log points at them (since 2.3,
    # unless direct=disabled; zil.c, zil_write_state).
    past = not volume and writes.block_bytes % spec.block_bytes == 0 and spec.in_force("direct", "") != "disabled"
    return (0.0 if points or past else 1.0), alone / writes.block_bytes, min(alone, 128 << 10)


def _range_text(ranges: list[Range]) -> str:
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    return f"{low:.3g}" if high - low < 1e-9 else f"{low:.3g} to {high:.3g}"
