"""Read-back: comparison of the plan with what LVM and the kernel report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from raidtui.model.problem import ProblemError
from raidtui.stack.lvm.commands import read_output, read_report
from raidtui.stack.lvm.devices import dm_name, lowest, node_bytes, read_label, volume_node
from raidtui.stack.lvm.group import LvmGroup, PhysicalVolume
from raidtui.stack.nodes import devno
from raidtui.stack.read_back import Difference
from raidtui.stack.read_back import mismatch as unlike
from raidtui.stack.teardown import Device

GROUP_FIELDS: Final = ("vg_name", "vg_uuid", "vg_extent_size", "vg_autoactivation", "vg_missing_pv_count", "pv_count")
PV_FIELDS: Final = ("pv_name", "pv_uuid", "vg_name", "pe_start", "pv_pe_count", "pv_missing")
VOLUME_FIELDS: Final = (
    "lv_name", "lv_uuid", "segtype", "lv_size", "lv_attr", "lv_role", "lv_allocation_policy", "stripes", "data_stripes",
    "data_copies", "stripe_size", "region_size", "copy_percent", "raid_sync_action", "lv_health_status", "devices",
    "lv_active", "chunk_size", "cache_mode", "cache_policy", "kernel_cache_policy", "kernel_cache_settings",
    "kernel_metadata_format", "writecache_block_size", "pool_lv", "data_lv", "metadata_lv", "lv_metadata_size",
    "lv_when_full", "discards", "zero", "raidintegritymode", "raidintegrityblocksize", "integritymismatches",
    "vdo_operating_mode", "vdo_compression", "vdo_deduplication", "vdo_compression_state", "vdo_index_state",
    "vdo_slab_size", "vdo_index_memory_size", "vdo_ack_threads", "vdo_bio_threads", "vdo_bio_rotation", "vdo_cpu_threads",
    "vdo_hash_zone_threads", "vdo_logical_threads", "vdo_physical_threads", "vdo_block_map_cache_size",
    "vdo_block_map_era_length",
)  # fmt: skip
Row = dict[str, Any]
START_TOLERANCE_BYTES: Final = 4 << 20


def mismatch(name: str, wrong: Sequence[Difference]) -> ProblemError:
    return unlike("the volume", name, wrong, "This version of the kernel or of LVM behaves differently.")


def compare(asked: Row, found: Row, of: str) -> list[Difference]:
    return [Difference(f"{of} {what}", value, found.get(what)) for what, value in asked.items() if found.get(what) != value]


def missing_extents(vg: LvmGroup, pvs: list[Row]) -> int:
    """Return how many extents LVM has on all devices that are fewer than planned."""
    found = {row["pv_uuid"]: int(row["pv_pe_count"] or 0) for row in pvs}
    return sum(max(0, pv.extents - found.get(pv.uuid, 0)) for pv in vg.pvs)


def size_differences(vg: LvmGroup, what: str, planned_bytes: int, found: str | None, missing: int) -> list[Difference]:
    """Compare a size with the planned one; it may be less by as many rows of extents as are missing."""
    least = planned_bytes - missing * vg.extent_bytes * vg.volume.stripes
    return [] if found and least <= int(found) <= planned_bytes else [Difference(what, planned_bytes, found)]


def group_differences(vg: LvmGroup, devices: list[Device], group: Row | None, pvs: list[Row]) -> list[Difference]:
    """Return the differences of the group and its physical volumes from the plan."""
    wrong = compare(
        {"vg_extent_size": str(vg.extent_bytes), "vg_autoactivation": "", "pv_count": str(len(devices)),
         "vg_missing_pv_count": "0"},
        group or {}, "group",
    )  # fmt: skip
    by_uuid = {row["pv_uuid"]: row for row in pvs}
    for device, pv in zip(devices, vg.pvs, strict=True):
        found = by_uuid.get(pv.uuid, {})
        wrong += compare({"vg_name": vg.name, "pv_missing": ""}, found, device.ref)
        wrong += _room_differences(vg, pv, found, device)
        # By the label itself: LVM's own name of a device is only one of several.
        if (there := read_label(device.path)) != pv.uuid:
            wrong.append(Difference(f"{device.ref} label", pv.uuid, there))
    return wrong


def _room_differences(vg: LvmGroup, pv: PhysicalVolume, found: Row, device: Device) -> list[Difference]:
    """Check that the extents are aligned as asked, begin near the planned start, and fill the device.

    Another version of LVM may keep more or less room for its metadata, at most `START_TOLERANCE_BYTES`. The device itself
    may be smaller than planned, if it is a layer.
    """
    start, extents = (int(found.get(name) or -1) for name in ("pe_start", "pv_pe_count"))
    size = node_bytes(Path(device.path).resolve().name) or 0
    wrong = []
    if start < 0 or start % pv.align_bytes or abs(start - pv.start_bytes) > START_TOLERANCE_BYTES + pv.align_bytes:
        wrong.append(Difference(f"{device.ref} pe_start", pv.start_bytes, found.get("pe_start")))
    most = (size - start) // vg.extent_bytes
    if not most - 1 - START_TOLERANCE_BYTES // vg.extent_bytes <= extents <= most:
        wrong.append(Difference(f"{device.ref} pv_pe_count", most, found.get("pv_pe_count")))
    return wrong


def read_group(vg: LvmGroup, paths: list[str]) -> tuple[Row | None, list[Row]]:
    """Return the group as `vgs` reports it (None if it does not exist), and all physical volumes on these devices."""
    groups = [row for row in read_report("vgs", GROUP_FIELDS, paths) if row["vg_name"] == vg.name]
    return (groups[0] if groups else None), read_report("pvs", PV_FIELDS, paths)


def read_volumes(vg: LvmGroup, paths: list[str]) -> dict[str, Row]:
    """Return all volumes of the group as `lvs` reports them, including hidden ones, by name without brackets."""
    found: dict[str, Row] = {}
    for row in read_report("lvs", VOLUME_FIELDS, paths, "--all", vg.name):
        name = row["lv_name"].strip("[]")
        # A volume has a row for each of its segments.
        below = [*found[name]["devices"], row["devices"]] if name in found else [row["devices"]]
        found[name] = {**row, "devices": below}
    return found


def volume_differences(
    vg: LvmGroup, volumes: dict[str, Row], devices: list[Device], name: str, missing: int
) -> list[Difference]:
    """Return the differences of the volume with the data, which has this name now, from the plan."""
    volume, found = vg.volume, volumes.get(name)
    if found is None:
        return [Difference(name, "there", "missing")]
    asked = {"segtype": volume.type}
    if name in vg.names:
        # A volume that was put below another one leaves its policy to that.
        asked["lv_allocation_policy"] = volume.allocation
    if volume.type not in ("linear", "mirror"):
        asked["stripes"] = str(volume.areas)
    if volume.stripe_bytes is not None:
        asked["data_stripes"] = str(volume.stripes)
        asked["stripe_size"] = str(volume.stripe_bytes)
    if volume.region_bytes is not None:
        asked["region_size"] = str(volume.region_bytes)
    if (integrity := vg.integrity) is not None:
        asked |= {"raidintegritymode": integrity.mode, "raidintegrityblocksize": str(integrity.block_bytes)}
    wrong = compare(asked, found, name)
    wrong += size_differences(vg, f"{name} lv_size", volume.size_bytes, found["lv_size"], missing)
    node = volume_node(vg.name, name)
    size = node_bytes(node) if node else None
    if str(size) != found["lv_size"]:
        wrong.append(Difference("size_bytes", found["lv_size"], size))
    return wrong + _placement(vg, node, devices)


def kernel_options(group: str, volume: str) -> tuple[str, ...]:
    """Return the words of a volume's first target in the kernel's table. Raises ProblemError (`tool-failed`)."""
    return tuple(read_output(("dmsetup", "table", dm_name(group, volume))).split())


def _placement(vg: LvmGroup, node: str | None, devices: list[Device]) -> list[Difference]:
    """Check that the volume is on planned devices only, and on one for each of its areas unless they may share devices."""
    if node is None:
        return []
    found = {devno(name) for name in lowest(node)}
    meant = {device.devno for device in devices if device.role == "member"}
    if not found <= meant:
        return [Difference("devices below", len(meant), sorted(map(str, lowest(node))))]
    if vg.volume.allocation != "anywhere" and len(found) < vg.volume.areas:
        return [Difference("devices used", vg.volume.areas, len(found))]
    return []
