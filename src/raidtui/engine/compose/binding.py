"""Roles become disks: by what the operator says, or by themselves where exactly one choice fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from raidtui.gate.admit import DISK_TWICE
from raidtui.model.disk import Disk, Fingerprint, names_of
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.refusals import UNKNOWN_ROLE
from raidtui.model.scenario import Role

_Named = TypeVar("_Named", bound=Disk | Fingerprint)

TOO_FEW_DISKS: Final = Refusal(
    "too-few-disks",
    "Too few disks",
    "The role needs more free and fitting disks than this server has.",
    "`raidtui disks` says why a disk is not free.",
)
AMBIGUOUS_BINDING: Final = Refusal(
    "ambiguous-binding",
    "More disks fit than the role needs",
    "More free disks fit a role than it needs; raidtui does not choose for the operator.",
    "Name them: --bind ROLE=SERIAL,SERIAL.",
)
NO_SUCH_DISK: Final = Refusal(
    "no-such-disk",
    "No such disk",
    "The named disk is not on this server, or was named by a /dev name.",
    "Name disks by serial or WWN: `raidtui disks`.",
)
WRONG_COUNT: Final = Refusal(
    "wrong-count",
    "Wrong number of disks",
    "A role was bound to more or fewer disks than its count.",
    "Name as many disks as the role's count.",
)
MISFIT: Final = Refusal(
    "misfit",
    "The disk does not fit its role",
    "The disk does not meet the conditions of the role (`where`).",
    "Bind another disk.",
)


def bind(
    roles: Mapping[str, Role],
    said: Mapping[str, Sequence[str]],
    disks: Sequence[Disk],
    wished: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, tuple[Disk, ...]]:
    """Role → its disks, for all `roles`.

    `said` names disks by serial, WWN or id; `wished` (an earlier run's) is followed where all its disks are here and free,
    and forgotten otherwise. Raises ProblemError: exit 2 where names or counts are wrong, exit 3 where a disk is not free.
    """
    if strange := [role for role in said if role not in roles]:
        raise fail(UNKNOWN_ROLE, f"there is no role {strange[0]!r} to bind", remedy=f"Roles: {', '.join(roles)}.")
    bound = {role: tuple(_named(name, disks, role) for name in said[role]) for role in roles if role in said}
    taken = {disk.id for chosen in bound.values() for disk in chosen}
    for role, names in (wished or {}).items():
        if role in roles and role not in bound:
            chosen = tuple(d for name in names for d in disks if d.id == name and d.free and d.id not in taken)
            if len(chosen) == roles[role].count == len(names) and not _misfits(roles[role], chosen):
                bound[role] = chosen
                taken.update(d.id for d in chosen)
    left = {role: roles[role] for role in roles if role not in bound}
    found, problems = _only_choice(left, [d for d in disks if d.id not in taken])
    if problems:
        raise ProblemError(*problems)
    bound.update(found)
    if wrong := sorted(_wrong(roles, bound), key=lambda problem: problem.exit):
        raise ProblemError(*wrong)
    return {role: bound[role] for role in roles}


def bind_partly(
    roles: Mapping[str, Role],
    said: Mapping[str, Sequence[str]],
    disks: Sequence[Disk],
    wished: Mapping[str, Sequence[str]] | None = None,
) -> tuple[dict[str, tuple[Disk, ...]], tuple[Problem, ...]]:
    """Return the bindings of an unfinished choice: the roles that have all their disks, and the problems of the others.

    Disks that were named count whether they are free or not: what is asked of them is arithmetic only.
    """
    try:
        return bind(roles, said, disks, wished), ()
    except ProblemError as error:
        problems = error.problems
    bound: dict[str, tuple[Disk, ...]] = {}
    for role, names in said.items():
        found = tuple(disk for name in names if (disk := resolve(name, disks)) is not None)
        if role in roles and len({disk.id for disk in found}) == roles[role].count:
            bound[role] = found
    taken = {name for names in said.values() for name in names}
    left = {name: role for name, role in roles.items() if name not in said}
    alone, _ = _only_choice(left, [disk for disk in disks if not names_of(disk) & taken])
    return {**bound, **alone}, problems


def resolve(name: str, disks: Iterable[_Named]) -> _Named | None:
    """The one disk with this id, serial or WWN (with or without its prefix), or None."""
    fitting = [d for d in disks if name in names_of(d)]
    return fitting[0] if len(fitting) == 1 else None


def named_disk(name: str, disks: Iterable[Disk]) -> Disk:
    """Return the one disk with this name. Raises ProblemError (`no-such-disk`)."""
    if (disk := resolve(name, disks)) is None:
        raise fail(NO_SUCH_DISK, f"there is no disk {name[:80]!r} on this server", place=name[:80],
                   remedy=NO_SUCH_DISK.way_out)  # fmt: skip
    return disk


def _named(name: str, disks: Sequence[Disk], role: str) -> Disk:
    disk = resolve(name, disks)
    if disk is None:
        raise fail(NO_SUCH_DISK, f"there is no disk {name[:80]!r} on this server", place=f"--bind {role}",
                   remedy="`raidtui disks` lists the disks; name them by serial or WWN, not by /dev names.")  # fmt: skip
    return disk


def _misfits(role: Role, chosen: Iterable[Disk]) -> list[tuple[Disk, str]]:
    return [(disk, why) for disk in chosen if (why := role.where.mismatch(disk))]


def _only_choice(roles: Mapping[str, Role], disks: Sequence[Disk]) -> tuple[dict[str, tuple[Disk, ...]], list[Problem]]:
    """Bind the unbound roles: each must have exactly as many fitting free disks as it wants, and share none."""
    bound, problems = {}, []
    fitting = {name: [d for d in disks if d.free and not role.where.mismatch(d)] for name, role in roles.items()}
    for name, role in roles.items():
        found, place = fitting[name], f"$.roles.{name}"
        rivals = {d.id for other in roles if other != name for d in fitting[other]}
        if len(found) < role.count:
            busy = sum(not d.free and not role.where.mismatch(d) for d in disks)
            text = f"role {name!r} needs {role.count} free disks that fit; there are {len(found)}"
            text += f" (and {busy} that are not free)" if busy else ""
            remedy = TOO_FEW_DISKS.way_out
            problems.append(TOO_FEW_DISKS.problem(text, place=place, remedy=remedy, exit=Exit.REFUSED))
        elif len(found) > role.count or rivals & {d.id for d in found}:
            text = f"role {name!r} needs {role.count} disks and {len(found)} fit: choose them"
            example = f"For example: --bind {name}={','.join(d.id for d in found[: role.count])}"
            problems.append(AMBIGUOUS_BINDING.problem(text, place=place, remedy=example))
        else:
            bound[name] = tuple(sorted(found, key=lambda d: d.id))
    return bound, problems


def _wrong(roles: Mapping[str, Role], bound: Mapping[str, tuple[Disk, ...]]) -> Iterator[Problem]:
    """Yield everything that is wrong with the disks of bound roles."""
    owners: dict[str, str] = {}
    for name, role in roles.items():
        chosen, place = bound[name], f"--bind {name}"
        if len(chosen) != role.count:
            yield WRONG_COUNT.problem(f"role {name!r} needs {role.count} disks, {len(chosen)} were named", place=place)
        for disk, why in _misfits(role, chosen):
            yield MISFIT.problem(f"disk {disk.id} does not fit role {name!r}: {why}", place=place)
        for disk in chosen:
            if disk.id in owners:
                yield DISK_TWICE.problem(f"disk {disk.id} is named twice ({owners[disk.id]} and {name})", place=place)
            owners[disk.id] = name
            for reason in disk.reasons:
                text = f"disk {disk.id} is not free: {reason.message}"
                yield Problem(f"not-free.{reason.code}", text, disk.id, reason.remedy, exit=int(Exit.REFUSED))
