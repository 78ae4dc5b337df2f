"""Work that may hang in the kernel: it runs in a thread of its own, which is abandoned if nothing progresses."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from raidtui.base import attention, proc
from raidtui.base.attention import Watch
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal
from raidtui.model.refusals import STUCK

T = TypeVar("T")

TOOL_FAILED: Final = Refusal(
    "tool-failed",
    "A tool failed",
    "A storage tool returned an error; the message has its output.",
    "The command is in the journal: run it by hand to see more.",
)
MISSING_LIBRARY: Final = Refusal(
    "missing-library",
    "A library is missing",
    "raidtui builds through blivet and libblockdev, from the system's own Python.",
    "Install the packages that the message names; `raidtui doctor` shows everything that is missing.",
)


class CallFailed(ProblemError):
    """A call of a tool or library failed; `commands` are those that it had executed."""

    def __init__(self, problem: Problem, commands: tuple[Argv, ...]) -> None:
        super().__init__(problem)
        self.commands = commands


def bounded(work: Callable[[], T], what: str, *, silence_s: float | None = None, to_the_end: bool = False) -> T:
    """Run `work()` in a separate thread and return its result. Raises ProblemError (`stuck`) if nothing progresses.

    A disk that does not answer blocks the thread in the kernel, where it cannot be ended, so the thread is abandoned. The
    same holds if the present attention ends the call, except for work that changes something (`to_the_end`: it has to check
    for the end, or be short).
    """
    outcome: list[tuple[bool, Any]] = []

    def run() -> None:
        try:
            outcome.append((True, work()))
        except BaseException as error:  # raised again in the caller's thread
            outcome.append((False, error))

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), name=f"bounded {what}", daemon=True)
    thread.start()
    tid = thread.native_id or 0
    watch = Watch(what, lambda: attention.work_of_thread(tid), silence_s, ends=not to_the_end)
    try:
        while thread.is_alive():
            watch.tick()
            thread.join(attention.TICK_S)
    except BaseException as error:
        if isinstance(instead := proc.given_up((what,), error, []), proc.ToolStuck):
            raise ProblemError(stuck(what, instead)) from error
        raise
    done, value = outcome[0]
    if not done:
        raise value
    result: T = value
    return result


def stuck(what: str, error: proc.ToolStuck) -> Problem:
    """Return the problem of a command or kernel call that was abandoned."""
    place = f"/dev/{error.disk}" if error.disk else ""
    return STUCK.problem(f"{what} {error.reason}", place=place, remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)
