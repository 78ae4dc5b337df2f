"""The sampler and `iostat -x` see the same in the same seconds, on a real kernel and a disk under load."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from raidtui.lab.control import Lab
from raidtui.lab.disks import parse_spec
from raidtui.watch.series import PROBE_BYTES, counters_agree

pytestmark = pytest.mark.lab

WATCHED_S = 15
LOAD_S = 3
# iostat prints rates but not over how long: added up they are off by as much as its seconds were not seconds.
NEAR = 0.05
# Both tools begin before the load and end after it, so what they add up must be the same although their seconds are not.
IN_GUEST = """
import json, subprocess, sys, time
sys.path.insert(0, "/opt/raidtui")
import msgspec
from raidtui.watch.sampler import Sampler
from raidtui.watch.series import SeriesFold

device, watched_s, load_s = sys.argv[1], int(sys.argv[2]), sys.argv[3]
fio = ["fio", "--output-format=json", f"--filename=/dev/{device}", "--allow_file_create=0", "--ioengine=libaio",
       "--direct=1", "--thread=1", f"--runtime={load_s}", "--size=1G", "--time_based"]
loads = [
    [*fio, "--name=mixed", "--rw=randrw", "--bs=16k", "--iodepth=8", "--fsync=32"],
    [*fio, "--name=trim", "--rw=trim", "--bs=1M", "--iodepth=1"],
]
fold = SeriesFold([device])
sampler = Sampler(fold.add)
started = time.monotonic()
iostat = subprocess.Popen(["iostat", "-x", "-y", "-o", "JSON", "1", str(watched_s), device], stdout=subprocess.PIPE)
sampler.start()
time.sleep(1.5)
began = time.monotonic()
jobs = [json.loads(subprocess.run(load, check=True, capture_output=True).stdout)["jobs"][0] for load in loads]
loaded_s = time.monotonic() - began
out, _ = iostat.communicate(timeout=60)
late_s = time.monotonic() - started - watched_s
sampler.stop()
print(json.dumps({"jobs": jobs, "loaded_s": loaded_s, "late_s": late_s, "iostat": json.loads(out),
                  "series": msgspec.to_builtins(fold.series())}))
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = Lab(f"iostat-{os.getpid()}")
    try:
        yield lab.up(parse_spec("2x2G"))
    finally:
        lab.down()


@pytest.fixture(scope="module")
def seen(lab: Lab) -> dict[str, Any]:
    """What fio, iostat and the sampler say of one disk over the same seconds."""
    lab.raidtui("--version")  # brings the code over
    device = lab.kernel_name(lab.serials[0])
    assert device is not None
    command = ["python3", "-I", "-", device, str(WATCHED_S), str(LOAD_S)]
    answer: dict[str, Any] = json.loads(lab.run(command, 120.0, input_bytes=IN_GUEST.encode()).out)
    assert answer["loaded_s"] < WATCHED_S - 2.5, "the load must end before iostat does"
    (statistics,) = [host["statistics"] for host in answer["iostat"]["sysstat"]["hosts"]]
    answer["rows"] = [row for second in statistics for row in second["disk"] if row["disk_device"] == device]
    assert len(answer["rows"]) == WATCHED_S
    answer["totals"] = answer["series"]["totals"][device]
    answer["columns"] = answer["series"]["devices"][device]
    return answer


def added_up(seen: dict[str, Any], column: str) -> float:
    """An iostat column of rates over all its seconds."""
    return float(sum(row[column] for row in seen["rows"]))


def near(seen: dict[str, Any], column: str, unit: int = 1) -> Any:
    """That sum, where the seconds that a busy machine made longer may hold more than their rates say."""
    longer = max(row[column] for row in seen["rows"]) * max(0.0, seen["late_s"])
    expected = added_up(seen, column) * unit
    return pytest.approx(expected, abs=NEAR * expected + longer * unit)


def weighted(seen: dict[str, Any], column: str, weight: str) -> float:
    """An iostat column of means over all its seconds."""
    return float(sum(row[column] * row[weight] for row in seen["rows"])) / added_up(seen, weight)


@pytest.mark.parametrize(
    ("column", "total", "unit"),
    [
        ("r/s", "reads", 1),
        ("w/s", "writes", 1),
        ("d/s", "discards", 1),
        ("f/s", "flushes", 1),
        ("rkB/s", "read_bytes", 1024),
        ("wkB/s", "written_bytes", 1024),
        ("dkB/s", "discarded_bytes", 1024),
    ],
)
def test_totals_are_the_ones_that_iostat_adds_up_to(seen: dict[str, Any], column: str, total: str, unit: int) -> None:
    assert seen["totals"][total] > 0
    assert seen["totals"][total] == near(seen, column, unit)


@pytest.mark.parametrize(
    ("column", "weight", "total"),
    [
        ("r_await", "r/s", "read_await_ms"),
        ("w_await", "w/s", "write_await_ms"),
        ("f_await", "f/s", "flush_await_ms"),
    ],
)
def test_latencies_are_the_ones_that_iostat_saw(seen: dict[str, Any], column: str, weight: str, total: str) -> None:
    assert seen["totals"][total] == pytest.approx(weighted(seen, column, weight), rel=NEAR, abs=0.01)


def test_queue_and_utilisation_are_the_ones_that_iostat_saw(seen: dict[str, Any]) -> None:
    spans = seen["series"]["span_s"]
    for column, ours in (("aqu-sz", "queue_length"), ("util", "util_percent")):
        busy = sum(value * span_s for value, span_s in zip(seen["columns"][ours], spans, strict=True))
        assert busy == near(seen, column)


def test_the_device_s_counters_agree_with_the_bytes_that_fio_moved(seen: dict[str, Any]) -> None:
    for direction, total, extra_bytes in (
        ("read", "read_bytes", PROBE_BYTES),
        ("write", "written_bytes", 0),
        ("trim", "discarded_bytes", 0),
    ):
        moved = sum(job[direction]["io_bytes"] for job in seen["jobs"])
        assert moved > 0
        assert counters_agree(moved, seen["totals"][total], tolerance=0.001, extra_bytes=extra_bytes), direction
