"""Comparison of a pool with its plan, after it was built and around every cell."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from raidtui.inventory.mounts import Mount
from raidtui.model.mark import Coded
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack import directory, mounts
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.read_back import WRONG_MEMBERS, Difference, mismatch
from raidtui.stack.zfs import pool
from raidtui.stack.zfs.arc import limit_bytes
from raidtui.stack.zfs.commands import ZfsPool
from raidtui.stack.zfs.devices import Device, all_devices, kernel_name, partition, present_devices
from raidtui.stack.zfs.notation import number
from raidtui.stack.zfs.properties import same

NOT_THERE: Final = Refusal(
    "zpool-not-there",
    "The pool is missing",
    "No pool with the planned name is imported.",
    "Look at the kernel's messages (dmesg), then run it again.",
)


Shape = tuple[str, str, tuple[int, ...]]
"""Role, word of `zpool create` and device numbers of a vdev; -1 for a device that is not there."""


def check_members(found: pool.Pool, devices: list[Device], zpool: ZfsPool) -> None:
    """Insist that the pool consists of the very partitions that were meant, each in its vdev.

    Raises ProblemError (`wrong-members`); the permits vouch that the device numbers still mean the same disks.
    """
    numbers = [part[1] if (part := partition(device)) else -1 for device in devices]
    wanted: list[Shape] = sorted(
        (one.role, one.word, tuple(sorted(numbers[place] for place in one.devices))) for one in zpool.groups
    )
    there = sorted(_shape(top) for top in found.tops)
    if wanted != there:
        text = f"the pool is {_words(there)}, not {_words(wanted)}"
        raise fail(WRONG_MEMBERS, text, place=zpool.name, remedy="Look at dmesg; plan again.", exit=Exit.BUILD_FAILED)


def _shape(top: pool.Top) -> Shape:
    alone = len(top.leaves) == 1 and top.leaves[0].path.endswith(top.name.rpartition("/")[2])
    numbers = [leaf.devno if leaf.devno is not None else -1 for leaf in top.leaves]
    return top.role, "" if alone else top.name.rpartition("-")[0], tuple(sorted(numbers))


def _words(shapes: list[Shape]) -> str:
    return "; ".join(
        f"{role} {word} of {', '.join(f'{os.major(n)}:{os.minor(n)}' if n >= 0 else 'nothing' for n in numbers)}"
        for role, word, numbers in shapes
    )


def pool_facts(found: pool.Pool) -> dict[str, Any]:
    """Return the identity of a pool as JSON data."""
    return {
        "name": found.name,
        "guid": found.guid,
        "state": found.state,
        "vdevs": [
            {"role": top.role, "name": top.name, "devices": [leaf.path for leaf in top.leaves]} for top in found.tops
        ],
    }


def the_pool(zpool: ZfsPool) -> pool.Pool:
    """The pool of this step. Raises ProblemError when it is not there."""
    found = pool.find(zpool.name)
    if found is None:
        raise fail(NOT_THERE, "the pool is not there", place=zpool.name, remedy="Look at dmesg.",
                   exit=Exit.BUILD_FAILED)  # fmt: skip
    return found


def verify(context: Context, zpool: ZfsPool) -> Outcome:
    """Read the pool and what is measured in it back. Facts: every property of both. Raises ProblemError (`read-back`)."""
    found = the_pool(zpool)
    check_members(found, all_devices(context, zpool), zpool)
    of_pool, of_root = pool.properties(zpool.name), pool.dataset_properties(zpool.name) or {}
    owns = [pool.dataset_properties(one.dataset) or {} for one in zpool.each]
    own, what = owns[0], "volume" if zpool.has_volume else "dataset"
    wrong = [Difference("state", "ONLINE", found.state)] if found.state != "ONLINE" else []
    compared = [("pool", zpool.properties, of_pool), ("root", zpool.inherited, of_root)]
    compared += [(one.child if zpool.volumes > 1 else what, one.own, there)
                 for one, there in zip(zpool.each, owns, strict=True)]  # fmt: skip
    for of, asked, there in compared:
        wrong += [Difference(f"{of} {name}", value, there.get(name)) for name, value in asked.items()
                  if not same(name, value, there.get(name))]  # fmt: skip
    of_each = list[dict[str, Any]]()
    for one, there in zip(zpool.each, owns, strict=True):
        facts, differences = (_volume if zpool.has_volume else _mounted)(context, one, there)
        of_each.append(facts)
        wrong += differences
    if wrong:
        raise mismatch("the pool", zpool.name, wrong, "This version of ZFS behaves differently.")
    reduced = {"compresses": own.get("compression", "on"), "deduplicates": own.get("dedup", "off")}
    return Outcome(
        "done",
        {
            **pool_facts(found),
            **of_each[0],
            **({"volumes": of_each} if zpool.volumes > 1 else {}),
            "arc_max_bytes": limit_bytes(),
            "pool": of_pool,
            what: own,
            **{word: value if value not in ("off", "") else None for word, value in reduced.items()},
        },
    )


def _volume(context: Context, zpool: ZfsPool, own: dict[str, str]) -> tuple[dict[str, Any], list[Difference]]:
    """Facts and differences of the volume."""
    node = pool.volume_node(zpool.dataset)
    size, volsize = pool.device_bytes(node) if node else None, number(own.get("volsize", "")) or 0
    least = zpool.size_bytes if zpool.least_bytes is None else zpool.least_bytes
    wrong = [] if least <= volsize <= zpool.size_bytes else [Difference("volume volsize", zpool.size_bytes, volsize)]
    reserved = own.get("refreservation", "0") not in ("0", "none")
    if reserved == zpool.sparse:
        wrong.append(Difference("sparse", zpool.sparse, not reserved))
    if size != volsize:
        wrong.append(Difference("size of the device", volsize, size))
    return {"kernel_name": node, "size_bytes": size}, wrong


def _mounted(context: Context, zpool: ZfsPool, own: dict[str, str]) -> tuple[dict[str, Any], list[Difference]]:
    """Facts and differences of the mounted filesystem."""
    mounted, room_bytes = directory.look(context, zpool.ref)
    options = list(mounted.options)
    wrong = [Difference("mount option", option, "none") for option in mounts.SAFE if option not in options]
    least = zpool.size_bytes if zpool.least_bytes is None else zpool.least_bytes
    context.rooms[zpool.ref] = room_bytes
    if room_bytes < least:
        wrong.append(Difference("room for files", f"at least {least} bytes", room_bytes))
    return {"path": mounted.point, "options": options, "size_bytes": room_bytes}, wrong


def health(context: Context, zpool: ZfsPool) -> tuple[str, ...]:
    """Return the reasons why numbers measured now would be wrong, one sentence each."""
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

    def other(mount: Mount) -> list[str]:
        return [] if zpool.is_mount(mount) else [f"{mount.point} is {mount.source}, not {zpool.dataset}"]

    path = context.built.get(zpool.ref)
    if path is not None and not zpool.has_volume:
        wrong += directory.health(context, zpool.ref, other)
    elif path is not None and not all(Path(context.built.get(one.ref, "")).exists() for one in zpool.each):
        wrong.append("the volume is gone" if zpool.volumes == 1 else "a volume is gone")
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
    if zpool.has_volume:
        paths = [path for one in zpool.each if (path := context.built.get(one.ref)) is not None]
        found = {**{Path(path).resolve().name: "target" for path in paths}, **found}
    return found
