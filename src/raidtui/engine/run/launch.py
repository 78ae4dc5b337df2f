"""Start the runner so that it outlives the connection (a transient systemd service, else a session of its own), cancel it,
and follow its journal."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from raidtui.base.paths import ENTRY
from raidtui.base.proc import CLEAN_ENV, DEVNULL, find_tool, run, spawn
from raidtui.engine.run import runs
from raidtui.engine.run.journal import read_lasting, read_lines
from raidtui.model.event import DisksAdmitted, RunFinished
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.model.refusals import RUN_INTERRUPTED

RUNNER: Final = Refusal(
    "runner",
    "The run did not begin",
    "The runner process was started but did not answer in time: the server is very busy, or the process ended at once.",
    "`raidtui runs` shows whether it began after all. The log that the message names says why it did not.",
)
NOT_RUNNING: Final = Refusal(
    "not-running", "The run is not running", "There is nothing to cancel.", "`raidtui runs` lists the runs."
)

_ADMIT_TIMEOUT_S: Final = 300.0
"""Longer than the hosts of a run may take to answer (`peers.py`). A runner that ended is noticed at once."""
_STOP_TIMEOUT_S: Final = 900
"""Time that a system which shuts down waits for the teardown."""


def unit_name(run_name: str) -> str:
    return f"raidtui-run-{run_name}"


def has_systemd() -> bool:
    """Return True if systemd is process 1 and can start services."""
    return Path("/run/systemd/system").is_dir() and find_tool("systemd-run") is not None


def launch(folder: Path, words: Sequence[str] = ("runner",), *, service: bool = True) -> None:
    """Start the runner and wait until the gate let its disks through. `service`: as a service of systemd, if it runs.

    Raises ProblemError with what the gate refused; the run's folder is gone then, because nothing was touched.
    """
    argv = (sys.executable, "-I", str(ENTRY), *words, str(folder))
    if service and has_systemd():
        systemd_run = find_tool("systemd-run") or "systemd-run"
        properties = ("KillMode=mixed", f"TimeoutStopSec={_STOP_TIMEOUT_S}", "OOMPolicy=continue", "IgnoreSIGPIPE=no")
        run(
            (systemd_run, f"--unit={unit_name(folder.name)}", "--collect", "--quiet", "--service-type=exec",
             f"--description=raidtui run {folder.name}", "--setenv=LC_ALL=C",
             *(f"--property={p}" for p in properties), "--", *argv),
            timeout_s=60,
        )  # fmt: skip
    else:
        with (folder / runs.LOG_NAME).open("wb") as log:
            spawn(argv, stdin=DEVNULL, stdout=log, stderr=log, env=CLEAN_ENV, cwd="/", new_session=True)
    _await_admission(folder)


def _await_admission(folder: Path) -> None:
    deadline = time.monotonic() + _ADMIT_TIMEOUT_S
    seen_owner = False
    while time.monotonic() < deadline:
        alive = runs.owner(folder) is not None
        for record in read_lasting(folder):
            if isinstance(record.event, DisksAdmitted):
                return
            if isinstance(record.event, RunFinished):
                problems = record.event.problems
                if record.event.exit == Exit.REFUSED:
                    _await_end(folder)
                    runs.discard(folder)
                raise ProblemError(*problems)
        if seen_owner and not alive:
            break
        seen_owner |= alive
        time.sleep(0.05)
    with contextlib.suppress(ProblemError, OSError):
        cancel(folder)  # a late start must not write unnoticed
    raise fail(RUNNER, f"the runner of {folder.name} did not start", place=str(folder), exit=Exit.BUG,
               remedy=f"See `journalctl -u {unit_name(folder.name)}`, or runner.log in the run's folder.")  # fmt: skip


def _await_end(folder: Path) -> None:
    deadline = time.monotonic() + 10
    while runs.owner(folder) is not None and time.monotonic() < deadline:
        time.sleep(0.05)


def cancel(folder: Path) -> None:
    """Ask the runner to stop, tear down and end. Raises ProblemError (`not-running`)."""
    pid = runs.owner(folder)
    if pid == 0:
        raise fail(NOT_RUNNING, f"run {folder.name} is being recovered: that gives its disks back, and goes on",
                   remedy=f"raidtui attach {folder.name}", exit=Exit.REFUSED)  # fmt: skip
    if pid is None:
        raise fail(NOT_RUNNING, f"run {folder.name} is not running", remedy="`raidtui runs` lists the runs.")
    fd = os.pidfd_open(pid)
    try:
        # Between reading the number and opening it, the process may have ended and another one got its number.
        if runs.owner(folder) == pid:
            signal.pidfd_send_signal(fd, signal.SIGTERM)
    finally:
        os.close(fd)


KEPT_HALF: Final = Refusal(
    "kept-half",
    "A kept layout was not finished",
    "The runner was killed, or the server went down, after the layout was built and kept. Nothing of it is undone; what "
    "follows the build, such as the mount, may not have been done.",
    "Look at what is there, and do the rest by hand:",
)
_POLL_S: Final = 0.1
_ENDS: Final = (b'"event":{"kind":"run-finished"', b'"event":{"kind":"recover-finished"')


def follow(folder: Path, after: int, stopped: Callable[[], bool]) -> Iterator[msgspec.Raw]:
    """Records after number `after`, as the journal has them, until the run has ended or until `stopped`.

    They are handed on unparsed: following must not cost what is being measured. Raises ProblemError (`run-interrupted`,
    exit 6) if no process works on the run any more and its end was not written; `kept-half` (exit 5) if it kept its layout.
    """
    offset = number = 0
    ended = False
    while not stopped():
        alive = runs.owner(folder) is not None
        for line, position in read_lines(folder, offset):
            offset, number = position, number + 1
            if number > after:
                yield msgspec.Raw(line[:-1])
            ended = any(mark in line[:200] for mark in _ENDS)
        if ended and not alive:
            return
        if not alive:
            if runs.story_of(folder).kept:
                raise _kept_half(folder)
            raise fail(RUN_INTERRUPTED, f"the runner of {folder.name} is gone and did not finish", place=folder.name,
                       remedy=f"raidtui recover {folder.name}", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(_POLL_S)


def _kept_half(folder: Path) -> ProblemError:
    left = [shlex.join(argv) for step in runs.steps_of(folder) if step.phase == "keep" for argv in step.commands]
    text = f"the runner of {folder.name} is gone and did not finish, after the layout was built and kept"
    return fail(KEPT_HALF, text, place=folder.name, remedy="\n".join((KEPT_HALF.way_out, *left)), exit=Exit.INVALID)
