"""Which part of a target a workload reaches, in bytes."""

from __future__ import annotations

from typing import NamedTuple

from raidtui.load.fio.options import FioSpec
from raidtui.model.units import Extent

# Prefill writes in blocks of this size; regions that raidtui chooses end on such a block, so that they are prefilled whole.
GRAIN_BYTES = 1 << 20


class Region(NamedTuple):
    """Where the first job begins, how much each job covers, how far apart jobs begin, and where the last one ends."""

    offset: int
    size: int
    step: int
    end: int


def region_of(spec: FioSpec, size_bytes: int) -> Region:
    """The region on a target of `size_bytes`. `size` is not positive when there is none."""
    offset = _resolve(spec.offset, size_bytes, spec)
    step = _resolve(spec.offset_increment, size_bytes, spec)
    last = offset + step * (spec.numjobs - 1)
    size = _resolve(spec.size, size_bytes, spec) if spec.size else _whole_blocks(size_bytes - last, spec)
    return Region(offset, size, step, last + size)


def _resolve(extent: Extent | None, size_bytes: int, spec: FioSpec) -> int:
    if extent is None:
        return 0
    # A size in bytes is what was asked for, to the byte; a share is ours to round.
    return extent.bytes if extent.bytes is not None else _whole_blocks(extent.of(size_bytes), spec)


def _whole_blocks(size_bytes: int, spec: FioSpec) -> int:
    grain = max(GRAIN_BYTES, spec.largest_block_bytes)
    return size_bytes - size_bytes % grain if size_bytes >= grain else size_bytes


ALIGN_BYTES = 4096
"""What sizes of files are multiples of: the largest logical sector there is, and most filesystems' block."""
DEFAULT_SHARE = 0.8
"""Of a directory, where the workload does not say: filesystems that are full measure something else."""


class Files(NamedTuple):
    """The files that a workload has in a directory: size of each, how many each job has, and how many jobs."""

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
    """The files in a directory with room for `size_bytes`. `each` is 0 where they have no room."""
    if spec.filesize is not None:
        return Files(spec.filesize.bytes, spec.nrfiles, spec.numjobs)
    if spec.size is not None and spec.size.bytes is not None:
        each = spec.size.bytes // spec.nrfiles
        return Files(each - each % ALIGN_BYTES, spec.nrfiles, spec.numjobs)
    whole = spec.size.of(size_bytes) if spec.size is not None else int(size_bytes * DEFAULT_SHARE)
    each = _whole_blocks(whole // (spec.numjobs * spec.nrfiles), spec)
    return Files(each - each % ALIGN_BYTES, spec.nrfiles, spec.numjobs)
