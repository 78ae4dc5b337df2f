"""The gate: whether a run may write to the disks it wants. All or none; what is not known is not allowed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from raidtui.gate import locks
from raidtui.gate.permit import ISSUER, Permit, changed, gone
from raidtui.inventory import CONTENT, Examined, Ownership, Signature, boot_id, examine
from raidtui.model.disk import Fingerprint, Reason, fingerprint
from raidtui.model.problem import Exit, Problem, ProblemError, fail

LOOK_S = 20.0
"""How long each disk is searched for data before a run first writes to it, beyond the look of every scan."""

Evidence = Callable[[Mapping[str, Any]], None]
Judge = Callable[[Fingerprint, Examined], list[Problem]]

_LASTING_FIELDS = ("serial", "wwid", "model", "size_bytes", "logical_sector_bytes")
"""What is the same for a disk in every boot and every slot."""
_ALL_FIELDS = (*_LASTING_FIELDS, "id", "diskseq", "boot_id")
_RECOVERABLE = CONTENT | {"lvm-vg"}
_MAY_BE_ANYBODYS = (
    "; it was away since the run wrote to it (unplugged, or the machine restarted), and may have been used elsewhere"
)


def admit(
    run_id: str,
    wanted: Sequence[Fingerprint],
    evidence: Evidence | None = None,
    held: Mapping[str, str] | None = None,
) -> list[Permit]:
    """Lock, examine and pin the wanted disks; one permit each, in the same order. All of them or none.

    `evidence` is told, per disk, what was checked and found. `held`: disk → unfinished run, beside the locks held now.
    Raises ProblemError (exit 3) with one problem per disk and reason.
    """
    return _admit(run_id, wanted, _judge_free, evidence, held, LOOK_S)


def admit_for_recovery(
    run_id: str,
    wanted: Sequence[Fingerprint],
    ours: Collection[Signature],
    nameless: Collection[str] = (),
    evidence: Evidence | None = None,
    held: Mapping[str, str] | None = None,
) -> list[Permit]:
    """As `admit`, for taking back what a run left: after a reboot or re-plug, and with its own leavings on the disks.

    `ours` are the signatures that the run created, by type and UUID (or type and label). A disk may carry these; data under
    no signature only beside one of them, or on the disks in `nameless`, of which it is known to be the run's. A signature
    that is not the run's, a mount, a holder or any other user refuses the disk.
    """

    def judge(want: Fingerprint, found: Examined) -> list[Problem]:
        return _judge_left(want, found, ours, want.id in nameless)

    return _admit(run_id, wanted, judge, evidence, held)


def readmit(permits: Sequence[Permit], evidence: Evidence | None = None) -> None:
    """Check again, under lock and pin, right before the first write. Raises ProblemError; the permits stay open."""
    if not permits:
        return
    for permit in permits:
        permit.verify()
    _examine_all(permits[0].run_id, [permit.fingerprint for permit in permits], _judge_free, evidence, None)
    for permit in permits:
        permit.verify()


def _admit(
    run_id: str,
    wanted: Sequence[Fingerprint],
    judge: Judge,
    evidence: Evidence | None,
    held: Mapping[str, str] | None,
    look_s: float = 0.0,
) -> list[Permit]:
    if len({want.id for want in wanted}) != len(wanted):
        raise fail("disk-twice", "a disk was asked for twice", exit=Exit.REFUSED)
    taken = locks.take(run_id, map(locks.lock_key, wanted))
    by_key = {lock.key: lock for lock in taken}
    permits: list[Permit] = []
    try:
        examined = _examine_all(run_id, wanted, judge, evidence, held, look_s)
        for want, found in zip(wanted, examined, strict=True):
            now = fingerprint(found.disk, boot_id())
            permits.append(Permit(ISSUER, found.disk, now, by_key[locks.lock_key(want)]))
            del by_key[locks.lock_key(want)]
    except BaseException:
        for permit in permits:
            permit.close()
        for lock in by_key.values():
            lock.release()
        raise
    return permits


def _examine_all(
    run_id: str,
    wanted: Sequence[Fingerprint],
    judge: Judge,
    evidence: Evidence | None,
    held: Mapping[str, str] | None,
    look_s: float = 0.0,
) -> list[Examined]:
    """Look at the server afresh and let `judge` find what speaks against each wanted disk."""
    ids = {want.id for want in wanted}
    look = examine(held={**(held or {}), **locks.holders()}, mine=Ownership(run_id), only=ids, look_s=look_s)
    by_id = {found.disk.id: found for found in look}
    problems: list[Problem] = []
    for want in wanted:
        found = by_id.get(want.id)
        if found is None:
            problems += gone(want).problems
            continue
        if evidence is not None:
            evidence(found.evidence)
        problems += judge(want, found)
    if problems:
        raise ProblemError(*problems)
    return [by_id[want.id] for want in wanted]


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
    own = _own(found, ours)
    reasons = found.disk.reasons
    if len(own) == len(found.signatures):
        mine = _RECOVERABLE if own or nameless else _RECOVERABLE - {"unknown-data"}
        reasons = tuple(r for r in reasons if r.code not in mine)
    if not nameless:
        reasons = tuple(_of_unknown_origin(reason) for reason in reasons)
    return problems + _refusals(want, reasons)


def _of_unknown_origin(reason: Reason) -> Reason:
    """Says why data that may well be the run's is not taken for it."""
    return replace(reason, message=reason.message + _MAY_BE_ANYBODYS) if reason.code == "unknown-data" else reason


def _own(found: Examined, ours: Collection[Signature]) -> list[Signature]:
    """The signatures on a disk that are the run's: by UUID or label, or by being nameless within its partition table."""
    own = [signature for signature in found.signatures if any(same(signature, one) for one in ours)]
    if any(signature.usage == "partitions" and signature.where == found.disk.name for signature in own):
        kinds = {one.type for one in ours}
        for signature in found.signatures:
            inside = signature.where != found.disk.name and signature.type in kinds
            if signature not in own and not signature.uuid and not signature.label:
                # The protective record is a part of the table that it protects.
                own += [signature] if inside or signature.type == "PMBR" else []
    return own


def same(found: Signature, own: Signature) -> bool:
    """Whether a signature found is one that was recorded: same type, and same UUID or, where none was recorded, label."""
    if found.type != own.type:
        return False
    if own.uuid:
        return _bare(found.uuid) == _bare(own.uuid)
    return bool(own.label) and found.label == own.label


def _bare(uuid: str) -> str:
    """mdadm writes `a:b:c:d`, libblkid `a-b-c-d-e`, for the same 32 digits."""
    return re.sub(r"[-:]", "", uuid).lower()
