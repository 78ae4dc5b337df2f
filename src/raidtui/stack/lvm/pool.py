"""Volumes that are served from a pool: VDO and thin. The volume that holds the data becomes the pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.model.units import size_text
from raidtui.stack.lvm.command import POOL, VOLUME, flat, limits, lvcreate_argv
from raidtui.stack.lvm.fast import UNSEEN
from raidtui.stack.lvm.proof import Difference, Row, compare
from raidtui.stack.lvm.spec import KIB, MIB, REDUNDANT, LvmSpec, VdoSpec, extent_bytes, geometry

DEFAULT_SLAB_BYTES: Final = 2 << 30
DEFAULT_INDEX_BYTES: Final = 256 * MIB
VDO_NUMBERS: Final = ("ack_threads", "bio_threads", "bio_rotation", "cpu_threads", "hash_zone_threads", "logical_threads",
                      "physical_threads", "block_map_era_length")  # fmt: skip
"""Options of VDO that LVM takes, and shows, as numbers under the same name."""
DEFAULT_CHUNK_BYTES: Final = 64 * KIB
META: Final = "meta"
_INDEX_SPACE: Final = 10
"""A dense index takes ten times its memory on the devices."""
_VDO_OVERHEAD_BYTES: Final = 128 * MIB
_BYTES_PER_CHUNK: Final = 64
_MOST_METADATA: Final = 128 * MIB
"""LVM chooses a chunk with which the metadata stays below this."""
_LEAST_METADATA: Final = 4 * MIB


def metadata_extents(spec: LvmSpec, free: Sequence[int]) -> int:
    """Extents that a thin pool's metadata may take of any one device; 0 without one."""
    if spec.thin is None:
        return 0
    extent = extent_bytes(spec)
    chunks = sum(free) * extent // chunk_bytes(spec, sum(free) * extent)
    size = max(_LEAST_METADATA, chunks * _BYTES_PER_CHUNK)
    return -(-size // extent) + (1 if spec.type in REDUNDANT else 0)


def chunk_bytes(spec: LvmSpec, size_bytes: int) -> int:
    """The chunk of a thin pool that was asked for, or one that keeps its metadata small."""
    if spec.thin is not None and spec.thin.chunk is not None:
        return spec.thin.chunk.bytes
    chunk = DEFAULT_CHUNK_BYTES
    while size_bytes // chunk * _BYTES_PER_CHUNK > _MOST_METADATA:
        chunk *= 2
    return chunk


def arguments(spec: LvmSpec, size_bytes: int, free: Sequence[int]) -> dict[str, Any] | None:
    """What the pool comes to on a volume of this size; None without one. Raises ProblemError (`lvm-too-small`)."""
    wanted = spec.vdo or spec.thin
    if wanted is None:
        return None
    extent = extent_bytes(spec)
    virtual = wanted.virtual_size.of(size_bytes)
    # A size is rounded up, as LVM does; a share is not to become more than was asked for.
    extents = -(-virtual // extent) if wanted.virtual_size.bytes is not None else max(1, virtual // extent)
    found = {"virtual_bytes": extents * extent}
    if spec.vdo is not None:
        return found | _vdo(spec.vdo, size_bytes)
    assert spec.thin is not None
    copies = geometry(spec, len(free)).copies if spec.type in REDUNDANT else 1
    if spec.type in ("raid4", "raid5", "raid6"):
        copies = 3 if spec.type == "raid6" else 2
    metadata = metadata_extents(spec, free) - (1 if copies > 1 else 0)
    return found | {
        "kind": "thin",
        "chunk_bytes": chunk_bytes(spec, sum(free) * extent),
        "zero": spec.thin.zero,
        "discards": spec.thin.discards,
        "metadata_bytes": metadata * extent,
        "metadata_copies": copies,
    }


def _vdo(vdo: VdoSpec, size_bytes: int) -> dict[str, Any]:
    slab = vdo.slab_size.bytes if vdo.slab_size is not None else DEFAULT_SLAB_BYTES
    index = vdo.index_memory.bytes if vdo.index_memory is not None else DEFAULT_INDEX_BYTES
    least = index * _INDEX_SPACE + slab + _VDO_OVERHEAD_BYTES
    if size_bytes < least:
        raise fail("lvm-too-small", f"VDO needs {size_text(least)} for its index and one slab; there are "
                   f"{size_text(size_bytes)}", place="lvm.vdo", exit=Exit.USAGE,
                   remedy="Bind larger disks, or choose a smaller slab_size.")  # fmt: skip
    if (vdo.physical_threads or 0) > (slabs := 1 + (size_bytes - least) // slab):
        raise fail("lvm-too-small", f"VDO has a physical thread for each slab at most; there is room for {slabs} slabs",
                   place="lvm.vdo.physical_threads", remedy="Ask for fewer threads or smaller slabs.",
                   exit=Exit.USAGE)  # fmt: skip
    return {
        "kind": "vdo",
        "compression": vdo.compression,
        "deduplication": vdo.deduplication,
        "slab_bytes": slab,
        "index_bytes": index,
        "map_cache_bytes": vdo.block_map_cache.bytes if vdo.block_map_cache is not None else None,
        "numbers": {name: value for name in VDO_NUMBERS if (value := getattr(vdo, name)) is not None},
    }


def argvs(args: dict[str, Any], on: Sequence[str], paths: Sequence[str]) -> tuple[Argv, ...]:
    """Make the volume a pool, and a virtual volume in it. The conversion asks whether its content may be destroyed."""
    pool, group, common = args["pool"], args["name"], limits(paths)
    if pool["kind"] == "vdo":
        options = {
            "--type": "vdo-pool", "--name": VOLUME, "--virtualsize": f"{pool['virtual_bytes'] >> 10}K",
            "--compression": "y" if pool["compression"] else "n",
            "--deduplication": "y" if pool["deduplication"] else "n",
        }  # fmt: skip
        asked = {"slab_size_mb": pool["slab_bytes"] >> 20, "index_memory_size_mb": pool["index_bytes"] >> 20}
        if pool["map_cache_bytes"] is not None:
            asked["block_map_cache_size_mb"] = pool["map_cache_bytes"] >> 20
        settings = tuple(
            word for name, value in (asked | pool["numbers"]).items() for word in ("--vdosettings", f"{name}={value}")
        )
        return (("lvm", "lvconvert", *flat(options), *settings, f"{group}/{POOL}", *flat(common)),)
    kind = {"--type": "linear"}
    if (copies := pool["metadata_copies"]) > 1:
        kind = {"--type": "raid1", "--mirrors": str(copies - 1)}
    metadata = lvcreate_argv(META, pool["metadata_bytes"], group, on, {**kind, **UNSEEN, **common})
    options = {
        "--type": "thin-pool", "--poolmetadata": f"{group}/{META}", "--poolmetadataspare": "n",
        "--chunksize": f"{pool['chunk_bytes'] >> 10}K", "--zero": "y" if pool["zero"] else "n",
        "--discards": pool["discards"], "--errorwhenfull": "y",
    }  # fmt: skip
    volume = ("lvm", "lvcreate", "--type", "thin", "--name", VOLUME, "--virtualsize", f"{pool['virtual_bytes'] >> 10}K",
              "--thinpool", POOL, group, *flat(common))  # fmt: skip
    return metadata, ("lvm", "lvconvert", *flat(options), f"{group}/{POOL}", *flat(common)), volume


def differences(args: Row, volumes: dict[str, Row]) -> list[Difference]:
    """What is not as asked of the pool and the virtual volume."""
    asked = args["pool"]
    wrong = compare({"segtype": asked["kind"], "lv_size": str(asked["virtual_bytes"]), "pool_lv": POOL},
                    volumes.get(VOLUME, {}), VOLUME)  # fmt: skip
    if asked["kind"] == "vdo":
        expected = {
            "segtype": "vdo-pool", "vdo_operating_mode": "normal",
            "vdo_compression": "enabled" if asked["compression"] else "",
            "vdo_deduplication": "enabled" if asked["deduplication"] else "",
            "vdo_compression_state": "online" if asked["compression"] else "offline",
            "vdo_index_state": "online" if asked["deduplication"] else "offline",
            "vdo_slab_size": str(asked["slab_bytes"]), "vdo_index_memory_size": str(asked["index_bytes"]),
        } | {f"vdo_{name}": str(value) for name, value in asked["numbers"].items()}  # fmt: skip
        if asked["map_cache_bytes"] is not None:
            expected["vdo_block_map_cache_size"] = str(asked["map_cache_bytes"])
    else:
        expected = {"segtype": "thin-pool", "chunk_size": str(asked["chunk_bytes"]), "discards": asked["discards"],
                    "zero": "zero" if asked["zero"] else "", "lv_when_full": "error",
                    "lv_metadata_size": str(asked["metadata_bytes"])}  # fmt: skip
    return wrong + compare(expected, volumes.get(POOL, {}), POOL)
