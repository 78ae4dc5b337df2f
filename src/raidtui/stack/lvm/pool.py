"""Volumes that are served from a pool: VDO (lvmvdo(7)), thin (lvmthin(7)), and a thin one whose pool is on VDO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.model.units import size_text
from raidtui.stack.lvm.commands import POOL, THIN, UNSEEN, VOLUME, flat, limits, lvcreate_argv
from raidtui.stack.lvm.group import LvmGroup, Thin, Vdo
from raidtui.stack.lvm.read_back import Row, compare, size_differences
from raidtui.stack.lvm.size import TOO_SMALL, virtual_bytes
from raidtui.stack.lvm.spec import KIB, MIB, REDUNDANT, LvmSpec, VdoSpec, extent_bytes, geometry
from raidtui.stack.read_back import Difference

VDO: Final = Refusal(
    "lvm-vdo",
    "Wrong option of VDO",
    "A slab is a power of two from 128MiB to 32GiB; index memory is 256MiB, 512MiB, 768MiB, or whole GiB up to 1TiB; "
    "a volume has at most 4PiB.",
    "Leave the options out, or choose one of these values.",
)
THIN_CHUNK: Final = Refusal(
    "lvm-thin",
    "Wrong chunk of a thin pool",
    "A chunk is a multiple of 64KiB up to 1GiB.",
    'Write something like "64KiB", or leave chunk out.',
)


def pool_argvs(vg: LvmGroup, on: Sequence[str], paths: Sequence[str]) -> tuple[Argv, ...]:
    """Return the commands that make the volume a pool, and create the measured volume in it; the lowest first."""
    vdo = vdo_argvs(vg.name, vg.vdo, paths) if vg.vdo is not None else ()
    return vdo + (thin_argvs(vg.name, vg.thin, on, paths) if vg.thin is not None else ())


def pool_differences(vg: LvmGroup, volumes: dict[str, Row], missing: int) -> list[Difference]:
    """Return the differences of the pools and their volumes from the plan."""
    vdo = vdo_differences(vg, vg.vdo, volumes) if vg.vdo is not None else []
    return vdo + (thin_differences(vg, vg.thin, volumes, missing) if vg.thin is not None else [])


LARGEST_BYTES: Final = 4 << 50
DEFAULT_SLAB_BYTES: Final = 2 << 30
LARGEST_SLAB_BYTES: Final = 32 << 30
MOST_SLABS: Final = 8192
"""MAX_VDO_SLABS (drivers/md/dm-vdo/types.h, constants.h)."""
DEFAULT_INDEX_BYTES: Final = 256 * MIB
NUMBERS: Final = ("ack_threads", "bio_threads", "bio_rotation", "cpu_threads", "hash_zone_threads", "logical_threads",
                  "physical_threads", "block_map_era_length")  # fmt: skip
"""Options of VDO that LVM takes, and shows, as numbers under the same name."""
NO_INDEX: Final = ("closed", "offline")
"""States of an index that is not used: never opened, or open and switched off (drivers/md/dm-vdo/dedupe.c)."""
_INDEX_SPACE: Final = 10
"""A dense index takes ten times its memory on the devices."""
_OVERHEAD_BYTES: Final = 128 * MIB


def vdo_of(spec: LvmSpec, size_bytes: int) -> Vdo | None:
    """Return the VDO pool on a volume of this size; None if the scenario has none. Raises ProblemError (`lvm-too-small`,
    `lvm-vdo`).
    """
    if (vdo := spec.vdo) is None:
        return None
    slab = _slab_bytes(vdo, size_bytes)
    index = vdo.index_memory.bytes if vdo.index_memory is not None else DEFAULT_INDEX_BYTES
    _refuse_too_small(vdo, size_bytes, slab, index)
    virtual = virtual_bytes(vdo.virtual_size, size_bytes, extent_bytes(spec), "lvm.vdo.virtual_size")
    if virtual > LARGEST_BYTES:
        raise fail(VDO, f"a VDO volume is at most 4 PiB; this one would have {size_text(virtual)}",
                   place="lvm.vdo.virtual_size", remedy="Ask for less.", exit=Exit.USAGE)  # fmt: skip
    return Vdo(
        name=VOLUME if spec.thin is None else THIN,
        virtual_bytes=virtual,
        compression=vdo.compression,
        deduplication=vdo.deduplication,
        slab_bytes=slab,
        index_bytes=index,
        map_cache_bytes=vdo.block_map_cache.bytes if vdo.block_map_cache is not None else None,
        numbers={name: value for name in NUMBERS if (value := getattr(vdo, name)) is not None},
    )


def _slab_bytes(vdo: VdoSpec, size_bytes: int) -> int:
    """Return the requested slab, or the smallest one with at most `MOST_SLABS` slabs. Raises ProblemError (`lvm-vdo`)."""
    slab = vdo.slab_size.bytes if vdo.slab_size is not None else DEFAULT_SLAB_BYTES
    while vdo.slab_size is None and size_bytes > slab * MOST_SLABS and slab < LARGEST_SLAB_BYTES:
        slab *= 2
    if size_bytes > slab * MOST_SLABS:
        text = f"VDO has {MOST_SLABS} slabs at most; with slabs of {size_text(slab)}, {size_text(size_bytes)} are more"
        larger = slab < LARGEST_SLAB_BYTES
        raise fail(VDO, text, place="lvm.vdo.slab_size", exit=Exit.USAGE,
                   remedy="Choose a larger slab_size, or leave it out." if larger else "Give it less room.")  # fmt: skip
    return slab


def _refuse_too_small(vdo: VdoSpec, size_bytes: int, slab: int, index: int) -> None:
    least = index * _INDEX_SPACE + slab + _OVERHEAD_BYTES
    if size_bytes < least:
        raise fail(TOO_SMALL, f"VDO needs {size_text(least)} for its index and one slab; there are "
                   f"{size_text(size_bytes)}", place="lvm.vdo", exit=Exit.USAGE,
                   remedy="Bind larger disks, or choose a smaller slab_size.")  # fmt: skip
    if (vdo.physical_threads or 0) > (slabs := 1 + (size_bytes - least) // slab):
        raise fail(TOO_SMALL, f"VDO has a physical thread for each slab at most; there is room for {slabs} slabs",
                   place="lvm.vdo.physical_threads", remedy="Ask for fewer threads or smaller slabs.",
                   exit=Exit.USAGE)  # fmt: skip


def vdo_argvs(group: str, vdo: Vdo, paths: Sequence[str]) -> tuple[Argv, ...]:
    """Return the command that makes a VDO pool with a virtual volume. LVM asks if the content may be destroyed."""
    options = {
        "--type": "vdo-pool", "--name": vdo.name, "--virtualsize": f"{vdo.virtual_bytes >> 10}K",
        "--compression": "y" if vdo.compression else "n",
        "--deduplication": "y" if vdo.deduplication else "n",
    }  # fmt: skip
    numbers = {"slab_size_mb": vdo.slab_bytes >> 20, "index_memory_size_mb": vdo.index_bytes >> 20}
    if vdo.map_cache_bytes is not None:
        numbers["block_map_cache_size_mb"] = vdo.map_cache_bytes >> 20
    settings = [word for name, value in (numbers | vdo.numbers).items() for word in ("--vdosettings", f"{name}={value}")]
    return (("lvm", "lvconvert", *flat(options), *settings, f"{group}/{POOL}", *flat(limits(paths))),)


def vdo_differences(vg: LvmGroup, vdo: Vdo, volumes: dict[str, Row]) -> list[Difference]:
    """Return the differences of VDO's pool and its virtual volume from the plan."""
    name = VOLUME if vg.thin is None else f"{THIN}_tdata"
    wrong = compare({"segtype": "vdo", "lv_size": str(vdo.virtual_bytes), "pool_lv": POOL},
                    volumes.get(name, {}), name)  # fmt: skip
    expected = {
        "segtype": "vdo-pool", "vdo_operating_mode": "normal",
        "vdo_compression": "enabled" if vdo.compression else "",
        "vdo_deduplication": "enabled" if vdo.deduplication else "",
        "vdo_compression_state": "online" if vdo.compression else "offline",
        "vdo_slab_size": str(vdo.slab_bytes), "vdo_index_memory_size": str(vdo.index_bytes),
    } | {f"vdo_{name}": str(value) for name, value in vdo.numbers.items()}  # fmt: skip
    if vdo.map_cache_bytes is not None:
        expected["vdo_block_map_cache_size"] = str(vdo.map_cache_bytes)
    found = volumes.get(POOL, {})
    index, states = found.get("vdo_index_state"), ("online",) if vdo.deduplication else NO_INDEX
    if index not in states:
        wrong.append(Difference(f"{POOL} vdo_index_state", " or ".join(states), index))
    return wrong + compare(expected, found, POOL)


DEFAULT_THIN_CHUNK_BYTES: Final = 64 * KIB
META: Final = "meta"
_BYTES_PER_CHUNK: Final = 64
_MOST_METADATA: Final = 128 * MIB
"""LVM chooses a chunk with which the metadata stays below this."""
_LEAST_METADATA: Final = 4 * MIB


def thin_metadata_extents(spec: LvmSpec, free: Sequence[int]) -> int:
    """Return the extents that the metadata of the thin pool may take of any one device; 0 without a thin pool."""
    if spec.thin is None:
        return 0
    largest = _largest_pool(spec, free)
    size = max(_LEAST_METADATA, largest // thin_chunk_bytes(spec, largest) * _BYTES_PER_CHUNK)
    return -(-size // extent_bytes(spec)) + (1 if spec.type in REDUNDANT else 0)


def _largest_pool(spec: LvmSpec, free: Sequence[int]) -> int:
    """Return the most bytes of the thin pool: all bytes of the devices, or VDO's virtual size over them."""
    most = sum(free) * extent_bytes(spec)
    return spec.vdo.virtual_size.of(most) if spec.vdo is not None else most


def thin_chunk_bytes(spec: LvmSpec, size_bytes: int) -> int:
    """Return the requested chunk, or the smallest one with which the metadata stays small."""
    if spec.thin is not None and spec.thin.chunk is not None:
        return spec.thin.chunk.bytes
    chunk = DEFAULT_THIN_CHUNK_BYTES
    while size_bytes // chunk * _BYTES_PER_CHUNK > _MOST_METADATA:
        chunk *= 2
    return chunk


def thin_of(spec: LvmSpec, size_bytes: int, free: Sequence[int]) -> Thin | None:
    """Return the thin pool of this size on devices with so many free extents; None if the scenario has none.

    Raises ProblemError (`lvm-thin`).
    """
    if spec.thin is None:
        return None
    copies = geometry(spec, len(free)).copies if spec.type in REDUNDANT else 1
    if spec.type in ("raid4", "raid5", "raid6"):
        copies = 3 if spec.type == "raid6" else 2
    if (chunk := thin_chunk_bytes(spec, _largest_pool(spec, free))) > size_bytes:
        text = f"a pool of {size_text(size_bytes)} has no room for one chunk of {size_text(chunk)}"
        raise fail(THIN_CHUNK, text, place="lvm.thin.chunk", remedy="Ask for a smaller chunk.", exit=Exit.USAGE)
    metadata = thin_metadata_extents(spec, free) - (1 if copies > 1 else 0)
    return Thin(
        pool=POOL if spec.vdo is None else THIN,
        virtual_bytes=virtual_bytes(spec.thin.virtual_size, size_bytes, extent_bytes(spec), "lvm.thin.virtual_size"),
        chunk_bytes=chunk,
        zero=spec.thin.zero,
        discards=spec.thin.discards,
        metadata_bytes=metadata * extent_bytes(spec),
        metadata_copies=copies,
    )


def thin_argvs(group: str, thin: Thin, on: Sequence[str], paths: Sequence[str]) -> tuple[Argv, ...]:
    """Return the commands that make a thin pool and its virtual volume. LVM asks if the content may be destroyed."""
    common = limits(paths)
    kind = {"--type": "linear"}
    if (copies := thin.metadata_copies) > 1:
        kind = {"--type": "raid1", "--mirrors": str(copies - 1)}
    metadata = lvcreate_argv(META, thin.metadata_bytes, group, on, {**kind, **UNSEEN, **common})
    options = {
        "--type": "thin-pool", "--poolmetadata": f"{group}/{META}", "--poolmetadataspare": "n",
        "--chunksize": f"{thin.chunk_bytes >> 10}K", "--zero": "y" if thin.zero else "n",
        "--discards": thin.discards, "--errorwhenfull": "y",
    }  # fmt: skip
    volume = ("lvm", "lvcreate", "--type", "thin", "--name", VOLUME, "--virtualsize", f"{thin.virtual_bytes >> 10}K",
              "--thinpool", thin.pool, group, *flat(common))  # fmt: skip
    return metadata, ("lvm", "lvconvert", *flat(options), f"{group}/{thin.pool}", *flat(common)), volume


def thin_differences(vg: LvmGroup, thin: Thin, volumes: dict[str, Row], missing: int) -> list[Difference]:
    """Return the differences of the thin pool and its virtual volume from the plan."""
    wrong = compare({"segtype": "thin", "lv_size": str(thin.virtual_bytes), "pool_lv": thin.pool},
                    volumes.get(VOLUME, {}), VOLUME)  # fmt: skip
    expected = {"segtype": "thin-pool", "chunk_size": str(thin.chunk_bytes), "discards": thin.discards,
                "zero": "zero" if thin.zero else "", "lv_when_full": "error"}  # fmt: skip
    found = volumes.get(thin.pool, {})
    size = found.get("lv_metadata_size")
    wrong += size_differences(vg, f"{thin.pool} lv_metadata_size", thin.metadata_bytes, size, missing)
    return wrong + compare(expected, found, thin.pool)
