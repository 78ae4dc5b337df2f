"""What tools print, with a number changed by hand: what stands beside it says so."""

import json
from collections import Counter

import pytest

from raidtui.foreign.documents import read_table
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source

PG = """5 seconds per test

Compare file sync methods using one 8kB write:
        open_datasync                     21873.129 ops/sec      46 usecs/op
        fdatasync                         20712.881 ops/sec      48 usecs/op
"""
IOSTAT = """
Device            r/s     rkB/s   rrqm/s r_await rareq-sz     w/s     wkB/s   wrqm/s w_await wareq-sz  aqu-sz  %util
nvme0n1        812.00 103936.00     0.00    0.41   128.00  410.50   1642.00     0.00    0.05     4.00    0.35  31.20
nvme1n1          0.00      0.10     0.00    0.00     4.00    0.00      0.00     0.00    0.00     0.00    0.00   0.00
"""
TEXT = """r: (g=0): rw=randrw, bs=(R) {block}-{block}, (W) 65536B-65536B, (T) 4096B-4096B, ioengine=libaio, iodepth=32

r: (groupid=0, jobs=1): err= 0: pid=1: Fri Jan  5 10:00:00 2024
  write: IOPS=1000, BW=62.5MiB/s (65.5MB/s)(1.8GiB/30001msec)
"""

IOZONE = """	Command line used: iozone -I -s 1g -r 4k -i 0
              kB  reclen    write  rewrite    read    reread
         1048576      64   412033   418820
"""


OLD_IOSTAT = """
Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util
sda               0.10     5.20  100.00   50.00  3200.00   800.00    26.67     0.50    3.30   1.10  16.50
"""
BLOCKS = """
Device:            tps   Blk_read/s   Blk_wrtn/s   Blk_read   Blk_wrtn
sda             150.00      3200.00       800.00   32000000    8000000
"""
SHORT = """
Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util
nvme0n1         150.00   2000.00     5.00    3.30    13.33    0.50  16.50
"""


def codes(text, name="x.txt"):
    return Counter(finding.code for finding in lint(read_table(Source(name, text.encode()))))


def report(iops=1000.0, bw_bytes=4096000, bw=4000, **options):
    flow = {"iops": iops, "bw_bytes": bw_bytes, "bw": bw, "total_ios": 30000}
    job = {"jobname": "a", "job options": {"rw": "randread"} | options, "read": flow}
    return json.dumps({"fio version": "fio-3.36", "jobs": [job]})


def test_pg_test_fsync_tells_one_number_twice():
    assert codes(PG) == {}
    assert codes(PG.replace("20712.881 ops/sec      48", "20712.881 ops/sec     148")) == {"iops-bandwidth": 1}
    assert codes(PG.replace("20712.881", "2712.881")) == {"iops-bandwidth": 1}


def test_iostat_tells_the_size_of_requests_of_each_direction():
    assert codes(IOSTAT) == {}
    assert codes(IOSTAT.replace("103936.00", "53936.00")) == {"iops-bandwidth": 1}
    assert codes(IOSTAT.replace("1642.00", "6642.00")) == {"iops-bandwidth": 1}


def test_fio_tells_the_bandwidth_twice_and_has_a_block_size_where_none_was_asked_for():
    assert codes(report()) == {}
    assert codes(report(bw=8000)) == {"iops-bandwidth": 1}
    assert codes(report(bw_bytes=9096000, bw=8882)) == {"iops-bandwidth": 1}
    assert codes(report(bw_bytes=9096000, bw=8882, bsrange="4k-16k")) == {}
    assert len(read_table(Source("x", report().encode())).figures) == 2


def test_block_sizes_that_differ_by_direction_are_none():
    assert codes(TEXT.format(block="4096B")) == {}
    assert codes(TEXT.format(block="65536B")) == {}
    assert codes(TEXT.format(block="65536B").replace("65.5MB/s", "62.5MB/s")) == {"unit-slip": 1}


def flow(iops, rates):
    text = TEXT.format(block="4096B").replace("65536B", "4096B")
    return text.replace("IOPS=1000", f"IOPS={iops}").replace("BW=62.5MiB/s (65.5MB/s)", f"BW={rates}")


def test_fio_cuts_its_operations_to_whole_ones():
    assert codes(flow("9", "40.0KiB/s (40.9kB/s)")) == {}
    assert codes(flow("9", "45.8KiB/s (46.9kB/s)")) == {"iops-bandwidth": 1}


def test_old_fio_loses_the_carry_of_its_last_digit():
    assert codes(flow("12.0k", "50.6MiB/s (53.1MB/s)")) == {}
    assert codes(flow("2558", "9.00MiB/s (10.5MB/s)")) == {}
    assert codes(flow("12.0k", "60.6MiB/s (63.5MB/s)")) == {"iops-bandwidth": 1}
    assert codes(flow("100k", "590MiB/s (619MB/s)")) == {"iops-bandwidth": 1}


def test_what_fio_does_not_print_of_its_options_is_no_other_than_the_name_of_the_job_says():
    mix = TEXT.format(block="65536B").replace("r: (g", "mix 64k 70/30 fsync=1 qd32: (g")
    assert codes(mix) == {}
    assert codes(mix.replace("iodepth=32", "iodepth=16")) == {"label-command": 1}


def test_a_label_that_is_not_its_command_is_told_once_with_its_line():
    def places(text, name="x.txt"):
        return [(f.code, f.where) for f in lint(read_table(Source(name, text.encode())))]

    assert places(IOZONE) == [("label-command", "write 64 KiB of 1048576 KiB (x.txt:1)")]
    assert places(TEXT.format(block="65536B").replace("r: (g", "r qd1: (g")) == [("label-command", "r qd1 (x.txt:1)")]
    job = report(bs="4k").replace('"a"', '"read 64k"')
    assert ("label-command", "read 64k (x.json: $.jobs[0])") in places(job, "x.json")


OLDEST = """random-write: (g=0): rw=randwrite, bs=8K-8K/8K-8K, ioengine=sync, iodepth=1
fio 1.57
random-write: (groupid=0, jobs=5): err= 0: pid=2447
  write: io=596856KB, bw=56946KB/s, iops=7118 , runt= 10481msec
     lat (usec): min=67 , max=944937 , avg=645.46, stdev=4647.69
"""


def test_the_oldest_fio_puts_spaces_before_its_commas():
    table = read_table(Source("x.txt", OLDEST.encode()))
    assert [(f.metric, f.value) for f in table.figures] == [("iops", 7118), ("bandwidth", 56946), ("latency", 645.46)]
    assert codes(OLDEST) == {}
    assert codes(OLDEST.replace("56946KB", "46946KB")) == {"iops-bandwidth": 1}
    in_bytes = OLDEST.replace("bw=56946KB/s, iops=7118", "bw=286105 B/s, iops=34")
    assert codes(in_bytes) == {}
    assert codes(in_bytes.replace("286105", "386105")) == {"iops-bandwidth": 1}


def test_what_a_page_took_the_spaces_away_from_is_read():
    fio = TEXT.format(block="65536B")
    for text, changed in ((fio, ("62.5MiB", "82.5MiB")), (PG, ("20712.881", "2712.881"))):
        flush = "\n".join(" ".join(line.split()) for line in text.splitlines())
        assert codes(flush) == {}
        assert codes(flush.replace(*changed)) == {"iops-bandwidth": 1}


@pytest.mark.parametrize("line", [
    "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 13.356 s, 80.4 MB/s",
    "1073741824 bytes (1,1 GB) copied, 13,356 s, 80,4 MB/s",
    "1073741824 Bytes (1,1 GB, 1,0 GiB) kopiert, 13,356 s, 80,4 MB/s",
    "1073741824 bytes (1,1 GB) copiados, 13,356 s, 80,4 MB/s",
    "1073741824 octets (1,1 GB, 1,0 GiB) copiés, 13,356 s, 80,4 MB/s",
    "1073741824\u202foctets (1,1\u00a0GB, 1,0\u00a0GiB) copiés, 13,356\u00a0s, 80,4\u00a0MB/s",
    "1073741824 байт (1,1 GB, 1,0 GiB) скопирован, 13,356 s, 80,4 MB/s",
    "скопировано 1073741824 байта (1,1 GB), 13,356 c, 80,4 MB/c",
    "1073741824 字节 (1.1 GB, 1.0 GiB) 已复制，13.356 s，80.4 MB/s",
    "1073741824字节(1.1 GB)已复制，13.356 秒，80.4 MB/秒",
])  # fmt: skip
def test_dd_speaks_every_language(line):
    table = read_table(Source("x.txt", line.encode()))
    assert [f.value for f in table.figures] == [1073741824, 13.356, 80.4]
    assert codes(line) == {}
    assert codes(line.replace("80", "130")) == {"iops-bandwidth": 1}


def test_iozone_may_be_run_with_several_record_sizes():
    several = IOZONE.replace("-r 4k", "-r 4k -r 64k")
    assert codes(several) == {}
    assert codes(IOZONE) == {"label-command": 1}


STATUS = """> // Ubuntu 16.04 / Linux 4.4.0:
> Run status group 0 (all jobs):
>    READ: bw=54.5MiB/s (57.1MB/s), 54.5MiB/s-54.5MiB/s (57.1MB/s-57.1MB/s), io=6537MiB (6854MB), run=120002-120002msec
>   WRITE: bw=54.5MiB/s (57.2MB/s), 54.5MiB/s-54.5MiB/s (57.2MB/s-57.2MB/s), io=6544MiB (6862MB), run=120002-120002msec
"""
OLD_STATUS = """RaidZ2 striped:
WRITE: io=6144.0MB, aggrb=129857KB/s, minb=5410KB/s, maxb=5410KB/s, mint=48448msec, maxt=48449msec
RAIDZ2:
WRITE: io=6144.0MB, aggrb=61500KB/s, minb=2562KB/s, maxb=2562KB/s, mint=102299msec, maxt=102300msec
"""


def test_the_end_of_a_report_of_fio_is_enough():
    assert codes(STATUS) == {}
    assert codes(STATUS.replace("io=6537MiB", "io=9537MiB")) == {"iops-bandwidth": 1}
    assert codes(STATUS.replace("54.5MiB/s (57.2", "45.5MiB/s (57.2")) == {"iops-bandwidth": 1}
    assert codes(OLD_STATUS) == {}
    assert codes(OLD_STATUS.replace("129857", "192857")) == {"iops-bandwidth": 1}
    assert list(read_table(Source("x.txt", OLD_STATUS.encode())).workloads) == ["run status", "run status #2"]


def test_iostat_counts_in_sectors_where_it_is_old_and_in_kib_where_it_is_short():
    for text in (OLD_IOSTAT, BLOCKS):
        found = read_table(Source("x.txt", text.encode())).figures
        rates = {f.direction: (f.value, f.unit, f.text) for f in found if f.metric == "bandwidth"}
        assert rates == {"read": (1600.0, "KiB/s", "1600.00"), "write": (400.0, "KiB/s", "400.00")}
    assert codes(OLD_IOSTAT) == {}
    assert codes(OLD_IOSTAT.replace("3200.00", "5200.00")) == {"iops-bandwidth": 1}
    assert codes(SHORT) == {}
    assert codes(SHORT.replace("2000.00", "4000.00")) == {"iops-bandwidth": 1}


def test_iozone_may_print_the_time_of_an_operation():
    text = IOZONE.replace("-i 0", "-N -i 0").replace("412033", "    12").replace("418820", "    11")
    found = read_table(Source("x.txt", f"Microseconds/op Mode. Output is in microseconds per operation.\n{text}".encode()))
    assert {(f.metric, f.unit, f.statistic, f.value) for f in found.figures} == {
        ("latency", "us", "mean", 12), ("latency", "us", "mean", 11),
    }  # fmt: skip
