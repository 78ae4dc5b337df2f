"""What the kernel says of a group's volumes: device-mapper devices by sysfs, and their state by `dmsetup status`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base import proc
from raidtui.base.files import read_text
from raidtui.model.problem import ProblemError
from raidtui.stack.lvm import label
from raidtui.stack.lvm.command import VOLUME

SYS_BLOCK: Final = Path("/sys/block")


class Mapping(NamedTuple):
    """A device-mapper device of a group."""

    node: str
    """Its kernel name: `dm-3`."""
    name: str
    """`rtabc0a-volume_rimage_0`."""
    holders: tuple[str, ...]

    @property
    def volume(self) -> str:
        """`volume_rimage_0`; names of this layer have no dashes, which device-mapper would double."""
        return self.name.partition("-")[2]


class Status(NamedTuple):
    """One line of `dmsetup status`."""

    volume: str
    target: str
    words: tuple[str, ...]


def mappings(group: str) -> list[Mapping]:
    """Every active volume of the group, hidden ones included."""
    found = []
    for folder in SYS_BLOCK.glob("dm-*/dm"):
        name = read_text(folder / "name") or ""
        if name.startswith(f"{group}-") and (read_text(folder / "uuid") or "").startswith("LVM-"):
            found.append(Mapping(folder.parent.name, name, _entries(folder.parent / "holders")))
    return sorted(found)


def volume_node(group: str, volume: str = VOLUME) -> str | None:
    """Kernel name of an active volume."""
    return next((one.node for one in mappings(group) if one.volume == volume), None)


def is_suspended(mapping: Mapping) -> bool:
    return read_text(SYS_BLOCK / mapping.node / "dm/suspended") == "1"


def leaves(node: str) -> set[str]:
    """Kernel names of what a device-mapper device stands on in the end; the way down stops at what is not LVM's."""
    below: set[str] = set()
    for slave in _entries(SYS_BLOCK / node / "slaves"):
        if (read_text(SYS_BLOCK / slave / "dm/name") or "").partition("-")[0] == _group(node):
            below |= leaves(slave)
        else:
            below.add(slave)
    return below


def is_ours(mapping: Mapping, uuids: Collection[str]) -> bool:
    """Whether it stands on physical volumes of these UUIDs only; devices that are gone speak neither for nor against."""
    for name in leaves(mapping.node):
        try:
            found = label.read(f"/dev/{name}")
        except (OSError, ProblemError):
            continue
        if found not in uuids:
            return False
    return True


def size_bytes(node: str) -> int | None:
    text = read_text(SYS_BLOCK / node / "size") or ""
    return int(text) * 512 if text.isdigit() else None


def status(group: str) -> list[Status]:
    """State of every active volume of the group, by the kernel. Raises proc.ToolError."""
    names = [mapping.name for mapping in mappings(group)]
    dmsetup = proc.find_tool("dmsetup")
    if not names or dmsetup is None:
        return []
    found = []
    for line in _lines(dmsetup, names):
        name, _, rest = line.partition(": ")
        words = rest.split()
        if len(words) >= 3:
            found.append(Status(name.partition("-")[2], words[2], tuple(words[3:])))
    return found


def _lines(dmsetup: str, names: Iterable[str]) -> list[str]:
    lines: list[str] = []
    for name in names:
        ran = proc.run([dmsetup, "status", "--noflush", name], check=False)
        lines += [f"{name}: {line}" for line in ran.text.splitlines()]
    return lines


def _group(node: str) -> str:
    return (read_text(SYS_BLOCK / node / "dm/name") or "").partition("-")[0]


def _entries(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(path.name for path in folder.iterdir()))
    except OSError:
        return ()


def makers(words: Collection[str]) -> list[int]:
    """Processes of LVM that have one of these words (a group's name, UUIDs) among their arguments."""
    wanted = [word.encode() for word in words]
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            argv = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if argv[0].rpartition(b"/")[2] == b"lvm" and any(word == one.partition(b"/")[0] for one in argv for word in wanted):
            found.append(int(path.parent.name))
    return found
