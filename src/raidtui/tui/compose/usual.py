"""Layers in the order in which people use them, a line on each, and other words by which they are looked for."""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class Usual(NamedTuple):
    """Description of an offer in the list of layers."""

    line: str
    also: str = ""
    """Other words that find it; not shown."""


_ZFS: Final = "zfs zvol dataset pool volume compression dedup snapshot slog l2arc special write cache checksum"
LAYERS: Final = {
    ("md", "raid0"): Usual("striped, no disk may fail", "mdadm jbod stripe raid50 raid60"),
    ("md", "raid1"): Usual("mirrored, all disks but one may fail", "mdadm mirror"),
    ("md", "raid10"): Usual("striped mirrors", "mdadm mirror"),
    ("md", "raid5"): Usual("striped, any one disk may fail", "mdadm parity journal ppl"),
    ("md", "raid6"): Usual("striped, any two disks may fail", "mdadm parity"),
    ("md", "raid4"): Usual("striped, parity on one disk", "mdadm"),
    ("disk", "disk"): Usual("bare disks, the baseline of all else", "jbod single raw none"),
    ("lvm", "lvm"): Usual("a volume: linear, striped, raid, thin, VDO, with dm-cache or dm-writecache",
                          "lvm2 logical volume jbod write cache writecache thin vdo dedup compression snapshot "
                          "raid1 raid5 raid6 raid10"),
    ("zpool", "raidz1"): Usual("ZFS, any one disk of a vdev may fail", f"{_ZFS} raidz raid5 raid50"),
    ("zpool", "raidz2"): Usual("ZFS, any two disks of a vdev may fail", f"{_ZFS} raidz raid6 raid60"),
    ("zpool", "raidz3"): Usual("ZFS, any three disks of a vdev may fail", f"{_ZFS} raidz"),
    ("zpool", "mirror"): Usual("ZFS, mirrored vdevs", f"{_ZFS} raid1 raid10"),
    ("zpool", "stripe"): Usual("ZFS, striped over disks, none may fail", f"{_ZFS} raid0 jbod"),
    ("zpool", "draid1"): Usual("ZFS, declustered, one disk of a group may fail", _ZFS),
    ("zpool", "draid2"): Usual("ZFS, declustered, two disks of a group may fail", _ZFS),
    ("zpool", "draid3"): Usual("ZFS, declustered, three disks of a group may fail", _ZFS),
    ("filesystem", "xfs"): Usual("a filesystem; workloads use files", "fs mkfs directory"),
    ("filesystem", "ext4"): Usual("a filesystem; workloads use files", "fs mkfs directory"),
    ("filesystem", "btrfs"): Usual("a filesystem over one or more disks; workloads use files",
                                   "fs mkfs directory raid compression snapshot checksum"),
    ("filesystem", "f2fs"): Usual("a filesystem for flash; workloads use files", "fs mkfs directory"),
    ("luks", "luks"): Usual("encryption (dm-crypt)", "dm-crypt encrypted cryptsetup"),
    ("integrity", "integrity"): Usual("a checksum with each sector (dm-integrity)", "dm-integrity checksum bit rot"),
    ("bcache", "bcache"): Usual("a fast device caches a slow one", "write cache writeback read ssd flash"),
    ("partition", "partition"): Usual("a partition of each disk, so that layouts share disks", "gpt slice part"),
    ("nvmeof", "nvmeof"): Usual("an export over NVMe-oF, to itself or to clients", "network tcp rdma nvme over fabrics"),
    ("iscsi", "iscsi"): Usual("an export over iSCSI, to itself or to clients", "network lio target san remote"),
    ("rbd", "rbd"): Usual("images of an existing Ceph cluster", "ceph rados krbd cluster network"),
    ("vitastor", "vitastor"): Usual("images of an existing Vitastor cluster, in a pool of its own",
                                     "nbd etcd cluster network"),
    ("null", "null"): Usual("a device that keeps nothing: what an export carries without disks", "ram null_blk nothing"),
}  # fmt: skip
"""By kind and the word of the choice, the most used first. Kinds that are not listed come last."""


def begins_with(kind: str, word: str) -> dict[str, Any]:
    """Return options without which a new layer of this kind would not be valid: a pool is measured by a volume."""
    needed: dict[str, dict[str, Any]] = {
        "zpool": {"volume": {"size": "80%"}}, "null": {"size": "100GiB"}, "rbd": {"size": "10GiB"},
        "vitastor": {"size": "10GiB"},
    }  # fmt: skip
    return needed.get(kind, {}) if (kind, word) in LAYERS else {}
