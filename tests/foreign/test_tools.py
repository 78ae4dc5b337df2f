"""Outputs of benchmark tools are recognised by content and read with their units; truncated ones are refused.

Samples are in tests/data/imports/tools, with made-up numbers in the tools' own formats. Where the formats are from:

- CrystalDiskMark: saved results of 8.0, and `CDiskMarkDlg::ResultText` of its source.
- KDiskMark: the report in its README, reports of 3.2, and `MainWindow::getTextBenchmarkResult` of its source. It prints
  542.516 MB/s for 529.8 operations of 1 MiB: fio's KiB/s divided by 1000.
- sysbench: outputs of 1.0.17, 1.0.20 and 0.4.12, and the tests of fileio in its source.
- elbencho: `docs/csv-docs.md` of its source, and a file of 3.1.
- iperf3: its JSON of 3.12; the keys of --bidir from programs that read them.
- zpool iostat: outputs of OpenZFS 2 with -v and -l; zpool-iostat(8) for -H and -p.
- vdbench: consoles and `totals.html` of 5.04.06 and 5.04.07.
- iostat -h: outputs of sysstat 12, with a point and with a comma.
- HCIBench: the script of its source that writes the results of vdbench.

With the numbers that were measured, cut to what tests need:

- sysbench-1.1: two outputs of 1.1.0-df89d34 in a page "sysbench system" of 2024-05-20.
- vdbench-flatfile: `output/flatfile.html` of github.com/tiger7z/vdbench_for_mac_m1; -files: of github.com/hero0906/jiaoben.
- hcibench-fio-res: two of the results of fio in a page "Curve", an example of curve testing with HCIBench.
"""

from pathlib import Path

import pytest

from raidtui.foreign.documents import READERS, read_numbers, reader_of, readers_of
from raidtui.foreign.imported import extract_of
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source
from raidtui.model.problem import ProblemError

FOLDER = Path(__file__).parents[1] / "data" / "imports" / "tools"
KINDS = {
    "crystaldiskmark-8.txt": "crystaldiskmark", "kdiskmark-3.txt": "crystaldiskmark", "sysbench-1.0.txt": "sysbench",
    "sysbench-0.4.txt": "sysbench", "elbencho-3.csv": "elbencho", "iperf3.json": "iperf3", "vdbench.txt": "vdbench",
    "zpool-iostat.txt": "zpool-iostat", "zpool-iostat-vl.txt": "zpool-iostat", "zpool-iostat-Hp.txt": "zpool-iostat",
    "zpool-iostat-Hpl.txt": "zpool-iostat", "iostat-h.txt": "iostat", "iostat-hx.txt": "iostat",
    "hcibench-vdbench-res.txt": "hcibench", "hcibench-fio-res.txt": "hcibench", "sysbench-1.1.txt": "sysbench",
    "vdbench-flatfile.html": "vdbench", "vdbench-flatfile-files.html": "vdbench",
}  # fmt: skip


def text_of(name):
    return (FOLDER / name).read_text()


def read(name, text=None):
    source = Source(name, (text_of(name) if text is None else text).encode())
    return reader_of([source]).table([source])


def figures(table):
    return {(f.layout, f.workload, f.metric, f.direction, f.statistic, f.round): (f.value, f.unit) for f in table.figures}


def of(table, layout, workload, round_=1):
    return {key[2:5]: found for key, found in figures(table).items() if (*key[:2], key[5]) == (layout, workload, round_)}


PHORONIX = """2026-11-02 raid10 against raid6

 ,,"raid10","raid6"
Processor,,AMD EPYC 7302P,AMD EPYC 7302P
Disk,,4 x 3841GB,4 x 3841GB

 ,,"raid10","raid6"
"pts/fio-1.15.0 - randread libaio 0 1 4k",HIB,1534,1210
"pts/fio-1.15.0 - randread libaio 0 1 4k",HIB,392667,309667
"pts/compress-7zip-1.9.0 - ",HIB,,88112

"""
"""Made-up numbers in the format of `result_file_to_csv` of its source."""


def test_a_csv_without_units_is_refused_in_words_and_no_layout_is_made_of_it():
    with pytest.raises(ProblemError, match="has no units") as caught:
        read("phoronix.csv", PHORONIX)
    assert caught.value.problems[0].place == "phoronix.csv"
    assert [reader.name for reader in readers_of(Source("p.csv", PHORONIX.encode()))] == ["openbenchmarking"]


def test_the_list_of_known_kinds_has_exactly_those_that_are_read():
    with pytest.raises(ProblemError) as unknown:
        read_numbers(Source("poem.txt", b"shall I compare thee"))
    remedy = unknown.value.problems[0].remedy
    listed = remedy.removeprefix("Known: results and tables of raidtui, and ").partition(".")[0].split(", ")
    assert set(listed) == (set(READERS) - {"fio-job", "raidtui", "openbenchmarking"})
    with pytest.raises(ProblemError) as unknown:
        reader_of([Source("poem.txt", b"shall I compare thee")])
    assert "openbenchmarking" not in unknown.value.problems[0].remedy


def test_there_is_a_sample_of_each():
    assert {path.name for path in FOLDER.iterdir()} == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_each_is_known_by_its_content_and_by_one_reader(name):
    for data in (text_of(name).encode(), text_of(name).replace("\n", "\r\n").encode()):
        assert [reader.name for reader in readers_of(Source("x.txt", data))] == [KINDS[name]]
    assert lint(read(name)) == ()


def test_crystaldiskmark():
    table = read("crystaldiskmark-8.txt")
    layout = "crystaldiskmark-8"
    assert of(table, layout, "seq read 1M q8 t1") == {
        ("bandwidth", "", ""): (7400.001, "MB/s"), ("iops", "", ""): (7057.2, "IOPS"),
        ("latency", "", "mean"): (1130.12, "us"),
    }  # fmt: skip
    assert of(table, layout, "rand write 4K q32 t16")["iops", "", ""] == (493359.4, "IOPS")
    mix = table.workloads["rand mix 4K q1 t1"]
    assert (mix.pattern, mix.read_percent, mix.block_bytes, mix.iodepth, mix.numjobs) == ("mixed", 70, 4096, 1, 1)
    assert len(table.workloads) == 12
    quoted = "\n".join(f"> {line}" for line in text_of("crystaldiskmark-8.txt").splitlines())
    assert figures(read("crystaldiskmark-8.txt", quoted)) == figures(table)


def test_kdiskmarks_megabytes_are_1024000_bytes():
    table = read("kdiskmark-3.txt")
    assert of(table, "kdiskmark-3", "seq read 1M q8 t1")["bandwidth", "", ""] == (542515, "KiB/s")
    assert table.notes == ("kdiskmark-3.txt: KDiskMark's MB/s are 1000 KiB/s, and were read as such.",)


def test_sysbench():
    table = read("sysbench-1.0.txt")
    workload = "sysbench rndrw 16K 4 threads fsync 100"
    assert of(table, "sysbench-1", workload) == {
        ("iops", "read", ""): (3475.2, "IOPS"), ("iops", "write", ""): (2316.8, "IOPS"),
        ("bandwidth", "read", ""): (54.3, "MiB/s"), ("bandwidth", "write", ""): (36.2, "MiB/s"),
    }  # fmt: skip
    asked = table.workloads[workload]
    assert (asked.pattern, asked.random, asked.block_bytes, asked.numjobs, asked.read_percent, asked.fsync) == (
        "mixed", True, 16384, 4, 60, 100)  # fmt: skip
    assert "over operations and fsyncs together" in table.notes[0]
    assert of(read("sysbench-0.4.txt"), "sysbench-0", "sysbench seqrd 16K 1 threads") == {
        ("iops", "", ""): (10692.66, "IOPS"), ("bandwidth", "", ""): (167.07, "MiB/s"),
        ("latency", "", "mean"): (0.09, "ms"),
    }  # fmt: skip


def test_elbencho_has_labels_as_layouts_and_repeated_rows_as_rounds():
    table = read("elbencho-3.csv")
    assert list(table.layouts) == ["hdd", "ssd"]
    assert of(table, "hdd", "WRITE 1048576 B qd=4 threads=8") == {
        ("iops", "", ""): (2941, "IOPS"), ("bandwidth", "", ""): (2941, "MiB/s"),
        ("latency", "", "mean"): (9383, "us"), ("latency", "", "max"): (120903, "us"),
    }  # fmt: skip
    reads = [of(table, "ssd", "READ 1048576 B qd=4 threads=8", n)["iops", "", ""][0] for n in (1, 2)]
    assert reads == [19048, 19148]
    assert table.notes == ("elbencho-3.csv: rows of MKDIRS have no rates of data; not read.",)


def test_a_mix_of_elbencho_has_two_directions():
    head, _, row, *_ = text_of("elbencho-3.csv").splitlines()
    head += ",rwmix read IOPS [last],rwmix read MiB/s [last],rwmix read IO lat us [avg]"
    table = read("elbencho-3.csv", f"{head}\n{row},700,700,80\n")
    found = of(table, "hdd", "WRITE 1048576 B qd=4 threads=8")
    assert (found["iops", "write", ""], found["iops", "read", ""]) == ((2941, "IOPS"), (700, "IOPS"))
    assert found["latency", "read", "mean"] == (80, "us")


def test_iperf3_is_a_link_and_no_layout_of_disks():
    table = read("iperf3.json")
    assert figures(table) == {
        ("network link 10.0.0.1 to 10.0.0.2", "iperf3 TCP, 4 streams, received", "bandwidth", "", "", 1): (2937.5e6, "B/s"),
    }
    extract = extract_of(table)
    assert any("a ceiling of what is measured through it, no disk layout" in note for note in extract.notes)
    assert [asked.pattern for asked in table.workloads.values()] == [None]


def test_zpool_iostat():
    table = read("zpool-iostat.txt")
    assert of(table, "tank", "zpool iostat") == {
        ("iops", "read", ""): (1536, "IOPS"), ("iops", "write", ""): (0, "IOPS"),
        ("bandwidth", "read", ""): (188, "MiB/s"), ("bandwidth", "write", ""): (0, "B/s"),
    }  # fmt: skip
    assert of(table, "tank", "zpool iostat", 2)["bandwidth", "write", ""] == (512, "KiB/s")
    assert "since the import" in table.notes[0]
    table = read("zpool-iostat-vl.txt")
    assert list(table.layouts) == ["tank", "tank raidz1-0", "tank raidz1-0 sda1", "tank raidz1-0 sdb1"]
    assert of(table, "tank", "zpool iostat")["latency", "write", "mean"] == (7, "ms")
    exact = of(read("zpool-iostat-Hpl.txt"), "tank", "zpool iostat")
    assert (exact["bandwidth", "read", ""], exact["latency", "read", "mean"]) == ((197132288, "B/s"), (585000, "ns"))
    assert of(read("zpool-iostat-Hp.txt"), "tank", "zpool iostat")["iops", "read", ""] == (1536, "IOPS")


def test_vdbench_has_the_averages_of_its_runs():
    table = read("vdbench.txt")
    assert of(table, "vdbench", "rd1 threads=2") == {
        ("iops", "", ""): (317936.2, "IOPS"), ("bandwidth", "", ""): (2483.88, "MiB/s"),
        ("latency", "", "mean"): (0.056, "ms"),
    }  # fmt: skip
    mixed = of(table, "vdbench", "rd2")
    assert (mixed["latency", "read", "mean"], mixed["latency", "write", "mean"]) == ((0.252, "ms"), (0.072, "ms"))
    assert (table.workloads["rd2"].pattern, table.workloads["rd2"].block_bytes) == ("mixed", 8192)
    html = text_of("vdbench.txt").replace("Starting RD=rd1", '<a name="1"></a><b>Starting RD=rd1</b>')
    assert figures(read("vdbench.txt", f"<title>Vdbench summary</title><pre>\n{html}")) == figures(table)


def test_iostat_for_humans():
    table = read("iostat-h.txt")
    assert of(table, "vda", "iostat")["bandwidth", "write", ""] == (15.2, "MiB/s")
    assert of(table, "nvme0n1", "iostat")["bandwidth", "write", ""] == (1005.2, "KiB/s")
    one = of(read("iostat-hx.txt"), "vda", "iostat")
    assert (one["iops", "write", ""], one["latency", "write", "mean"], one["request-size", "write", ""]) == (
        (1.95, "IOPS"), (77.66, "ms"), (1, "MiB"))  # fmt: skip
    assert one["utilisation", "", ""] == (1.2, "%")
    comma = text_of("iostat-h.txt").replace("15.2M", "15,2M").replace("322.50", "322,50")
    assert of(read("iostat-h.txt", comma), "vda", "iostat") == of(table, "vda", "iostat")
    twice = text_of("iostat-hx.txt") + text_of("iostat-hx.txt").partition("\n")[2]
    assert {f.round for f in read("iostat-hx.txt", twice).figures} == {1}


def test_hcibench_counts_mebibytes():
    table = read("hcibench-vdbench-res.txt")
    (workload,) = table.workloads
    assert of(table, "vsanDatastore", workload) == {
        ("iops", "", ""): (123456.78, "IOPS"), ("bandwidth", "", ""): (482.25, "MiB/s"),
        ("latency", "", "mean"): (1.04, "ms"), ("latency", "read", "mean"): (0.95, "ms"),
        ("latency", "write", "mean"): (1.25, "ms"),
    }  # fmt: skip


def test_hcibench_with_fio_has_operations_and_latencies_but_no_exact_megabytes():
    table = read("hcibench-fio-res.txt")
    assert of(table, "hcibench-fio-res", "job0 16 VMs") == {
        ("iops", "", ""): (26833.38, "IOPS"), ("latency", "write", "mean"): (11.28, "ms"),
    }  # fmt: skip
    assert of(table, "hcibench-fio-res", "job0 16 VMs #2")["iops", "", ""] == (5440.17, "IOPS")
    assert "cuts THROUGHPUT of fio to whole MB/s" in table.notes[0]


def test_sysbench_1_1_has_its_rates_in_one_line():
    table = read("sysbench-1.1.txt")
    assert of(table, "sysbench-1", "sysbench rndrw 10K 4 threads fsync 200") == {
        ("iops", "read", ""): (9159.58, "IOPS"), ("iops", "write", ""): (6109.47, "IOPS"),
        ("bandwidth", "read", ""): (89.45, "MiB/s"), ("bandwidth", "write", ""): (59.66, "MiB/s"),
    }  # fmt: skip
    assert of(table, "sysbench-1", "sysbench rndrd 10K 4 threads") == {
        ("iops", "read", ""): (30524.83, "IOPS"), ("bandwidth", "read", ""): (298.09, "MiB/s"),
        ("latency", "", "mean"): (0.13, "ms"),
    }  # fmt: skip


def test_a_flatfile_of_vdbench_has_a_workload_for_each_run():
    table = read("vdbench-flatfile.html")
    assert of(table, "vdbench-flatfile", "rd1") == {
        ("iops", "", ""): (105.25, "IOPS"), ("bandwidth", "", ""): (0.1028, "MiB/s"),
        ("latency", "", "mean"): (0.026, "ms"),
        ("latency", "read", "mean"): (0.0152, "ms"), ("latency", "write", "mean"): (0.0372, "ms"),
    }  # fmt: skip
    asked = table.workloads["rd1"]
    assert (asked.pattern, asked.block_bytes, asked.read_percent) == ("mixed", 1024, 51.07)
    assert list(table.workloads) == ["rd1"]  # nothing was counted of SD_format


def test_a_flatfile_of_files_has_reads_and_writes_apart():
    table = read("vdbench-flatfile-files.html")
    assert of(table, "vdbench-flatfile-files", "rd1") == {
        ("latency", "read", "mean"): (0.0801, "ms"), ("iops", "read", ""): (11471.3, "IOPS"),
        ("bandwidth", "read", ""): (44.8098, "MiB/s"),
    }  # fmt: skip
    assert of(table, "vdbench-flatfile-files", "format_for_rd1")["iops", "write", ""] == (400, "IOPS")


def test_runs_of_one_name_in_a_flatfile_are_told_apart_by_what_was_varied():
    text = text_of("vdbench-flatfile.html")
    again = text.splitlines()[-1].replace(" 1024 8 50 ", " 1024 16 50 ")
    table = read("vdbench-flatfile.html", f"{text}{again}\n")
    assert list(table.workloads) == ["rd1 threads=8", "rd1 threads=16"]


@pytest.mark.parametrize(("name", "end", "words"), [
    ("crystaldiskmark-8.txt", "RND    4KiB (Q=  1, T= 1):    84.5", "the line of a test is not whole"),
    ("crystaldiskmark-8.txt", "[Write]", "the report is not whole: it has 4 tests of Read"),
    ("kdiskmark-3.txt", "Sequential   1 MiB (Q=  1, T= 1):   428.851", "the line of a test is not whole"),
    ("sysbench-1.0.txt", "Latency (ms):", "has no end: 'Threads fairness' (in 1.1 the sum of latencies) is missing"),
    ("sysbench-1.1.txt", "Latency (ms):", "has no end: 'Threads fairness' (in 1.1 the sum of latencies) is missing"),
    ("vdbench-flatfile.html", "0 100 0.0391 n/a 1 n/a 0.0027", "the row has 22 columns, its heading 34"),
    ("vdbench-flatfile.html", "21:16:15.033", "run rd1 has no line of averages"),
    ("hcibench-fio-res.txt", "W_LATENCY     = 0.71", "the result that begins here has no end"),
    ("elbencho-3.csv", "19148,19673", "the row has 24 cells, its headings 37"),
    ("iperf3.json", '"sum_sent"', ""),
    ("zpool-iostat-vl.txt", "623  7.98M   30ms", "the row has 5 columns, its heading 17"),
    ("vdbench.txt", "09:31:07.160", "run rd2 has no line of averages"),
    ("hcibench-vdbench-res.txt", "=====", "the result that begins here has no end"),
])  # fmt: skip
def test_a_file_that_is_cut_off_is_refused_with_the_reason(name, end, words):
    text = text_of(name)
    with pytest.raises(ProblemError) as refused:
        read(name, text[: text.index(end) + (len(end) if "84.5" in end or "19148" in end or "428" in end else 0)])
    assert words in refused.value.problems[0].message


def test_iperf3_that_failed_is_refused():
    with pytest.raises(ProblemError, match="unable to connect to server"):
        read("iperf3.json", text_of("iperf3.json")[:-2] + ', "error": "error - unable to connect to server"}')
    with pytest.raises(ProblemError, match="the test did not finish"):
        read("iperf3.json", text_of("iperf3.json").replace("bits_per_second", "x"))
