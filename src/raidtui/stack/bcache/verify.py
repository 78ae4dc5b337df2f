"""Comparing what was asked with what the kernel made of it."""

from __future__ import annotations

from typing import Any

from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack.action import Outcome
from raidtui.stack.bcache import kernel
from raidtui.stack.bcache.devices import Device, all_devices
from raidtui.stack.blockdev import bounded
from raidtui.stack.context import Context
from raidtui.stack.nodes import devno
from raidtui.stack.read_back import Difference


def look(args: dict[str, Any]) -> dict[str, Any]:
    """`kernel.read_back`, never waited for without limit. Raises ProblemError (`stuck`, `bcache-not-there`)."""
    found = bounded(lambda: kernel.read_back(args), "asking bcache")
    if found["device"] is None or found["cache"] is None:
        what = "backing device" if found["device"] is None else "cache device"
        raise fail("bcache-not-there", f"the set has no {what}", place=args["name"],
                   remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
    return found


def member_differences(devices: dict[str, Device], found: dict[str, Any]) -> list[Difference]:
    """Devices that are not those that were meant, by number."""
    wrong = []
    for role, device in devices.items():
        name = found[role]
        if name is None or devno(name) != device.devno:
            wrong.append(Difference(f"{role} device", device.path, name))
    return wrong


def differences(args: dict[str, Any], found: dict[str, Any]) -> list[Difference]:
    """What is not as asked in `found` (from `kernel.read_back`)."""
    asked: dict[str, Any] = {
        "backing_uuid": kernel.uuid_of(args, "backing"),
        "mode": args["mode"],
        "replacement": args["replacement"],
        "bucket_size": kernel.hprint(args["bucket_bytes"]),
        "block_size": kernel.hprint(args["block_bytes"]),
        "running": 1,
    }
    if found["discard"] is not None or args["discard"]:
        asked["discard"] = int(args["discard"])
    if args["congestion"] == "off":
        asked |= {"congested_read_threshold_us": 0, "congested_write_threshold_us": 0}
    for name, value in args["settings"].items():
        asked[name] = kernel.hprint(value) if name == "sequential_cutoff" else value
    wrong = [Difference(what, value, found[what]) for what, value in asked.items() if found[what] != value]
    if found["size_bytes"] != args["size_bytes"]:
        wrong.append(Difference("size_bytes", args["size_bytes"], found["size_bytes"]))
    if found["state"] not in ("clean", "dirty"):
        wrong.append(Difference("state", "clean or dirty", found["state"]))
    return wrong


def mismatch(name: str, wrong: list[Difference]) -> ProblemError:
    return fail("read-back", "the cached device is not as asked: " + "; ".join(map(str, wrong)), place=name,
                remedy="This kernel or make-bcache made something else of it.", exit=Exit.BUILD_FAILED)  # fmt: skip


def verify(context: Context, args: dict[str, Any]) -> Outcome:
    """Read everything back from sysfs; facts are what was read. Raises ProblemError (`read-back`)."""
    found = look(args)
    if wrong := [*member_differences(all_devices(context, args), found), *differences(args, found)]:
        raise mismatch(args["name"], wrong)
    return Outcome("done", found)
