"""The runner's side of the builder: starts the child when something is built, and waits for its answers under attention."""

from __future__ import annotations

import importlib.util
import os
import select
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from raidtui.base import attention, proc
from raidtui.base.attention import Watch
from raidtui.base.paths import ENTRY
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.stack.calls import MISSING_LIBRARY, TOOL_FAILED, CallFailed, stuck

BUILDER_LOST: Final = Refusal(
    "builder-lost",
    "The builder ended",
    "The process in which blivet builds ended without an answer. What it had created is taken down as after any failure.",
    "See dmesg (out of memory?) and runner.log in the run's folder; run it again.",
)
PACKAGES: Final = (
    "gir1.2-blockdev-3.0 python3-blockdev python3-bytesize python3-gi python3-packaging python3-parted python3-pyudev "
    "python3-selinux libblockdev-mdraid3 libblockdev-lvm3 libblockdev-crypto3 libblockdev-fs3 libblockdev-part3 "
    "libblockdev-swap3 libblockdev-btrfs3 mdadm lvm2"
)
"""Debian packages that blivet and libblockdev need."""
LIBRARIES: Final = "raidtui.stack.builder.libraries"
"""The module that loads blivet."""
TREE: Final = "raidtui.stack.builder.tree"
"""The module of the second look."""
_MODULES: Final = {
    "blivet": "pip install blivet beside the raidtui that you start: over ssh it is brought along (on this machine itself: "
    "pip install --break-system-packages blivet)",
    "dasbus": "apt install python3-dasbus",
    "parted": "apt install python3-parted",
    "bytesize": "apt install python3-bytesize",
    "packaging": "apt install python3-packaging",
    "selinux": "apt install python3-selinux",
}
"""Modules that are imported with blivet, each with the way to get it."""


def require() -> None:
    """Check that blivet and its libraries are installed, and load none but gi. Raises ProblemError (`missing-library`)."""
    try:
        import gi

        gi.require_version("BlockDev", "3.0")
    except (ImportError, ValueError) as error:
        text = f"libblockdev 3 cannot be loaded (it is in Debian 13 and Ubuntu 24.04, not in Debian 12): {clean(error)}"
        raise fail(MISSING_LIBRARY, text, remedy=f"apt install {PACKAGES}", exit=Exit.REFUSED) from error
    require_modules(_MODULES)


def require_modules(modules: Mapping[str, str]) -> None:
    """Check that modules, given with the way to get each, are installed; load none. Raises ProblemError."""
    for module, remedy in modules.items():
        if importlib.util.find_spec(module) is None:
            raise fail(MISSING_LIBRARY, f"the Python module {module} is not installed", remedy=remedy, exit=Exit.REFUSED)


class Request(msgspec.Struct, frozen=True):
    """One call: `md.create` is the function `create` of `raidtui.stack.md.builder`."""

    function: str
    args: dict[str, Any]


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the child."""

    ran: Argv = ()
    """A command that begins now; the other fields are empty then."""
    value: Any = None
    failed: str = ""
    """The library's or the tool's message."""
    missing: bool = False
    """True if a library is missing; `failed` names it."""


class Built(NamedTuple):
    """Result of a call, and the commands that it executed."""

    value: Any
    commands: tuple[Argv, ...]


_ANSWERS: Final = msgspec.json.Decoder(Answer)


class Builder:
    """The builder of one run. The child works in `folder`, so that recovery finds and ends what a killed runner left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._child: proc.Child | None = None
        self._is_ready = False
        self._unread = b""

    def start(self, *modules: str) -> None:
        """Start the child, which loads these modules while others work on."""
        if self._child is None or self._child.poll() is not None:
            self.close()
            folder = self._folder if self._folder.is_dir() else self._folder.parent
            # What libraries warn of is for their authors; of a lost host, the last words on stderr are quoted.
            argv = (sys.executable, "-I", "-W", "ignore", str(ENTRY), "builder", *modules)
            self._child = proc.spawn(argv, stdin=proc.PIPE, stdout=proc.PIPE, cwd=folder)

    def load(self) -> None:
        """Wait until the child has loaded blivet, which takes longer than disks may be unheld.

        Raises ProblemError (`missing-library`).
        """
        self.start(LIBRARIES)
        if not self._is_ready:
            self._ask("blivet.ready", {})
            self._is_ready = True

    def call(self, function: str, **args: Any) -> Built:
        """Call a layer's function in the child.

        Raises CallFailed with the tool's message (`tool-failed`), or if nothing progresses (`stuck`); ProblemError if the
        child ended (`builder-lost`); errors of the present attention are passed on.
        """
        self.start()
        return self._ask(function, args)

    def close(self) -> None:
        """End the child, if there is one."""
        child, self._child, self._is_ready, self._unread = self._child, None, False, b""
        if child is None:
            return
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()
        if child.wait(2.0) is None:
            child.end()

    def _ask(self, function: str, args: dict[str, Any], silence_s: float | None = None) -> Built:
        child = self._child
        assert child is not None
        what, commands = function.replace(".", " "), list[Argv]()
        try:
            assert child.stdin is not None
            child.stdin.write(msgspec.json.encode(Request(function, msgspec.to_builtins(args))) + b"\n")
            child.stdin.flush()
            while (answer := self._next(child, what, silence_s)).ran:
                commands.append(answer.ran)
                what = proc.name_of(answer.ran)
        except OSError as error:
            self.close()
            raise fail(BUILDER_LOST, f"{what}: the builder ended: {error.strerror}", exit=Exit.BUILD_FAILED) from error
        except BaseException as error:
            # Nothing moves, or the operator ended it: the child is ended with its tool; the next call starts another one.
            started = attention.descendants(child.pid)
            left = ([child.pid] if child.end() is None else []) + proc.end_all(started)
            self.close()
            if isinstance(instead := proc.given_up((what,), error, left), proc.ToolStuck):
                raise CallFailed(stuck(what, instead), tuple(commands)) from error
            raise
        if answer.missing:
            raise fail(MISSING_LIBRARY, answer.failed, remedy="`raidtui doctor` says how to install it.", exit=Exit.REFUSED)
        if answer.failed:
            problem = TOOL_FAILED.problem(f"{what} failed: {clean(answer.failed)}", exit=Exit.BUILD_FAILED)
            raise CallFailed(problem, tuple(commands))
        return Built(answer.value, tuple(commands))

    def _next(self, child: proc.Child, what: str, silence_s: float | None) -> Answer:
        """Return the child's next line. Raises OSError if it ended."""
        assert child.stdout is not None
        watch = Watch(what, lambda: attention.work_of([child.pid]), silence_s)
        while b"\n" not in self._unread:
            watch.tick()
            if not select.select([child.stdout], [], [], attention.TICK_S)[0]:
                continue
            if not (chunk := os.read(child.stdout.fileno(), 1 << 16)):
                raise ChildProcessError(0, f"exit code {child.wait(1.0)}")
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        return _ANSWERS.decode(line)
