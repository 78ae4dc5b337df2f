"""libblockdev: started when first needed, with only the plugins that are needed, and every command it runs written down.

Its calls wait for the tools they run without limit, so each is made in a thread of its own and given up after a deadline.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, fail

T = TypeVar("T")

# Debian's libblockdev-lvm-dbus3 would put a plugin with other abilities in the place of this one.
_LIBRARIES: Final = {"lvm": "libbd_lvm.so.3"}
PACKAGES: Final = "gir1.2-blockdev-3.0 python3-blockdev python3-bytesize python3-gi"
_PLUGIN_PACKAGES: Final = {"mdraid": "libblockdev-mdraid3 mdadm", "lvm": "libblockdev-lvm3 lvm2"}
_RUNNING: Final = re.compile(r"Running \[\d+\] (.*) \.\.\.", re.DOTALL)

_lock = threading.Lock()
_loaded: set[str] = set()
_ran = threading.local()


class CallFailed(ProblemError):
    """A call of libblockdev failed; `commands` is what it had run by then."""

    def __init__(self, problem: Problem, commands: tuple[Argv, ...]) -> None:
        super().__init__(problem)
        self.commands = commands


class Called(NamedTuple):
    """What a call returned, and what it ran."""

    value: Any
    commands: tuple[Argv, ...]


def load(plugin: str) -> Any:
    """The module `gi.repository.BlockDev` with this plugin loaded. Raises ProblemError (`missing-library`)."""
    with _lock:
        try:
            import gi

            gi.require_version("BlockDev", "3.0")
            from gi.repository import BlockDev
        except (ImportError, ValueError) as error:
            raise _missing(f"libblockdev for Python cannot be loaded: {clean(error)}", PACKAGES) from error
        if plugin not in _loaded:
            # libblockdev looks its tools up by PATH, and a caller's PATH is not to be trusted.
            os.environ["PATH"] = proc.CLEAN_ENV["PATH"]
            specs = [_spec(BlockDev, name) for name in sorted({plugin, *_loaded})]
            try:
                if not BlockDev.reinit(specs, False, _on_log):
                    raise _missing(f"the {plugin} plugin of libblockdev cannot be loaded", _PLUGIN_PACKAGES[plugin])
            except _glib_error() as error:
                text = f"the {plugin} plugin of libblockdev cannot be loaded: {clean(error)}"
                raise _missing(text, _PLUGIN_PACKAGES[plugin]) from error
            BlockDev.utils_set_log_level(6)
            _loaded.add(plugin)
        return BlockDev


def version() -> str | None:
    """libblockdev's version by its library file, or None where it is not installed."""
    try:
        import gi

        gi.require_version("BlockDev", "3.0")
        from gi.repository import BlockDev
    except (ImportError, ValueError):
        return None
    return str(getattr(BlockDev, "_version", "3.0"))


def call(plugin: str, function: str, *args: Any, timeout_s: float, **options: Any) -> Called:
    """`BlockDev.function(*args, **options)`.

    Raises CallFailed with what the tool said (`tool-failed`), or after `timeout_s` (`stuck`).
    """
    blockdev = load(plugin)
    ran: list[Argv] = []

    def work() -> Any:
        _ran.commands = ran
        return getattr(blockdev, function)(*args, **options)

    what = function.replace("_", " ")
    try:
        value = bounded(work, timeout_s, what)
    except _glib_error() as error:
        text = f"{what} failed: {clean(getattr(error, 'message', error))}"
        raise CallFailed(Problem("tool-failed", text, exit=int(Exit.BUILD_FAILED)), tuple(ran)) from error
    except ProblemError as error:
        raise CallFailed(error.problems[0], tuple(ran)) from error
    return Called(value, tuple(ran))


def bounded(work: Callable[[], T], timeout_s: float, what: str) -> T:
    """`work()` in a thread of its own. Raises ProblemError (`stuck`) when it takes longer than `timeout_s`.

    A disk that does not answer holds its thread in the kernel, where nothing can end it: it is left behind.
    """
    outcome: list[tuple[bool, Any]] = []

    def run() -> None:
        try:
            outcome.append((True, work()))
        except BaseException as error:  # handed to the caller's thread, whatever it is
            outcome.append((False, error))

    thread = threading.Thread(target=run, name=f"bounded {what}", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if not outcome:
        raise fail("stuck", f"{what} did not end within {timeout_s:g} s",
                   remedy="A device does not answer: look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
    done, value = outcome[0]
    if not done:
        raise value
    result: T = value
    return result


def parse_command(message: str) -> Argv | None:
    """The argv in one line of libblockdev's log, or None for other lines. It joins arguments by single spaces."""
    match = _RUNNING.fullmatch(message)
    return tuple(match.group(1).split(" ")) if match else None


def _on_log(_level: int, message: str) -> None:
    """Called in the thread that made the call."""
    argv = parse_command(message)
    commands = getattr(_ran, "commands", None)
    # It asks every tool for its version once before it first uses it.
    if argv is not None and commands is not None and argv[1:] not in (("--version",), ("version",)):
        commands.append(argv)


def _spec(blockdev: Any, name: str) -> Any:
    (spec,) = blockdev.plugin_specs_from_names([name])
    if name in _LIBRARIES:
        return blockdev.PluginSpec(spec.name, _LIBRARIES[name])
    return spec


def _glib_error() -> type[Exception]:
    from gi.repository import GLib

    error: type[Exception] = GLib.Error
    return error


def _missing(text: str, packages: str) -> ProblemError:
    return fail("missing-library", text, remedy=f"apt install {packages}", exit=Exit.REFUSED)
