"""Last look at a disk before a run writes to it: nothing but the run's own remains may be there.

A run's own signatures are recognized by UUID, by label, or by their place in a partition table of the run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence
from typing import Final

from raidtui.gate.permit import Permit, gone
from raidtui.inventory import Signature
from raidtui.inventory.blocks import read_family
from raidtui.inventory.content import (
    clearing_command,
    describe,
    find_signatures,
    open_node,
    read_content,
    zeroing_command,
)
from raidtui.inventory.sampling import Content
from raidtui.model.problem import Exit, Problem, Refusal, fail
from raidtui.model.refusals import UNCHECKED

DISK_TAKEN: Final = Refusal(
    "disk-taken",
    "Foreign data on a disk of the run",
    "A run holds its disks exclusively, but that does not stop dd, nor other programs in the moment when a layer "
    "takes or gives back a disk. Before it wrote to a disk, the run found data on it that it had not written. It "
    "does not write to that disk and does not make it blank.",
    "If the data is not needed: clear it with the command that the message names, then `raidtui recover`. (`wipefs -a` "
    "clears signatures only; data of an unknown kind needs `blkdiscard -z`.) If it is needed: `raidtui recover RUN "
    "--without DISK`.",
)
Ours = Callable[[], Sequence[Signature]]
"""Function that returns the run's own signatures; called only if a disk carries any."""


def taken(permit: Permit, ours: Ours, *, blank: bool) -> Problem | None:
    """Return the problem `disk-taken` if the disk holds data that the run did not write, else None.

    `blank`: the run left the disk blank, so that data without a signature is foreign too. Blocks as long as the disk does
    not answer. Raises ProblemError (`disk-gone`, `disk-changed`) or, where it cannot be read, `unchecked`.
    """
    permit.verify()
    try:
        content = _read(permit, whole=blank)
    except (OSError, ValueError) as error:
        if not permit.alive():
            raise gone(permit.disk) from error
        text = f"could not check the content: {error}"
        remedy = "Look at dmesg and its SMART log."
        raise fail(UNCHECKED, text, place=permit.disk.id, remedy=remedy, exit=Exit.REFUSED) from error
    if content.signatures and (theirs := foreign(content.signatures, permit.disk.name, () if blank else ours())):
        return _problem(permit, f"the disk carries a {describe(theirs[0])}", clearing_command(theirs[0]))
    if blank and content.fill == "data":
        found = f"the disk carries data of an unknown kind near byte {content.data_at}"
        return _problem(permit, found, zeroing_command(permit.disk.name))
    return None


def _read(permit: Permit, *, whole: bool) -> Content:
    nodes = read_family(permit.disk.name)
    if not nodes:
        raise OSError("the kernel does not list it")
    if whole:
        return read_content(nodes)
    fd = open_node(nodes[0])
    try:
        # Writes to members of an array bypass the page cache of the disk, which may be stale.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return Content(find_signatures(fd, permit.disk.size_bytes, nodes))
    finally:
        os.close(fd)


def _problem(permit: Permit, what: str, command: str) -> Problem:
    text = f"{what}, which the run did not put there: it was left as it is"
    remedy = f"If nobody needs it: {command}, then: raidtui recover"
    return Problem(DISK_TAKEN.code, text, permit.disk.id, remedy, int(Exit.REFUSED))


def same(found: Signature, own: Signature) -> bool:
    """Return True if the types are equal, and the UUIDs or, if none was recorded, the labels."""
    if found.type != own.type:
        return False
    if own.uuid:
        return _bare(found.uuid) == _bare(own.uuid)
    return bool(own.label) and found.label == own.label


def foreign(found: Sequence[Signature], disk: str, ours: Collection[Signature]) -> list[Signature]:
    """Return the signatures on a disk (by its kernel name) that are not the run's.

    The run's are those in `ours`, those without a name within a partition table that is in `ours`, and remains without a
    name (uberblocks whose label is gone) of a kind that is in `ours`.
    """
    kinds = {one.type for one in ours}

    def is_own(signature: Signature) -> bool:
        nameless = signature.remains and not signature.uuid and not signature.label
        return (nameless and signature.type in kinds) or any(same(signature, one) for one in ours)

    own = [signature for signature in found if is_own(signature)]
    if any(signature.usage == "partitions" and signature.where == disk for signature in own):
        for signature in found:
            inside = signature.where != disk and signature.type in kinds
            if signature not in own and not signature.uuid and not signature.label:
                # The protective record is a part of the table that it protects.
                own += [signature] if inside or signature.type == "PMBR" else []
    return [signature for signature in found if signature not in own]


def _bare(uuid: str) -> str:
    """mdadm writes `a:b:c:d`, libblkid `a-b-c-d-e`, for the same 32 digits."""
    return re.sub(r"[-:]", "", uuid).lower()
