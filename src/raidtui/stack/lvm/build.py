"""Creation of the group and its volumes, on exactly the intended devices.

Each command that writes is run at one place: `_make_group` (libblockdev) and `_run` (LVM itself).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from raidtui.base import proc
from raidtui.base.attention import Watch
from raidtui.base.silence import Silent
from raidtui.inventory.stacked import read_volumes as read_all_pvs
from raidtui.inventory.udev import wait_for_udev
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack import sync
from raidtui.stack.action import Outcome
from raidtui.stack.calls import CallFailed
from raidtui.stack.context import Context
from raidtui.stack.lvm import cache, pool
from raidtui.stack.lvm.commands import (
    VOLUME,
    volume_argvs,
    volume_path,
)
from raidtui.stack.lvm.devices import all_devices, mappings, paths_of, read_label, target_status, volume_node
from raidtui.stack.lvm.group import LvmGroup, Vdo
from raidtui.stack.lvm.read_back import group_differences, mismatch, missing_extents, read_group, read_volumes
from raidtui.stack.lvm.teardown import teardown
from raidtui.stack.lvm.verify import differences
from raidtui.stack.read_back import Difference
from raidtui.stack.teardown import Device

NODE_TIMEOUT_S: Final = 20.0
UDEV_S: Final = 20.0
NO_ROOM: Final = "nsufficient"
"""Part of LVM's errors about too few free or suitable extents (lib/metadata/lv_manip.c)."""
PART_LEFT_ACTIVE: Final = "is prohibited while logical volume"
_NOT_YET: Final = {"deduplication": {"closed", "opening"}, "compression": {"offline"}}
"""States of index and compressor that end soon after the volume appeared, by requested feature."""

NAME_TAKEN: Final = Refusal(
    "lvm-name-taken",
    "The group's name is taken",
    "A volume group with the planned name exists already. It does not belong to this run and was not touched.",
    "Run it again: every plan has new names.",
)
NOT_THERE: Final = Refusal(
    "lvm-not-there",
    "The volume is missing",
    "No active volume with the planned name appeared.",
    "Look at the kernel's messages (dmesg) for the devices that are named, then run it again.",
)


def create_group(context: Context, vg: LvmGroup) -> Outcome:
    """Create physical volumes with the planned UUIDs, and the group.

    Raises ProblemError; a group that differs from the plan is removed first.
    """
    context.stop_if_cancelled()
    devices = all_devices(context, vg)
    paths = [device.path for device in devices]
    if all(read_label(device.path) == device.uuid for device in devices):
        return Outcome("already there", _checked_group(vg, devices))
    if os.path.lexists(f"/dev/{vg.name}") or mappings(vg.name) or any(pv.group == vg.name for pv in read_all_pvs()):
        raise fail(NAME_TAKEN, f"there is a volume group {vg.name} already, and it is not this run's", place=vg.name,
                   remedy="Replay again: every plan has names of its own.", exit=Exit.REFUSED)  # fmt: skip
    members = [pv.ref for pv in vg.pvs if pv.role == "member"]
    mode = sync.sync_mode(context, members, redundant=vg.volume.redundant, skip=vg.volume.nosync)
    context.about_to_write(vg.disks)
    commands: list[Argv] = []

    def make() -> dict[str, Any]:
        context.builder.load()  # now: loading takes longer than the disks may be unheld
        with context.lend(vg.disks):
            _make_group(context, vg, paths, commands)
        return {**_checked_group(vg, devices), "initial_sync": mode}

    return Outcome("created", _or_teardown(context, vg, make), tuple(commands))


def _checked_group(vg: LvmGroup, devices: list[Device]) -> dict[str, Any]:
    """Return what LVM reports of the group. Raises ProblemError (`read-back`) if it differs from the plan."""
    group, pvs = read_group(vg, [device.path for device in devices])
    if wrong := group_differences(vg, devices, group, pvs):
        raise mismatch(vg.name, wrong)
    return {"group": group, "pvs": pvs}


def _or_teardown(context: Context, vg: LvmGroup, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return `work()`; if it fails, take everything down first."""
    try:
        return work()
    except ProblemError:
        # The first problem is the one to report; the teardown of the block reports what this one could not remove.
        with suppress(ProblemError):
            teardown(context, vg)
        raise


def _make_group(context: Context, vg: LvmGroup, paths: list[str], commands: list[Argv]) -> None:
    """Run the commands of `commands.pvcreate_argv` and `vgcreate_argv` through blivet."""
    for path, pv in zip(paths, vg.pvs, strict=True):
        commands += context.builder.call("lvm.create_label", pv=pv, path=path, paths=paths).commands
    commands += context.builder.call("lvm.create_group", vg=vg, paths=paths).commands


def create_volume(context: Context, vg: LvmGroup) -> Outcome:
    """Create the volumes that hold the data. Raises ProblemError."""
    there = {one.volume for one in mappings(vg.name)}
    argvs = volume_argvs(vg, paths_of(context, vg, "member"), paths_of(context, vg))
    if vg.volumes > 1:
        missing = [(argv, None) for name, argv in zip(vg.names, argvs, strict=True) if name not in there]
        return _make(context, vg, missing, lambda volumes: all(name in volumes for name in vg.names))
    stages = {name(pooled=pooled) for name in (vg.data_name, vg.origin_name) for pooled in (False, True)}
    return _make(context, vg, [(argvs[0], None)], lambda volumes: any(name in volumes for name in stages))


def attach_cache(context: Context, vg: LvmGroup) -> Outcome:
    """Create the fast volume and attach it as a cache. Raises ProblemError."""
    assert vg.cache is not None
    create, attach = cache.cache_argvs(vg, vg.cache, paths_of(context, vg, "cache"), paths_of(context, vg))
    return _make(context, vg, [(create, None), (attach, cache.cache_answers(vg.cache))], vg.is_cached)


def make_pool(context: Context, vg: LvmGroup) -> Outcome:
    """Convert the volume to a pool, and create the measured volume in it. Raises ProblemError."""
    argvs = pool.pool_argvs(vg, paths_of(context, vg, "member"), paths_of(context, vg))
    return _make(context, vg, [(argv, "y" if argv[1] == "lvconvert" else None) for argv in argvs], vg.is_pooled)


def _make(
    context: Context, vg: LvmGroup, steps: Sequence[tuple[Argv, str | None]], is_made: Callable[[Container[str]], bool]
) -> Outcome:
    """Run commands with their answers, unless their result exists already; then read the group back."""
    context.stop_if_cancelled()
    devices = all_devices(context, vg)
    paths = [device.path for device in devices]
    commands: list[Argv] = []

    def make() -> dict[str, Any]:
        # A finished volume is active, and the kernel answers at once.
        if not is_made({one.volume for one in mappings(vg.name)}):
            with context.lend(vg.disks):
                commands.extend(_run(context, vg, argv, answer, paths) for argv, answer in steps)
        if vg.vdo is not None:
            _await_vdo(vg.name, vg.vdo)
        volumes = read_volumes(vg, paths)
        if not is_made(volumes):
            found = ", ".join(sorted(volumes)) or "none"
            raise mismatch(vg.name, [Difference("volumes", "what this step makes", found)])
        missing = missing_extents(vg, read_group(vg, paths)[1])
        facts = wait_for_node(context, vg, VOLUME if vg.is_pooled(volumes) else vg.volume.name)
        if more := [wait_for_node(context, vg, name) for name in vg.names[1:]]:
            facts = {**facts, "volumes": [facts, *more]}
        if wrong := differences(vg, volumes, devices, missing, whole=False):
            raise mismatch(vg.name, wrong)
        return facts

    facts = _or_teardown(context, vg, make)
    return Outcome("created" if commands else "already there", facts, tuple(commands))


def _run(context: Context, vg: LvmGroup, argv: Argv, answer: str | None, paths: list[str]) -> Argv:
    """Run one command that creates or converts a volume; return it as it succeeded. Raises CallFailed.

    If LVM has fewer extents than planned, a volume for which there is no room gets fewer, one row after the other.
    """
    if argv[1] == "lvconvert":
        return _convert(context, vg, argv, answer, paths)
    fewer, missing = 0, 0
    while True:
        smaller = _smaller(vg, argv, fewer)
        try:
            context.builder.call("lvm.create_volume", vg=vg, paths=paths, argv=smaller, answer=answer)
            return smaller
        except CallFailed as error:
            if NO_ROOM not in error.problems[0].message or "--size" not in argv:
                raise
            missing = missing or missing_extents(vg, read_group(vg, paths)[1])
            if fewer == missing:
                raise
        fewer += 1


def _smaller(vg: LvmGroup, argv: Argv, rows: int) -> Argv:
    """Return the `lvcreate` command for a volume with so many rows of extents less."""
    if not rows:
        return argv
    at = argv.index("--size") + 1
    row_bytes = vg.extent_bytes * (vg.volume.stripes if set(vg.names) & set(argv) else 1)
    size_kib = int(argv[at].removesuffix("K")) - (rows * row_bytes >> 10)
    return (*argv[:at], f"{size_kib}K", *argv[at + 1 :])


def _convert(context: Context, vg: LvmGroup, argv: Argv, answer: str | None, paths: Sequence[str]) -> Argv:
    """Run one conversion, during which LVM takes the volume down and activates the result.

    LVM leaves a part active that a program has open at that moment (udev's rule for bcache reads all devices below a
    changed one), and then refuses to activate the whole. The result exists nevertheless: it is deactivated and activated
    again, and read back as always.
    """
    _let_udev_close(vg)
    try:
        context.builder.call("lvm.create_volume", vg=vg, paths=paths, argv=argv, answer=answer)
        return argv
    except CallFailed as error:
        if PART_LEFT_ACTIVE not in error.problems[0].message:
            raise
    for state in ("n", "y"):
        _let_udev_close(vg)
        context.builder.call("lvm.activate", vg=vg, paths=paths, state=state)
    return argv


def _let_udev_close(vg: LvmGroup) -> None:
    """Wait until udev's rules have closed the group's devices, at most `UDEV_S`.

    LVM leaves a part of a volume active that a program has open while it takes the volume down for a conversion, and then
    refuses to go on.
    """
    wait_for_udev([one.node for one in mappings(vg.name)], UDEV_S)


def _await_vdo(group: str, vdo: Vdo) -> None:
    """Wait until VDO has opened its index and begun to compress, or makes no progress; the read-back has the result."""
    not_yet = {word for part, words in _NOT_YET.items() if getattr(vdo, part) for word in words}
    watch = Watch("VDO", lambda: None)
    with suppress(proc.ToolError, Silent):
        while any(one.target == "vdo" and not_yet & set(one.words) for one in target_status(group)):
            watch.tick()
            time.sleep(0.2)


def wait_for_node(context: Context, vg: LvmGroup, name: str) -> dict[str, Any]:
    """Wait until the volume is active and udev has made its link; the measured volume is `built` from then on."""
    until = time.monotonic() + NODE_TIMEOUT_S
    path = volume_path(vg.name, name)
    while True:
        node = volume_node(vg.name, name)
        named = node is not None and os.path.realpath(path) == f"/dev/{node}"
        # Without udev there is a node but no link.
        if node is not None and (named or time.monotonic() > until) and Path(f"/dev/{node}").exists():
            shown = path if named else f"/dev/{node}"
            if name == VOLUME:
                context.built[vg.ref] = shown
            elif name in vg.names[1:]:
                context.built[vg.refs[vg.names.index(name)]] = shown
            return {"kernel_name": node, "path": shown}
        if time.monotonic() > until:
            raise fail(NOT_THERE, "LVM succeeded, but there is no active volume", place=path,
                       remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
        time.sleep(0.05)
