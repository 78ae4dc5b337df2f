"""Running the few commands of the bcache layer, and writing into files of sysfs: always with a deadline."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, fail
from raidtui.stack.blockdev import CallFailed, bounded

TIMEOUT_S: Final = 60.0
_PACKAGES: Final = {"make-bcache": "bcache-tools", "modprobe": "kmod", "wipefs": "util-linux", "sh": "dash"}


def run(argv: Argv) -> Argv:
    """Run one command, and return it as it is written down.

    Raises CallFailed (`tool-failed`, `stuck`) or ProblemError (`bcache-missing`).
    """
    path = proc.find_tool(argv[0])
    if path is None:
        raise fail("bcache-missing", f"{argv[0]} is not installed", remedy=f"apt install {_PACKAGES[argv[0]]}",
                   exit=Exit.REFUSED)  # fmt: skip
    try:
        proc.run([path, *argv[1:]], timeout_s=TIMEOUT_S)
    except proc.ToolTimeout as error:
        text = f"{argv[0]} did not end within {TIMEOUT_S:g} s"
        raise CallFailed(Problem("stuck", text, remedy="A device does not answer: look at dmesg.",
                                 exit=int(Exit.BUILD_FAILED)), (argv,)) from error  # fmt: skip
    except proc.ToolError as error:
        said = error.finished.error_text or error.finished.text if error.finished is not None else error.reason
        text = f"{argv[0]} failed: {clean(' '.join(said.split())[-400:])}"
        raise CallFailed(Problem("tool-failed", text, exit=int(Exit.BUILD_FAILED)), (argv,)) from error
    return argv


def write(path: Path | str, value: str) -> None:
    """Write into a file of sysfs. Raises OSError where the kernel refuses it, ProblemError (`stuck`)."""

    def work() -> None:
        with Path(path).open("w") as file:
            file.write(value)

    bounded(work, TIMEOUT_S, f"writing {path}")
