"""Descriptions of a filesystem: text, defaults, tolerated failures and write amplification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.base.text import plural
from raidtui.stack.amplification import PAGE_BYTES, Share, Spread, Writes, copies, parity_share, parity_words
from raidtui.stack.fs.spec import COPIES, FIELDS_OF, KIB, MAY_FAIL, PARITY, FilesystemSpec

_NONE: Final = "none"
_DEFAULTS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "xfs": {
        "block_size": ("4KiB", "mkfs.xfs' default"),
        "stripe_unit": ("chunk of what is below", "where that stripes and says so; else none"),
        "stripe_width": ("stripe of what is below", "where that stripes and says so; else none"),
        "log_size": ("by the device's size", "mkfs.xfs chooses it"),
        "allocation_groups": ("by the device's size", "mkfs.xfs chooses it: 4, or 16 and more where it stripes"),
        "reflink": ("true", "mkfs.xfs' default"),
    },
    "ext4": {
        "block_size": ("4KiB", "mke2fs would choose less on a small device"),
        "stripe_unit": ("chunk of what is below", "where that stripes and says so; else none"),
        "stripe_width": ("stripe of what is below", "where that stripes and says so; else none"),
        "log_size": ("by the device's size", "mke2fs chooses it, at most 1GiB"),
        "journal": ("true", "mke2fs' default"),
        "journal_mode": ("ordered", "ext4's default"),
        "lazy_init": ("false", "what is written in the background would be measured as well"),
    },
    "btrfs": {
        "node_size": ("16KiB", "mkfs.btrfs' default"),
        "checksum": ("crc32c", "mkfs.btrfs' default"),
        "compress": (_NONE, "only where it is asked for"),
        "compress_level": ("3", "btrfs' default for zstd and zlib"),
        "compress_force": ("false", "what does not look compressible is left as it is"),
        "copy_on_write": ("true", "btrfs' default"),
        "subvolume": (_NONE, "files are in its top level"),
    },
    "f2fs": {"overprovision": ("by the device's size", "mkfs.f2fs chooses it"), "fsync_mode": ("posix", "f2fs' default")},
}


def describe(spec: FilesystemSpec, counts: Mapping[str, int]) -> str:
    """`xfs`, `btrfs raid1 over 4 devices, zstd`."""
    devices = counts.get("on", 0)
    found: list[str] = [spec.type]
    if spec.type == "btrfs" and (devices > 1 or spec.data):
        found[0] += f" {spec.profile('data', devices)} over {plural(devices, 'device')}"
    if spec.compress is not None:
        found.append(spec.compress + (f" level {spec.compress_level}" if spec.compress_level else ""))
    if spec.block_size is not None:
        found.append(f"block {spec.block_size.text}")
    if spec.stripe_unit is not None:
        found.append(f"stripe unit {spec.stripe_unit.text}")
    if spec.geometry == "none":
        found.append("without stripes")
    if spec.journal is False:
        found.append("no journal")
    if spec.subvolume is not None:
        found.append(f"subvolume {spec.subvolume}")
    if spec.copy_on_write is False:
        found.append("no copy on write")
    for name in ("journal_mode", "fsync_mode"):
        if value := getattr(spec, name):
            found.append(f"{name.replace('_', ' ')} {value}")
    return ", ".join(found)


def defaults(spec: FilesystemSpec, counts: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """Return the default of each optional field, with the reason."""
    foreign = {name for fields in FIELDS_OF.values() for name in fields} - FIELDS_OF[spec.type] - {"geometry"}
    found = {name: (_NONE, f"{spec.type} has no {name}") for name in sorted(foreign)}
    found |= _DEFAULTS[spec.type]
    if spec.type == "btrfs":
        count = max(1, counts.get("on", 0))
        found["data"] = (spec.profile("data", count), "mkfs.btrfs' default")
        found["metadata"] = (spec.profile("metadata", count), f"mkfs.btrfs' default on {plural(count, 'device')}")
    if spec.geometry == "none" and spec.type in ("xfs", "ext4"):
        found |= dict.fromkeys(("stripe_unit", "stripe_width"), (_NONE, "geometry is none"))
    return found


def may_fail(spec: FilesystemSpec, devices: int) -> int:
    """Return how many devices may fail without data loss, whichever these are."""
    if spec.type != "btrfs":
        return 0
    return min(MAY_FAIL[spec.profile(what, devices)] for what in ("data", "metadata"))


def tolerates_failures(spec: FilesystemSpec, counts: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """Return for each input the number of devices that may fail without data loss, and a sentence about it."""
    devices = counts.get("on", 0)
    count = may_fail(spec, devices)
    if spec.type != "btrfs" or devices < 2:
        return {"on": (0, "" if spec.type != "btrfs" else "no device")}
    return {"on": (count, f"any {count} of the {devices} devices" if count else "no device")}


def write_penalty(spec: FilesystemSpec, devices: int) -> float:
    """Device writes for one small write of data; what the filesystem writes for itself comes on top."""
    if spec.type != "btrfs":
        return 1.0
    kind = spec.profile("data", devices)
    return float(1 + PARITY[kind] if kind in PARITY else COPIES[kind])


_BTRFS_STRIPE_BYTES: Final = 64 * KIB
"""BTRFS_STRIPE_LEN of fs/btrfs/volumes.h."""
_OWN: Final = "its own metadata not counted"


def amplifies(spec: FilesystemSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
    if spec.compress is not None and writes.reducible:
        return Spread({"on": Share(None, None, writes)}, f"{spec.type} compresses, by how much only the data tells")
    found = _data(spec, counts.get("on", 0), writes._replace(aligned=False))
    if not writes.syncs:
        return found
    # Each sync writes metadata: of small writes more than data.
    return Spread({"on": found.inputs["on"]._replace(high=None)}, found.why)


def _data(spec: FilesystemSpec, devices: int, writes: Writes) -> Spread:
    # A block that is smaller than a page is written with the page that it is in.
    least = max(1.0, max(PAGE_BYTES, spec.block_bytes if spec.type == "xfs" else 0) / writes.block_bytes)
    if spec.type == "btrfs":
        return _btrfs(spec, devices, writes, least)
    if spec.type == "ext4" and spec.journal_mode == "journal":
        return Spread({"on": Share(2.0, 2.0 * least, writes)}, f"data through the journal as well, 2, {_OWN}")
    return Spread({"on": Share(1.0, least, writes)}, f"{spec.type} once, {_OWN}")


def _btrfs(spec: FilesystemSpec, devices: int, writes: Writes, least: float) -> Spread:
    """Pattern of the writes of a copy-on-write filesystem: it writes elsewhere and gathers, so that random writes may
    become sequential.
    """
    kind = spec.profile("data", devices)
    if kind in PARITY:
        parity = PARITY[kind]
        share = parity_share(writes, _BTRFS_STRIPE_BYTES, max(1, devices - parity), parity)
        whole = devices / max(1, devices - parity)
        words = parity_words(share, devices - parity, parity)
        return Spread({"on": share._replace(low=whole)}, f"btrfs {kind}: {words}, {_OWN}")
    share = copies(COPIES[kind], writes)
    return Spread({"on": share._replace(high=COPIES[kind] * least)}, f"btrfs {kind}: {COPIES[kind]}, {_OWN}")
