"""Filesystem options that are refused when a scenario is read: those that Linux or mkfs does not accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from raidtui.model.problem import Problem, Refusal
from raidtui.stack.fs.spec import FIELDS_OF, KIB, LEAST_DEVICES, MIB, FilesystemSpec

OPTION: Final = Refusal(
    "fs-option",
    "Not an option of this filesystem",
    "Each type has options of its own; what another one has would be ignored, and the result would carry a word that "
    "means nothing.",
    "Remove the option, or choose the type that has it.",
)
DEVICES: Final = Refusal(
    "fs-devices",
    "Devices that the filesystem does not take",
    "xfs, ext4 and f2fs are made on one device; btrfs on several, as many as its profiles need.",
    "Put an md array, a volume or a pool under it, or give btrfs enough disks.",
)
PROFILE: Final = Refusal(
    "fs-profile",
    "Data outlives its metadata",
    "When a device fails, metadata without a copy is lost, and with it everything that the copies of data kept.",
    "Use a metadata profile that survives as much as the one of data.",
)
BLOCK: Final = Refusal(
    "fs-block",
    "Not a block size of this filesystem",
    "Blocks are powers of two, at most a page of the processor: larger ones cannot be mounted everywhere, and those of "
    "xfs only from Linux 6.12 on. They are not smaller than the logical sectors of the device.",
    'Write "4KiB", or leave it out.',
)
LOG: Final = Refusal(
    "fs-log",
    "The log or journal does not fit",
    "xfs has logs of 64 MiB to 2047 MiB, each within one allocation group; ext4 journals of 4 MiB and more, at most "
    "about half of the device, unless it has none.",
    "Leave log_size out.",
)
GROUPS: Final = Refusal(
    "fs-groups",
    "Not a number of allocation groups",
    "A group of xfs is at most 1 TiB, and one of them has to hold the log, of 64 MiB at least.",
    "Leave allocation_groups out.",
)
STRIPE: Final = Refusal(
    "fs-stripe",
    "Stripes that contradict each other",
    "stripe_unit is a multiple of the block size, stripe_width a multiple of stripe_unit, and neither goes with "
    "geometry none.",
    "Leave both out: then they follow from the device below.",
)
COMPRESS: Final = Refusal(
    "fs-compress",
    "Compression that would have no effect",
    "Levels and force belong to compress; lzo has no levels; what is overwritten in place is never compressed.",
    "Give compress, or remove the option.",
)
TOO_SMALL: Final = Refusal(
    "fs-too-small",
    "The device is too small",
    "Log, tables and reserves of the filesystem leave no room for files.",
    "Bind larger disks.",
)
TOO_LARGE: Final = Refusal(
    "fs-too-large",
    "The device is too large",
    "The filesystem's own tables cannot address so much.",
    "Give it a smaller volume, or choose another filesystem.",
)
DEVICE: Final = Refusal(
    "fs-device", "The device is gone", "The device of the filesystem cannot be examined.", "Look at dmesg."
)
NOT_BLANK: Final = Refusal(
    "fs-not-blank",
    "The device is not empty",
    "A filesystem is only created on a device without signatures; nothing is overwritten by force.",
    "The message names the device and the signature.",
)

LARGEST_BLOCK: Final = {"xfs": 64 * KIB, "ext4": 4 * KIB}
"""mkfs.xfs(8); of ext4 a page, larger ones cannot be mounted everywhere. Which of xfs this kernel mounts: `pages`."""
_COMMON: Final = frozenset({"type", "on", "atime", "discard", "tuning"})
_DEFAULTS: Final = {field.name: field.default for field in msgspec.structs.fields(FilesystemSpec)}
_KEPT: Final = ("raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6")
_LEAST_BLOCK: Final = {"xfs": 512, "ext4": KIB}

Found = Iterator[tuple[Refusal, str, str, str]]
"""Refusal, option, message and remedy."""


def check(spec: FilesystemSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
    """Return the problems of this filesystem, given the number of its devices."""
    found = [*_foreign(spec), *_devices(spec, counts.get("on", 0)), *_sizes(spec), *_stripes(spec), *_choices(spec)]
    return [refusal.problem(text, place=f"{place}.{option}", remedy=remedy) for refusal, option, text, remedy in found]


def _foreign(spec: FilesystemSpec) -> Found:
    for name, default in _DEFAULTS.items():
        if name not in _COMMON | FIELDS_OF[spec.type] and getattr(spec, name) != default:
            owners = " and ".join(kind for kind, fields in FIELDS_OF.items() if name in fields)
            yield OPTION, name, f"{spec.type} has no {name}; {owners} has", "Remove it."


def _devices(spec: FilesystemSpec, count: int) -> Found:
    if spec.type != "btrfs":
        if count != 1:
            text = f"{spec.type} is made on one device, not on {count}"
            yield DEVICES, "on", text, "Put an md array, a volume or a pool under it, or use btrfs."
        return
    for what in ("data", "metadata"):
        kind = spec.profile(what, count)
        if count < LEAST_DEVICES[kind]:
            text = f"{kind} needs at least {LEAST_DEVICES[kind]} devices, and there are {count}"
            yield DEVICES, what if getattr(spec, what) else "on", text, "Give its role more disks, or choose another."
    if count > 1 and spec.data in _KEPT and spec.metadata in ("single", "raid0"):
        text = f"{spec.data} keeps data when a device fails, {spec.metadata} loses all metadata"
        yield PROFILE, "metadata", text, "Use a metadata profile that survives as much as data does."


def _sizes(spec: FilesystemSpec) -> Found:
    if spec.block_size is not None and spec.type in _LEAST_BLOCK:
        size, least, most = spec.block_size.bytes, _LEAST_BLOCK[spec.type], LARGEST_BLOCK[spec.type]
        if size & (size - 1) or not least <= size <= most:
            text = f"a block of {spec.block_size.text} is not a power of two from {least} to {most} bytes"
            why = ": more is larger than a page, and not mounted everywhere" if spec.type == "ext4" and size > most else ""
            yield BLOCK, "block_size", text + why, "Such as 4KiB."
        if spec.type == "xfs" and size < KIB:
            yield BLOCK, "block_size", "xfs with checksums needs blocks of at least 1KiB", "Such as 4KiB."
    if spec.node_size is not None:
        size = spec.node_size.bytes
        if size & (size - 1) or not 4 * KIB <= size <= 64 * KIB:
            text = f"{spec.node_size.text} is not a power of two from 4KiB to 64KiB"
            yield BLOCK, "node_size", text, "Such as 16KiB."
    if spec.log_size is not None:
        least, most = (64 * MIB, 2047 * MIB) if spec.type == "xfs" else (4 * MIB, 32 << 30)
        if spec.type in ("xfs", "ext4") and not least <= spec.log_size.bytes <= most:
            text = f"{spec.log_size.text} is not within {least // MIB}MiB to {most // MIB}MiB"
            yield LOG, "log_size", text, "Leave it out, or use 256MiB."
        elif spec.log_size.bytes % MIB:
            yield LOG, "log_size", f"{spec.log_size.text} is not whole MiB", "Such as 256MiB."


def _stripes(spec: FilesystemSpec) -> Found:
    unit, width = spec.stripe_unit, spec.stripe_width
    if spec.geometry == "none":
        for name, value in (("stripe_unit", unit), ("stripe_width", width)):
            if value is not None:
                yield STRIPE, name, "geometry is none", "Remove one of them."
        return
    if unit is not None and (unit.bytes == 0 or unit.bytes % spec.block_bytes):
        yield STRIPE, "stripe_unit", f"{unit.text} is not a multiple of the block size", "Such as 64KiB."
    if width is not None and unit is None:
        yield STRIPE, "stripe_width", "stripe_unit is missing", "Give both, or neither."
    elif width is not None and unit is not None and unit.bytes and (width.bytes == 0 or width.bytes % unit.bytes):
        yield STRIPE, "stripe_width", f"{width.text} is not a multiple of stripe_unit", "Data disks × stripe_unit."


def _choices(spec: FilesystemSpec) -> Found:
    if spec.discard == "async" and spec.type != "btrfs":
        yield OPTION, "discard", f"{spec.type} does not gather discards", "Use online or none."
    if spec.type == "ext4" and spec.journal is False:
        for name in ("journal_mode", "log_size"):
            if getattr(spec, name) is not None:
                yield LOG, name, "there is no journal", "Remove one of them."
    if spec.type != "btrfs":
        return
    if spec.compress is None:
        for name in ("compress_level", "compress_force"):
            if getattr(spec, name) is not None:
                yield COMPRESS, name, "compress is not given", "Such as zstd."
    elif spec.copy_on_write is False:
        yield COMPRESS, "copy_on_write", "what is overwritten in place is not compressed", "Remove one of them."
    most = {"lzo": 0, "zlib": 9}.get(spec.compress or "", 15)
    if (spec.compress_level or 0) > most:
        yield COMPRESS, "compress_level", f"{spec.compress} has {most or 'no'} levels", "Remove it."
