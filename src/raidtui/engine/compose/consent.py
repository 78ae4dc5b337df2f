"""The operator's consent to a plan: exactly the disks that it erases, named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from raidtui.engine.compose.binding import resolve
from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.plan import Plan
from raidtui.model.problem import Exit, Problem, Refusal
from raidtui.model.refusals import ERASE_TOO_FEW, ERASE_TOO_MANY, pools_refused

ERASE_UNKNOWN: Final = Refusal(
    "erase-unknown",
    "--erase names an unknown disk",
    "--erase names something that is not a disk of this server.",
    "Name disks by serial or WWN: `raidtui disks`.",
)

ERASE_EXACTLY: Final = "Name exactly the disks that the plan erases."


def refused(plan: Plan, erase: tuple[str, ...], disks: Iterable[Disk], pools: tuple[str, ...] = ()) -> list[Problem]:
    """Return the problems of the operator's consent: missing and extra disks or pools. `disks`: this server's."""
    of_hosts = [disk for found in plan.binding.values() for disk in found if disk.host]
    every: list[Disk | Fingerprint] = [*disks, *of_hosts]
    named = {name: resolve(name, every) for name in erase}
    problems = [
        ERASE_UNKNOWN.problem(f"--erase names {name[:80]!r}, which is no disk here", exit=Exit.REFUSED)
        for name, disk in named.items() if disk is None
    ]  # fmt: skip
    ids = {disk.id for disk in named.values() if disk is not None}
    for extra in sorted(ids - set(plan.erases)):
        text, remedy = f"--erase names {extra}, which this plan does not erase", ERASE_EXACTLY
        problems.append(ERASE_TOO_MANY.problem(text, place=extra, remedy=remedy, exit=Exit.REFUSED))
    for missing in sorted(set(plan.erases) - ids):
        text, remedy = f"this plan erases {missing}, which --erase does not name", f"--erase {','.join(plan.erases)}"
        problems.append(ERASE_TOO_FEW.problem(text, place=missing, remedy=remedy, exit=Exit.REFUSED))
    return [*problems, *pools_refused(plan.takes, pools)]
