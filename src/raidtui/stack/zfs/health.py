"""Whether what is measured in a pool now is worth anything, and which kernel devices it consists of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from raidtui.model.mark import Coded
from raidtui.model.problem import ProblemError
from raidtui.stack.context import Context
from raidtui.stack.zfs import mounting, pool
from raidtui.stack.zfs.devices import kernel_name, partition, present_devices
from raidtui.stack.zfs.spec import ZfsPool
from raidtui.stack.zfs.verify import the_pool


def health(context: Context, zpool: ZfsPool) -> tuple[str, ...]:
    """Why numbers would be wrong: one sentence each; empty when nothing is wrong."""
    if pool.state(zpool.name) == "SUSPENDED":
        return ("ZFS suspended the pool, because too many of its devices are gone",)
    try:
        found = the_pool(zpool)
    except ProblemError as error:
        return (error.problems[0].message,)
    wrong: list[str] = []
    if found.state != "ONLINE":
        state = f"the pool is {found.state.lower()}"
        wrong.append(Coded("degraded", state) if found.state == "DEGRADED" else state)
    if found.scan:
        wrong.append(Coded("resyncing", f"the pool is busy with a {found.scan}"))
    if found.error_count:
        wrong.append(f"the pool has {found.error_count} data errors")
    for leaf in found.leaves:
        wanted = "AVAIL" if leaf.role == "spare" else "ONLINE"
        if leaf.state != wanted:
            wrong.append(f"{leaf.role} {leaf.path} is {leaf.state.lower()}")
        if leaf.errors:
            wrong.append(f"{leaf.role} {leaf.path} has {leaf.errors} read, write or checksum errors")
        if leaf.busy:
            wrong.append(f"{leaf.role} {leaf.path} is busy with {leaf.busy}")
    path = context.built.get(zpool.ref)
    if path is not None and not zpool.has_volume:
        wrong += mounting.health(context, zpool)
    elif path is not None and not Path(path).exists():
        wrong.append("the volume is gone")
    there = {leaf.devno for leaf in found.leaves}
    devices, missing = present_devices(context, zpool)
    wrong += [f"{ref.partition(':')[2]} is not there any more" for ref in missing]
    for device in devices:
        part = partition(device)
        if part is None or part[1] not in there:
            wrong.append(f"{device.ref.partition(':')[2]} is no {device.role} of the pool any more")
    return tuple(wrong)


def members(context: Context, zpool: ZfsPool) -> Mapping[str, str]:
    """Kernel names of the volume, once it is there, and of what the pool stands on, with their roles.

    A filesystem has no counters: it is its pool's members that are looked at.
    """
    devices, _ = present_devices(context, zpool)
    found = {kernel_name(device.devno): device.role for device in devices}
    if zpool.has_volume and (path := context.built.get(zpool.ref)) is not None:
        found = {Path(path).resolve().name: "target", **found}
    return found
