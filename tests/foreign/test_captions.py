"""Units above a table, rows that are a metric of a workload, amounts with their times."""

import pytest

from raidtui.foreign.captions import captions_of, unit_said
from raidtui.foreign.documents import reader_of
from raidtui.foreign.imported import extract_of
from raidtui.foreign.sources import Source
from raidtui.model.problem import ProblemError

ROWS = "| Test | raid0 | raid5 |\n|---|---|---|\n| 4k randread qd32 | 1000 | 900 |\n"


def read(text, name="t.md"):
    source = Source(name, text.encode())
    return reader_of([source]).table([source])


def units(table):
    return [f.unit for f in table.figures]


@pytest.mark.parametrize(("above", "unit"), [
    ("## Throughput (MB/s)\n\n", "MB/s"), ("### Random read, IOPS\n\n", "IOPS"), ("**MiB/s, higher is better**\n", "MiB/s"),
    ("All numbers are in MiB/s.\n\n", "MiB/s"), ("Results in IOPS, with 4k blocks at a depth of 32:\n\n", "IOPS"),
    ("Скорость в МБ/с\n\n", "MB/s"), ("Durchsatz in GB/s:\n\n", "GB/s"), ("Mean latency (us)\n\n", "us"),
    ("# Numbers in kIOPS\n\n", "IOPS"),
])  # fmt: skip
def test_the_unit_stands_above_a_markdown_table(above, unit):
    for text in (above + ROWS, f"Words before it.\n\n{above}{ROWS}\nWords behind it, 300 MB/s of them.\n"):
        assert units(read(text)) == [unit, unit]


def test_thousands_above_a_table_are_thousands():
    assert [f.value for f in read(f"# Numbers in kIOPS\n\n{ROWS}").figures] == [1_000_000, 900_000]


def test_a_heading_counts_until_the_next_one_and_a_sentence_for_one_table():
    text = f"## Throughput (MB/s)\n\n{ROWS}\n{ROWS.replace('randread', 'randwrite')}\n## Operations (IOPS)\n\n"
    text += ROWS.replace("qd32", "qd1")
    assert units(read(text)) == ["MB/s"] * 4 + ["IOPS"] * 2
    text = f"These are IOPS.\n\n{ROWS}\n{ROWS.replace('randread', 'randwrite')}"
    with pytest.raises(ProblemError, match="nothing says which unit 1000 has"):
        read(text)


@pytest.mark.parametrize("above", [
    "The array reaches 3000 MB/s.", "IOPS and MB/s of two arrays", "Results over a 25 Gbit/s link", "Results", "qd 32 IOPS",
])  # fmt: skip
def test_what_is_no_unit_of_the_table_is_none(above):
    assert unit_said(above) == ""
    with pytest.raises(ProblemError, match="nothing says which unit 1000 has"):
        read(f"{above}\n\n{ROWS}")


def test_a_unit_in_a_cell_a_heading_or_a_line_with_unit_is_nearer():
    assert units(read(f"## MB/s\n\n{ROWS.replace('1000', '1000 IOPS')}")) == ["IOPS", "MB/s"]
    assert units(read(f"## MB/s\n\n{ROWS.replace('| raid0', '| raid0 (IOPS)').replace('| raid5', '| raid5 (IOPS)')}")) == [
        "IOPS", "IOPS"]  # fmt: skip
    assert units(read(f"# unit: IOPS\n\n## MB/s\n\n{ROWS}")) == ["IOPS", "IOPS"]


@pytest.mark.parametrize("text", [
    "test,raid5,raid10\n4k,100 MB/s,200 MB/s\n4k IOPS,25600,51200\n",
    "MB/s,raid5,raid10\n4k,100,200\n4k IOPS,25600,51200\n",
    "test,raid5 MB/s,raid10 MB/s\n4k IOPS,25600,51200\n4k,100,200\n",
    "test,raid5 MB/s,raid10 MB/s\n4k (IOPS),25600,51200\n4k,100,200\n",
])  # fmt: skip
def test_rows_of_operations_are_matched_to_the_rows_of_their_workload(text):
    table = read(text, "t.csv")
    assert {(f.layout, f.workload, f.metric): (f.value, f.unit) for f in table.figures} == {
        ("raid5", "4k", "bandwidth"): (100, "MB/s"), ("raid10", "4k", "bandwidth"): (200, "MB/s"),
        ("raid5", "4k", "iops"): (25600, "IOPS"), ("raid10", "4k", "iops"): (51200, "IOPS"),
    }  # fmt: skip


def test_a_test_that_is_called_iops_has_the_unit_of_its_column():
    assert units(read("test,raid5 MB/s,raid10 MB/s\niops-test,100,200\n", "t.csv")) == ["MB/s", "MB/s"]


@pytest.mark.parametrize(("headings", "row", "amount", "seconds"), [
    ("bytes,seconds", "1073741824,2.5", (1073741824, "B"), (2.5, "s")),
    ("MiB,time (s)", "1024,2.5", (1024, "MiB"), (2.5, "s")),
    ("data written (GB),elapsed (ms)", "1,2500", (1, "GB"), (2500, "ms")),
    ("Bytes transferred,Dauer (s)", "1000,2", (1000, "B"), (2, "s")),
])  # fmt: skip
def test_amounts_and_times_are_read_and_compared_as_their_rate(headings, row, amount, seconds):
    table = read(f"layout,test,{headings}\nraid0,1m read,{row}\n", "t.csv")
    found = {f.metric: (f.value, f.unit) for f in table.figures}
    assert found == {"amount": amount, "time": seconds}
    bytes_, s = ({"GB": 1e9, "MiB": 1 << 20, "B": 1, "s": 1, "ms": 1e-3}[unit] * value for value, unit in (amount, seconds))
    assert [point.bytes_per_s for point in extract_of(table).points] == [pytest.approx(bytes_ / s)]


def test_seconds_alone_are_times_and_no_rate():
    table = read("layout,test,seconds\nraid0,untar,2.5\nraid5,untar,3\n", "t.csv")
    assert [(f.layout, f.metric, f.value, f.unit) for f in table.figures] == [
        ("raid0", "time", 2.5, "s"), ("raid5", "time", 3, "s")]  # fmt: skip
    extract = extract_of(table)
    assert (extract.points, extract.notes) == ((), ("untar: no rates; they are not compared",))


def test_bytes_beside_rates_are_a_block_size_and_never_a_layout():
    table = read("layout,test,bytes,IOPS\nraid0,read,4096,100\nraid0,read,65536,90\n", "t.csv")
    assert {asked.block_bytes for asked in table.workloads.values()} == {4096, 65536}
    table = read("layout,test,bytes,IOPS\nraid0,read,40967,100\nraid5,read,40968,90\n", "t.csv")
    assert list(table.layouts) == ["raid0", "raid5"]


def test_a_table_has_the_caption_above_it_or_its_heading():
    text = f"# Disks\n\n## Throughput (MB/s)\n\n{ROWS}\n{ROWS.replace('randread', 'randwrite')}\n"
    text += f"**Table 3: all in MB/s**\n\n{ROWS.replace('randread', 'read')}\n# unit: MB/s\n"
    captions = [(one.text, one.figures) for one in captions_of(read(text))]
    assert captions == [("Throughput (MB/s)", 2), ("Throughput (MB/s), table 2", 2), ("Table 3: all in MB/s", 2)]
    assert captions_of(read(f"# title: Disks\n# source: https://example.org/\n# unit: IOPS\n\n{ROWS}")) == []


def test_a_publication_is_said_with_its_tables():
    text = f"# title: Disks\n# source: https://example.org/disks\n\n## Throughput (MB/s)\n\n{ROWS}"
    assert extract_of(read(text)).notes[:2] == (
        "published as 'Disks', https://example.org/disks", "1 table of it: 'Throughput (MB/s)'",
    )  # fmt: skip
