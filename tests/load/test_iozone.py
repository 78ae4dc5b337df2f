"""iozone: what it prints as numbers, and the same pattern by fio where it is not installed."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from raidtui.base import proc
from raidtui.load import iozone
from raidtui.load.engine import Target, TargetDevice
from raidtui.load.iozone import ENGINE, IozoneSpec, read_table
from raidtui.model.convert import decode

RECORDED = Path(__file__).parents[1] / "data/iozone"
MIB = 1 << 20


def spec(**options: Any) -> IozoneSpec:
    return decode(IozoneSpec, {"test": "random-read", "record": "64KiB", "size": "16MiB", **options})


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iozone, "find_tool", lambda name: None)


@pytest.fixture
def with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iozone, "find_tool", lambda name: f"/usr/bin/{name}")


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("write", {"write", "rewrite"}),
        ("read", {"write", "rewrite", "read", "reread"}),
        ("random", {"write", "rewrite", "random-read", "random-write"}),
    ],
)
def test_a_recorded_table_gives_bytes_per_second_of_the_tests_that_ran(name: str, tests: set[str]) -> None:
    text = (RECORDED / f"{name}.txt").read_text()
    table = read_table(text)
    assert table is not None
    assert set(table) == tests
    row = next(line for line in text.splitlines() if line.split()[:2] == ["16384", "64"])
    assert sorted(table.values()) == sorted(int(number) * 1024 for number in row.split()[2:])


@pytest.mark.parametrize(
    "text", ["", "iozone: interrupted\n", "  kB  reclen    write  rewrite    read    reread    read write\n"]
)
def test_where_there_is_no_row_there_are_no_numbers(text: str) -> None:
    assert read_table(text) is None


@pytest.mark.usefixtures("with_it")
def test_the_command_names_size_record_and_passes() -> None:
    argv = ENGINE.command(spec(size="50%"), ("/proc/self/fd/100",), size_bytes=100 * MIB, kind="directory")
    assert argv == ("/usr/bin/iozone", "-i", "0", "-i", "2", "-r", "64k", "-s", "51200k", "-I",
                    "-ef/proc/self/fd/100/iozone.out")  # fmt: skip
    assert ENGINE.describe(spec()) == "iozone random-read 64KiB, 16MiB"
    assert not ENGINE.reads(spec()), "it writes its file itself"


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize(
    ("test", "rw"),
    [
        ("write", "write"),
        ("rewrite", "write"),
        ("read", "read"),
        ("random-read", "randread"),
        ("random-write", "randwrite"),
    ],
)
def test_without_it_fio_does_the_same_and_that_is_said(test: str, rw: str) -> None:
    argv = ENGINE.command(spec(test=test), ("/proc/self/fd/100",), size_bytes=100 * MIB, kind="directory")
    assert argv[0].endswith("fio")
    assert {f"--rw={rw}", "--bs=65536", "--ioengine=psync", "--filesize=16777216", "--time_based=0", "--direct=1"} <= set(
        argv
    )
    assert "by fio: iozone is not installed" in ENGINE.describe(spec(test=test))
    assert ENGINE.reads(spec(test=test)) == (test != "write")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"record": "3KiB"}, "iozone-record"),
        ({"record": "32MiB"}, "iozone-record"),
        ({"direct": False}, "fio-buffered"),
        ({"why_buffered": "because"}, "fio-buffered"),
        ({"size": "2GiB"}, "iozone-size"),
        ({"size": "512KiB"}, "iozone-size"),
    ],
)
def test_what_it_could_not_honestly_do_is_refused(options: dict[str, Any], code: str) -> None:
    found = [*ENGINE.check(spec(**options), "w"), *ENGINE.check_target(spec(**options), "w", 1 << 30, kind="directory")]
    assert code in [problem.code for problem in found]


def test_a_rehearsal_is_short_and_fits() -> None:
    quick = ENGINE.quick(spec(size="90%", record="16MiB"), 1 << 40, kind="directory")
    assert ENGINE.region_bytes(quick, 1 << 40, kind="directory") == 256 * MIB
    assert ENGINE.check_target(quick, "w", 1 << 30, kind="directory") == []


@pytest.mark.skipif(proc.find_tool("fio") is None, reason="fio is not installed")
@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("test", ["write", "random-read"])
def test_the_pattern_runs_on_files(tmp_path: Path, test: str) -> None:
    folder, work = tmp_path / "files", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    small = spec(test=test, size="2MiB", direct=False, why_buffered="a temporary folder may be in memory")
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        target = Target((TargetDevice(fd, "files", 1 << 30),), "directory")
        if ENGINE.reads(small):
            ENGINE.prefill(small, target, folder=work, live=lambda sample: None, stop=threading.Event())
        measured = ENGINE.run(small, target, folder=work, live=lambda sample: None, stop=threading.Event())
    finally:
        os.close(fd)
    assert measured.problems == ()
    moved = measured.summary.write if test == "write" else measured.summary.read
    assert moved is not None
    assert moved.bytes == 2 * MIB
