"""Descriptions of fio workloads: in words, as an I/O pattern, default values, and the named presets."""

from __future__ import annotations

from typing import Any, Final

from raidtui.load.engine import Pattern
from raidtui.load.fio.spec import FioSpec
from raidtui.model.describe import Preset

_FIO: Final = "fio's default"
_ONLY_ON_REQUEST: Final = "only on request"


def describe(spec: FioSpec) -> str:
    """Return `randwrite 4KiB, T1Q1, fsync 1, 60s` (T: jobs, Q: queue depth)."""
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
        polls=spec.hipri,
        paced=bool(spec.rate or spec.rate_iops or spec.thinktime),
        syncs=bool(spec.fsync or spec.fdatasync or spec.sync != "none"),
        reducible=not (spec.refill_buffers or (spec.buffer_compress_percentage == 0 and spec.dedupe_percentage == 0)),
        reads=spec.reads,
        cached=not spec.direct,
        ramp=spec.ramp_time is not None and spec.ramp_time.seconds > 0,
    )


def defaults(spec: FioSpec) -> dict[str, tuple[str, str]]:
    """Return, for each option that may be left out, its effective value and the reason."""
    mixed = spec.reads and spec.writes
    return {
        "bs": ("none", "bssplit gives the sizes") if spec.bssplit else ("none", "required: a block size is never implied"),
        "bssplit": ("none", "all blocks have one size"),
        "ramp_time": ("0s", "measured from the first second"),
        "why_buffered": ("none", "nothing is buffered") if spec.direct else ("none", "a reason is required"),
        "size": ("none", "filesize gives the size")
        if spec.filesize
        else ("100%; in a directory 80%", "up to the end of each device; a full filesystem would distort the numbers"),
        "filesize": ("size ÷ nrfiles", "the files share the size of a job"),
        "offset": ("0", "from the beginning of each device"),
        "offset_increment": ("0", "every job begins at the same place"),
        "rwmixread": ("50", _FIO) if mixed else ("none", f"{spec.rw} is not a mix"),
        "percentage_random": ("100", "every offset is random") if spec.random else ("none", f"{spec.rw} is sequential"),
        "random_distribution": ("random", "every block is equally likely")
        if spec.random
        else ("none", f"{spec.rw} is sequential"),
        "rate": ("unlimited", _ONLY_ON_REQUEST),
        "rate_iops": ("unlimited", _ONLY_ON_REQUEST),
        "thinktime": ("0s", "no pause between operations"),
        "latency_target": ("none", _ONLY_ON_REQUEST),
        "latency_window": ("none", "latency_target needs it" if spec.latency_target else "latency_target is not given"),
        "latency_percentile": ("100", _FIO) if spec.latency_target else ("none", "latency_target is not given"),
        "iodepth_batch_submit": ("1", _FIO),
        "iodepth_batch_complete_min": ("1", _FIO),
        "iodepth_batch_complete_max": ("1", "as iodepth_batch_complete_min"),
        "iodepth_low": (str(spec.iodepth), "as iodepth"),
        "buffer_compress_percentage": ("0", "random data, incompressible")
        if spec.writes
        else ("none", f"{spec.rw} writes no data"),
        "dedupe_percentage": ("0", "random data") if spec.writes else ("none", f"{spec.rw} writes no data"),
    }


def _preset(name: str, title: str, **options: Any) -> Preset:
    return Preset(name, title, "fio", {"ioengine": "libaio", "direct": True, "runtime": "60s", **options})


def _vdbench(name: str, title: str, bs: str, random: int, **options: Any) -> Preset:
    """Return a vdbench profile as HCIBench runs it: eight threads on one virtual disk are a queue of eight."""
    share = {"percentage_random": random} if random < 100 else {}
    return _preset(name, title, bs=bs, iodepth=8, **share, **options)


PRESETS: Final = (
    _preset("seq-write-4m-q32", "T1Q32 4M sequential write", rw="write", bs="4MiB", iodepth=32),
    _preset("seq-read-4m-q32", "T1Q32 4M sequential read", rw="read", bs="4MiB", iodepth=32),
    _preset("rand-write-4k-t4q128", "T4Q128 4k randwrite", rw="randwrite", bs="4KiB", iodepth=128, numjobs=4),
    _preset("rand-read-4k-t4q128", "T4Q128 4k randread", rw="randread", bs="4KiB", iodepth=128, numjobs=4),
    _preset("rand-read-4k-t1q1", "T1Q1 4k randread", rw="randread", bs="4KiB", iodepth=1),
    _preset("fsync-write-4k-t1q1", "T1Q1 4k randwrite fsync", rw="randwrite", bs="4KiB", iodepth=1, fsync=1),
    _preset("rand-write-4k-t1q1", "T1Q1 4k randwrite", rw="randwrite", bs="4KiB", iodepth=1),
    _preset("rand-write-4k-t16q128", "T16Q128 4k randwrite", rw="randwrite", bs="4KiB", iodepth=128, numjobs=16),
    _preset("rand-read-4k-t16q128", "T16Q128 4k randread", rw="randread", bs="4KiB", iodepth=128, numjobs=16),
    _preset("rand-write-4k-t1q32", "T1Q32 4k randwrite", rw="randwrite", bs="4KiB", iodepth=32),
    _preset("rand-read-4k-t1q32", "T1Q32 4k randread", rw="randread", bs="4KiB", iodepth=32),
    _preset("rand-read-4k-t8q64", "T8Q64 4k randread", rw="randread", bs="4KiB", iodepth=64, numjobs=8),
    _preset("oltp-8k-70-30", "8k 70/30 OLTP, T8Q16", rw="randrw", rwmixread=70, bs="8KiB", iodepth=16, numjobs=8),
    _preset("mixed-64k-50-50", "64k 50/50 mixed, T4Q16", rw="randrw", rwmixread=50, bs="64KiB", iodepth=16, numjobs=4),
    _preset("seq-read-1m-q8", "T1Q8 1M sequential read", rw="read", bs="1MiB", iodepth=8),
    _preset("seq-write-1m-q8", "T1Q8 1M sequential write", rw="write", bs="1MiB", iodepth=8),
    _preset("wal-8k-dsync", "T1Q1 8k sequential write O_DSYNC (a database's log)", rw="write", bs="8KiB",
            ioengine="psync", sync="dsync"),
    _preset("bssplit-4k-64k", "T4Q32 70/30 of 4k and 64k blocks", rw="randrw", rwmixread=70,
            bssplit="4KiB/60:64KiB/40", iodepth=32, numjobs=4),
    _vdbench("vdbench-4k-50-50", "vdbench 4k, 80 % random, 50/50 (HCIBench)", "4KiB", 80, rw="randrw", rwmixread=50),
    _vdbench("vdbench-8k-75-25", "vdbench 8k, 80 % random, 75/25 (HCIBench)", "8KiB", 80, rw="randrw", rwmixread=75),
    _vdbench("vdbench-64k-75-25", "vdbench 64k, 80 % sequential, 75/25 (HCIBench)", "64KiB", 20, rw="randrw", rwmixread=75),
    _vdbench("vdbench-max-iops-read", "vdbench max_iops_read: 4k, all random (HCIBench)", "4KiB", 100, rw="randread"),
    _vdbench("vdbench-max-iops-write", "vdbench max_iops_write: 4k, all random (HCIBench)", "4KiB", 100, rw="randwrite"),
    _preset("latency-1ms-4k-read", "4k randread: how deep a queue keeps 99 % below 1 ms", rw="randread", bs="4KiB",
            iodepth=256, latency_target="1ms", latency_window="2s", latency_percentile=99.0),
    _preset("limited-4k-5000", "4k randread at 5000 IOPS: latency of a load that is not the most", rw="randread", bs="4KiB",
            iodepth=32, rate_iops=5000),
    _preset("hot-zone-8k-70-30", "8k 70/30, 80 % of it in a tenth of the region", rw="randrw", rwmixread=70, bs="8KiB",
            iodepth=16, numjobs=4, random_distribution="zoned:80/10:20/90"),
    _preset("compressible-1m-write", "1M write of data that halves, T1Q8", rw="write", bs="1MiB", iodepth=8,
            buffer_compress_percentage=50, dedupe_percentage=0),
)  # fmt: skip
"""Named workloads (T: jobs, Q: queue depth); those of published campaigns come first."""
