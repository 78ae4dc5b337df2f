"""Consent: which disks a plan erases, and whether the operator named exactly these."""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.base.text import clean
from raidtui.model.disk import Fingerprint, names_of
from raidtui.model.plan import Plan
from raidtui.model.problem import Exit, Problem, ProblemError


def erased_disks(plan: Plan) -> tuple[Fingerprint, ...]:
    """What is known of each disk that the plan erases, in its order."""
    known = {disk.id: disk for disks in plan.binding.values() for disk in disks}
    return tuple(known[id_] for id_ in plan.erases if id_ in known)


def check_consent(plan: Plan, named: Sequence[str]) -> tuple[str, ...]:
    """The ids of the disks to erase, when `named` are exactly these. Raises ProblemError (exit 3) naming which is wrong."""
    problems: list[Problem] = []
    meant: set[str] = set()
    for name in named:
        fitting = [disk for disk in erased_disks(plan) if name in names_of(disk)]
        if len(fitting) == 1:
            meant.add(fitting[0].id)
        else:
            what = "names more than one disk of this plan" if fitting else "is not a disk that this plan erases"
            problems.append(_refused("erase-too-many", f"{name[:80]!r} {what}", "Leave it out; nothing was touched."))
    for disk in erased_disks(plan):
        if disk.id not in meant:
            facts = f"{disk.model}, {disk.id}"
            remedy = f"Add {disk.id} to --erase, or bind other disks; nothing was touched."
            problems.append(_refused("erase-too-few", f"this plan erases a disk that was not named: {facts}", remedy))
    if problems:
        raise ProblemError(*problems)
    return plan.erases


def writable_name(disk: Fingerprint) -> str:
    """An id that survives a terminal and a shell: the WWN where the serial has signs that do not."""
    return next((name for name in (disk.id, disk.wwid) if name and clean(name) == name and "," not in name), disk.id)


def _refused(code: str, message: str, remedy: str) -> Problem:
    return Problem(code, message, "--erase", remedy, exit=int(Exit.REFUSED))
