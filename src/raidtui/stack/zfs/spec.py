"""Options of a ZFS pool and of what is measured in it, and what they come to where the scenario leaves them out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.units import Extent, Size
from raidtui.stack.zfs import misplaced
from raidtui.stack.zfs.tuning import ZfsTuning

NAME_PATTERN: Final = r"^[a-z][a-z0-9_]{0,62}(@[a-z0-9_.:-]{1,60})?(?!\n)$"
"""Of a property: ZFS's own ones and `feature@…`; never a user's, which have a colon before any `@`."""
VALUE_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.,:@%+-]{0,126}(?!\n)$"
"""Of a property: no blanks, no paths, nothing that could be taken for an option."""

KINDS: Final = ("stripe", "mirror", "raidz1", "raidz2", "raidz3", "draid1", "draid2", "draid3")
DEFAULT_ASHIFT: Final = 12
DEFAULT_FAILMODE: Final = "continue"
DEFAULT_BLOCK_BYTES: Final = 16 << 10
"""As ZFS since 2.2."""
DEFAULT_RECORD_BYTES: Final = 128 << 10
DRAID_DATA: Final = 8
"""Data disks of one redundancy group where nothing is said, or as many as there are."""

_NAME: Final = "A property is called as ZFS calls it, in lower-case letters; users' properties are not set."
_VALUE: Final = "A value is a word or a number as ZFS writes it, without blanks and paths."
PropertyName = Annotated[str, Meta(pattern=NAME_PATTERN, description=_NAME, examples=["compression", "feature@draid"])]
PropertyText = Annotated[str, Meta(pattern=VALUE_PATTERN, description=_VALUE, examples=["lz4", "16K"])]
Properties = dict[PropertyName, PropertyText | Annotated[int, Meta(ge=0, le=1 << 62)]]


class Vdev(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One part of a pool: exactly one kind with its disks. With `per`, as many vdevs of that kind as its disks make."""

    stripe: Operand | None = None
    """Disks without redundancy, each one a vdev of its own."""
    mirror: Operand | None = None
    """Every disk holds the same."""
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
    """Disks of each vdev: several mirrors or raidz groups from one role. All of them in one where not given."""
    data: Annotated[int, Meta(ge=1, le=252)] | None = None
    """draid: data disks of one redundancy group; 8, or as many as there are, where not given."""
    spares: Annotated[int, Meta(ge=0, le=100)] | None = None
    """draid: how many disks' worth of spare space is spread over all of them; none where not given."""

    @staticmethod
    def elsewhere(key: str) -> str:
        return misplaced.of_pool(key)

    def given(self) -> list[str]:
        """The kinds that are given; exactly one, when it is right."""
        return [kind for kind in KINDS if getattr(self, kind) is not None]


class Volume(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A block device in the pool (zvol): what is measured."""

    size: Extent
    """Its size, or its share of what fits into the pool in blocks of its `volblocksize`, parity and padding counted."""
    sparse: bool = False
    """Reserve nothing for it."""
    properties: Properties = {}
    """Its ZFS properties by their own names, with their own values. `volblocksize` is 16K where not given."""

    @staticmethod
    def elsewhere(key: str) -> str:
        return misplaced.of_child(key)


class Dataset(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A filesystem of the pool, mounted for the run alone: a directory whose files are measured."""

    size: Extent = msgspec.field(default_factory=lambda: Extent("80%"))
    """What files may fill, or its share of what fits into the pool in records of its `recordsize`. Nothing is reserved."""
    properties: Properties = {}
    """Its ZFS properties by their own names, with their own values. `recordsize` is 128K where not given."""

    @staticmethod
    def elsewhere(key: str) -> str:
        return misplaced.of_child(key)


class ZpoolSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Options of a ZFS pool (zpool-create(8), zpoolconcepts(7)) with one volume or one filesystem in it."""

    vdevs: Annotated[tuple[Vdev, ...], Meta(min_length=1, max_length=64)]
    """What the pool stripes over."""
    volume: Volume | None = None
    """A block device: what is measured, or what another layer stands on."""
    dataset: Dataset | None = None
    """A filesystem with files, measured instead of a volume."""
    log: Operand | None = None
    """Separate log devices: synchronous writes go there first."""
    cache: Operand | None = None
    """Second-level read cache (L2ARC)."""
    special: Operand | None = None
    """Devices for metadata, and for small blocks where `special_small_blocks` says so."""
    dedup: Operand | None = None
    """Devices for deduplication tables."""
    spares: Operand | None = None
    """Hot spares."""
    mirrored: tuple[Literal["log", "special", "dedup"], ...] | None = None
    """Which of these are mirrors, one of all their devices where `mirrored_per` says nothing; otherwise each device stands
    alone."""
    mirrored_per: dict[Literal["log", "special", "dedup"], Annotated[int, Meta(ge=2, le=255)]] | None = None
    """Devices of each mirror, for those that are mirrored: several mirrors side by side. All of them in one where not
    given."""
    properties: Properties = {}
    """The pool's properties by their own names, with their own values. `ashift` is 12 where not given."""
    inherited: Properties = {}
    """Properties of the pool's root filesystem, which what is measured inherits."""
    arc_max: Size | None = None
    """Most memory for the ARC while the pool stands, put back afterwards. As the server has it where not given."""
    tuning: ZfsTuning | None = None
    """Kernel settings while the pool stands."""

    @staticmethod
    def elsewhere(key: str) -> str:
        return misplaced.of_pool(key)


class Group(msgspec.Struct, frozen=True):
    """One top-level vdev, or one device that stands alone: what `zpool create` is told of it."""

    role: str
    """`member`, `log`, `cache`, `special`, `dedup` or `spare`."""
    kind: str
    """`stripe`, `mirror`, `raidz2`, `draid1`, …"""
    devices: tuple[int, ...]
    """By their place among all devices of the pool."""
    data: int = 0
    """draid: data disks of a redundancy group."""
    spares: int = 0
    """draid: distributed spares."""

    @property
    def parity(self) -> int:
        return int(self.kind[5:]) if self.kind.startswith(("raidz", "draid")) else 0

    @property
    def may_fail(self) -> int:
        """How many of its devices may fail, whichever they are."""
        return len(self.devices) - 1 if self.kind == "mirror" else self.parity

    @property
    def word(self) -> str:
        """How `zpool create` names it; empty for a device that stands alone."""
        if self.kind.startswith("draid"):
            return f"{self.kind}:{self.data}d:{len(self.devices)}c:{self.spares}s"
        return "" if self.kind == "stripe" else self.kind


EXTRA: Final = (("special", "special"), ("dedup", "dedup"), ("log", "log"), ("cache", "cache"), ("spares", "spare"))
"""Inputs beside the vdevs, and the role of what goes into them, in the order of `zpool create`."""


def vdev_input(index: int, vdev: Vdev) -> str:
    """The input name of a vdev's disks: its very place in the file."""
    return f"vdevs[{index}].{(vdev.given() or ['stripe'])[0]}"


def operands(spec: ZpoolSpec) -> dict[str, Operand]:
    """Where devices go in, by input name, in the order of the devices."""
    found: dict[str, Operand | None] = {}
    for index, vdev in enumerate(spec.vdevs):
        for kind in vdev.given():
            found[f"vdevs[{index}].{kind}"] = getattr(vdev, kind)
    found |= {name: getattr(spec, name) for name, _ in EXTRA}
    return {name: operand for name, operand in found.items() if operand is not None}


def groups(spec: ZpoolSpec, counts: dict[str, int]) -> list[Group]:
    """Every top-level vdev and device that stands alone, given how many devices go into each input (`operands`)."""
    found: list[Group] = []
    at = 0
    for index, vdev in enumerate(spec.vdevs):
        name = vdev_input(index, vdev)
        count = counts.get(name, 0)
        found += _split(vdev, name.partition(".")[2], range(at, at + count))
        at += count
    for name, role in EXTRA:
        devices = tuple(range(at, at + counts.get(name, 0)))
        at += len(devices)
        if name in (spec.mirrored or ()) and devices:
            each = mirror_width(spec, name, len(devices))
            found += [Group(role, "mirror", devices[first : first + each]) for first in range(0, len(devices), each)]
        else:
            found += [Group(role, "stripe", (device,)) for device in devices]
    return found


def mirror_width(spec: ZpoolSpec, name: str, count: int) -> int:
    """Devices of each mirror of `special`, `log` or `dedup`, where it has so many."""
    return {str(given): per for given, per in (spec.mirrored_per or {}).items()}.get(name, count)


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


def ashift(spec: ZpoolSpec) -> int:
    """Power of two of the smallest write; 12 where neither given nor readable."""
    value = spec.properties.get("ashift", DEFAULT_ASHIFT)
    return int(value) if str(value).isdecimal() else DEFAULT_ASHIFT


def number(value: str | int) -> int | None:
    """What ZFS reads as a number of bytes: `16K`, `16KB` and `16KiB` are 16384; None for what is not a number.

    Source: str2shift and zfs_nicestrtonum in lib/libzfs/libzfs_util.c.
    """
    match = re.fullmatch(r"([0-9]+)(?:([KMGTP])(?:I?B)?|B)?", str(value).upper())
    return int(match[1]) << (10 * " KMGTP".index(match[2] or " ")) if match else None


def measured_properties(spec: ZpoolSpec) -> Properties:
    """Those given for the volume or the dataset, whichever it is."""
    child = spec.volume or spec.dataset
    return child.properties if child is not None else {}


def in_force(spec: ZpoolSpec, name: str, default: str) -> str:
    """The value that a property has for what is measured: its own, else inherited, else ZFS's `default`."""
    return str({**spec.inherited, **measured_properties(spec)}.get(name, default))


def block_bytes(spec: ZpoolSpec) -> int:
    """The volume's `volblocksize`, or the dataset's `recordsize`."""
    given = block_property(spec)
    default = DEFAULT_BLOCK_BYTES if spec.dataset is None else DEFAULT_RECORD_BYTES
    return default if given is None else number(given) or default


def block_property(spec: ZpoolSpec) -> str | int | None:
    """As it is written; None where it is not given."""
    if spec.dataset is None:
        return measured_properties(spec).get("volblocksize")
    return {**spec.inherited, **spec.dataset.properties}.get("recordsize")


def copies(spec: ZpoolSpec) -> int:
    """How often every block is kept, beside all redundancy of the vdevs."""
    return number(in_force(spec, "copies", "1")) or 1


def pool_properties(spec: ZpoolSpec) -> dict[str, str]:
    """Every `-o` of `zpool create`, ours first."""
    # With `wait`, every program that uses the volume would hang for good once too many disks are gone.
    own = {"cachefile": "none", "ashift": str(DEFAULT_ASHIFT), "failmode": DEFAULT_FAILMODE}
    return own | {name: str(value) for name, value in spec.properties.items()}


def root_properties(spec: ZpoolSpec) -> dict[str, str]:
    """Every `-O` of `zpool create`: the pool's root is never mounted."""
    return {"mountpoint": "none", "canmount": "off"} | {name: str(value) for name, value in spec.inherited.items()}


def own_properties(spec: ZpoolSpec) -> dict[str, str]:
    """Every `-o` of `zfs create`. ZFS itself never mounts a filesystem that is `legacy`; only `mount` does."""
    given = {name: str(value) for name, value in measured_properties(spec).items()}
    first = {"volblocksize": str(block_bytes(spec))} if spec.dataset is None else {"mountpoint": "legacy"}
    return first | given


VOLUME: Final = "vol"
FILESYSTEM: Final = "fs"
"""Names of the measured volume or filesystem in the pool."""


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


class ZfsPool(msgspec.Struct, frozen=True):
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

    @property
    def has_volume(self) -> bool:
        """True if a volume is measured; otherwise a filesystem is."""
        return self.child == VOLUME

    @property
    def dataset(self) -> str:
        """Full name of the measured volume or filesystem."""
        return f"{self.name}/{self.child}"


class ArcLimit(msgspec.Struct, frozen=True):
    """Arguments of the steps that limit the ARC and restore its limit."""

    arc_max: int
    """Limit in bytes."""
    uuid: str
