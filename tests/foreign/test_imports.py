"""Files of other tools as tables: what they say, in which unit, and where it stands."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from raidtui.foreign.documents import READERS, read_table, table_of
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source, TableReader
from raidtui.model.convert import encode
from raidtui.model.problem import ProblemError

DATA = Path(__file__).parent.parent / "data"
FILES = {
    "fio": ["fio-jsonplus.json", "fio-text.txt", "fio-text-two-jobs.txt", *(f"fio-terse-{n}.txt" for n in (2, 3, 4, 5))],
    "dd": ["dd.txt"],
    "iozone": ["iozone.txt", "iozone-two-tests.txt"],
    "iostat": ["iostat-x.txt", "iostat-d.txt", "iostat.json"],
    "pg_test_fsync": ["../pg_test_fsync/17.txt"],
}
ALL = [(kind, name) for kind, names in FILES.items() for name in names]


def source(name):
    path = DATA / "imports" / name
    return Source(str(path), path.read_bytes())


def table(name):
    return read_table(source(name))


def numbers(found, **wanted):
    return [f for f in found.figures if all(getattr(f, name) == value for name, value in wanted.items())]


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_each_file_is_claimed_by_its_reader_alone(kind, name):
    assert [reader.name for reader in READERS.values() if reader.claims(source(name))] == [kind]


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_what_a_tool_printed_is_read_back_from_its_document_and_contradicts_nothing(kind, name):
    found = table(name)
    from raidtui.model.jsonio import read_json

    assert table_of(read_json(encode(found))) == found
    assert lint(found) == ()


def test_fio_says_the_same_in_json_and_text():
    for name in ("fio-jsonplus.json", "fio-text.txt"):
        found = table(name)
        asked = found.workloads["mix"]
        assert (asked.pattern, asked.random, asked.block_bytes) == ("mixed", True, 4096)
        for direction in ("read", "write"):
            assert numbers(found, metric="iops", direction=direction)
            assert {f.statistic for f in numbers(found, metric="latency", direction=direction)} >= {"mean", "p50", "p99"}


def test_fio_text_has_both_units_and_the_line():
    read = numbers(table("fio-text.txt"), metric="bandwidth", direction="read")
    assert [(f.text, f.unit, f.place) for f in read] == [
        ("24.7", "MB/s", "fio-text.txt:6"), ("23.6", "MiB/s", "fio-text.txt:6"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "iops", "mean"), [(2, 6881, 118.07), (3, 9377, 74.5), (4, 5535, 152.94), (5, 3443, 226.15)]
)
def test_fio_terse_of_every_version(version, iops, mean):
    found = table(f"fio-terse-{version}.txt")
    assert numbers(found, metric="iops", direction="read")[0].value == iops
    assert numbers(found, metric="latency", statistic="mean", direction="read")[0].value == pytest.approx(mean, rel=1e-3)


def test_fio_of_version_two_meant_1024_when_it_wrote_kb():
    text = (
        "w: (g=0): rw=randwrite, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=32\n"
        "w: (groupid=0, jobs=1): err= 0: pid=1: Sat Jan 31 12:00:00 2026\n"
        "  write: io=1024.0MB, bw=40960KB/s, iops=10240, runtime= 25600msec\n"
    )
    found = read_table(Source("old.txt", text.encode()))
    assert [(f.metric, f.value, f.unit) for f in found.figures] == [("iops", 10240, "IOPS"), ("bandwidth", 40960, "KiB/s")]
    assert (found.workloads["w"].block_bytes, found.workloads["w"].iodepth) == (4096, 32)
    assert lint(found) == ()


def test_the_last_whole_report_of_fio_counts():
    one = (DATA / "imports" / "fio-jsonplus.json").read_text()
    several = (
        "fio: terminating on signal 2\n" + one.replace('"iops" : ', '"iops" : 1') + "\n" + one + '{"fio version": "cut'
    )
    last, alone = (read_table(Source("a", text.encode())) for text in (several, one))
    assert last == alone


def test_pg_test_fsync_counts_two_writes_as_one_operation():
    found = table("../pg_test_fsync/17.txt")
    one, two = (numbers(found, workload=f"{n}: fdatasync", metric="iops")[0] for n in ("one write", "two writes"))
    assert (one.value, found.workloads[one.workload].block_bytes) == (1115.044, 8192)
    assert (two.value, found.workloads[two.workload].block_bytes) == (1776.137, 16384)
    assert found.workloads["open_sync: 8 * 2kB open_sync writes"].block_bytes == 16384


def test_dd_with_the_command_above_it():
    found = table("dd.txt")
    assert [(f.metric, f.value, f.unit, f.place) for f in found.figures] == [
        ("amount", 6553600, "B", "dd.txt:4"), ("time", 0.503977, "s", "dd.txt:4"), ("bandwidth", 13.0, "MB/s", "dd.txt:4"),
    ]  # fmt: skip
    assert (found.workloads["dd"].block_bytes, found.workloads["dd"].pattern) == (65536, "write")


def test_iozone_by_its_columns_also_where_some_are_blank():
    found = table("iozone.txt")
    by_test = {f.workload: f.value for f in found.figures}
    assert by_test["random read 64 KiB of 8388608 KiB"] == 5120
    assert by_test["random write 64 KiB of 8388608 KiB"] == 4077
    assert len(found.figures) == 13
    assert {f.unit for f in found.figures} == {"KiB/s"}
    blank = {f.workload: f.value for f in table("iozone-two-tests.txt").figures}
    assert blank == {
        "write 4 KiB of 1048576 KiB": 81035, "rewrite 4 KiB of 1048576 KiB": 79461,
        "random read 4 KiB of 1048576 KiB": 5120, "random write 4 KiB of 1048576 KiB": 4077,
    }  # fmt: skip


def test_iostat_reports_are_rounds_but_for_the_one_since_boot():
    found = table("iostat-x.txt")
    assert {f.round for f in found.figures} == {1}
    assert numbers(found, metric="bandwidth", direction="write")[0].value == 0
    assert found.notes == (
        "iostat-x.txt: the first report counts since boot and is left out; a run with -y has no such report, and loses an "
        "interval here",
    )
    text = source("iostat-x.txt").data
    without_banner = read_table(Source("x.txt", text.partition(b"\n")[2]))
    assert {f.round for f in without_banner.figures} == {1, 2}
    assert numbers(without_banner, metric="bandwidth", direction="write", round=1)[0].value == 9329.69
    assert numbers(table("iostat.json"), metric="bandwidth", direction="write")[0].value == 9329.32


def test_several_files_become_one_table():
    reader = READERS["fio"]
    assert isinstance(reader, TableReader)
    found = reader.table([source("fio-terse-3.txt"), source("fio-terse-4.txt")])
    assert list(found.layouts) == ["fio-terse-3", "fio-terse-4"]


def test_what_is_too_large_too_long_or_no_text_is_refused_by_place():
    for data, place in (
        (b"layout,IOPS\na,1\nb," + b"1" * 30000 + b"\n", "x.csv:3"),
        (b"layout,IOPS\na,1\n\xff\xfe\xff", "x.csv"),
        (b"layout,IOPS\na,1\nb,1.2.3.4\n", "x.csv:3"),
        (b"layout,round,IOPS\na,1,1\nb,99999999999999999999,1\n", "x.csv:3"),
        (b"layout,round,IOPS\na,1,1\nb," + b"9" * 5000 + b",1\n", "x.csv:3"),
    ):
        with pytest.raises(ProblemError) as caught:
            read_table(Source("folder/x.csv", data))
        assert caught.value.problems[0].place == place
        assert caught.value.exit == 2


FIGURE = {"layout": "a", "workload": "w", "metric": "iops", "value": 2, "unit": "IOPS"}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"figures": [{**FIGURE, "layout": "b"}]}, "$.figures[0]"),
        ({"figures": [{**FIGURE, "unit": "furlongs"}]}, "$.figures[0].unit"),
        ({"claims": [{"sentence": "s", "within_percent": 5, "pairs": [["a", "z"]]}]}, "$.claims[0].pairs"),
        ({"extra": 1}, "$"),
    ],
)
def test_a_table_of_raidtui_is_closed_and_consistent(change, place):
    base = {"schema": "raidtui.table/1", "name": "t", "layouts": {"a": {}}, "workloads": {"w": {}}}
    table_of(base)
    with pytest.raises(ProblemError) as caught:
        table_of({**base, **change})
    assert caught.value.problems[0].place == place


def test_the_number_counts_where_its_text_is_another():
    document = {"schema": "raidtui.table/1", "name": "t", "layouts": {"a": {}}, "workloads": {"w": {}},
                "figures": [{**FIGURE, "text": "3"}, {**FIGURE, "text": "2.00"}]}  # fmt: skip
    assert [(f.value, f.text) for f in table_of(document).figures] == [(2, ""), (2, "2.00")]


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
@example(b'{"fio version" : "fio-3.39", "jobs" : [{"jobname": 1, "read": {"iops": "x"}}]}')
@example(
    b'{"fio version": "fio-3", "jobs": [{"read": {"total_ios": 1, "iops": 1, "lat_ns": [], "clat_ns": {"percentile": 1}}}]}'
)
@example(b'{"sysstat": {"hosts": [{"statistics": [{"disk": [1, {"disk_device": "x"}]}]}]}}')
@example(b"3;fio-3.33;m;0;0;" + b"x;" * 120)
@example(b"|a|MB/s|\n|-|-|\n|b|1|\n")
def test_no_bytes_break_a_reader(data):
    for reader in READERS.values():
        if isinstance(reader, TableReader):
            reader.claims(Source("x", data))
            with suppress(ProblemError):
                reader.table([Source("x", data)])


def test_dd_tells_its_progress_before_what_it_did():
    shown = "# dd if=/dev/zero of=/mnt/t bs=1M count=2000 oflag=direct status=progress\n"
    way = "524288000 bytes (524 MB, 500 MiB) copied, 1 s, 524 MB/s\r"
    way += "1048576000 bytes (1.0 GB, 1000 MiB) copied, 2 s, 524 MB/s\n"
    end = "2000+0 records in\n2000+0 records out\n2097152000 bytes (2.1 GB, 2.0 GiB) copied, 4.00012 s, 524 MB/s\n"
    found = read_table(Source("dd.txt", (shown + way + end).encode()))
    assert [(f.workload, f.value) for f in numbers(found, metric="amount")] == [("dd", 2097152000)]
    assert found.workloads["dd"].block_bytes == 1 << 20
    alone = read_table(Source("dd.txt", way.encode()))
    assert [f.value for f in numbers(alone, metric="amount")] == [524288000, 1048576000]


def test_busyboxs_dd_counts_in_mebibytes():
    text = "1000+0 records in\n1000+0 records out\n1048576000 bytes (1000.0MB) copied, 5.234170 seconds, 191.1MB/s\n"
    found = read_table(Source("dd.txt", text.encode()))
    assert [(f.value, f.unit) for f in numbers(found, metric="bandwidth")] == [(191.1, "MiB/s")]
    assert lint(found) == ()


def test_the_json_of_iostat_begins_since_boot_too():
    document = json.loads(source("iostat.json").data)
    (host,) = document["sysstat"]["hosts"]
    host["statistics"] = host["statistics"][:1] * 3
    found = read_table(Source("i.json", json.dumps(document).encode()))
    places = {(f.round, f.place.partition(",")[0]) for f in found.figures}
    assert places == {(1, "i.json: report 2"), (2, "i.json: report 3")}
    assert len(found.notes) == 1
