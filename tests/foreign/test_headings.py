"""Which headings are read as what, and which are named in a note and left out."""

import pytest

from raidtui.foreign.documents import read_table
from raidtui.foreign.headings import read_heading
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source


def read(text):
    return read_table(Source("t.csv", text.encode()))


@pytest.mark.parametrize(
    "heading",
    ["usable capacity %", "cache hit %", "read %", "% of reads", "iowait %", "fill %", "scaling efficiency (%)", "random %",
     "% full", "parity (%)", "Scrub %"],
)  # fmt: skip
def test_percentages_of_something_else_are_no_shares_and_are_named(heading):
    table = read(f"layout,{heading},workload,IOPS\na,100,4k read,402000\nb,50,4k read,399000\n")
    assert {f.metric for f in table.figures} == {"iops"}
    assert table.notes == (f"t.csv:1: {heading!r} is nothing that is compared here; it was not read.",)


@pytest.mark.parametrize(
    "heading",
    ["%", "% of a", "vs a", "relative", "Performance (%)", "% of baseline", "% of baseline (a)", "Performance vs a (%)",
     "a %", "IOPS, % of a", "read % of a", "rel. %", "share", "relative performance"],
)  # fmt: skip
def test_percentages_of_the_throughput_are_shares(heading):
    table = read(f'layout,workload,IOPS,"{heading}"\na,4k read,402000,100\nb,4k read,201000,75\n')
    assert table.notes == ()
    assert [(f.code, f.published) for f in lint(table)] == [("percent-mismatch", 75)]


@pytest.mark.parametrize(
    ("heading", "statistic"),
    [("p99 (us)", "p99"), ("lat p999 us", "p99.9"), ("p99.9, us", "p99.9"), ("99,9th percentile latency us", "p99.9"),
     ("p50 us", "p50"), ("latency (us)", "mean"), ("max latency us", "max"), ("Resp time (us)", "mean")],
)  # fmt: skip
def test_latencies_by_what_they_tell(heading, statistic):
    found = read_heading(heading)
    assert (found.metric, found.statistic, found.unit) == ("latency", statistic, "us")


@pytest.mark.parametrize("heading", ["p99.99 (us)", "p9999 us", "99.95th lat us", "p95", "lat p99.5 us"])
def test_percentiles_that_have_no_place_are_not_those_next_to_them(heading):
    text = f'layout,workload,IOPS,"{heading}"\na,4k read,402000,1200\n'
    table = read(text)
    assert [f.metric for f in table.figures] == ["iops"]
    assert table.notes == (f"t.csv:1: {heading!r} is nothing that is compared here; it was not read.",)


@pytest.mark.parametrize("heading", ["fsync/s", "Time (s)", "Wait", "duration s", "ctx switches"])
def test_numbers_that_nobody_knows_name_nothing(heading):
    table = read(f"layout,{heading},IOPS\na,11200,402000\nb,9800,399000\n")
    assert (list(table.layouts), list(table.workloads)) == (["a", "b"], ["workload"])
    assert table.notes == (f"t.csv:1: column {heading!r} is unknown and was ignored; map it with --map.",)
    assert list(read(f"workload,{heading},IOPS\n4k read,60,402000\n").layouts) == ["t"]


@pytest.mark.parametrize("heading", ["clients", "disks in it", "cache size", "VMs", "queues"])
def test_numbers_under_the_name_of_a_setting_tell_rows_apart(heading):
    assert list(read(f"workload,{heading},IOPS\n4k read,2,402000\n4k read,4,812000\n").layouts) == ["2", "4"]


def test_a_record_size_beside_a_block_size_is_of_the_layout():
    text = "pool,recordsize,test,{}IOPS,MB/s\nmirror,128k,randread,{}41200,{}\nmirror,16k,randread,{}66100,{}\n"
    table = read(text.format("bs,", "4k,", "168.8", "4k,", "270.7"))
    assert list(table.layouts) == ["mirror 128k", "mirror 16k"]
    assert lint(table) == ()
    assert [f.code for f in lint(read(text.format("", "", "5400.2", "", "270.7")))] == ["iops-bandwidth"]


def test_a_column_type_is_of_workloads_or_of_disks():
    table = read("layout,type,bs,IOPS\nraid0,randread,4k,402000\nraid5,randwrite,4k,31200\n")
    assert (list(table.layouts), len(table.workloads)) == (["raid0", "raid5"], 2)
    table = read("name,type,test,IOPS\nraid0,md,rr 4k,402000\nraidz,zfs,rr 4k,31200\n")
    assert {subject.like for subject in table.layouts.values()} == {""}
    table = read("disk,type,test,IOPS\nsda,SSD,rr 4k,402000\nsdb,HDD,rr 4k,31200\n")
    assert [subject.like for subject in table.layouts.values()] == ["SSD", "HDD"]


@pytest.mark.parametrize(("heading", "right", "wrong"), [
    ("x of a", "0.50x", "0.57x"), ("ratio to a", "0.50", "0.57"), ("speedup vs a", "0.5x", "0.6x"),
    ("vs a", "0.50×", "0.57×"), ("overhead vs a (%)", "50", "40"), ("loss %", "50", "40"), ("penalty vs a", "50%", "40%"),
])  # fmt: skip
def test_how_many_times_and_how_much_less(heading, right, wrong):
    whole = "0" if "50" in right.split(".")[0] else right.replace("0.5", "1.0")
    text = "layout,workload,IOPS,{}\na,4k read,402000,{}\nb,4k read,201000,{}\n" + f"c,4k read,201000,{right}\n"
    assert read(text.format(heading, whole, right)).notes == ()
    assert lint(read(text.format(heading, whole, right))) == ()
    assert [f.code for f in lint(read(text.format(heading, whole, wrong)))] == ["percent-mismatch"]


def test_times_of_few_digits_are_as_rough_as_they_look():
    text = "layout,workload,IOPS,speedup\na,4k read,181000,1.0x\nb,4k read,1292000,{}x\n"
    assert lint(read(text.format("7.1"))) == ()
    (found,) = lint(read(text.format("7.3")))
    assert "713.81 % of a (181000 IOPS), not 730 %" in found.sentence


@pytest.mark.parametrize("text", [
    "layout,workload,p99 (us),{}\na,4k read,100,0\nb,4k read,130,30\n",
    "layout,workload,IOPS,{}\nraid0,4k read,402000,0\nraid1,4k read,399000,50\nraid5,4k read,201000,25\n",
    "layout,workload,IOPS,{}\na,4k read,300000,0\nb,4k read,210000,42.9\n",
])  # fmt: skip
@pytest.mark.parametrize("heading", ["overhead vs a (%)", "overhead %", "loss"])
def test_an_overhead_that_the_numbers_do_not_confirm_may_be_anything(heading, text):
    table = read(text.format(heading))
    assert (table.notes, lint(table)) == ((f"t.csv:1: nothing says whether {heading!r} is more or less.",), ())


@pytest.mark.parametrize("heading", ["IO/s", "I/O per second", "I/Os per second", "ops/s", "operations per second"])
def test_operations_per_second_in_other_words(heading):
    found = read_heading(heading)
    assert (found.metric, found.unit) == ("iops", "IOPS")
    table = read(f"layout,4k read {heading},4k write {heading}\na,402000,1000\n")
    assert list(table.workloads) == ["4k read", "4k write"]


def test_transactions_are_no_operations():
    table = read("layout,test,TPS,MB/s\na,pgbench 8k,12111,211.4\n")
    assert {f.metric for f in table.figures} == {"bandwidth"}
    assert table.notes == ("t.csv:1: 'TPS' is nothing that is compared here; it was not read.",)


def test_a_queue_depth_of_100_is_no_percentage():
    table = read("layout,4k randread qd=100 IOPS,4k randwrite qd=100 IOPS\na,402000,1000\n")
    assert [(f.workload, f.metric) for f in table.figures] == [
        ("4k randread qd=100", "iops"), ("4k randwrite qd=100", "iops"),
    ]  # fmt: skip
    assert list(read("# unit: IOPS\ndisk,4k randread qd=100\na,402000\n").workloads) == ["4k randread qd=100"]


def test_a_mapped_column_keeps_its_role():
    text = "Name,fio,IOPS\nraid0,fio --rw=randread --bs=4k,301\nraid5,fio --rw=randwrite --bs=4k,302\n"
    assert list(read(text).layouts) == ["t"]
    table = read_table(Source("t.csv", text.encode(), (("layout", "Name"),)))
    assert list(table.layouts) == ["raid0", "raid5"]


def test_a_disk_is_no_percentile():
    text = "test,P4510 IOPS,P5510 IOPS,P4510 latency (us)\n4k read qd1,402000,502000,80\n"
    assert list(read(text).layouts) == ["P4510", "P5510"]
    assert {(f.layout, f.statistic) for f in read(text).figures if f.metric == "latency"} == {("P4510", "mean")}
    assert list(read("test;P4510;P5510\n4k read (IOPS);402000;502000\n").layouts) == ["P4510", "P5510"]


@pytest.mark.parametrize(
    "heading", ["IOPS std", "IOPS stddev", "Bandwidth std dev", "IOPS ±", "Read_95tile_Latency(ms)"]
)
def test_a_deviation_or_another_percentile_is_no_layout_and_is_named(heading):
    table = read(f"config,IOPS,{heading}\na,402000,100\nb,399000,50\n")
    assert [(f.layout, f.metric, f.value) for f in table.figures] == [("a", "iops", 402000), ("b", "iops", 399000)]
    (note,) = table.notes
    assert repr(" ".join(heading.replace("_", " ").split())) in note


def test_a_size_in_brackets_behind_throughput_is_a_rate():
    table = read("config,test,IOPS,Throughput(MB),Read_Avg_Latency(ms)\na,4k randread,1000,4.1,1.5\n")
    assert [(f.layout, f.metric, f.value, f.unit) for f in table.figures] == [
        ("a", "iops", 1000, "IOPS"), ("a", "bandwidth", 4.1, "MB/s"), ("a", "latency", 1.5, "ms"),
    ]  # fmt: skip


def test_rows_of_another_metric_belong_to_the_workload_that_they_name():
    table = read("test,raid5,raid10\n4k,100 MB/s,200 MB/s\n4k IOPS,25600,51200\n")
    assert {f.workload for f in table.figures} == {"4k"}
    assert [f.value for f in table.figures if f.metric == "iops"] == [25600, 51200]


BESIDE = """
IOPS std|IOPS stdev|std_iops|iops_stddev|iops_stddev_pct|IOPS sigma|IOPS RSD|IOPS CoV|IOPS MAD|IOPS IQR|IOPS variance|IOPS ±
IOPS 95% CI|IOPS CI low|IOPS SE|IOPS jitter|IOPS Standardabweichung|IOPS Streuung|IOPS отклонение|IOPS СКО|IOPS разброс
Écart type IOPS|IOPS desv|IOPS desvio|IOPS 标准差|IOPS 標準偏差
bw_dev|bw_agg|Read_95tile_Latency(ms)|95%ile (ms)|p95|P95 ms|99%
95th percentile|99.99%ile lat|Latency (90%)|Perzentil 95|95. Perzentil (ms)|Перцентиль 95|95-й перцентиль, мс|centile 95
IOPS p5|IOPS p95|bw p10 MB/s|lower quartile IOPS|iops_samples|bw_samples|IOPS count|ops count|Total IOs
Number of IOs|IO count|Samples|N|n|Count|Anzahl|Anzahl Messungen|Количество|Кол-во замеров|Nombre
样本数|IOPS unit|Bandwidth unit|BW units
IOPS/W|IOPS per watt|MB/s/W|IOPS per disk|IOPS rank|IOPS limit|rated IOPS|expected IOPS|theoretical MB/s
lat<1ms
lat >= 10 ms|iops_min|IOPS Minimum|IOPS Максимум|peak IOPS|IOPS first|IOPS [first]|IOPS lower bound|IOPS 最大
""".strip().replace("\n", "|").split("|")


@pytest.mark.parametrize("heading", BESIDE)
def test_statistics_counts_and_units_are_no_layouts_or_workloads_in_any_language(heading):
    table = read(f'config,test,IOPS,"{heading}",MB/s\na,4k read,402000,100,1646\nb,4k read,399000,50,1634\n')
    assert (list(table.layouts), list(table.workloads)) == (["a", "b"], ["4k read"])
    assert {(f.metric, f.value) for f in table.figures} == {
        ("iops", 402000), ("bandwidth", 1646), ("iops", 399000), ("bandwidth", 1634),
    }  # fmt: skip
    table = read(f'test,IOPS,"{heading}",MB/s\n4k read,402000,100,1646\n4k write,399000,50,1634\n')
    assert (list(table.layouts), list(table.workloads)) == (["t"], ["4k read", "4k write"])
    (note,) = table.notes
    assert repr(" ".join(heading.replace("_", " ").split())) in note


@pytest.mark.parametrize("statistic", [
    "std", "stdev", "min", "max", "p95", "n", "Standardabweichung", "Anzahl", "СКО", "отклонение", "мин",
    "écart-type", "标准差",
])  # fmt: skip
def test_a_statistic_beside_each_layout_is_no_layout(statistic):
    text = f"MB/s;raid0;raid0 {statistic};raid5;raid5 {statistic}\n1m read;1000;20;800;30\n"
    table = read(text)
    assert {f.layout: f.value for f in table.figures} == {"raid0": 1000, "raid5": 800}
    assert {f.layout: f.value for f in read(f"MB/s;raid0;raid5;{statistic}\n1m read;1000;800;30\n").figures} == {
        "raid0": 1000, "raid5": 800,
    }  # fmt: skip


@pytest.mark.parametrize("mean", ["avg", "Mean", "Average", "Mittelwert", "Durchschnitt", "среднее", "moyenne", "平均"])
def test_a_mean_of_columns_is_no_layout_and_the_mean_of_each_has_the_name_of_its_layout(mean):
    assert {f.layout: f.value for f in read(f"MB/s;raid0;raid5;{mean}\n1m read;1000;800;900\n").figures} == {
        "raid0": 1000, "raid5": 800,
    }  # fmt: skip
    table = read(f"MB/s;raid0 {mean};raid0 min;raid0 max;raid5 {mean}\n1m read;1000;900;1100;800\n")
    assert {f.layout: f.value for f in table.figures} == {"raid0": 1000, "raid5": 800}
    table = read(f"config;test;{mean} IOPS;max IOPS\na;4k read;402000;500000\n")
    assert [(f.layout, f.value) for f in table.figures] == [("a", 402000)]


@pytest.mark.parametrize("heading", ["Peak IOPS", "Disk IOPS", "Block IOPS", "network IOPS", "max. IOPS"])
def test_a_word_that_ends_in_k_makes_no_thousands(heading):
    assert read(f"test,{heading}\n4k read,402\n").figures[0].value == 402


def test_a_device_and_a_depth_are_no_statistics():
    assert list(read("test,/dev/md0 IOPS,/dev/md1 IOPS\n4k read,1,2\n").layouts) == ["dev md0", "dev md1"]
    assert {f.layout or f.workload for f in read("MB/s,Q1,Q8\n4k read,1,2\n").figures} == {"Q1", "Q8"}
    assert list(read("test,low load IOPS,high load IOPS\n4k read,1,2\n").layouts) == ["low load", "high load"]


def test_percentiles_without_the_word_latency():
    table = read("config,test,99th (us),99.9%ile (ms),Latenz 99. Perzentil (ms)\na,4k read,100,5,3\n")
    found = [(f.statistic, f.value, f.unit) for f in table.figures]
    assert found == [("p99", 100, "us"), ("p99.9", 5, "ms"), ("p99", 3, "ms")]


def test_the_column_label_of_elbencho_is_the_layout():
    table = read("label,operation,IOPS last,MiB/s last\nhdd,READ,100,40\nssd,READ,200,80\n")
    assert {(f.layout, f.workload, f.metric): f.value for f in table.figures} == {
        ("hdd", "READ", "iops"): 100, ("hdd", "READ", "bandwidth"): 40,
        ("ssd", "READ", "iops"): 200, ("ssd", "READ", "bandwidth"): 80,
    }  # fmt: skip
