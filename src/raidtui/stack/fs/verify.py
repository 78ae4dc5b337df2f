"""Checks of a filesystem: its devices and signatures, read-back verification, and its health while it is measured."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from raidtui.base.files import read_int, read_text
from raidtui.base.proc import ToolError, find_tool, run
from raidtui.base.text import clean
from raidtui.inventory.mounts import Mount
from raidtui.inventory.signatures import Signature, signatures
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack import directory, mounts
from raidtui.stack.action import Outcome
from raidtui.stack.calls import TOOL_FAILED
from raidtui.stack.context import Context
from raidtui.stack.fs.plan import mount_options
from raidtui.stack.fs.rules import DEVICE
from raidtui.stack.fs.spec import Filesystem
from raidtui.stack.read_back import READ_BACK


class Device(NamedTuple):
    """A device that the filesystem is on."""

    ref: str
    path: str
    devno: int

    @property
    def name(self) -> str:
        """Kernel name."""
        return Path(f"/sys/dev/block/{os.major(self.devno)}:{os.minor(self.devno)}").resolve().name


def all_devices(context: Context, fs: Filesystem) -> list[Device]:
    """Return the devices in order. Raises ProblemError if one is missing or was replaced."""
    found = []
    for ref in fs.devices:
        path = context.path(ref)
        try:
            found.append(Device(ref, path, Path(path).stat().st_rdev))
        except OSError as error:
            raise fail(DEVICE, f"{path}: {error.strerror}", place=ref, exit=Exit.BUILD_FAILED) from error
    return found


def planned_paths(context: Context, fs: Filesystem) -> Iterator[tuple[str, str]]:
    """References of the devices, and where they are, or were when it was planned: good for looking, never for writing."""
    for ref in fs.devices:
        with suppress(ProblemError):
            yield ref, context.path(ref)
            continue
        yield ref, fs.paths[ref]


def signatures_on(path: str) -> tuple[Signature, ...]:
    """Return all signatures on a device. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return signatures(fd, 0, os.lseek(fd, 0, os.SEEK_END), path)
    finally:
        os.close(fd)


def is_ours(fs: Filesystem, path: str) -> bool:
    """Return True if the device at `path` has the filesystem of this step. Raises OSError if it cannot be read."""
    return any(one.type == fs.type and one.uuid == fs.uuid for one in signatures_on(path))


def subvolume_of(mount: Mount) -> str:
    """Return the path of the subvolume that a mount of btrfs shows; empty for the top level, and for other filesystems."""
    return next((one.removeprefix("subvol=/") for one in mount.options if one.startswith("subvol=/")), "")


def shows_subvolume(fs: Filesystem, mount: Mount) -> bool:
    """Return True if the mount shows the subvolume of this step, or the top level if the step has none."""
    return subvolume_of(mount) == (fs.subvolume or "")


_NOT_SHOWN: Final = ("data=ordered", "noinit_itable", "noalign", "nodiscard")
"""Mount options that the kernel does not show."""
_COMPARED: Final = (
    "block_bytes", "stripe_unit", "stripe_width", "allocation_groups", "reflink", "journal", "data", "metadata",
    "node_bytes", "checksum",
)  # fmt: skip


def verify(context: Context, fs: Filesystem) -> Outcome:
    """Facts: UUID, type, options, room and geometry as they are. Raises ProblemError (`read-back`)."""
    found = all_devices(context, fs)
    mounted, room_bytes = directory.look(context, fs.ref)
    facts: dict[str, Any] = {
        "uuid": fs.uuid if is_ours(fs, found[0].path) else "",
        "type": mounted.kind,
        "source": mounted.source,
        "options": list(mounted.options),
        "size_bytes": room_bytes,
    }
    if fs.type == "btrfs":
        facts["subvolume"] = subvolume_of(mounted)
    facts |= {"xfs": _xfs, "ext4": _ext4, "btrfs": _btrfs, "f2fs": _f2fs}[fs.type](mounted.point, found, fs)
    if wrong := _differences(fs, facts):
        raise fail(READ_BACK, "the filesystem is not as asked: " + "; ".join(wrong), place=fs.name,
                   remedy="This kernel or mkfs made something else of it.", exit=Exit.BUILD_FAILED)  # fmt: skip
    context.rooms[fs.ref] = facts["size_bytes"]
    return Outcome("done", facts)


def _differences(fs: Filesystem, facts: dict[str, Any]) -> list[str]:
    asked: dict[str, Any] = {"uuid": fs.uuid, "type": fs.type, "devices": len(fs.devices),
                             "subvolume": fs.subvolume or ""}  # fmt: skip
    asked |= {name: getattr(fs, name) for name in _COMPARED}
    if fs.geometry == "none":
        asked |= {"stripe_unit": 0, "stripe_width": 0}
    wrong = [
        f"{name}: asked {value}, found {facts[name]}"
        for name, value in asked.items()
        if value is not None and name in facts and facts[name] != value
    ]
    least = fs.size_bytes - fs.size_bytes // 16  # other versions keep a little more for themselves than was estimated
    if facts["size_bytes"] < least:
        wrong.append(f"room for files: at least {least} bytes planned, found {facts['size_bytes']}")
    options = facts["options"]
    for option in (*mounts.SAFE, *mount_options(fs)):
        if option in _NOT_SHOWN:
            continue
        shown = "discard=sync" if option == "discard" and fs.type == "btrfs" and "discard=sync" in options else option
        if option == "strictatime":  # the kernel shows only the other two
            in_force = not {"noatime", "relatime"} & set(options)
        elif option == "discard=async":
            in_force = option in options
        else:  # btrfs adds the level that it took
            in_force = any(one == shown or one.startswith(f"{shown}:") for one in options)
        if not in_force:
            wrong.append(f"mount option {option} is not in force")
    return wrong


def _xfs(point: str, found: list[Device], fs: Filesystem) -> dict[str, Any]:
    text = _output("xfs_info", point)
    numbers = {name: int(value) for name, value in reversed(re.findall(r"(\w+)=(\d+)", text.partition("naming")[0]))}
    block = _number(r"data\s+=\s+bsize=(\d+)", text)
    log = _number(r"^log\s+=.*?blocks=(\d+)", text)
    return {
        "block_bytes": block,
        "stripe_unit": _number(r"sunit=(\d+)\s+swidth=\d+ blks", text) * block,
        "stripe_width": _number(r"sunit=\d+\s+swidth=(\d+) blks", text) * block,
        "allocation_groups": numbers.get("agcount"),
        "reflink": bool(numbers.get("reflink")),
        "log_bytes": log * block,
    }


def _ext4(point: str, found: list[Device], fs: Filesystem) -> dict[str, Any]:
    text = _output("dumpe2fs", "-h", found[0].path)
    block = _number(r"^Block size:\s+(\d+)", text)
    features = re.search(r"^Filesystem features:\s+(.*)$", text, re.MULTILINE)
    return {
        "block_bytes": block,
        "stripe_unit": _number(r"^RAID stride:\s+(\d+)", text) * block,
        "stripe_width": _number(r"^RAID stripe width:\s+(\d+)", text) * block,
        "journal": bool(features and "has_journal" in features.group(1).split()),
        "features": clean(features.group(1), 400).split() if features else [],
    }


def _btrfs(point: str, found: list[Device], fs: Filesystem) -> dict[str, Any]:
    folder = Path("/sys/fs/btrfs") / fs.uuid
    # The kernel lists each profile that has chunks as a folder.
    spread = {what: ",".join(sorted(path.name for path in (folder / "allocation" / what).glob("*/") if path.is_dir()))
              for what in ("data", "metadata")}  # fmt: skip
    checksum = (read_text(folder / "checksum") or "").split(" ")[0]
    return {
        **spread,
        "size_bytes": _btrfs_room(folder / "allocation", found),
        "devices": len(list((folder / "devices").glob("*"))),
        "node_bytes": read_int(folder / "nodesize"),
        "sector_bytes": read_int(folder / "sectorsize"),
        "checksum": {"xxhash64": "xxhash", "blake2b": "blake2"}.get(checksum, checksum),
    }


def _btrfs_room(folder: Path, found: list[Device]) -> int:
    """Statfs leaves out what it cannot pair at once, such as the third of three devices: room is what is not allocated.

    0 where the kernel does not say.
    """
    whole = sum(512 * (read_int(f"/sys/class/block/{device.name}/size") or 0) for device in found)
    taken = [read_int(folder / what / "disk_total") or 0 for what in ("data", "metadata", "system")]
    total, used = (read_int(folder / "data" / name) or 0 for name in ("total_bytes", "bytes_used"))
    if not total or not taken[0]:
        return 0
    return int((whole - sum(taken)) * total / taken[0]) + total - used


def _f2fs(point: str, found: list[Device], fs: Filesystem) -> dict[str, Any]:
    folder = Path("/sys/fs/f2fs") / found[0].name
    wanted = ("ovp_segments", "reserved_blocks", "features")
    return {name: clean(value, 200) for name in wanted if (value := read_text(folder / name)) is not None}


def _output(tool: str, *words: str) -> str:
    path = find_tool(tool)
    if path is None:
        raise fail(mounts.MISSING_TOOL, f"{tool} is not installed", place=tool, exit=Exit.BUILD_FAILED)
    try:
        return run((path, *words)).text
    except ToolError as error:
        raise fail(TOOL_FAILED, f"{tool} failed: {clean(error.reason)}", place=words[-1],
                   exit=Exit.BUILD_FAILED) from error  # fmt: skip


def _number(pattern: str, text: str) -> int:
    """The first match, 0 where there is none."""
    match = re.search(pattern, text, re.MULTILINE)
    return int(match.group(1)) if match else 0


def health(context: Context, fs: Filesystem) -> tuple[str, ...]:
    """Return the reasons why numbers measured now would be wrong."""
    try:
        found = all_devices(context, fs)
    except ProblemError as error:
        return (error.problems[0].message,)
    return tuple(directory.health(context, fs.ref, lambda mounted: _wrong(fs, mounted, found)))


def _wrong(fs: Filesystem, mounted: Mount, found: list[Device]) -> list[str]:
    wrong = []
    if mounted.kind != fs.type:
        wrong.append(f"{mounted.point} is {mounted.kind}, not {fs.type}")
    if not shows_subvolume(fs, mounted):
        wrong.append(f"{mounted.point} shows subvol=/{subvolume_of(mounted)}, not subvol=/{fs.subvolume or ''}")
    number = mounted.devno
    if fs.type == "btrfs":  # its mounts have a number of their own
        number = None
        with suppress(OSError):
            number = Path(mounted.source).stat().st_rdev
    if number not in {device.devno for device in found}:
        wrong.append(f"{mounted.point} is on another device than it was made on")
    for state in Path("/sys/fs/btrfs").glob(f"{fs.uuid}/devinfo/*/missing"):
        if read_text(state) != "0":
            wrong.append(f"device {state.parent.name} of the filesystem is missing")
    return wrong


def members(context: Context, fs: Filesystem) -> dict[str, str]:
    """Return the devices as targets, because a directory has no counters."""
    return {device.name: "target" for device in all_devices(context, fs)}
