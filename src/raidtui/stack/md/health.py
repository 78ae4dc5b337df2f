"""Whether what is measured on an array now is worth anything, and which kernel devices it consists of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raidtui.model.mark import Coded
from raidtui.model.problem import ProblemError
from raidtui.stack.context import Context
from raidtui.stack.md import kernel
from raidtui.stack.md.devices import present_devices
from raidtui.stack.md.verify import the_array

_GOOD_STATES = frozenset({"clean", "active", "active-idle", "write-pending"})


def health(context: Context, args: dict[str, Any]) -> tuple[str, ...]:
    """Why numbers would be wrong: one sentence each; empty when nothing is wrong."""
    try:
        name = the_array(args)
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
    devices, missing = present_devices(context, args)
    wrong += [f"{ref.partition(':')[2]} is not there any more" for ref in missing]
    for device in devices:
        if device.devno not in there:
            wrong.append(f"{device.ref.partition(':')[2]} is no {device.role} of the array any more")
    # raid0 never marks a member faulty; a broken one shows only here.
    if found["level"] == "raid0" and found["state"] == "broken":
        wrong.append("the array lost a member")
    if args["journal"] is not None and found["consistency"] != "journal":
        wrong.append("the write journal failed")
    return tuple(wrong)


def members(context: Context, args: dict[str, Any]) -> Mapping[str, str]:
    """Kernel names of the array and what it stands on, with their roles. Raises ProblemError when it is not there."""
    name = the_array(args)
    devices, _ = present_devices(context, args)
    roles = {device.devno: device.role for device in devices}
    return {name: "target"} | {member.name: roles.get(member.devno, "member") for member in kernel.members(name)}
