"""A last look at a disk before a run writes to it: nothing but what the run itself left may be there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final

from raidtui.gate.ours import foreign
from raidtui.gate.permit import Permit, gone
from raidtui.inventory import Signature
from raidtui.inventory.blocks import read_family
from raidtui.inventory.content import describe, find_signatures, open_node, read_content
from raidtui.inventory.sampling import Content
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal

DISK_TAKEN: Final = Refusal(
    "disk-taken",
    "Foreign data on a disk of the run",
    "A run holds its disks exclusively, but that does not stop dd, nor other programs in the moment when a layer "
    "takes or gives back a disk. Before it wrote to a disk, the run found data on it that it had not written. It "
    "does not write to that disk and does not make it blank.",
    "If the data is not needed: `wipefs -a DEVICE`, then `raidtui recover`. If it is needed: `raidtui recover RUN "
    "--without DISK`.",
)

Ours = Callable[[], Sequence[Signature]]
"""Returns the signatures that the run leaves; asked only where a disk carries any."""


def taken(permit: Permit, ours: Ours, *, blank: bool) -> Problem | None:
    """Return the problem `disk-taken` where somebody else put something on the disk, else None.

    `blank`: the run left the disk blank, so that data without a signature is somebody else's too. May take as long as the
    disk does not answer. Raises ProblemError (`disk-gone`, `disk-changed`) or, where it cannot be read, `unchecked`.
    """
    permit.verify()
    try:
        content = _read(permit, whole=blank)
    except (OSError, ValueError) as error:
        if not permit.alive():
            raise gone(permit.disk) from error
        text = f"could not check the content: {error}"
        remedy = "Look at dmesg and its SMART log."
        raise ProblemError(Problem("unchecked", text, permit.disk.id, remedy, int(Exit.REFUSED))) from error
    if content.signatures and (theirs := foreign(content.signatures, permit.disk.name, () if blank else ours())):
        return _problem(permit, f"the disk carries a {describe(theirs[0])}")
    if blank and content.fill == "data":
        return _problem(permit, f"the disk carries data of an unknown kind near byte {content.data_at}")
    return None


def _read(permit: Permit, *, whole: bool) -> Content:
    nodes = read_family(permit.disk.name)
    if not nodes:
        raise OSError("the kernel does not list it")
    if whole:
        return read_content(nodes)
    fd = open_node(nodes[0])
    try:
        # Members of an array are written behind the back of the disk's own page cache.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return Content(find_signatures(fd, permit.disk.size_bytes, nodes))
    finally:
        os.close(fd)


def _problem(permit: Permit, what: str) -> Problem:
    text = f"{what}, which the run did not put there: it was left as it is"
    remedy = f"If nobody needs it: wipefs -a {permit.disk.path}, then: raidtui recover"
    return Problem(DISK_TAKEN.code, text, permit.disk.id, remedy, int(Exit.REFUSED))
