"""What is refused of a filesystem's options when the scenario is read: what Linux does not take, and what no one wants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from raidtui.model.problem import Exit, Problem
from raidtui.stack.fs.spec import (
    FIELDS_OF,
    KIB,
    LEAST_DEVICES,
    MIB,
    FilesystemSpec,
    block_bytes,
    profile,
)

LARGEST_BLOCK: Final = {"xfs": 64 * KIB, "ext4": 4 * KIB}
"""mkfs.xfs(8); of ext4 a page, larger ones cannot be mounted everywhere. Which of xfs this kernel mounts: `pages`."""
_COMMON: Final = frozenset({"type", "on", "atime", "discard", "tuning"})
_DEFAULTS: Final = {field.name: field.default for field in msgspec.structs.fields(FilesystemSpec)}
_KEPT: Final = ("raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6")
_LEAST_BLOCK: Final = {"xfs": 512, "ext4": KIB}

Found = Iterator[tuple[str, str, str, str]]
"""Code, option, what is wrong, way out."""


def check(spec: FilesystemSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
    """Every reason, given how many devices it is on."""
    found = [*_foreign(spec), *_devices(spec, counts.get("on", 0)), *_sizes(spec), *_stripes(spec), *_choices(spec)]
    return [Problem(code, message, f"{place}.{option}", remedy, int(Exit.USAGE)) for code, option, message, remedy in found]


def _foreign(spec: FilesystemSpec) -> Found:
    for name, default in _DEFAULTS.items():
        if name in _COMMON or name in FIELDS_OF[spec.type] or getattr(spec, name) == default:
            continue
        owners = " and ".join(kind for kind, fields in FIELDS_OF.items() if name in fields)
        yield "fs-option", name, f"{spec.type} has no {name}; {owners} has", "Remove it."


def _devices(spec: FilesystemSpec, count: int) -> Found:
    if spec.type != "btrfs":
        if count != 1:
            text = f"{spec.type} is made on one device, not on {count}"
            yield "fs-devices", "on", text, "Put an md array, a volume or a pool under it, or use btrfs."
        return
    for what in ("data", "metadata"):
        kind = profile(spec, what, count)
        if count < LEAST_DEVICES[kind]:
            text = f"{kind} needs at least {LEAST_DEVICES[kind]} devices, and there are {count}"
            yield "fs-devices", what if getattr(spec, what) else "on", text, "Give its role more disks, or choose another."
    if count > 1 and spec.data in _KEPT and spec.metadata in ("single", "raid0"):
        yield ("fs-profile", "metadata", f"{spec.data} keeps data when a device fails, {spec.metadata} loses all metadata",
               "Use a metadata profile that survives as much as data does.")  # fmt: skip


def _sizes(spec: FilesystemSpec) -> Found:
    if spec.block_size is not None and spec.type in _LEAST_BLOCK:
        size, least, most = spec.block_size.bytes, _LEAST_BLOCK[spec.type], LARGEST_BLOCK[spec.type]
        if size & (size - 1) or not least <= size <= most:
            text = f"a block of {spec.block_size.text} is not a power of two from {least} to {most} bytes"
            why = ": more is larger than a page, and not mounted everywhere" if spec.type == "ext4" and size > most else ""
            yield "fs-block", "block_size", text + why, "Such as 4KiB."
        if spec.type == "xfs" and size < KIB:
            yield "fs-block", "block_size", "xfs with checksums needs blocks of at least 1KiB", "Such as 4KiB."
    if spec.node_size is not None:
        size = spec.node_size.bytes
        if size & (size - 1) or not 4 * KIB <= size <= 64 * KIB:
            text = f"{spec.node_size.text} is not a power of two from 4KiB to 64KiB"
            yield "fs-block", "node_size", text, "Such as 16KiB."
    if spec.log_size is not None:
        least, most = (64 * MIB, 2047 * MIB) if spec.type == "xfs" else (4 * MIB, 32 << 30)
        if spec.type in ("xfs", "ext4") and not least <= spec.log_size.bytes <= most:
            text = f"{spec.log_size.text} is not within {least // MIB}MiB to {most // MIB}MiB"
            yield "fs-log", "log_size", text, "Leave it out, or use 256MiB."
        elif spec.log_size.bytes % MIB:
            yield "fs-log", "log_size", f"{spec.log_size.text} is not whole MiB", "Such as 256MiB."


def _stripes(spec: FilesystemSpec) -> Found:
    unit, width = spec.stripe_unit, spec.stripe_width
    if spec.geometry == "none":
        for name in ("stripe_unit", "stripe_width"):
            if getattr(spec, name) is not None:
                yield "fs-stripe", name, "geometry is none", "Remove one of them."
        return
    if unit is not None and (unit.bytes == 0 or unit.bytes % block_bytes(spec)):
        yield "fs-stripe", "stripe_unit", f"{unit.text} is not a multiple of the block size", "Such as 64KiB."
    if width is None:
        return
    if unit is None:
        yield "fs-stripe", "stripe_width", "stripe_unit is missing", "Give both, or neither."
    elif unit.bytes and (width.bytes == 0 or width.bytes % unit.bytes):
        yield "fs-stripe", "stripe_width", f"{width.text} is not a multiple of stripe_unit", "Data disks × stripe_unit."


def _choices(spec: FilesystemSpec) -> Found:
    if spec.discard == "async" and spec.type != "btrfs":
        yield "fs-option", "discard", f"{spec.type} does not gather discards", "Use online or none."
    if spec.type == "ext4" and spec.journal is False:
        for name in ("journal_mode", "log_size"):
            if getattr(spec, name) is not None:
                yield "fs-log", name, "there is no journal", "Remove one of them."
    if spec.type != "btrfs":
        return
    if spec.compress is None:
        for name in ("compress_level", "compress_force"):
            if getattr(spec, name) is not None:
                yield "fs-compress", name, "compress is not given", "Such as zstd."
    elif spec.copy_on_write is False:
        yield "fs-compress", "copy_on_write", "what is overwritten in place is not compressed", "Remove one of them."
    if spec.compress_level is not None and spec.compress in ("lzo", "zlib"):
        most = {"lzo": 0, "zlib": 9}[spec.compress]
        if spec.compress_level > most:
            yield "fs-compress", "compress_level", f"{spec.compress} has {most or 'no'} levels", "Remove it."


