"""Rules for fio workloads: refuse combinations of options that fio accepts but does not honour."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from raidtui.load.engine import Found, problems_at
from raidtui.load.fio.spec import ALIGN_BYTES, SYNCHRONOUS_ENGINES, FioSpec, files_of, region_of
from raidtui.model.plan import TargetKind
from raidtui.model.problem import Problem, Refusal
from raidtui.model.units import Duration, Extent, size_text, size_texts

SECTOR_BYTES: Final = 512
MAX_BLOCK_BYTES: Final = 64 << 20
MAX_BUFFER_BYTES: Final = 4 << 30
MAX_RUNTIME_S: Final = 7 * 86400.0
MAX_RAMP_S: Final = 86400.0
MOST_OPEN_FILES: Final = 400_000
"""Open files of all jobs: somewhat below the limit that systemd and the kernel set for a process."""
_PLAIN: Final = FioSpec(rw="read", runtime=Duration("1s"))

FIO_FSYNC_ON_READ: Final = Refusal(
    "fio-fsync-on-read",
    "A flush after reads",
    "fsync, fdatasync, end_fsync and sync make writes durable. A read-only workload has nothing to flush: fio "
    "ignores the option, and the result would show an option without effect.",
    "Remove the option, or use rw=write, randwrite or a mix.",
)
FIO_QUEUE_DEPTH: Final = Refusal(
    "fio-queue-depth",
    "Queue depth with a synchronous engine",
    "psync, pvsync2 and sync wait for each operation before the next one, so the queue never holds more than one.",
    "Use ioengine=io_uring or libaio, or set iodepth to 1 and use numjobs for parallelism.",
)
FIO_BUFFERED: Final = Refusal(
    "fio-buffered",
    "The page cache would be measured",
    "Without O_DIRECT the numbers depend on the machine's memory as much as on its disks.",
    "Leave direct at true, or give the reason in why_buffered.",
)
FIO_BUFFERED_ASYNC: Final = Refusal(
    "fio-buffered-async",
    "A queue in front of the page cache",
    "Without O_DIRECT, libaio blocks when it submits: the requested queue depth is never reached.",
    "Use direct=true, ioengine=io_uring, or a synchronous engine.",
)
FIO_BLOCK_SIZE: Final = Refusal(
    "fio-block-size",
    "Block size missing, given twice, or out of range",
    "A workload has either one block size (bs) or a mix (bssplit). Blocks have 512 bytes to 64 MiB, and the "
    "shares of a mix add up to 100.",
    'Give one of them, such as "bs": "4KiB" or "bssplit": "4KiB/60:64KiB/40".',
)
FIO_BLOCK_NOT_SECTORS: Final = Refusal(
    "fio-block-not-sectors",
    "Blocks that are not whole sectors",
    "O_DIRECT transfers whole sectors: block sizes and offsets must be multiples of at least 512 bytes.",
    "Use multiples of 512 bytes, or of 4096 on disks with 4 KiB sectors.",
)
FIO_BLOCK_LARGER_THAN_REGION: Final = Refusal(
    "fio-block-larger-than-region",
    "Blocks larger than the region",
    "Not a single operation fits into the region.",
    "Use a larger size or a smaller bs.",
)
FIO_REGION_LARGER_THAN_TARGET: Final = Refusal(
    "fio-region-larger-than-target",
    "Region larger than the target",
    "offset, size and the offset_increment of all jobs reach beyond the end of the smallest device.",
    'Make the region smaller, or give it as a share of the target, such as "80%".',
)
FIO_ZERO: Final = Refusal(
    "fio-zero",
    "Zero means no limit in fio",
    "fio treats a size, rate or latency of zero as if the option had not been given.",
    "Remove the option or give it a value.",
)
FIO_RUNTIME: Final = Refusal(
    "fio-runtime",
    "Runtime out of range",
    "Below one second, start and end of the workload dominate; more than a week is not supported.",
    "Use a runtime of 1s to 7d, and a ramp_time of at most 1d.",
)
FIO_MIX: Final = Refusal(
    "fio-mix",
    "rwmixread without a mix",
    "rwmixread divides operations between reads and writes, and this workload does only one of them.",
    "Use rw=randrw or rw=readwrite, or remove rwmixread.",
)
FIO_RANDOM_ONLY: Final = Refusal(
    "fio-random-only",
    "An option for random offsets on a sequential workload",
    "fio ignores the option when offsets are sequential.",
    "Use rw=randread, randwrite or randrw, or remove the option.",
)
FIO_DISTRIBUTION: Final = Refusal(
    "fio-distribution",
    "Distribution out of range",
    "zipf takes θ above 0 except 1; pareto takes h between 0 and 1; normal takes 0 to 100 percent; the zones of "
    "zoned have shares of accesses and of the region that add up to 100 each.",
    'Write for instance "zipf:1.2", "pareto:0.2", "normal:20" or "zoned:60/10:40/90".',
)
FIO_WRITE_ONLY: Final = Refusal(
    "fio-write-only",
    "An option for written data on a read-only workload",
    "Reads return the data on the disks; fio generates none.",
    "Remove the option. The policy's prefill decides what the region holds.",
)
FIO_DATA: Final = Refusal(
    "fio-data",
    "Contradicting options for written data",
    "refill_buffers writes data that can be neither compressed nor deduplicated; the percentages ask for the opposite.",
    "Use one or the other.",
)
FIO_LATENCY_TARGET: Final = Refusal(
    "fio-latency-target",
    "An incomplete search for a latency",
    "latency_window and latency_percentile belong to latency_target. The search varies the queue depth, so it "
    "needs iodepth above 1 and a window shorter than the runtime.",
    "Give latency_target, a latency_window below the runtime, and an iodepth above 1.",
)
FIO_TWO_RATES: Final = Refusal(
    "fio-two-rates", "Two rate limits", "With both rate and rate_iops, fio obeys only one of them.", "Use one of them."
)
FIO_BATCH: Final = Refusal(
    "fio-batch",
    "Batches that never fill",
    "A batch cannot be larger than the queue (iodepth), its minimum not above its maximum, and synchronous "
    "engines have no batches.",
    "Make batches at most as large as iodepth.",
)
FIO_ENGINE_OPTION: Final = Refusal(
    "fio-engine-option",
    "An option of another I/O engine",
    "hipri belongs to io_uring and pvsync2; fixedbufs and registerfiles belong to io_uring.",
    "Change ioengine or remove the option.",
)
FIO_OFFSET_INCREMENT: Final = Refusal(
    "fio-offset-increment",
    "offset_increment with one job",
    "offset_increment moves the regions of the second and later jobs, and there is only one job.",
    "Use numjobs above 1, or remove the option.",
)
FIO_IMAGE: Final = Refusal(
    "fio-image",
    "A workload that does not fit an image",
    "fio opens an image by an engine of its own, not by the kernel: there is no page cache, and options of io_uring do not "
    "exist.",
    "Leave the option out, or map the image as a block device.",
)
FIO_FILES: Final = Refusal(
    "fio-files",
    "File options on a device, or region options in a directory",
    "nrfiles, filesize and overwrite apply to files in a directory; offset and offset_increment apply to a block "
    "device. All files have one size, a multiple of 4096 bytes.",
    "Remove the option, or measure the other kind of target.",
)
FIO_MEMORY: Final = Refusal(
    "fio-memory",
    "Buffers larger than 4 GiB",
    "fio allocates numjobs × iodepth × the largest block of memory per device; this could exhaust the server.",
    "Use a smaller queue, fewer jobs or smaller blocks.",
)


def check(spec: FioSpec, place: str) -> list[Problem]:
    """Return the problems of a workload that do not depend on its target."""
    return problems_at(_anywhere(spec), place)


def check_target(spec: FioSpec, place: str, size_bytes: int, kind: TargetKind = "block") -> list[Problem]:
    """Return the problems on a target whose smallest device, or whose directory, has `size_bytes`."""
    found = _in_directory(spec, size_bytes) if kind == "directory" else _on_target(spec, size_bytes)
    if kind == "image":
        found = itertools.chain(_on_image(spec), found)
    return problems_at(found, place)


def _anywhere(spec: FioSpec) -> Iterator[Found]:
    yield from _blocks(spec)
    yield from _caching(spec)
    yield from _flushes_and_data(spec)
    yield from _offsets(spec)
    yield from _queue(spec)
    yield from _limits(spec)
    yield from _zeros(spec)
    yield from _both_sizes(spec)


def _on_target(spec: FioSpec, size_bytes: int) -> Iterator[Found]:
    for name in ("nrfiles", "filesize", "overwrite"):
        if getattr(spec, name) != getattr(_PLAIN, name):
            yield FIO_FILES, name, f"{name} applies to files in a directory, and the target is a block device"
    region = region_of(spec, size_bytes)
    block = spec.largest_block_bytes
    if region.size <= 0 or region.end > size_bytes:
        end, whole = size_texts(region.end, size_bytes)
        reach = f"up to {end}" if region.size > 0 else "past its end"
        message = f"the region reaches {reach}, and the target has {whole}"
        yield FIO_REGION_LARGER_THAN_TARGET, "size" if spec.size or not spec.offset else "offset", message
    elif block > region.size:
        one, room = size_texts(block, region.size)
        message = f"blocks of {one} do not fit into a region of {room}"
        yield FIO_BLOCK_LARGER_THAN_REGION, _block_option(spec), message


def _on_image(spec: FioSpec) -> Iterator[Found]:
    if not spec.direct:
        yield FIO_IMAGE, "direct", "an image has no page cache"
    for name in ("hipri", "fixedbufs", "registerfiles"):
        if getattr(spec, name):
            yield FIO_IMAGE, name, f"fio's engines for images have no {name}"


def _in_directory(spec: FioSpec, size_bytes: int) -> Iterator[Found]:
    for name in ("offset", "offset_increment"):
        if getattr(spec, name) is not None:
            yield FIO_FILES, name, f"{name} applies to a block device, and the target is a directory"
    files, block = files_of(spec, size_bytes), spec.largest_block_bytes
    option = "filesize" if spec.filesize is not None else "size"
    if files.total > size_bytes:
        held, whole = size_texts(files.total, size_bytes)
        message = f"the files of all jobs need {held}, and the directory has {whole}"
        yield FIO_REGION_LARGER_THAN_TARGET, option, message
    elif files.each < max(block, ALIGN_BYTES):
        one, room = size_texts(block, files.each)
        message = f"blocks of {one} do not fit into files of {room}"
        yield FIO_BLOCK_LARGER_THAN_REGION, _block_option(spec), message
    if spec.numjobs * spec.nrfiles > MOST_OPEN_FILES:
        yield (
            FIO_FILES,
            "nrfiles",
            f"{spec.numjobs} jobs with {spec.nrfiles} files each exceed the number of files that can be open at once",
        )
    if spec.random_distribution is not None and spec.nrfiles > 1 and not spec.random_distribution.startswith("random"):
        yield FIO_FILES, "random_distribution", "fio applies the distribution within each file, not over all files"


def _both_sizes(spec: FioSpec) -> Iterator[Found]:
    if spec.filesize is None:
        return
    if spec.size is not None:
        yield FIO_FILES, "filesize", "size and filesize are both given"
    if spec.filesize.bytes == 0 or spec.filesize.bytes % ALIGN_BYTES:
        yield FIO_FILES, "filesize", f"a file of {spec.filesize.text} is not a multiple of 4096 bytes"


def _block_option(spec: FioSpec) -> str:
    return "bs" if spec.bssplit is None else "bssplit"


def _blocks(spec: FioSpec) -> Iterator[Found]:
    option, blocks = _block_option(spec), spec.block_sizes
    if (spec.bs is None) == (spec.bssplit is None):
        yield FIO_BLOCK_SIZE, option, "bs and bssplit are both given" if spec.bs else "the block size is missing"
        return
    if spec.bssplit is not None and (sum(share for _, share in blocks) != 100 or not all(share for _, share in blocks)):
        yield FIO_BLOCK_SIZE, option, "the shares of the block sizes do not add up to 100"
    for size, _ in blocks:
        if not SECTOR_BYTES <= size <= MAX_BLOCK_BYTES:
            yield FIO_BLOCK_SIZE, option, f"a block of {size} bytes is not within 512 bytes to 64 MiB"
        elif spec.direct and size % SECTOR_BYTES:
            yield FIO_BLOCK_NOT_SECTORS, option, f"a block of {size} bytes is not a multiple of 512 bytes"
    if spec.direct:
        for name in ("offset", "offset_increment"):
            extent: Extent | None = getattr(spec, name)
            if extent is not None and (extent.bytes or 0) % SECTOR_BYTES:
                yield FIO_BLOCK_NOT_SECTORS, name, f"{extent.text} is not a multiple of 512 bytes"
    if spec.size is not None and spec.size.bytes and spec.largest_block_bytes > spec.size.bytes:
        yield FIO_BLOCK_LARGER_THAN_REGION, option, f"a block does not fit into a region of {spec.size.text}"
    if spec.numjobs * spec.iodepth * spec.largest_block_bytes > MAX_BUFFER_BYTES:
        total = size_text(spec.numjobs * spec.iodepth * spec.largest_block_bytes)
        yield FIO_MEMORY, "iodepth", f"{spec.numjobs} jobs × {spec.iodepth} blocks need {total} of memory"


def _caching(spec: FioSpec) -> Iterator[Found]:
    if not spec.direct and not spec.why_buffered:
        yield FIO_BUFFERED, "direct", "direct is false, and why_buffered gives no reason to measure the page cache"
    if spec.direct and spec.why_buffered:
        yield FIO_BUFFERED, "why_buffered", "why_buffered is given, but direct is true"
    if not spec.direct and spec.ioengine == "libaio" and spec.iodepth > 1:
        yield FIO_BUFFERED_ASYNC, "ioengine", "libaio has no queue without O_DIRECT"


def _flushes_and_data(spec: FioSpec) -> Iterator[Found]:
    if spec.writes:
        if spec.refill_buffers and (spec.buffer_compress_percentage or spec.dedupe_percentage):
            yield FIO_DATA, "refill_buffers", "it contradicts buffer_compress_percentage and dedupe_percentage"
        return
    for name in ("fsync", "fdatasync", "end_fsync"):
        if getattr(spec, name):
            yield FIO_FSYNC_ON_READ, name, f"{spec.rw} only reads: {name} has no effect"
    if spec.sync != "none":
        yield FIO_FSYNC_ON_READ, "sync", f"{spec.rw} only reads: sync={spec.sync} has no effect"
    for name in ("refill_buffers", "buffer_compress_percentage", "dedupe_percentage"):
        if (value := getattr(spec, name)) is not None and value is not False:
            yield FIO_WRITE_ONLY, name, f"{spec.rw} only reads: {name} has no effect"


def _offsets(spec: FioSpec) -> Iterator[Found]:
    if spec.rwmixread is not None and not (spec.reads and spec.writes):
        yield FIO_MIX, "rwmixread", f"{spec.rw} is not a mix of reads and writes"
    if not spec.random:
        for name in ("percentage_random", "randrepeat", "norandommap", "random_distribution"):
            if (value := getattr(spec, name)) is not None and value is not False:
                yield FIO_RANDOM_ONLY, name, f"{spec.rw} is sequential"
    if spec.random_distribution is not None and not _in_range(spec.random_distribution):
        yield FIO_DISTRIBUTION, "random_distribution", f"{spec.random_distribution} is out of range"
    if spec.offset_increment is not None and spec.numjobs == 1:
        yield FIO_OFFSET_INCREMENT, "offset_increment", "there is only one job"


def _in_range(distribution: str) -> bool:
    kind, _, rest = distribution.partition(":")
    if kind == "zoned":
        zones = [tuple(map(int, zone.split("/"))) for zone in rest.split(":")]
        return all(size for _, size in zones) and all(sum(column) == 100 for column in zip(*zones, strict=True))
    if kind == "random":
        return True
    value = float(rest)
    return {"zipf": 0 < value <= 10 and value != 1, "pareto": 0 < value < 1, "normal": 0 < value <= 100}[kind]


def _queue(spec: FioSpec) -> Iterator[Found]:
    synchronous = spec.ioengine in SYNCHRONOUS_ENGINES
    if synchronous and spec.iodepth > 1:
        yield FIO_QUEUE_DEPTH, "iodepth", f"{spec.ioengine} does one operation at a time, not {spec.iodepth}"
    for name in ("iodepth_batch_submit", "iodepth_batch_complete_min", "iodepth_batch_complete_max", "iodepth_low"):
        value = getattr(spec, name)
        if value is not None and (synchronous or value > spec.iodepth):
            yield FIO_BATCH, name, f"a batch of {value} is larger than the queue of {1 if synchronous else spec.iodepth}"
    least, most = spec.iodepth_batch_complete_min, spec.iodepth_batch_complete_max
    if least is not None and most is not None and least > most:
        yield FIO_BATCH, "iodepth_batch_complete_min", f"the minimum {least} is above the maximum {most}"
    if spec.hipri and spec.ioengine not in ("io_uring", "pvsync2"):
        yield FIO_ENGINE_OPTION, "hipri", f"{spec.ioengine} cannot poll"
    for name in ("fixedbufs", "registerfiles"):
        if getattr(spec, name) and spec.ioengine != "io_uring":
            yield FIO_ENGINE_OPTION, name, f"{spec.ioengine} has no such option"


def _limits(spec: FioSpec) -> Iterator[Found]:
    if not 1 <= spec.runtime.seconds <= MAX_RUNTIME_S:
        yield FIO_RUNTIME, "runtime", f"{spec.runtime.text} is not within 1 s to 7 days"
    if spec.ramp_time is not None and spec.ramp_time.seconds > MAX_RAMP_S:
        yield FIO_RUNTIME, "ramp_time", f"{spec.ramp_time.text} is more than a day"
    if spec.thinktime is not None and spec.thinktime.seconds >= spec.runtime.seconds:
        yield FIO_RUNTIME, "thinktime", f"a pause of {spec.thinktime.text} is longer than the runtime"
    if spec.rate is not None and spec.rate_iops is not None:
        yield FIO_TWO_RATES, "rate_iops", "rate and rate_iops are both given"
    if spec.latency_target is None:
        for name in ("latency_window", "latency_percentile"):
            if getattr(spec, name) is not None:
                yield FIO_LATENCY_TARGET, name, f"{name} needs latency_target"
        return
    if spec.iodepth == 1:
        yield FIO_LATENCY_TARGET, "latency_target", "with iodepth 1 the search has no queue depth to vary"
    if spec.latency_window is None:
        yield FIO_LATENCY_TARGET, "latency_target", "latency_window is missing"
    elif spec.latency_window.seconds > spec.runtime.seconds:
        text = f"{spec.latency_window.text} is longer than the runtime of {spec.runtime.text}"
        yield FIO_LATENCY_TARGET, "latency_window", text


def _zeros(spec: FioSpec) -> Iterator[Found]:
    for name in ("size", "rate", "offset_increment"):
        value = getattr(spec, name)
        if value is not None and value.bytes == 0:
            yield FIO_ZERO, name, f"{name} is zero"
    for name in ("latency_target", "latency_window"):
        value = getattr(spec, name)
        if value is not None and value.seconds == 0:
            yield FIO_ZERO, name, f"{name} is zero"
