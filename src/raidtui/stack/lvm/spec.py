"""Options of an LVM volume, and the geometry that follows from them."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.units import Extent, Size, VirtualExtent
from raidtui.stack.tuning.spec import Tuning

Type = Literal["linear", "striped", "mirror", "raid0", "raid1", "raid4", "raid5", "raid6", "raid10"]

KIB: Final = 1 << 10
MIB: Final = 1 << 20
DEFAULT_STRIPE_BYTES: Final = 64 * KIB
"""Default of metadata/stripesize in lvm.conf(5)."""
DEFAULT_EXTENT_BYTES: Final = 4 * MIB
DEFAULT_REGION_BYTES: Final = 2 * MIB
PARITY: Final = {"raid4": 1, "raid5": 1, "raid6": 2}
"""Stripes' worth of parity by type."""
STRIPED: Final = frozenset({"striped", "raid0", "raid4", "raid5", "raid6", "raid10"})
MIRRORED: Final = frozenset({"mirror", "raid1", "raid10"})
REDUNDANT: Final = MIRRORED | PARITY.keys()
IMAGED: Final = REDUNDANT | {"raid0"}
"""Types of images, each on devices of its own."""


class IntegritySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Checksums below each image, so that silent corruption is found and repaired (dm-integrity)."""

    mode: Literal["journal", "bitmap"] = "journal"
    """journal writes everything twice and is always consistent; bitmap recalculates regions after a crash."""
    block_size: Annotated[Size, Meta(examples=["512B", "4KiB"])] | None = None
    """Data of one checksum, 512B to 4KiB. Default: the disks' logical sector."""


class CacheSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A cache of hot blocks in front of the volume (dm-cache, lvmcache(7))."""

    on: Operand
    """The fast devices."""
    kind: Literal["cachevol", "pool"] = "cachevol"
    """cachevol: data and metadata in one linear volume; pool: each in a volume of its own."""
    mode: Literal["writethrough", "writeback", "passthrough"] = "writethrough"
    """writethrough: writes go to both; writeback: to the cache first; passthrough: past the cache, only reads use it."""
    chunk: Annotated[Size, Meta(examples=["64KiB", "256KiB"])] | None = None
    """Unit of the cache, a multiple of 32KiB. Default: 64KiB, or more so that there are at most a million chunks."""
    policy: Literal["smq", "mq", "cleaner"] = "smq"
    """Replacement policy: smq; mq is another name for it; cleaner only writes back, in a pool."""
    migration_threshold: Annotated[Size, Meta(examples=["1MiB", "8MiB"])] | None = None
    """Largest amount of data in migration between cache and volume. Default: LVM's."""
    size: Extent = msgspec.field(default_factory=lambda: Extent("100%"))
    """Size of the cache: a size, or a share of the fast devices."""


class WritecacheSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A cache of writes only (dm-writecache, lvmcache(7))."""

    on: Operand
    """The fast devices."""
    block_size: Annotated[Size, Meta(examples=["4KiB", "512B"])] | None = None
    """Block size: 512B or 4KiB. Default: 4KiB."""
    high_watermark: Annotated[int, Meta(ge=1, le=100, extra={"unit": "%"})] | None = None
    """Fill level at which writeback starts. Default: 50."""
    low_watermark: Annotated[int, Meta(ge=0, le=99, extra={"unit": "%"})] | None = None
    """Fill level at which writeback stops. Default: 45."""
    writeback_jobs: Annotated[int, Meta(ge=1, le=1 << 20)] | None = None
    """Blocks in flight during writeback. Default: no limit."""
    autocommit_blocks: Annotated[int, Meta(ge=1, le=1 << 24)] | None = None
    """Number of written blocks after which they are committed without a flush. Default: 65536."""
    size: Extent = msgspec.field(default_factory=lambda: Extent("100%"))
    """Size of the cache: a size, or a share of the fast devices."""


class VdoSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Compression and deduplication of the volume's blocks (dm-vdo, lvmvdo(7))."""

    virtual_size: VirtualExtent = msgspec.field(default_factory=lambda: VirtualExtent("100%"))
    """Size that the user sees: a size, or a share of the space below, which may be more than 100%."""
    compression: bool = True
    """Compress blocks."""
    deduplication: bool = True
    """Store equal blocks once."""
    slab_size: Annotated[Size, Meta(examples=["2GiB", "128MiB"])] | None = None
    """Unit of growth, a power of two from 128MiB to 32GiB. Default: 2GiB."""
    index_memory: Annotated[Size, Meta(examples=["256MiB", "1GiB"])] | None = None
    """Memory of the index that finds equal blocks; it takes ten times as much of the space below. Default: 256MiB."""
    ack_threads: Annotated[int, Meta(ge=0, le=100)] | None = None
    """Threads that acknowledge requests; 0: the other threads do it. Default: 1."""
    bio_threads: Annotated[int, Meta(ge=1, le=100)] | None = None
    """Threads that read and write below. Default: 4."""
    bio_rotation: Annotated[int, Meta(ge=1, le=1024)] | None = None
    """Number of requests for one bio thread before the next one is used. Default: 64."""
    cpu_threads: Annotated[int, Meta(ge=1, le=100)] | None = None
    """Threads that hash and compress. Default: 2."""
    hash_zone_threads: Annotated[int, Meta(ge=0, le=100)] | None = None
    """Threads that look for equal blocks. Default: 1. Zero only together with logical and physical threads."""
    logical_threads: Annotated[int, Meta(ge=0, le=60)] | None = None
    """Threads that map logical blocks. Default: 1."""
    physical_threads: Annotated[int, Meta(ge=0, le=16)] | None = None
    """Threads that allocate space below, at most one per slab. Default: 1."""
    block_map_cache: Annotated[Size, Meta(examples=["128MiB", "1GiB"])] | None = None
    """Memory for the map of blocks in whole MiB, at least 128MiB. Default: 128MiB."""
    block_map_era_length: Annotated[int, Meta(ge=1, le=16380)] | None = None
    """Number of map blocks that may stay changed in memory: a small number recovers sooner. Default: 16380."""


class ThinSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Pool that allocates blocks when they are first written (dm-thin, lvmthin(7))."""

    virtual_size: VirtualExtent = msgspec.field(default_factory=lambda: VirtualExtent("100%"))
    """Size that the user sees: a size, or a share of the pool, which may be more than 100%."""
    chunk: Annotated[Size, Meta(examples=["64KiB", "1MiB"])] | None = None
    """Unit of allocation, a multiple of 64KiB. Default: 64KiB, or more for a large pool."""
    zero: bool = True
    """Zero chunks before they are allocated."""
    discards: Literal["passdown", "nopassdown", "ignore"] = "passdown"
    """Handling of discards: passdown frees chunks and discards the devices below; nopassdown only frees; ignore does
    neither.
    """


class LvmSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One volume, or several alike, in a volume group of their own (lvm(8), lvmraid(7))."""

    on: Operand
    """The physical volumes that hold the data, in order."""
    type: Type = "linear"
    """linear: one device after the other; striped: side by side; mirror: the old mirror; the others: lvmraid(7)."""
    stripes: Annotated[int, Meta(ge=1, le=128)] | None = None
    """Number of devices over which data is spread, without parity and copies. Default: all of them."""
    mirrors: Annotated[int, Meta(ge=1, le=63)] | None = None
    """Copies in addition to the original (raid1, mirror). Default: one on each device. raid10 always has one."""
    stripe_size: Annotated[Size, Meta(examples=["64KiB", "256KiB"])] | None = None
    """Size of one stripe on one device. Default: 64KiB."""
    size: Extent = msgspec.field(default_factory=lambda: Extent("100%"))
    """Size of the volume: a size, or a share of the largest possible one."""
    volumes: Annotated[int, Meta(ge=1, le=64)] = 1
    """Number of volumes, all with these options and of this size. They are loaded at the same time; where the layer above
    exports them to several hosts, each host gets as many of its own.
    """
    allocation: Literal["normal", "contiguous", "cling", "anywhere"] = "normal"
    """Allocation policy of extents: contiguous and cling stay on the device where they began, anywhere may put two stripes
    or copies on one device, of which there are as many as without it.
    """
    extent_size: Annotated[Size, Meta(examples=["4MiB", "32MiB"])] | None = None
    """Size of the volume group's extents, a power of two or a multiple of 128KiB. Default: 4MiB."""
    region_size: Annotated[Size, Meta(examples=["2MiB", "8MiB"])] | None = None
    """Data of one bit in the write-intent bitmap (types with redundancy). Default: 2MiB or more."""
    mirror_log: Literal["disk", "core"] | None = None
    """Place of an old mirror's log: on the devices, or in memory only. Default: disk."""
    integrity: IntegritySpec | None = None
    """Checksums, for types with redundancy."""
    cache: CacheSpec | None = None
    """A cache of hot blocks on other devices."""
    writecache: WritecacheSpec | None = None
    """A cache of writes on other devices."""
    vdo: VdoSpec | None = None
    """Compression and deduplication: the volume becomes the pool of a VDO volume."""
    thin: ThinSpec | None = None
    """Thin provisioning: the volume, or VDO's on it, becomes the pool of a thin volume."""
    tuning: Tuning | None = None
    """Kernel settings while the volume exists."""


INPUTS: Final[dict[str, Literal["member", "cache"]]] = {"on": "member", "cache.on": "cache", "writecache.on": "cache"}
"""Role of a device, by the input that it goes into."""


def inputs(spec: LvmSpec) -> dict[str, Operand]:
    """Return the operands by their place in the options."""
    found = {"on": spec.on}
    if spec.cache is not None:
        found["cache.on"] = spec.cache.on
    if spec.writecache is not None:
        found["writecache.on"] = spec.writecache.on
    return found


class Geometry(NamedTuple):
    """Distribution of a volume over its devices."""

    stripes: int
    """Number of areas with data side by side."""
    copies: int
    """Number of copies of the data: 1 without mirrors."""
    parity: int

    @property
    def areas(self) -> int:
        """Devices that one row of extents takes."""
        return self.stripes * self.copies + self.parity


def geometry(spec: LvmSpec, devices: int) -> Geometry:
    """Return the geometry of these options on so many devices, even if LVM would not build it (see `rules`)."""
    parity = PARITY.get(spec.type, 0)
    copies = 1
    if spec.type == "raid10":
        copies = 1 + (spec.mirrors or 1)
    elif spec.type in MIRRORED:
        copies = 1 + spec.mirrors if spec.mirrors is not None else max(1, devices)
    stripes = 1
    if spec.type in STRIPED:
        stripes = spec.stripes or max(1, (devices - parity) // copies)
    return Geometry(stripes, copies, parity)


def stripe_size_bytes(spec: LvmSpec) -> int | None:
    """None for types that do not stripe."""
    if spec.type not in STRIPED:
        return None
    return spec.stripe_size.bytes if spec.stripe_size is not None else DEFAULT_STRIPE_BYTES


def extent_bytes(spec: LvmSpec) -> int:
    return spec.extent_size.bytes if spec.extent_size is not None else DEFAULT_EXTENT_BYTES


def whole_extents(wanted: Extent, of_bytes: int, extent: int) -> int:
    """Bytes in whole extents. A size is rounded up, as LVM does; a share is not to become more than was asked for."""
    size = wanted.of(of_bytes)
    return (-(-size // extent) if wanted.bytes is not None else max(1, size // extent)) * extent
