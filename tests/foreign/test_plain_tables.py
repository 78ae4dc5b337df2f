"""Tables as people publish them: long and wide, CSV and Markdown, with units where people put them."""

import pytest

from raidtui.foreign.documents import READERS, read_table
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source
from raidtui.model.problem import ProblemError


def read(text, mapping=()):
    return read_table(Source("t.csv", text.encode(), mapping))


def cells(table):
    return {(f.layout, f.workload, f.metric): (f.value, f.unit) for f in table.figures}


def test_one_cell_a_row_with_a_percentage_of_a_named_baseline():
    table = read(
        "layout,test,bs,qd,IOPS,MB/s,% of raid0\n"
        "raid0,rand read,4k,32,250000,1024.0,100.00%\n"
        "raid5,rand read,4k,32,245000,1003.5,98.00%\n"
    )
    workload = "rand read bs=4k qd=32"
    assert cells(table) == {
        ("raid0", workload, "iops"): (250000, "IOPS"), ("raid0", workload, "bandwidth"): (1024, "MB/s"),
        ("raid0", workload, "share"): (100, "%"), ("raid5", workload, "iops"): (245000, "IOPS"),
        ("raid5", workload, "bandwidth"): (1003.5, "MB/s"), ("raid5", workload, "share"): (98, "%"),
    }  # fmt: skip
    asked = table.workloads[workload]
    assert (asked.pattern, asked.random, asked.block_bytes, asked.iodepth) == ("read", True, 4096, 32)
    assert {f.of for f in table.figures if f.metric == "share"} == {"raid0"}
    assert lint(table) == ()


def test_a_column_for_each_layout_units_behind_the_numbers_and_a_share_that_names_its_baseline():
    table = read(
        ",SCSI controller (pvscsi),NVMe controller,%pvscsi=100%\n"
        "Random recording 4k qd=1 fsync=1,54.61 MB/s,60.02 MB/s,109.90%\n"
        "# claim: the NVMe controller is within 5 % of the SCSI controller (pvscsi)\n"
    )
    assert cells(table) == {
        ("SCSI controller (pvscsi)", "Random recording 4k qd=1 fsync=1", "bandwidth"): (54.61, "MB/s"),
        ("NVMe controller", "Random recording 4k qd=1 fsync=1", "bandwidth"): (60.02, "MB/s"),
        ("NVMe controller", "Random recording 4k qd=1 fsync=1", "share"): (109.9, "%"),
    }
    assert [(f.code, f.published, f.computed) for f in lint(table)] == [("claim-broken", "within 5 %", 9.91)]


def test_semicolons_decimal_commas_the_unit_in_the_corner_and_models_in_brackets():
    table = read(
        '"(MB/s) NVMe#";NVMe1 (PM9A3);NVMe2 (PM9A3);NVMe3 (PM9A3);NVMe4 (PM9A3);NVMe0 (PM1725)\n'
        "Последовательная запись 4M qd=32;2 810,50;2 809,00;2 807,50;1 405,00;1 473,50\n"
    )
    assert cells(table)["NVMe1 (PM9A3)", "Последовательная запись 4M qd=32", "bandwidth"] == (2810.5, "MB/s")
    assert table.layouts["NVMe4 (PM9A3)"].like == "PM9A3"
    assert table.layouts["NVMe0 (PM1725)"].like == ""
    assert [(f.code, f.published) for f in lint(table)] == [("outlier", 1405.0)]


def test_blocks_that_blank_lines_part_and_percentages_whose_baseline_is_what_is_always_100():
    table = read(
        "MB/s;raid0;raid5\nseq write 4M qd=32;11980,8;1398,5\nseq read 4M qd=32;20275,2;20172,8\n"
        "\n"
        "%;raid0;raid5\nseq write 4M qd=32;100%;11,67%\nseq read 4M qd=32;100%;49,50%\n"
    )
    assert {f.of for f in table.figures if f.metric == "share"} == {"raid0"}
    found = [f for f in lint(table) if f.code == "percent-mismatch"]
    assert [(f.published, f.computed) for f in found] == [(49.5, 99.49)]


def test_markdown_with_the_layouts_name_in_the_corner():
    table = read(
        "| mdadm raid0 1VM | MB/s | IOPS |\n|---|---:|---:|\n"
        "| Random recording 4k qd=128 jobs=16 | 352.00 MB/s | **85736.44** |\n"
        "| 4k-50rdpct-80randompct | 486.78 MB/s | 124615.40 |\n"
    )
    assert list(table.layouts) == ["mdadm raid0 1VM"]
    assert [(f.code, f.published, f.computed) for f in lint(table)] == [("unit-slip", 486.78, 510.425)]


def test_a_column_of_one_metric_for_each_layout():
    table = read("workload,raid0 IOPS,raid0 MB/s,raid5 IOPS,raid5 MB/s\nrand read 4k,250000,1024,245000,803.5\n")
    assert list(table.layouts) == ["raid0", "raid5"]
    assert [f.code for f in lint(table)] == ["iops-bandwidth"]


def test_a_column_of_one_metric_for_each_workload():
    table = read(
        "layout\t4k randread IOPS\t4k randwrite IOPS\t1M read, MB/s\nraid0\t250k\t180k\t9,800\nraid5\t245k\t64k\t9,700\n"
    )
    assert cells(table)["raid5", "4k randwrite", "iops"] == (64000, "IOPS")
    assert cells(table)["raid0", "1M read", "bandwidth"] == (9800, "MB/s")
    assert table.workloads["4k randread"].block_bytes == 4096


def test_columns_of_several_metrics_for_one_workload():
    table = read("layout,rand read 4k (IOPS),rand read 4k (MB/s),% raid0\nraid0,250000,1024,100\nraid5,240000,783,88\n")
    assert {f.workload for f in table.figures} == {"rand read 4k"}
    assert [(f.code, f.published) for f in lint(table)] == [("percent-mismatch", 88.0), ("iops-bandwidth", 783.0)]


def test_a_block_of_layouts_workloads_and_percentages_alone():
    table = read(
        "layout,workload,IOPS\nraid0,rand read 4k,250000\nraid5,rand read 4k,245000\n"
        "\n"
        "layout,workload,% of raid0\nraid0,rand read 4k,100%\nraid5,rand read 4k,90%\n"
    )
    assert list(table.workloads) == ["rand read 4k"]
    assert [(f.code, f.published, f.computed) for f in lint(table)] == [("percent-mismatch", 90.0, 98.0)]


def test_rows_that_name_their_metric_and_unit():
    table = read("layout,workload,metric,value,unit\na,w 4k,iops,1000,IOPS\na,w 4k,bandwidth,4.1,MB/s\n")
    assert cells(table) == {("a", "w 4k", "iops"): (1000, "IOPS"), ("a", "w 4k", "bandwidth"): (4.1, "MB/s")}


def test_a_column_for_each_layout_and_one_for_the_unit_of_the_row():
    rows = "rand read 4k,iops,98.1k,51.2k\nrand read 4k,MB/s,401.8,209.7\n4k read latency,ms,0.1,0.2\n"
    found = cells(read(f"workload,unit,raid0,raid5\n{rows}"))
    assert found["raid5", "rand read 4k", "iops"] == (51200, "IOPS")
    assert found["raid0", "rand read 4k", "bandwidth"] == (401.8, "MB/s")
    assert found["raid0", "4k read latency", "latency"] == (0.1, "ms")


def test_spreads_footnotes_and_signs_for_nothing():
    table = read(
        "layout,workload,MB/s\na,write 1M,523.4 ± 2.1\nb,write 1M,518.0 [1]\n"
        "c,write 1M,–\nd,write 1M,n/a\ne,write 1M,499.1*\n"
    )
    assert [f.value for f in table.figures] == [523.4, 518.0, 499.1]


def test_a_command_beside_its_label():
    row = "disk,model,test,bw_mb_s,command\nsda,X,rand write 4k qd=128 jobs=16,500.1,{}\n"
    assert [
        f.computed for f in lint(read(row.format("fio --name=a --rw=randwrite --bs=4k --iodepth=128 --numjobs=4")))
    ] == ["4"]
    assert lint(read(row.format("fio --name=a --rw=randwrite --bs=4k --iodepth=128 --numjobs=16"))) == ()


def test_a_label_of_two_commands_is_told_as_it_stands_in_the_file():
    rows = "md5,fio --rw=randread --bs=4k,rand read 4k,1204\nmd6,fio --rw=randread --bs=8k,rand read 4k,1187\n"
    (found,) = lint(read(f"layout,command,workload,IOPS\n{rows}"))
    assert found.where == "rand read 4k (t.csv:3)"
    assert found.sentence.startswith("The label 'rand read 4k' says block size")


def test_a_column_of_commands_may_be_of_the_layouts():
    text = "layout,command,workload,IOPS\nmd-raid5,{},rand read 4k,1204\n"
    table = read(text.format("mdadm --create /dev/md0 --level=6 --raid-devices=6 /dev/sd[b-g]"))
    assert [(f.code, f.where, f.computed) for f in lint(table)] == [("label-command", "md-raid5 (t.csv:2)", "raid6")]
    assert table.workloads["rand read 4k"].command == ""
    assert lint(read(text.format("`sudo mdadm --create /dev/md0 --level=5 /dev/sd[b-g]`"))) == ()


def test_columns_with_headings_of_their_own():
    table = read("Array;fio test;IOPS;MB/s\nraid5;randread 4k;1000;4.1\nraid5;randwrite 4k;500;9.9\n")
    assert list(table.workloads) == ["randread 4k", "randwrite 4k"]
    assert [f.code for f in lint(table)] == ["iops-bandwidth"]
    table = read("Aufbau,workload,IOPS\nraid5,randread 4k,1000\nraid6,randread 4k,900\n")
    assert list(table.layouts) == ["raid5", "raid6"]


def test_numbers_of_several_rounds_keep_their_digits():
    table = read("layout,workload,round,IOPS,MB/s\nraid5,rand read 4k,1,120k,492\nraid5,rand read 4k,2,122k,612\n")
    assert [(f.round, f.text) for f in table.figures] == [(1, "120k"), (1, "492"), (2, "122k"), (2, "612")]
    assert [f.sentence for f in lint(table)] == ["122k IOPS of 4,096 bytes are 499.7 MB/s, not 612 MB/s."]


def test_a_percentage_of_writes_is_of_writes():
    table = read(
        "layout,workload,read MB/s,write MB/s,write % of single\nsingle,seq 1M,200,100,100%\nraid0,seq 1M,800,300,400%\n"
    )
    assert [(f.published, f.computed) for f in lint(table)] == [(400.0, pytest.approx(300, 1e-3))]
    both = "layout,workload,Read MB/s,Write MB/s,Read % of single,Write % of single\nsingle,1M,205,201,100%,100%\n"
    assert [f.computed for f in lint(read(f"{both}raid5,1M,608,310,297%,184%\n"))] == [154.23]
    table = read("layout,workload,MB/s,write % of single\nsingle,seq write 1M,100,100%\nraid0,seq write 1M,300,400%\n")
    assert [f.published for f in lint(table)] == [400.0]


def test_round_numbers_may_be_equal():
    table = read("layout,workload,IOPS,MB/s\na,write 4k,100000,409.6\nb,write 4k,100000,409.6\nc,write 4k,90000,368.6\n")
    assert lint(table) == ()
    table = read(
        "layout,workload,IOPS,MB/s\na,write 4k,98217.4,402.3\nb,write 4k,98217.4,402.3\nc,write 4k,90111.2,369.1\n"
    )
    assert [f.code for f in lint(table)] == ["repeated-value"]


def test_what_the_file_says_of_itself():
    table = read("# title: A title\n# source: somewhere\n# unit: MB/s\ntest,raid0\nwrite 1M,500\n")
    assert (table.title, table.source, table.kind) == ("A title", "somewhere", "published")
    assert table.figures[0].unit == "MB/s"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("layout,IOPS\na,12,5,6.7.8\nb,1.2.3\n", "t.csv:3"),
        ("test,raid0,raid5\nwrite 1M,500,400 MB/s\n", "t.csv:2"),
        ("layout,workload,bandwidth\na,write 1M,500\n", "t.csv:2"),
    ],
)
def test_a_number_without_a_unit_and_what_is_no_number_are_refused_by_line(text, place):
    with pytest.raises(ProblemError) as caught:
        read(text)
    assert caught.value.problems[0].place == place


@pytest.mark.parametrize("number", ["0e309", "1e400", "1e-400", "3e307M"])
def test_an_exponent_beyond_all_numbers_is_no_number(number):
    with pytest.raises(ProblemError, match=f"t.csv:2: '{number}' is no number"):
        read(f"layout,workload,IOPS\na,rand read 4k,{number}\n")
    assert read("layout,workload,IOPS\na,rand read 4k,1.5e+003\n").figures[0].value == 1500


@pytest.mark.parametrize(("line", "words", "way_out"), [
    ("# map layout: Nope", "no column is called 'Nope'", "layout, workload, IOPS"),
    ("# map foo: layout", "'foo' is nothing that a column can be", "layout, workload, iops"),
    ("# unit: parsecs", "'parsecs' is no unit", "IOPS, B/s"),
    ("# command nope: fio --bs=4k", "'nope' is neither a workload nor a layout", "4k read, raid5 64k"),
    ("# command raid5: mdadm --level=5", "'raid5' is neither a workload nor a layout", "4k read, raid5 64k"),
    ("# baseline: raid55", "'raid55' is no layout", "raid5 64k"),
])  # fmt: skip
def test_a_line_that_matches_nothing_is_refused_with_the_names_that_there_are(line, words, way_out):
    with pytest.raises(ProblemError, match=f"t.csv:3: {words}") as caught:
        read(f"layout,workload,IOPS\nraid5 64k,4k read,100\n{line}\n")
    assert way_out in caught.value.problems[0].remedy


def test_a_command_is_of_the_label_that_it_names_where_columns_say_more():
    line = "# command rand write: fio --rw=randwrite --bs=8k --iodepth=32\n"
    text = f"{line}layout,workload,bs,qd,IOPS\na,rand write,4k,32,1\n"
    assert [(f.code, f.computed) for f in lint(read(text))] == [("label-command", "8,192 bytes")]
    with pytest.raises(ProblemError, match="'rand write' is neither"):
        read(f"{text}a,rand write,4k,64,1\n")


def test_a_mapping_that_matches_nothing_is_refused_too():
    with pytest.raises(ProblemError, match=r"t\.csv: no column is called 'Nope'"):
        read("layout,workload,IOPS\nraid5,4k read,100\n", (("layout", "Nope"),))


def test_percentages_alone_may_be_of_a_layout_that_was_not_published():
    table = read("# baseline: single disk\nlayout,workload,%\nraid5,4k read,80%\n")
    assert [figure.of for figure in table.figures] == ["single disk"]


def test_a_claim_that_is_not_understood_is_said():
    text = "layout,workload,IOPS\nraid5,4k read,100\nraid6,4k read,50\n# claim: raid6 is {} raid5\n"
    assert read(text.format("as fast as")).notes[0].startswith("t.csv:4: The bound of this claim was not understood")
    assert read(text.format("within 60 % of")).notes == ()


def test_numbers_behind_a_blank_line_go_on_with_the_table_above():
    table = read("layout,workload,IOPS\nraid5,4k read,100\n\nraid6,4k read,50\n")
    assert cells(table) == {("raid5", "4k read", "iops"): (100, "IOPS"), ("raid6", "4k read", "iops"): (50, "IOPS")}


def test_a_quote_that_is_not_closed_is_refused_by_line():
    with pytest.raises(ProblemError, match=r"t\.csv:2: a quote is opened and not closed"):
        read('layout,workload,IOPS\n"a,rand read 4k,1\nb,rand read 4k,2\n')
    assert list(read('layout,workload,IOPS\n3.5" disk,"read ""4k""",2\n').layouts) == ['3.5" disk']


@pytest.mark.parametrize(("heading", "cell", "note"), [
    ("Änderung zu raid0", "-57 %", "t.csv:1: column 'Änderung zu raid0' is unknown and was ignored; map it with --map."),
    ("slower than raid0", "57%", "t.csv:1: column 'slower than raid0' is unknown and was ignored; map it with --map."),
    ("vs raid0", "0.43 fold", "t.csv:2: '0.43 fold' is no number; such cells of its column were not read."),
])  # fmt: skip
def test_numbers_that_were_not_read_are_said(heading, cell, note):
    assert read(f"layout,workload,IOPS,{heading}\nraid5,4k write,100,{cell}\n").notes == (note,)


@pytest.mark.parametrize("text", ["", "hello\n", "[job]\nrw=read\nbs=4k\n", '{"a": 1}', "a,b\nc,d\n", "a;1\n"])
def test_what_is_no_table_is_not_claimed(text):
    assert not READERS["table"].claims(Source("x", text.encode()))


def percentiles(*values):
    rows = zip(("raid5", "raid6") * 3, (1, 1, 8, 8, 32, 64), values, strict=True)
    return lint(read("layout,test,p99 us\n" + "".join(f"{name},4k randread qd={qd},{us}\n" for name, qd, us in rows)))


def test_percentiles_that_meet_in_one_of_fios_bins_were_copied_by_nobody():
    """Its histogram knows 64 values for each power of two: 1236992 ns is the middle of one of 16384 ns."""
    assert not percentiles("1056.768", "1155.072", "1318.912", "1482.752", "1236.992", "1236.992")
    (copied,) = percentiles("1056.771", "1155.119", "1318.905", "1482.888", "1236.873", "1236.873")
    assert copied.code == "repeated-value"


def test_the_csv_of_a_comparison_is_read_as_what_it_says():
    cells_of = {
        "layout": "raid5", "workload": "w", "round": "1", "state": "valid", "iops_per_s": "1000",
        "throughput_MB_per_s": "4.096", "read_mean_us": "7.5", "read_p999_us": "12.3", "cpu_cores": "0.9",
        "published_percent": "", "run": "20261122-233932-nop2n9eb", "scenario": "s", "command": "fio --bs=4096",
    }  # fmt: skip
    rest = [cells_of | {"layout": "raid6", "iops_per_s": "9", "state": "invalid"}]
    table = read("".join(",".join(line) + "\n" for line in (cells_of, *(one.values() for one in (cells_of, *rest)))))
    assert [(f.layout, f.workload, f.metric, f.value, f.unit, f.statistic, f.direction) for f in table.figures] == [
        ("raid5", "w", "iops", 1000, "IOPS", "", ""), ("raid5", "w", "bandwidth", 4.096, "MB/s", "", ""),
        ("raid5", "w", "latency", 7.5, "us", "mean", "read"), ("raid5", "w", "latency", 12.3, "us", "p99.9", "read"),
    ]  # fmt: skip
    assert table.notes == ("t.csv:1: 1 line is of no valid cell; not read.",)


@pytest.mark.parametrize("heading", ["randread 4k IOPS", "4k IOPS", "randread 4 k IOPS"])
def test_the_k_of_a_block_size_before_iops_makes_no_thousands(heading):
    table = read(f"layout,{heading},randwrite 8k kIOPS\nraid0,402118,12.5\nraid5,391884,11.9\n")
    assert [f.value for f in table.figures if f.layout == "raid0"] == [402118, 12500]


def test_a_summary_says_numbers_again_and_another_campaign_may_have_copied_one():
    first = "MB/s;raid0;raid5\nseq read 1M;12411.3;10288.7\nrand write 4k;1834.6;188.4\n"
    text = first + "\nMB/s;raid0\nseq read 1M;12411.3\nrand write 4k;{}\nseq write 1M;9000.1\n"
    table = read(text.format("1834.6"))
    assert (list(table.layouts), len(table.figures), lint(table)) == (["raid0", "raid5"], 5, ())
    assert list(read(text.format("1911.7")).layouts) == ["raid0", "raid5", "MB/s raid0"]


def test_rows_of_metrics_under_the_name_of_their_workload():
    head = "4k randread qd32,raid0,raid5\nIOPS,402118,391884\n"
    text = head + "BW (MB/s),1647.1,{}\navg lat (us),79.6,81.7\np99 lat (us),99.6,98.7\n"
    table = read(text.format(1605.2))
    assert list(table.workloads) == ["4k randread qd32"]
    assert {f.statistic for f in table.figures if f.metric == "latency"} == {"mean", "p99"}
    assert lint(table) == ()
    assert [f.code for f in lint(read(text.format(1505.2)))] == ["iops-bandwidth"]


@pytest.mark.parametrize("headings", ["Name,Command", "Name,fio", "label,how it was run"])
def test_names_beside_commands_that_measure_are_workloads(headings):
    row = "randread-4k-qd64,fio --name=x --rw=randread --bs=4k --iodepth=32,301000\n"
    table = read(f"{headings},IOPS\n{row}")
    assert list(table.workloads) == ["randread-4k-qd64"]
    assert [(f.code, f.published) for f in lint(table)] == [("label-command", "64")]
    assert list(read(f"{headings},IOPS\nsda,fio --rw=read,301\nsdb,fio --rw=read,302\n").layouts) == ["sda", "sdb"]
    rows = "raid0,fio --filename=/dev/md0 --rw=read,301\nraid5,fio --filename=/dev/md1 --rw=read,302\n"
    assert list(read(f"{headings},IOPS\n{rows}").layouts) == ["raid0", "raid5"]


@pytest.mark.parametrize("heading", ["Create command", "layout command", "how it was built"])
def test_a_column_of_commands_that_build_is_of_the_layouts(heading):
    text = f"layout,{heading},test,IOPS,command\n"
    text += "raid10,mdadm -C /dev/md0 --level=1 -n2 a b,rr 4k,301000,fio --rw=randread --bs=4k\n"
    table = read(text)
    assert table.layouts["raid10"].command.startswith("mdadm")
    assert table.workloads["rr 4k"].command.startswith("fio")
    assert [(f.code, f.published) for f in lint(table)] == [("label-command", "raid10")]


def test_columns_of_one_heading_are_noted():
    table = read("test,IOPS,MB/s,IOPS,MB/s\nrand read 4k,402118,1647.1,391884,1605.2\n")
    assert table.notes == tuple(
        f"t.csv:1: 2 columns are called {heading!r}; their objects are unknown." for heading in ("IOPS", "MB/s")
    )


@pytest.mark.parametrize("text", [
    "layout,write cache,test,IOPS\nraid5,on,4k read,1000\nraid5,off,4k read,100\n",
    "layout,write cache,4k read IOPS,4k write IOPS\nraid5,on,1000,900\nraid5,off,100,90\n",
])  # fmt: skip
def test_where_all_that_is_known_of_rows_is_equal_another_column_tells_them_apart(text):
    assert list(read(text).layouts) == ["raid5 on", "raid5 off"]
    assert list(read(text.replace("raid5,off", "raid6,off")).layouts) == ["raid5", "raid6"]
    assert list(read(text.replace(",on,", ",10:00,").replace(",off,", ",10:05,")).layouts) == ["raid5"]


def test_a_cell_without_end_is_no_number():
    table = read(f"layout,test,IOPS,notes on it\na,4k read,1,1{' ' * 19000}(1%\n")
    assert [f.value for f in table.figures] == [1]


@pytest.mark.parametrize("text", [
    "layout,test,IOPS\n" + "raid0,4k read,1\n" * 150_000, "MB/s,raid0\n4k read,1\n\n" * 75_000,
    "## MB/s\n\n| Test | raid0 |\n|---|---|\n" + "| 4k read | 1 |\n" * 150_000,
])  # fmt: skip
def test_more_rows_than_can_be_read_in_seconds_are_refused(text):
    with pytest.raises(ProblemError, match=r"it has 150\d{3} rows; at most 40000 are read"):
        read(text)


def test_rows_of_one_cell_are_its_rounds_and_that_is_said():
    table = read_table(Source("t.csv", b"layout,workload,IOPS\nraid5,4k,100\nraid5,4k,120\nraid1,4k,90\n"))
    assert [(f.layout, f.round, f.value) for f in table.figures] == [("raid5", 1, 100), ("raid5", 2, 120), ("raid1", 1, 90)]
    assert table.notes == (
        "t.csv:1: several rows have the same layout and workload; they were read as its rounds, in their order.",
    )
