"""The identical pool before every cell: a checkpoint, and an import that rewinds to it (`"reset": "rewind"`).

What a rollback leaves is brought back too: where free space is, and whatever else the pool keeps of what was done with it.
A pool has one checkpoint, which a rewind uses up: the next one is taken before anything is opened or mounted again.
"""

from __future__ import annotations

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.zfs import pool
from raidtui.stack.zfs.build import COLD, bring_back, reopen, take_away
from raidtui.stack.zfs.commands import ZfsPool
from raidtui.stack.zfs.devices import all_devices
from raidtui.stack.zfs.rollback import NOT_RESET, allocation, flush
from raidtui.stack.zfs.verify import check_members, the_pool, verify


def take_checkpoint(context: Context, zpool: ZfsPool) -> Outcome:
    """Take the checkpoint of the pool with the filled volume, or the empty filesystem. Raises ProblemError."""
    context.stop_if_cancelled()
    check_members(the_pool(zpool), all_devices(context, zpool), zpool)
    if _has_checkpoint(zpool):
        return Outcome("already there", {"reset": "rewind"})
    for one in zpool.each if zpool.has_volume else ():
        flush(context, one)
    return Outcome("created", {"reset": "rewind"}, _checkpoint(context, zpool))


def rewind(context: Context, zpool: ZfsPool) -> Outcome:
    """Export the pool, import it as it was at its checkpoint, read it back, and take the checkpoint again.

    Facts: what is allocated in the pool. Raises ProblemError (`zpool-not-reset`, `zpool-cold`, `read-back`, …). `teardown`
    removes the pool in any case: imported or not, with a checkpoint or without.
    """
    context.stop_if_cancelled()
    before = the_pool(zpool)
    check_members(before, all_devices(context, zpool), zpool)
    _insist_on_checkpoint(zpool)
    ran = take_away(context, zpool)
    found, imported = bring_back(context, zpool, before.guid, rewind=True)
    if found.guid != before.guid:
        text = f"the pool that was imported has the GUID {found.guid}, not {before.guid}"
        raise fail(COLD, text, place=zpool.name, remedy="Look at dmesg.", exit=Exit.INVALID)
    if _has_checkpoint(zpool):
        raise fail(NOT_RESET, "the pool was imported without going back to its checkpoint", place=zpool.name,
                   remedy="Look at dmesg and at `zpool status`.", exit=Exit.INVALID)  # fmt: skip
    ran += [imported, *_checkpoint(context, zpool), *reopen(context, zpool)]
    verify(context, zpool)
    return Outcome("done", {"reset": "rewind", **allocation(zpool)}, tuple(ran))


def _checkpoint(context: Context, zpool: ZfsPool) -> tuple[Argv, ...]:
    calls = context.builder.call("zfs.checkpoint", pool=zpool.name).commands
    _insist_on_checkpoint(zpool)
    return calls


def _insist_on_checkpoint(zpool: ZfsPool) -> None:
    """Raise ProblemError (`zpool-not-reset`) if the pool has no checkpoint."""
    if not _has_checkpoint(zpool):
        raise fail(NOT_RESET, "the pool has no checkpoint", place=zpool.name,
                   remedy="Look for programs that discard it (`zpool checkpoint -d`).", exit=Exit.INVALID)  # fmt: skip


def _has_checkpoint(zpool: ZfsPool) -> bool:
    return pool.properties(zpool.name).get("checkpoint", "-") != "-"
