"""Running the few commands of the bcache layer, and writing into files of sysfs: never waited for while nothing moves."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.stack.bcache.rules import MISSING
from raidtui.stack.blockdev import TOOL_FAILED, CallFailed, bounded, stuck

_PACKAGES: Final = {"make-bcache": "bcache-tools", "modprobe": "kmod", "wipefs": "util-linux", "sh": "dash"}


def run(argv: Argv) -> Argv:
    """Run one command, and return it as it is written down.

    Raises CallFailed (`tool-failed`, `stuck`) or ProblemError (`bcache-missing`).
    """
    path = proc.find_tool(argv[0])
    if path is None:
        raise fail(MISSING, f"{argv[0]} is not installed", remedy=f"apt install {_PACKAGES[argv[0]]}",
                   exit=Exit.REFUSED)  # fmt: skip
    try:
        proc.run([path, *argv[1:]])
    except proc.ToolStuck as error:
        raise CallFailed(stuck(proc.name_of(argv), error), (argv,)) from error
    except proc.ToolError as error:
        said = error.finished.error_text or error.finished.text if error.finished is not None else error.reason
        text = f"{argv[0]} failed: {clean(' '.join(said.split())[-400:])}"
        raise CallFailed(TOOL_FAILED.problem(text, exit=Exit.BUILD_FAILED), (argv,)) from error
    return argv


def write(path: Path | str, value: str) -> None:
    """Write into a file of sysfs. Raises OSError where the kernel refuses it, ProblemError (`stuck`)."""

    def work() -> None:
        with Path(path).open("w") as file:
            file.write(value)

    bounded(work, f"writing {path}", to_the_end=True)
