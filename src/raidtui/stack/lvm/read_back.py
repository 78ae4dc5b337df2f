"""Comparing what was asked with what LVM and the kernel made of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack.lvm import kernel, label, tool
from raidtui.stack.lvm.devices import Device
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.nodes import devno

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


class Difference(NamedTuple):
    """One thing that is not as asked."""

    what: str
    asked: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.what}: asked {self.asked}, found {self.found}"


def mismatch(name: str, wrong: Iterable[Difference]) -> ProblemError:
    return fail("read-back", "the volume is not as asked: " + "; ".join(map(str, wrong)), place=name,
                remedy="This kernel or LVM made something else of it.", exit=Exit.BUILD_FAILED)  # fmt: skip


def compare(asked: Row, found: Row, of: str) -> list[Difference]:
    return [Difference(f"{of} {what}", value, found.get(what)) for what, value in asked.items() if found.get(what) != value]


def group_differences(vg: LvmGroup, devices: list[Device], group: Row | None, pvs: list[Row]) -> list[Difference]:
    """What is not as asked of the group and its physical volumes."""
    wrong = compare(
        {"vg_extent_size": str(vg.extent_bytes), "vg_autoactivation": "", "pv_count": str(len(devices)),
         "vg_missing_pv_count": "0"},
        group or {}, "group",
    )  # fmt: skip
    by_uuid = {row["pv_uuid"]: row for row in pvs}
    for device, pv in zip(devices, vg.pvs, strict=True):
        asked = {
            "vg_name": vg.name,
            "pe_start": str(pv.start_bytes),
            "pv_pe_count": str(pv.extents),
            "pv_missing": "",
        }
        wrong += compare(asked, by_uuid.get(pv.uuid, {}), device.ref)
        # By the label itself: LVM's own name of a device is only one of several.
        if (there := label.read(device.path)) != pv.uuid:
            wrong.append(Difference(f"{device.ref} label", pv.uuid, there))
    return wrong


def read_group(vg: LvmGroup, paths: list[str]) -> tuple[Row | None, list[Row]]:
    """The group as `vgs` has it (None where it is not there), and all physical volumes on these devices."""
    groups = [row for row in tool.report("vgs", GROUP_FIELDS, paths) if row["vg_name"] == vg.name]
    return (groups[0] if groups else None), tool.report("pvs", PV_FIELDS, paths)


def read_volumes(vg: LvmGroup, paths: list[str]) -> dict[str, Row]:
    """Every volume of the group as `lvs` has it, hidden ones included, by name without brackets."""
    found: dict[str, Row] = {}
    for row in tool.report("lvs", VOLUME_FIELDS, paths, "--all", vg.name):
        name = row["lv_name"].strip("[]")
        # A volume has a row for each of its segments.
        below = [*found[name]["devices"], row["devices"]] if name in found else [row["devices"]]
        found[name] = {**row, "devices": below}
    return found


def volume_differences(vg: LvmGroup, volumes: dict[str, Row], devices: list[Device], name: str) -> list[Difference]:
    """What is not as asked of the volume that holds the data, which has this name now."""
    volume, found = vg.volume, volumes.get(name)
    if found is None:
        return [Difference(name, "there", "missing")]
    asked = {
        "segtype": volume.type,
        "lv_size": str(volume.size_bytes),
    }
    if name == volume.name:
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
    node = kernel.volume_node(vg.name, name)
    size = kernel.size_bytes(node) if node else None
    if size != volume.size_bytes:
        wrong.append(Difference("size_bytes", volume.size_bytes, size))
    return wrong + _placement(vg, node, devices)


def kernel_options(group: str, volume: str) -> tuple[str, ...]:
    """The words of a volume's first target as the kernel runs it. Raises ProblemError (`tool-failed`)."""
    return tuple(tool.output(("dmsetup", "table", f"{group}-{volume}")).split())


def _placement(vg: LvmGroup, node: str | None, devices: list[Device]) -> list[Difference]:
    """It stands on devices of the plan only, and on as many as it has areas unless these may share one."""
    if node is None:
        return []
    found = {devno(name) for name in kernel.leaves(node)}
    meant = {device.devno for device in devices if device.role == "member"}
    if not found <= meant:
        return [Difference("devices below", len(meant), sorted(map(str, kernel.leaves(node))))]
    if vg.volume.allocation != "anywhere" and len(found) < vg.volume.areas:
        return [Difference("devices used", vg.volume.areas, len(found))]
    return []
