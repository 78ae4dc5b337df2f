"""A volume group with its volumes, as planned: the arguments of every LVM step.

Each step has the whole group, so that it can be run, and undone, alone. LVM renames a volume that goes below another one
(lvmthin(7), lvmcache(7), lvmvdo(7)): the names at each stage follow from the group.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Literal

import msgspec


class PhysicalVolume(msgspec.Struct, frozen=True):
    """One device of the group."""

    ref: str
    uuid: str
    """UUID in LVM's notation."""
    role: Literal["member", "cache"]
    start_bytes: int
    """Position of the first extent."""
    align_bytes: int
    extents: int
    """Estimated number of extents."""


class Volume(msgspec.Struct, frozen=True):
    """The volume that holds the data."""

    name: str
    type: str
    """Segment type (lvmraid(7))."""
    size_bytes: int
    extents: int
    stripes: int
    copies: int
    areas: int
    """Devices of one row of extents: stripes × copies + parity."""
    stripe_bytes: int | None
    region_bytes: int | None
    """Data of one bit in the write-intent bitmap."""
    allocation: str
    redundant: bool
    nosync: bool
    mirror_log: str | None


class Integrity(msgspec.Struct, frozen=True):
    """Checksums below each image."""

    mode: str
    block_bytes: int


class Cache(msgspec.Struct, frozen=True, omit_defaults=True):
    """Cache in front of the volume: dm-cache or dm-writecache."""

    size_bytes: int
    metadata_bytes: int
    chunk_bytes: int | None
    """None for a writecache."""
    kind: Literal["cachevol", "pool", "writecache"]
    settings: dict[str, int]
    """Options of the kernel target (`--cachesettings`)."""
    mode: str = ""
    policy: str = ""
    block_bytes: int = 0
    """Block size of a writecache."""


class Vdo(msgspec.Struct, frozen=True):
    """VDO pool on the volume, and its virtual volume."""

    name: str
    virtual_bytes: int
    compression: bool
    deduplication: bool
    slab_bytes: int
    index_bytes: int
    map_cache_bytes: int | None
    numbers: dict[str, int]
    """Options that LVM reads and reports as numbers under the same name."""


class Thin(msgspec.Struct, frozen=True):
    """Thin pool on the volume, or on VDO's volume, and its virtual volume."""

    pool: str
    virtual_bytes: int
    chunk_bytes: int
    zero: bool
    discards: str
    metadata_bytes: int
    metadata_copies: int


class LvmGroup(msgspec.Struct, frozen=True):
    """A volume group and everything that is built in it."""

    name: str
    ref: str
    pvs: tuple[PhysicalVolume, ...]
    disks: tuple[str, ...]
    paths: dict[str, str]
    """Paths of devices that are not whole disks, by reference."""
    extent_bytes: int
    volume: Volume
    integrity: Integrity | None
    cache: Cache | None
    vdo: Vdo | None
    thin: Thin | None
    volumes: int = 1
    """Number of volumes like `volume`; the group has no others then."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the volumes that are created first: `volume`, `volume2`, …"""
        return (self.volume.name, *(f"{self.volume.name}{number}" for number in range(2, self.volumes + 1)))

    @property
    def refs(self) -> tuple[str, ...]:
        """Return the references of the measured volumes: `lvm:NAME`, `lvm:NAME-2`, …"""
        return (self.ref, *(f"{self.ref}-{number}" for number in range(2, self.volumes + 1)))

    @property
    def has_pool(self) -> bool:
        """True if the measured volume is served from a pool."""
        return self.vdo is not None or self.thin is not None

    @property
    def target_bytes(self) -> int:
        """Planned size of each measured volume."""
        top = self.thin or self.vdo
        return top.virtual_bytes if top is not None else self.volume.size_bytes

    def data_name(self, *, pooled: bool) -> str:
        """Return the name of the volume with the data, its cache included: with `pooled`, the name below its pool."""
        name = self.volume.name
        if not pooled or not self.has_pool:
            return name
        return f"{name}_{'vdata' if self.vdo is not None else 'tdata'}"

    def origin_name(self, *, pooled: bool) -> str:
        """Return the name of the volume that was created first: below its cache, if it has one."""
        name = self.data_name(pooled=pooled)
        if self.cache is None:
            return name
        return f"{name}_{'wcorig' if self.cache.kind == 'writecache' else 'corig'}"

    def is_pooled(self, volumes: Container[str]) -> bool:
        """Return True if the pool exists among these volumes."""
        return self.has_pool and self.data_name(pooled=True) in volumes

    def is_cached(self, volumes: Container[str]) -> bool:
        """Return True if the cache is attached, judged by these volumes."""
        return self.cache is not None and self.origin_name(pooled=self.is_pooled(volumes)) in volumes
