"""Options of an md array, and what they come to where the scenario leaves them out."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.units import Size
from raidtui.stack.md.tuning import MdTuning

Level = Literal["raid0", "raid1", "raid4", "raid5", "raid6", "raid10"]

DEFAULT_CHUNK_BYTES: Final = 512 << 10
"""As mdadm(8), --chunk."""
PARITY: Final = {"raid4": 1, "raid5": 1, "raid6": 2}
"""Disks' worth of parity by level."""
PARITY_LAYOUTS: Final = {
    "left-asymmetric": 0,
    "right-asymmetric": 1,
    "left-symmetric": 2,
    "right-symmetric": 3,
    "parity-first": 4,
    "parity-last": 5,
}
"""Numbers as sysfs gives them (drivers/md/raid5.h)."""
_COPIES_LAYOUT: Final = re.compile(r"(near|far|offset)([1-9][0-9]?)")
LAYOUT_PATTERN: Final = rf"^({'|'.join(PARITY_LAYOUTS)}|(near|far|offset)[1-9][0-9]?)$"

_SHORT: Final = {
    "la": "left-asymmetric", "ra": "right-asymmetric", "ls": "left-symmetric", "rs": "right-symmetric",
    "left": "left-symmetric", "right": "right-symmetric",
} | {f"{kind[0]}{count}": f"{kind}{count}" for kind in ("near", "far", "offset") for count in range(1, 100)}  # fmt: skip
"""What mdadm(8) takes for layouts as well."""
_LAYOUT: Final = Meta(
    pattern=LAYOUT_PATTERN, examples=["near2", "far2", "left-symmetric"], extra={"aliases": _SHORT},
    description=f"It is near, far or offset and a number of copies for raid10, and {', '.join(PARITY_LAYOUTS)} for others.",
)  # fmt: skip


class MdSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Linux software RAID (md(4), mdadm(8))."""

    level: Level
    """raid0 stripes, raid1 mirrors, raid10 stripes mirrors; raid4 and raid5 keep one parity per stripe, raid6 two."""
    on: Operand
    """The members, in order."""
    journal: Operand | None = None
    """One device that takes the write journal (raid4, raid5, raid6): closes the write hole."""
    spares: Operand | None = None
    """Hot spares."""
    chunk: Size | None = None
    """How much of one member follows in a row, a power of two, or for raid0 any multiple of 4KiB; 512KiB where not given;
    raid1 has none."""
    layout: Annotated[str, _LAYOUT] | None = None
    """raid10: near2 (the default), far2, offset2 or any other number of copies; raid5, raid6: left-symmetric (the default),
    right-symmetric, left-asymmetric, right-asymmetric, parity-first, parity-last."""
    bitmap: Literal["none", "internal"] | None = None
    """Write-intent bitmap. Follows from `consistency` where not given."""
    bitmap_chunk: Annotated[Size, Meta(examples=["64MiB", "128MiB"])] | None = None
    """Bytes of a member that one bit of the bitmap stands for; mdadm chooses where not given (at least 64MiB)."""
    consistency: Literal["resync", "bitmap", "journal", "ppl"] | None = None
    """What happens after a crash; follows from `journal` and `bitmap` where not given, and is `resync` without them."""
    metadata: Literal["1.0", "1.1", "1.2"] = "1.2"
    """1.0: at the end; 1.1: at the start; 1.2: 4 KiB from the start."""
    tuning: MdTuning | None = None
    """Kernel settings while the array stands."""


def consistency(spec: MdSpec) -> str | None:
    """The consistency policy that the array gets; None for raid0, which has none."""
    if spec.level == "raid0":
        return None
    if spec.consistency is not None:
        return spec.consistency
    if spec.journal is not None:
        return "journal"
    return "bitmap" if spec.bitmap == "internal" else "resync"


def bitmap(spec: MdSpec) -> str:
    """`none` or `internal`."""
    if spec.bitmap is not None:
        return spec.bitmap
    return "internal" if consistency(spec) == "bitmap" else "none"


def chunk_bytes(spec: MdSpec) -> int | None:
    """None for raid1."""
    if spec.level == "raid1":
        return None
    return spec.chunk.bytes if spec.chunk is not None else DEFAULT_CHUNK_BYTES


def layout(spec: MdSpec) -> str | None:
    """The layout by name; None for levels that have none."""
    if spec.level == "raid10":
        return spec.layout or "near2"
    return spec.layout or "left-symmetric" if spec.level in ("raid5", "raid6") else None


def copies(name: str) -> tuple[str, int] | None:
    """A raid10 layout by its kind and number of copies: `("far", 2)`; None for other layouts."""
    match = _COPIES_LAYOUT.fullmatch(name)
    return (match.group(1), int(match.group(2))) if match else None


def layout_number(name: str) -> int:
    """How the kernel writes a layout: near copies + 256 × far copies, and 65536 for `offset`; or one of raid5's."""
    kind = copies(name)
    if kind is None:
        return PARITY_LAYOUTS[name]
    near, far, offset = {"near": (kind[1], 1, 0), "far": (1, kind[1], 0), "offset": (1, kind[1], 1)}[kind[0]]
    return near | far << 8 | offset << 16


def layout_option(name: str) -> str:
    """As mdadm writes it: `n2`, `f2`, `o2`, or the name."""
    kind = copies(name)
    return f"{kind[0][0]}{kind[1]}" if kind else name
