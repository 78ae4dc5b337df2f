"""Comparing what was asked with what the kernel made of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.md import kernel
from raidtui.stack.md.devices import Device, all_devices


class Difference(NamedTuple):
    """One thing that is not as asked."""

    what: str
    asked: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.what}: asked {self.asked}, found {self.found}"


def differences(args: dict[str, Any], found: dict[str, Any]) -> list[Difference]:
    """What is not as asked in `found` (from `kernel.read_back`), apart from the state of the members."""
    asked = {
        "uuid": args["uuid"],
        "level": args["level"],
        "raid_disks": len(args["members"]),
        "chunk_bytes": args["chunk_bytes"],
        "layout": args["layout"],
        "metadata": args["metadata"],
    }
    if args["level"] != "raid0":
        asked |= {"consistency": args["consistency"], "bitmap": args["bitmap"]}
    if args["bitmap_chunk_bytes"] is not None:
        asked["bitmap_chunk_bytes"] = args["bitmap_chunk_bytes"]
    wrong = [Difference(what, value, found[what]) for what, value in asked.items() if found[what] != value]
    # Targets are planned by size: a larger array is fine, a smaller one is not what was planned for.
    if found["size_bytes"] is None or found["size_bytes"] < args["size_bytes"]:
        wrong.append(Difference("size_bytes", args["size_bytes"], found["size_bytes"]))
    return wrong


def member_differences(devices: list[Device], found: tuple[kernel.Member, ...]) -> list[Difference]:
    """What is not as asked in places and states of the devices, once there is no sync any more."""
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


def mismatch(name: str, wrong: list[Difference]) -> ProblemError:
    return fail("read-back", "the array is not as asked: " + "; ".join(map(str, wrong)), place=name,
                remedy="This kernel or mdadm made something else of it.", exit=Exit.BUILD_FAILED)  # fmt: skip


def the_array(args: dict[str, Any]) -> str:
    """Kernel name of the array of this step. Raises ProblemError when there is none, or more than one."""
    arrays = kernel.find(args["uuid"])
    if len(arrays) != 1:
        text = "the array is not there" if not arrays else f"there are {len(arrays)} arrays of one UUID"
        raise fail("md-not-there", text, place=args["name"], remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)
    return arrays[0]


def verify(context: Context, args: dict[str, Any]) -> Outcome:
    """Read the array back from sysfs and mdadm; facts are what was read. Raises ProblemError (`read-back`)."""
    name = the_array(args)
    found = kernel.read_back(name)
    wrong = differences(args, found)
    wrong += member_differences(all_devices(context, args), kernel.members(name))
    if found["degraded"]:
        wrong.append(Difference("degraded", 0, found["degraded"]))
    if found["sync_action"] not in (None, "idle"):
        wrong.append(Difference("sync_action", "idle", found["sync_action"]))
    detail = kernel.detail(name)
    wrong += _detail_differences(args, detail)
    if wrong:
        raise mismatch(args["name"], wrong)
    return Outcome("done", {**found, "mdadm": detail})


def _detail_differences(args: dict[str, Any], detail: dict[str, str]) -> list[Difference]:
    asked = {
        "MD_LEVEL": args["level"],
        "MD_DEVICES": str(len(args["members"])),
        "MD_METADATA": args["metadata"],
        # `any` of --homehost takes the place of a host's name.
        "MD_NAME": f"any:{args['name']}",
    }
    return [Difference(f"mdadm {key}", value, detail.get(key)) for key, value in asked.items() if detail.get(key) != value]
