"""Layers in the order in which people use them, a line on each, and other words by which they are looked for."""

from __future__ import annotations

from typing import Final, NamedTuple


class Usual(NamedTuple):
    """Description of an offer in the list of layers."""

    line: str
    also: str = ""
    """Other words that find it; not shown."""


LAYERS: Final = {
    ("md", "raid0"): Usual("striped, no disk may fail", "mdadm jbod stripe"),
    ("md", "raid1"): Usual("mirrored, all disks but one may fail", "mdadm mirror"),
    ("md", "raid10"): Usual("striped mirrors", "mdadm mirror"),
    ("md", "raid5"): Usual("striped, any one disk may fail", "mdadm parity journal ppl"),
    ("md", "raid6"): Usual("striped, any two disks may fail", "mdadm parity"),
    ("md", "raid4"): Usual("striped, parity on one disk", "mdadm"),
    ("disk", "disk"): Usual("bare disks, the baseline of all else", "jbod single raw none"),
    ("lvm", "lvm"): Usual("a volume: linear, striped, raid, thin, VDO, with dm-cache or dm-writecache",
                          "lvm2 logical volume jbod write cache writecache thin vdo dedup"),
    ("zpool", "raidz1"): Usual("ZFS, any one disk of a vdev may fail", "zfs zvol dataset raidz volume"),
    ("zpool", "raidz2"): Usual("ZFS, any two disks of a vdev may fail", "zfs zvol dataset raidz volume"),
    ("zpool", "raidz3"): Usual("ZFS, any three disks of a vdev may fail", "zfs zvol dataset raidz volume"),
    ("zpool", "mirror"): Usual("ZFS, mirrored vdevs", "zfs zvol dataset raid10 volume"),
    ("zpool", "stripe"): Usual("ZFS, striped over disks, none may fail", "zfs zvol dataset raid0 jbod volume"),
    ("zpool", "draid1"): Usual("ZFS, declustered, one disk of a group may fail", "zfs zvol dataset volume"),
    ("zpool", "draid2"): Usual("ZFS, declustered, two disks of a group may fail", "zfs zvol dataset volume"),
    ("zpool", "draid3"): Usual("ZFS, declustered, three disks of a group may fail", "zfs zvol dataset volume"),
    ("filesystem", "xfs"): Usual("a filesystem; workloads use files", "fs mkfs directory"),
    ("filesystem", "ext4"): Usual("a filesystem; workloads use files", "fs mkfs directory"),
    ("filesystem", "btrfs"): Usual("a filesystem over one or more disks; workloads use files", "fs mkfs directory raid"),
    ("filesystem", "f2fs"): Usual("a filesystem for flash; workloads use files", "fs mkfs directory"),
    ("luks", "luks"): Usual("encryption (dm-crypt)", "dm-crypt encrypted cryptsetup"),
    ("integrity", "integrity"): Usual("a checksum with each sector (dm-integrity)", "dm-integrity checksum bit rot"),
    ("bcache", "bcache"): Usual("a fast device caches a slow one", "write cache writeback ssd"),
    ("partition", "partition"): Usual("a partition of each disk, so that layouts share disks", "gpt slice part"),
    ("nvmeof", "nvmeof"): Usual("an export over NVMe-oF, to itself or to clients", "network tcp rdma fabrics"),
    ("iscsi", "iscsi"): Usual("an export over iSCSI, to itself or to clients", "network lio target"),
}  # fmt: skip
"""By kind and the word of the choice, the most used first. Kinds that are not listed come last."""
