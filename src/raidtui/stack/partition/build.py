"""Writing of partition tables, read-back, and health of partitions while they are measured."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from raidtui.base.files import read_text
from raidtui.gate.blank import BLKDISCARD, DISCARD_CHUNK, pieces, send
from raidtui.gate.permit import Permit
from raidtui.inventory.udev import wait_for_udev
from raidtui.inventory.waiting import require_disk_lock
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack import gpt
from raidtui.stack.action import Outcome
from raidtui.stack.builder.seen import Expected, Seen
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.nodes import devno
from raidtui.stack.partition.plan import create_argvs, discard_argv, rest_of
from raidtui.stack.partition.spec import DiskTable, Partitions, part_path
from raidtui.stack.partition.teardown import teardown
from raidtui.stack.read_back import Difference, mismatch

REMEDY: Final = "This version of the kernel or of parted made something else."
UDEV_S: Final = 20.0
_NODES_S: Final = 20.0

NOT_THERE: Final = Refusal(
    "partition-not-there",
    "A partition does not exist",
    "The kernel does not have a partition that the table of the disk has.",
    "Look at the kernel's messages (dmesg) for the disk that is named, then run it again.",
)


def create(context: Context, made: Partitions) -> Outcome:
    """Write the tables, and hold the partitions in place of their disks. Raises ProblemError; all is removed first."""
    context.stop_if_cancelled()
    if all(_stands(context, table) for table in made.tables):
        for table in made.tables:
            _take(context, table)
        return Outcome("already there", _found(context, made))
    context.about_to_write(made.disks)
    context.builder.load()  # now: loading takes longer than the disks may be unheld
    calls: list[Argv] = []
    try:
        for table in made.tables:
            context.stop_if_cancelled()
            calls += _partition(context, table)
        names = [name for table in made.tables for name in _names(context, table)]
        wait_for_udev([*(context.permit(disk).disk.name for disk in made.disks), *names], UDEV_S)
        facts = _found(context, made)
    except ProblemError:
        # The first problem is the one to report; the teardown of the block reports what this one could not remove.
        with suppress(ProblemError):
            teardown(context, made)
        raise
    same_as = create_argvs(made, {disk: context.permit(disk).disk.path for disk in made.disks})
    return Outcome("created", {**facts, "same_as": same_as}, tuple(calls))


def _stands(context: Context, table: DiskTable) -> bool:
    permit = context.permit(table.disk)
    return gpt.guid_on(permit.path()) == table.guid and not differences(table, permit)


def _partition(context: Context, table: DiskTable) -> list[Argv]:
    """Discard what no partition uses, write the table, and hold its partitions. Return what was done."""
    permit = context.permit(table.disk)
    calls: list[Argv] = []
    with _without_udev(permit):
        if table.discard:
            calls.append(discard_argv(table, permit.disk.path))
            bounded(lambda: _discard(permit, *rest_of(table)), f"discarding of {permit.disk.path}", to_the_end=True)
        with context.lend([table.disk]):
            calls += context.builder.call("partition.create", table=table, path=permit.path()).commands
            _await(table, permit)
            _take(context, table)
    return calls


@contextmanager
def _without_udev(permit: Permit) -> Iterator[None]:
    """Hold the disk's lock: udev leaves it alone, and would else drop and re-read its partitions at any moment."""
    fd = os.open(permit.path(), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        require_disk_lock(fd, permit.disk.id, Exit.BUILD_FAILED)
        yield
    finally:
        os.close(fd)


def _discard(permit: Permit, offset: int, length: int) -> None:
    fd = permit.open_for_writing()
    try:
        for piece in pieces(offset, length, DISCARD_CHUNK):
            with suppress(OSError):  # a disk that cannot discard this keeps it as it is, which is blank
                send(fd, BLKDISCARD, *piece)
    finally:
        os.close(fd)


def _await(table: DiskTable, permit: Permit) -> None:
    """Wait until the kernel has the partitions. Raises ProblemError (`partition-not-there`)."""
    until = time.monotonic() + _NODES_S
    while wrong := _kernel_differences(table, permit):
        if time.monotonic() > until:
            text = "the kernel does not have the partitions as planned: " + "; ".join(map(str, wrong))
            raise fail(NOT_THERE, text, place=table.disk, remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)
        time.sleep(0.02)


def _take(context: Context, table: DiskTable) -> None:
    """Hold the partitions in place of the disk from now on, and record them in the context."""
    permit = context.permit(table.disk)
    found = gpt.partitions_of(permit.disk.name)
    numbers: dict[str, int] = {}
    for number, part in enumerate(table.parts, 1):
        name = found[number].name
        numbers[name] = devno(name) or 0
        context.parts[part.ref] = (table.disk, name)
        context.built[part.ref] = f"/dev/{name}"
    permit.divide(numbers)


def _names(context: Context, table: DiskTable) -> list[str]:
    return [context.parts[part.ref][1] for part in table.parts]


def _found(context: Context, made: Partitions) -> dict[str, Any]:
    """Record the planned paths where udev made them, and return the facts. Raises ProblemError (`read-back`)."""
    partitions = {}
    for table in made.tables:
        permit = context.permit(table.disk)
        if wrong := differences(table, permit):
            raise mismatch("the partition table", table.disk, wrong, REMEDY)
        for part, name in zip(table.parts, _names(context, table), strict=True):
            link = part_path(part.guid)
            if os.path.realpath(link) == f"/dev/{name}":  # without udev there are no links
                context.built[part.ref] = link
            partitions[part.guid] = {"kernel_name": name, "disk": table.disk, "path": context.built[part.ref]}
    return {"partitions": partitions}


def _kernel_differences(table: DiskTable, permit: Permit) -> list[Difference]:
    """Compare start and length of the partitions that the kernel has with the planned ones."""
    found = gpt.extents_of(permit.disk.name)
    asked = {number: (part.start, part.length) for number, part in enumerate(table.parts, 1)}
    return [
        Difference(f"partition {number} in the kernel", asked.get(number), found.get(number))
        for number in sorted(asked.keys() | found.keys()) if asked.get(number) != found.get(number)
    ]  # fmt: skip


def differences(table: DiskTable, permit: Permit) -> list[Difference]:
    """Compare both copies of the table on the disk, and the kernel's partitions, with the planned ones."""
    wrong = _kernel_differences(table, permit)
    for which, copy in zip(("table", "backup of the table"), gpt.copies_on(permit.path()), strict=True):
        if copy != table.table:
            wrong.append(Difference(which, table.guid, copy and (copy.guid, *map(tuple, copy.partitions))))
    return wrong


def verify(context: Context, made: Partitions) -> Outcome:
    """Compare tables and partitions with the planned ones, by the disk and by the kernel.

    Facts: what was read. Raises ProblemError (`read-back`).
    """
    facts: dict[str, Any] = {}
    for table in made.tables:
        names = _names(context, table)
        wrong = differences(table, context.permit(table.disk))
        for part, name in zip(table.parts, names, strict=True):
            said = _uevent(name).get("PARTUUID", part.guid)  # older kernels do not tell it
            if said != part.guid:
                wrong.append(Difference(f"PARTUUID of {name}", part.guid, said))
        if wrong:
            raise mismatch("the partition table", table.disk, wrong, REMEDY)
        extents = {name: {"start": part.start, "length": part.length, "uuid": part.guid}
                   for part, name in zip(table.parts, names, strict=True)}  # fmt: skip
        facts[table.disk] = {"guid": table.guid, "partitions": extents}
    return Outcome("done", {"tables": facts})


def _uevent(name: str) -> dict[str, str]:
    lines = (read_text(f"/sys/class/block/{name}/uevent") or "").splitlines()
    return {key: value for key, _, value in (line.partition("=") for line in lines)}


def expect(context: Context, made: Partitions) -> tuple[Expected, ...]:
    """Return the disks with their tables, and the partitions, as blivet should see them."""
    found = []
    for table in made.tables:
        disk = context.permit(table.disk).disk.name
        found.append(Expected(Seen("", disk, format="disklabel", table_uuid=table.guid)))
        for part, name in zip(table.parts, _names(context, table), strict=True):
            seen = Seen("partition", name, parents=(disk,), uuid=part.guid, start_bytes=part.start, size_bytes=part.length)
            found.append(Expected(seen))
    return tuple(found)


def health(context: Context, made: Partitions) -> tuple[str, ...]:
    """Return the reasons why numbers measured now would be wrong, one sentence each."""
    wrong = []
    for table in made.tables:
        permit = context.permits.get(table.disk)
        if permit is None or not permit.alive():
            wrong.append(f"{table.disk} does not exist any more")
        elif found := _kernel_differences(table, permit):
            wrong.append(f"the partitions of {table.disk} changed: " + "; ".join(map(str, found)))
    return tuple(wrong)


def members(context: Context, made: Partitions) -> Mapping[str, str]:
    """Return the kernel names of the partitions and of the disks below."""
    found: dict[str, str] = {}
    for table in made.tables:
        found |= {context.parts[part.ref][1]: "target" for part in table.parts if part.ref in context.parts}
        if table.disk in context.permits:
            found[context.permits[table.disk].disk.name] = "member"
    return found
