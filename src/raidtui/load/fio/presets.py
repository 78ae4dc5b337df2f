"""Workloads under the names that the field has for them: T = threads (jobs), Q = queue depth of each."""

from __future__ import annotations

from typing import Any, Final

from raidtui.model.describe import Preset


def _preset(name: str, title: str, **options: Any) -> Preset:
    return Preset(name, title, "fio", {"ioengine": "libaio", "direct": True, "runtime": "60s", **options})


def _vdbench(name: str, title: str, bs: str, random: int, **options: Any) -> Preset:
    """Eight threads on one virtual disk, as HCIBench has vdbench run them: a queue of eight."""
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
"""Those that published campaigns measure with come first."""
