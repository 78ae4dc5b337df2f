"""pg_test_fsync and dd: what they print becomes numbers, and what they would claim falsely is refused."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raidtui.load import dd, pg_test_fsync
from raidtui.load.catalog import engines
from raidtui.load.child import follow
from raidtui.load.dd import DdSpec, read_progress
from raidtui.load.engine import Target, TargetDevice
from raidtui.load.pg_test_fsync import TABLES, Row, read_tables
from raidtui.model.convert import decode
from raidtui.model.measure import Sample
from raidtui.model.problem import ProblemError

PRINTED = (Path(__file__).parent.parent / "data/pg_test_fsync/17.txt").read_text()
DD = {"bs": "64KiB", "size": "1MiB"}
MIB = 1 << 20


@pytest.fixture
def folder_target(tmp_path: Path) -> Iterator[Target]:
    folder = tmp_path / "cell"
    folder.mkdir()
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    yield Target((TargetDevice(fd, "cell", 64 * MIB),), "directory")
    os.close(fd)


def test_every_table_of_pg_test_fsync_becomes_numbers() -> None:
    tables = read_tables(PRINTED)
    assert [len(table.rows) for table in tables] == [5, 5, 5, 2, 1]
    assert tables[0].title == "Compare file sync methods using one 8kB write"
    assert tables[0].rows[1] == Row("fdatasync", 1115.044, 897)
    assert tables[0].rows[3] == Row("fsync_writethrough", None, None)
    assert tables[2].rows[4].name == "16 *  1kB open_sync writes"
    assert tables[4].rows[0].ops_per_s == 30189.487


def test_the_figure_that_is_compared_is_fdatasync_of_one_write() -> None:
    summary = pg_test_fsync._summary(read_tables(PRINTED), 5)
    assert summary.write is not None
    assert summary.sync is not None
    assert (summary.write.iops, summary.write.latency.mean_us) == (1115.044, 897)
    assert summary.sync.iops == 1115.044
    assert summary.sync.bytes == 0


@pytest.mark.parametrize("lines", range(0, len(PRINTED.splitlines()), 5))
def test_output_that_was_cut_off_is_never_whole(lines: int) -> None:
    tables = read_tables("\n".join(PRINTED.splitlines()[:lines]))
    assert (pg_test_fsync._missing(tables) == []) == (len(tables) == TABLES)


def test_what_ends_at_small_direct_writes_keeps_what_was_measured_before() -> None:
    end = "pg_test_fsync ended with exit code 1: pg_test_fsync: error: write failed: Invalid argument"
    before = read_tables("\n".join(PRINTED.splitlines()[:-12]))
    assert len(before) < TABLES
    assert pg_test_fsync._problems_and_remark([end], before)[0] == []
    assert "4 KiB sectors" in pg_test_fsync._problems_and_remark([end], before)[1]
    assert pg_test_fsync._problems_and_remark([end], ()) == ([end], "")
    assert pg_test_fsync._problems_and_remark(["it was stopped"], before) == (["it was stopped"], "")
    assert pg_test_fsync._problems_and_remark([], before)[0] != []


def test_pg_test_fsync_takes_a_directory_alone() -> None:
    engine = engines()["pg_test_fsync"]
    assert engine.takes == ("directory",)
    spec = decode(engine.spec, {})
    assert engine.command(spec, ("/proc/self/fd/100",))[1:] == (
        "--secs-per-test=5",
        "--filename=/proc/self/fd/100/pg_test_fsync.out",
    )
    assert [p.code for p in engine.check_target(spec, "$", MIB, kind="directory")] == ["pg-room"]
    target = Target((TargetDevice(0, "x", 1 << 30),))
    with pytest.raises(ProblemError) as error:
        engine.run(spec, target, folder=Path(), live=lambda _: None, stop=threading.Event())
    assert error.value.problems[0].code == "workload-target"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"flag": "none"}, "dd-buffered"),
        ({"do": "read", "flag": "none"}, "dd-buffered"),
        ({"why_buffered": "because"}, "dd-buffered"),
        ({"do": "read", "conv": "fsync"}, "dd-durable-read"),
        ({"do": "read", "flag": "dsync"}, "dd-durable-read"),
        ({"bs": "100B"}, "dd-block"),
        ({"bs": "2GiB"}, "dd-block"),
    ],
)
def test_what_dd_would_not_honour_is_refused(options: dict[str, Any], code: str) -> None:
    assert code in [p.code for p in dd.ENGINE.check(decode(DdSpec, {**DD, **options}), "$")]


def test_dd_is_refused_more_than_there_is_and_less_than_a_block() -> None:
    assert [p.code for p in dd.ENGINE.check_target(decode(DdSpec, DD), "$", 1000)] == ["dd-size"]
    assert [p.code for p in dd.ENGINE.check_target(decode(DdSpec, {**DD, "size": "1%"}), "$", MIB)] == ["dd-size"]
    assert dd.ENGINE.check_target(decode(DdSpec, DD), "$", MIB) == []


def test_dd_never_cuts_a_device_short_nor_makes_one() -> None:
    argv = dd.ENGINE.command(decode(DdSpec, {**DD, "conv": "fsync"}), ("/proc/self/fd/100",), size_bytes=MIB)
    assert argv[1:] == (
        "if=/dev/zero", "of=/proc/self/fd/100", "bs=65536", "count=16", "oflag=direct", "conv=notrunc,nocreat,fsync",
        "status=progress",
    )  # fmt: skip
    with pytest.raises(ProblemError) as error:
        dd.ENGINE.command(decode(DdSpec, DD), ("/proc/self/fd/100", "/proc/self/fd/101"), size_bytes=MIB)
    assert error.value.problems[0].code == "dd-one-device"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("104857600 bytes (105 MB, 100 MiB) copied, 0.0423 s, 2.5 GB/s", (104857600, 0.0423)),
        ("512 bytes copied, 2.1e-05 s, 24.4 MB/s", (512, 2.1e-05)),
        ("1 byte copied, 1 s, 0.0 kB/s", (1, 1.0)),
        ("200+0 records in", None),
    ],
)
def test_what_dd_says_becomes_bytes_and_seconds(line: str, found: tuple[int, float] | None) -> None:
    assert read_progress(line) == found


def test_dd_writes_a_file_of_its_own_and_reads_it_back(folder_target: Target, run_folder: Path) -> None:
    live: list[Sample] = []
    options = {**DD, "size": "3MiB", "flag": "none", "conv": "fsync"}
    common: dict[str, Any] = {"folder": run_folder, "live": live.append, "stop": threading.Event()}
    written = dd.ENGINE.run(decode(DdSpec, options), folder_target, **common)
    assert written.problems == ()
    assert written.summary.write is not None
    assert (written.summary.write.bytes, written.summary.write.ios) == (3 * MIB, 48)
    reading = decode(DdSpec, {**DD, "do": "read", "size": "3MiB", "flag": "none", "why_buffered": "a test"})
    assert dd.ENGINE.prefill(reading, folder_target, **common).problems == ()
    read = dd.ENGINE.run(reading, folder_target, **common)
    assert read.problems == ()
    assert read.summary.read is not None
    assert read.summary.read.bytes == 3 * MIB
    made = os.stat("dd.out", dir_fd=folder_target.devices[0].fd)
    assert stat.S_ISREG(made.st_mode)


def test_dd_that_ends_early_is_not_believed(folder_target: Target, run_folder: Path) -> None:
    reading = decode(DdSpec, {**DD, "do": "read", "size": "3MiB", "flag": "none", "why_buffered": "a test"})
    (Path(f"/proc/self/fd/{folder_target.devices[0].fd}") / "dd.out").write_bytes(bytes(MIB))
    read = dd.ENGINE.run(reading, folder_target, folder=run_folder, live=lambda _: None, stop=threading.Event())
    assert read.problems == (f"dd copied {MIB} of {3 * MIB} bytes, and reported no error",)


@pytest.mark.parametrize(("limit_s", "stops"), [(60.0, True), (0.2, False)])
def test_a_tool_that_goes_on_is_ended(run_folder: Path, limit_s: float, stops: bool) -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start() if stops else None
    ended = follow(["/bin/sleep", "600"], (), run_folder, limit_s=limit_s, stop=stop, on_line=lambda _: None)
    assert (ended.stopped, ended.overdue) == (stops, not stops)
    assert ended.problems("sleep") != []


def test_lines_come_whole_however_they_are_cut(run_folder: Path) -> None:
    lines: list[str] = []
    script = ["/usr/bin/printf", "%s", "a\rb\nsecond \x1b[31m line\nrest"]
    ended = follow(script, (), run_folder, limit_s=60, stop=threading.Event(), on_line=lines.append)
    assert lines == ["a", "b", "second \\x1b[31m line"]
    assert ended.problems("printf") == []


