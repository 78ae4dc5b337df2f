"""The options of iozone that a scenario may use, and what they must not claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.load.reasons import REASONS
from raidtui.model.problem import Exit, Problem
from raidtui.model.units import Extent, Size, size_text, size_texts

KIB: Final = 1 << 10
SMALLEST_RECORD: Final = 4 * KIB
LARGEST_RECORD: Final = 16 << 20
SMALLEST_RECORDS: Final = 16

Test = Literal["write", "rewrite", "read", "reread", "random-read", "random-write"]


class IozoneSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """iozone(1): one process passes over one file, record by record. The same pattern by fio where it is not installed."""

    test: Test
    """Which of its passes counts. iozone always writes the file first, twice."""
    record: Annotated[Size, Meta(examples=["64KiB", "4KiB"])]
    """Size of every operation."""
    size: Annotated[Extent, Meta(examples=["8GiB", "10%"])]
    """Of the file: `"8GiB"`, or a share of the directory."""
    direct: bool = True
    """O_DIRECT. False measures the page cache as well, and needs `why_buffered`."""
    why_buffered: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """The reason for `direct: false`. Kept with the result."""

    @property
    def reads(self) -> bool:
        return self.test in ("read", "reread", "random-read")


def file_bytes(spec: IozoneSpec, size_bytes: int) -> int:
    """Size of the file in a directory with room for `size_bytes`: whole records, whole KiB."""
    grain = max(spec.record.bytes, KIB)
    return spec.size.of(size_bytes) // grain * grain


def check(spec: IozoneSpec, place: str) -> list[Problem]:
    """Why `spec` cannot be honest anywhere."""
    return _problems(_anywhere(spec), place)


def check_target(spec: IozoneSpec, place: str, size_bytes: int) -> list[Problem]:
    """Why it cannot be in a directory with so much room."""
    return _problems(_in_directory(spec, size_bytes), place)


def _problems(found: Iterator[tuple[str, str, str]], place: str) -> list[Problem]:
    return [Problem(code, text, f"{place}.{option}", REASONS[code][2], int(Exit.USAGE)) for code, option, text in found]


def _anywhere(spec: IozoneSpec) -> Iterator[tuple[str, str, str]]:
    record = spec.record.bytes
    if not SMALLEST_RECORD <= record <= LARGEST_RECORD or record & (record - 1):
        yield "iozone-record", "record", f"a record of {spec.record.text} is not a power of two from 4 KiB to 16 MiB"
    if not spec.direct and spec.why_buffered is None:
        yield "fio-buffered", "direct", "the page cache would be measured, and why_buffered does not say why"
    if spec.direct and spec.why_buffered is not None:
        yield "fio-buffered", "why_buffered", "the page cache is not measured, because direct is true"


def _in_directory(spec: IozoneSpec, size_bytes: int) -> Iterator[tuple[str, str, str]]:
    wanted = file_bytes(spec, size_bytes)
    if wanted > size_bytes:
        asked, room = size_texts(wanted, size_bytes)
        yield "iozone-size", "size", f"a file of {asked} does not fit: there is room for {room}"
    elif wanted < SMALLEST_RECORDS * spec.record.bytes:
        yield "iozone-size", "size", f"a file of {size_text(wanted)} has less than {SMALLEST_RECORDS} records"
