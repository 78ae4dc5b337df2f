"""Teardown of a group: found by the UUIDs of its physical volumes, in any state, and verified.

It may be run at any time and repeatedly: after a creation that was interrupted, with devices unplugged, with the volumes
active, suspended or gone. Volumes on other physical volumes are not touched.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.calls import CallFailed
from raidtui.stack.context import Context
from raidtui.stack.lvm.commands import read_report, run_command, volume_path
from raidtui.stack.lvm.devices import Mapping, erase_label, lvm_commands, mappings, present_devices, read_label, stands_on
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.nodes import users_of
from raidtui.stack.teardown import Device, await_links, await_makers, is_there, may_erase, open_for_writing, until_gone

BUSY_PATIENCE_S: Final = 15.0
_NO_METADATA: Final = "[unknown]"
"""Group name that LVM reports for a used physical volume without metadata."""
_LOCKS: Final = Path("/run/lock/lvm")

BUSY: Final = Refusal(
    "lvm-busy",
    "The volume is in use",
    "A volume of the group is still in use, so that it cannot be deactivated. The message names the user.",
    "End that use, then `raidtui recover`. It may be repeated.",
)
FOREIGN: Final = Refusal(
    "lvm-foreign",
    "The group was changed by others",
    "The group has a physical volume that this run did not create, or another name than the run gave it: it is used "
    "by others. Nothing was removed, and no disk of the run was made blank.",
    "Take that physical volume out of the group (vgreduce), or remove the group if its content is not needed "
    "(vgremove), then `raidtui recover`.",
)


def teardown(context: Context, vg: LvmGroup) -> Outcome:
    """Deactivate the group's volumes, remove them and the group, and take the labels off its devices.

    Facts: `removed` (device-mapper names), `erased` and `missing` (references). Raises ProblemError (exit 6): `lvm-busy`,
    `lvm-foreign`, `left-behind`, `stuck`.
    """
    words = [vg.name, *(pv.uuid for pv in vg.pvs)]
    await_makers(lambda: lvm_commands(words), BUSY, "is still at work on the group", vg.name)
    commands: list[Argv] = []
    removed: list[str] = []
    erased: list[str] = []
    missing: list[str] = []

    def attempt() -> str:
        devices, missing[:] = present_devices(context, vg)
        marked = [device for device in devices if _carries(device)]
        groups = _groups_on(marked, vg)
        _deactivate(context, vg, marked, removed, commands)
        trouble = _remove(context, vg, groups, marked, erased, commands)
        return trouble or ("it reappears after each removal" if _ours(vg) else "")

    until_gone(attempt, "the volume group", vg.name)
    if removed:
        await_links(Path(volume_path(vg.name)).parent, lambda: mappings(vg.name))
    for suffix in ("", ":aux"):
        with suppress(OSError):  # a killed command leaves its lock file behind
            (_LOCKS / f"V_{vg.name}{suffix}").unlink()
    for ref in vg.refs:
        context.built.pop(ref, None)
    facts = {"removed": removed, "erased": erased, "missing": missing}
    return Outcome("undone" if removed or erased else "nothing to do", facts, tuple(commands))


def _carries(device: Device) -> bool:
    """Return True if the device carries the run's label. Raises ProblemError (`stuck`)."""
    try:
        return read_label(device.path) == device.uuid
    except OSError:
        return False


def _ours(vg: LvmGroup) -> list[Mapping]:
    uuids = {pv.uuid for pv in vg.pvs}
    return [one for one in mappings(vg.name) if stands_on(one, uuids)]


def _groups_on(marked: list[Device], vg: LvmGroup) -> list[str]:
    """Return the group on the run's physical volumes, if there is one.

    Raises ProblemError: `lvm-foreign` if others added a disk to it, or if it has another name than the run gave it: its
    volumes may belong to others; `tool-failed` if LVM does not answer.
    """
    if not marked:
        return []
    rows = read_report("pvs", ("pv_uuid", "vg_name"), [device.path for device in marked])
    groups = {row["vg_name"] for row in rows} - {"", _NO_METADATA}
    if others := sorted(groups - {vg.name}):
        raise fail(FOREIGN, f"the run's physical volumes now belong to another group: {others[0]}",
                   place=vg.name, remedy=f"If its content is not needed: vgremove {others[0]}, then: raidtui recover",
                   exit=Exit.LEFT_BEHIND)  # fmt: skip
    known = {pv.uuid for pv in vg.pvs}
    if strangers := [row["pv_uuid"] for row in rows if row["vg_name"] and row["pv_uuid"] not in known]:
        raise fail(FOREIGN, f"the group has a physical volume that is not this run's: {strangers[0]}",
                   place=vg.name, remedy="Take it out (vgreduce), then: raidtui recover",
                   exit=Exit.LEFT_BEHIND)  # fmt: skip
    return sorted(groups)


def _deactivate(
    context: Context, vg: LvmGroup, marked: list[Device], removed: list[str], commands: list[Argv]
) -> None:
    """Deactivate by LVM if it still knows the group, then remove the rest by device-mapper, from the top.

    Raises ProblemError (`lvm-busy`) for a volume that is in use.
    """
    if not (active := _ours(vg)):
        return
    names = [one.name for one in active]
    if marked:
        paths = [device.path for device in marked]
        _try(lambda: context.builder.call("lvm.activate", vg=vg, paths=paths, state="n").commands, commands)
    until = time.monotonic() + BUSY_PATIENCE_S
    while left := _ours(vg):
        for one in left:
            if not one.holders:
                _try(partial(_remove_mapping, one.name), commands)
        now = _ours(vg)
        if len(now) < len(left):
            until = time.monotonic() + BUSY_PATIENCE_S  # progress means that it is not in use, however long it takes
        elif time.monotonic() > until:
            top = next((one for one in now if not set(one.holders) & {other.node for other in now}), now[0])
            raise fail(BUSY, f"the volume cannot be deactivated: {'; '.join(users_of(top.node)) or 'it is in use'}",
                       place=f"/dev/mapper/{top.name}", remedy="End that use, then: raidtui recover",
                       exit=Exit.LEFT_BEHIND)  # fmt: skip
        else:
            time.sleep(0.3)
    removed += names


def _remove(
    context: Context, vg: LvmGroup, groups: list[str], marked: list[Device], erased: list[str], commands: list[Argv]
) -> str:
    """Remove volumes, group and labels by LVM; overwrite labels that are left. Return what remains, with the reason.

    LVM would write to every device of the group: if one of them carries foreign data, LVM is not used.
    """
    trouble = []
    devices: list[Device] = []

    def attempt(device: Device, work: Callable[[Device], str]) -> None:
        try:
            trouble.append(work(device))
        except (ProblemError, OSError) as error:
            if is_there(context, device.ref, device.path):
                trouble.append(f"{device.path}: {error}")

    def hold(device: Device) -> str:
        if may_erase(context, device.ref):
            devices.append(device)
        return ""

    def erase(device: Device) -> str:
        if read_label(device.path) == device.uuid:
            fd = open_for_writing(context, device.ref, device.path)
            try:
                erase_label(fd)
            finally:
                os.close(fd)
            if read_label(device.path) == device.uuid:
                return f"{device.path} still has its label"
        erased.append(device.ref)
        return ""

    for device in marked:
        attempt(device, hold)
    if devices and devices == marked:
        paths = [device.path for device in devices]
        with context.lend(vg.disks):
            if groups:
                _try(lambda: context.builder.call("lvm.remove_volumes", vg=vg, paths=paths).commands, commands)
                _try(lambda: context.builder.call("lvm.remove_group", vg=vg, paths=paths).commands, commands)
            _try(lambda: context.builder.call("lvm.remove_labels", paths=paths).commands, commands)
    for device in devices:
        attempt(device, erase)
    return "; ".join(filter(None, trouble))


def _remove_mapping(name: str) -> tuple[Argv, ...]:
    return (run_command(("dmsetup", "remove", name)),)


def _try(work: Callable[[], tuple[Argv, ...]], commands: list[Argv]) -> None:
    """Run commands; their failure shows in what remains. A device that does not answer is raised (`stuck`)."""
    try:
        commands += work()
    except CallFailed as error:
        commands += error.commands
        if error.problems[0].code == "stuck":
            raise
