"""What the options of a fio workload come to, in words and as a pattern of operations."""

from __future__ import annotations

from typing import Final

from raidtui.load.engine import Pattern
from raidtui.load.fio.options import FioSpec

_FIO: Final = "fio's default"
_ONLY_ON_REQUEST: Final = "only where it is asked for"


def words(spec: FioSpec) -> str:
    """`randwrite 4KiB, T1Q1, fsync 1, 60s`: threads and queue depth as the field writes them."""
    block = spec.bs.text if spec.bs is not None else spec.bssplit or "no block size"
    mix = f" {spec.rwmixread}/{100 - spec.rwmixread}" if spec.rwmixread is not None else ""
    found = [f"{spec.rw}{mix} {block}", f"T{spec.numjobs}Q{spec.iodepth}"]
    found += _offsets_and_limits(spec)
    found += [f"{name} {value}" for name in ("fsync", "fdatasync") if (value := getattr(spec, name))]
    if spec.sync != "none":
        found.append(f"sync {spec.sync}")
    if not spec.direct:
        found.append("buffered")
    return ", ".join([*found, spec.runtime.text])


def _offsets_and_limits(spec: FioSpec) -> list[str]:
    found = []
    if spec.percentage_random is not None:
        found.append(f"{spec.percentage_random}% random")
    if spec.random_distribution is not None:
        found.append(spec.random_distribution)
    if spec.nrfiles > 1:
        found.append(f"{spec.nrfiles} files each")
    if spec.rate is not None:
        found.append(f"at most {spec.rate.text}/s each")
    if spec.rate_iops is not None:
        found.append(f"at most {spec.rate_iops} IOPS each")
    if spec.latency_target is not None:
        found.append(f"depth that keeps {spec.latency_percentile or 100:g}% below {spec.latency_target.text}")
    if spec.buffer_compress_percentage or spec.dedupe_percentage:
        found.append(f"data {spec.buffer_compress_percentage or 0}% compressible, {spec.dedupe_percentage or 0}% copies")
    return found


def pattern(spec: FioSpec) -> Pattern:
    return Pattern(
        block_bytes=tuple(size for size, _ in spec.block_sizes),
        writes=spec.writes,
        random=spec.random,
        in_flight_bytes=spec.largest_block_bytes * spec.iodepth * spec.numjobs,
        whole_sectors=spec.direct,
        begins_bytes=tuple(at.bytes for at in (spec.offset, spec.offset_increment) if at is not None and at.bytes),
        compressible_percent=spec.buffer_compress_percentage or 0,
        copies_percent=spec.dedupe_percentage or 0,
        wholly_random=spec.random and spec.percentage_random in (None, 100),
        streams=spec.numjobs,
        paced=bool(spec.rate or spec.rate_iops or spec.thinktime),
        syncs=bool(spec.fsync or spec.fdatasync or spec.sync != "none"),
        reducible=not (spec.refill_buffers or (spec.buffer_compress_percentage == 0 and spec.dedupe_percentage == 0)),
        reads=spec.reads,
        cached=not spec.direct,
    )


def defaults(spec: FioSpec) -> dict[str, tuple[str, str]]:
    """By optional field without a value of its own: what it comes to where it is left out, and why."""
    mixed = spec.reads and spec.writes
    return {
        "bs": ("none", "bssplit says it") if spec.bssplit else ("none", "there must be one: a block size is never implied"),
        "bssplit": ("none", "all blocks are of one size"),
        "ramp_time": ("0s", "measured from its first second"),
        "why_buffered": ("none", "nothing is buffered") if spec.direct else ("none", "there must be one"),
        "size": ("none", "filesize says it")
        if spec.filesize
        else ("100%; in a directory 80%", "up to the end of each device; a full filesystem measures something else"),
        "filesize": ("size ÷ nrfiles", "files share what a job has"),
        "offset": ("0", "from the beginning of each device"),
        "offset_increment": ("0", "every job begins at the same place"),
        "rwmixread": ("50", _FIO) if mixed else ("none", f"{spec.rw} is not a mix"),
        "percentage_random": ("100", "every offset is random") if spec.random else ("none", f"{spec.rw} is sequential"),
        "random_distribution": ("random", "every block is as likely as any other")
        if spec.random
        else ("none", f"{spec.rw} is sequential"),
        "rate": ("unlimited", _ONLY_ON_REQUEST),
        "rate_iops": ("unlimited", _ONLY_ON_REQUEST),
        "thinktime": ("0s", "each operation follows the one before at once"),
        "latency_target": ("none", _ONLY_ON_REQUEST),
        "latency_window": ("none", "there is no latency_target" if spec.latency_target is None else "there must be one"),
        "latency_percentile": ("100", _FIO) if spec.latency_target else ("none", "there is no latency_target"),
        "iodepth_batch_submit": ("1", _FIO),
        "iodepth_batch_complete_min": ("1", _FIO),
        "iodepth_batch_complete_max": ("1", "as iodepth_batch_complete_min"),
        "iodepth_low": (str(spec.iodepth), "as iodepth"),
        "buffer_compress_percentage": ("0", "random data, which nothing can compress")
        if spec.writes
        else ("none", f"{spec.rw} writes no data"),
        "dedupe_percentage": ("0", "random data") if spec.writes else ("none", f"{spec.rw} writes no data"),
    }
