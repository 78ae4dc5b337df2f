"""Options of a ZFS pool and of the volume or filesystem that is measured in it, and the values that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.hints import Redirecting
from raidtui.model.units import Extent, Size
from raidtui.stack.zfs.notation import CALLED, number
from raidtui.stack.zfs.property_list import filesystem_entries, pool_entries, volume_entries
from raidtui.stack.zfs.tuning import ZfsTuning

_OF_POOL: Final = frozenset({"ashift", "autoexpand", "autotrim", "comment", "compatibility", "failmode", "version"})
_OF_CHILD: Final = frozenset({
    "atime", "checksum", "compression", "copies", "dedup", "direct", "dnodesize", "logbias", "prefetch", "primarycache",
    "recordsize", "redundant_metadata", "relatime", "secondarycache", "snapdev", "special_small_blocks", "sync",
    "volblocksize", "xattr",
})  # fmt: skip
FREE_SPACE: Final = ("trim", "initialize")
"""Options, and commands of zpool, that work on all free space of a new pool; in the order in which they are run."""
_OPTION: Final = 'It is an option of the zpool: write "{}": true beside its "vdevs". To trim all the time: autotrim.'


def of_pool(key: str) -> str:
    """For a key of the zpool itself; empty for what is no property."""
    if key in FREE_SPACE:
        return _OPTION.format(key)
    name = CALLED.get(key, key)
    if name in _OF_POOL or name.startswith("feature@"):
        return f'It is a property of the pool: "properties": {{"{name}": …}}.'
    if name in _OF_CHILD:
        where = 'the "properties" of volume or dataset, or into "inherited"'
        return f'It is a property of what is measured: write "{name}" into {where}.'
    return ""


def of_child(key: str) -> str:
    """For a key of the volume or the dataset."""
    if key in FREE_SPACE:
        return _OPTION.format(key)
    name = CALLED.get(key, key)
    if name in _OF_CHILD:
        return f'It is a property: "properties": {{"{name}": …}}.'
    return f'It is a property of the pool: write "{name}" into the "properties" of the zpool.' if name in _OF_POOL else ""


NAME_PATTERN: Final = r"^[a-z][a-z0-9_]{0,62}(@[a-z0-9_.:-]{1,60})?(?!\n)$"
"""Form of a property's name: ZFS's properties and `feature@…`; never user properties, which have a colon before any `@`."""
VALUE_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.,:@%+-]{0,126}(?!\n)$"
"""Form of a property's value: no blanks, no paths, no option."""
KINDS: Final = ("stripe", "mirror", "raidz1", "raidz2", "raidz3", "draid1", "draid2", "draid3")
DEFAULT_ASHIFT: Final = 12
DEFAULT_FAILMODE: Final = "continue"
DEFAULT_BLOCK_BYTES: Final = 16 << 10
"""Default of ZFS since 2.2."""
DEFAULT_RECORD_BYTES: Final = 128 << 10
DRAID_DATA: Final = 8
"""Data disks of one redundancy group where nothing is said, or as many as there are."""
_NAME: Final = "A property has ZFS's name in lower-case letters; user properties are not set."
_VALUE: Final = "A value is a word or a number in ZFS's notation, without blanks and paths."
PropertyName = Annotated[str, Meta(pattern=NAME_PATTERN, description=_NAME, examples=["compression", "feature@draid"])]
PropertyText = Annotated[str, Meta(pattern=VALUE_PATTERN, description=_VALUE, examples=["lz4", "16K"])]
Properties = dict[PropertyName, PropertyText | Annotated[int, Meta(ge=0, le=1 << 62)]]
PoolProperties = Annotated[Properties, Meta(extra={"entries": pool_entries})]
VolumeProperties = Annotated[Properties, Meta(extra={"entries": volume_entries})]
DatasetProperties = Annotated[Properties, Meta(extra={"entries": filesystem_entries})]


class Vdev(msgspec.Struct, Redirecting, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One part of a pool: exactly one kind with its disks. With `per`, several vdevs of that kind."""

    stripe: Operand | None = None
    """Disks without redundancy, each one a vdev."""
    mirror: Operand | None = None
    """Mirror: all disks hold the same data."""
    raidz1: Operand | None = None
    """One parity for every block."""
    raidz2: Operand | None = None
    """Two parities for every block."""
    raidz3: Operand | None = None
    """Three parities for every block."""
    draid1: Operand | None = None
    """One parity, with redundancy groups and spare space spread over all disks."""
    draid2: Operand | None = None
    """Two parities, with redundancy groups and spare space spread over all disks."""
    draid3: Operand | None = None
    """Three parities, with redundancy groups and spare space spread over all disks."""
    per: Annotated[int, Meta(ge=2, le=255)] | None = None
    """Disks of each vdev: several mirrors or raidz groups from one role. Default: all of them in one vdev."""
    data: Annotated[int, Meta(ge=1, le=252)] | None = None
    """draid: data disks of one redundancy group. Default: 8, or as many as there are."""
    spares: Annotated[int, Meta(ge=0, le=100)] | None = None
    """draid: distributed spares, in disks. Default: none."""

    @staticmethod
    def elsewhere(key: str) -> str:
        return of_pool(key)

    def given(self) -> list[str]:
        """Return the given kinds; a valid vdev has exactly one."""
        return [kind for kind in KINDS if getattr(self, kind) is not None]


class Volume(msgspec.Struct, Redirecting, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A block device in the pool (zvol), which is measured."""

    size: Extent
    """Size of the volume, or its share of the room in the pool in blocks of its `volblocksize`, parity and padding counted.
    """
    sparse: bool = False
    """Reserve no space for the volume."""
    properties: VolumeProperties = {}
    """Properties of the volume by ZFS's names and values. Default of `volblocksize`: 16K."""

    @staticmethod
    def elsewhere(key: str) -> str:
        return of_child(key)


class Dataset(msgspec.Struct, Redirecting, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A filesystem of the pool, mounted only for the run; files in it are measured."""

    size: Extent = msgspec.field(default_factory=lambda: Extent("80%"))
    """Room for files, or its share of the room in the pool in records of its `recordsize`. Nothing is reserved."""
    properties: DatasetProperties = {}
    """Properties of the dataset by ZFS's names and values. Default of `recordsize`: 128K."""

    @staticmethod
    def elsewhere(key: str) -> str:
        return of_child(key)


class ZpoolSpec(msgspec.Struct, Redirecting, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Options of a ZFS pool (zpool-create(8), zpoolconcepts(7)) with one volume or one filesystem in it."""

    vdevs: Annotated[tuple[Vdev, ...], Meta(min_length=1, max_length=64)]
    """Vdevs over which the pool stripes."""
    volume: Volume | None = None
    """A block device that is measured, or used by another layer."""
    volumes: Annotated[int, Meta(ge=1, le=64)] = 1
    """Number of such volumes, each of this size; a share is of what each of them can have. They are loaded at the same
    time; where the layer above exports them to several hosts, each host gets as many of its own.
    """
    dataset: Dataset | None = None
    """A filesystem with files, measured instead of a volume."""
    log: Operand | None = None
    """Log devices (SLOG) for synchronous writes."""
    cache: Operand | None = None
    """Second-level read cache (L2ARC)."""
    special: Operand | None = None
    """Devices for metadata, and for small blocks with `special_small_blocks`."""
    dedup: Operand | None = None
    """Devices for deduplication tables."""
    spares: Operand | None = None
    """Hot spares."""
    mirrored: tuple[Literal["log", "special", "dedup"], ...] | None = None
    """Names of the device classes that are mirrored: one mirror of all their devices unless `mirrored_per` is given. Other
    devices stand alone.
    """
    mirrored_per: dict[Literal["log", "special", "dedup"], Annotated[int, Meta(ge=2, le=255)]] | None = None
    """Devices of each mirror, for those that are mirrored. Default: all of them in one mirror."""
    properties: PoolProperties = {}
    """Properties of the pool by ZFS's names and values. Default of `ashift`: 12."""
    inherited: DatasetProperties = {}
    """Properties of the pool's root filesystem, inherited by the volume or dataset."""
    trim: bool = False
    """Discard all free space (zpool-trim(8)) after the pool is created. Every device has to accept discards; cache devices
    and spares are left out.
    """
    initialize: bool = False
    """Write over all free space (zpool-initialize(8)) after the pool is created and trimmed: no block is written for the
    first time while it is measured. It takes as long as writing the disks, also with `--quick`; cache devices and spares
    are left out.
    """
    arc_max: Annotated[Size, Meta(examples=["4GiB", "1GiB"])] | None = None
    """Limit of the ARC while the pool exists; it is restored afterwards. Default: the server's limit."""
    tuning: ZfsTuning | None = None
    """Kernel settings while the pool exists."""

    @staticmethod
    def elsewhere(key: str) -> str:
        return of_pool(key)

    def operands(self) -> dict[str, Operand]:
        """Return the operands by input name, in the order of the devices."""
        found: dict[str, Operand | None] = {}
        for index, vdev in enumerate(self.vdevs):
            for kind in vdev.given():
                found[f"vdevs[{index}].{kind}"] = getattr(vdev, kind)
        found |= {name: getattr(self, name) for name, _ in EXTRA}
        return {name: operand for name, operand in found.items() if operand is not None}

    def places(self, counts: Mapping[str, int]) -> dict[str, range]:
        """Return the positions of each input's devices in the list of all devices."""
        found, at = {}, 0
        for name in self.operands():
            found[name] = range(at, at + counts.get(name, 0))
            at += len(found[name])
        return found

    def groups(self, counts: Mapping[str, int]) -> list[Group]:
        """Return all top-level vdevs and devices that stand alone, given the number of devices of each input."""
        found: list[Group] = []
        at = self.places(counts)
        for index, vdev in enumerate(self.vdevs):
            name = vdev_input(index, vdev)
            found += _split(vdev, name.partition(".")[2], at.get(name, range(0)))
        widths = {str(name): width for name, width in (self.mirrored_per or {}).items()}
        for name, role in EXTRA:
            devices = tuple(at.get(name, ()))
            if name in (self.mirrored or ()) and devices:
                each = widths.get(name, len(devices))
                found += [Group(role, "mirror", devices[first : first + each]) for first in range(0, len(devices), each)]
            else:
                found += [Group(role, "stripe", (device,)) for device in devices]
        return found

    @property
    def ashift(self) -> int:
        """Power of two of the smallest write; 12 where neither given nor readable."""
        value = self.properties.get("ashift", DEFAULT_ASHIFT)
        return int(value) if str(value).isdecimal() else DEFAULT_ASHIFT

    @property
    def measured_properties(self) -> Properties:
        """Return the properties of the volume or the dataset."""
        child = self.volume or self.dataset
        return child.properties if child is not None else {}

    def in_force(self, name: str, default: str) -> str:
        """The value that a property has for what is measured: its own, else inherited, else ZFS's `default`."""
        return str({**self.inherited, **self.measured_properties}.get(name, default))

    @property
    def reducing(self) -> list[str]:
        """Return the properties in force that make less of written data: `compression`, `dedup`."""
        return [name for name, usual in (("compression", "on"), ("dedup", "off")) if self.in_force(name, usual) != "off"]

    @property
    def block_bytes(self) -> int:
        """The volume's `volblocksize`, or the dataset's `recordsize`."""
        given = self.block_property
        default = DEFAULT_BLOCK_BYTES if self.dataset is None else DEFAULT_RECORD_BYTES
        return default if given is None else number(given) or default

    @property
    def block_property(self) -> str | int | None:
        """Return the block property as written in the scenario; None if it is not given."""
        if self.dataset is None:
            return self.measured_properties.get("volblocksize")
        return {**self.inherited, **self.dataset.properties}.get("recordsize")

    @property
    def copies(self) -> int:
        """Return the number of copies of every block (property `copies`), in addition to the redundancy of the vdevs."""
        return number(self.in_force("copies", "1")) or 1


class Group(msgspec.Struct, frozen=True):
    """One top-level vdev, or one device that stands alone, as given to `zpool create`."""

    role: str
    """`member`, `log`, `cache`, `special`, `dedup` or `spare`."""
    kind: str
    """`stripe`, `mirror`, `raidz2`, `draid1`, …"""
    devices: tuple[int, ...]
    """Positions in the list of all devices."""
    data: int = 0
    """draid: data disks of a redundancy group."""
    spares: int = 0
    """draid: distributed spares."""

    @property
    def parity(self) -> int:
        return int(self.kind[5:]) if self.kind.startswith(("raidz", "draid")) else 0

    @property
    def may_fail(self) -> int:
        """Number of arbitrary devices that may fail."""
        return len(self.devices) - 1 if self.kind == "mirror" else self.parity

    @property
    def word(self) -> str:
        """Word of `zpool create`; empty for a device that stands alone."""
        if self.kind.startswith("draid"):
            return f"{self.kind}:{self.data}d:{len(self.devices)}c:{self.spares}s"
        return "" if self.kind == "stripe" else self.kind


EXTRA: Final = (("special", "special"), ("dedup", "dedup"), ("log", "log"), ("cache", "cache"), ("spares", "spare"))
"""Inputs beside the vdevs, and the role of what goes into them, in the order of `zpool create`."""


def vdev_input(index: int, vdev: Vdev) -> str:
    """The input name of a vdev's disks: its very place in the file."""
    return f"vdevs[{index}].{(vdev.given() or ['stripe'])[0]}"


def _split(vdev: Vdev, kind: str, devices: range) -> Iterator[Group]:
    if kind == "stripe":
        yield from (Group("member", kind, (device,)) for device in devices)
        return
    each = vdev.per or len(devices) or 1
    for first in range(0, len(devices), each):
        part = tuple(devices[first : first + each])
        group = Group("member", kind, part)
        if kind.startswith("draid"):
            spares = vdev.spares or 0
            data = vdev.data or max(1, min(DRAID_DATA, len(part) - spares - group.parity))
            group = Group("member", kind, part, data, spares)
        yield group
