"""Freeing a disk in words: what is on it, what erasing it takes, and where its first and last bytes were saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from raidtui.base.text import clean
from raidtui.front.plan import Line, line_of, writable_name
from raidtui.model.disk import Disk, fingerprint
from raidtui.model.free import Freed, FreePlan
from raidtui.model.units import duration_text, size_text


def heading(plan: FreePlan) -> str:
    """`S1 (Samsung X, 1.7 TiB, /dev/nvme1n1) is used by nobody, and carries:`"""
    disk = plan.disk
    facts = ", ".join(filter(None, (clean(disk.model), size_text(disk.size_bytes), clean(disk.path))))
    return f"{clean(disk.id)} ({facts}) is used by nobody, and carries:"


def found_on(plan: FreePlan) -> Iterator[str]:
    """Yield what is on the disk."""
    for reason in plan.disk.reasons:
        yield clean(reason.message)


def erasing(plan: FreePlan) -> str:
    return f"All of it would be ERASED, in about {duration_text(plan.seconds)}."


def done_lines(freed: Freed) -> Iterator[str]:
    """Yield that the disk is free now, and where its first and last bytes are."""
    yield f"{clean(freed.disk)} is blank and free ({clean(freed.method)}, {duration_text(freed.seconds)})."
    yield f"Its first and last 4 MiB as they were: {clean(freed.saved)} on the server."


def line_to_type(plan: FreePlan, disks: Iterable[Disk]) -> Line:
    """Return the line that consents: an end of the disk's name that none of the server's other `disks` has."""
    prints = {disk.id: fingerprint(disk, "") for disk in (*disks, plan.disk)}
    names = {id_: clean(writable_name(found)).strip() for id_, found in prints.items()}
    return line_of(plan.digest, prints[plan.disk.id], names)
