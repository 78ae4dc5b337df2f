"""Running LVM's own commands: always limited to the devices of one group, never waited for while nothing moves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, fail
from raidtui.stack.blockdev import CallFailed, stuck
from raidtui.stack.lvm.command import flat, limits

SETTLE_S: Final = 20
Rows = list[dict[str, Any]]


def run(argv: Argv, *, answer: str | None = None) -> Argv:
    """Run one command (`("lvm", "vgremove", …)`, `("dmsetup", …)`) and return it as it is written down.

    `answer` has a line for each question that it is known to ask; others get none, which LVM takes for no.
    Raises CallFailed (`tool-failed`, `stuck`) or ProblemError (`missing-library`).
    """
    path = _path(argv[0])
    try:
        given = None if answer is None else f"{answer}\n".encode()
        proc.run([path, *argv[1:]], input_bytes=given)
    except proc.ToolStuck as error:
        raise CallFailed(stuck(proc.name_of(argv), error), (argv,)) from error
    except proc.ToolError as error:
        said = error.finished.error_text if error.finished is not None else error.reason
        text = f"{' '.join(argv[:2])} failed: {clean(_last_lines(said))}"
        raise CallFailed(Problem("tool-failed", text, exit=int(Exit.BUILD_FAILED)), (argv,)) from error
    return argv


def settle() -> None:
    """Until udev's rules have let go of what was just made, as far as there is udev and it becomes quiet in time.

    LVM leaves a part of a volume active that anybody has open while it takes the volume down for a conversion, and then
    refuses to go on.
    """
    if (udevadm := proc.find_tool("udevadm")) is not None:
        with suppress(proc.ToolError):
            proc.run([udevadm, "settle", f"--timeout={SETTLE_S}"], timeout_s=SETTLE_S + 5, check=False)


def output(argv: Argv) -> str:
    """What a command that only reads prints. Raises ProblemError (`tool-failed`, `missing-library`)."""
    try:
        return proc.run([_path(argv[0]), *argv[1:]]).text
    except proc.ToolError as error:
        raise fail("tool-failed", f"{argv[0]} failed: {clean(error.reason)}", exit=Exit.BUILD_FAILED) from error


def report(what: str, fields: Sequence[str], paths: Sequence[str], *more: str) -> Rows:
    """Rows of `pvs`, `vgs` or `lvs` over these devices alone: by full field names, sizes in bytes, all as text.

    A group that misses devices is reported all the same. Raises ProblemError (`tool-failed`).
    """
    argv = [_path("lvm"), what, "--reportformat", "json", "--units", "b", "--nosuffix", "-o", ",".join(fields)]
    argv += [*flat(limits(paths)), *more]
    try:
        ran = proc.run(argv, check=False)
    except proc.ToolError as error:
        raise fail("tool-failed", f"{what} failed: {clean(error.reason)}", exit=Exit.BUILD_FAILED) from error
    try:
        rows: Rows = json.loads(ran.out)["report"][0][what.removesuffix("s")]
    except (ValueError, LookupError, TypeError) as error:
        text = f"{what} answered something else than its report: {clean(_last_lines(ran.error_text))}"
        raise fail("tool-failed", text, exit=Exit.BUILD_FAILED) from error
    return rows


def _path(name: str) -> str:
    path = proc.find_tool(name)
    if path is None:
        package = {"lvm": "lvm2"}.get(name, name)
        raise fail("missing-library", f"{name} is not installed", remedy=f"apt install {package}", exit=Exit.REFUSED)
    return path


def _last_lines(text: str) -> str:
    """What LVM says went wrong: what it warns of beside that was asked for (a conversion destroys content)."""
    lines = [line.strip() for line in text.splitlines()]
    wrong = [line for line in lines if not line.startswith(("WARNING:", "THIS WILL DESTROY CONTENT"))]
    return " ".join(wrong or lines)[-400:]
