"""The planned pool, and the commands that build and remove it. None of them has `-f`.

`zpool create`, `import` and `destroy` stay commands, because neither pyzfs nor libzfs_core has them. What a plan shows as
`zfs create` and `zfs destroy` is done by pyzfs in the builder (`builder.py`), with the same properties and reservation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from raidtui.inventory.mounts import Mount
from raidtui.model.plan import Argv
from raidtui.stack import mounts
from raidtui.stack.zfs.spec import Group

VOLUME: Final = "vol"
FILESYSTEM: Final = "fs"
"""Names of the measured volume or filesystem in the pool."""


HOLD: Final = "raidtui"
"""Tag of the hold on a run's snapshot (zfs-hold(8)). It ends with the builder, or with an import of the pool."""


class PoolDevice(msgspec.Struct, frozen=True):
    """A device of the pool as planned, with its partition."""

    ref: str
    path: str
    role: str
    disk_guid: str
    """GUID of the partition table; empty if the pool takes the device without one."""
    part_guid: str
    start: int
    """First byte of the partition."""
    length: int
    """Length of the partition in bytes."""


class PoolGroup(msgspec.Struct, frozen=True):
    """A top-level vdev, or a device that stands alone."""

    role: str
    word: str
    """Word of `zpool create`; empty for a device that stands alone."""
    devices: tuple[int, ...]
    """Positions in the list of all devices."""


class ZfsPool(msgspec.Struct, frozen=True, omit_defaults=True):
    """The planned pool with its volume or filesystem: the arguments of every step, so that each can be undone alone."""

    name: str
    uuid: str
    ref: str
    devices: tuple[PoolDevice, ...]
    disks: tuple[str, ...]
    groups: tuple[PoolGroup, ...]
    words: tuple[str | int, ...]
    """Arguments of `zpool create`: words, and devices by their position."""
    properties: dict[str, str]
    inherited: dict[str, str]
    child: str
    own: dict[str, str]
    """Properties of the volume or filesystem."""
    size_bytes: int
    sparse: bool
    snapshot: str = ""
    """Full name of the snapshot to which volume or filesystem are rolled back before each cell; empty if they are not."""
    least_bytes: int | None = None
    """Least size of a share of the room, since ZFS may have less room than was estimated; None for exactly `size_bytes`."""
    volumes: int = 1
    """Number of volumes like `child`; the measured filesystem is always one."""

    @property
    def has_volume(self) -> bool:
        """True if a volume is measured; otherwise a filesystem is."""
        return self.child != FILESYSTEM

    @property
    def each(self) -> tuple[ZfsPool, ...]:
        """Return the pool once for each of its volumes, `vol`, `vol2`, …, as if it were the only one."""
        if self.volumes == 1:
            return (self,)
        first = msgspec.structs.replace(self, volumes=1)
        return (first, *(
            msgspec.structs.replace(first, child=f"{self.child}{number}", ref=f"{self.ref}-{number}")
            for number in range(2, self.volumes + 1)
        ))  # fmt: skip

    def is_mount(self, mount: Mount) -> bool:
        """Return True if the pool's filesystem is mounted there."""
        return mount.kind == "zfs" and mount.source == self.dataset

    @property
    def dataset(self) -> str:
        """Full name of the measured volume or filesystem."""
        return f"{self.name}/{self.child}"


class ArcLimit(msgspec.Struct, frozen=True):
    """Arguments of the steps that limit the ARC and restore its limit."""

    arc_max: int
    """Limit in bytes."""
    uuid: str


def part_path(path: str) -> str:
    """The node of the first partition of a device, as the kernel names it."""
    if path.startswith("/dev/disk/"):
        return f"{path}-part1"
    return f"{path}p1" if path[-1:].isdigit() else f"{path}1"


def partition_argvs(zpool: ZfsPool) -> tuple[Argv, ...]:
    """Return sgdisk's commands for the partitions that the pool gets (`gpt.write_table`)."""
    return tuple(
        ("sgdisk", f"--disk-guid={one.disk_guid}", f"--new=1:{one.start >> 10}K:+{one.length >> 10}K",
         f"--partition-guid=1:{one.part_guid}", "--typecode=1:bf01", one.path)
        for one in zpool.devices if one.disk_guid
    )  # fmt: skip


def vdev_words(groups: Sequence[Group]) -> tuple[str | int, ...]:
    """Return the arguments of `zpool create` for the devices: words, and devices by their position."""
    words: list[str | int] = []
    section = "member"
    for group in groups:
        if group.role != section:
            section = group.role
            words.append(section)
        if group.word:
            words.append(group.word)
        words += group.devices
    return tuple(words)


def create_argv(zpool: ZfsPool, paths: Sequence[str]) -> Argv:
    """`zpool create`, with these paths in the places of the devices."""
    of_pool = [word for name, value in zpool.properties.items() for word in ("-o", f"{name}={value}")]
    of_root = [word for name, value in zpool.inherited.items() for word in ("-O", f"{name}={value}")]
    words = [paths[word] if isinstance(word, int) else word for word in zpool.words]
    return ("zpool", "create", *of_pool, *of_root, zpool.name, *words)


def volume_argvs(zpool: ZfsPool, size_bytes: int) -> tuple[Argv, ...]:
    """Return the commands that create the volumes."""
    sparse = ("-s",) if zpool.sparse else ()
    return tuple(("zfs", "create", *sparse, "-V", str(size_bytes), *_own(zpool), one.dataset) for one in zpool.each)


def filesystem_argv(zpool: ZfsPool) -> Argv:
    return ("zfs", "create", *_own(zpool), zpool.dataset)


def _own(zpool: ZfsPool) -> list[str]:
    return [word for name, value in zpool.own.items() for word in ("-o", f"{name}={value}")]


def mount_argv(zpool: ZfsPool) -> Argv:
    return mounts.mount_argv("zfs", zpool.dataset, zpool.name, ())


def snapshot_argvs(zpool: ZfsPool) -> tuple[Argv, ...]:
    """The snapshot, and the hold that keeps others from destroying it."""
    return ("zfs", "snapshot", zpool.snapshot), hold_argv(zpool)


def hold_argv(zpool: ZfsPool) -> Argv:
    return ("zfs", "hold", HOLD, zpool.snapshot)


def rollback_argvs(zpool: ZfsPool) -> tuple[Argv, ...]:
    """The rollback, and the wait until what it freed is free; a filesystem is not mounted meanwhile."""
    name = zpool.name
    back = (("zfs", "rollback", zpool.snapshot), ("zpool", "sync", name), ("zpool", "wait", "-t", "free", name))
    return back if zpool.has_volume else (mounts.unmount_argv(name), *back, mount_argv(zpool))


def free_space_argvs(name: str, verb: str) -> tuple[Argv, ...]:
    """`zpool initialize` or `zpool trim` of the whole pool, which return at once, and the wait for their end."""
    return ("zpool", verb, name), ("zpool", "wait", "-t", verb, name)


def free_space_cancel_argv(name: str, verb: str) -> Argv:
    return ("zpool", verb, "-c", name)


def checkpoint_argv(name: str) -> Argv:
    return ("zpool", "checkpoint", name)


def rewind_argvs(zpool: ZfsPool, paths: Sequence[str]) -> tuple[Argv, ...]:
    """Everything that brings a pool back to its checkpoint, and takes the next one. It is imported by its GUID, which only
    the pool itself tells; a plan shows its name there.
    """
    again = (export_argv(zpool.name), import_argv(zpool.name, paths, rewind=True), checkpoint_argv(zpool.name))
    return again if zpool.has_volume else (mounts.unmount_argv(zpool.name), *again, mount_argv(zpool))


def undo_argvs(zpool: ZfsPool) -> tuple[Argv, ...]:
    """Everything that takes a whole pool away, in order."""
    first = () if zpool.has_volume else (mounts.unmount_argv(zpool.name),)
    if zpool.snapshot:
        first = (*first, ("zfs", "release", HOLD, zpool.snapshot), ("zfs", "destroy", zpool.snapshot))
    return (*first, *(("zfs", "destroy", one.dataset) for one in zpool.each), ("zpool", "destroy", zpool.name))


def export_argv(name: str) -> Argv:
    return ("zpool", "export", name)


def import_argv(name: str, paths: Sequence[str], *, rewind: bool = False) -> Argv:
    """Return the command that imports the pool of this name or GUID from these devices only, or its checkpoint.

    It mounts nothing and writes no cache of pools.
    """
    words = ("-N", "-o", "cachefile=none", *(("--rewind-to-checkpoint",) if rewind else ()))
    return ("zpool", "import", *words, *(word for path in paths for word in ("-d", path)), name)


def cold_argvs(zpool: ZfsPool, paths: Sequence[str]) -> tuple[Argv, ...]:
    """Everything that exports a pool and imports it again as it was, in order."""
    held = (hold_argv(zpool),) if zpool.snapshot else ()  # which does not survive an import
    again = (export_argv(zpool.name), import_argv(zpool.name, paths), *held)
    return again if zpool.has_volume else (mounts.unmount_argv(zpool.name), *again, mount_argv(zpool))
