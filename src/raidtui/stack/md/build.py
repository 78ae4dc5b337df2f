"""Creating an array: on exactly the intended devices, and checked to be so."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack import blockdev
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.md import kernel
from raidtui.stack.md.command import create_extra, mdadm_uuid, node_path
from raidtui.stack.md.devices import Device, all_devices
from raidtui.stack.md.teardown import teardown
from raidtui.stack.md.verify import differences, mismatch

NODE_TIMEOUT_S: Final = 20.0


def create(context: Context, args: dict[str, Any]) -> Outcome:
    """Create the array, wait for its node, and insist that it stands on the intended devices and has the asked geometry.

    Raises ProblemError. When the array came out otherwise, it is taken down again first.
    """
    context.stop_if_cancelled()
    devices = all_devices(context, args)
    if arrays := kernel.find(args["uuid"]):
        _check_members(arrays[0], devices, args)
        context.built[args["ref"]] = _path_of(arrays[0], args["name"])
        return Outcome("already there", _facts(arrays[0], args, context))
    _refuse_taken_name(args["name"])
    initial_sync = _initial_sync(context, args)
    context.about_to_write(args["disks"])
    blockdev.load("mdraid")  # now, because it takes longer than the disks may be nobody's
    with context.lend(args["disks"]):
        commands = _create(args, devices)
    try:
        name = _wait_for_array(args)
        _check_members(name, devices, args)
        asked = {**args, "settled": False}
        if wrong := differences(asked, kernel.read_back(name)):
            raise mismatch(args["name"], wrong)
    except ProblemError:
        # What went wrong is what the operator has to read; the block's teardown runs and tells if this was not enough.
        with suppress(ProblemError):
            teardown(context, args)
        raise
    context.built[args["ref"]] = _path_of(name, args["name"])
    return Outcome("created", {**_facts(name, args, context), "initial_sync": initial_sync}, commands)


def _create(args: dict[str, Any], devices: list[Device]) -> tuple[Argv, ...]:
    paths: dict[str, list[str]] = {"member": [], "spare": [], "journal": []}
    for found in devices:
        paths[found.role].append(found.path)
    journal = paths["journal"][0] if paths["journal"] else None
    called = blockdev.call(
        "mdraid",
        "md_create",
        node_path(args["name"]),
        args["level"],
        paths["member"] + paths["spare"],
        len(paths["spare"]),
        args["metadata"],
        args["bitmap"],
        args["chunk_bytes"] or 0,
        extra=create_extra(args, journal),
    )
    return called.commands


def _initial_sync(context: Context, args: dict[str, Any]) -> str:
    """How the members get consistent. Raises ProblemError when the sync shall be skipped without a proof for each disk."""
    if args["level"] == "raid0":
        return "none needed"
    if not args["assume_clean"]:
        return "not finished"
    methods = set()
    for ref in args["members"]:
        proof = context.zero_proof.get(ref.removeprefix("disk:"))
        if proof is None:
            raise fail("not-proven-zero", "the initial sync cannot be skipped: the disk was not proven to be zero",
                       place=ref, remedy='Set "initial_sync" of the policy to "wait".', exit=Exit.BUILD_FAILED)  # fmt: skip
        methods.add(str(proof.get("method", "read back")))
    return f"skipped: all members were proven zero ({', '.join(sorted(methods))})"


def _refuse_taken_name(name: str) -> None:
    path = node_path(name)
    if os.path.lexists(path):
        raise fail("md-name-taken", f"{path} is there already, and it is not this run's", place=path,
                   remedy="Replay again: every plan has names of its own.", exit=Exit.REFUSED)  # fmt: skip


def _wait_for_array(args: dict[str, Any]) -> str:
    """The kernel name of the new array, once it runs and its node is there."""
    until = time.monotonic() + NODE_TIMEOUT_S
    path = node_path(args["name"])
    while True:
        arrays = kernel.find(args["uuid"])
        if len(arrays) == 1 and Path(path).exists() and _path_of(arrays[0], args["name"]) == path:
            return arrays[0]
        if time.monotonic() > until:
            if len(arrays) == 1 and Path(f"/dev/{arrays[0]}").exists():
                return arrays[0]  # without udev there are no names, but there is a node
            raise fail("md-not-there", f"mdadm ended well, but no array {mdadm_uuid(args['uuid'])} came up", place=path,
                       remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
        time.sleep(0.05)


def _path_of(kernel_name: str, name: str) -> str:
    path = node_path(name)
    return path if os.path.realpath(path) == f"/dev/{kernel_name}" else f"/dev/{kernel_name}"


def _check_members(name: str, devices: list[Device], args: dict[str, Any]) -> None:
    """The very devices that were meant, by number; the permits vouch that the numbers still mean the same disks."""
    found, wanted = kernel.member_numbers(name), {device.devno for device in devices}
    if found != wanted:
        text = f"the array stands on {_numbers(found)}, not on {_numbers(wanted)}"
        raise fail("wrong-members", text, place=args["name"], remedy="Look at dmesg; plan again.", exit=Exit.BUILD_FAILED)


def _numbers(numbers: set[int]) -> str:
    return ", ".join(f"{os.major(n)}:{os.minor(n)}" for n in sorted(numbers)) or "nothing"


def _facts(name: str, args: dict[str, Any], context: Context) -> dict[str, Any]:
    return {"kernel_name": name, "uuid": args["uuid"], "path": _path_of(name, args["name"])}
