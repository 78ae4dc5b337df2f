"""Reading a mounted filesystem back, and comparing it with what was asked."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final

from raidtui.base.files import read_int, read_text
from raidtui.base.proc import ToolError, find_tool, run
from raidtui.base.text import clean
from raidtui.model.problem import Exit, fail
from raidtui.stack import mounts
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.fs import devices
from raidtui.stack.fs.command import mount_options

_SHOWN_OTHERWISE: Final = {
    "data=ordered": (), "noinit_itable": (), "noalign": (), "nodiscard": (), "nodatacow": ("nodatacow",),
}  # fmt: skip
"""What the kernel does not show, because it is what it does anyway, or never shows."""


def verify(context: Context, args: dict[str, Any]) -> Outcome:
    """Facts: UUID, type, options, room and geometry as they are. Raises ProblemError (`read-back`)."""
    found = devices.all_devices(context, args)
    point = context.path(args["ref"])
    root = mounts.open_root(point)
    try:
        mounted = mounts.insist(root, point)
        room = os.fstatvfs(root)
    finally:
        os.close(root)
    facts: dict[str, Any] = {
        "uuid": args["uuid"] if devices.is_ours(args, found[0].path) else "",
        "type": mounted.kind,
        "source": mounted.source,
        "options": list(mounted.options),
        "size_bytes": room.f_bavail * room.f_frsize,
    }
    facts |= {"xfs": _xfs, "ext4": _ext4, "btrfs": _btrfs, "f2fs": _f2fs}[args["type"]](point, found, args)
    if wrong := _differences(args, facts):
        raise fail("read-back", "the filesystem is not as asked: " + "; ".join(wrong), place=args["name"],
                   remedy="This kernel or mkfs made something else of it.", exit=Exit.BUILD_FAILED)  # fmt: skip
    return Outcome("done", facts)


def _differences(args: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    asked: dict[str, Any] = {"uuid": args["uuid"], "type": args["type"]}
    for name in ("block_bytes", "stripe_unit", "stripe_width", "allocation_groups", "reflink", "journal", "data",
                 "metadata", "node_bytes", "checksum", "devices"):  # fmt: skip
        value = len(args["devices"]) if name == "devices" else args[name]
        if value is not None and name in facts:
            asked[name] = value
    if args["geometry"] == "none":
        asked |= {name: 0 for name in ("stripe_unit", "stripe_width") if name in facts}
    wrong = [f"{name}: asked {value}, found {facts[name]}" for name, value in asked.items() if facts[name] != value]
    if facts["size_bytes"] < args["size_bytes"]:
        wrong.append(f"room for files: at least {args['size_bytes']} bytes planned, found {facts['size_bytes']}")
    for option in (*mounts.SAFE, *mount_options(args)):
        shown = _SHOWN_OTHERWISE.get(option, (option,))
        if option == "discard" and args["type"] == "btrfs":
            shown = ("discard=sync", "discard") if "discard=sync" in facts["options"] else ("discard",)
        if shown and not _shows(facts["options"], shown[0]):
            wrong.append(f"mount option {option} is not in force")
    return wrong


def _shows(options: list[str], option: str) -> bool:
    """btrfs adds the level that it took, the kernel leaves out strictatime."""
    if option in ("strictatime", "discard=async"):
        return not {"noatime", "relatime"} & set(options) if option == "strictatime" else option in options
    return any(shown == option or shown.startswith(f"{option}:") for shown in options)


def _xfs(point: str, found: list[devices.Device], args: dict[str, Any]) -> dict[str, Any]:
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


def _ext4(point: str, found: list[devices.Device], args: dict[str, Any]) -> dict[str, Any]:
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


def _btrfs(point: str, found: list[devices.Device], args: dict[str, Any]) -> dict[str, Any]:
    folder = Path("/sys/fs/btrfs") / args["uuid"]
    spread = {what: _profile(folder / "allocation" / what) for what in ("data", "metadata")}
    checksum = (read_text(folder / "checksum") or "").split(" ")[0]
    return {
        **spread,
        "size_bytes": _btrfs_room(folder / "allocation", found),
        "devices": len(list((folder / "devices").glob("*"))),
        "node_bytes": read_int(folder / "nodesize"),
        "sector_bytes": read_int(folder / "sectorsize"),
        "checksum": {"xxhash64": "xxhash", "blake2b": "blake2"}.get(checksum, checksum),
    }


def _btrfs_room(folder: Path, found: list[devices.Device]) -> int:
    """Statfs leaves out what it cannot pair at once, such as the third of three devices: room is what is not allocated.

    0 where the kernel does not say.
    """
    whole = sum(512 * (read_int(f"/sys/class/block/{device.name}/size") or 0) for device in found)
    taken = [read_int(folder / what / "disk_total") or 0 for what in ("data", "metadata", "system")]
    total, used = (read_int(folder / "data" / name) or 0 for name in ("total_bytes", "bytes_used"))
    if not total or not taken[0]:
        return 0
    return int((whole - sum(taken)) * total / taken[0]) + total - used


def _profile(folder: Path) -> str:
    """The kernel lists each profile that has chunks as a folder."""
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    return ",".join(names)


def _f2fs(point: str, found: list[devices.Device], args: dict[str, Any]) -> dict[str, Any]:
    folder = Path("/sys/fs/f2fs") / found[0].name
    wanted = ("ovp_segments", "reserved_blocks", "features")
    return {name: clean(value, 200) for name in wanted if (value := read_text(folder / name)) is not None}


def _output(tool: str, *words: str) -> str:
    path = find_tool(tool)
    if path is None:
        raise fail("missing-tool", f"{tool} is not installed", place=tool, exit=Exit.BUILD_FAILED)
    try:
        return run((path, *words)).text
    except ToolError as error:
        raise fail("tool-failed", f"{tool} failed: {clean(error.reason)}", place=words[-1],
                   exit=Exit.BUILD_FAILED) from error  # fmt: skip


def _number(pattern: str, text: str) -> int:
    """The first match, 0 where there is none."""
    match = re.search(pattern, text, re.MULTILINE)
    return int(match.group(1)) if match else 0
