"""md arrays, device-mapper and LVM: who stands on a disk by them, active or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from raidtui.base import proc
from raidtui.base.files import read_text
from raidtui.inventory.blocks import SYS, Blocks, device_name
from raidtui.inventory.reasons import reason
from raidtui.model.disk import Reason

if TYPE_CHECKING:
    from raidtui.inventory.census import Census

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
    """Block device name → its state (`in_sync`, `spare`, `faulty`, `journal` …)."""

    @property
    def running(self) -> bool:
        return self.state not in ("inactive", "clear", "")


def read_arrays(blocks: Blocks, sys: Path = SYS) -> tuple[Array, ...]:
    """Every md array with its members; an inactive array holds its members too."""
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


def check_md(disk: str, census: Census) -> Iterator[Reason]:
    for array in census.arrays:
        for node in census.blocks.family(disk):
            if node.name not in array.members:
                continue
            role = "spare" if "spare" in array.members[node.name] else "member"
            if array.running:
                text = f"{role} of md array /dev/{array.name} ({array.level or 'no level'}, {array.state}) by {node.name}"
                yield reason("md-active", text, f"mdadm --stop /dev/{array.name}")
            else:
                text = f"held by inactive md array /dev/{array.name} by {node.name}"
                yield reason("md-inactive", text, f"mdadm --stop /dev/{array.name}")


class DmDevice(NamedTuple):
    """A device-mapper device."""

    node: str
    name: str
    uuid: str
    """Its first part says whose it is: `LVM-`, `CRYPT-`, `mpath-`."""


def read_mappings(blocks: Blocks) -> tuple[DmDevice, ...]:
    found = []
    for node in blocks.nodes.values():
        folder = Path(node.folder) / "dm"
        if not node.is_partition and folder.is_dir():
            found.append(DmDevice(node.name, read_text(folder / "name") or node.name, read_text(folder / "uuid") or ""))
    return tuple(found)


def check_mappings(disk: str, census: Census) -> Iterator[Reason]:
    for mapping in census.mappings:
        node = census.blocks.nodes.get(mapping.node)
        below = [name for name in (node.slaves if node else ()) if name in {n.name for n in census.blocks.family(disk)}]
        if not below:
            continue
        where = f"by {', '.join(below)}"
        if mapping.uuid.startswith("LVM-"):
            vg = lvm_group(mapping.name)
            yield reason("lvm-active", f"LVM volume {mapping.name} is active {where}", f"vgchange -an {quote(vg)}")
        elif mapping.uuid.startswith("CRYPT-"):
            yield reason(
                "dm-crypt", f"encrypted volume {mapping.name} is open {where}", f"cryptsetup close {quote(mapping.name)}"
            )
        elif mapping.uuid.startswith("mpath-"):
            yield reason(
                "multipath", f"path of multipath device {mapping.name} {where}", f"multipath -f {quote(mapping.name)}"
            )
        else:
            text = f"device-mapper device {mapping.name} stands on it {where}"
            yield reason("device-mapper", text, f"dmsetup remove {quote(mapping.name)}")


def lvm_group(name: str) -> str:
    """The volume group in a device-mapper name: `vg--a-lv` is volume lv of group `vg-a`."""
    return name.replace("--", "\0").split("-", 1)[0].replace("\0", "-")


class Volume(NamedTuple):
    """An LVM physical volume, active or not."""

    path: str
    group: str
    """Empty where it belongs to no volume group."""
    uuid: str


def read_volumes(silence_s: float = PVS_SILENCE_S) -> tuple[Volume, ...]:
    """Physical volumes by LVM itself, over all devices whatever its filters say. Empty where LVM is not installed."""
    pvs = proc.find_tool("pvs")
    if pvs is None:
        return ()
    argv = [pvs, "--readonly", "--reportformat", "json", "-o", "pv_name,vg_name,pv_uuid", "--config", _ALL_DEVICES]
    # LVM ends with 5 when any device could not be read; its report is complete for the others, and such a device is
    # refused by the content check.
    return parse_volumes(proc.run(argv, silence_s=silence_s, check=False).out)


def parse_volumes(report: bytes) -> tuple[Volume, ...]:
    """The JSON report of pvs. Raises ValueError for anything else."""
    try:
        rows: list[dict[str, Any]] = json.loads(report)["report"][0]["pv"]
        return tuple(Volume(str(row["pv_name"]), str(row["vg_name"]), str(row["pv_uuid"])) for row in rows)
    except (KeyError, IndexError, TypeError, RecursionError) as error:
        raise ValueError(f"pvs answered something else than its report: {error!r}") from error


def check_volumes(disk: str, census: Census) -> Iterator[Reason]:
    for volume in census.volumes:
        node = census.blocks.by_devno.get(census.resolved.get(volume.path, -1))
        if node is None or node.disk != disk:
            continue
        if volume.group:
            text = f"physical volume of volume group {volume.group} by {node.name}"
            active = any(m.uuid.startswith("LVM-") and lvm_group(m.name) == volume.group for m in census.mappings)
            remedy = f"if nobody needs it: vgremove {quote(volume.group)} && pvremove {node.path}"
            if active:
                remedy = f"its volumes are active on other disks; if nobody uses them: vgchange -an {quote(volume.group)}"
            yield reason("lvm-vg", text, remedy)
        else:
            yield reason("lvm-pv", f"LVM physical volume {volume.uuid} on {node.name}",
                         f"if nobody needs it: pvremove {node.path}")  # fmt: skip


def check_multipath(disk: str, census: Census) -> Iterator[Reason]:
    """Disks that the multipath daemon has on its list, though no map stands on them now."""
    wwid = census.wwids.get(disk, "").lower()
    digits = wwid.removeprefix("naa.").removeprefix("eui.")
    for known in census.multipath_wwids:
        if wwid and known.lower() in (wwid, digits, f"3{digits}", f"2{digits}"):
            yield reason("multipath", f"listed in /etc/multipath/wwids as {known}", f"multipath -w {disk}")


def parse_multipath_wwids(text: str) -> frozenset[str]:
    """The names between slashes of /etc/multipath/wwids."""
    lines = (line.strip() for line in text.splitlines())
    return frozenset(line.strip("/") for line in lines if line and not line.startswith("#"))
