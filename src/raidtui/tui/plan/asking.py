"""What the engine is asked to plan, when to ask again, and where what it refuses is put right. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from raidtui.base.text import clean
from raidtui.front.consent import erased_disks
from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import Problem
from raidtui.model.protocol import DiskList, PlanRequest
from raidtui.tui.draft import Draft, role_names


class Way(NamedTuple):
    """Where something is put right: a key, and what is there."""

    key: str
    words: str


COMPOSE = Way("2", "Compose")
DISKS = Way("1", "Disks")
RUN = Way("4", "Run")
AGAIN = Way("ctrl+r", "reconnect")


def names_in(draft: Draft, part: str) -> tuple[str, ...]:
    """Names of the draft's `roles`, `layouts` or `workloads`."""
    given = draft.document.get(part)
    return tuple(given) if isinstance(given, Mapping) else ()


def request_of(draft: Draft, options: Options) -> PlanRequest:
    """The draft as it is. Names that are no longer in it are left out of the options, disks of roles that it lacks, too."""
    bind = {role: ids for role, ids in draft.bind.items() if ids and role in names_in(draft, "roles")}
    kept = Options(
        quick=options.quick,
        layouts=tuple(name for name in options.layouts if name in names_in(draft, "layouts")),
        workloads=tuple(name for name in options.workloads if name in names_in(draft, "workloads")),
    )
    return PlanRequest(json.dumps(draft.document, indent=2, ensure_ascii=False), bind, kept)


def missing(draft: Draft) -> tuple[tuple[str, Way], ...]:
    """What a plan cannot be without, and where it is made; empty when the engine can be asked."""
    lacks = []
    if not role_names(draft):
        lacks.append(("no disks have a role: select some and give them to one", DISKS))
    if not names_in(draft, "layouts"):
        lacks.append(("there is no layout: say what is to be built over the disks", COMPOSE))
    if not names_in(draft, "workloads"):
        lacks.append(("there is no workload: say what is to be measured", COMPOSE))
    return tuple(lacks)


def standing(disks: DiskList | None) -> frozenset[tuple[object, ...]]:
    """All that a plan depends on of the disks that are there: temperatures and the like are not."""
    return frozenset((d.id, d.wwid, d.size_bytes, d.diskseq, d.free) for d in (disks.disks if disks else ()))


def way_out(problem: Problem) -> Way:
    """The screen where this is put right."""
    if problem.code in ("engine-lost", "engine-answer", "engine-start", "unreachable"):
        return AGAIN
    if problem.code == "not-free.held":
        return RUN
    by_disk = problem.code.startswith("not-free.") or problem.place.startswith(("--bind", "--erase"))
    if by_disk or problem.code in ("too-few-disks", "ambiguous-binding", "no-such-disk", "wrong-count"):
        return DISKS
    return COMPOSE


def disturbed(plan: Plan, disks: DiskList | None) -> str:
    """Why the disks to be erased are not those that were planned with; empty while they are."""
    there = {disk.id: disk for disk in (disks.disks if disks else ())}
    for planned in erased_disks(plan):
        if why := _changed(planned, there.get(planned.id)):
            return f"disk {clean(planned.id, 60)} {why}"
    return ""


def _changed(planned: Fingerprint, disk: Disk | None) -> str:
    if disk is None:
        return "is gone"
    if planned.diskseq is not None and disk.diskseq is not None and disk.diskseq != planned.diskseq:
        return "was unplugged and plugged in again"
    if (planned.wwid, planned.size_bytes) != (disk.wwid, disk.size_bytes):
        return "is another disk now"
    return f"is not free any more: {clean(disk.reasons[0].message)}" if disk.reasons else ""


def found_on(disk: Disk | None) -> str:
    """What was found on a disk, as far as the engine told."""
    if disk is None:
        return "unknown: gone"
    if not disk.reasons:
        return "nothing: blank"
    return "; ".join(clean(reason.message) for reason in disk.reasons)
