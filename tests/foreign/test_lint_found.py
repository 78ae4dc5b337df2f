"""Tables as they were found in forums, mailing lists and READMEs: what is read of them, and what contradicts itself."""

import pytest

from raidtui.foreign.documents import read_table
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source
from raidtui.model.problem import ProblemError

IN_BOLD = """
| phase | ioutgt IOPS | ioutgt BW | nvmet IOPS | nvmet BW | ioutgt vs nvmet |
|-------|------------|-----------|------------|----------|-----------------|
| 4k randread | 254.2k | 993 MiB/s | 228.7k | 894 MiB/s | **+11.1%** |
| 4k randwrite | 259.6k | 1014 MiB/s | 261.0k | 1020 MiB/s | −0.5% |
| 64k randread | 128.7k | 8044 MiB/s | 63.3k | 3957 MiB/s | **+103.3%** |
"""
BACKWARD = """
| phase | ioutgt | kernel nvmet | delta |
|-------|--------|--------------|-------|
| 4k randread | 165.2k IOPS | 160.9k IOPS | +2.7% |
| 4k randwrite | 176.8k IOPS | 179.1k IOPS | −1.3% |
| 64k randread | 5948 MiB/s | 4297 MiB/s | **+38%** |
"""
TWICE = """test,850-pro-raw,850-pro-ext4,Change
Random read IOPS,"96,735","98,135",1.45%
Random write IOPS,"89,565","88,990",-0.64%
Random read bandwidth KiB/s,"549,521","549,610",0.02%
Random write bandwidth KiB/s,"519,141","511,755",-1.42%
"""
FULL = """
| Test | Pattern | Block Size | Jobs | Depth | nvme (84%) | data0 (91%) |
|---|---|---|---|---|---|---|
| Seq. Write | write | 1 MiB | 1 | 1 | 317 MiB/s | 127 MiB/s |
| Rand Read IOPS | randread | 4 KiB | 4 | 32 | 21,500 | 419 |
"""
LATENCIES = """
| numjobs | mode | IOPS | BW | avg | p50 | p95 | p99.9 | Total I/O |
|---|---|---|---|---|---|---|---|---|
| 1 | 4k randwrite | 163k | 635 MiB/s | 6 µs | 4 µs | 13 µs | 25 µs | 9,522 MiB |
"""
CODE = """
| Backend | 4K randread | 64K randread |
|---|---:|---:|
| `vcl` | `3827.95 MiB/s` | `4473.95 MiB/s` |
| `posix` | `1219.32 MiB/s` | `2645.06 MiB/s` |
"""
CHUNK = """
| fio iodepth=256, numjobs=4 | IOPS | BW |
|---|:-----:|:---------:|
| Sequential 4k read, 4 disk RAID0, 64k chunk | 666k | 2602MiB/s |
| Sequential 512k read, chunk=64k | 47.1k | 23GiB/s |
"""
BASELINE = """
| Workload | Baseline | patched | Δ |
|---|---|---|---|
| 128K read | 10140 MiB/s | 7215 MiB/s | −29% |
| 4K read | 378.3K IOPS | 353.3K IOPS | −6.6% |
"""


def read(text):
    return read_table(Source("found.txt", text.lstrip("\n").encode()))


def codes(text):
    return [finding.code for finding in lint(read(text))]


@pytest.mark.parametrize(("text", "wrong", "code"), [
    (IN_BOLD, ("**+11.1%**", "**+21.1%**"), "percent-mismatch"),
    (IN_BOLD, ("8044", "7044"), "iops-bandwidth"),
    (BACKWARD, ("−1.3%", "+9.3%"), "percent-mismatch"),
    (TWICE, ("-1.42%", "-14.2%"), "percent-mismatch"),
    (FULL, ("", ""), ""),
    (LATENCIES, ("635", "535"), "iops-bandwidth"),
    (CODE, ("1219.32", "3827.95"), "repeated-value"),
    (CHUNK, ("2602MiB", "2602MB"), "unit-slip"),
    (CHUNK, ("23GiB", "32GiB"), "iops-bandwidth"),
    (BASELINE, ("−29%", "−19%"), "percent-mismatch"),
])  # fmt: skip
def test_what_was_found_is_right_and_a_planted_error_is_told(text, wrong, code):
    assert codes(text) == []
    assert codes(text.replace(*wrong)) == [code] * bool(code)


def test_a_percentage_in_the_name_of_a_pool_is_none_of_its_numbers():
    table = read(FULL)
    assert [(f.layout, f.value, f.unit) for f in table.figures] == [
        ("nvme (84%)", 317, "MiB/s"), ("data0 (91%)", 127, "MiB/s"),
        ("nvme (84%)", 21500, "IOPS"), ("data0 (91%)", 419, "IOPS"),
    ]  # fmt: skip
    assert list(table.workloads) == [
        "Seq. Write write bs=1 MiB qd=1 jobs=1", "Rand Read IOPS randread bs=4 KiB qd=32 jobs=4",
    ]  # fmt: skip


def test_latencies_have_their_unit_behind_them_and_what_was_moved_names_no_layout():
    table = read(LATENCIES)
    assert {f.statistic: (f.value, f.unit) for f in table.figures if f.metric == "latency"} == {
        "mean": (6, "us"), "p50": (4, "us"), "p99.9": (25, "us"),
    }  # fmt: skip
    assert list(table.layouts) == ["found"]
    notes = read("layout,4k read IOPS,p99 latency\na,4500,2.0\nb,4400,3.0\n").notes
    assert notes == ("found.txt:1: nothing says which unit 'p99 latency' has; not read.",)


def test_marks_of_markdown_are_no_part_of_a_name():
    assert list(read(CODE).layouts) == ["vcl", "posix"]


def test_a_column_called_baseline_is_a_layout_where_it_has_numbers():
    assert list(read(BASELINE).layouts) == ["Baseline", "patched"]


def test_bs_in_a_heading_is_no_rate():
    table = read("# unit: IOPS\ntest,randwrite bs=4K,randread bs=4K\nraid5,93652,154101\nraid6,38055,142292\n")
    assert {f.unit for f in table.figures} == {"IOPS"}


def test_cells_beyond_the_headings_are_not_taken_for_others():
    one = read("layout,workload,IOPS,MB/s\na,4k read,250000,1024\nb,4k read,245,000,1003\nc,4k read,100000,409.6\n")
    assert [f.layout for f in one.figures] == ["a", "a", "c", "c"]
    assert one.notes == ("found.txt:3: the row has 5 cells, the first one of its table 4; it was not read.",)
    with pytest.raises(ProblemError) as caught:
        read("bs=4K|randwrite|randread\n(iops)|a|b|a|b\nnumjobs=1|93652|38055|154101|142292\n")
    assert "the row has 5 cells, the first one of its table 3" in caught.value.problems[0].message


def test_percentages_of_a_second_table_are_of_its_own_numbers():
    heading = "layout,workload,IOPS,% of raid0\n"
    first = f"{heading}raid0,randread 4k,250000,100%\nraid5,randread 4k,245000,98%\n"
    second = f"{heading}raid0,randread 4k,150000,100%\nraid5,randread 4k,45000,30%\n"
    third = f"{heading}raid0,randread 4k,50000,100%\nraid5,randread 4k,25000,50%\n"
    assert codes(f"{first}\n{second}\n{third}") == []
    (found,) = lint(read(f"{first}\n{second}\n{third}".replace("50%", "98%")))
    assert (found.where, found.computed) == ("layout raid5 #2, randread 4k (found.txt:11)", 50)


def test_a_percentage_is_of_the_numbers_in_its_own_line():
    (found,) = lint(read(TWICE.replace("-1.42%", "-0.64%").replace("0.02%", "22.0%")))
    assert (found.where, found.computed) == ("850-pro-ext4, Random read, round 2 (found.txt:4)", 100.02)


def test_first_column_of_sources_names_what_was_measured():
    table = read("| Source | IOPS | BW |\n|---|---|---|\n| **ours** | 1.9k | 7.9 MB/s |\n| theirs | 13.1k | 51 MB/s |\n")
    assert [(f.workload, f.value) for f in table.figures if f.metric == "iops"] == [("ours", 1900), ("theirs", 13100)]


def test_mebibytes_called_megabytes_are_told_as_such_also_of_few_digits():
    text = "pool,test,object size,Bandwidth (MB/sec),Average IOPS\nrbd,write t=48,8388608,381.954,47\n"
    (found,) = lint(read(text))
    assert found.sentence.endswith("it is MiB/s (2²⁰ bytes), not MB/s (10⁶ bytes).")


FIBERS = """numjobs,iodepth,mode,IOPS,BW
1,1,randwrite,163k,635 MiB/s
1,16,randwrite,522k,2041 MiB/s
16,1,randwrite,837k,3270 MiB/s
16,16,randwrite,755k,2951 MiB/s
1,1,randread,195k,761 MiB/s
"""


def test_a_block_size_that_nobody_wrote_down_is_that_of_all_others_of_the_kind():
    assert codes(FIBERS) == []
    (found,) = lint(read(FIBERS.replace("755k", "75.5k")))
    assert found.sentence.startswith("75.5k IOPS of 4,096 bytes, like all others of their kind, are 294.9 MiB/s, not 2951")
    assert codes(FIBERS.replace("2951 MiB", "2951 MB")) == ["unit-slip"]
    # Two that disagree may be of another kind, and the size of another power of two may be meant.
    assert codes(FIBERS.replace("755k", "75.5k").replace("837k", "83.9k")) == []
    assert codes(FIBERS.replace("755k", "47.2k")) == []
    assert codes(FIBERS.replace("761", "671")) == []


GERMAN = """Aufbau;Test;IOPS;MB/s;Latenz (ms);% von raid10
raid10;4k zufälliges Lesen QD32;182.345;746,9;0,175;100
raid5;4k zufälliges Lesen QD32;180.112;737,7;0,178;98,8
"""


def test_percentages_and_latencies_in_german():
    assert codes(GERMAN) == []
    assert codes(GERMAN.replace("98,8", "89,8")) == ["percent-mismatch"]
    assert [f.value for f in read(GERMAN).figures if f.metric == "latency"] == [0.175, 0.178]


def test_percentages_of_what_was_not_published_are_said():
    notes = read(GERMAN.replace("von raid10", "von raid0")).notes
    assert notes == ("'raid0' is no layout of found.txt: percentages of it were not compared.",)


def test_two_tools_beside_each_other_are_not_one_number_in_two_units():
    text = "pool;test;aggrb KB/s;dd MB/s\nRAIDZ2;write;61500;754\nRAIDZ;write;65737;739\n"
    assert codes(text) == []
    assert codes(text.replace("aggrb", "BW").replace("dd", "BW")) == ["iops-bandwidth"] * 2


def test_what_is_counted_otherwise_than_its_heading_says_is_what_its_unit_says():
    table = read("layout,workload,Throughput\na,4k read,165.2k IOPS\na,64k read,5948 MiB/s\n")
    assert [(f.metric, f.value) for f in table.figures] == [("iops", 165200), ("bandwidth", 5948)]
    notes = read("layout,workload,MB/s,% of a\na,4k read,500,100%\nb,4k read,400,20 MB/s\n").notes
    assert notes == ("found.txt:3: '20 MB/s' is not what its heading says; such cells of its column were not read.",)
    with pytest.raises(ProblemError) as caught:
        read("# unit: IOPS\nlayout,workload,Throughput\na,4k read,165200\n")
    assert "nothing says which unit" in caught.value.problems[0].message
