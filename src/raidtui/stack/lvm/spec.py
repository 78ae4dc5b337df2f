"""Options of an LVM volume, and the geometry that they come to."""

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
"""As lvm.conf(5), metadata/stripesize, where it is not changed."""
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
    """Checksums below each image, so that silent corruption is found and mended (dm-integrity)."""

    mode: Literal["journal", "bitmap"] = "journal"
    """journal writes everything twice and is safe at any moment; bitmap recalculates what was being written in a crash."""
    block_size: Annotated[Size, Meta(examples=["512B", "4KiB"])] | None = None
    """What one checksum is of, 512B to 4KiB; the disks' logical sector where not given."""


class CacheSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A cache of hot blocks in front of the volume (dm-cache, lvmcache(7))."""

    on: Operand
    """The fast devices."""
    kind: Literal["cachevol", "pool"] = "cachevol"
    """cachevol: data and metadata in one linear volume; pool: each in a volume of its own."""
    mode: Literal["writethrough", "writeback", "passthrough"] = "writethrough"
    """writethrough: on both before it is done; writeback: in the cache first; passthrough: only read hits, writes go by."""
    chunk: Annotated[Size, Meta(examples=["64KiB", "256KiB"])] | None = None
    """What is moved at once, a multiple of 32KiB; 64KiB where not given, or more so that there are at most a million."""
    policy: Literal["smq", "mq", "cleaner"] = "smq"
    """Which blocks are worth it: smq; mq is another name for it; cleaner only writes back, in a pool."""
    migration_threshold: Annotated[Size, Meta(examples=["1MiB", "8MiB"])] | None = None
    """How much may be on its way between cache and volume at a time; LVM's default where not given."""
    size: Extent = msgspec.field(default_factory=lambda: Extent("100%"))
    """How much of the fast devices it takes."""


class WritecacheSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A cache of writes only (dm-writecache, lvmcache(7))."""

    on: Operand
    """The fast devices."""
    block_size: Annotated[Size, Meta(examples=["4KiB", "512B"])] | None = None
    """Its unit: 512B or 4KiB; 4KiB where not given."""
    high_watermark: Annotated[int, Meta(ge=1, le=100, extra={"unit": "%"})] | None = None
    """From how full on it is written back; 50 where not given."""
    low_watermark: Annotated[int, Meta(ge=0, le=99, extra={"unit": "%"})] | None = None
    """Down to where it is written back; 45 where not given."""
    writeback_jobs: Annotated[int, Meta(ge=1, le=1 << 20)] | None = None
    """Blocks in flight while it is written back; no limit where not given."""
    autocommit_blocks: Annotated[int, Meta(ge=1, le=1 << 24)] | None = None
    """After how many written blocks they are committed without a flush; 65536 where not given."""
    size: Extent = msgspec.field(default_factory=lambda: Extent("100%"))
    """How much of the fast devices it takes."""


class VdoSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Compression and deduplication of the volume's blocks (dm-vdo, lvmvdo(7))."""

    virtual_size: VirtualExtent = msgspec.field(default_factory=lambda: VirtualExtent("100%"))
    """What its user sees: a size, or a share of the space below, which may be more than all of it."""
    compression: bool = True
    """Blocks are packed where they become smaller."""
    deduplication: bool = True
    """Equal blocks are kept once."""
    slab_size: Annotated[Size, Meta(examples=["2GiB", "128MiB"])] | None = None
    """By which it grows, a power of two from 128MiB to 32GiB; 2GiB where not given."""
    index_memory: Annotated[Size, Meta(examples=["256MiB", "1GiB"])] | None = None
    """For the index that finds equal blocks; 256MiB where not given, and ten times as much of the space below."""
    ack_threads: Annotated[int, Meta(ge=0, le=100)] | None = None
    """Threads that answer requests; 0 leaves it to the others; 1 where not given."""
    bio_threads: Annotated[int, Meta(ge=1, le=100)] | None = None
    """Threads that write and read below; 4 where not given."""
    bio_rotation: Annotated[int, Meta(ge=1, le=1024)] | None = None
    """Requests that go to one of the bio threads before the next one's turn; 64 where not given."""
    cpu_threads: Annotated[int, Meta(ge=1, le=100)] | None = None
    """Threads that hash and compress; 2 where not given."""
    hash_zone_threads: Annotated[int, Meta(ge=0, le=100)] | None = None
    """Threads that look for equal blocks; 1 where not given. None only together with logical and physical ones."""
    logical_threads: Annotated[int, Meta(ge=0, le=60)] | None = None
    """Threads that map what its user sees; 1 where not given."""
    physical_threads: Annotated[int, Meta(ge=0, le=16)] | None = None
    """Threads that give out space below, at most one per slab; 1 where not given."""
    block_map_cache: Annotated[Size, Meta(examples=["128MiB", "1GiB"])] | None = None
    """Memory for the map of blocks, 128MiB and more, whole MiB; 128MiB where not given."""
    block_map_era_length: Annotated[int, Meta(ge=1, le=16380)] | None = None
    """How long changes of the map may stay in memory: small recovers sooner; 16380 where not given."""


class ThinSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A pool that gives blocks to the volume when they are first written (dm-thin, lvmthin(7))."""

    virtual_size: VirtualExtent = msgspec.field(default_factory=lambda: VirtualExtent("100%"))
    """What its user sees: a size, or a share of the pool, which may be more than all of it."""
    chunk: Annotated[Size, Meta(examples=["64KiB", "1MiB"])] | None = None
    """What is given at once, a multiple of 64KiB; 64KiB where not given, or more for a large pool."""
    zero: bool = True
    """Chunks are zeroed before they are given."""
    discards: Literal["passdown", "nopassdown", "ignore"] = "passdown"
    """Whether discards free chunks, and reach the devices below."""


class LvmSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One volume in a volume group of its own (lvm(8), lvmraid(7))."""

    on: Operand
    """The physical volumes that hold the data, in order."""
    type: Type = "linear"
    """linear: one after the other; striped: side by side; mirror: the old kind of mirror; the others are lvmraid(7)."""
    stripes: Annotated[int, Meta(ge=1, le=128)] | None = None
    """Over how many devices data is spread, parity and copies not counted; over all of them where not given."""
    mirrors: Annotated[int, Meta(ge=1, le=63)] | None = None
    """Copies beside the original (raid1, mirror); one on each device where not given. raid10 always has one."""
    stripe_size: Annotated[Size, Meta(examples=["64KiB", "256KiB"])] | None = None
    """How much of one device follows in a row; 64KiB where not given."""
    size: Extent = msgspec.field(default_factory=lambda: Extent("100%"))
    """Of the volume: a size, or a share of the largest that these devices have room for."""
    allocation: Literal["normal", "contiguous", "cling", "anywhere"] = "normal"
    """Where extents may be taken from: contiguous and cling stay on the device where they began, anywhere may put two
    stripes or copies on one device, of which there are as many as without it."""
    extent_size: Annotated[Size, Meta(examples=["4MiB", "32MiB"])] | None = None
    """Size of the volume group's extents, a power of two or a multiple of 128KiB; 4MiB where not given."""
    region_size: Annotated[Size, Meta(examples=["2MiB", "8MiB"])] | None = None
    """What one bit of the write-intent bitmap stands for (types with redundancy); 2MiB or more where not given."""
    mirror_log: Literal["disk", "core"] | None = None
    """Where an old mirror keeps its log: on the devices, or in memory only; disk where not given."""
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
    """Kernel settings while the volume stands."""


INPUTS: Final[dict[str, Literal["member", "cache"]]] = {"on": "member", "cache.on": "cache", "writecache.on": "cache"}
"""What a device is, by the input that it goes into."""


def inputs(spec: LvmSpec) -> dict[str, Operand]:
    """Operands by the place where they stand."""
    found = {"on": spec.on}
    if spec.cache is not None:
        found["cache.on"] = spec.cache.on
    if spec.writecache is not None:
        found["writecache.on"] = spec.writecache.on
    return found


class Geometry(NamedTuple):
    """How a volume lies on its devices."""

    stripes: int
    """Areas that hold data side by side."""
    copies: int
    """How often everything is there: 1 without mirrors."""
    parity: int

    @property
    def areas(self) -> int:
        """Devices that one row of extents takes."""
        return self.stripes * self.copies + self.parity


def geometry(spec: LvmSpec, devices: int) -> Geometry:
    """What the options come to on so many devices; may be what no LVM builds (see `rules`)."""
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
