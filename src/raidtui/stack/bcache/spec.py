"""Options of a bcache device, and what they come to where the scenario leaves them out."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.units import Duration, Size
from raidtui.stack.tuning.spec import Tuning

Mode = Literal["writethrough", "writeback", "writearound", "none"]
SECTOR: Final = 512
KIB: Final = 1 << 10
MIB: Final = 1 << 20
DEFAULT_BUCKET_BYTES: Final = 512 * KIB
"""Default of make-bcache(8)."""
DEFAULT_DATA_OFFSET_BYTES: Final = 8 * KIB
"""Default position of the data on the backing device: right behind its superblock (uapi/linux/bcache.h,
BDEV_DATA_START_DEFAULT).
"""


class BcacheSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fast device that caches a slow one (bcache, the kernel's Documentation/admin-guide/bcache.rst)."""

    on: Operand
    """The backing device, which holds the data: one disk, or one layer."""
    cache: Operand
    """The device that caches it: one disk, or one layer."""
    mode: Mode = "writethrough"
    """writethrough: on both before it is done; writeback: in the cache first; writearound: written to the backing device
    alone, and cached when it is read; none: reads and writes bypass the cache."""
    bucket: Annotated[Size, Meta(examples=["512KiB", "2MiB"])] | None = None
    """Unit in which the cache is filled and emptied: a power of two from 4KiB to 16MiB, best the erase block of its device.
    Default: 512KiB.
    """
    block: Annotated[Size, Meta(examples=["4KiB", "512B"])] | None = None
    """The logical sector of the new device, a power of two up to 4KiB; the larger one of both devices where not given."""
    data_offset: Annotated[Size, Meta(examples=["1MiB", "8KiB"])] | None = None
    """Start of the data on the backing device. Default: 8KiB. A whole stripe keeps an array below aligned."""
    replacement: Literal["lru", "fifo", "random"] = "lru"
    """Bucket to evict if the cache is full: the least recently used, the oldest, or a random one."""
    sequential_cutoff: Annotated[Size, Meta(examples=["4MiB", "0B"])] | None = None
    """Requests that follow each other for longer than this go past the cache; 4MiB where not given, 0B: none do."""
    congestion: Literal["default", "off"] = "default"
    """default: while the cache answers slowly (2 ms for reads, 20 ms for writes), requests go past it; off: they do not."""
    writeback_percent: Annotated[int, Meta(ge=0, le=40, extra={"unit": "%"})] | None = None
    """writeback: how much of the cache may stay dirty; 10 where not given, 0: everything is written back at full speed."""
    writeback_delay: Annotated[Duration, Meta(examples=["30s", "0s"])] | None = None
    """writeback: how long dirty data stays before it is written back; 30 s where not given."""
    discard: bool = False
    """Buckets of the cache device are discarded before they are used again."""
    tuning: Tuning | None = None
    """Kernel settings while the device stands."""

    @property
    def bucket_bytes(self) -> int:
        return self.bucket.bytes if self.bucket is not None else DEFAULT_BUCKET_BYTES

    @property
    def data_offset_bytes(self) -> int:
        return self.data_offset.bytes if self.data_offset is not None else DEFAULT_DATA_OFFSET_BYTES


class Role(msgspec.Struct, frozen=True):
    """One of the two devices below, with its planned superblock UUID."""

    ref: str
    role: str
    """`backing` or `cache`."""
    uuid: str


class CacheSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """Settings that the scenario gives; None leaves the kernel's default.

    Each field has the name of its file in sysfs (below `/sys/block/bcacheN/bcache`).
    """

    sequential_cutoff: int | None = None
    writeback_percent: int | None = None
    writeback_delay: int | None = None

    def given(self) -> dict[str, int]:
        """Return the given settings by file name."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


class BcacheDevice(msgspec.Struct, frozen=True):
    """Arguments of all bcache steps: the whole cached device."""

    name: str
    uuid: str
    """UUID of the cache set."""
    ref: str
    """`bcache:NAME`"""
    devices: tuple[Role, ...]
    """The backing device, then the cache device."""
    disks: tuple[str, ...]
    """Ids of all disks below."""
    paths: dict[str, str]
    """Planned device paths of devices that are layers; after a crash nothing else knows them."""
    mode: str
    bucket_bytes: int
    block_bytes: int
    data_offset_bytes: int | None
    replacement: str
    congestion: str
    discard: bool
    settings: CacheSettings
    size_bytes: int

    @property
    def backing(self) -> Role:
        return self.devices[0]
