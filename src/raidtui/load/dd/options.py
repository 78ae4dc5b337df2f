"""The options of dd that a scenario may use, and what they must not claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.load.reasons import REASONS
from raidtui.model.problem import Exit, Problem
from raidtui.model.units import Extent, Size, size_text, size_texts

SECTOR_BYTES: Final = 512
MAX_BLOCK_BYTES: Final = 1 << 30

Found = Iterator[tuple[str, str, str]]


class DdSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """dd(1): one block after another, from the beginning, by one process."""

    do: Literal["write", "read"] = "write"
    """`write` zeroes onto the target, or `read` what was written before."""
    bs: Annotated[Size, Meta(examples=["1MiB", "8KiB"])]
    """Block size of every operation."""
    size: Annotated[Extent, Meta(examples=["10GiB", "50%"])]
    """How much is written or read: `"10GiB"`, or a share of the target."""
    flag: Literal["none", "direct", "dsync", "sync"] = "direct"
    """oflag or iflag: past the page cache (`direct`), or every write durable before the next (`dsync`, `sync`)."""
    conv: Literal["none", "fsync", "fdatasync"] = "none"
    """Make everything durable once, at the end, within the time that is measured."""
    why_buffered: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """Why the page cache is measured, where neither flag nor conv rules it out. Kept with the result."""

    @property
    def buffered(self) -> bool:
        """True where the page cache may be all that is measured."""
        return self.flag == "none" and (self.do == "read" or self.conv == "none")


def check(spec: DdSpec, place: str) -> list[Problem]:
    """Why `spec` cannot be honest on any target."""
    return _problems(_anywhere(spec), place)


def check_target(spec: DdSpec, place: str, size_bytes: int) -> list[Problem]:
    """Why it cannot be on a target of this size."""
    return _problems(_on_target(spec, size_bytes), place)


def blocks_of(spec: DdSpec, size_bytes: int) -> int:
    """How many blocks are moved on a target of this size."""
    return spec.size.of(size_bytes) // spec.bs.bytes if spec.bs.bytes else 0


def _problems(found: Found, place: str) -> list[Problem]:
    return [Problem(code, text, f"{place}.{option}", REASONS[code][2], int(Exit.USAGE)) for code, option, text in found]


def _anywhere(spec: DdSpec) -> Found:
    if not SECTOR_BYTES <= spec.bs.bytes <= MAX_BLOCK_BYTES or spec.bs.bytes % SECTOR_BYTES:
        yield "dd-block", "bs", f"a block of {spec.bs.text} is not a multiple of 512 bytes up to 1 GiB"
    if spec.do == "read" and spec.conv != "none":
        yield "dd-durable-read", "conv", f"reading leaves nothing that {spec.conv} could make durable"
    if spec.do == "read" and spec.flag in ("dsync", "sync"):
        yield "dd-durable-read", "flag", f"reading leaves nothing that {spec.flag} could make durable"
    if spec.buffered and spec.why_buffered is None:
        yield "dd-buffered", "flag", "without flag or conv, the page cache is measured"
    if not spec.buffered and spec.why_buffered is not None:
        yield "dd-buffered", "why_buffered", "the page cache is not what is measured"


def _on_target(spec: DdSpec, size_bytes: int) -> Found:
    wanted = spec.size.of(size_bytes)
    if wanted > size_bytes:
        asked, whole = size_texts(wanted, size_bytes)
        yield "dd-size", "size", f"{asked} do not fit: the target has {whole}"
    elif spec.bs.bytes and blocks_of(spec, size_bytes) == 0:
        yield "dd-size", "size", f"not one block of {spec.bs.text} fits into {size_text(wanted)}"
