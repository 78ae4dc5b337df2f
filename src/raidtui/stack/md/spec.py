"""Options of an md array with their effective values, its tuning, and the arguments of its steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.problem import Problem, Refusal
from raidtui.model.units import Size
from raidtui.stack.tuning.spec import TUNING_VALUE, Setting, Tuning

Level = Literal["raid0", "raid1", "raid4", "raid5", "raid6", "raid10"]

DEFAULT_CHUNK_BYTES: Final = 512 << 10
"""Default of mdadm(8), --chunk."""
PARITY: Final = {"raid4": 1, "raid5": 1, "raid6": 2}
"""Number of parity disks by level."""
PARITY_LAYOUTS: Final = {
    "left-asymmetric": 0,
    "right-asymmetric": 1,
    "left-symmetric": 2,
    "right-symmetric": 3,
    "parity-first": 4,
    "parity-last": 5,
}
"""Numbers of the layouts in sysfs (drivers/md/raid5.h)."""
_COPIES_LAYOUT: Final = re.compile(r"(near|far|offset)([1-9][0-9]?)")
LAYOUT_PATTERN: Final = rf"^({'|'.join(PARITY_LAYOUTS)}|(near|far|offset)[1-9][0-9]?)$"

_SHORT: Final = {
    "la": "left-asymmetric", "ra": "right-asymmetric", "ls": "left-symmetric", "rs": "right-symmetric",
    "left": "left-symmetric", "right": "right-symmetric",
} | {f"{kind[0]}{count}": f"{kind}{count}" for kind in ("near", "far", "offset") for count in range(1, 100)}  # fmt: skip
"""Short layout names that mdadm(8) accepts as well."""
_LAYOUT: Final = Meta(
    pattern=LAYOUT_PATTERN,
    examples=list(dict.fromkeys(("near2", "far2", "left-symmetric", "offset2", "near3", "far3", *PARITY_LAYOUTS))),
    extra={"aliases": _SHORT},
    description=f"It is near, far or offset and a number of copies for raid10, and {', '.join(PARITY_LAYOUTS)} for others.",
)  # fmt: skip
_SPEED: Final = Meta(examples=["100MB", "1GiB"])

TUNING_MD: Final = Refusal(
    "tuning-md",
    "The level has no such setting",
    "Only raid4, raid5 and raid6 have a stripe cache and threads for it, and raid0 never resyncs.",
    "Remove the setting, or choose another level.",
)


class MdTuning(Tuning, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Kernel settings of the array (Documentation/admin-guide/md.rst); restored after the run."""

    stripe_cache_size: Annotated[int, Meta(ge=17, le=32768)] | None = None
    """raid4, raid5, raid6: number of stripes in the cache, each with one page of memory per member; default 256."""
    group_thread_cnt: Annotated[int, Meta(ge=0, le=8192)] | None = None
    """raid4, raid5, raid6: threads per NUMA node that handle stripes; the kernel's default 0 means one thread in all."""
    sync_speed_min: Annotated[Size, _SPEED] | None = None
    """Bytes per second of a resync of this array even while its disks are busy."""
    sync_speed_max: Annotated[Size, _SPEED] | None = None
    """Largest rate of a resync of this array in bytes per second, the initial sync included."""

    def early_settings(self) -> Iterator[Setting]:
        for name, count in (("stripe_cache_size", self.stripe_cache_size), ("group_thread_cnt", self.group_thread_cnt)):
            if count is not None:
                yield Setting(f"md/{name}", str(count), f"{name} {count}")
        for name, speed in (("sync_speed_max", self.sync_speed_max), ("sync_speed_min", self.sync_speed_min)):
            if speed is not None:
                yield Setting(f"md/{name}", str(speed.bytes >> 10), f"{name} {speed.text}")

    def problems(self, spec: Any, place: str) -> Iterator[Problem]:
        yield from super().problems(spec, place)
        for name, count in (("stripe_cache_size", self.stripe_cache_size), ("group_thread_cnt", self.group_thread_cnt)):
            if count is not None and spec.level not in PARITY:
                text = f"{spec.level} has no stripe cache and no threads for it"
                yield TUNING_MD.problem(text, place=f"{place}.{name}", remedy=f"Remove {name}.")
        for name, speed in (("sync_speed_min", self.sync_speed_min), ("sync_speed_max", self.sync_speed_max)):
            if speed is not None and spec.level == "raid0":
                yield TUNING_MD.problem("raid0 never resyncs", place=f"{place}.{name}", remedy=f"Remove {name}.")
            elif speed is not None and not 1 << 10 <= speed.bytes < 1 << 41:
                text = f"a speed of {speed.text} per second is not between 1KiB and 2TiB"
                yield TUNING_VALUE.problem(text, place=f"{place}.{name}", remedy='Such as "100MB".')
        low, high = self.sync_speed_min, self.sync_speed_max
        if low is not None and high is not None and low.bytes > high.bytes:
            text = "sync_speed_min is larger than sync_speed_max"
            yield TUNING_VALUE.problem(text, place=f"{place}.sync_speed_min", remedy="Lower it.")


class MdSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Linux software RAID (md(4), mdadm(8))."""

    level: Level
    """raid0 stripes, raid1 mirrors, raid10 stripes mirrors; raid4 and raid5 keep one parity per stripe, raid6 two."""
    on: Operand
    """The members, in order."""
    journal: Operand | None = None
    """Write journal on one device (raid4, raid5, raid6); it closes the write hole."""
    spares: Operand | None = None
    """Hot spares."""
    chunk: Size | None = None
    """Contiguous bytes on one member: a power of two, for raid0 any multiple of 4KiB; default 512KiB; raid1 has none."""
    layout: Annotated[str, _LAYOUT] | None = None
    """raid10: near2 (the default), far2, offset2 or any other number of copies; raid5, raid6: left-symmetric (the default),
    right-symmetric, left-asymmetric, right-asymmetric, parity-first, parity-last."""
    bitmap: Literal["none", "internal"] | None = None
    """Write-intent bitmap; the default follows from `consistency`."""
    bitmap_chunk: Annotated[Size, Meta(examples=["64MiB", "128MiB"])] | None = None
    """Bytes of a member for each bit of the bitmap; mdadm's default is at least 64MiB."""
    consistency: Literal["resync", "bitmap", "journal", "ppl"] | None = None
    """Consistency policy after a crash; the default follows from `journal` and `bitmap`: `resync` without them."""
    metadata: Literal["1.0", "1.1", "1.2"] = "1.2"
    """Place of the superblock: 1.0 at the end, 1.1 at the start, 1.2 4 KiB after the start."""
    tuning: MdTuning | None = None
    """Kernel settings of the array and its disks."""


class MdArray(msgspec.Struct, frozen=True):
    """Arguments of all md steps: the whole array."""

    name: str
    uuid: str
    ref: str
    """`md:NAME`"""
    level: str
    members: tuple[str, ...]
    """References of the members, in order."""
    spares: tuple[str, ...]
    journal: str | None
    disks: tuple[str, ...]
    """Ids of all disks below."""
    paths: dict[str, str]
    """Planned device paths of members that are layers; after a crash nothing else knows them."""
    metadata: str
    chunk_bytes: int | None
    layout: str | None
    consistency: str | None
    bitmap: str
    bitmap_chunk_bytes: int | None
    size_bytes: int
    """Estimate from the sizes of the members (`size.array_bytes`)."""
    assume_clean: bool = False

    @property
    def references(self) -> tuple[tuple[str, str], ...]:
        """(reference, role) of every device, members first and in order. Roles: `member`, `spare`, `journal`."""
        journal = ((self.journal, "journal"),) if self.journal is not None else ()
        return (*((ref, "member") for ref in self.members), *((ref, "spare") for ref in self.spares), *journal)


def consistency(spec: MdSpec) -> str | None:
    """Return the effective consistency policy; None for raid0, which has none."""
    if spec.level == "raid0":
        return None
    if spec.consistency is not None:
        return spec.consistency
    if spec.journal is not None:
        return "journal"
    return "bitmap" if spec.bitmap == "internal" else "resync"


def bitmap(spec: MdSpec) -> str:
    """Return the effective bitmap: `none` or `internal`."""
    if spec.bitmap is not None:
        return spec.bitmap
    return "internal" if consistency(spec) == "bitmap" else "none"


def chunk_bytes(spec: MdSpec) -> int | None:
    """Return the effective chunk size; None for raid1."""
    if spec.level == "raid1":
        return None
    return spec.chunk.bytes if spec.chunk is not None else DEFAULT_CHUNK_BYTES


def layout(spec: MdSpec) -> str | None:
    """Return the effective layout by name; None for levels without layouts."""
    if spec.level == "raid10":
        return spec.layout or "near2"
    return spec.layout or "left-symmetric" if spec.level in ("raid5", "raid6") else None


def copies(name: str) -> tuple[str, int] | None:
    """Return kind and number of copies of a raid10 layout: `("far", 2)`; None for other layouts."""
    match = _COPIES_LAYOUT.fullmatch(name)
    return (match.group(1), int(match.group(2))) if match else None


def layout_option(name: str) -> str:
    """Return the layout as mdadm writes it: `n2`, `f2`, `o2`, or the name."""
    kind = copies(name)
    return f"{kind[0][0]}{kind[1]}" if kind else name
