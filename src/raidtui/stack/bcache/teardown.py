"""Taking a cached device away: found by the UUIDs of its set and its devices, in whatever state it is, and proven gone.

It may be run at any time and any number of times: after a creation that died half-way, with a device unplugged, attached,
detached, registered or not (udev registers by itself whatever has a superblock). Nothing with other UUIDs is touched.
The teardown drops dirty data: writing it back is a step of its own (`detach`).
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import read_text
from raidtui.base.silence import LIMIT_S
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.model.units import duration_text, size_text
from raidtui.stack.action import Outcome
from raidtui.stack.bcache import kernel, superblock
from raidtui.stack.bcache.command import detach_argv, node_path, own_path, run, set_path, wipe_argv, write, write_argv
from raidtui.stack.bcache.rules import BUSY, FOREIGN
from raidtui.stack.bcache.spec import BcacheDevice
from raidtui.stack.bcache.verify import Device, present_devices
from raidtui.stack.calls import CallFailed, bounded
from raidtui.stack.context import Context
from raidtui.stack.nodes import users_of
from raidtui.stack.teardown import NODE_PATIENCE_S, await_makers, erase_marks, lend, may_erase, open_for_writing, until_gone

BUSY_PATIENCE_S: Final = 15.0
STOP_PATIENCE_S: Final = 20.0


def teardown(context: Context, cached: BcacheDevice) -> Outcome:
    """Stop the device and its set, and take the superblocks off.

    Facts: `stopped` (kernel names), `erased` and `missing` (references). Raises ProblemError (exit 6): `bcache-busy`,
    `bcache-foreign`, `left-behind`, `stuck`.
    """
    await_makers(lambda: kernel.makers(cached.uuid), BUSY, "still makes a superblock", cached.name)
    commands: list[Argv] = []
    stopped: list[str] = []
    erased: list[str] = []
    missing: list[str] = []

    def is_marked(device: Device) -> bool:
        return kernel.is_ours(superblock.read(device.path), cached)

    def attempt() -> str:
        _refuse_shared_cache(cached)
        _stop_all(cached, stopped, commands)
        devices, missing[:] = present_devices(context, cached)
        trouble = erase_marks(context, devices, is_marked, lambda one: commands.extend(_erase(context, one)),
                              "its superblock", erased)  # fmt: skip
        left = kernel.ours(cached) or kernel.set_folder(cached).exists()
        return trouble or ("the kernel does not let go of it" if left else "")

    until_gone(attempt, "the cached device", cached.name)
    by_udev = stopped and cached.data_offset_bytes is None
    _await_link(Path(node_path(cached.backing.uuid)), NODE_PATIENCE_S if by_udev else 0)
    context.built.pop(cached.ref, None)
    facts = {"stopped": list(dict.fromkeys(stopped)), "erased": erased, "missing": missing}
    return Outcome("undone" if stopped or erased else "nothing to do", facts, tuple(dict.fromkeys(commands)))


def _await_link(link: Path, patience_s: float) -> None:
    """Wait until udev removed the name; remove a dangling name that udev does not know."""
    until = time.monotonic() + patience_s
    while link.is_symlink() and time.monotonic() < until:
        time.sleep(0.05)
    if link.is_symlink() and not link.exists():
        with suppress(OSError):
            link.unlink()


def stop(one: kernel.Registered) -> None:
    """Have the kernel let go of one device: of a cache device with its whole set. Raises OSError, ProblemError."""
    write(one.folder / ("set/stop" if one.is_cache else "stop"), "1")


def _refuse_shared_cache(cached: BcacheDevice) -> None:
    """Refuse a cache to which others have attached a device: dirty data in it may be theirs."""
    others = bounded(lambda: kernel.strangers(cached), "asking bcache")
    if others:
        raise fail(FOREIGN, f"the cache is also that of {', '.join(others)}, which is not this run's",
                   place=cached.name, remedy="Detach that (echo 1 > /sys/block/…/bcache/detach), then: raidtui recover",
                   exit=Exit.LEFT_BEHIND)  # fmt: skip


def _stop_all(cached: BcacheDevice, stopped: list[str], commands: list[Argv]) -> None:
    """Backing device first, then the set, each until the kernel has dropped it."""
    folder, stop_set = kernel.set_folder(cached), write_argv(set_path(cached, "stop"), "1")
    for one in kernel.ours(cached):
        if one.device:
            _wait_until_unused(one.device)
        with suppress(OSError):  # it is just going
            stop(one)
        path = cached.paths.get(cached.backing.ref, f"/dev/{one.name}")
        commands.append(stop_set if one.is_cache else write_argv(own_path(path, "stop"), "1"))
        stopped.append(one.device or one.name)
        switch = folder / "internal/io_disable"
        if not _await_stop(one) and switch.exists():
            # A device that was detaching goes on writing back, however long it takes, before it stops: unless its set is
            # disabled. The kernel does the same to a set whose cache device failed.
            with suppress(OSError):
                write(switch, "1")
            commands.append(write_argv(set_path(cached, "internal/io_disable"), "1"))
            _await_stop(one)
    if folder.exists() and not kernel.ours(cached):
        # The set of a cache device that was pulled has no device of its own any more.
        with suppress(OSError):
            write(folder / "stop", "1")
        commands.append(stop_set)
        stopped.append(cached.uuid)


def _await_stop(one: kernel.Registered) -> bool:
    """Return True once the device is gone: one that is still open somewhere stays after its folder has gone."""
    until = time.monotonic() + STOP_PATIENCE_S
    while there := one.folder.exists() or bool(one.device and (kernel.SYS_BLOCK / one.device).exists()):
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    return not there


def _wait_until_unused(device: str) -> None:
    """Being looked at by udev is waited for, being used is not: a device that is stopped in use stays half gone."""
    until = time.monotonic() + BUSY_PATIENCE_S
    while users := users_of(device):
        if time.monotonic() > until:
            raise fail(BUSY, f"the device cannot be stopped: {'; '.join(users)}", place=f"/dev/{device}",
                       remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(0.3)


def _erase(context: Context, device: Device) -> tuple[Argv, ...]:
    """Erase by wipefs, which removes only the magic number; then erase the rest."""
    try:
        with lend(context, device.ref):
            commands: tuple[Argv, ...] = (run(wipe_argv(device.path)),)
    except CallFailed as error:
        commands = error.commands
    if not may_erase(context, device.ref):
        return commands
    fd = open_for_writing(context, device.ref, device.path)
    try:
        superblock.erase(fd)
    finally:
        os.close(fd)
    return commands


STALLED_S: Final = LIMIT_S
"""Dirty data left after this silence is dropped: the disks are made blank anyway."""
POLL_S: Final = 0.25


class Moment(NamedTuple):
    """One look at a backing device."""

    attached: bool
    dirty_bytes: int | None
    """Dirty data in steps of a tenth of the unit in which the kernel prints it, so that it may be constant for minutes."""
    writes: str
    """Write counter of the backing device."""


def detach(context: Context, cached: BcacheDevice) -> Outcome:
    """Write dirty data back and take the cache off.

    Facts: `dirty_bytes` and `stats` as they were before, `left_bytes`: what could not be written back, `seconds`. A cache
    that is lost, or stands still, is no reason to keep the disks: it is said, and the next step takes it all away.
    """
    backing = next((one for one in kernel.ours(cached) if one.uuid in kernel.uuids(cached)), None)
    if backing is None or not backing.set_uuid:
        return Outcome("nothing to do")
    before = bounded(lambda: kernel.stats(backing.folder), "asking bcache")
    began = moved = time.monotonic()
    first = last = _look(backing.folder)
    with suppress(OSError, ProblemError):  # what it could not do is seen below
        write(backing.folder / "detach", "1")
    now = first
    while (now := _look(backing.folder)).attached:
        if now != last:
            moved, last = time.monotonic(), now
        elif time.monotonic() - moved > STALLED_S:
            break
        context.report(*_text(first, now, began))
        time.sleep(POLL_S)
    facts = {
        "dirty_bytes": first.dirty_bytes,
        "left_bytes": (now.dirty_bytes or 0) if now.attached else 0,
        "seconds": round(time.monotonic() - began, 3),
        "stats": before,
    }
    return Outcome("undone" if not now.attached else "done", facts, (detach_argv(cached),))


def _look(folder: Path) -> Moment:
    def read() -> Moment:
        dirty = kernel.from_hprint(read_text(folder / "dirty_data"))
        writes = (read_text(folder.parent / "stat") or "").split()[4:5]
        return Moment((folder / "cache").is_symlink(), dirty, "".join(writes))

    return bounded(read, "asking bcache")


def _text(first: Moment, now: Moment, began: float) -> tuple[str, float | None]:
    """Return the progress in words, and as a fraction where it is known."""
    seconds, done, left = time.monotonic() - began, None, ""
    if first.dirty_bytes and now.dirty_bytes is not None:
        done = min(1.0, max(0.0, 1 - now.dirty_bytes / first.dirty_bytes))
        if done > 0.01 and seconds > 2:
            left = f", {duration_text(seconds / done - seconds)} left"
    return f"writing back {size_text(now.dirty_bytes or 0)}{left}", done
