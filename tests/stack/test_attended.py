"""What a step waits for: shown to the operator, ended by him, given up with the name of a disk that hangs."""

from __future__ import annotations

import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from raidtui.base import attention, proc
from raidtui.base.attention import Attention, Told, attending
from raidtui.base.silence import Counters
from raidtui.gate.permit import Permit
from raidtui.model.problem import Exit, ProblemError
from raidtui.stack import blank, context, mounts, teardown
from raidtui.stack.bcache import command as bcache_command
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context, told_text
from raidtui.stack.lvm import commands
from raidtui.stack.md import build as md_build
from raidtui.stack.md.spec import MdArray
from raidtui.stack.md.teardown import BUSY
from raidtui.stack.zfs import pool

BURN = "import os\nwhile True: os.getpid()"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """A run that gives up after half a second of silence."""
    monkeypatch.setattr(context, "Attention", partial(Attention, limit_s=0.5))
    return Context("r", tmp_path, {}, lambda text, share: None, threading.Event())


def soon(event: threading.Event, after_s: float = 0.4) -> None:
    threading.Timer(after_s, event.set).start()


def test_how_far_a_command_is_is_said_in_words() -> None:
    assert told_text(Told("lvm lvcreate", 95.2, 3 << 30, 0, "")) == "lvm lvcreate: 1 min 35 s, 3.0 GiB written"
    assert told_text(Told("mkfs.xfs", 3.0, 0, 5 << 40, "")) == "mkfs.xfs: 3 s, 5.0 TiB discarded"
    hangs = "sda has 1 request in flight and completes none"
    assert told_text(Told("zpool create", 12.0, 0, 0, hangs)) == f"zpool create: 12 s; {hangs}"


def test_a_cancel_ends_what_a_step_waits_for_and_not_what_undoes_it(run: Context) -> None:
    soon(run.cancelled)
    with run.attended():
        with pytest.raises(ProblemError) as cancelled:
            mounts.tool(("python3", "-c", BURN), cwd=run.folder)
        assert cancelled.value.problems[0].code == "cancelled"
        assert cancelled.value.exit is Exit.CANCELLED
        assert mounts.tool(("sleep", "0.3"), cwd=run.folder) == ("sleep", "0.3")


@pytest.mark.parametrize(
    "tool", [commands.run_command, bcache_command.run, pool.call, lambda argv: mounts.tool(argv, cwd=Path("/"))]
)
def test_a_tool_that_does_nothing_is_stuck(run: Context, tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "counters", lambda disks: {"sda": Counters(5, 2, 0, 0)})
    with run.attended(), pytest.raises(ProblemError) as stuck:
        tool(("sleep", "60"))
    (problem,) = stuck.value.problems
    assert (problem.code, problem.place) == ("stuck", "/dev/sda")
    assert problem.message.startswith("sleep has done nothing for ")
    assert "sda has 2 requests in flight and completes none" in problem.message


def test_a_call_into_the_kernel_that_does_not_come_back_is_stuck(run: Context) -> None:
    never = threading.Event()
    with run.attended(), pytest.raises(ProblemError) as stuck:
        bounded(lambda: never.wait(60), "reading /dev/x")
    never.set()
    assert stuck.value.problems[0].code == "stuck"
    assert stuck.value.problems[0].message.startswith("reading /dev/x has done nothing for ")


def test_a_call_that_works_is_waited_for(run: Context) -> None:
    def work() -> int:
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            pass
        return 42

    with run.attended():
        assert bounded(work, "computing") == 42
    with pytest.raises(ZeroDivisionError):
        bounded(lambda: 1 // 0, "dividing")


def test_a_read_is_left_to_itself_by_a_cancel_and_a_change_is_not(run: Context) -> None:
    done: list[str] = []

    def work() -> None:
        for _ in range(12):
            time.sleep(0.1)
            sum(range(200_000))
        done.append("changed")

    soon(run.cancelled, 0.1)
    with run.attended():
        bounded(work, "changing", to_the_end=True)
        assert done == ["changed"]
        with pytest.raises(ProblemError) as cancelled:
            bounded(work, "reading")
    assert cancelled.value.problems[0].code == "cancelled"
    assert done == ["changed"]


def test_a_disk_that_hangs_while_it_is_made_blank_holds_up_nobody(run: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel would do is played here: the call does not come back, and later it does."""
    answers, asked = threading.Event(), threading.Event()
    goes_on: list[bool] = []

    def make_blank(permit: Permit, progress: Any, cancelled: Any) -> dict[str, Any]:
        answers.wait(60.0)
        goes_on.append(not cancelled())
        asked.set()
        return {"method": "discard"}

    class Named:
        class disk:
            name = "sda"

        held = False

        def hold(self, patience_s: float = 0.0) -> None: ...

    monkeypatch.setattr(blank, "make_blank", make_blank)
    monkeypatch.setattr(attention, "counters", lambda disks: {name: Counters(5, 1, 0, 0) for name in disks})
    run.permits["A"] = cast(Permit, Named())
    with run.attended():
        outcome = blank.blank(run, blank.DisksToBlank(("disk:A",)))
    (problem,) = outcome.problems
    assert (problem.code, problem.place) == ("stuck", "/dev/sda")
    assert outcome.facts["blank"] == {}
    assert "A" in run.written
    answers.set()
    assert asked.wait(10.0)
    assert goes_on == [False]


def test_a_command_left_behind_is_waited_for_as_long_as_it_works(run: Context) -> None:
    burn = "import time\nuntil = time.monotonic() + 1.5\nwhile time.monotonic() < until: pass"
    burning = proc.spawn((sys.executable, "-I", "-c", burn))
    sleeping = proc.spawn(("/bin/sleep", "60"))
    with attending(Attention(limit_s=0.5)):
        teardown.await_makers(lambda: [burning.pid] if burning.poll() is None else [], BUSY, "still creates", "x")
        with pytest.raises(ProblemError) as busy:
            teardown.await_makers(lambda: [sleeping.pid], BUSY, "still creates", "x")
    sleeping.end()
    (problem,) = busy.value.problems
    assert (problem.code, problem.exit) == ("md-busy", int(Exit.LEFT_BEHIND))
    assert "has done nothing for" in problem.message


ARRAY = MdArray("x", "", "md:x", "raid1", (), (), None, (), {}, "1.2", None, None, "resync", "none", None, size_bytes=0)


def test_a_sync_of_large_disks_stands_still_for_the_kernels_minutes_while_the_disks_work(
    run: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel says only once in five minutes how far a sync is."""
    began, counted = time.monotonic(), [0]

    def look(name: str) -> md_build.Progress:
        finished = time.monotonic() - began > 1.5
        return md_build.Progress("idle" if finished else "resync", 8, 1 << 40, 0, not finished)

    def counters(disks: object) -> dict[str, Counters]:
        counted[0] += moves
        return {"sda": Counters(counted[0], 1, 0, 0)}

    monkeypatch.setattr(md_build, "read_progress", look)
    monkeypatch.setattr(md_build, "the_array", lambda args: "md127")
    monkeypatch.setattr(attention, "counters", counters)
    moves = 1
    with run.attended():
        assert md_build.wait_for_sync(run, ARRAY).result == "done"
    moves, began = 0, time.monotonic() + 60.0
    with run.attended(), pytest.raises(ProblemError) as stalled:
        md_build.wait_for_sync(run, ARRAY)
    (problem,) = stalled.value.problems
    assert problem.code == "sync-stalled"
    assert "sda has 1 request in flight and completes none" in problem.message
