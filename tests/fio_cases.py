"""Workloads that do nothing wrong, on devices with nothing wrong: by option of `FioSpec`, and in the pairs that people use.

Whoever adds an option, or a value to a closed list, adds a case here; `test_fio_good_cells.py` says which one is missing.
"""

from __future__ import annotations

from typing import Any, Final

from raidtui.load.engine import Target, TargetDevice
from raidtui.load.fio.spec import FioSpec
from raidtui.model.convert import decode

Options = dict[str, Any]
CACHE: Final = "the page cache is the subject"
REGION: Final = "64MiB"
READ: Final[Options] = {"rw": "randread"}
WRITE: Final[Options] = {"rw": "randwrite"}
MIX: Final[Options] = {"rw": "randrw"}
ASYNC: Final[Options] = {"ioengine": "libaio", "iodepth": 8}
URING: Final[Options] = {"ioengine": "io_uring", "iodepth": 8}
PSYNC: Final[Options] = {"ioengine": "psync"}
SEARCH: Final[Options] = {"iodepth": 8, "latency_target": "20ms", "latency_window": "200ms", "latency_percentile": 90.0}
SPLIT: Final = "4KiB/60:64KiB/40"
ONCE: Final[Options] = {"time_based": False, "runtime": "60s"}
FILES: Final = ("nrfiles", "filesize", "overwrite")
"""Options that only files in a directory have."""


def workload(options: Options) -> Options:
    """With what every workload must have, small and short."""
    need: Options = {"runtime": "1s"}
    if "bssplit" not in options:
        need["bs"] = "4KiB"
    if "filesize" not in options:
        need["size"] = REGION
    return {**need, **options}


def spec_of(options: Options) -> FioSpec:
    return decode(FioSpec, workload(options))


def in_directory(options: Options) -> bool:
    return any(name in options for name in FILES)


OPTIONS: Final[dict[str, dict[str, Options]]] = {
    "rw": {
        "read": {"rw": "read", "bs": "64KiB"},
        "write": {"rw": "write", "bs": "64KiB"},
        "randread": READ,
        "randwrite": WRITE,
        "rw": {"rw": "rw"},
        "readwrite": {"rw": "readwrite"},
        "randrw": MIX,
    },
    "ioengine": {
        "io-uring": {**WRITE, "ioengine": "io_uring"},
        "libaio": {**WRITE, "ioengine": "libaio"},
        "psync": {**WRITE, "ioengine": "psync"},
        "pvsync2": {**WRITE, "ioengine": "pvsync2"},
        "sync": {**WRITE, "ioengine": "sync"},
    },
    "bs": {"bs-1m": {"rw": "write", "bs": "1MiB"}, "bs-512": {**WRITE, "bs": "512B"}, "bs-12k": {**READ, "bs": "12KiB"}},
    "bssplit": {"bssplit": {**MIX, "bssplit": SPLIT}, "bssplit-three": {**WRITE, "bssplit": "512B/10:4KiB/30:128KiB/60"}},
    "iodepth": {"iodepth": {**WRITE, "iodepth": 32}},
    "numjobs": {"numjobs": {**MIX, "numjobs": 4}},
    "runtime": {"runtime": {**READ, "runtime": "1500ms"}},
    "ramp_time": {"ramp-time": {**MIX, "ramp_time": "1s"}},
    "time_based": {"once-through": {"rw": "write", "bs": "1MiB", **ONCE}},
    "direct": {"buffered": {**WRITE, **PSYNC, "direct": False, "why_buffered": CACHE}},
    "why_buffered": {"why-buffered": {**READ, **PSYNC, "direct": False, "why_buffered": CACHE}},
    "size": {"size": {**WRITE, "size": "5%"}},
    "offset": {"offset": {**WRITE, "offset": "64MiB"}},
    "offset_increment": {"offset-increment": {"rw": "write", "numjobs": 2, "offset_increment": "64MiB"}},
    "nrfiles": {"nrfiles": {**MIX, "nrfiles": 4}},
    "filesize": {"filesize": {**WRITE, "filesize": "16MiB"}},
    "overwrite": {"overwrite": {**WRITE, "overwrite": True}},
    "fsync": {"fsync": {**WRITE, "fsync": 8}},
    "fdatasync": {"fdatasync": {**WRITE, "fdatasync": 8}},
    "end_fsync": {"end-fsync": {**WRITE, "end_fsync": True}},
    "sync": {"sync-sync": {**WRITE, "sync": "sync"}, "sync-dsync": {**WRITE, "sync": "dsync"}},
    "rwmixread": {"rwmixread": {**MIX, "rwmixread": 70}},
    "percentage_random": {"percentage-random": {**MIX, "percentage_random": 50}},
    "randrepeat": {"randrepeat": {**READ, "randrepeat": True}},
    "norandommap": {"norandommap": {**WRITE, "norandommap": True}},
    "random_distribution": {
        "random": {**READ, "random_distribution": "random"},
        "zipf": {**READ, "random_distribution": "zipf:1.2"},
        "pareto": {**WRITE, "random_distribution": "pareto:0.2"},
        "normal": {**MIX, "random_distribution": "normal:20"},
        "zoned": {**WRITE, "random_distribution": "zoned:60/10:40/90"},
    },
    "rate": {"rate": {"rw": "write", "bs": "64KiB", "rate": "8MB"}},
    "rate_iops": {"rate-iops": {**MIX, "rate_iops": 200}},
    "thinktime": {"thinktime": {**WRITE, "thinktime": "10ms"}},
    "latency_target": {"latency-target": {**READ, **SEARCH}},
    "latency_window": {"latency-window": {**WRITE, **SEARCH, "latency_window": "500ms"}},
    "latency_percentile": {"latency-percentile": {**MIX, **SEARCH, "latency_percentile": 99.9}},
    "iodepth_batch_submit": {"batch-submit": {**WRITE, "iodepth": 8, "iodepth_batch_submit": 4}},
    "iodepth_batch_complete_min": {"batch-complete-min": {**WRITE, "iodepth": 8, "iodepth_batch_complete_min": 4}},
    "iodepth_batch_complete_max": {"batch-complete-max": {**WRITE, "iodepth": 8, "iodepth_batch_complete_max": 4}},
    "iodepth_low": {"iodepth-low": {**WRITE, "iodepth": 8, "iodepth_low": 2}},
    "refill_buffers": {"refill-buffers": {**WRITE, "refill_buffers": True}},
    "buffer_compress_percentage": {"compressible": {**WRITE, "buffer_compress_percentage": 50}},
    "dedupe_percentage": {"copies": {**WRITE, "dedupe_percentage": 50}},
    "hipri": {"hipri": {**READ, "ioengine": "pvsync2", "hipri": True}},
    "fixedbufs": {"fixedbufs": {**WRITE, **URING, "fixedbufs": True}},
    "registerfiles": {"registerfiles": {**WRITE, **URING, "registerfiles": True}},
}  # fmt: skip
"""By option and name of the case. Each case gives its option, and a closed list has a case for each of its values."""

PAIRS: Final[dict[str, Options]] = {
    # Durability, on every engine and with what changes how much is in flight.
    **{f"fdatasync-{engine.replace('_', '-')}": {**WRITE, "ioengine": engine, "fdatasync": 1}
       for engine in ("io_uring", "libaio", "psync", "pvsync2", "sync")},
    **{f"fsync-{engine.replace('_', '-')}": {**WRITE, "ioengine": engine, "fsync": 1}
       for engine in ("io_uring", "libaio", "psync", "pvsync2", "sync")},
    "fdatasync-deep": {**WRITE, **ASYNC, "fdatasync": 8},
    "fdatasync-deep-uring": {**WRITE, **URING, "fdatasync": 8},
    "fsync-deep-uring": {**WRITE, **URING, "fsync": 8},
    "fdatasync-mix": {**MIX, **ASYNC, "fdatasync": 4},
    "fdatasync-mix-psync": {**MIX, **PSYNC, "fdatasync": 1},
    "fdatasync-jobs": {**WRITE, **ASYNC, "numjobs": 4, "fdatasync": 8},
    "fdatasync-jobs-mix": {**MIX, **URING, "numjobs": 3, "fdatasync": 8, "rwmixread": 70},
    "fdatasync-ramp": {**WRITE, **ASYNC, "fdatasync": 2, "ramp_time": "1s"},
    "fdatasync-rate": {**WRITE, "fdatasync": 4, "rate_iops": 200},
    "fdatasync-bytes-rate": {"rw": "write", "fdatasync": 4, "rate": "1MB"},
    "fdatasync-thinktime": {**WRITE, "fdatasync": 4, "thinktime": "5ms"},
    "fdatasync-bssplit": {**WRITE, **ASYNC, "fdatasync": 4, "bssplit": SPLIT},
    "fdatasync-end-fsync": {**WRITE, "fdatasync": 4, "end_fsync": True},
    "fdatasync-fsync": {**WRITE, "fdatasync": 4, "fsync": 6},
    "fdatasync-fsync-deep": {**WRITE, **URING, "fdatasync": 4, "fsync": 6},
    "fdatasync-dsync": {**WRITE, "fdatasync": 4, "sync": "dsync"},
    "fdatasync-once": {"rw": "write", "bs": "64KiB", "fdatasync": 4, **ONCE, "size": "16MiB"},
    "fdatasync-sequential": {"rw": "write", "bs": "8KiB", **PSYNC, "fdatasync": 1},
    "fdatasync-zoned": {**WRITE, "fdatasync": 4, "random_distribution": "zoned:60/10:40/90"},
    "fdatasync-batch": {**WRITE, "iodepth": 8, "iodepth_batch_submit": 4, "iodepth_batch_complete_min": 2, "fdatasync": 8},
    "fdatasync-search": {**WRITE, **SEARCH, "fdatasync": 8},
    "fsync-jobs": {**WRITE, **ASYNC, "numjobs": 4, "fsync": 8},
    "fsync-mix": {**MIX, **ASYNC, "fsync": 4},
    "fsync-ramp": {**WRITE, "fsync": 2, "ramp_time": "1s"},
    "fsync-rate": {**WRITE, "fsync": 4, "rate_iops": 200},
    "fsync-bytes-rate": {"rw": "write", "fsync": 4, "rate": "1MB"},
    "fsync-end-fsync": {**WRITE, "fsync": 4, "end_fsync": True},
    "fsync-bssplit": {**WRITE, "fsync": 4, "bssplit": SPLIT},
    "fsync-buffered": {**WRITE, **PSYNC, "fsync": 4, "direct": False, "why_buffered": CACHE},
    "dsync-jobs": {**WRITE, **ASYNC, "numjobs": 4, "sync": "dsync"},
    "dsync-psync": {"rw": "write", "bs": "8KiB", **PSYNC, "sync": "dsync"},
    "sync-mix": {**MIX, "sync": "sync", "rwmixread": 30},
    "end-fsync-once": {"rw": "write", "bs": "1MiB", "end_fsync": True, **ONCE},
    "end-fsync-jobs": {"rw": "write", "bs": "64KiB", "end_fsync": True, "numjobs": 4},
    "end-fsync-mix": {**MIX, "end_fsync": True, "ramp_time": "1s"},
    # Sizes of blocks.
    "bssplit-jobs": {**MIX, "bssplit": SPLIT, "numjobs": 4, "iodepth": 4},
    "bssplit-ramp": {**WRITE, "bssplit": SPLIT, "ramp_time": "1s"},
    "bssplit-rate": {**WRITE, "bssplit": SPLIT, "rate": "2MB"},
    "bssplit-iops": {**MIX, "bssplit": SPLIT, "rate_iops": 50},
    "bssplit-once": {"rw": "write", "bssplit": "4KiB/50:1MiB/50", **ONCE},
    "bssplit-once-random": {**WRITE, **ASYNC, "bssplit": "4KiB/10:256KiB/90", **ONCE},
    "bssplit-once-jobs": {"rw": "rw", "bssplit": "4KiB/50:256KiB/50", "numjobs": 2, **ONCE},
    "bssplit-seldom": {**WRITE, "bssplit": "4KiB/99:1MiB/1"},
    "bssplit-zoned": {**WRITE, "bssplit": SPLIT, "random_distribution": "zoned:60/10:40/90"},
    "bssplit-norandommap": {**WRITE, "bssplit": SPLIT, "norandommap": True},
    "bssplit-wide": {**READ, "bssplit": "512B/25:4KiB/25:60KiB/25:1MiB/25", "norandommap": True},
    "bssplit-thinktime": {**WRITE, "bssplit": SPLIT, "thinktime": "20ms"},
    "bssplit-small-region": {**WRITE, "bssplit": "4KiB/50:256KiB/50", "size": "300KiB"},
    # Limits of rate.
    "rate-mix": {**MIX, "rate": "1MB", "iodepth": 4},
    "rate-uneven-mix": {**MIX, "rate_iops": 100, "rwmixread": 90},
    "rate-jobs": {"rw": "write", "bs": "64KiB", "rate": "2MB", "numjobs": 4},
    "rate-large-blocks": {"rw": "write", "bs": "1MiB", "rate": "3MB"},
    "rate-ramp": {"rw": "read", "bs": "64KiB", "rate": "4MB", "ramp_time": "1s"},
    "rate-thinktime": {**WRITE, "rate": "400KB", "thinktime": "20ms"},
    "iops-thinktime": {**WRITE, "rate_iops": 20, "thinktime": "10ms"},
    "iops-deep": {**READ, "iodepth": 32, "rate_iops": 500},
    "iops-few": {**READ, "rate_iops": 3, "numjobs": 2},
    "iops-search": {**READ, **SEARCH, "rate_iops": 500},
    "rate-once": {"rw": "write", "bs": "1MiB", "rate": "32MB", **ONCE},
    # Pauses.
    "thinktime-deep": {**WRITE, **ASYNC, "thinktime": "10ms"},
    "thinktime-jobs": {**MIX, "thinktime": "50ms", "numjobs": 4},
    "thinktime-long": {**READ, "thinktime": "700ms"},
    "thinktime-long-jobs": {**WRITE, "thinktime": "700ms", "numjobs": 4},
    "thinktime-short": {**READ, "thinktime": "0.2ms"},
    "thinktime-ramp": {**WRITE, "thinktime": "20ms", "ramp_time": "1s"},
    "thinktime-sync": {**WRITE, **PSYNC, "thinktime": "20ms", "fsync": 1},
    # Search for a latency.
    "search-jobs": {**READ, **SEARCH, "numjobs": 2},
    "search-mix": {**MIX, **SEARCH},
    "search-uring": {**WRITE, **SEARCH, "ioengine": "io_uring"},
    "search-ramp": {**READ, **SEARCH, "ramp_time": "1s"},
    "search-all": {**READ, "iodepth": 16, "latency_target": "5s", "latency_window": "250ms"},
    "search-short-window": {**READ, **SEARCH, "latency_window": "20ms"},
    "search-bssplit": {**WRITE, **SEARCH, "bssplit": SPLIT},
    # Where it is done.
    "offset-share": {**WRITE, "offset": "50%", "size": "10%"},
    "offset-jobs": {"rw": "read", "offset": "64MiB", "offset_increment": "32MiB", "size": "32MiB", "numjobs": 3},
    "offset-increment-share": {**WRITE, "offset_increment": "10%", "size": "5%", "numjobs": 3},
    "offset-once": {"rw": "write", "bs": "1MiB", "offset": "32MiB", **ONCE},
    "offset-increment-once": {"rw": "write", "bs": "256KiB", "offset_increment": "16MiB", "size": "16MiB", "numjobs": 3,
                              **ONCE},
    "odd-size": {"rw": "write", "bs": "12KiB", "size": "1000KiB"},
    "odd-size-once": {"rw": "write", "bs": "12KiB", "size": "1000KiB", **ONCE},
    "one-block": {**READ, "size": "4KiB"},
    # Random offsets.
    "zoned-mix": {**MIX, "random_distribution": "zoned:80/10:20/90", "numjobs": 2, "iodepth": 4},
    "zoned-silent": {**READ, "random_distribution": "zoned:100/50:0/50"},
    "zoned-many": {**READ, "random_distribution": "zoned:50/5:30/15:15/40:5/40", "iodepth": 8},
    "zoned-offset": {**WRITE, "random_distribution": "zoned:60/10:40/90", "offset": "64MiB"},
    "zoned-once": {**WRITE, "random_distribution": "zoned:60/10:40/90", **ONCE, "size": "8MiB"},
    "zipf-once": {**WRITE, "random_distribution": "zipf:1.2", **ONCE, "size": "4MiB"},
    "zipf-mix": {**MIX, "random_distribution": "zipf:0.9", "rwmixread": 70, "numjobs": 2},
    "normal-write": {**WRITE, "random_distribution": "normal:5"},
    "percentage-random-none": {**READ, "percentage_random": 0},
    "percentage-random-zipf": {**WRITE, "percentage_random": 80, "random_distribution": "zipf:1.1"},
    "norandommap-once": {**WRITE, "norandommap": True, **ONCE, "size": "8MiB"},
    "randrepeat-jobs": {**WRITE, "randrepeat": True, "numjobs": 2},
    "random-once": {**READ, **ASYNC, **ONCE, "size": "8MiB"},
    "mix-once": {**MIX, **ASYNC, **ONCE, "size": "8MiB"},
    # Mixes.
    "mix-reads-only": {**MIX, "rwmixread": 100},
    "mix-writes-only": {**MIX, "rwmixread": 0},
    "mix-sequential": {"rw": "rw", "bs": "64KiB", "rwmixread": 80, "iodepth": 4},
    # Queues.
    "jobs-many": {**WRITE, "numjobs": 16, "iodepth": 4},
    "jobs-ramp": {**WRITE, "numjobs": 8, "ramp_time": "1s"},
    "batch-all": {**READ, "iodepth": 16, "iodepth_batch_submit": 8, "iodepth_batch_complete_min": 4,
                  "iodepth_batch_complete_max": 8, "iodepth_low": 4},
    "batch-no-wait": {**WRITE, "iodepth": 8, "iodepth_batch_complete_min": 0},
    "large-blocks-deep": {"rw": "write", "bs": "4MiB", "iodepth": 8},
    "uring-registered": {**MIX, **URING, "fixedbufs": True, "registerfiles": True},
    "buffered-uring": {**WRITE, **URING, "direct": False, "why_buffered": CACHE},
    "buffered-fdatasync": {**WRITE, **PSYNC, "fdatasync": 4, "direct": False, "why_buffered": CACHE},
    # Data.
    "data-both": {"rw": "write", "bs": "64KiB", "buffer_compress_percentage": 50, "dedupe_percentage": 20},
    "refill-mix": {**MIX, "refill_buffers": True, "numjobs": 2},
    # Files.
    "files-jobs": {**MIX, "nrfiles": 8, "numjobs": 2, "iodepth": 4},
    "files-once": {"rw": "write", "bs": "64KiB", "nrfiles": 4, "filesize": "4MiB", **ONCE},
    "files-fdatasync": {**WRITE, "filesize": "32MiB", "fdatasync": 4},
    "files-fsync-overwrite": {**WRITE, "filesize": "32MiB", "overwrite": True, "fsync": 4},
    "files-end-fsync": {"rw": "write", "bs": "64KiB", "filesize": "32MiB", "end_fsync": True},
    "files-bssplit": {**WRITE, "nrfiles": 2, "bssplit": SPLIT},
    "files-search": {**READ, **SEARCH, "nrfiles": 2},
    "files-many": {**READ, "nrfiles": 64, "filesize": "256KiB", "numjobs": 2},
    "files-odd": {"rw": "write", "bs": "12KiB", "nrfiles": 3, "filesize": "100KiB", **ONCE},
}  # fmt: skip
"""Options that people combine, and combinations that change what fio counts or how it ends."""

CASES: Final[dict[str, Options]] = {name: options for cases in OPTIONS.values() for name, options in cases.items()} | PAIRS
TARGET_BYTES: Final = 2 << 30


def target_of(options: Options) -> Target:
    """A disk or a directory as large as those that recordings were made on. It cannot be opened."""
    return Target((TargetDevice(-1, "target", TARGET_BYTES),), "directory" if in_directory(options) else "block")
