"""Users of disks that stand on them: arrays, volumes, pools, caches, loops, btrfs, devices exported to other hosts."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from raidtui.base import proc
from raidtui.base.files import read_text
from raidtui.inventory import ioctl
from raidtui.inventory.blocks import SYS, Blocks, device_name
from raidtui.inventory.content import open_node
from raidtui.inventory.openers import OtherNodes

PVS_SILENCE_S = 10.0
_ALL_DEVICES = (
    'devices{use_devicesfile=0 hints="none" filter=["a|.*|"] global_filter=["a|.*|"] multipath_component_detection=0'
    " md_component_detection=0 fw_raid_component_detection=0}"
)


class Array(NamedTuple):
    """An md array that the kernel knows, running or not."""

    name: str
    state: str
    """`array_state` of sysfs: `active`, `clean`, `inactive`, `readonly` …"""
    level: str
    members: dict[str, str]
    """States of the members (`in_sync`, `spare`, `faulty`, `journal` …) by block device name."""

    @property
    def running(self) -> bool:
        return self.state not in ("inactive", "clear", "")


def read_arrays(blocks: Blocks) -> tuple[Array, ...]:
    """Return all md arrays with their members; an inactive array holds its members too."""
    arrays = []
    for node in blocks.nodes.values():
        folder = Path(node.folder) / "md"
        if node.is_partition or not folder.is_dir():
            continue
        members = dict.fromkeys(node.slaves, "")
        for member in folder.glob("dev-*"):
            members[device_name(member.name.removeprefix("dev-"))] = read_text(member / "state") or ""
        arrays.append(Array(node.name, read_text(folder / "array_state") or "", read_text(folder / "level") or "", members))
    return tuple(arrays)


class DmDevice(NamedTuple):
    """A device-mapper device."""

    node: str
    name: str
    uuid: str
    """UUID of the mapping; its first part names the owner: `LVM-`, `CRYPT-`, `mpath-`."""


def read_mappings(blocks: Blocks) -> tuple[DmDevice, ...]:
    found = []
    for node in blocks.nodes.values():
        folder = Path(node.folder) / "dm"
        if not node.is_partition and folder.is_dir():
            found.append(DmDevice(node.name, read_text(folder / "name") or node.name, read_text(folder / "uuid") or ""))
    return tuple(found)


def lvm_group(name: str) -> str:
    """Return the volume group of a device-mapper name: `vg--a-lv` is volume lv of group `vg-a`."""
    return name.replace("--", "\0").split("-", 1)[0].replace("\0", "-")


class Volume(NamedTuple):
    """An LVM physical volume, active or not."""

    path: str
    group: str
    """Empty if it belongs to no volume group."""
    uuid: str


def read_volumes(silence_s: float = PVS_SILENCE_S) -> tuple[Volume, ...]:
    """Return the physical volumes that LVM finds on all devices, without its filters. Empty if LVM is not installed."""
    pvs = proc.find_tool("pvs")
    if pvs is None:
        return ()
    argv = [pvs, "--readonly", "--reportformat", "json", "-o", "pv_name,vg_name,pv_uuid", "--config", _ALL_DEVICES]
    # LVM ends with 5 when any device could not be read; its report is complete for the others, and such a device is
    # refused by the content check.
    return parse_volumes(proc.run(argv, silence_s=silence_s, check=False).out)


def parse_volumes(report: bytes) -> tuple[Volume, ...]:
    """Parse the JSON report of pvs. Raises ValueError for anything else."""
    try:
        rows: list[dict[str, Any]] = json.loads(report)["report"][0]["pv"]
        return tuple(Volume(str(row["pv_name"]), str(row["vg_name"]), str(row["pv_uuid"])) for row in rows)
    except (KeyError, IndexError, TypeError, RecursionError) as error:
        raise ValueError(f"pvs answered something else than its report: {error!r}") from error


def parse_multipath_wwids(text: str) -> frozenset[str]:
    """Parse /etc/multipath/wwids: the names between slashes."""
    lines = (line.strip() for line in text.splitlines())
    return frozenset(line.strip("/") for line in lines if line and not line.startswith("#"))


STATUS_SILENCE_S = 10.0


class Pool(NamedTuple):
    """An imported pool and every device in it: data, spare, log, cache, special."""

    name: str
    devices: tuple[str, ...]


def read_pools(silence_s: float = STATUS_SILENCE_S) -> tuple[Pool, ...]:
    """Return the imported pools. Empty if ZFS is not loaded: then none can be imported."""
    if not (SYS / "module/zfs").is_dir():
        return ()
    zpool = proc.find_tool("zpool")
    if zpool is None:
        raise FileNotFoundError("ZFS is loaded, but there is no zpool command to ask")
    finished = proc.run([zpool, "status", "-LP"], silence_s=silence_s)
    return parse_status(finished.text)


def parse_status(text: str) -> tuple[Pool, ...]:
    """Parse the text of `zpool status -LP`: names of pools, and every device path in their configuration."""
    pools: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if match := re.match(r"\s*pool: (\S+)\s*$", line):
            name = match[1]
            pools[name] = []
        elif name and (match := re.match(r"\t\s+(/\S+)", line)):
            pools[name].append(match[1])
    return tuple(Pool(pool, tuple(devices)) for pool, devices in pools.items())


def read_bcache(blocks: Blocks) -> dict[str, str]:
    """Return, for each block device that bcache has registered, the file that stops it."""
    found = {}
    for node in blocks.nodes.values():
        folder = Path(node.folder) / "bcache"
        # /dev/bcacheN itself has such a folder too; it is no disk and never asked for.
        if folder.is_dir() and not node.name.startswith("bcache"):
            cache_set = folder / "set"
            found[node.name] = f"{(cache_set.resolve() if cache_set.exists() else folder)}/stop"
    return found


class Share(NamedTuple):
    """A block device that a target offers to other hosts."""

    by: str
    path: str
    devices: tuple[int, ...] = ()
    """Numbers of the devices, if the target reports more than a path."""
    active: bool = False
    """True if the kernel has it open: if its path does not exist, it may be any disk."""


def read_shares(other_nodes: OtherNodes | None = None, sys: Path = SYS) -> tuple[Share, ...]:
    """Return LIO backstores, NVMe-oF namespaces and whole controllers, SCST devices and USB gadgets."""
    config = sys / "kernel/config"
    behind = (other_nodes or OtherNodes()).names
    found = []
    for folder in sorted(config.glob("target/core/*/*")):
        path, device = parse_backstore(read_text(folder / "info") or "")
        path = path or (read_text(folder / "udev_path") or "").strip()
        if path.startswith("/") or device:
            active = not device and read_text(folder / "enable") == "1" and folder.parent.name.startswith("fileio")
            found.append(Share(f"LIO backstore {folder.name}", path, device, active))
    for folder in sorted((*config.glob("nvmet/subsystems/*/namespaces/*"), *config.glob("nvmet/subsystems/*/passthru"))):
        path = (read_text(folder / "device_path") or "").strip()
        active = read_text(folder / "enable") == "1"
        if path.startswith("/"):
            if folder.name == "passthru":
                by, devices = f"NVMe-oF controller of {folder.parent.name}", behind.get(Path(path).name, ())
                active &= not devices
            else:
                by, devices = f"NVMe-oF namespace of {folder.parents[1].name}", ()
            found.append(Share(by, path, devices, active))
    for pattern, by, depth in (
        ("kernel/config/usb_gadget/*/functions/*/lun.*/file", "USB gadget", 3),
        ("kernel/scst_tgt/devices/*/filename", "SCST device", 0),
    ):
        for file in sorted(sys.glob(pattern)):
            path = (read_text(file) or "").partition("\n")[0].strip()
            if path.startswith("/"):
                found.append(Share(f"{by} {file.parents[depth].name}", path, (), active=True))
    return tuple(found)


def parse_backstore(info: str) -> tuple[str, tuple[int, ...]]:
    """Parse path and device numbers in the `info` of a LIO backstore; empty for what it does not contain."""
    file = re.search(r"File: (/.*?)  ?Size:", info)
    number = re.search(r"Major: (\d{1,4}) Minor: (\d{1,7})", info)
    return file[1] if file else "", (os.makedev(int(number[1]), int(number[2])),) if number else ()


class Loop(NamedTuple):
    """A loop device in use."""

    backing: str
    """Path of its file or device when it was set up: it may be gone, or belong to another file now."""
    devices: tuple[int, ...] = ()
    """Number of the block device that holds its data, or of the filesystem with its file."""


def read_loops(blocks: Blocks) -> dict[str, Loop]:
    """Return all loop devices in use. Raises OSError for one that does not report its backing device."""
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
    """Label of the filesystem, or its UUID."""
    devices: tuple[str, ...]


def read_btrfs() -> tuple[Btrfs, ...]:
    groups = []
    for folder in sorted(SYS.glob("fs/btrfs/*-*")):
        devices = tuple(sorted(link.name.replace("!", "/") for link in (folder / "devices").glob("*")))
        groups.append(Btrfs(read_text(folder / "label") or folder.name, devices))
    return tuple(groups)
