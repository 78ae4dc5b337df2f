"""Options of an LVM volume, and the geometry that they come to."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.units import Extent, Size

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


class LvmSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One volume in a volume group of its own (lvm(8), lvmraid(7))."""

    on: Operand
    """The physical volumes that hold the data, in order."""
    type: Type = "linear"
    """linear: one after the other; striped: side by side; mirror: the old kind of mirror; the others are lvmraid(7)."""
    stripes: Annotated[int, Meta(ge=1, le=128)] | None = None
    """Over how many devices data is spread, parity and copies not counted; over all of them where not given."""
    mirrors: Annotated[int, Meta(ge=1, le=63)] | None = None
    """Copies beside the original (mirror, raid1, raid10): for raid10 1, for the others one on each device, if not given."""
    stripe_size: Annotated[Size, Meta(examples=["64KiB", "256KiB"])] | None = None
    """How much of one device follows in a row; 64KiB where not given."""
    size: Extent = msgspec.field(default_factory=lambda: Extent("100%"))
    """Of the volume: a size, or a share of the largest that these devices have room for."""
    allocation: Literal["normal", "contiguous", "cling", "anywhere"] = "normal"
    """Where extents may be taken from: contiguous and cling stay on the device where they began, anywhere may put two
    stripes or copies on one device."""
    extent_size: Annotated[Size, Meta(examples=["4MiB", "32MiB"])] | None = None
    """Size of the volume group's extents; 4MiB where not given."""
    region_size: Annotated[Size, Meta(examples=["2MiB", "8MiB"])] | None = None
    """What one bit of the write-intent bitmap stands for (types with redundancy); 2MiB or more where not given."""


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
