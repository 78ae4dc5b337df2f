"""The fio options that a scenario may use, a closed, typed list with fio's own names; and the regions that they ask for.

Options that run code, open paths, pick targets or write logs are not in the list and are refused.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from raidtui.model.units import Duration, Extent, Size

# `$` also matches before a trailing newline; the look-ahead closes that, in Python and in JSON Schema validators alike.
_END: Final = r"(?!\n)$"
_NUMBER: Final = r"[0-9]{1,4}(?:\.[0-9]{1,6})?"
_SIZE: Final = r"[0-9]{1,9}(?:B|KiB|MiB)"
_SPLIT: Final = rf"{_SIZE}/[0-9]{{1,3}}"
_ZONE: Final = r"[0-9]{1,3}/[0-9]{1,3}"
BSSPLIT_PATTERN: Final = rf"^{_SPLIT}(?::{_SPLIT}){{0,31}}{_END}"
DISTRIBUTION_PATTERN: Final = rf"^(?:random|(?:zipf|pareto|normal):{_NUMBER}|zoned:{_ZONE}(?::{_ZONE}){{0,63}}){_END}"
_BSSPLIT: Final = Meta(
    pattern=BSSPLIT_PATTERN, max_length=512, examples=["4KiB/60:64KiB/40"],
    description="Sizes, each with its share in percent, separated by colons; at most 32.",
)  # fmt: skip
_DISTRIBUTION: Final = Meta(
    pattern=DISTRIBUTION_PATTERN, max_length=512, examples=["zipf:1.2", "zoned:60/10:40/90"],
    description="random; or zipf, pareto or normal with a number; or zoned with a share and a size for each zone.",
)  # fmt: skip

READS: Final = frozenset({"read", "randread", "rw", "readwrite", "randrw"})
WRITES: Final = frozenset({"write", "randwrite", "rw", "readwrite", "randrw"})
RANDOM: Final = frozenset({"randread", "randwrite", "randrw"})
SYNCHRONOUS_ENGINES: Final = frozenset({"psync", "pvsync2", "sync"})
UNTIMED_SYNCS: Final = frozenset({"libaio"})
"""I/O engines with which fio does not record when a sync began: its latency counts from the previous operation, or from
the start of the machine.
"""

GRAIN_BYTES: Final = 1 << 20
"""Block size of the prefill. Regions that raidtui chooses end on such a block, so that the prefill covers them."""
ALIGN_BYTES: Final = 4096
"""Alignment of file sizes: the largest logical sector, and the block size of most filesystems."""
DEFAULT_SHARE: Final = 0.8
"""Default share of a directory: a full filesystem would distort the numbers."""
CONDITIONING_BLOCK_BYTES: Final = 128 << 10
_CONDITIONING_LIMIT: Final = "7d"

Percent = Annotated[int, Meta(ge=0, le=100, extra={"unit": "%"})]


class FioSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The flexible I/O tester (fio(1)). Rates and depths are per job, as fio means them; regions are per device."""

    rw: Literal["read", "write", "randread", "randwrite", "rw", "readwrite", "randrw"]
    """Sequential or random reads, writes, or a mix (`rw` = `readwrite`)."""
    ioengine: Literal["io_uring", "libaio", "psync", "pvsync2", "sync"] = "libaio"
    """I/O engine. The last three are synchronous: one operation at a time per job."""
    bs: Annotated[Size, Meta(examples=["4KiB", "1MiB"])] | None = None
    """Block size of every operation."""
    bssplit: Annotated[str, _BSSPLIT] | None = None
    """A mix of block sizes instead of `bs`, each with its share in percent.

    Random offsets are chosen as with `norandommap`: fio would cut blocks that overlap others.
    """
    iodepth: Annotated[int, Meta(ge=1, le=4096)] = 1
    """Queue depth: operations that each job keeps in flight."""
    numjobs: Annotated[int, Meta(ge=1, le=256)] = 1
    """Jobs (threads) per device, all with the same options."""
    runtime: Duration
    """Duration of the measurement."""
    ramp_time: Annotated[Duration, Meta(examples=["5s", "30s"])] | None = None
    """Duration of the load before the measurement."""
    time_based: bool = True
    """False: end when the region was covered once, at the latest after `runtime`."""
    direct: bool = True
    """O_DIRECT. False measures the page cache as well, and needs `why_buffered`."""
    why_buffered: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """The reason for `direct: false`. Kept with the result; never given to fio."""
    size: Extent | None = None
    """Size of the region on each device: `"10GiB"` or `"80%"`. Default: up to the end of the device.

    In a directory: total size of the files of one job, or the share of the directory for the files of all jobs.
    """
    offset: Extent | None = None
    """Beginning of the region."""
    offset_increment: Extent | None = None
    """Distance between the regions of one job and the next."""
    nrfiles: Annotated[int, Meta(ge=1, le=100_000)] = 1
    """Number of files of each job, in a directory."""
    filesize: Annotated[Size, Meta(examples=["1GiB", "64MiB"])] | None = None
    """Size of each file, in a directory; it replaces `size`."""
    overwrite: bool = False
    """Write the whole files before the measurement, in a directory, so that writes hit allocated blocks."""
    fsync: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Number of writes before each fsync; 0: no fsync. The latency of fsync is reported with every ioengine but libaio."""
    fdatasync: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Number of writes before each fdatasync; 0: none. Its latency is reported with every ioengine but libaio."""
    end_fsync: bool = False
    """One fsync when the writes are done."""
    sync: Literal["none", "sync", "dsync"] = "none"
    """Open with O_SYNC or O_DSYNC: every write is durable before the next begins."""
    rwmixread: Percent | None = None
    """Share of reads in a mix, in percent."""
    percentage_random: Percent | None = None
    """Share of random offsets in a random workload, in percent; the others are sequential."""
    randrepeat: bool = False
    """Use the same sequence of offsets in every run."""
    norandommap: bool = False
    """Do not keep track of used blocks: some are hit twice, some never."""
    random_distribution: Annotated[str, _DISTRIBUTION] | None = None
    """Distribution of random offsets: `random`, `zipf:θ`, `pareto:h`, `normal:%`, `zoned:access%/size%:…`."""
    rate: Annotated[Size, Meta(examples=["100MB", "1GB"])] | None = None
    """Limit in bytes per second and job, for each direction."""
    rate_iops: Annotated[int, Meta(ge=1, le=100_000_000, extra={"unit": "IOPS"})] | None = None
    """Limit in operations per second and job, for each direction."""
    thinktime: Annotated[Duration, Meta(examples=["1ms", "100ms"])] | None = None
    """Pause after each operation."""
    latency_target: Annotated[Duration, Meta(examples=["1ms", "10ms"])] | None = None
    """Find the largest queue depth, up to `iodepth`, that keeps latency below this."""
    latency_window: Annotated[Duration, Meta(examples=["500ms", "2s"])] | None = None
    """Duration of each step of that search."""
    latency_percentile: Annotated[float, Meta(gt=0, le=100, extra={"unit": "%"})] | None = None
    """Share of operations that must meet `latency_target`, in percent."""
    iodepth_batch_submit: Annotated[int, Meta(ge=1, le=4096)] | None = None
    """Number of operations submitted at once."""
    iodepth_batch_complete_min: Annotated[int, Meta(ge=0, le=4096)] | None = None
    """Least number of completions to wait for at once."""
    iodepth_batch_complete_max: Annotated[int, Meta(ge=1, le=4096)] | None = None
    """Largest number of completions to take at once."""
    iodepth_low: Annotated[int, Meta(ge=1, le=4096)] | None = None
    """Refill the queue only when it has drained to this depth."""
    refill_buffers: bool = False
    """Write new random data every time, so that nothing can be compressed or deduplicated."""
    buffer_compress_percentage: Percent | None = None
    """Compressibility of the written data, in percent."""
    dedupe_percentage: Percent | None = None
    """Share of written blocks that are copies, in percent."""
    hipri: bool = False
    """Poll for completions (io_uring and pvsync2; the device needs poll queues)."""
    fixedbufs: bool = False
    """Register buffers once (io_uring)."""
    registerfiles: bool = False
    """Register files once (io_uring)."""

    @property
    def reads(self) -> bool:
        return self.rw in READS

    @property
    def writes(self) -> bool:
        return self.rw in WRITES

    @property
    def random(self) -> bool:
        return self.rw in RANDOM

    @property
    def times_syncs(self) -> bool:
        return self.ioengine not in UNTIMED_SYNCS

    @property
    def block_sizes(self) -> tuple[tuple[int, int], ...]:
        """Block sizes in bytes, each with its share in percent."""
        if self.bssplit is not None:
            parts = (part.split("/") for part in self.bssplit.split(":"))
            return tuple((Size(size).bytes, int(share)) for size, share in parts)
        return ((self.bs.bytes, 100),) if self.bs is not None else ()

    @property
    def largest_block_bytes(self) -> int:
        return max((size for size, _ in self.block_sizes), default=0)


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
