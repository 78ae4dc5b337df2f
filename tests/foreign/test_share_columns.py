"""Percentages in tables with a column for each layout or workload: of which numbers they are."""

import pytest

from raidtui.foreign.documents import read_table
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source

BESIDE = "layout,randread 4k IOPS,{},randwrite 4k IOPS,{}\nraid0,800000,100,600000,100\nraid5,740000,92.5,80000,{}\n"


def found(text):
    return [(f.code, f.published) for f in lint(read_table(Source("t.csv", text.encode())))]


def notes(text):
    return read_table(Source("t.csv", text.encode())).notes


@pytest.mark.parametrize("heading", ["{} % of raid0", "{} %", "vs raid0", "%", "% of raid0"])
def test_a_share_in_the_row_of_a_layout_is_of_the_workload_named_in_it_or_before_it(heading):
    headings = heading.format("randread 4k"), heading.format("randwrite 4k")
    assert found(BESIDE.format(*headings, 13.3)) == []
    assert found(BESIDE.format(*headings, 19.3)) == [("percent-mismatch", 19.3)]


def test_a_single_share_behind_several_workloads_may_be_of_their_sum():
    text = "layout,randread 4k IOPS,randwrite 4k IOPS,% of raid0\nraid0,800000,600000,100\nraid5,740000,80000,58.6\n"
    assert found(text) == []
    assert notes(text) == ("t.csv:1: the workload of column '% of raid0' is unknown; it was not compared.",)


def test_a_share_behind_each_layout_is_its_own():
    text = "test,raid0,raid5,%,raid6,%\n4k randread (IOPS),800000,740000,92.5%,700000,{}%\n"
    assert found(text.format(87.5)) == []
    assert found(text.format(77.5)) == [("percent-mismatch", 77.5)]
    grouped = "test,raid0,raid5,raid6,%,%\n4k randread (IOPS),800000,740000,700000,92.5%,87.5%\n"
    assert (found(grouped), len(notes(grouped))) == ([], 1)


def test_a_share_names_layouts_by_a_part_of_their_names():
    text = "test,md raid5 (MB/s),zfs raidz1 (MB/s),{} vs md\nseq read 1M,5120,3110,-39%\nrand write 4k,102,81,{}%\n"
    assert found(text.format("zfs", -21)) == []
    assert found(text.format("zfs", "+21")) == [("percent-mismatch", 121.0)]
    assert notes(text.format("lvm", -21)) == (
        "t.csv:1: 'lvm' of 'lvm vs md' has no numbers here; it was not compared.",
    )


def test_changes_beside_shares_behind_each_layout():
    text = "test;a;%;b;%;diff\nread (MB/s);500;100;950;{};+90%\nwrite (MB/s);400;100;780;195;+{}%\n"
    assert found(text.format(190, 95)) == []
    assert found(text.format(180, 95)) == [("percent-mismatch", 180)]
    assert found(text.format(190, 85)) == [("percent-mismatch", 185)]
