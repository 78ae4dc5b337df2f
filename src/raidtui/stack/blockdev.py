"""libblockdev: loaded with only the needed plugins; the commands it runs are recorded.

Its calls wait for tools without limit, so each call runs in a separate thread. If nothing progresses, the call is
abandoned and its tools are ended.
"""

from __future__ import annotations

import contextvars
import os
import re
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from raidtui.base import attention, proc
from raidtui.base.attention import Watch
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.refusals import STUCK

T = TypeVar("T")

PACKAGES: Final = "gir1.2-blockdev-3.0 python3-blockdev python3-bytesize python3-gi"
_RUNNING: Final = re.compile(r"Running \[\d+\] (.*) \.\.\.", re.DOTALL)

TOOL_FAILED: Final = Refusal(
    "tool-failed",
    "A tool failed",
    "A storage tool returned an error; the message has its output.",
    "The command is in the journal: run it by hand to see more.",
)
MISSING_LIBRARY: Final = Refusal(
    "missing-library",
    "A library is missing",
    "raidtui builds md arrays and LVM volumes by libblockdev, from the system's own Python.",
    "Install the packages that the message names; `raidtui doctor` shows everything that is missing.",
)

_lock = threading.Lock()
_loaded: set[str] = set()
_ran = threading.local()


class CallFailed(ProblemError):
    """A call of libblockdev failed; `commands` are those that it had run."""

    def __init__(self, problem: Problem, commands: tuple[Argv, ...]) -> None:
        super().__init__(problem)
        self.commands = commands


class Called(NamedTuple):
    """Result of a call, and the commands it ran."""

    value: Any
    commands: tuple[Argv, ...]


def load(plugin: str) -> Any:
    """Return the module `gi.repository.BlockDev` with this plugin loaded. Raises ProblemError (`missing-library`)."""
    with _lock:
        try:
            import gi

            gi.require_version("BlockDev", "3.0")
            from gi.repository import BlockDev
        except (ImportError, ValueError) as error:
            text = f"libblockdev 3 cannot be loaded (it is in Debian 13 and Ubuntu 24.04, not in Debian 12): {clean(error)}"
            raise _missing(text, PACKAGES) from error
        if plugin not in _loaded:
            # libblockdev finds its tools by PATH, and the PATH of a caller cannot be trusted.
            os.environ["PATH"] = proc.CLEAN_ENV["PATH"]
            names = sorted({plugin, *_loaded})
            # By file, because other packages (libblockdev-lvm-dbus3) replace a plugin by one with other features.
            known = {name: BlockDev.plugin_specs_from_names([name])[0].name for name in names}
            specs = [BlockDev.PluginSpec(number, f"libbd_{name}.so.3") for name, number in known.items()]
            text, package = f"the {plugin} plugin of libblockdev cannot be loaded", f"libblockdev-{plugin}3"
            try:
                if not BlockDev.reinit(specs, False, _on_log):
                    raise _missing(text, package)
            except _glib_error() as error:
                raise _missing(f"{text}: {clean(error)}", package) from error
            BlockDev.utils_set_log_level(6)
            _loaded.add(plugin)
        return BlockDev


def call(plugin: str, function: str, *args: Any, **options: Any) -> Called:
    """Call `BlockDev.function(*args, **options)`.

    Raises CallFailed with the tool's message (`tool-failed`), or if nothing progresses (`stuck`); errors of the present
    attention are passed on.
    """
    blockdev = load(plugin)
    ran: list[Argv] = []

    def work() -> Any:
        _ran.commands = ran
        return getattr(blockdev, function)(*args, **options)

    what = function.replace("_", " ")
    try:
        value = bounded(work, what, tools=True)
    except _glib_error() as error:
        text = f"{what} failed: {clean(getattr(error, 'message', error))}"
        raise CallFailed(TOOL_FAILED.problem(text, exit=Exit.BUILD_FAILED), tuple(ran)) from error
    except ProblemError as error:
        if error.problems[0].code != "stuck":
            raise
        raise CallFailed(error.problems[0], tuple(ran)) from error
    return Called(value, tuple(ran))


def bounded(
    work: Callable[[], T], what: str, *, silence_s: float | None = None, to_the_end: bool = False, tools: bool = False
) -> T:
    """Run `work()` in a separate thread and return its result. Raises ProblemError (`stuck`) if nothing progresses.

    A disk that does not answer blocks the thread in the kernel, where it cannot be ended, so the thread is abandoned. The
    same holds if the present attention ends the call, except for work that changes something (`to_the_end`: it has to check
    for the end, or be short). `tools`: end the tools that the work started.
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
        left = proc.end_all(attention.descendants_of_thread(tid)) if tools else []
        if tools and not left:
            thread.join(proc.KILL_GRACE_S)
        if isinstance(instead := proc.given_up((what,), error, left), proc.ToolStuck):
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


def parse_command(message: str) -> Argv | None:
    """Return the argv of a line of libblockdev's log, which joins arguments by single spaces; None for other lines."""
    match = _RUNNING.fullmatch(message)
    return tuple(match.group(1).split(" ")) if match else None


def _on_log(_level: int, message: str) -> None:
    """Record a command; libblockdev calls this in the thread of the call."""
    argv = parse_command(message)
    commands = getattr(_ran, "commands", None)
    # libblockdev asks every tool for its version before the first use.
    if argv is not None and commands is not None and argv[1:] not in (("--version",), ("version",)):
        commands.append(argv)


def _glib_error() -> type[Exception]:
    from gi.repository import GLib

    error: type[Exception] = GLib.Error
    return error


def _missing(text: str, packages: str) -> ProblemError:
    return fail(MISSING_LIBRARY, text, remedy=f"apt install {packages}", exit=Exit.REFUSED)
