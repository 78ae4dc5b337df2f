"""All free space of a new pool, discarded (`zpool trim`) or written over (`zpool initialize`).

Both commands return at once and work in the kernel; `zpool status` tells their progress. A cancelled run cancels them. A
pool may be destroyed while they work.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from raidtui.base.attention import TICK_S, Watch, attending, checking
from raidtui.base.silence import Silent
from raidtui.base.text import plural
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.model.units import duration_text, size_text
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.zfs import commands, pool
from raidtui.stack.zfs.commands import ZfsPool
from raidtui.stack.zfs.devices import Device, all_devices, partition
from raidtui.stack.zfs.pool import Activity
from raidtui.stack.zfs.teardown import refuse_suspended
from raidtui.stack.zfs.verify import check_members, the_pool

POLL_S: Final = 1.0
MOST_NAMED: Final = 8
"""Devices whose progress is told one by one."""
_DONE: Final = {"trim": "trimmed", "initialize": "initialized"}

NOT_COMPLETE: Final = Refusal(
    "zpool-free-space",
    "The free space of the pool was not treated completely",
    "`zpool trim` or `zpool initialize` did not complete on every device: a device failed or does not accept discards, or "
    "another program cancelled or suspended the command.",
    "Look at dmesg, and at `zpool status -i -t` of such a pool; without the option the layout can be measured.",
)


def trim(context: Context, zpool: ZfsPool) -> Outcome:
    """Discard all free space. Facts: `trimmed`, in words. Raises ProblemError (`zpool-free-space`, `cancelled`, …)."""
    return _complete(context, zpool, "trim")


def initialize(context: Context, zpool: ZfsPool) -> Outcome:
    """Write over all free space. Facts: `initialized`, in words. Raises ProblemError as `trim` does."""
    return _complete(context, zpool, "initialize")


def _complete(context: Context, zpool: ZfsPool, verb: str) -> Outcome:
    """Start the command, wait for its end, and read back that it completed on every device."""
    context.stop_if_cancelled()
    devices = all_devices(context, zpool)
    found = the_pool(zpool)
    check_members(found, devices, zpool)
    names = _names(devices)
    before = activities(found, names, verb)
    if not incomplete(before, verb):
        return Outcome("already there", {_DONE[verb]: plural(len(before), "device")})
    began = time.monotonic()
    start, wait = commands.free_space_argvs(zpool.name, verb)
    with attending(checking(lambda: refuse_suspended(zpool.name))):
        try:
            pool.call(start)
            _await(context, zpool, verb, names)
            pool.call(wait)
        except ProblemError as error:
            error.commands = (start, *_cancel(zpool, verb))
            raise
    found = the_pool(zpool)
    check_members(found, devices, zpool)
    after = activities(found, names, verb)
    _insist(zpool, after, verb)
    done = sum(activity.done_bytes for activity in after.values())
    words = f"{size_text(done)} on {plural(len(after), 'device')} in {time.monotonic() - began:.0f} s"
    return Outcome("done", {_DONE[verb]: words}, (start, wait))


def _names(devices: list[Device]) -> dict[int, str]:
    """Return the names of the devices (serial numbers of disks) by the device number that the pool uses."""
    return {part[1]: device.ref.partition(":")[2] for device in devices if (part := partition(device)) is not None}


def activities(found: pool.Pool, names: Mapping[int, str], verb: str) -> dict[str, Activity]:
    """Return the trim or initialize of each device on which it works, by name. Cache devices and spares have none."""
    leaves = (leaf for leaf in found.leaves if leaf.role not in ("cache", "spare"))
    return {names.get(leaf.devno or -1, leaf.path): getattr(leaf, verb) for leaf in leaves}


def incomplete(found: Mapping[str, Activity], verb: str) -> list[str]:
    """Return the reasons why the free space of these devices does not count as treated, one sentence each."""
    return [f"{name} {text}" for name, activity in found.items() for text in _wrong(activity, verb)]


def _wrong(activity: Activity, verb: str) -> Iterator[str]:
    if not activity.supported:
        yield "does not accept discards"
    elif activity.state != "COMPLETE":
        yield f"is {activity.state.lower() or f'not {_DONE[verb]}'}"
    if activity.errors:
        yield f"had {plural(activity.errors, 'error')}"


def _insist(zpool: ZfsPool, found: Mapping[str, Activity], verb: str) -> None:
    """Raise ProblemError (`zpool-free-space`) unless the command completed on every device."""
    if wrong := incomplete(found, verb):
        text = f"zpool {verb} did not complete: {'; '.join(wrong)}"
        raise fail(NOT_COMPLETE, text, place=zpool.name, remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)


def _await(context: Context, zpool: ZfsPool, verb: str, names: Mapping[int, str]) -> None:
    """Report the progress of the command until it works on no device any more.

    Raises ProblemError: `zpool-free-space` if a device is lost or nothing progresses, `zpool-suspended`, `cancelled`.
    """
    began = time.monotonic()
    now: dict[str, Activity] = {}
    watch = Watch(f"zpool {verb}", lambda: tuple(now.values()), tells=False)
    while True:
        found = the_pool(zpool)
        now = activities(found, names, verb)
        if all(activity.state != "ACTIVE" for activity in now.values()):
            return
        for leaf in found.leaves:
            if leaf.state not in ("ONLINE", "AVAIL"):
                text = f"{names.get(leaf.devno or -1, leaf.path)} is {leaf.state.lower()}"
                raise fail(NOT_COMPLETE, f"zpool {verb} did not complete: {text}", place=zpool.name,
                           remedy="Look at dmesg and the disk's SMART log.", exit=Exit.BUILD_FAILED)  # fmt: skip
        context.report(*progress(verb, now, time.monotonic() - began))
        until = time.monotonic() + POLL_S
        while (left := until - time.monotonic()) > 0:
            try:
                watch.tick()
            except Silent as silent:
                raise fail(NOT_COMPLETE, f"zpool {verb} {silent.text}", place=zpool.name, remedy="Look at dmesg.",
                           exit=Exit.BUILD_FAILED) from silent  # fmt: skip
            time.sleep(min(left, TICK_S))


def progress(verb: str, found: Mapping[str, Activity], seconds: float) -> tuple[str, float]:
    """Return the progress in words, with the percentage of each device, and the share that is done of all of them."""
    shares = {name: _share(activity) for name, activity in found.items()}
    share = sum(shares.values()) / len(shares)
    left = f", {duration_text(seconds / share - seconds)} left" if share > 0.01 and seconds > 2 else ""
    if len(shares) <= MOST_NAMED:
        words = ", ".join(f"{name} {100 * each:.0f} %" for name, each in shares.items())
    else:
        slowest = min(shares, key=lambda name: shares[name])
        ended = sum(activity.state != "ACTIVE" for activity in found.values())
        words = f"{ended} of {len(shares)} devices, the slowest is {slowest} {100 * shares[slowest]:.0f} %"
    return f"zpool {verb}: {words}{left}", share


def _share(activity: Activity) -> float:
    """Return the share that is done; ZFS counts all space, but leaves out what is in use."""
    if activity.state == "COMPLETE":
        return 1.0
    return min(1.0, activity.done_bytes / activity.total_bytes) if activity.total_bytes else 0.0


def _cancel(zpool: ZfsPool, verb: str) -> tuple[Argv, ...]:
    """End the command on all devices of the pool on which it still works; return how. A suspended pool would not answer."""
    if pool.state(zpool.name) in (None, "SUSPENDED"):
        return ()
    argv = commands.free_space_cancel_argv(zpool.name, verb)
    with suppress(ProblemError):  # the first problem is told, and the teardown ends it in any case
        pool.call(argv, check=False)
    return (argv,)
