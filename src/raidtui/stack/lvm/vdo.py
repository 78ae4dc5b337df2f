"""Compression and deduplication: the volume that holds the data becomes the pool of a VDO volume (lvmvdo(7))."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.model.units import size_text
from raidtui.stack.lvm.command import POOL, THIN, VOLUME, flat, limits
from raidtui.stack.lvm.group import LvmGroup, Vdo
from raidtui.stack.lvm.read_back import Difference, Row, compare
from raidtui.stack.lvm.size import virtual_bytes
from raidtui.stack.lvm.spec import MIB, LvmSpec, VdoSpec, extent_bytes

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


def arguments(spec: LvmSpec, size_bytes: int) -> Vdo | None:
    """What VDO comes to on a volume of this size; None without it. Raises ProblemError (`lvm-too-small`, `lvm-vdo`)."""
    if (vdo := spec.vdo) is None:
        return None
    slab = _slab_bytes(vdo, size_bytes)
    index = vdo.index_memory.bytes if vdo.index_memory is not None else DEFAULT_INDEX_BYTES
    _refuse_too_small(vdo, size_bytes, slab, index)
    virtual = virtual_bytes(vdo.virtual_size, size_bytes, extent_bytes(spec), "lvm.vdo.virtual_size")
    if virtual > LARGEST_BYTES:
        raise fail("lvm-vdo", f"a VDO volume is at most 4 PiB; this one would have {size_text(virtual)}",
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
    """The slab that was asked for, or one of which there are not too many. Raises ProblemError (`lvm-vdo`)."""
    slab = vdo.slab_size.bytes if vdo.slab_size is not None else DEFAULT_SLAB_BYTES
    while vdo.slab_size is None and size_bytes > slab * MOST_SLABS and slab < LARGEST_SLAB_BYTES:
        slab *= 2
    if size_bytes > slab * MOST_SLABS:
        text = f"VDO has {MOST_SLABS} slabs at most; with slabs of {size_text(slab)}, {size_text(size_bytes)} are more"
        larger = slab < LARGEST_SLAB_BYTES
        raise fail("lvm-vdo", text, place="lvm.vdo.slab_size", exit=Exit.USAGE,
                   remedy="Choose a larger slab_size, or leave it out." if larger else "Give it less room.")  # fmt: skip
    return slab


def _refuse_too_small(vdo: VdoSpec, size_bytes: int, slab: int, index: int) -> None:
    least = index * _INDEX_SPACE + slab + _OVERHEAD_BYTES
    if size_bytes < least:
        raise fail("lvm-too-small", f"VDO needs {size_text(least)} for its index and one slab; there are "
                   f"{size_text(size_bytes)}", place="lvm.vdo", exit=Exit.USAGE,
                   remedy="Bind larger disks, or choose a smaller slab_size.")  # fmt: skip
    if (vdo.physical_threads or 0) > (slabs := 1 + (size_bytes - least) // slab):
        raise fail("lvm-too-small", f"VDO has a physical thread for each slab at most; there is room for {slabs} slabs",
                   place="lvm.vdo.physical_threads", remedy="Ask for fewer threads or smaller slabs.",
                   exit=Exit.USAGE)  # fmt: skip


def argvs(group: str, vdo: Vdo, paths: Sequence[str]) -> tuple[Argv, ...]:
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


def differences(vg: LvmGroup, vdo: Vdo, volumes: dict[str, Row]) -> list[Difference]:
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
