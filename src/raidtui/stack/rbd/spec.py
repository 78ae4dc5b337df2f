"""Options of images in a pool of their own on an existing Ceph cluster, and the objects that are built from them."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.units import Size
from raidtui.stack.clusters import AbsolutePath, Name

Feature = Literal["layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten", "journaling"]
Through = Literal["krbd", "librbd"]
_OPTION: Final = r"[a-z][a-z0-9_]{0,31}(=[A-Za-z0-9_.:-]{1,64})?"
MapOptions = Annotated[str, Meta(pattern=f"^{_OPTION}(,{_OPTION}){{0,15}}$")]

SECTOR: Final = 512
"""Logical sector of a mapped image."""


class ReplicatedSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A pool that keeps whole copies of each object."""

    size: Annotated[int, Meta(ge=2, le=10)] | None = None
    """Number of copies. Default: the cluster's osd_pool_default_size."""
    min_size: Annotated[int, Meta(ge=1, le=10)] | None = None
    """Number of copies without which nothing is written. Default: the cluster's osd_pool_default_min_size."""


class ErasureSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A pool that keeps each object in k pieces of data and m of code; a replicated pool beside it names the images."""

    k: Annotated[int, Meta(ge=2, le=20)]
    """Number of pieces of data."""
    m: Annotated[int, Meta(ge=1, le=10)]
    """Number of pieces of code: as many may be lost."""
    plugin: Literal["jerasure", "isa"] | None = None
    """Library that computes the code. Default: the cluster's, jerasure or isa."""
    technique: Name | None = None
    """Technique of the plugin, such as reed_sol_van. Default: the plugin's."""
    stripe_unit: Annotated[Size, Meta(examples=["4KiB", "16KiB"])] | None = None
    """Data of one stripe in one piece. Default: the cluster's, 4KiB."""


class RbdSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Images (RBD) on an existing Ceph cluster, in a pool of their own or an existing one, by the kernel or by librbd."""

    size: Annotated[Size, Meta(examples=["10GiB", "100GiB"])]
    """Size of each image, a whole number of MiB."""
    images: Annotated[int, Meta(ge=1, le=64)] = 1
    """Number of images, all with these options. They are loaded at the same time."""
    replicated: ReplicatedSpec | None = None
    """Copies of each object. Beside `erasure`: of the pool that keeps the images' names alone."""
    erasure: ErasureSpec | None = None
    """Erasure coding of the data. Default: copies."""
    through: Through = "krbd"
    """The client. krbd: the kernel's (rbd.ko), a block device, on which other layers can stand; librbd: the workload's tool
    opens the image itself (fio's engine rbd).
    """
    cache: bool = False
    """librbd's cache in memory (rbd_cache), which direct I/O does not pass. Without it the pool says rbd_cache=false."""
    conf: AbsolutePath | None = None
    """Configuration file of the cluster. Default: /etc/ceph/ceph.conf."""
    user: Name | None = None
    """User without the prefix `client.`. Default: admin."""
    keyring: AbsolutePath | None = None
    """File on this server with the user's key. Default: where the configuration says, usually in /etc/ceph."""
    failure_domain: Name | None = None
    """Type of the buckets over which copies or pieces are spread: osd, host, rack. Default: the cluster's, or host where a
    CRUSH rule of its own is made for the pool.
    """
    device_class: Name | None = None
    """Class of the OSDs that are used: hdd, ssd, nvme. Default: all."""
    root: Name | None = None
    """CRUSH root below which the OSDs are. Default: default."""
    pg_num: Annotated[int, Meta(ge=1, le=65536)] | None = None
    """Number of placement groups of each pool that is made; the autoscaler never changes it. Default: the cluster's
    osd_pool_default_pg_num.
    """
    object_size: Annotated[Size, Meta(examples=["4MiB", "1MiB"])] | None = None
    """Size of the objects that an image consists of, a power of two from 4KiB to 32MiB. Default: the cluster's, 4MiB."""
    stripe_unit: Annotated[Size, Meta(examples=["64KiB"])] | None = None
    """Data that goes to one object before the next one; a divisor of the object size. Default: the object size."""
    stripe_count: Annotated[int, Meta(ge=1, le=1024)] | None = None
    """Number of objects over which data is striped. Default: 1."""
    features: tuple[Feature, ...] | None = None
    """Features of the images. Default: the cluster's rbd_default_features."""
    scrub: Literal["hold"] | None = None
    """hold: no scrub of any pool of the cluster begins while the layout is there; the flags are put back as they were.
    Default: the cluster's own times.
    """
    map_options: MapOptions | None = None
    """Further options of `rbd map`, with commas between them: `ms_mode=crc,queue_depth=256` (rbd(8))."""
    pool: Name | None = None
    """An existing pool for the images, which alone are made and removed; its name is consented to (--pool). Default: a pool
    of the run's own.
    """
    data_pool: Name | None = None
    """An existing pool for the images' data, such as an erasure-coded one; `pool` then has their names alone."""


class Cluster(msgspec.Struct, frozen=True, omit_defaults=True):
    """Reference to an existing cluster. None where Ceph's own default holds."""

    conf: str | None = None
    user: str | None = None
    keyring: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Return the options of `ceph` and `rbd` that name the cluster."""
        user = f"client.{self.user}" if self.user is not None else None
        pairs = (("--conf", self.conf), ("--name", user), ("--keyring", self.keyring))
        return tuple(word for name, value in pairs if value is not None for word in (name, value))


class RbdScrubs(msgspec.Struct, frozen=True, omit_defaults=True):
    """Arguments of the steps that hold scrubs, and let them begin again."""

    name: str
    uuid: str
    cluster: Cluster


class Coding(msgspec.Struct, frozen=True, omit_defaults=True):
    """Erasure coding of a pool, as its profile has it."""

    k: int
    m: int
    plugin: str | None = None
    technique: str | None = None
    stripe_unit_bytes: int | None = None


class RbdPool(msgspec.Struct, frozen=True, omit_defaults=True):
    """Arguments of the steps of a pool: the pool with the images, and with erasure coding a second one for their data."""

    name: str
    uuid: str
    cluster: Cluster
    bytes: int
    """Size of all images together."""
    size: int | None = None
    min_size: int | None = None
    coding: Coding | None = None
    failure_domain: str | None = None
    device_class: str | None = None
    root: str | None = None
    pg_num: int | None = None

    @property
    def data(self) -> str:
        """Name of the pool with the data."""
        return self.name if self.coding is None else f"{self.name}-data"

    @property
    def pools(self) -> tuple[str, ...]:
        """Names of all pools, in the order in which they are removed."""
        return tuple(dict.fromkeys((self.data, self.name)))

    @property
    def own_rule(self) -> bool:
        """True if the pool with the images has a CRUSH rule of its own, not the cluster's default one."""
        return (self.failure_domain, self.device_class, self.root) != (None, None, None)

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the CRUSH rules that are made. The monitor makes that of an erasure-coded pool, with the pool's name."""
        return tuple(name for name in self.pools if self.own_rule or name != self.name)


class Image(msgspec.Struct, frozen=True):
    """One image."""

    name: str

    @property
    def ref(self) -> str:
        return f"rbd:{self.name}"


class RbdImages(msgspec.Struct, frozen=True, omit_defaults=True):
    """Arguments of the steps of all images of a layout."""

    name: str
    uuid: str
    cluster: Cluster
    pool: str
    images: tuple[Image, ...]
    size_bytes: int
    """Size of each image."""
    data_pool: str | None = None
    object_bytes: int | None = None
    stripe_unit_bytes: int | None = None
    stripe_count: int | None = None
    features: tuple[str, ...] | None = None
    map_options: str | None = None
    through: Through = "krbd"
    cache: bool = False

    @property
    def own_pool(self) -> bool:
        """True if the pool is the run's own."""
        return self.pool == self.name

    @property
    def pools(self) -> tuple[str, ...]:
        return (self.pool,) if self.data_pool is None else (self.pool, self.data_pool)

    def spec_of(self, image: Image) -> str:
        """Return the image's name with its pool, as commands take it."""
        return f"{self.pool}/{image.name}"
