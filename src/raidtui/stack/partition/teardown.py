"""Removal of partition tables: by their GUIDs.

It may be run at any time and any number of times, after a crash too: a table that was written half, or erased half, has at
least one header with the planned GUID, or none at all.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from typing import Final

from raidtui.gate.permit import Permit
from raidtui.inventory import ioctl
from raidtui.inventory.waiting import require_disk_lock
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError
from raidtui.stack import gpt
from raidtui.stack.action import Outcome
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.partition.spec import DiskTable, Partitions
from raidtui.stack.teardown import until_gone

BUSY_PATIENCE_S: Final = 5.0


def teardown(context: Context, made: Partitions) -> Outcome:
    """Remove the partitions and erase the tables.

    Facts: `erased` and `missing` (references of disks). Raises ProblemError (exit 6): `left-behind`, `stuck`.
    """
    commands: list[Argv] = []
    erased: list[str] = []
    missing: list[str] = []

    def attempt() -> str:
        missing[:] = []
        trouble = []
        for table in made.tables:
            permit = context.permits.get(table.disk)
            if permit is None or not permit.alive():
                missing.append(table.ref)
                continue
            try:
                if _remove(context, table, permit, commands):
                    erased.append(table.ref)
            except (ProblemError, OSError) as error:
                if permit.alive():
                    trouble.append(f"{permit.disk.path}: {error}")
        return "; ".join(trouble)

    until_gone(attempt, "the partition table", made.name)
    for part in (part for table in made.tables for part in table.parts):
        context.parts.pop(part.ref, None)
        context.built.pop(part.ref, None)
    return Outcome("undone" if erased else "nothing to do", {"erased": erased, "missing": missing}, tuple(commands))


def _remove(context: Context, table: DiskTable, permit: Permit, commands: list[Argv]) -> bool:
    """Remove the table of one disk; return False if it has none, or carries foreign data. Raises ProblemError, OSError.

    `commands` gets what was called.
    """
    ours = bounded(lambda: gpt.guid_on(permit.path()), f"reading {permit.disk.path}") == table.guid
    stale = not ours and _has_only_planned(table, permit)
    if not ours and not stale and not permit.divided:
        return False
    permit.unite()
    permit.hold(BUSY_PATIENCE_S)
    if not ours and not stale:
        return False
    if table.disk in context.taken([table.disk]):
        return False
    with ExitStack() as stack:
        lock = os.open(permit.path(), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        stack.callback(os.close, lock)
        require_disk_lock(lock, permit.disk.id, Exit.LEFT_BEHIND)  # udev would read the partitions again
        if ours and _is_whole(table, permit):
            # What blivet cannot read any more is erased below.
            with suppress(ProblemError), context.lend([table.disk]):
                commands += context.builder.call("partition.remove", table=table, path=permit.path()).commands
        permit.hold(BUSY_PATIENCE_S)
        bounded(lambda: _erase(table, permit), f"erasing the table of {permit.disk.path}", to_the_end=True)
    if gpt.guid_on(permit.path()) is not None or gpt.partitions_of(permit.disk.name):
        raise OSError("its partitions are still there")
    return True


def _has_only_planned(table: DiskTable, permit: Permit) -> bool:
    """Return True if the disk has no table, while the kernel still has partitions, all of them where the run made them."""
    planned = {(part.start, part.length) for part in table.parts}
    found = gpt.extents_of(permit.disk.name)
    return bool(found) and set(found.values()) <= planned and gpt.guid_on(permit.path()) is None


def _is_whole(table: DiskTable, permit: Permit) -> bool:
    """Return True if both copies on the disk have the planned GUID and are undamaged."""
    return all(copy is not None and copy.guid == table.guid for copy in gpt.copies_on(permit.path()))


def _erase(table: DiskTable, permit: Permit) -> None:
    """Erase what is left of both copies, and have the kernel drop the partitions."""
    fd = permit.open_for_writing()
    try:
        size = ioctl.size_bytes(fd)
        gpt.erase_table(fd, size, gpt.FIRST_BYTE, gpt.FIRST_BYTE + gpt.room_bytes(size))
        gpt.reread_partitions(permit.exclusive(fd))
    finally:
        os.close(fd)
