"""Rules of LVM and Linux that are checked when a scenario is read.

Sources: lvcreate(8), lvmraid(7), lvmcache(7), lvmvdo(7), lvmthin(7), tools/lvcreate.c; tried with lvcreate 2.03.31.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from raidtui.model.problem import Problem, Refusal
from raidtui.stack.lvm import extras
from raidtui.stack.lvm.extras import MIRRORS, TOO_FEW
from raidtui.stack.lvm.size import EXTENT_SIZE, REGION_SIZE
from raidtui.stack.lvm.spec import (
    IMAGED,
    KIB,
    MIB,
    MIRRORED,
    PARITY,
    REDUNDANT,
    STRIPED,
    LvmSpec,
    extent_bytes,
    geometry,
    stripe_size_bytes,
)

LEAST_STRIPES: Final = {"striped": 2, "raid0": 2, "raid4": 2, "raid5": 2, "raid6": 3, "raid10": 2}
"""LVM makes a linear volume of a stripe over one device, and refuses the others."""
MOST_IMAGES: Final = 64
"""allocation/raid_max_images, where lvm.conf does not say otherwise."""
MOST_MIRROR_IMAGES: Final = 8
SMALLEST_STRIPE: Final = 4 * KIB
LARGEST_EXTENT: Final = 1 << 30
ODD_EXTENT: Final = 128 * KIB
"""Unit of extents that are no power of two (vgcreate(8); MIN_NON_POWER2_EXTENT_SIZE in lib/metadata). The kernel refuses
stripes that do not divide them (drivers/md/dm-stripe.c).
"""

TOO_MANY: Final = Refusal(
    "lvm-too-many",
    "Too many devices",
    "A volume with redundancy has at most 64 images, an old mirror at most 8.",
    "Lower the count of the role, or ask for fewer stripes or mirrors.",
)
STRIPES: Final = Refusal(
    "lvm-stripes",
    "Wrong number of stripes",
    "linear, raid1 and mirror do not stripe; raid6 needs at least 3 stripes beside its parity, the others 2.",
    "Leave stripes out: the volume then has as many as the devices allow.",
)
STRIPE_SIZE: Final = Refusal(
    "lvm-stripe-size",
    "Wrong stripe size",
    "A stripe size is a power of two from 4KiB up to the size of an extent.",
    'Write something like "64KiB", or leave stripe_size out.',
)


def check(spec: LvmSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
    """Return the problems of this volume, given the number of devices of each input."""
    return [
        *_devices(spec, counts.get("on", 0), place),
        *_stripes(spec, place),
        *_mirrors(spec, place),
        *_sizes(spec, place),
        *extras.check(spec, counts, place),
    ]


def _devices(spec: LvmSpec, count: int, place: str) -> Iterator[Problem]:
    shape = geometry(spec, count)
    least = LEAST_STRIPES.get(spec.type, 1)
    copies = max(2, 1 + (spec.mirrors or 1)) if spec.type in MIRRORED else 1
    needed = max(shape.areas, least * copies + PARITY.get(spec.type, 0))
    if count < needed:
        yield TOO_FEW.problem(
            f"{spec.type}{_as_asked(spec)} needs at least {needed} devices; there are {count}",
            place=f"{place}.on",
            remedy="Give its role more disks, or choose another type.",
        )
    if spec.type in IMAGED:
        most = MOST_MIRROR_IMAGES if spec.type == "mirror" else MOST_IMAGES
        if shape.areas > most:
            yield TOO_MANY.problem(
                f"{spec.type} takes at most {most} devices; this one would take {shape.areas}",
                place=f"{place}.on",
                remedy="Give its role fewer disks, or ask for fewer stripes or mirrors.",
            )


def _as_asked(spec: LvmSpec) -> str:
    asked = [f"{value} {name}" for name in ("stripes", "mirrors") if (value := getattr(spec, name)) is not None]
    return f" with {' and '.join(asked)}" if asked else ""


def _stripes(spec: LvmSpec, place: str) -> Iterator[Problem]:
    if spec.type not in STRIPED:
        for name in ("stripes", "stripe_size"):
            if getattr(spec, name) is not None:
                text = f"{spec.type} does not stripe and has no {name}"
                yield STRIPES.problem(
                    text, place=f"{place}.{name}", remedy=f"Remove {name}, or choose a type that stripes."
                )
        return
    least = LEAST_STRIPES[spec.type]
    if spec.stripes is not None and spec.stripes < least:
        text = f"{spec.type} needs at least {least} stripes, not {spec.stripes}"
        yield STRIPES.problem(
            text, place=f"{place}.stripes", remedy="Use linear or raid1 where there is nothing to stripe over."
        )
    size = stripe_size_bytes(spec) or 0
    at = f"{place}.stripe_size"
    if spec.stripe_size is None:
        return
    if size < SMALLEST_STRIPE or size & (size - 1):
        text = f"a stripe size of {spec.stripe_size.text} is not a power of two from 4KiB on"
        yield STRIPE_SIZE.problem(text, place=at, remedy="Such as 64KiB or 256KiB.")
    elif size > extent_bytes(spec):
        text = f"a stripe size of {spec.stripe_size.text} is larger than an extent"
        yield STRIPE_SIZE.problem(text, place=at, remedy="Choose a smaller one, or a larger extent_size.")


def _mirrors(spec: LvmSpec, place: str) -> Iterator[Problem]:
    if spec.mirrors is not None and spec.type not in MIRRORED:
        text = f"{spec.type} keeps no copies and has no mirrors"
        yield MIRRORS.problem(text, place=f"{place}.mirrors", remedy="Remove mirrors, or choose raid1, raid10 or mirror.")
    if spec.type == "raid10" and spec.mirrors not in (None, 1):
        text = f"LVM's raid10 keeps one copy beside the original, not {spec.mirrors}"
        yield MIRRORS.problem(text, place=f"{place}.mirrors", remedy="Remove mirrors; raid1 takes more, and md raid10 too.")


def _sizes(spec: LvmSpec, place: str) -> Iterator[Problem]:
    extent, stripe = extent_bytes(spec), stripe_size_bytes(spec) or 1
    at, odd = f"{place}.extent_size", extent & (extent - 1) != 0
    if not MIB <= extent <= LARGEST_EXTENT or (odd and extent % ODD_EXTENT):
        text = f"an extent of {extent >> 10} KiB is neither a power of two nor a multiple of 128KiB, from 1MiB to 1GiB"
        yield EXTENT_SIZE.problem(text, place=at, remedy="Such as 4MiB.")
    elif odd and spec.type == "mirror":
        text = "regions of an old mirror do not fill extents that are no power of two"
        yield EXTENT_SIZE.problem(text, place=at, remedy="Use raid1, or such as 4MiB.")
    elif odd and not stripe & (stripe - 1) and extent % stripe:
        text = f"an extent of {extent >> 10} KiB is no whole number of stripes of {stripe >> 10} KiB"
        yield EXTENT_SIZE.problem(text, place=at, remedy="Choose a smaller stripe_size, or another extent_size.")
    if spec.region_size is None:
        return
    region, at = spec.region_size.bytes, f"{place}.region_size"
    if spec.type not in REDUNDANT:
        text = f"{spec.type} has nothing to resync and no regions"
        yield REGION_SIZE.problem(text, place=at, remedy="Remove region_size.")
    elif region < 4 * KIB or region & (region - 1) or region > LARGEST_EXTENT:
        text = f"a region size of {spec.region_size.text} is not a power of two from 4KiB to 1GiB"
        yield REGION_SIZE.problem(text, place=at, remedy="Such as 2MiB.")
    elif region < (stripe_size_bytes(spec) or 0):
        text = f"a region size of {spec.region_size.text} is smaller than a stripe"
        yield REGION_SIZE.problem(text, place=at, remedy="At least the stripe size.")
