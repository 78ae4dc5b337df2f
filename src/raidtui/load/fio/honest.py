"""What a workload must not claim: every combination of options that fio would accept and not honour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.load.fio.open_files import MOST
from raidtui.load.fio.options import SYNCHRONOUS_ENGINES, FioSpec
from raidtui.load.fio.region import ALIGN_BYTES, files_of, region_of
from raidtui.load.reasons import REASONS
from raidtui.model.plan import TargetKind
from raidtui.model.problem import Exit, Problem
from raidtui.model.units import Duration, Extent, size_text, size_texts

SECTOR_BYTES: Final = 512
MAX_BLOCK_BYTES: Final = 64 << 20
MAX_BUFFER_BYTES: Final = 4 << 30
MAX_RUNTIME_S: Final = 7 * 86400.0
MAX_RAMP_S: Final = 86400.0
_PLAIN: Final = FioSpec(rw="read", runtime=Duration("1s"))

Found = Iterator[tuple[str, str, str]]
"""Code, option, what is wrong."""


def check(spec: FioSpec, place: str) -> list[Problem]:
    """Why `spec` cannot be honest on any target."""
    return _problems(_anywhere(spec), place)


def check_target(spec: FioSpec, place: str, size_bytes: int, kind: TargetKind = "block") -> list[Problem]:
    """Why `spec` cannot be honest on a target whose smallest device, or whose directory, has `size_bytes`."""
    found = _on_target(spec, size_bytes) if kind == "block" else _in_directory(spec, size_bytes)
    return _problems(found, place)


def _problems(found: Found, place: str) -> list[Problem]:
    return [
        Problem(code, message, f"{place}.{option}", REASONS[code][2], int(Exit.USAGE)) for code, option, message in found
    ]


def _anywhere(spec: FioSpec) -> Found:
    yield from _blocks(spec)
    yield from _caching(spec)
    yield from _flushes_and_data(spec)
    yield from _offsets(spec)
    yield from _queue(spec)
    yield from _limits(spec)
    yield from _zeros(spec)
    yield from _both_sizes(spec)


def _on_target(spec: FioSpec, size_bytes: int) -> Found:
    for name in ("nrfiles", "filesize", "overwrite"):
        if getattr(spec, name) != getattr(_PLAIN, name):
            yield "fio-files", name, f"{name} is about files in a directory, and this is a block device"
    region = region_of(spec, size_bytes)
    block = spec.largest_block_bytes
    if region.size <= 0 or region.end > size_bytes:
        end, whole = size_texts(region.end, size_bytes)
        reach = f"up to {end}" if region.size > 0 else "past its end"
        message = f"the region reaches {reach}, and the target has {whole}"
        yield "fio-region-larger-than-target", "size" if spec.size or not spec.offset else "offset", message
    elif block > region.size:
        one, room = size_texts(block, region.size)
        message = f"blocks of {one} do not fit into a region of {room}"
        yield "fio-block-larger-than-region", _block_option(spec), message


def _in_directory(spec: FioSpec, size_bytes: int) -> Found:
    for name in ("offset", "offset_increment"):
        if getattr(spec, name) is not None:
            yield "fio-files", name, f"{name} is about a region of a block device, and this is a directory of files"
    files, block = files_of(spec, size_bytes), spec.largest_block_bytes
    option = "filesize" if spec.filesize is not None else "size"
    if files.total > size_bytes:
        held, whole = size_texts(files.total, size_bytes)
        message = f"the files of all jobs hold {held}, and the directory has {whole}"
        yield "fio-region-larger-than-target", option, message
    elif files.each < max(block, ALIGN_BYTES):
        one, room = size_texts(block, files.each)
        message = f"blocks of {one} do not fit into files of {room}"
        yield "fio-block-larger-than-region", _block_option(spec), message
    if spec.numjobs * spec.nrfiles > MOST:
        yield (
            "fio-files",
            "nrfiles",
            f"{spec.numjobs} jobs with {spec.nrfiles} files each are more than can be open at once",
        )
    if spec.random_distribution is not None and spec.nrfiles > 1 and not spec.random_distribution.startswith("random"):
        yield "fio-files", "random_distribution", "fio spreads offsets within each file, not over all of them"


def _both_sizes(spec: FioSpec) -> Found:
    if spec.filesize is None:
        return
    if spec.size is not None:
        yield "fio-files", "filesize", "size and filesize are both given"
    if spec.filesize.bytes == 0 or spec.filesize.bytes % ALIGN_BYTES:
        yield "fio-files", "filesize", f"a file of {spec.filesize.text} is not a multiple of 4096 bytes"


def _block_option(spec: FioSpec) -> str:
    return "bs" if spec.bssplit is None else "bssplit"


def _blocks(spec: FioSpec) -> Found:
    option, blocks = _block_option(spec), spec.block_sizes
    if (spec.bs is None) == (spec.bssplit is None):
        yield "fio-block-size", option, "bs and bssplit are both given" if spec.bs else "there is no block size"
        return
    if spec.bssplit is not None and (sum(share for _, share in blocks) != 100 or not all(share for _, share in blocks)):
        yield "fio-block-size", option, "the shares of the block sizes do not add up to 100"
    for size, _ in blocks:
        if not SECTOR_BYTES <= size <= MAX_BLOCK_BYTES:
            yield "fio-block-size", option, f"a block of {size} bytes is not within 512 bytes to 64 MiB"
        elif spec.direct and size % SECTOR_BYTES:
            yield "fio-block-not-sectors", option, f"a block of {size} bytes is not a multiple of 512 bytes"
    if spec.direct:
        for name in ("offset", "offset_increment"):
            extent: Extent | None = getattr(spec, name)
            if extent is not None and (extent.bytes or 0) % SECTOR_BYTES:
                yield "fio-block-not-sectors", name, f"{extent.text} is not a multiple of 512 bytes"
    if spec.size is not None and spec.size.bytes and spec.largest_block_bytes > spec.size.bytes:
        yield "fio-block-larger-than-region", option, f"a block does not fit into a region of {spec.size.text}"
    if spec.numjobs * spec.iodepth * spec.largest_block_bytes > MAX_BUFFER_BYTES:
        total = size_text(spec.numjobs * spec.iodepth * spec.largest_block_bytes)
        yield "fio-memory", "iodepth", f"{spec.numjobs} jobs × {spec.iodepth} blocks need {total} of memory"


def _caching(spec: FioSpec) -> Found:
    if not spec.direct and not spec.why_buffered:
        yield "fio-buffered", "direct", "the page cache would be measured, and why_buffered does not say why"
    if spec.direct and spec.why_buffered:
        yield "fio-buffered", "why_buffered", "the page cache is not measured, because direct is true"
    if not spec.direct and spec.ioengine == "libaio" and spec.iodepth > 1:
        yield "fio-buffered-async", "ioengine", "libaio keeps no queue without O_DIRECT"


def _flushes_and_data(spec: FioSpec) -> Found:
    if spec.writes:
        if spec.refill_buffers and (spec.buffer_compress_percentage or spec.dedupe_percentage):
            yield "fio-data", "refill_buffers", "it contradicts buffer_compress_percentage and dedupe_percentage"
        return
    for name in ("fsync", "fdatasync", "end_fsync"):
        if getattr(spec, name):
            yield "fio-fsync-on-read", name, f"{spec.rw} writes nothing that {name} could make durable"
    if spec.sync != "none":
        yield "fio-fsync-on-read", "sync", f"{spec.rw} writes nothing that sync={spec.sync} could make durable"
    for name in ("refill_buffers", "buffer_compress_percentage", "dedupe_percentage"):
        if (value := getattr(spec, name)) is not None and value is not False:
            yield "fio-write-only", name, f"{spec.rw} writes no data"


def _offsets(spec: FioSpec) -> Found:
    if spec.rwmixread is not None and not (spec.reads and spec.writes):
        yield "fio-mix", "rwmixread", f"{spec.rw} is not a mix of reads and writes"
    if not spec.random:
        for name in ("percentage_random", "randrepeat", "norandommap", "random_distribution"):
            if (value := getattr(spec, name)) is not None and value is not False:
                yield "fio-random-only", name, f"{spec.rw} is sequential"
    if spec.random_distribution is not None and not _in_range(spec.random_distribution):
        yield "fio-distribution", "random_distribution", f"{spec.random_distribution} is out of range"
    if spec.offset_increment is not None and spec.numjobs == 1:
        yield "fio-offset-increment", "offset_increment", "there is only one job"


def _in_range(distribution: str) -> bool:
    kind, _, rest = distribution.partition(":")
    if kind == "zoned":
        zones = [tuple(map(int, zone.split("/"))) for zone in rest.split(":")]
        return all(size for _, size in zones) and all(sum(column) == 100 for column in zip(*zones, strict=True))
    if kind == "random":
        return True
    value = float(rest)
    return {"zipf": 0 < value <= 10 and value != 1, "pareto": 0 < value < 1, "normal": 0 < value <= 100}[kind]


def _queue(spec: FioSpec) -> Found:
    synchronous = spec.ioengine in SYNCHRONOUS_ENGINES
    if synchronous and spec.iodepth > 1:
        yield "fio-queue-depth", "iodepth", f"{spec.ioengine} does one operation at a time, not {spec.iodepth}"
    for name in ("iodepth_batch_submit", "iodepth_batch_complete_min", "iodepth_batch_complete_max", "iodepth_low"):
        value = getattr(spec, name)
        if value is not None and (synchronous or value > spec.iodepth):
            yield "fio-batch", name, f"{value} at once, with a queue of {1 if synchronous else spec.iodepth}"
    least, most = spec.iodepth_batch_complete_min, spec.iodepth_batch_complete_max
    if least is not None and most is not None and least > most:
        yield "fio-batch", "iodepth_batch_complete_min", f"at least {least} and at most {most}"
    if spec.hipri and spec.ioengine not in ("io_uring", "pvsync2"):
        yield "fio-engine-option", "hipri", f"{spec.ioengine} cannot poll"
    for name in ("fixedbufs", "registerfiles"):
        if getattr(spec, name) and spec.ioengine != "io_uring":
            yield "fio-engine-option", name, f"{spec.ioengine} has no such option"


def _limits(spec: FioSpec) -> Found:
    if not 1 <= spec.runtime.seconds <= MAX_RUNTIME_S:
        yield "fio-runtime", "runtime", f"{spec.runtime.text} is not within 1 s to 7 days"
    if spec.ramp_time is not None and spec.ramp_time.seconds > MAX_RAMP_S:
        yield "fio-runtime", "ramp_time", f"{spec.ramp_time.text} is more than a day"
    if spec.thinktime is not None and spec.thinktime.seconds >= spec.runtime.seconds:
        yield "fio-runtime", "thinktime", f"a pause of {spec.thinktime.text} leaves no time for a second operation"
    if spec.rate is not None and spec.rate_iops is not None:
        yield "fio-two-rates", "rate_iops", "rate is given as well"
    if spec.latency_target is None:
        for name in ("latency_window", "latency_percentile"):
            if getattr(spec, name) is not None:
                yield "fio-latency-target", name, "there is no latency_target"
        return
    if spec.iodepth == 1:
        yield "fio-latency-target", "latency_target", "with iodepth 1 there is no queue depth to search"
    if spec.latency_window is None:
        yield "fio-latency-target", "latency_target", "there is no latency_window"
    elif spec.latency_window.seconds > spec.runtime.seconds:
        yield "fio-latency-target", "latency_window", f"{spec.latency_window.text} does not fit into {spec.runtime.text}"


def _zeros(spec: FioSpec) -> Found:
    for name in ("size", "rate", "offset_increment"):
        value = getattr(spec, name)
        if value is not None and value.bytes == 0:
            yield "fio-zero", name, f"{name} is zero"
    for name in ("latency_target", "latency_window"):
        value = getattr(spec, name)
        if value is not None and value.seconds == 0:
            yield "fio-zero", name, f"{name} is zero"
