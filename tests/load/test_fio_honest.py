"""What fio would accept and not honour is refused, with a reason and a way out."""

from __future__ import annotations

from typing import Any

import pytest

from raidtui.load.fio import ENGINE
from raidtui.load.fio.spec import FioSpec
from raidtui.model.convert import decode
from raidtui.model.problem import REFUSALS

READ = {"rw": "randread", "bs": "4KiB", "runtime": "60s"}
WRITE = {"rw": "randwrite", "bs": "4KiB", "runtime": "60s"}
SEQUENTIAL = {"rw": "write", "bs": "4MiB", "runtime": "60s"}
SPLIT = {"rw": "randwrite", "runtime": "60s"}

REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    ("fio-fsync-on-read", "fsync", {**READ, "fsync": 1}),
    ("fio-fsync-on-read", "fdatasync", {**READ, "fdatasync": 1}),
    ("fio-fsync-on-read", "end_fsync", {**READ, "end_fsync": True}),
    ("fio-fsync-on-read", "sync", {**READ, "sync": "dsync"}),
    ("fio-queue-depth", "iodepth", {**READ, "ioengine": "psync", "iodepth": 2}),
    ("fio-queue-depth", "iodepth", {**READ, "ioengine": "pvsync2", "iodepth": 32}),
    ("fio-buffered", "direct", {**READ, "direct": False}),
    ("fio-buffered", "why_buffered", {**READ, "why_buffered": "because"}),
    ("fio-buffered-async", "ioengine", {**READ, "direct": False, "why_buffered": "because", "iodepth": 8}),
    ("fio-block-size", "bs", {"rw": "read", "runtime": "60s"}),
    ("fio-block-size", "bssplit", {**READ, "bssplit": "4KiB/100"}),
    ("fio-files", "filesize", {**READ, "size": "1GiB", "filesize": "64MiB"}),
    ("fio-files", "filesize", {**READ, "filesize": "1000B"}),
    ("fio-block-size", "bssplit", {**SPLIT, "bssplit": "4KiB/60:64KiB/30"}),
    ("fio-block-size", "bssplit", {**SPLIT, "bssplit": "4KiB/100:64KiB/0"}),
    ("fio-block-size", "bs", {**READ, "bs": "0B"}),
    ("fio-block-size", "bs", {**READ, "bs": "65MiB"}),
    ("fio-block-not-sectors", "bs", {**READ, "bs": "4000B"}),
    ("fio-block-not-sectors", "bssplit", {**SPLIT, "bssplit": "4KiB/60:1000B/40"}),
    ("fio-block-not-sectors", "offset", {**READ, "offset": "1000B"}),
    ("fio-block-not-sectors", "offset_increment", {**READ, "numjobs": 2, "offset_increment": "1kB"}),
    ("fio-block-larger-than-region", "bs", {**SEQUENTIAL, "size": "1MiB"}),
    ("fio-zero", "size", {**READ, "size": "0B"}),
    ("fio-zero", "rate", {**READ, "rate": "0B"}),
    ("fio-zero", "offset_increment", {**READ, "numjobs": 2, "offset_increment": "0B"}),
    ("fio-zero", "latency_target", {**READ, "iodepth": 8, "latency_target": "0s", "latency_window": "1s"}),
    ("fio-zero", "latency_window", {**READ, "iodepth": 8, "latency_target": "1ms", "latency_window": "0s"}),
    ("fio-runtime", "runtime", {**READ, "runtime": "999ms"}),
    ("fio-runtime", "runtime", {**READ, "runtime": "8d"}),
    ("fio-runtime", "ramp_time", {**READ, "ramp_time": "25h"}),
    ("fio-runtime", "thinktime", {**READ, "thinktime": "60s"}),
    ("fio-mix", "rwmixread", {**READ, "rwmixread": 70}),
    ("fio-random-only", "percentage_random", {**SEQUENTIAL, "percentage_random": 0}),
    ("fio-random-only", "random_distribution", {**SEQUENTIAL, "random_distribution": "random"}),
    ("fio-random-only", "norandommap", {**SEQUENTIAL, "norandommap": True}),
    ("fio-random-only", "randrepeat", {**SEQUENTIAL, "randrepeat": True}),
    ("fio-distribution", "random_distribution", {**READ, "random_distribution": "zipf:1.0"}),
    ("fio-distribution", "random_distribution", {**READ, "random_distribution": "zipf:0"}),
    ("fio-distribution", "random_distribution", {**READ, "random_distribution": "pareto:1"}),
    ("fio-distribution", "random_distribution", {**READ, "random_distribution": "normal:101"}),
    ("fio-distribution", "random_distribution", {**READ, "random_distribution": "zoned:60/10:30/90"}),
    ("fio-distribution", "random_distribution", {**READ, "random_distribution": "zoned:60/0:40/100"}),
    ("fio-write-only", "refill_buffers", {**READ, "refill_buffers": True}),
    ("fio-write-only", "buffer_compress_percentage", {**READ, "buffer_compress_percentage": 0}),
    ("fio-write-only", "dedupe_percentage", {**READ, "dedupe_percentage": 50}),
    ("fio-data", "refill_buffers", {**WRITE, "refill_buffers": True, "dedupe_percentage": 50}),
    ("fio-latency-target", "latency_window", {**READ, "latency_window": "1s"}),
    ("fio-latency-target", "latency_percentile", {**READ, "latency_percentile": 99.0}),
    ("fio-latency-target", "latency_target", {**READ, "latency_target": "1ms", "latency_window": "1s"}),
    ("fio-latency-target", "latency_target", {**READ, "iodepth": 8, "latency_target": "1ms"}),
    ("fio-latency-target", "latency_window", {**READ, "iodepth": 8, "latency_target": "1ms", "latency_window": "61s"}),
    ("fio-two-rates", "rate_iops", {**READ, "rate": "1MB", "rate_iops": 100}),
    ("fio-batch", "iodepth_batch_submit", {**READ, "iodepth": 4, "iodepth_batch_submit": 5}),
    ("fio-batch", "iodepth_low", {**READ, "ioengine": "psync", "iodepth_low": 1}),
    (
        "fio-batch",
        "iodepth_batch_complete_min",
        {**READ, "iodepth": 8, "iodepth_batch_complete_min": 4, "iodepth_batch_complete_max": 2},
    ),
    ("fio-engine-option", "hipri", {**READ, "hipri": True}),
    ("fio-engine-option", "fixedbufs", {**READ, "fixedbufs": True}),
    ("fio-engine-option", "registerfiles", {**READ, "registerfiles": True}),
    ("fio-offset-increment", "offset_increment", {**READ, "offset_increment": "1GiB"}),
    ("fio-memory", "iodepth", {**SEQUENTIAL, "numjobs": 256, "iodepth": 4096}),
]


@pytest.mark.parametrize(("code", "option", "options"), REFUSED)
def test_a_combination_that_would_not_be_honoured_is_refused(code: str, option: str, options: dict[str, Any]) -> None:
    problems = ENGINE.check(decode(FioSpec, options), "$.workloads.w.fio")
    assert (code, f"$.workloads.w.fio.{option}") in {(problem.code, problem.place) for problem in problems}
    assert all(problem.exit == 2 and problem.remedy and problem.message for problem in problems)


TARGET_BYTES = 1 << 30


@pytest.mark.parametrize(
    ("code", "option", "options"),
    [
        ("fio-region-larger-than-target", "size", {**READ, "size": "2GiB"}),
        ("fio-region-larger-than-target", "size", {**READ, "size": "60%", "offset": "50%"}),
        ("fio-region-larger-than-target", "offset", {**READ, "offset": "2GiB"}),
        ("fio-region-larger-than-target", "size", {**READ, "size": "512MiB", "numjobs": 8, "offset_increment": "10%"}),
        ("fio-files", "nrfiles", {**READ, "nrfiles": 64}),
        ("fio-files", "overwrite", {**SEQUENTIAL, "overwrite": True}),
        ("fio-block-larger-than-region", "bs", {**SEQUENTIAL, "bs": "16MiB", "size": "1%"}),
        ("fio-block-larger-than-region", "bssplit", {**SPLIT, "bssplit": "4KiB/50:16MiB/50", "size": "1%"}),
    ],
)
def test_a_region_that_does_not_fit_is_refused(code: str, option: str, options: dict[str, Any]) -> None:
    spec = decode(FioSpec, options)
    (problem,) = ENGINE.check_target(spec, "$.w", TARGET_BYTES)
    assert (problem.code, problem.place) == (code, f"$.w.{option}")


@pytest.mark.parametrize(
    "options",
    [
        READ,
        {**WRITE, "fsync": 1},
        {**SEQUENTIAL, "iodepth": 32, "size": "100%"},
        {**READ, "direct": False, "why_buffered": "the page cache is the subject", "ioengine": "psync"},
        {**SPLIT, "bssplit": "4KiB/60:64KiB/40", "random_distribution": "zoned:60/10:40/90"},
        {**READ, "iodepth": 64, "latency_target": "0.5ms", "latency_window": "5s", "latency_percentile": 99.9},
        {**READ, "numjobs": 4, "offset_increment": "25%", "size": "25%"},
        {**READ, "ioengine": "io_uring", "hipri": True, "fixedbufs": True, "registerfiles": True, "iodepth": 8},
    ],
)
def test_honest_workloads_pass(options: dict[str, Any]) -> None:
    spec = decode(FioSpec, options)
    assert ENGINE.check(spec, "$") == []
    assert ENGINE.check_target(spec, "$", TARGET_BYTES) == []


@pytest.mark.parametrize(
    ("option", "options"),
    [
        ("direct", {**READ, "direct": False, "why_buffered": "the page cache is the subject", "ioengine": "psync"}),
        ("hipri", {**READ, "ioengine": "io_uring", "hipri": True}),
    ],
)
def test_an_image_has_no_page_cache_and_no_io_uring(option: str, options: dict[str, Any]) -> None:
    (problem,) = ENGINE.check_target(decode(FioSpec, options), "$.w", TARGET_BYTES, kind="image")
    assert (problem.code, problem.place) == ("fio-image", f"$.w.{option}")
    assert ENGINE.check_target(decode(FioSpec, READ), "$.w", TARGET_BYTES, kind="image") == []


def test_a_region_a_little_too_large_is_said_in_bytes() -> None:
    (problem,) = ENGINE.check_target(decode(FioSpec, {**READ, "size": "2GiB"}), "$.w", (2 << 30) - 4096)
    assert problem.message == "the region reaches up to 2147483648 bytes, and the target has 2147479552 bytes"
    (problem,) = ENGINE.check_target(decode(FioSpec, {**READ, "size": "2GiB"}), "$.w", 1 << 30)
    assert problem.message == "the region reaches up to 2.0 GiB, and the target has 1.0 GiB"


def test_every_reason_is_complete_and_every_code_is_tested() -> None:
    elsewhere = {"fio-image", "fio-engine-version", "fio-region-larger-than-target", "fio-missing", "fio-not-started",
                 "fio-target"}  # fmt: skip
    assert {code for code in REFUSALS if code.startswith("fio-")} == {code for code, _, _ in REFUSED} | elsewhere
    assert all(one.title.strip() and one.why.strip() and one.way_out.strip() for one in REFUSALS.values())


def test_a_rehearsal_is_short_and_still_honest() -> None:
    for options in (
        {**READ, "ramp_time": "10s", "iodepth": 8, "latency_target": "1ms", "latency_window": "20s"},
        {**READ, "thinktime": "5s"},
        {**READ, "offset": "50%", "size": "40%", "numjobs": 2, "offset_increment": "64MiB"},
    ):
        quick = ENGINE.quick(decode(FioSpec, options), TARGET_BYTES)
        assert ENGINE.check(quick, "$") == []
        assert ENGINE.check_target(quick, "$", TARGET_BYTES) == []
        assert ENGINE.estimate(quick, TARGET_BYTES).seconds <= 4
        assert ENGINE.region_bytes(quick, TARGET_BYTES) <= 256 << 20


def test_what_a_workload_will_write_is_bounded_where_it_can_be() -> None:
    def written(**options: object) -> int | None:
        return ENGINE.estimate(decode(FioSpec, options), TARGET_BYTES).max_written_bytes

    assert written(**READ) == 0
    assert written(**WRITE) is None
    assert written(**WRITE, rate="1MiB", numjobs=2) == 60 * 2 << 20
    assert written(**SEQUENTIAL, time_based=False) == TARGET_BYTES


def test_the_region_that_has_to_be_prefilled_is_where_the_last_job_ends() -> None:
    spec = decode(FioSpec, {**READ, "offset": "64MiB", "size": "64MiB", "numjobs": 3, "offset_increment": "64MiB"})
    assert ENGINE.reads(spec)
    assert ENGINE.region_bytes(spec, TARGET_BYTES) == 256 << 20
    assert ENGINE.region_bytes(decode(FioSpec, READ), TARGET_BYTES + 4096) == TARGET_BYTES
