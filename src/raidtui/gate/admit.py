"""The gate: decide if a run may write to the disks it asks for. An unknown state is a refusal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from raidtui.base.text import clean
from raidtui.gate import locks
from raidtui.gate.last_look import foreign
from raidtui.gate.locks import Lock
from raidtui.gate.permit import ISSUER, Permit, changed, gone
from raidtui.inventory import CONTENT, Examined, Ownership, Signature, boot_id, examine
from raidtui.inventory.content import describe
from raidtui.model.disk import Fingerprint, Reason, fingerprint
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail

DISK_TWICE: Final = Refusal(
    "disk-twice", "Disk named twice", "One disk was bound to two roles, or twice to one role.", "Name each disk once."
)

LOOK_S = 20.0
"""Duration of the search for data on each disk before a run first writes to it, in seconds, beyond that of every scan."""

Evidence = Callable[[Mapping[str, Any]], None]
Judge = Callable[[Fingerprint, Examined], list[Problem]]

BUSY_PATIENCE_S: Final = 5.0
"""Time for which a free disk may be busy: udev's programs and other scans open it for a moment."""
_LASTING_FIELDS = ("serial", "wwid", "model", "size_bytes", "logical_sector_bytes")
"""Properties that stay the same for a disk in every boot and every slot."""
_ALL_FIELDS = (*_LASTING_FIELDS, "id", "diskseq", "boot_id")
_RECOVERABLE = CONTENT | {"lvm-vg"}
_MAY_BE_ANYBODYS = (
    "; it was away since the run wrote to it (unplugged, or the machine restarted), and may have been used elsewhere"
)


class Admitted(NamedTuple):
    """Permits for the admitted disks, and the problems of the refused ones."""

    permits: list[Permit]
    refused: list[Problem]


def admit(
    run_id: str, wanted: Sequence[Fingerprint], evidence: Evidence | None = None, held: Mapping[str, str] | None = None
) -> list[Permit]:
    """Lock, examine, pin and hold all wanted disks, or none; return one permit for each, in the same order.

    `evidence` is called for each disk with the checks and findings. `held`: disk → unfinished run, in addition to the
    locks. Raises ProblemError (exit 3) with one problem per disk and reason.
    """
    _refuse_twice(wanted)
    taken = {lock.key: lock for lock in locks.take(run_id, map(locks.lock_key, wanted))}
    permits, refused = _admit(run_id, wanted, taken, _judge_free, evidence, held, LOOK_S)
    if refused:
        for permit in permits:
            permit.close()
        raise ProblemError(*refused)
    return permits


def admit_for_recovery(
    run_id: str,
    wanted: Sequence[Fingerprint],
    ours: Collection[Signature],
    nameless: Collection[str] = (),
    evidence: Evidence | None = None,
    held: Mapping[str, str] | None = None,
) -> Admitted:
    """Admit disks like `admit`, for the recovery of a run: after a reboot or re-plug, and with the run's own remains on
    them.

    Each disk is judged alone: a refused disk does not keep the others from being given back. `ours` are the signatures
    that the run created, by type and UUID (or type and label). A disk may carry these; data under no signature only beside
    one of them, or on the disks in `nameless`, on which the run is known to have written such data. A signature that is
    not the run's, a mount, a holder or any other user refuses the disk.
    """
    _refuse_twice(wanted)
    taken: dict[str, Lock] = {}
    refused: list[Problem] = []
    for want in wanted:
        try:
            taken |= {lock.key: lock for lock in locks.take(run_id, [locks.lock_key(want)])}
        except ProblemError as error:
            refused += [replace(problem, place=want.id) for problem in error.problems]
        except BaseException:
            for lock in taken.values():
                lock.release()
            raise

    def judge(want: Fingerprint, found: Examined) -> list[Problem]:
        return _judge_left(want, found, ours, want.id in nameless)

    locked = [want for want in wanted if locks.lock_key(want) in taken]
    found = _admit(run_id, locked, taken, judge, evidence, held)
    return Admitted(found.permits, refused + found.refused)


def admit_to_free(
    name: str, wanted: Fingerprint, shown: Collection[tuple[str, str]], held: Mapping[str, str],
    told: Callable[[Iterable[Reason]], Collection[tuple[str, str]]],
) -> Permit:  # fmt: skip
    """Admit one disk whose content the operator gave up, with exactly the content that was shown (`told` of its reasons).

    Any reason that is not content, the kernel's refusal of exclusive access among them, refuses the disk. `held`: disk →
    unfinished run. Raises ProblemError.
    """

    def judge(want: Fingerprint, found: Examined) -> list[Problem]:
        problems = _differences(want, found, _ALL_FIELDS)
        problems += _refusals(want, [reason for reason in found.disk.reasons if reason.code not in CONTENT])
        if not problems and set(told(found.disk.reasons)) != set(shown):
            problems += changed(want, "what is on it is not what was shown").problems
        return problems

    taken = {lock.key: lock for lock in locks.take(name, [locks.lock_key(wanted)])}
    permits, refused = _admit(name, [wanted], taken, judge, None, held)
    if refused:
        for permit in permits:
            permit.close()
        raise ProblemError(*refused)
    return permits[0]


def readmit(permits: Sequence[Permit]) -> None:
    """Check again, under lock and pin, before each layout is built and at the end of the run; hold the disks from then on.

    The last look before a write is `last_look.py:taken`. Raises ProblemError; the permits stay open.
    """
    if not permits:
        return
    for permit in permits:
        permit.verify()
        with suppress(ProblemError):  # the examination names the program that has it
            permit.hold()
    holds = frozenset(permit.disk.id for permit in permits if permit.held)
    wanted = [permit.fingerprint for permit in permits]
    _, refused = _examine_all(permits[0].run_id, wanted, _judge_free, None, None, holds)
    if refused:
        raise ProblemError(*refused)
    for permit in permits:
        permit.verify()
        permit.hold(BUSY_PATIENCE_S)


def _refuse_twice(wanted: Sequence[Fingerprint]) -> None:
    if len({want.id for want in wanted}) != len(wanted):
        raise fail(DISK_TWICE, "a disk was asked for twice", exit=Exit.REFUSED)


def _admit(
    run_id: str,
    wanted: Sequence[Fingerprint],
    taken: dict[str, Lock],
    judge: Judge,
    evidence: Evidence | None,
    held: Mapping[str, str] | None,
    look_s: float = 0.0,
) -> Admitted:
    """Issue permits for the wanted disks that are not refused, and release the locks of the others."""
    permits: list[Permit] = []
    try:
        examined, refused = _examine_all(run_id, wanted, judge, evidence, held, look_s=look_s)
        for want in (want for want in wanted if want.id in examined):
            found = examined[want.id]
            try:
                permit = Permit(ISSUER, found.disk, fingerprint(found.disk, boot_id()), taken[locks.lock_key(want)])
                del taken[locks.lock_key(want)]
                permits.append(permit)
                permit.hold(BUSY_PATIENCE_S)
            except ProblemError as error:
                refused += error.problems
    except BaseException:
        for permit in permits:
            permit.close()
        raise
    finally:
        for lock in taken.values():
            lock.release()
    for permit in permits:
        if not permit.held:
            permit.close()
    return Admitted([permit for permit in permits if permit.held], refused)


def _examine_all(
    run_id: str,
    wanted: Sequence[Fingerprint],
    judge: Judge,
    evidence: Evidence | None,
    held: Mapping[str, str] | None,
    holds: frozenset[str] = frozenset(),
    look_s: float = 0.0,
) -> tuple[dict[str, Examined], list[Problem]]:
    """Scan the server again; return the disks that `judge` accepts, by id, and the problems of the others."""
    ids = {want.id for want in wanted}
    by_others = {**(held or {}), **locks.holders()}
    look = examine(held=by_others, mine=Ownership(run_id, holds=holds), only=ids, look_s=look_s) if ids else ()
    by_id = {found.disk.id: found for found in look}
    good: dict[str, Examined] = {}
    refused: list[Problem] = []
    for want in wanted:
        found = by_id.get(want.id)
        if found is None:
            refused += gone(want).problems
            continue
        if evidence is not None:
            evidence(found.evidence)
        if problems := judge(want, found):
            refused += problems
        else:
            good[want.id] = found
    return good, refused


def _differences(want: Fingerprint, found: Examined, fields: Sequence[str]) -> list[Problem]:
    now = fingerprint(found.disk, boot_id())
    different = [name for name in fields if getattr(want, name) != getattr(now, name)]
    return list(changed(want, f"not the disk that was planned with: {', '.join(different)}").problems) if different else []


def _refusals(want: Fingerprint, reasons: Sequence[Reason]) -> list[Problem]:
    return [Problem(r.code, r.message, want.id, r.remedy, int(Exit.REFUSED)) for r in reasons]


def _judge_free(want: Fingerprint, found: Examined) -> list[Problem]:
    return _differences(want, found, _ALL_FIELDS) + _refusals(want, found.disk.reasons)


def _judge_left(want: Fingerprint, found: Examined, ours: Collection[Signature], nameless: bool) -> list[Problem]:
    problems = _differences(want, found, _LASTING_FIELDS)
    reasons = found.disk.reasons
    theirs = foreign(found.signatures, found.disk.name, ours)
    if theirs:
        own = {clean(describe(signature)) for signature in found.signatures if signature not in theirs}
        reasons = tuple(r for r in reasons if r.message not in own)
    else:
        named = any(signature.uuid or signature.label for signature in found.signatures)
        mine = _RECOVERABLE if named or nameless else _RECOVERABLE - {"unknown-data"}
        reasons = tuple(r for r in reasons if r.code not in mine)
    if not nameless:
        reasons = tuple(_of_unknown_origin(reason) for reason in reasons)
    return problems + _refusals(want, reasons)


def _of_unknown_origin(reason: Reason) -> Reason:
    """Says why data that may well be the run's is not taken for it."""
    return replace(reason, message=reason.message + _MAY_BE_ANYBODYS) if reason.code == "unknown-data" else reason
