"""Census of everything that can use a disk, taken once for all disks, so that the checks are pure functions of it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from raidtui.base import paths
from raidtui.base.files import read_text
from raidtui.base.text import clean
from raidtui.inventory import mounts as mount_table
from raidtui.inventory import stacked
from raidtui.inventory.blocks import SYS, Blocks, boot_id, is_physical_disk, parse_devno, read_blocks
from raidtui.inventory.hardware import read_disk
from raidtui.inventory.mounts import PROC, Mount, Swap
from raidtui.inventory.openers import PATIENCE_S, Opener, OtherNodes, read_openers, read_other_nodes
from raidtui.inventory.waiting import allowed_s, bounded
from raidtui.model.disk import Disk

T = TypeVar("T")
TOOL_TIMEOUT_S = 10.0
DEV = Path("/dev")
_NONE: tuple[Any, ...] = ()
_NOTHING: dict[Any, Any] = {}


@dataclass(frozen=True)
class Census:
    """Users of disks reported by the kernel and the storage tools at one moment, by device name or number; nothing is
    guessed.
    """

    blocks: Blocks
    disks: tuple[Disk, ...] = ()
    """The physical disks, without identity and reasons."""
    mounts: tuple[Mount, ...] = ()
    swaps: tuple[Swap, ...] = ()
    loops: Mapping[str, stacked.Loop] = field(default_factory=dict)
    btrfs: tuple[stacked.Btrfs, ...] = ()
    arrays: tuple[stacked.Array, ...] = ()
    mappings: tuple[stacked.DmDevice, ...] = ()
    volumes: tuple[stacked.Volume, ...] = ()
    multipath_wwids: frozenset[str] = frozenset()
    pools: tuple[stacked.Pool, ...] = ()
    bcache: Mapping[str, str] = field(default_factory=dict)
    shares: tuple[stacked.Share, ...] = ()
    openers: Mapping[int, tuple[Opener, ...]] = field(default_factory=dict)
    udev: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)
    boot: Mapping[str, int] = field(default_factory=dict)
    """Devices from which the system was booted: label → device number."""
    own_folders: tuple[str, ...] = ()
    """Folders that raidtui writes to while it runs."""
    resolved: Mapping[str, int] = field(default_factory=dict)
    """Device number of a path, or of the filesystem that holds it."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Sources that could not be read, with the reason. Every disk is unchecked then."""
    boot_id: str = ""

    @cached_property
    def wwids(self) -> Mapping[str, str]:
        return {disk.name: disk.wwid for disk in self.disks}

    @cached_property
    def _mounts_by_devno(self) -> Mapping[int, Mount]:
        return {mount.devno: mount for mount in reversed(self.mounts) if mount.devno is not None}

    @cached_property
    def _mount_disks(self) -> Mapping[Mount, frozenset[str]]:
        return {mount: mount_disks(mount, self) for mount in set(self.mounts)}

    def disks_of_mount(self, mount: Mount) -> frozenset[str]:
        return self._mount_disks[mount]

    def disks_of_names(self, names: Collection[str]) -> frozenset[str]:
        """Return the disks below these block devices."""
        nodes = (self.blocks.nodes.get(name) for name in names)
        return frozenset().union(*(self.blocks.disks_below(node.devno) for node in nodes if node is not None))

    def disks_of_path(self, path: str) -> frozenset[str]:
        """Return the disks below a device's path, or below the filesystem that holds a file."""
        devno = self.resolved.get(path)
        return frozenset() if devno is None else self.disks_of_number(devno)

    def disks_of_number(self, devno: int) -> frozenset[str]:
        """Return the disks below a block device, or below the filesystem that has this number."""
        if devno not in self.blocks.by_devno and (mount := self._mounts_by_devno.get(devno)) is not None:
            return self.disks_of_mount(mount)
        return self.blocks.disks_below(devno)

    def pool_disks(self, name: str) -> frozenset[str]:
        paths_in_pool = (path for pool in self.pools if pool.name == name for path in pool.devices)
        return frozenset().union(*map(self.disks_of_path, paths_in_pool))


def take_census(ours: Collection[int] = ()) -> Census:
    """Look at everything once. A source that fails is recorded in `failures` and never taken for an empty one.

    `ours` are processes whose open files are no reason (their own pins). Raises OSError only where sysfs cannot be read.
    """
    failures: dict[str, str] = {}

    def ask(what: str, source: Callable[[], T], nothing: T) -> T:
        try:
            return source()
        except Exception as error:  # whatever it is, the answer is "unknown", and unknown is not free
            failures[what] = clean(str(error) or type(error).__name__, 200)
            return nothing

    blocks = read_blocks()
    disks = tuple(read_disk(node) for node in blocks.nodes.values() if is_physical_disk(node))
    tool_s = allowed_s(TOOL_TIMEOUT_S, len(disks))
    every_mount = ask("mounts", mount_table.read_own_mounts, _NONE)
    every_mount += ask("mounts of other namespaces", mount_table.read_other_mounts, _NONE)
    swaps = ask("swap", lambda: mount_table.parse_swaps((PROC / "swaps").read_text("utf-8", "surrogateescape")), _NONE)
    loops = ask("loop devices", lambda: bounded(lambda: stacked.read_loops(blocks), tool_s, "loop devices"), _NOTHING)
    volumes = ask("LVM", lambda: stacked.read_volumes(tool_s), _NONE)
    pools = ask("ZFS pools", lambda: stacked.read_pools(silence_s=tool_s), _NONE)
    other_nodes = ask("character devices", lambda: read_other_nodes(blocks), OtherNodes())
    shares = ask("targets", lambda: stacked.read_shares(other_nodes), _NONE)
    own_folders = ask("raidtui's own folders", lambda: (str(paths.state_folder()), str(paths.run_folder())), _NONE)
    wanted = paths_to_resolve(
        every_mount,
        [
            *(swap.path for swap in swaps),
            *(loop.backing for loop in loops.values()),
            *(volume.path for volume in volumes),
            *(path for pool in pools for path in pool.devices),
            *(share.path for share in shares),
            *own_folders,
        ],
    )
    remote = frozenset(m.devno for m in every_mount if m.devno is not None and mount_table.is_remote(m.kind))
    patience_s = allowed_s(PATIENCE_S, len(disks))

    def look_for_openers() -> dict[int, tuple[Opener, ...]]:
        return read_openers(ours=ours, patience_s=patience_s, other_nodes=other_nodes, remote=remote)

    found = ((path, device_number(path)) for path in wanted)
    return Census(
        blocks=blocks,
        disks=disks,
        mounts=every_mount,
        swaps=swaps,
        loops=loops,
        btrfs=ask("btrfs", stacked.read_btrfs, _NONE),
        arrays=ask("md arrays", lambda: stacked.read_arrays(blocks), _NONE),
        mappings=ask("device-mapper", lambda: stacked.read_mappings(blocks), _NONE),
        volumes=volumes,
        multipath_wwids=stacked.parse_multipath_wwids(read_text("/etc/multipath/wwids") or ""),
        pools=pools,
        bcache=ask("bcache", lambda: stacked.read_bcache(blocks), _NOTHING),
        shares=shares,
        openers=ask("open files", lambda: bounded(look_for_openers, patience_s + tool_s, "open files"), _NOTHING),
        udev=ask("udev", lambda: read_udev(blocks, tool_s), _NOTHING),
        boot=ask("boot devices", read_boot, _NOTHING),
        own_folders=own_folders,
        resolved={path: devno for path, devno in found if devno is not None},
        failures=failures,
        boot_id=boot_id(),
    )


def mount_disks(mount: Mount, census: Census) -> frozenset[str]:
    """Return the disks below a mount. btrfs and ZFS have no block device's number: their own lists are used."""
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


def paths_to_resolve(mounts: Iterable[Mount], others: Iterable[str]) -> set[str]:
    """Return all paths that the checks resolve to devices."""
    return {source for mount in mounts for source in mount.sources if source.startswith("/dev/")} | set(others)


def device_number(path: str) -> int | None:
    """Return the device number of a block device, or of the filesystem that holds another path; None if the path does not
    exist.
    """
    try:
        info = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return info.st_rdev if (info.st_mode & 0o170000) == 0o060000 else info.st_dev


def read_boot() -> dict[str, int]:
    """Return the devices of the boot options and of hibernation: label → device number."""
    found: dict[str, int] = {}
    for option, value in boot_options(read_text(PROC / "cmdline") or "").items():
        devno = _named_device(value)
        if devno is not None:
            found[f"{option}= of the kernel command line"] = devno
    if (resume := parse_devno(read_text(SYS / "power/resume") or "")) is not None:
        found["hibernation"] = resume
    return found


def boot_options(cmdline: str) -> dict[str, str]:
    """Return the options of a kernel command line that name devices."""
    words = (word.partition("=") for word in cmdline.split())
    return {name: value for name, _, value in words if name in ("root", "resume", "journal_dev") and value}


def _named_device(value: str) -> int | None:
    match = re.fullmatch(r"(UUID|LABEL|PARTUUID|PARTLABEL)=\"?([^\"/]+)\"?", value)
    path = DEV / f"disk/by-{match[1].lower()}" / match[2] if match else Path(value)
    if match is None and (number := parse_devno(value)) is not None:
        return number
    return device_number(str(path)) if str(path).startswith(f"{DEV}/") else None


_UDEVD_SOCKET = Path("/run/udev/control")
_UDEV_EVERY_S = 0.2
UDEV_FLAGS = ("DM_MULTIPATH_DEVICE_PATH", "SYSTEMD_READY", "UDISKS_IGNORE", "ID_FS_AMBIVALENT")


def read_udev(blocks: Blocks, patience_s: float = 0.0) -> dict[str, Mapping[str, str] | None]:
    """Return the flags that udev's rules set, by device name; None for a device that udev has not processed.

    Waits up to `patience_s` for disks that udev is still processing.
    """
    until = time.monotonic() + patience_s
    disks = [node.name for node in blocks.nodes.values() if is_physical_disk(node)]
    while True:
        found = _udev_now(blocks)
        if all(found[name] is not None for name in disks) or time.monotonic() >= until or not _UDEVD_SOCKET.exists():
            return found
        time.sleep(_UDEV_EVERY_S)


def _udev_now(blocks: Blocks) -> dict[str, Mapping[str, str] | None]:
    import pyudev  # here: simulated servers run where it is not installed

    context = pyudev.Context()
    found: dict[str, Mapping[str, str] | None] = {}
    for node in blocks.nodes.values():
        try:
            device = pyudev.Devices.from_device_number(context, "block", node.devno)
        except (pyudev.DeviceNotFoundError, OSError):
            found[node.name] = None
            continue
        found[node.name] = _flags(device) if device.is_initialized else None
    return found


def _flags(device: Any) -> dict[str, str]:
    flags = {}
    for name in UDEV_FLAGS:
        try:
            flags[name] = str(device.properties[name])
        except (KeyError, UnicodeDecodeError):
            continue
    return flags
