"""Tables as strangers write them, one error in each or none: what is found is the error, and nothing that is right."""

import pytest

from raidtui.foreign.documents import read_table
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source

RIGHT = {
    "long, with a latency and headings of its own": """
Config,Pattern,Block size,QD,Jobs,IOPS,Throughput (MiB/s),Avg latency (us)
mdadm RAID10,randread,4k,32,4,512340,2001.3,249.6
mdadm RAID10,randwrite,4k,32,4,211870,827.6,603.9
mdadm RAID5,randread,4k,32,4,498120,1945.8,256.8
""",
    "wide, the unit in the corner": """
IOPS,ext4,xfs,zfs
4k random read QD1,11820,11930,9870
8k random read QD32,182300,185900,97100
""",
    "decimal commas, GB/s and percentages": """
Layout;Test;GB/s;% of stripe
stripe;seq read 1M QD32;12,41;100 %
mirror;seq read 1M QD32;11,87;95,6 %
raidz2;seq read 1M QD32;8,02;64,6 %
""",
    "a column for each workload, in thousands": """
| Setup | 4K randread (kIOPS) | 4K randwrite (kIOPS) | 1M read (GB/s) |
|-------|--------------------:|---------------------:|---------------:|
| single NVMe | 780 | 410 | 6.9 |
| RAID0 x4 | 2950 | 1570 | 26.1 |
""",
    "quotes, brackets and thousands": """
"Layout","Job","BW [MiB/s]","IOPS [k]","lat p99 [µs]"
"RAID10","randread-4k-q32","1,953.1","500.0","310"
"RAID5","randread-4k-q32","1,914.1","490.0","330"
""",
    "one value a row, with its unit": """
Storage layout,Workload,Result,Unit
ceph 3x,randwrite 4k qd=128,21543,IOPS
ceph 3x,seqwrite 4M qd=16,1120,MB/s
""",
    "bits": """
target,workload,IOPS,Gbit/s
iscsi,randread 32k qd=64,61035,16.0
nvmeof,randread 32k qd=64,91553,24.0
""",
    "equal by chance, with few digits": """
layout,workload,IOPS
a,fsync write 4k qd=1,410
b,fsync write 4k qd=1,410
c,fsync write 4k qd=1,812
""",
    "all at the limit of one link": """
layout,workload,qd,MiB/s
iser,seq read 1M,8,2795.3
iser,seq read 1M,32,2795.3
nvmeof,seq read 1M,8,2795.1
nvmeof,seq read 1M,32,2794.9
srp,seq read 1M,8,2795.4
srp,seq read 1M,32,2795.0
""",
    "rounds": """
layout,workload,round,IOPS,bandwidth MB/s
raid5,randwrite 4k qd=32,1,61240,250.8
raid5,randwrite 4k qd=32,2,60980,249.8
""",
    "changes, not shares": """
Filesystem,seq write 1M (MB/s),change vs ext4
ext4,1840,0%
xfs,1932,+5%
btrfs,1656,-10%
""",
    "words above it, units behind the numbers": """
Run by: Bob
Date: 2024-01-03

layout,bs,rw,IOPS,BW
raid6,4k,randread,"512,000",2000MiB/s
raid6,4k,randwrite,"61,200",239MiB/s
""",
    "the depth spread over jobs": """
| Layout | Test | fio command | Bandwidth |
| :-- | :-- | :-- | --: |
| btrfs | 4k random read, QD64 | `fio --name=r --rw=randread --bs=4k --iodepth=32 --numjobs=2` | 1 204 MB/s |
""",
}

WRONG = {
    "MiB/s in a column of MB/s": ("unit-slip", 2820.0, 2957, """
layout,workload,IOPS,MB/s
raid0,randread 64k qd=16,48210,3159.5
raid5,randread 64k qd=16,45120,2820.0
raid6,randread 64k qd=16,44002,2883.7
"""),
    "GiB/s in a column of GB/s": ("unit-slip", 10.0, 10.74, """
layout,workload,GB/s,IOPS
zfs,seq read 1M qd=8,10.737,10240
xfs,seq read 1M qd=8,10.0,10240
"""),
    "MB/s in a column of MiB/s, beside a round number of thousands": ("unit-slip", 246, 234.4, """
layout,workload,IOPS,MiB/s
raid10,randrw 70/30 8k,30.0k,246
raid5,randrw 70/30 8k,16.4k,128
"""),
    "a round number of thousands": ("iops-bandwidth", 590, 409.6, """
layout,workload,IOPS,MB/s
raid0,rand read 4k,100k,590
raid5,rand read 4k,98k,401
"""),
    "a share of round numbers": ("percent-mismatch", 59, 50, """
layout,workload,GB/s,% of raid0
raid0,seq read,10.0,100%
raid5,seq read,5.0,59%
"""),
    "a round GB/s beside the MB/s that 1024 made of it": ("unit-slip", 12288, 12000, """
layout,workload,GB/s,MB/s
a,seq read 1M,12.7,12700
b,seq read 1M,12.0,12288
"""),
    "a repeated cell, units in the labels": ("repeated-value", 398765.4, None, """
,raid0,raid5,raid6
rand read 4k qd=32 (IOPS),412345.6,398765.4,391234.5
rand write 4k qd=32 (IOPS),301234.7,45678.9,398765.4
seq write 1M qd=8 (MB/s),5123.4,2871.6,2750.3
"""),
    "a repeated cell of few, with two digits behind the point": ("repeated-value", 11714.37, None, """
MB/s,raid0,raid5,raid6
seq read 1M qd=32,11714.37,10233.81,9871.24
seq write 1M qd=32,11714.37,1398.53,1101.79
rand read 4k qd=128 jobs=4,9987.46,9544.13,9502.61
"""),
    "digits exchanged in a percentage": ("percent-mismatch", 58.7, 53.72, """
Array,Test,MB/s,vs raid0 %
raid0,seq write 1M qd=8,5120.4,100
raid5,seq write 1M qd=8,2870.2,56.1
raid6,seq write 1M qd=8,2750.8,58.7
"""),
    "a percentage of something else": ("percent-mismatch", 49.5, 99.49, """
| Test | RAID 0 | RAID 5 | RAID 5, % of RAID 0 |
|---|---|---|---|
| Seq write 1M QD32 | 11 980 MB/s | 1 398 MB/s | 11.7 % |
| Seq read 1M QD32 | 20 275 MB/s | 20 172 MB/s | 49.5 % |
"""),
    "another block size than was said": ("iops-bandwidth", 127.8, 511.2, """
layout\trw\tbs\tiodepth\tiops\tbw_mb_s
zfs\trandwrite\t16k\t8\t20480\t335.5
btrfs\trandwrite\t16k\t8\t31200\t127.8
"""),
    "a digit lost": ("iops-bandwidth", 980 * 40.1 / 980, 4.014, """
layout,workload,IOPS,MB/s,latency (ms)
a,randread 4k qd=1,9800,40.1,0.102
b,randread 4k qd=1,9750,39.9,0.1025
c,randread 4k qd=1,980,40.1,1.02
"""),
    "one direction of a mix": ("iops-bandwidth", 615, 61.49, """
layout,workload,read IOPS,write IOPS,read MB/s,write MB/s
raid1,4k 70% read qd=16,70123,30044,287.2,123.1
raid5,4k 70% read qd=16,35020,15011,143.4,615
"""),
    "a label that is not its command": ("label-command", "4k random write qd=32", None, """
layout,test,command,IOPS
lvm,4k random read qd=32,fio --name=a --rw=randread --bs=4k --iodepth=32 --numjobs=1,198230
lvm,4k random write qd=32,fio --name=b --rw=randwrite --bs=8k --iodepth=32 --numjobs=1,88120
"""),
    "the same in Markdown's marks for code": ("label-command", "4k random read, QD64", None, """
| Layout | Test | fio command | Bandwidth |
| :-- | :-- | :-- | --: |
| btrfs | 1M sequential write, QD8 | `fio --name=w --rw=write --bs=1M --iodepth=8 --numjobs=1` | 812 MB/s |
| btrfs | 4k random read, QD64 | `fio --name=r --rw=randread --bs=4k --iodepth=16 --numjobs=1` | 1 204 MB/s |
"""),
    "a slow disk among its like": ("outlier", 1604, None, """
Drive;Seq Read MB/s;Rnd 4k Read IOPS
Intel P4510 #1;3201;637000
Intel P4510 #2;3198;636500
Intel P4510 #3;3203;637900
Intel P4510 #4;1604;635200
"""),
}  # fmt: skip


def read(text):
    return read_table(Source("stranger.txt", text.lstrip("\n").encode(), ()))


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_not_complained_about(name):
    table = read(RIGHT[name])
    assert len(table.figures) > 1 or "jobs" in name
    assert lint(table) == ()


@pytest.mark.parametrize("name", WRONG)
def test_the_one_error_is_found_and_nothing_else(name):
    code, published, computed, text = WRONG[name]
    (found,) = lint(read(text))
    assert found.code == code
    if code == "label-command":
        assert published in found.sentence
    else:
        assert found.published == pytest.approx(published)
    assert computed is None or found.computed == pytest.approx(computed, rel=0.001)


def test_a_slip_is_told_in_the_unit_that_was_published():
    (found,) = lint(read(WRONG["GiB/s in a column of GB/s"][3]))
    assert "it is GiB/s (2³⁰ bytes), not GB/s (10⁹ bytes)" in found.sentence


@pytest.mark.parametrize(("unit", "value", "words"), [
    ("kB/s", 100052, "it is KiB/s (1024 bytes), not kB/s (1000 bytes)"),
    ("KiB/s", 102453, "it is kB/s (1000 bytes), not KiB/s (1024 bytes)"),
    ("GB/s", 0.1000521, "it is off by a factor of 1.024, which lies between two units"),
])  # fmt: skip
def test_a_slip_is_told_in_words_of_the_published_unit_alone(unit, value, words):
    (found,) = lint(read(f"layout,workload,IOPS,{unit}\na,rand read 4k,25013,{value}\n"))
    assert found.code == "unit-slip"
    assert found.sentence.endswith(f": {words}.")


def test_columns_of_unlike_workloads_are_not_one_cell():
    table = read(WRONG["a slow disk among its like"][3])
    assert set(table.workloads) == {"Seq Read", "Rnd 4k Read"}


def codes(text):
    return [finding.code for finding in lint(read(text))]


def test_points_group_where_a_file_has_its_fractions_behind_commas():
    text = """
Aufbau;Workload;IOPS;MB/s;% von raid0
raid0;Random read 4k QD32;412.345;1.688,97;100,0
raid5;Random read 4k QD32;398.771;1.633,37;96,7
"""
    assert codes(text) == []
    assert {f.value for f in read(text).figures if f.metric == "iops"} == {412345, 398771}
    assert codes(text.replace("1.633,37", "1.933,37")) == ["iops-bandwidth", "percent-mismatch"][:1]
    thousandths = read("Aufbau;Workload;GB/s;ms Latenz\nraid0;seq read 1M;12,411;0,5\n").figures
    assert thousandths[0].value == 12.411


def test_points_group_where_every_bandwidth_says_so():
    text = "Aufbau;Workload;IOPS;MB/s\nraid0;rand write 4k;180.400;739\nraid5;rand write 4k;45.100;185\n"
    assert codes(text) == []
    assert [(f.value, f.text) for f in read(text).figures if f.metric == "iops"] == [(180400, "180400"), (45100, "45100")]
    assert codes(text.replace("739", "0.739")) == ["unit-slip"]


def test_changes_are_held_against_their_numbers():
    text = "Filesystem,seq write 1M (MB/s),change vs ext4\next4,1840,0%\nxfs,1932,+5%\nbtrfs,1656,-10%\n"
    assert codes(text) == []
    assert codes(text.replace("+5%", "+15%")) == ["percent-mismatch"]
    assert codes("FS,seq write 1M (MB/s),overhead vs ext4\next4,1840,0%\nbtrfs,1656,10%\n") == []


def test_rows_of_one_workload_in_two_metrics_are_one_cell():
    text = "test,ext4,xfs\n4k random read QD32 (IOPS),198231,201877\n4k random read QD32 (MB/s),812,827\n"
    assert codes(text) == []
    assert codes(text.replace("827", "527")) == ["iops-bandwidth"]


def test_percentages_whose_heading_names_both_layouts():
    text = ("Test,RAID0 MB/s,RAID5 MB/s,RAID6 MB/s,RAID5 % of RAID0,RAID6 (% of RAID0)\n"
            "Seq write 1M,11873,2614,1987,22.0%,16.7%\nSeq read 1M,25612,24412,24103,95.3%,94.1%\n")  # fmt: skip
    assert codes(text) == []
    assert codes(text.replace("94.1%", "84.1%")) == ["percent-mismatch"]


@pytest.mark.parametrize(("claim", "breaks", "keeps"), [
    ("xfs never falls below 90 % of ext4", 880, 1400),
    ("xfs is at least 30 % of ext4", 250, 500),
    ("xfs is at least 50 % of ext4", 480, 1600),
    ("xfs never falls below 40 % of ext4", 380, 1600),
    ("xfs is at most 5 % slower than ext4", 940, 1400),
    ("xfs is not slower than ext4", 990, 1400),
    ("xfs is no more than 5 % faster than ext4", 1100, 600),
    ("xfs is within 5 % of ext4", 1100, 1040),
])  # fmt: skip
def test_claims_in_words(claim, breaks, keeps):
    text = "layout,workload,IOPS\next4,4k randread,1000.0\nxfs,4k randread,{}.0\n# claim: {}\n"
    assert codes(text.format(breaks, claim)) == ["claim-broken"]
    assert codes(text.format(keeps, claim)) == []


def test_what_was_measured_is_no_claim_of_a_tolerance():
    text = "layout,workload,IOPS\next4,4k randread,1000\nxfs,4k randread,1204\n# claim: xfs is 20 % faster than ext4\n"
    assert codes(text) == []
    assert codes(text.replace("1204", "3204").replace("20 % faster than", "at least 150 % of")) == []


def test_a_table_in_utf_16_is_read():
    table = read_table(Source("t.csv", "layout;workload;IOPS\na;4k randread;100000\n".encode("utf-16")))
    assert table.figures[0].value == 100000


def test_headings_of_other_languages_and_disks_under_their_kind():
    german = "Aufbau;Test;Ergebnis;Einheit\nA;randread 4k QD32;412.345,7;IOPS\nA;randread 4k QD32;1.989,0;MB/s\n"
    assert codes(german) == ["iops-bandwidth"]
    disks = "NVMe,1M read (MB/s)\nP5520 #1,7011\nP5520 #2,7009\nP5520 #3,3504\nP5520 #4,7015\n"
    assert codes(disks) == ["outlier"]


def test_gib_that_were_made_of_mib_by_a_thousand():
    (found,) = lint(read("layout,workload,IOPS,GiB/s\na,16k randread QD64,812345,12.69\n"))
    assert (found.code, found.computed) == ("unit-slip", pytest.approx(12.395, rel=1e-3))
    assert "dividing by 1000" in found.sentence


def test_shares_may_be_fractions_of_one():
    text = "layout,workload,MB/s,share of raid0\nraid0,1M seq write,11873,1.00\nraid5,1M seq write,2614,0.22\n"
    assert codes(text) == []
    assert codes(text.replace("0.22", "0.42")) == ["percent-mismatch"]


def test_a_share_that_was_reached_is_no_tolerance():
    text = "layout,workload,IOPS\next4,4k randread,121400\nzfs,4k randread,24200\n# claim: zfs {} of ext4\n"
    for claim in ("reaches only 20 %", "has 20 %"):
        table = read_table(Source("t.csv", text.format(claim).encode()))
        assert (lint(table), len(table.notes)) == ((), 1)
    assert codes(text.format("differs by up to 20 %")) == ["claim-broken"]


def test_a_claim_is_of_the_longest_name_that_stands_in_it():
    text = (
        "layout,workload,IOPS\nraid5,4k randwrite,80000\nraid5-ppl,4k randwrite,{}\nraid5-log,4k randwrite,56000\n"
        "# claim: raid5-ppl is within 10 % of raid5-log\n"
    )
    assert codes(text.format(55000)) == []
    assert codes(text.format(45000)) == ["claim-broken"]


def test_a_number_that_its_neighbours_explain_is_no_slip():
    assert codes("layout,test,bs,MB/s\na,randread,4k,1228.8\nb,randread,4k,921.3\nc,randread,4k,811.4\n") == []
    heading = "layout,test,read MB/s,write MB/s,total MB/s\n"
    rows = "a,randrw 4k,860.2,368.6,1228.8\nb,randrw 4k,1076.1,460.7,1536.0\nc,randrw 4k,700.3,300.2,{}\n"
    assert codes(heading + rows.format("1000.5")) == []
    assert codes("layout,test,MB/s\na,4k,1211.4\nb,4k,1843.2\nc,4k,2048.0\n") == ["unit-slip", "unit-slip"]
