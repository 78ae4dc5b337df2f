"""Overwriting disks with zeroes: the action `disks.blank`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec

from raidtui.base.attention import Attention, attending, current
from raidtui.gate.admit import BUSY_PATIENCE_S
from raidtui.gate.blank import NOT_BLANK, make_blank
from raidtui.model.problem import Exit, Problem, ProblemError
from raidtui.stack.action import Action, Outcome
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context

_AT_ONCE: Final = 32


class DisksToBlank(msgspec.Struct, frozen=True):
    """Arguments of `disks.blank`."""

    disks: tuple[str, ...]
    """References: `disk:ID`."""
    if_written: bool = False
    """True to leave out disks that this run did not write to: nothing of the run is on them."""


def blank(context: Context, args: DisksToBlank) -> Outcome:
    """Write zeroes to whole disks in parallel, and prove it by reading back.

    Facts: `blank`, the proof by disk id; `unwritten`, the disks left out. Disks that could not be made blank, or that
    carry foreign data, are among the problems.
    """
    wanted = [ref.removeprefix("disk:") for ref in args.disks]
    proven = {disk: context.zero_proof[disk] for disk in wanted if disk in context.zero_proof}
    left = [disk for disk in wanted if disk not in proven and (disk in context.written or not args.if_written)]
    unwritten = [disk for disk in wanted if disk not in proven and disk not in left]
    if not left:
        return Outcome("already there" if proven else "nothing to do", {"blank": proven, "unwritten": unwritten})
    done, problems = _blank(context, left)
    return Outcome("done", {"blank": {**proven, **done}, "unwritten": unwritten}, problems=problems)


def _blank(context: Context, disks: Sequence[str]) -> tuple[dict[str, dict[str, Any]], tuple[Problem, ...]]:
    fractions = dict.fromkeys(disks, 0.0)
    lock = threading.Lock()
    limit_s = current().limit_s

    def one(disk: str) -> dict[str, Any]:
        def progress(done: int, size: int) -> None:
            with lock:
                fractions[disk] = done / size
                context.report("bringing to zeroes", sum(fractions.values()) / len(fractions))

        permit = context.permit(disk)
        permit.hold(BUSY_PATIENCE_S)
        context.about_to_write([disk])
        given_up = threading.Event()

        def work() -> dict[str, Any]:
            return make_blank(permit, progress=progress, cancelled=lambda: context.cancelled.is_set() or given_up.is_set())

        with attending(Attention((permit.disk.name,), limit_s=limit_s)):
            try:
                return bounded(work, f"bringing {permit.disk.name} to zeroes", to_the_end=True)
            except ProblemError:
                given_up.set()  # should the disk answer after all, nothing more is written to it
                raise

    found: dict[str, dict[str, Any]] = {}
    problems: list[Problem] = []
    with ThreadPoolExecutor(min(_AT_ONCE, len(disks))) as pool:
        for disk, future in [(disk, pool.submit(one, disk)) for disk in disks]:
            try:
                found[disk] = future.result()
            except ProblemError as error:
                problems += error.problems
            except OSError as error:
                problems.append(
                    Problem(NOT_BLANK.code, f"zeroes cannot be written: {error.strerror}", disk, exit=int(Exit.LEFT_BEHIND))
                )
    context.zero_proof.update(found)
    context.written -= found.keys()
    return found, tuple(problems)


ACTIONS: Final[dict[str, Action[Any]]] = {"disks.blank": Action(args=DisksToBlank, do=blank)}
