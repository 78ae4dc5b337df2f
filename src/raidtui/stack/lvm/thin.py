"""Thin provisioning: the volume that holds the data, or VDO's volume on it, becomes the pool of a thin one (lvmthin(7))."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.model.units import size_text
from raidtui.stack.lvm.command import POOL, THIN, VOLUME, flat, limits, lvcreate_argv
from raidtui.stack.lvm.fast import UNSEEN
from raidtui.stack.lvm.group import Thin
from raidtui.stack.lvm.read_back import Difference, Row, compare
from raidtui.stack.lvm.size import virtual_bytes
from raidtui.stack.lvm.spec import KIB, MIB, REDUNDANT, LvmSpec, extent_bytes, geometry

DEFAULT_CHUNK_BYTES: Final = 64 * KIB
META: Final = "meta"
_BYTES_PER_CHUNK: Final = 64
_MOST_METADATA: Final = 128 * MIB
"""LVM chooses a chunk with which the metadata stays below this."""
_LEAST_METADATA: Final = 4 * MIB


def metadata_extents(spec: LvmSpec, free: Sequence[int]) -> int:
    """Extents that the pool's metadata may take of any one device; 0 without one."""
    if spec.thin is None:
        return 0
    largest = _largest_pool(spec, free)
    size = max(_LEAST_METADATA, largest // chunk_bytes(spec, largest) * _BYTES_PER_CHUNK)
    return -(-size // extent_bytes(spec)) + (1 if spec.type in REDUNDANT else 0)


def _largest_pool(spec: LvmSpec, free: Sequence[int]) -> int:
    """Bytes that the pool has at most: all that there are, or what VDO makes of them."""
    most = sum(free) * extent_bytes(spec)
    return spec.vdo.virtual_size.of(most) if spec.vdo is not None else most


def chunk_bytes(spec: LvmSpec, size_bytes: int) -> int:
    """The chunk that was asked for, or one that keeps the metadata small."""
    if spec.thin is not None and spec.thin.chunk is not None:
        return spec.thin.chunk.bytes
    chunk = DEFAULT_CHUNK_BYTES
    while size_bytes // chunk * _BYTES_PER_CHUNK > _MOST_METADATA:
        chunk *= 2
    return chunk


def arguments(spec: LvmSpec, size_bytes: int, free: Sequence[int]) -> Thin | None:
    """What the pool comes to where it is of this size, on devices with so many free extents; None without one.

    Raises ProblemError (`lvm-thin`).
    """
    if spec.thin is None:
        return None
    copies = geometry(spec, len(free)).copies if spec.type in REDUNDANT else 1
    if spec.type in ("raid4", "raid5", "raid6"):
        copies = 3 if spec.type == "raid6" else 2
    if (chunk := chunk_bytes(spec, _largest_pool(spec, free))) > size_bytes:
        text = f"a pool of {size_text(size_bytes)} has no room for one chunk of {size_text(chunk)}"
        raise fail("lvm-thin", text, place="lvm.thin.chunk", remedy="Ask for a smaller chunk.", exit=Exit.USAGE)
    metadata = metadata_extents(spec, free) - (1 if copies > 1 else 0)
    return Thin(
        pool=POOL if spec.vdo is None else THIN,
        virtual_bytes=virtual_bytes(spec.thin.virtual_size, size_bytes, extent_bytes(spec), "lvm.thin.virtual_size"),
        chunk_bytes=chunk,
        zero=spec.thin.zero,
        discards=spec.thin.discards,
        metadata_bytes=metadata * extent_bytes(spec),
        metadata_copies=copies,
    )


def argvs(group: str, thin: Thin, on: Sequence[str], paths: Sequence[str]) -> tuple[Argv, ...]:
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


def differences(thin: Thin, volumes: dict[str, Row]) -> list[Difference]:
    """Return the differences of the thin pool and its virtual volume from the plan."""
    wrong = compare({"segtype": "thin", "lv_size": str(thin.virtual_bytes), "pool_lv": thin.pool},
                    volumes.get(VOLUME, {}), VOLUME)  # fmt: skip
    expected = {"segtype": "thin-pool", "chunk_size": str(thin.chunk_bytes), "discards": thin.discards,
                "zero": "zero" if thin.zero else "", "lv_when_full": "error",
                "lv_metadata_size": str(thin.metadata_bytes)}  # fmt: skip
    return wrong + compare(expected, volumes.get(thin.pool, {}), thin.pool)
