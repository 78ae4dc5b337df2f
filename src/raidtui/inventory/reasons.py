"""Reasons why a disk is not free: every code with its explanation, printed by `raidtui explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from raidtui.base.text import clean
from raidtui.model.disk import Reason


class Explanation(NamedTuple):
    """One code in words: a title, what it means, and what an administrator does about it."""

    title: str
    meaning: str
    way_out: str


REASONS: dict[str, Explanation] = {
    # The disk itself
    "not-root": Explanation(
        "Not examined: root is needed",
        "Whether a disk is in use can only be seen by root; what cannot be seen counts as in use.",
        "Run the engine as root: `sudo raidtui disks`.",
    ),
    "unchecked": Explanation(
        "A check could not be made",
        "A check failed or gave no answer. Unknown is not free.",
        "Solve what the message names and look again.",
    ),
    "no-answer": Explanation(
        "The disk does not answer",
        "Reading from the disk did not end in time. It may be in error handling, which can take minutes, or dead.",
        "Look at `dmesg`, wait for error handling to end, or replace the disk.",
    ),
    "no-medium": Explanation(
        "No capacity",
        "The kernel reports a size of 0: the disk is dead, removed or without medium.",
        "Re-seat or replace the disk.",
    ),
    "offline": Explanation(
        "Not in service",
        "The kernel does not count the disk as running (offline, blocked, resetting or being removed).",
        "Look at `dmesg`; for SCSI: `echo running > /sys/block/NAME/device/state`.",
    ),
    "read-only": Explanation(
        "Write-protected",
        "The kernel or the disk refuses writes.",
        "`blockdev --setrw /dev/NAME`, or lift the disk's own write protection.",
    ),
    "removable": Explanation(
        "Removable medium", "USB sticks and card readers are not offered.", "Use a fixed disk."
    ),
    "zoned": Explanation(
        "Zoned disk", "Zoned (SMR, ZNS) disks cannot take the layouts that raidtui builds.", "Use another disk."
    ),
    "no-identity": Explanation(
        "No identity",
        "The disk reports neither serial number nor worldwide name, so nobody can say that it is still the same disk.",
        "In a virtual machine give the disk a serial number (`serial=…`).",
    ),
    "duplicate-identity": Explanation(
        "Identity is not unique",
        "Another disk reports the same serial number and worldwide name: two paths to one disk, or a careless vendor.",
        "Set up multipath, remove the second path, or give the disks different serial numbers.",
    ),
    "held": Explanation(
        "Held by a run",
        "Another raidtui run works on the disk, or ended without giving it back.",
        "`raidtui attach RUN` follows it, `raidtui cancel RUN` ends it, `raidtui recover RUN` cleans up after a crash.",
    ),
    # In use
    "system": Explanation(
        "The running system stands on it",
        "Root, boot, swap, hibernation or raidtui's own state is on this disk. Nothing overrides this.",
        "Use another disk.",
    ),
    "mounted": Explanation(
        "Mounted", "A filesystem on the disk is mounted, perhaps in a container's mount namespace.", "`umount MOUNTPOINT`"
    ),
    "swap": Explanation("Swap in use", "The kernel swaps to the disk or to a file on it.", "`swapoff DEVICE`"),
    "loop": Explanation("Behind a loop device", "A loop device has its data on the disk.", "`losetup -d /dev/loopN`"),
    "md-active": Explanation(
        "In a running md array", "The disk is a member or spare of an assembled array.", "`mdadm --stop /dev/mdN`"
    ),
    "md-inactive": Explanation(
        "In an inactive md array",
        "The kernel holds the disk for an array that it could not start.",
        "`mdadm --stop /dev/mdN`",
    ),
    "lvm-active": Explanation(
        "LVM volume active", "Logical volumes on the disk are active.", "`vgchange -an VG`, if nobody uses them"
    ),
    "lvm-vg": Explanation(
        "Belongs to a volume group",
        "The disk is a physical volume of an LVM volume group.",
        "`vgremove VG; pvremove DEVICE`",
    ),
    "dm-crypt": Explanation(
        "Encrypted volume open",
        "A LUKS or plain dm-crypt mapping is open.",
        "`cryptsetup close NAME`",
    ),
    "device-mapper": Explanation("Used by device-mapper", "A device-mapper device stands on it.", "`dmsetup remove NAME`"),
    "multipath": Explanation(
        "Path of a multipath device",
        "The disk is one of several paths to the same storage, which other hosts may use too.",
        "Use a local disk, or flush the map: `multipath -f NAME`.",
    ),
    "zfs-imported": Explanation(
        "In an imported ZFS pool", "The disk is a vdev, spare, log or cache of a pool in use.", "`zpool export POOL`"
    ),
    "bcache": Explanation(
        "bcache active",
        "The disk is registered as cache or backing device of bcache.",
        "`echo 1 > /sys/fs/bcache/UUID/stop`, or `echo 1 > /sys/block/NAME/bcache/stop`",
    ),
    "holder": Explanation("Another device stands on it", "The kernel lists a device built on this disk.", "Take it down."),
    "shared": Explanation(
        "Offered to other hosts",
        "An iSCSI/FC (LIO) or NVMe-oF target exports the disk.",
        "Remove it with targetcli or nvmetcli.",
    ),
    "remote": Explanation(
        "Storage of another host",
        "The disk is reached over NVMe-oF, iSCSI, Fibre Channel or SRP. Other hosts may use it, and nothing here shows it.",
        "Use a local disk; or disconnect it: `nvme disconnect`, `iscsiadm --logout`.",
    ),
    "reserved": Explanation(
        "Set aside",
        "udev rules of this server mark the disk as not to be used.",
        "Remove the rule that sets the property named in the message.",
    ),
    "reservation": Explanation(
        "Reserved by a host",
        "Hosts have registered persistent reservation keys on the disk: a cluster may be using it.",
        "Release it from the cluster; `sg_persist --in -k /dev/NAME` shows the keys.",
    ),
    "open": Explanation(
        "A process has it open",
        "A program (a virtual machine, a database, dd …) has the disk or a partition open.",
        "End the process named in the message.",
    ),
    "locked": Explanation("Locked", "A program holds a lock (flock) on the disk.", "`lslocks` shows who."),
    "busy": Explanation(
        "Busy",
        "The kernel refuses exclusive access and no check says why.",
        "`lsblk`, `fuser -v /dev/NAME`, `dmsetup ls --tree`",
    ),
    # What is on it
    "partitions": Explanation(
        "Has partitions", "The kernel knows partitions on the disk.", "If nobody needs them: `sfdisk --delete /dev/NAME`"
    ),
    "partition-table": Explanation(
        "Has a partition table", "A partition table is on the disk.", "If nobody needs it: `wipefs -a /dev/NAME`"
    ),
    "filesystem": Explanation("Has a filesystem", "A filesystem is on the disk.", "If nobody needs it: `wipefs -a DEVICE`"),
    "swap-signature": Explanation(
        "Has a swap area",
        "A swap area is on the disk.",
        "If nobody needs it: `wipefs -a DEVICE`",
    ),
    "luks": Explanation(
        "Encrypted",
        "An encrypted volume is on the disk, closed.",
        "If nobody needs it: `cryptsetup erase DEVICE; wipefs -a DEVICE`",
    ),
    "lvm-pv": Explanation(
        "LVM physical volume", "The disk is prepared for LVM.", "If nobody needs it: `pvremove DEVICE`"
    ),
    "md-superblock": Explanation(
        "Has an md superblock",
        "The disk was a member of an md array, which the next scan may assemble again.",
        "If nobody needs the array: `mdadm --zero-superblock DEVICE`",
    ),
    "firmware-raid": Explanation(
        "Member of a firmware RAID",
        "The metadata of a RAID controller or BIOS (DDF, IMSM, …) is on the disk.",
        "If nobody needs it: `wipefs -a /dev/NAME`",
    ),
    "zfs-exported": Explanation(
        "Member of a ZFS pool that is not imported",
        "The labels of an exported, destroyed or foreign pool are on the disk.",
        "`zpool import` shows it; if nobody needs it: `zpool labelclear DEVICE`",
    ),
    "bcache-superblock": Explanation(
        "Has a bcache superblock", "The disk was a cache or backing device.", "If nobody needs it: `wipefs -a DEVICE`"
    ),
    "signature": Explanation(
        "Has a known signature",
        "Something that libblkid knows by name is on the disk.",
        "If nobody needs it: `wipefs -a DEVICE`",
    ),
    "unknown-data": Explanation(
        "Has data of an unknown kind",
        "The disk is not blank, and nothing says what is on it: a raw database, a plain encrypted volume, remains.",
        "If nobody needs it: `blkdiscard /dev/NAME`, or `blkdiscard -z /dev/NAME` (writes zeroes).",
    ),
}  # fmt: skip

CONTENT = frozenset(
    {
        "partitions", "partition-table", "filesystem", "swap-signature", "luks", "lvm-pv", "md-superblock", "firmware-raid",
        "zfs-exported", "bcache-superblock", "signature", "unknown-data",
    }
)  # fmt: skip
"""Codes that speak of what lies on a disk and not of who uses it."""

_DESTROYED = CONTENT | {"lvm-vg"}
"""Codes whose remedy destroys what is on the disk."""

_TELLS_NOTHING_OF_USE = CONTENT | {"lvm-vg", "read-only", "removable", "zoned", "no-identity"}
"""Codes that may stand beside advice to destroy what is on a disk: every other one says that it is or may be in use."""

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
"""A reason is left out where one of these says the same of the same device, and more."""


def reason(code: str, message: str, remedy: str = "", *, system: bool = False) -> Reason:
    """A reason of a known code; what came from hardware or files is made harmless to show."""
    if code not in REASONS:
        raise ValueError(f"unknown reason code {code!r}")
    return Reason(code, clean(message), clean(remedy) or REASONS[code].way_out, system)


def with_safe_remedies(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """The reasons of one disk, each with its remedy only where that harms nobody who uses the disk.

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
    """The reason for a check that could not be made."""
    return reason("unchecked", f"could not check {what}: {why}", "solve this and look again")
