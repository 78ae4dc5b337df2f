"""fio on files in a directory: sizes that are known before, files that nobody else has, and none left to chance."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.base import proc
from raidtui.load.engine import Target, TargetDevice
from raidtui.load.fio import ENGINE
from raidtui.load.fio.spec import FioSpec, files_of
from raidtui.model.convert import decode

MIB = 1 << 20
ROOM = 1 << 30
WRITE: dict[str, Any] = {"rw": "randwrite", "bs": "4KiB", "runtime": "2s"}


def spec_of(**options: Any) -> FioSpec:
    return decode(FioSpec, {**WRITE, **options})


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Target]:
    folder = tmp_path / "cell"
    folder.mkdir()
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    yield Target((TargetDevice(fd, "cell", 64 * MIB),), "directory")
    os.close(fd)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"nrfiles": 64, "filesize": "2MiB"}, (2 * MIB, 64, 1)),
        ({"size": "64MiB", "nrfiles": 4, "numjobs": 2}, (16 * MIB, 4, 2)),
        ({"size": "50%", "numjobs": 2}, (256 * MIB, 1, 2)),
        ({"numjobs": 4}, (204 * MIB, 1, 4)),
    ],
)
def test_sizes_of_files_are_known_before(options: dict[str, Any], found: tuple[int, int, int]) -> None:
    spec = spec_of(**options)
    assert tuple(files_of(spec, ROOM)) == found
    argv = ENGINE.command(spec, ("/proc/self/fd/100",), size_bytes=ROOM, kind="directory")
    each, per_job, _ = found
    assert {f"--nrfiles={per_job}", f"--filesize={each}", f"--size={each * per_job}"} <= set(argv)
    assert argv[-1] == "--directory=/proc/self/fd/100/"
    assert "--allow_file_create=1" in argv


def test_what_is_laid_out_is_what_is_measured() -> None:
    spec = spec_of(rw="randread", nrfiles=8, filesize="4MiB", numjobs=3)
    common: dict[str, Any] = {"size_bytes": ROOM, "kind": "directory"}
    filled = ENGINE.prefill_command(spec, ("/proc/self/fd/100",), **common)
    measured = ENGINE.command(spec, ("/proc/self/fd/100",), **common)
    same = ("--nrfiles=", "--filesize=", "--size=", "--numjobs=", "--name=", "--directory=")
    assert [w for w in filled if w.startswith(same)] == [w for w in measured if w.startswith(same)]
    assert ENGINE.region_bytes(spec, ROOM, kind="directory") == 96 * MIB


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"filesize": "64MiB", "nrfiles": 64}, "fio-region-larger-than-target"),
        ({"size": "600MiB", "numjobs": 2}, "fio-region-larger-than-target"),
        ({"bs": "1MiB", "filesize": "64KiB"}, "fio-block-larger-than-region"),
        ({"offset": "1MiB"}, "fio-files"),
        ({"nrfiles": 2, "random_distribution": "zipf:1.2"}, "fio-files"),
    ],
)
def test_what_files_cannot_be_is_refused(options: dict[str, Any], code: str) -> None:
    assert code in [p.code for p in ENGINE.check_target(spec_of(**options), "$", ROOM, kind="directory")]


@given(
    st.integers(1, 64),
    st.integers(1, 16),
    st.sampled_from(["4KiB", "1MiB"]),
    st.sampled_from([None, "80%", "256MiB"]),
    st.integers(256 * MIB, 4 * ROOM),
)
def test_a_rehearsal_fits_into_256_mib(files: int, jobs: int, block: str, size: str | None, room: int) -> None:
    options = {"nrfiles": files, "numjobs": jobs, "bs": block, **({"size": size} if size else {})}
    spec = spec_of(**options)
    if ENGINE.check_target(spec, "$", room, kind="directory"):
        return
    quick = ENGINE.quick(spec, room, kind="directory")
    assert ENGINE.check_target(quick, "$", room, kind="directory") == []
    assert ENGINE.region_bytes(quick, room, kind="directory") <= 256 * MIB


@pytest.mark.skipif(proc.find_tool("fio") is None, reason="fio is not installed")
def test_files_are_laid_out_and_then_read(directory: Target, run_folder: Path) -> None:
    options = {"rw": "randread", "nrfiles": 3, "filesize": "1MiB", "numjobs": 2, "runtime": "1s", "direct": False}
    spec = spec_of(**options, why_buffered="a test", ioengine="psync")
    common: dict[str, Any] = {"folder": run_folder, "live": lambda _: None, "stop": threading.Event()}
    filled = ENGINE.prefill(spec, directory, **common)
    if any("does not take such I/O" in problem for problem in filled.problems):
        pytest.skip("no direct I/O here")
    assert filled.problems == ()
    names = sorted(os.listdir(directory.devices[0].fd))
    assert names == [f"d0.{job}.{number}" for job in range(2) for number in range(3)]
    assert all(os.stat(name, dir_fd=directory.devices[0].fd).st_blocks * 512 >= MIB for name in names)
    measured = ENGINE.run(spec, directory, **common)
    assert measured.problems == ()
    assert measured.summary.jobs == 2
    assert sorted(os.listdir(directory.devices[0].fd)) == names
    assert list(run_folder.iterdir()) == []


@pytest.mark.skipif(proc.find_tool("fio") is None, reason="fio is not installed")
def test_more_files_than_a_process_has_by_default_are_open_at_once(directory: Target, run_folder: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    spec = spec_of(rw="randread", direct=False, why_buffered="a temporary folder may be in memory", ioengine="psync",
                   nrfiles=200, numjobs=3, filesize="4KiB", runtime="1s")  # fmt: skip
    try:
        for run in (ENGINE.prefill, ENGINE.run):
            done = run(spec, directory, folder=run_folder, live=lambda sample: None, stop=threading.Event())
            assert done.problems == ()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_more_files_than_any_process_can_have_are_refused() -> None:
    spec = spec_of(nrfiles=100_000, numjobs=8, filesize="4KiB")
    assert "fio-files" in [problem.code for problem in ENGINE.check_target(spec, "w", 1 << 40, kind="directory")]
