"""Regions of devices and files that fio workloads use, in bytes."""

from __future__ import annotations

from typing import Final, NamedTuple

from raidtui.load.fio.spec import FioSpec
from raidtui.model.units import Duration, Extent, Size

GRAIN_BYTES: Final = 1 << 20
"""Block size of the prefill. Regions that raidtui chooses end on such a block, so that the prefill covers them."""
ALIGN_BYTES: Final = 4096
"""Alignment of file sizes: the largest logical sector, and the block size of most filesystems."""
DEFAULT_SHARE: Final = 0.8
"""Default share of a directory: a full filesystem would distort the numbers."""
CONDITIONING_BLOCK_BYTES: Final = 128 << 10
_CONDITIONING_LIMIT: Final = "7d"


class Region(NamedTuple):
    """Region of a device: offset of the first job, size per job, distance between jobs, and end of the last job."""

    offset: int
    size: int
    step: int
    end: int


def region_of(spec: FioSpec, size_bytes: int) -> Region:
    """Return the region on a target of `size_bytes`; its size is zero or negative if nothing is left."""
    offset = _resolve(spec.offset, size_bytes, spec)
    step = _resolve(spec.offset_increment, size_bytes, spec)
    last = offset + step * (spec.numjobs - 1)
    size = _resolve(spec.size, size_bytes, spec) if spec.size else _whole_blocks(size_bytes - last, spec)
    return Region(offset, size, step, last + size)


def _resolve(extent: Extent | None, size_bytes: int, spec: FioSpec) -> int:
    if extent is None:
        return 0
    # A size in bytes is used as given; a share is rounded to whole blocks.
    return extent.bytes if extent.bytes is not None else _whole_blocks(extent.of(size_bytes), spec)


def _whole_blocks(size_bytes: int, spec: FioSpec) -> int:
    grain = max(GRAIN_BYTES, spec.largest_block_bytes)
    return size_bytes - size_bytes % grain if size_bytes >= grain else size_bytes


class Files(NamedTuple):
    """Files of a workload in a directory: size of each, number per job, number of jobs."""

    each: int
    per_job: int
    jobs: int

    @property
    def job_bytes(self) -> int:
        return self.each * self.per_job

    @property
    def total(self) -> int:
        return self.job_bytes * self.jobs


def files_of(spec: FioSpec, size_bytes: int) -> Files:
    """Return the files in a directory with room for `size_bytes`; their size is 0 if they do not fit."""
    if spec.filesize is not None:
        return Files(spec.filesize.bytes, spec.nrfiles, spec.numjobs)
    if spec.size is not None and spec.size.bytes is not None:
        each = spec.size.bytes // spec.nrfiles
        return Files(each - each % ALIGN_BYTES, spec.nrfiles, spec.numjobs)
    whole = spec.size.of(size_bytes) if spec.size is not None else int(size_bytes * DEFAULT_SHARE)
    each = _whole_blocks(whole // (spec.numjobs * spec.nrfiles), spec)
    return Files(each - each % ALIGN_BYTES, spec.nrfiles, spec.numjobs)


def conditioning_lengths(capacity_bytes: int, times: float, most_bytes: int | None = None) -> list[int]:
    """Return the bytes that each preconditioning pass writes from the beginning: full passes, then the rest.

    `most_bytes` limits a rehearsal to one short pass.
    """
    if most_bytes is not None:
        return [length for length in (_conditioning_blocks(min(most_bytes, capacity_bytes * times)),) if length]
    passes = [1.0] * int(times) + ([times - int(times)] if times % 1 else [])
    return [length for share in passes if (length := _conditioning_blocks(capacity_bytes * share))]


def conditioning_spec(length_bytes: int) -> FioSpec:
    """Return one preconditioning pass as in SNIA's test specification: 128 KiB sequential writes of random data."""
    return FioSpec(
        rw="write", bs=Size("128KiB"), iodepth=32, runtime=Duration(_CONDITIONING_LIMIT), time_based=False,
        refill_buffers=True, size=Extent(f"{length_bytes}B"),
    )  # fmt: skip


def _conditioning_blocks(length_bytes: float) -> int:
    return int(length_bytes) // CONDITIONING_BLOCK_BYTES * CONDITIONING_BLOCK_BYTES
