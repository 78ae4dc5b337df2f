"""Devices of a group: physical volumes with their labels, and device-mapper devices as the kernel reports them.

A label is in one of the first four sectors; behind it are the UUID of the physical volume and, in the rest of the first
MiB, the metadata of its group (lib/label/label.h, lib/format_text/layout.h). It is read from the disk itself, past all
caches: the exit code of a tool is no evidence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base import proc
from raidtui.base.files import read_int, read_text
from raidtui.model.problem import ProblemError
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.lvm.commands import VOLUME, lvm_uuid
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.nodes import read_blocks, running
from raidtui.stack.teardown import Device, device_at, split_present


def all_devices(context: Context, vg: LvmGroup) -> list[Device]:
    """Return all devices in the order of the plan. Raises ProblemError if a device is missing or was replaced."""
    return [device_at(pv.ref, pv.role, context.path(pv.ref), pv.uuid) for pv in vg.pvs]


def paths_of(context: Context, vg: LvmGroup, role: str = "") -> list[str]:
    """Return the paths of all devices, or of those with this role."""
    return [device.path for device in all_devices(context, vg) if role in ("", device.role)]


def present_devices(context: Context, vg: LvmGroup) -> tuple[list[Device], list[str]]:
    """Return the devices that still exist, and the references of the missing ones."""
    wanted = ((pv.ref, vg.paths.get(pv.ref), partial(device_at, pv.ref, pv.role, uuid=pv.uuid)) for pv in vg.pvs)
    return split_present(context, wanted)


OWN_BYTES: Final = 1 << 20
"""Bytes at the start of a physical volume that LVM reserves for label and metadata, at least."""
_SECTOR: Final = 512


def parse_label(block: bytes) -> str | None:
    """Return the UUID (in LVM's notation) in the first sectors of a physical volume; None if there is no label."""
    for start in range(0, 4 * _SECTOR, _SECTOR):
        sector = block[start : start + _SECTOR]
        if sector[:8] != b"LABELONE" or sector[24:32] != b"LVM2 001":
            continue
        offset = int.from_bytes(sector[20:24], "little")
        if re.fullmatch(rb"[0-9A-Za-z#!]{32}", uuid := sector[offset : offset + 32]):
            return lvm_uuid(uuid.decode("ascii"))
    return None


def read_label(path: str) -> str | None:
    """Return the UUID in the label of a device. Raises OSError, or ProblemError (`stuck`) if it does not answer."""
    ((_, _, block),) = bounded(lambda: read_blocks(path, lambda _: [("label", 0)]), f"reading {path}")
    return parse_label(block) if len(block) >= 4 * _SECTOR else None


def erase_label(fd: int) -> None:
    """Write zeroes over label and metadata. `fd`: the device, open for writing."""
    os.pwrite(fd, bytes(OWN_BYTES), 0)
    os.fsync(fd)


SYS_BLOCK: Final = Path("/sys/class/block")


class Mapping(NamedTuple):
    """A device-mapper device of a group."""

    node: str
    """Kernel name: `dm-3`."""
    name: str
    """`rtabc0a-volume_rimage_0`."""
    holders: tuple[str, ...]

    @property
    def volume(self) -> str:
        """`volume_rimage_0`"""
        return split_name(self.name)[1]


_DM_NAME: Final = re.compile(r"((?:[^-]|--)*)-(.*)")


def dm_name(group: str, volume: str) -> str:
    """Return the device-mapper name of a volume; hyphens of the group's name are doubled in it (lvm(8))."""
    return f"{group.replace('-', '--')}-{volume}"


def split_name(name: str) -> tuple[str, str]:
    """Return group and volume of a device-mapper name; the whole name and nothing if it is none of a volume."""
    found = _DM_NAME.fullmatch(name)
    return (found[1].replace("--", "-"), found[2]) if found else (name, "")


class Status(NamedTuple):
    """One line of `dmsetup status`."""

    volume: str
    target: str
    words: tuple[str, ...]


def mappings(group: str) -> list[Mapping]:
    """Return all active volumes of the group, including hidden ones."""
    found = []
    for folder in SYS_BLOCK.glob("dm-*/dm"):
        name = read_text(folder / "name") or ""
        if split_name(name)[0] == group and (read_text(folder / "uuid") or "").startswith("LVM-"):
            found.append(Mapping(folder.parent.name, name, _entries(folder.parent / "holders")))
    return sorted(found)


def volume_node(group: str, volume: str = VOLUME) -> str | None:
    """Return the kernel name of an active volume."""
    return next((one.node for one in mappings(group) if one.volume == volume), None)


def is_suspended(mapping: Mapping) -> bool:
    return read_text(SYS_BLOCK / mapping.node / "dm/suspended") == "1"


def lowest(node: str) -> set[str]:
    """Return the kernel names of the devices below the group's volumes that belong to no volume of the group."""
    below: set[str] = set()
    for slave in _entries(SYS_BLOCK / node / "slaves"):
        names = [read_text(SYS_BLOCK / name / "dm/name") or "" for name in (node, slave)]
        same_group = split_name(names[0])[0] == split_name(names[1])[0]
        below |= lowest(slave) if same_group else {slave}
    return below


def stands_on(mapping: Mapping, uuids: Collection[str]) -> bool:
    """Return True if the volume is only on physical volumes of these UUIDs; devices that are gone are ignored."""
    for name in lowest(mapping.node):
        try:
            found = read_label(f"/dev/{name}")
        except (OSError, ProblemError):
            continue
        if found not in uuids:
            return False
    return True


def node_bytes(node: str) -> int | None:
    sectors = read_int(SYS_BLOCK / node / "size")
    return None if sectors is None else sectors * 512


def target_status(group: str) -> list[Status]:
    """Return the state of every active volume of the group, as the kernel reports it. Raises proc.ToolError."""
    if (dmsetup := proc.find_tool("dmsetup")) is None:
        return []
    found = []
    for mapping in mappings(group):
        ran = proc.run([dmsetup, "status", "--noflush", mapping.name], check=False)
        lines = (line.split() for line in ran.text.splitlines())
        found += [Status(mapping.volume, words[2], tuple(words[3:])) for words in lines if len(words) >= 3]
    return found


def _entries(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(path.name for path in folder.iterdir()))
    except OSError:
        return ()


def lvm_commands(words: Collection[str]) -> list[int]:
    """Return the pids of LVM commands that have one of these words (the group's name, UUIDs) among their arguments."""
    return [pid for pid, argv in running("lvm") if any(one.partition("/")[0] in words for one in argv)]
