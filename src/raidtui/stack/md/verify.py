"""Checks of an array: its devices, read-back verification, and its health while it is measured."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from raidtui.model.mark import Coded
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.builder.seen import Expected, Seen
from raidtui.stack.context import Context
from raidtui.stack.md import kernel
from raidtui.stack.md.size import tolerance_bytes
from raidtui.stack.md.spec import MdArray
from raidtui.stack.read_back import Difference, mismatch
from raidtui.stack.teardown import Device, device_at, split_present

NOT_THERE: Final = Refusal(
    "md-not-there",
    "The array does not exist",
    "No array, or more than one, has the UUID that the plan chose.",
    "Look at the kernel's messages (dmesg) for the devices that are named, then run it again.",
)
REMEDY: Final = "This version of the kernel or of mdadm built something else."
_GOOD_STATES = frozenset({"clean", "active", "active-idle", "write-pending"})


def all_devices(context: Context, array: MdArray) -> list[Device]:
    """Return all devices. Raises ProblemError if one is missing or was replaced."""
    return [device_at(ref, role, context.path(ref)) for ref, role in array.references]


def present_devices(context: Context, array: MdArray) -> tuple[list[Device], list[str]]:
    """Return the devices that still exist, and the references of the missing ones."""
    wanted = ((ref, array.paths.get(ref), partial(device_at, ref, role)) for ref, role in array.references)
    return split_present(context, wanted)


def differences(array: MdArray, found: dict[str, Any]) -> list[Difference]:
    """Compare `found` (from `kernel.read_back`) with the requested array, apart from the state of the members."""
    asked = {
        "uuid": array.uuid,
        "level": array.level,
        "raid_disks": len(array.members),
        "chunk_bytes": array.chunk_bytes,
        "layout": array.layout,
        "metadata": array.metadata,
    }
    if array.level != "raid0":
        asked |= {"consistency": array.consistency, "bitmap": array.bitmap}
    if array.bitmap_chunk_bytes is not None:
        asked["bitmap_chunk_bytes"] = array.bitmap_chunk_bytes
    wrong = [Difference(what, value, found[what]) for what, value in asked.items() if found[what] != value]
    tolerance = tolerance_bytes(array.size_bytes, len(array.members))
    if found["size_bytes"] is None or abs(found["size_bytes"] - array.size_bytes) > tolerance:
        wrong.append(Difference("size_bytes", f"{array.size_bytes} ± {tolerance}", found["size_bytes"]))
    return wrong


def _member_differences(devices: list[Device], found: tuple[kernel.Member, ...]) -> list[Difference]:
    """Compare slots and states of the devices with the requested ones, after the initial sync."""
    by_number = {member.devno: member for member in found}
    wrong = []
    for slot, device in enumerate(devices):
        state = {"member": "in_sync"}.get(device.role, device.role)
        member = by_number.pop(device.devno, None)
        if member is None:
            wrong.append(Difference(device.ref, "in the array", "missing"))
        elif state not in member.states or "faulty" in member.states:
            wrong.append(Difference(device.ref, state, ",".join(sorted(member.states)) or "no state"))
        elif device.role == "member" and member.slot != str(slot):
            wrong.append(Difference(f"{device.ref} slot", str(slot), member.slot))
    wrong += [Difference(member.name, "not in the array", member.slot) for member in by_number.values()]
    return wrong


def the_array(array: MdArray) -> str:
    """Return the kernel name of the array. Raises ProblemError (`md-not-there`) unless exactly one array has its UUID."""
    arrays = kernel.find(array.uuid)
    if len(arrays) != 1:
        text = "the array does not exist" if not arrays else f"{len(arrays)} arrays have the same UUID"
        raise fail(NOT_THERE, text, place=array.name, remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)
    return arrays[0]


def verify(context: Context, array: MdArray) -> Outcome:
    """Compare the array with the requested one. Facts: the values read back. Raises ProblemError (`read-back`)."""
    name = the_array(array)
    found = kernel.read_back(name)
    wrong = _member_differences(all_devices(context, array), kernel.members(name))
    if found["degraded"]:
        wrong.append(Difference("degraded", 0, found["degraded"]))
    if found["sync_action"] not in (None, "idle"):
        wrong.append(Difference("sync_action", "idle", found["sync_action"]))
    return _verified(array, name, found, wrong)


def verify_syncing(context: Context, array: MdArray) -> Outcome:
    """Compare the array with the requested one while its initial sync goes on: every device has to be in it, in any state
    but faulty. Facts: the values read back. Raises ProblemError (`read-back`).
    """
    name = the_array(array)
    there = {member.devno: member for member in kernel.members(name) if "faulty" not in member.states}
    devices = all_devices(context, array)
    wrong = [Difference(device.ref, "in the array", "missing") for device in devices if device.devno not in there]
    return _verified(array, name, kernel.read_back(name), wrong)


def _verified(array: MdArray, name: str, found: dict[str, Any], wrong: list[Difference]) -> Outcome:
    detail = kernel.detail(name)
    wrong = [*differences(array, found), *wrong, *_detail_differences(array, detail)]
    if wrong:
        raise mismatch("the array", array.name, wrong, REMEDY)
    return Outcome("done", {**found, "mdadm": detail})


def expect(context: Context, array: MdArray) -> tuple[Expected, ...]:
    """Return the array as blivet should see it."""
    nodes = {Path(device.path).resolve().name: device.role for device in all_devices(context, array)}
    members = tuple(sorted(node for node, role in nodes.items() if role == "member"))
    seen = Seen("mdarray", the_array(array), parents=members, level=array.level, uuid=array.uuid)
    return (Expected(seen, frozenset(nodes)),)


def _detail_differences(array: MdArray, detail: dict[str, str]) -> list[Difference]:
    asked = {
        "MD_LEVEL": array.level,
        "MD_DEVICES": str(len(array.members)),
        "MD_METADATA": array.metadata,
        # mdadm prefixes the name with the host of --homehost.
        "MD_NAME": f"any:{array.name}",
    }
    return [Difference(f"mdadm {key}", value, detail.get(key)) for key, value in asked.items() if detail.get(key) != value]


def health(context: Context, array: MdArray) -> tuple[str, ...]:
    """Return the reasons why numbers measured now would be wrong, one sentence each."""
    try:
        name = the_array(array)
    except ProblemError as error:
        return (error.problems[0].message,)
    found = kernel.read_back(name)
    members = kernel.members(name)
    wrong: list[str] = []
    if found["state"] not in _GOOD_STATES:
        wrong.append(f"the array is {found['state'] or 'gone'}")
    if found["degraded"]:
        lacking = f"{found['degraded']} of {found['raid_disks']} members missing"
        wrong.append(Coded("degraded", f"the array is degraded: {lacking}"))
    if found["sync_action"] not in (None, "idle"):
        wrong.append(Coded("resyncing", f"the array is busy with {found['sync_action']}"))
    wrong += [f"{member.name} is marked faulty" for member in members if "faulty" in member.states]
    there = {member.devno for member in members if "faulty" not in member.states}
    devices, missing = present_devices(context, array)
    wrong += [f"{ref.partition(':')[2]} does not exist any more" for ref in missing]
    for device in devices:
        if device.devno not in there:
            wrong.append(f"{device.ref.partition(':')[2]} is not a {device.role} of the array any more")
    # raid0 never marks a member faulty; a lost member changes only the state.
    if found["level"] == "raid0" and found["state"] == "broken":
        wrong.append("the array lost a member")
    if array.journal is not None and found["consistency"] != "journal":
        wrong.append("the write journal failed")
    return tuple(wrong)


def members(context: Context, array: MdArray) -> Mapping[str, str]:
    """Return the kernel names of the array and its devices with their roles. Raises ProblemError if there is no array."""
    name = the_array(array)
    devices, _ = present_devices(context, array)
    roles = {device.devno: device.role for device in devices}
    return {name: "target"} | {member.name: roles.get(member.devno, "member") for member in kernel.members(name)}
