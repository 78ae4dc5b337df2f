"""Checks of a bcache device: its devices, read-back verification, and its health while it is measured."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack import read_back
from raidtui.stack.action import Outcome
from raidtui.stack.bcache import kernel
from raidtui.stack.bcache.rules import NOT_THERE
from raidtui.stack.bcache.spec import BcacheDevice, Role
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.nodes import devno
from raidtui.stack.read_back import Difference
from raidtui.stack.teardown import split_present


class Device(NamedTuple):
    """The backing device or the cache device."""

    ref: str
    path: str
    devno: int
    role: str
    """`backing` or `cache`."""
    uuid: str
    """Planned UUID of its superblock."""

    @property
    def name(self) -> str:
        """Kernel name."""
        return Path(self.path).resolve().name


def all_devices(context: Context, cached: BcacheDevice) -> dict[str, Device]:
    """Return the devices by role. Raises ProblemError if one is missing or was replaced."""
    return {entry.role: _device(entry, context.path(entry.ref)) for entry in cached.devices}


def present_devices(context: Context, cached: BcacheDevice) -> tuple[list[Device], list[str]]:
    """The devices that are still there, and the references of those that are not."""
    paths = cached.paths
    return split_present(context, ((entry.ref, paths.get(entry.ref), partial(_device, entry)) for entry in cached.devices))


def _device(entry: Role, path: str) -> Device:
    return Device(entry.ref, path, Path(path).stat().st_rdev, entry.role, entry.uuid)


def look(cached: BcacheDevice) -> dict[str, Any]:
    """`kernel.read_back`, never waited for without limit. Raises ProblemError (`stuck`, `bcache-not-there`)."""
    found = bounded(lambda: kernel.read_back(cached), "asking bcache")
    if found["device"] is None or found["cache"] is None:
        what = "backing device" if found["device"] is None else "cache device"
        raise fail(NOT_THERE, f"the set has no {what}", place=cached.name,
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


def differences(cached: BcacheDevice, found: dict[str, Any]) -> list[Difference]:
    """Compare `found` (from `kernel.read_back`) with the requested device."""
    asked: dict[str, Any] = {
        "backing_uuid": cached.backing.uuid,
        "mode": cached.mode,
        "replacement": cached.replacement,
        "bucket_size": kernel.hprint(cached.bucket_bytes),
        "block_size": kernel.hprint(cached.block_bytes),
        "running": 1,
    }
    if found["discard"] is not None or cached.discard:
        asked["discard"] = int(cached.discard)
    if cached.congestion == "off":
        asked |= {"congested_read_threshold_us": 0, "congested_write_threshold_us": 0}
    for name, value in cached.settings.given().items():
        asked[name] = kernel.hprint(value) if name == "sequential_cutoff" else value
    wrong = [Difference(what, value, found[what]) for what, value in asked.items() if found[what] != value]
    if found["size_bytes"] != cached.size_bytes:
        wrong.append(Difference("size_bytes", cached.size_bytes, found["size_bytes"]))
    if found["state"] not in ("clean", "dirty"):
        wrong.append(Difference("state", "clean or dirty", found["state"]))
    return wrong


def mismatch(name: str, wrong: list[Difference]) -> ProblemError:
    remedy = "This version of the kernel or of make-bcache built something else."
    return read_back.mismatch("the cached device", name, wrong, remedy)


def verify(context: Context, cached: BcacheDevice) -> Outcome:
    """Read everything back from sysfs; facts are what was read. Raises ProblemError (`read-back`)."""
    found = look(cached)
    if wrong := [*member_differences(all_devices(context, cached), found), *differences(cached, found)]:
        raise mismatch(cached.name, wrong)
    return Outcome("done", found)


def health(context: Context, cached: BcacheDevice) -> tuple[str, ...]:
    """Return the reasons why numbers measured now would be wrong, one sentence each."""
    devices, missing = present_devices(context, cached)
    wrong = [f"{ref.partition(':')[2]} is not there any more" for ref in missing]
    try:
        found = look(cached)
    except ProblemError as error:
        return (*wrong, error.problems[0].message)
    if found["state"] not in ("clean", "dirty"):
        wrong.append(f"the state of the cache is {found['state']}")
    if found["mode"] != cached.mode:
        wrong.append(f"the cache works as {found['mode']}, not as {cached.mode}")
    if found["running"] != 1:
        wrong.append("the device does not run")
    for name, what in (("io_errors", "backing"), ("cache_io_errors", "cache")):
        if found[name]:
            wrong.append(f"the {what} device had {found[name]} errors")
    for device in devices:
        if found[device.role] is None or devno(found[device.role]) != device.devno:
            wrong.append(f"{device.ref.partition(':')[2]} is no {device.role} device any more")
    return tuple(wrong)


def members(context: Context, cached: BcacheDevice) -> Mapping[str, str]:
    """Kernel names of the device and what it stands on, with their roles. Raises ProblemError when it is not there."""
    found = look(cached)
    return {found["device"]: "target", found["backing"]: "backing", found["cache"]: "cache"}
