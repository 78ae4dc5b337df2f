"""What fio prints under options that change the shape of its reports."""

import json
from collections import Counter

import pytest

from raidtui.foreign.documents import read_table
from raidtui.foreign.sources import Source

TEXT = """j: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1
j: (groupid=0, jobs=1): err= 0: pid=1: Mon Nov 23 08:11:12 2026
  {flow}: IOPS=603, BW=2415KiB/s (2473kB/s)(1024KiB/424msec)
     lat (nsec): min=5324, max=50823, avg=12191.49, stdev=4965.51
    clat percentiles (nsec):
     |  1.00th=[ 6048], 50.00th=[10816], 99.00th=[28032], 99.90th=[50432]
"""
FSYNC = """  fsync/fdatasync/sync_file_range:
    sync (usec): min=148, max=121933, avg=1643.89, stdev=9152.98
    sync percentiles (usec):
     |  1.00th=[   151], 50.00th=[   343], 99.00th=[  6718], 99.90th=[122160]
"""
MIXED = """  mixed: IOPS=0, BW=0 (0)(0B/31msec)
     lat (nsec): min=1926, max=4204.2k, avg=40142.32, stdev=225150.53
"""


def figures(text, name="x.txt"):
    found = read_table(Source(name, text.encode())).figures
    assert max(Counter((f.metric, f.statistic, f.direction, f.unit) for f in found).values()) == 1
    return {(f.metric, f.statistic, f.direction, f.unit): f.value for f in found}


def test_percentiles_of_fsync_and_of_the_whole_latency_are_not_those_of_the_completion():
    alone = figures(TEXT.format(flow="write"))
    assert alone["latency", "p50", "write", "ns"] == 10816
    assert figures(TEXT.format(flow="write") + FSYNC) == alone
    whole = "    lat percentiles (usec):\n     | 50.00th=[   14], 99.00th=[   90], 99.90th=[  355]\n"
    assert figures(TEXT.format(flow="write") + whole) == alone


def test_what_fio_counts_over_all_directions_is_of_none():
    found = figures(TEXT.format(flow="mixed"))
    assert {direction for _, _, direction, _ in found} == {""}
    assert (found["iops", "", "", "IOPS"], found["latency", "p99", "", "ns"]) == (603, 28032)
    both = figures(TEXT.format(flow="read") + MIXED)
    assert (both["latency", "mean", "read", "ns"], both["latency", "mean", "", "ns"]) == (12191.49, 40142.32)
    flow = {"iops": 10.5, "bw_bytes": 43008, "bw": 42, "total_ios": 100}
    report = {"fio version": "fio-3.33", "jobs": [{"jobname": "j", "mixed": flow}]}
    assert figures(json.dumps(report))["iops", "", "", "IOPS"] == 10.5


def test_a_terse_line_with_one_direction_for_all():
    flow = ["2048", "32000", "8000", "64", *["0"] * 8, "50.000000%=4", *["0%=0"] * 19, *["0"] * 2, "29.7", *["0"] * 6]
    line = ";".join(["3", "fio-3.33", "uni", "0", "0", *flow, "7.936508%", "41.2%", "136", "0", "12", *["0.00%"] * 38])
    found = figures(line)
    assert (found["iops", "", "", "IOPS"], found["latency", "mean", "", "us"]) == (8000, 29.7)


def test_a_latency_that_was_not_measured_is_none():
    flow = {"iops": 11906.9, "bw_bytes": 48770976, "bw": 47627, "total_ios": 512, "clat_ns": {"max": 0, "mean": 0.0}}
    found = figures(json.dumps({"fio version": "fio-3.33", "jobs": [{"jobname": "j", "read": flow}]}))
    assert not [key for key in found if key[0] == "latency"]


BY_BASE = """\
a: (groupid=0, jobs=1): err= 0: pid=7744: Wed Nov 25 07:00:31 2026
  read: IOPS={iops}, BW={rates}(541kB/11msec)

Run status group 0 (all jobs):
   READ: bw={rates}, 49.2MB/s-49.2MB/s (46.9MiB/s-46.9MiB/s), io={amount}, run=11-11msec
"""
"""Lines that fio 3.33 wrote with --kb_base=1000, with --unit_base=1, and with both."""


@pytest.mark.parametrize(("rates", "iops", "amount", "seen"), [
    ("49.2MB/s (46.9MiB/s)", "12.0k", "541kB (528KiB)", [(46.9, "MiB/s"), (49.2, "MB/s")]),
    ("188Mibit/s (197Mbit/s)", "6000", "528KiB (541kB)", [(197, "Mbit/s"), (23.5, "MiB/s")]),
    ("188Mbit/s (179Mibit/s)", "5739", "541kB (528KiB)", [(22.375, "MiB/s"), (188, "Mbit/s")]),
    ("800Kibit/s (819kbit/s)", "24", "528KiB (541kB)", [(102.375, "kB/s"), (100, "KiB/s")]),
])  # fmt: skip
def test_rates_in_other_units_are_kept(rates, iops, amount, seen):
    text = BY_BASE.format(rates=rates, iops=iops, amount=amount)
    found = read_table(Source("x.txt", text.encode())).figures
    assert [(f.value, f.unit) for f in found if f.metric == "bandwidth"] == seen
    assert [f.value for f in found if f.metric == "iops"] == [12000 if iops == "12.0k" else float(iops)]
    alone = read_table(Source("x.txt", text[text.index("   READ") :].encode())).figures
    assert [(f.value, f.unit) for f in alone if f.metric == "bandwidth"] == seen
    assert [f.unit for f in alone if f.metric == "amount"] == [amount.lstrip("0123456789").partition(" ")[0]]


STATUS = """\
a: (groupid=0, jobs=1): err= 0: pid={pid}: Wed Nov 25 07:01:57 2026
  read: IOPS={iops}, BW=200KiB/s (205kB/s)(176KiB/878msec)
"""


def test_reports_of_a_status_interval_are_one_workload_and_the_last_counts():
    jobs = [(8252, 51), (8253, 52), (8252, 50), (8253, 49)]
    text = "".join(STATUS.format(pid=pid, iops=iops) for pid, iops in jobs)
    found = read_table(Source("x.txt", text.encode())).figures
    assert [(f.workload, f.value) for f in found if f.metric == "iops"] == [("a", 50), ("a #2", 49)]
