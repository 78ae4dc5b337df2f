"""Real fio, on files that are opened as the runner opens devices."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from raidtui.base import proc
from raidtui.load import catalog, child
from raidtui.load.child import Bounds
from raidtui.load.engine import Target
from raidtui.load.fio import ENGINE
from raidtui.load.fio.engine import FioEngine
from raidtui.load.fio.process import Process
from raidtui.load.fio.spec import FioSpec
from raidtui.model.convert import decode
from raidtui.model.measure import Measured, Sample
from raidtui.model.problem import Exit, ProblemError

pytestmark = pytest.mark.skipif(proc.find_tool("fio") is None, reason="fio is not installed")
ON_FILES = FioEngine(block_only=False)
MakeTarget = Callable[..., Target]


def measure(
    target: Target,
    folder: Path,
    live: Callable[[Sample], None] = lambda sample: None,
    stop: threading.Event | None = None,
    **options: Any,
) -> Measured:
    spec = decode(FioSpec, {"bs": "4KiB", "runtime": "2s", **options})
    return ON_FILES.run(spec, target, folder=folder, live=live, stop=stop or threading.Event())


def reading(size_bytes: int) -> FioSpec:
    return decode(FioSpec, {"rw": "read", "bs": "4KiB", "runtime": "1s", "size": f"{size_bytes}B"})


def test_a_workload_is_measured(make_target: MakeTarget, run_folder: Path) -> None:
    live: list[Sample] = []
    options = {"rw": "randrw", "rwmixread": 70, "iodepth": 4, "numjobs": 2, "rate_iops": 500, "fsync": 16}
    measured = measure(make_target(2), run_folder, live.append, **options)
    assert measured.problems == ()
    assert measured.summary.jobs == 4
    assert measured.summary.read is not None
    assert measured.summary.sync is not None
    assert measured.samples == tuple(msgspec.structs.replace(one, bins={}) for one in live)
    assert all(one.bins for one in live)
    assert 1 <= len(live) <= 3
    assert measured.command[-1].startswith("--filename=/proc/self/fd/")
    assert measured.raw is not None
    assert measured.version[0] == "3"
    assert list(run_folder.iterdir()) == []


def test_a_search_for_a_latency_runs_its_time_and_says_what_it_found(make_target: MakeTarget, run_folder: Path) -> None:
    search = {"iodepth": 8, "latency_target": "500ms", "latency_window": "200ms", "latency_percentile": 90.0}
    measured = measure(make_target(1), run_folder, rw="randread", ioengine="libaio", **search)
    assert measured.problems == ()
    assert measured.summary.runtime_s == pytest.approx(2.0, abs=0.5)
    assert measured.summary.queue_depth is not None
    assert 1 <= measured.summary.queue_depth <= 8
    assert measure(make_target(1), run_folder, rw="randread").summary.queue_depth is None


@pytest.mark.parametrize("ioengine", ["io_uring", "libaio", "psync", "pvsync2", "sync"])
def test_fdatasyncs_are_no_short_reads(make_target: MakeTarget, run_folder: Path, ioengine: str) -> None:
    options = {"rw": "randrw", "ioengine": ioengine, "fdatasync": 2, "rate_iops": 300, "runtime": "1s"}
    measured = measure(make_target(), run_folder, **options)
    assert measured.problems == ()
    sync = measured.summary.sync
    assert sync is not None
    assert sync.ios > 0
    assert (sync.latency.mean_us is None) == ("sync" not in measured.bins) == (ioengine == "libaio")
    assert any("does not time syncs" in remark for remark in measured.remarks) == (ioengine == "libaio")


@pytest.mark.parametrize("ioengine", ["io_uring", "libaio"])
def test_short_reads_among_fdatasyncs_are_found(make_target: MakeTarget, run_folder: Path, ioengine: str) -> None:
    """The file loses half a block at its end, again and again: reads of that block are short, without an error."""
    target = make_target(1, 1 << 20)
    ended = threading.Event()

    def cut_short() -> None:
        while not ended.wait(0.02):
            os.truncate(target.devices[0].fd, (1 << 20) - (32 << 10))

    cutter = threading.Thread(target=cut_short)

    def begin(sample: Sample) -> None:
        if not cutter.is_alive():
            cutter.start()

    options = {"rw": "randrw", "rwmixread": 98, "ioengine": ioengine, "bs": "64KiB", "fdatasync": 2, "rate_iops": 300,
               "direct": False, "why_buffered": "a file may end within a block", "runtime": "4s"}  # fmt: skip
    try:
        problems = measure(target, run_folder, begin, **options).problems
    finally:
        ended.set()
        if cutter.ident is not None:
            cutter.join()
    assert any("reads of less than a block" in problem for problem in problems)
    assert any("a device probably went away" in problem for problem in problems)


def test_a_mix_of_block_sizes_keeps_its_shares(make_target: MakeTarget, run_folder: Path) -> None:
    """Of a small region most blocks are done soon: fio would cut those that overlap with them."""
    options = {"rw": "randwrite", "bs": None, "bssplit": "4KiB/50:64KiB/50", "size": "8MiB", "iodepth": 4}
    write = measure(make_target(), run_folder, **options).summary.write
    assert write is not None
    assert write.bytes / write.ios == pytest.approx(34 << 10, rel=0.1)


def test_prefill_leaves_not_one_block_unwritten(make_target: MakeTarget, run_folder: Path) -> None:
    target = make_target(2)
    measured = ON_FILES.prefill(
        reading(5 << 20), target, folder=run_folder, live=lambda sample: None, stop=threading.Event()
    )
    assert measured.problems == ()
    for device in target.devices:
        blocks = [os.pread(device.fd, 4096, offset) for offset in range(0, 5 << 20, 4096)]
        assert len(set(blocks)) == len(blocks)
        assert os.pread(device.fd, 11 << 20, 5 << 20) == bytes(11 << 20)


def test_a_prefill_of_odd_size_covers_it(make_target: MakeTarget, run_folder: Path) -> None:
    target = make_target(1, (3 << 20) + 4096)
    measured = ON_FILES.prefill(
        reading((3 << 20) + 1000), target, folder=run_folder, live=lambda sample: None, stop=threading.Event()
    )
    assert measured.problems == ()
    assert os.pread(target.devices[0].fd, 4096, 3 << 20) != bytes(4096)


def test_a_region_is_kept_to(make_target: MakeTarget, run_folder: Path) -> None:
    target = make_target()
    measured = measure(target, run_folder, rw="write", offset="4MiB", size="2MiB", time_based=False, runtime="20s")
    assert measured.problems == ()
    assert measured.summary.written_bytes == 2 << 20
    fd = target.devices[0].fd
    assert os.pread(fd, 4 << 20, 0) == bytes(4 << 20)
    assert os.pread(fd, 16 << 20, 6 << 20) == bytes(10 << 20)


def test_reads_write_nothing(make_target: MakeTarget, run_folder: Path) -> None:
    target = make_target()
    measured = measure(target, run_folder, rw="randread", rate_iops=200)
    assert measured.problems == ()
    assert os.pread(target.devices[0].fd, 16 << 20, 0) == bytes(16 << 20)


def test_stop_ends_it_soon_and_says_so(make_target: MakeTarget, run_folder: Path) -> None:
    stop = threading.Event()
    samples = []

    def first(sample: Sample) -> None:
        samples.append(sample)
        stop.set()

    measured = measure(make_target(), run_folder, stop=stop, live=first, rw="randread", runtime="60s", rate_iops=300)
    assert len(samples) <= 3
    assert measured.problems == ("the workload was stopped before its end",)
    assert measured.summary.read is not None


def test_a_killed_fio_is_no_result(make_target: MakeTarget, run_folder: Path) -> None:
    def kill(sample: Sample) -> None:
        os.kill(_children()[0], signal.SIGKILL)

    measured = measure(make_target(), run_folder, kill, rw="randread", runtime="60s", rate_iops=300)
    assert any(f"fio {measured.version} ended with signal 9" in problem for problem in measured.problems)


def test_nothing_runs_on_when_the_caller_fails(make_target: MakeTarget, run_folder: Path) -> None:
    def broken(sample: Sample) -> None:
        raise OSError(28, "the journal is full")

    with pytest.raises(OSError, match="journal"):
        measure(make_target(), run_folder, broken, rw="randread", runtime="60s", rate_iops=300)
    assert _children() == []


def test_reads_of_a_device_that_went_away_are_no_result(make_target: MakeTarget, run_folder: Path) -> None:
    target = make_target()

    def cut(sample: Sample) -> None:
        os.truncate(target.devices[0].fd, 4096)

    measured = measure(target, run_folder, cut, rw="randread", runtime="3s", rate_iops=300)
    assert any("a device probably went away" in problem for problem in measured.problems)


def test_a_full_device_is_a_device_that_went_away(make_target: MakeTarget, run_folder: Path) -> None:
    # Writing past RLIMIT_FSIZE or to a full file system needs root; a process with a fake report stands in for fio.
    report = (Path(__file__).parents[1] / "data" / "fio" / "3.33" / "once-through.txt").read_text()
    fake = run_folder / "report.txt"
    fake.write_text(report.replace('"error" : 0', '"error" : 28'))
    fio = Process(["/bin/cat", str(fake)], (), run_folder, Bounds(10.0))
    ended = fio.follow(lambda report: None, threading.Event())
    fio.close()
    assert ended.code == 0
    assert fio.last is not None
    assert fio.last.group.error == 28


def test_a_process_that_ignores_everything_is_ended(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "TERM_GRACE_S", 0.5)
    began = time.monotonic()
    fio = Process(["/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"], (), run_folder, Bounds(0.5))
    ended = fio.follow(lambda report: None, threading.Event())
    fio.close()
    assert ended.overdue
    assert ended.code == -9
    assert time.monotonic() - began < 25  # the runtime is longer: it is not waited for


def test_no_progress_is_noticed_without_a_time_limit(run_folder: Path) -> None:
    fio = Process(["/bin/sleep", "60"], (), run_folder, Bounds(None, patience_s=0.5))
    ended = fio.follow(lambda report: None, threading.Event())
    fio.close()
    assert ended.overdue
    assert not ended.stopped


def test_a_process_that_cannot_be_killed_is_stuck(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # An immortal process needs a hung disk; here the kernel's answers are faked, so that nothing waits for good.
    monkeypatch.setattr(child, "TERM_GRACE_S", 0.3)
    fio = Process(["/bin/sleep", "60"], (), run_folder, Bounds(0.3))
    real = fio._process._child
    monkeypatch.setattr(fio._process, "_child", _Immortal(real))
    with pytest.raises(ProblemError) as stuck:
        fio.follow(lambda report: None, threading.Event())
    real.end()
    assert stuck.value.problems[0].code == "stuck"
    assert stuck.value.exit is Exit.LEFT_BEHIND


def test_noise_is_no_report(run_folder: Path) -> None:
    fio = Process(["/bin/echo", '{ "jobs" : 1\n}\n{ cut'], (), run_folder, Bounds(10.0))
    ended = fio.follow(lambda report: None, threading.Event())
    fio.close()
    assert fio.last is None
    assert ended.unread
    assert ended.cut


def test_a_flood_on_stderr_is_bounded(run_folder: Path) -> None:
    fio = Process(["/bin/sh", "-c", "head -c 3000000 /dev/zero >&2"], (), run_folder, Bounds(20.0))
    ended = fio.follow(lambda report: None, threading.Event())
    fio.close()
    assert ended.code == 0
    assert len(fio._stderr) == 64 << 10


def test_fio_that_cannot_start_is_a_problem(run_folder: Path) -> None:
    with pytest.raises(ProblemError) as refused:
        Process(["/nonexistent/fio"], (), run_folder, Bounds(1.0))
    assert refused.value.problems[0].code == "fio-not-started"


def test_fio_that_is_not_there_is_a_problem(
    make_target: MakeTarget, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raidtui.load.fio.engine.find_tool", lambda name: None)
    with pytest.raises(ProblemError) as refused:
        measure(make_target(), run_folder, rw="read")
    assert refused.value.problems[0].code == "fio-missing"


def test_only_block_devices_are_measured(make_target: MakeTarget, run_folder: Path) -> None:
    spec = decode(FioSpec, {"rw": "read", "bs": "4KiB", "runtime": "2s"})
    with pytest.raises(ProblemError, match="not a block device") as refused:
        ENGINE.run(spec, make_target(), folder=run_folder, live=lambda sample: None, stop=threading.Event())
    assert refused.value.problems[0].code == "fio-target"


def test_a_target_that_shrank_is_not_measured(make_target: MakeTarget, run_folder: Path) -> None:
    target = make_target()
    os.truncate(target.devices[0].fd, 0)
    with pytest.raises(ProblemError) as refused:
        measure(target, run_folder, rw="write")
    assert refused.value.problems[0].code == "fio-target"
    assert os.fstat(target.devices[0].fd).st_size == 0


def test_a_dishonest_workload_is_not_even_started(make_target: MakeTarget, run_folder: Path) -> None:
    with pytest.raises(ProblemError) as refused:
        measure(make_target(), run_folder, rw="read", fsync=1, size="1GiB")
    assert {problem.code for problem in refused.value.problems} == {"fio-fsync-on-read", "fio-region-larger-than-target"}


def test_engines_are_found_by_being_there() -> None:
    assert catalog.engines()["fio"] is ENGINE
    assert all(kind == engine.kind for kind, engine in catalog.engines().items())


class _Immortal:
    """A child that no signal ends."""

    def __init__(self, real: proc.Child) -> None:
        self.stdout, self.stderr, self.pid = real.stdout, real.stderr, real.pid

    def poll(self) -> None:
        return None

    def signal(self, number: int) -> None:
        return None

    def wait(self, timeout_s: float) -> None:
        return None

    def end(self, term_grace_s: float = 0, kill_grace_s: float = 0) -> None:
        return None


def _children() -> list[int]:
    """Processes of ours that are called fio and have not been waited for."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            if Path(f"/proc/{pid}/comm").read_text().strip() == "fio":
                found.append(int(pid))
    return found
