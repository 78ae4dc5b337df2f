"""Reasons why a disk is not free: every code with its explanation, printed by `raidtui explain`."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from raidtui.base.text import clean
from raidtui.model.disk import Reason
from raidtui.model.problem import Refusal
from raidtui.model.refusals import UNCHECKED

_REFUSALS = (
    # The disk itself
    Refusal("not-root", "Not examined: root is needed",
            "Only root can see if a disk is in use. A use that cannot be excluded counts as one.",
            "Run the engine as root: `sudo raidtui disks`."),
    UNCHECKED,
    Refusal("no-answer", "The disk does not answer",
            "Reading from the disk did not end in time. It may be in error handling, which can take minutes, or dead.",
            "Look at `dmesg`, wait for error handling to end, or replace the disk."),
    Refusal("no-medium", "No capacity", "The kernel reports a size of 0: the disk is dead, removed or without medium.",
            "Re-seat or replace the disk."),
    Refusal("offline", "Not in service",
            "The kernel does not count the disk as running (offline, blocked, resetting or being removed).",
            "Look at `dmesg`; for SCSI: `echo running > /sys/block/NAME/device/state`."),
    Refusal("read-only", "Write-protected", "The kernel or the disk refuses writes.",
            "`blockdev --setrw /dev/NAME`, or lift the disk's own write protection."),
    Refusal("removable", "Removable medium", "USB sticks and card readers are not offered.", "Use a fixed disk."),
    Refusal("zoned", "Zoned disk", "Zoned (SMR, ZNS) disks cannot take the layouts that raidtui builds.",
            "Use another disk."),
    Refusal("no-identity", "No identity",
            "The disk reports neither serial number nor worldwide name, so it cannot be recognized later as the same disk.",
            "In a virtual machine give the disk a serial number (`serial=…`)."),
    Refusal("duplicate-identity", "Identity is not unique",
            "Another disk reports the same serial number and worldwide name: two paths to one disk, or a vendor's mistake.",
            "Set up multipath, remove the second path, or give the disks different serial numbers."),
    Refusal("held", "Held by a run", "Another raidtui run works on the disk, or ended without giving it back.",
            "`raidtui attach RUN` follows it, `raidtui cancel RUN` ends it, `raidtui recover RUN` cleans up after a "
            "crash."),
    # In use
    Refusal("system", "Used by the running system",
            "Root, boot, swap, hibernation or raidtui's own state is on this disk. Nothing overrides this.",
            "Use another disk."),
    Refusal("mounted", "Mounted", "A filesystem on the disk is mounted, perhaps in a container's mount namespace.",
            "`umount MOUNTPOINT`"),
    Refusal("swap", "Swap in use", "The kernel swaps to the disk or to a file on it.", "`swapoff DEVICE`"),
    Refusal("loop", "Behind a loop device", "A loop device has its data on the disk.", "`losetup -d /dev/loopN`"),
    Refusal("md-active", "In a running md array", "The disk is a member or spare of an assembled array.",
            "`mdadm --stop /dev/mdN`"),
    Refusal("md-inactive", "In an inactive md array", "The kernel holds the disk for an array that it could not start.",
            "`mdadm --stop /dev/mdN`"),
    Refusal("lvm-active", "LVM volume active", "Logical volumes on the disk are active.",
            "`vgchange -an VG`, if the volumes are not needed"),
    Refusal("lvm-vg", "Belongs to a volume group", "The disk is a physical volume of an LVM volume group.",
            "`vgremove VG; pvremove DEVICE`"),
    Refusal("dm-crypt", "Encrypted volume open", "A LUKS or plain dm-crypt mapping is open.", "`cryptsetup close NAME`"),
    Refusal("device-mapper", "Used by device-mapper", "A device-mapper device is built on the disk.",
            "`dmsetup remove NAME`"),
    Refusal("multipath", "Path of a multipath device",
            "The disk is one of several paths to the same storage, which other hosts may use too.",
            "Use a local disk, or flush the map: `multipath -f NAME`."),
    Refusal("zfs-imported", "In an imported ZFS pool", "The disk is a vdev, spare, log or cache of a pool in use.",
            "`zpool export POOL`"),
    Refusal("bcache", "bcache active", "The disk is registered as cache or backing device of bcache.",
            "`echo 1 > /sys/fs/bcache/UUID/stop`, or `echo 1 > /sys/block/NAME/bcache/stop`"),
    Refusal("holder", "Used by another block device", "The kernel lists a device built on this disk.", "Take it down."),
    Refusal("shared", "Offered to other hosts", "An iSCSI/FC (LIO) or NVMe-oF target exports the disk.",
            "Remove it with targetcli or nvmetcli."),
    Refusal("remote", "Storage of another host",
            "The disk is reached over NVMe-oF, iSCSI, Fibre Channel or SRP. Other hosts may use it, which is not visible "
            "on this server.",
            "Use a local disk; or disconnect it: `nvme disconnect`, `iscsiadm --logout`."),
    Refusal("reserved", "Set aside", "udev rules of this server mark the disk as not to be used.",
            "Remove the rule that sets the property named in the message."),
    Refusal("reservation", "Reserved by a host",
            "Hosts have registered persistent reservation keys on the disk: a cluster may be using it. Only disks that "
            "take SCSI commands (SAS, Fibre Channel, iSCSI, virtual SCSI) are asked; reservations of NVMe namespaces are "
            "not looked at.",
            "Release it from the cluster; `sg_persist --in -k /dev/NAME` shows the keys."),
    Refusal("open", "A process has it open",
            "A program (a virtual machine, a database, dd …) has the disk or a partition open.",
            "End the process named in the message."),
    Refusal("locked", "Locked", "A program holds a lock (flock) on the disk.", "`lslocks` shows the program."),
    Refusal("busy", "Busy", "The kernel refuses exclusive access, and no check found the user.",
            "`lsblk`, `fuser -v /dev/NAME`, `dmsetup ls --tree`"),
    # Content of the disk
    Refusal("partitions", "Has partitions", "The kernel knows partitions on the disk.",
            "If they are not needed: `sfdisk --delete /dev/NAME`"),
    Refusal("partition-table", "Has a partition table", "A partition table is on the disk.",
            "If it is not needed: `wipefs -a /dev/NAME`"),
    Refusal("filesystem", "Has a filesystem", "A filesystem is on the disk.", "If it is not needed: `wipefs -a DEVICE`"),
    Refusal("swap-signature", "Has a swap area", "A swap area is on the disk.", "If it is not needed: `wipefs -a DEVICE`"),
    Refusal("luks", "Has an encrypted volume", "A closed encrypted volume is on the disk.",
            "If it is not needed: `cryptsetup erase DEVICE; wipefs -a DEVICE`"),
    Refusal("lvm-pv", "LVM physical volume", "The disk is prepared for LVM.", "If it is not needed: `pvremove DEVICE`"),
    Refusal("md-superblock", "Has an md superblock",
            "The disk was a member of an md array, which the next scan may assemble again.",
            "If the array is not needed: `mdadm --zero-superblock DEVICE`"),
    Refusal("firmware-raid", "Member of a firmware RAID",
            "The metadata of a RAID controller or BIOS (DDF, IMSM, …) is on the disk.",
            "If it is not needed: `wipefs -a /dev/NAME`"),
    Refusal("zfs-exported", "Member of a ZFS pool that is not imported",
            "The labels of an exported, destroyed or foreign pool are on the disk.",
            "`zpool import` shows it; if nobody needs it: `zpool labelclear DEVICE`"),
    Refusal("bcache-superblock", "Has a bcache superblock", "The disk was a cache or backing device.",
            "If it is not needed: `wipefs -a DEVICE`"),
    Refusal("signature", "Has a known signature", "libblkid recognizes data on the disk.",
            "If it is not needed: `wipefs -a DEVICE`"),
    Refusal("unknown-data", "Has data of an unknown kind",
            "The disk is not blank and carries no known signature: it may hold a raw database, a plain encrypted volume "
            "or remains.",
            "If it is not needed: `blkdiscard /dev/NAME`, or `blkdiscard -z /dev/NAME` (writes zeroes)."),
)  # fmt: skip

REASONS: Final = MappingProxyType({refusal.code: refusal for refusal in _REFUSALS})
"""Reasons why a disk can be refused, by code."""

CONTENT = frozenset(
    {
        "partitions", "partition-table", "filesystem", "swap-signature", "luks", "lvm-pv", "md-superblock", "firmware-raid",
        "zfs-exported", "bcache-superblock", "signature", "unknown-data",
    }
)  # fmt: skip
"""Codes that concern the content of a disk and not its users."""

_DESTROYED = CONTENT | {"lvm-vg"}
"""Codes whose remedy destroys the content of the disk."""

_TELLS_NOTHING_OF_USE = CONTENT | {"lvm-vg", "read-only", "removable", "zoned", "no-identity"}
"""Codes that allow advice to destroy the content of the disk: every other code means that it is or may be in use."""

SUPERSEDED: dict[str, frozenset[str]] = {
    "filesystem": frozenset({"mounted"}),
    "swap-signature": frozenset({"swap"}),
    "lvm-pv": frozenset({"lvm-vg", "lvm-active"}),
    "lvm-vg": frozenset({"lvm-active"}),
    "md-superblock": frozenset({"md-active", "md-inactive"}),
    "zfs-exported": frozenset({"zfs-imported"}),
    "luks": frozenset({"dm-crypt"}),
    "bcache-superblock": frozenset({"bcache"}),
    "open": frozenset({"held"}),
}
"""Code → codes that replace it: they say more about the same device."""


def reason(code: str, message: str, remedy: str = "", *, system: bool = False) -> Reason:
    """Return a reason of a known code, with text from hardware and files made safe to print."""
    if code not in REASONS:
        raise ValueError(f"unknown reason code {code!r}")
    return Reason(code, clean(message), clean(remedy) or REASONS[code].way_out, system)


def with_safe_remedies(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """Return the reasons of one disk; a remedy stays only if it cannot harm a present user of the disk.

    Nothing is advised for a system disk; for one that a run holds only what to do about the run; for one that is mounted
    only to unmount it; and for one that is or may be in use nothing that destroys what is on it.
    """
    codes = {found.code for found in reasons}

    def harmless(found: Reason) -> bool:
        if any(other.system for other in reasons):
            return False
        for only in ("held", "mounted"):
            if only in codes:
                return found.code == only
        return found.code not in _DESTROYED or codes <= _TELLS_NOTHING_OF_USE

    return tuple(found if harmless(found) else replace(found, remedy="") for found in reasons)


def unchecked(what: str, why: object) -> Reason:
    """Return the reason for a check that could not be made."""
    return reason("unchecked", f"could not check {what}: {why}", "solve this and look again")
