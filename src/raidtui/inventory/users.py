"""Kernel users of a disk: mounts, swap, loop devices, holders, and whether the running system stands on it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from raidtui.base.files import read_text
from raidtui.inventory import ioctl
from raidtui.inventory.blocks import SYS, Blocks, parse_devno
from raidtui.inventory.content import open_node
from raidtui.inventory.mounts import PROC, Mount
from raidtui.inventory.reasons import reason
from raidtui.model.disk import Reason

if TYPE_CHECKING:
    from raidtui.inventory.census import Census

SYSTEM_POINTS = frozenset({"/", "/boot", "/boot/efi", "/efi", "/usr", "/var", "/var/lib", "/var/log", "/etc"})


def mount_disks(mount: Mount, census: Census) -> frozenset[str]:
    """The disks that a mount stands on. btrfs and ZFS report no block device's number: their own lists are asked."""
    found: set[str] = set()
    for devno in (mount.devno, *map(census.resolved.get, mount.sources)):
        if devno is not None:
            found |= census.blocks.disks_below(devno)
    if mount.kind == "btrfs":
        for group in census.btrfs:
            members = census.disks_of_names(group.devices)
            if members & found:
                found |= members
    if mount.kind == "zfs":
        found |= census.pool_disks(mount.source.split("/")[0])
    return frozenset(found)


def check_mounts(disk: str, census: Census) -> Iterator[Reason]:
    seen = set()
    for mount in census.mounts:
        if disk not in census.disks_of_mount(mount) or (mount.point, mount.source) in seen:
            continue
        seen.add((mount.point, mount.source))
        where = f" in the mount namespace of {mount.namespace}" if mount.namespace else ""
        text = f"mounted on {mount.point} ({mount.kind}, {mount.source.removeprefix('/dev/')}){where}"
        remedy = f"umount {quote(mount.point)}"
        if mount.namespace:
            remedy = f"nsenter -t {mount.namespace.split()[1]} -m {remedy}"
        yield reason("mounted", text, remedy)
    if not seen:
        for group in census.btrfs:
            if disk in census.disks_of_names(group.devices):
                yield reason(
                    "mounted", f"member of the mounted btrfs filesystem {group.name}", f"umount {quote(group.name)}"
                )


def check_swap(disk: str, census: Census) -> Iterator[Reason]:
    for swap in census.swaps:
        if disk in census.disks_of_path(swap.path):
            yield reason("swap", f"swap {swap.kind} {swap.path} is in use", f"swapoff {quote(swap.path)}")


def check_loops(disk: str, census: Census) -> Iterator[Reason]:
    for name, loop in census.loops.items():
        # The path is asked only where the numbers lead to no disk: a file on btrfs, of which every subvolume has its own.
        below = frozenset[str]().union(*map(census.disks_of_number, loop.devices))
        if disk in (below or census.disks_of_path(loop.backing)):
            yield reason("loop", f"/dev/{name} has its data in {loop.backing} on this disk", f"losetup -d /dev/{name}")


def check_holders(disk: str, census: Census) -> Iterator[Reason]:
    """Whatever stands on the disk and is not explained by another check."""
    explained = {array.name for array in census.arrays} | {mapping.node for mapping in census.mappings}
    for node in census.blocks.family(disk):
        for holder in node.holders:
            if holder not in explained and not holder.startswith("bcache"):
                yield reason("holder", f"/dev/{holder} stands on {node.name}", f"lsblk {node.path}")


def check_partitions(disk: str, census: Census) -> Iterator[Reason]:
    if names := [node.name for node in census.blocks.partitions(disk)]:
        yield partitions_reason(disk, names)


def partitions_reason(disk: str, names: Sequence[str], *, table: bool = True) -> Reason:
    """The reason for partitions that the kernel knows. `table`: a partition table is on the disk, from which they come."""
    count = f"{len(names)} partition" + ("s" if len(names) > 1 else "")
    text = f"has {count}: {', '.join(names[:4])}{' …' if len(names) > 4 else ''}"
    if table:
        return reason("partitions", text, f"if nobody needs them: sfdisk --delete /dev/{disk}")
    remedy = f"if nobody needs them: partx -d /dev/{disk}"
    return reason("partitions", f"{text}, known to the kernel only: no partition table is on the disk", remedy)


def check_system(disk: str, census: Census) -> Iterator[Reason]:
    """Whether root, boot, swap, hibernation or raidtui's own state stands on the disk, through any stack."""
    uses: dict[str, None] = {}
    for mount in census.mounts:
        if not mount.namespace and mount.point in SYSTEM_POINTS and disk in census.disks_of_mount(mount):
            uses[mount.point] = None
    for label, devno in census.boot.items():
        if disk in census.blocks.disks_below(devno):
            uses[label] = None
    for folder in census.own_folders:
        if disk in census.disks_of_path(folder):
            uses[folder] = None
    if uses:
        text = f"the running system stands on it: {', '.join(uses)}"
        yield reason("system", text, system=True)


def read_boot(proc: Path = PROC, sys: Path = SYS, dev: Path = Path("/dev")) -> dict[str, int]:
    """What the kernel was booted from and would hibernate to: label → device number."""
    found: dict[str, int] = {}
    for option, value in boot_options(read_text(proc / "cmdline") or "").items():
        devno = _named_device(value, dev)
        if devno is not None:
            found[f"{option}= of the kernel command line"] = devno
    if (resume := parse_devno(read_text(sys / "power/resume") or "")) is not None:
        found["hibernation"] = resume
    return found


def boot_options(cmdline: str) -> dict[str, str]:
    """The options of a kernel command line that name devices."""
    words = (word.partition("=") for word in cmdline.split())
    return {name: value for name, _, value in words if name in ("root", "resume", "journal_dev") and value}


def _named_device(value: str, dev: Path) -> int | None:
    match = re.fullmatch(r"(UUID|LABEL|PARTUUID|PARTLABEL)=\"?([^\"/]+)\"?", value)
    path = dev / f"disk/by-{match[1].lower()}" / match[2] if match else Path(value)
    if match is None and (number := parse_devno(value)) is not None:
        return number
    return device_number(str(path)) if str(path).startswith(str(dev) + "/") else None


def device_number(path: str) -> int | None:
    """What a path stands on: the device itself for a block device, else the filesystem's device. None where it is gone."""
    try:
        info = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return info.st_rdev if (info.st_mode & 0o170000) == 0o060000 else info.st_dev


class Loop(NamedTuple):
    """A loop device in use."""

    backing: str
    """The path of its file or device as the kernel saw it: it may be gone, or be another file's by now."""
    devices: tuple[int, ...] = ()
    """Numbers of the device that it has its data on: of the node itself, or of the filesystem with the file."""


def read_loops(blocks: Blocks) -> dict[str, Loop]:
    """Every loop device in use. Raises OSError for one that does not say what it stands on."""
    found = {}
    for node in blocks.nodes.values():
        backing = read_text(f"{node.folder}/loop/backing_file")
        if not backing:
            continue
        try:
            fd = open_node(node)
            try:
                devices = ioctl.loop_backing(fd)
            finally:
                os.close(fd)
        except OSError as error:
            if not read_text(f"{node.folder}/loop/backing_file"):
                continue  # detached meanwhile
            raise OSError(f"/dev/{node.name} does not say what it stands on: {error}") from error
        found[node.name] = Loop(backing.removesuffix(" (deleted)"), tuple(filter(None, devices)))
    return found


class Btrfs(NamedTuple):
    """A mounted btrfs filesystem."""

    name: str
    """Its label, or its UUID."""
    devices: tuple[str, ...]


def read_btrfs(sys: Path = SYS) -> tuple[Btrfs, ...]:
    groups = []
    for folder in sorted(sys.glob("fs/btrfs/*-*")):
        devices = tuple(sorted(link.name.replace("!", "/") for link in (folder / "devices").glob("*")))
        groups.append(Btrfs(read_text(folder / "label") or folder.name, devices))
    return tuple(groups)


def paths_to_resolve(mounts: Iterable[Mount], others: Iterable[str]) -> set[str]:
    """Every path whose device the checks ask for."""
    return {source for mount in mounts for source in mount.sources if source.startswith("/dev/")} | set(others)
