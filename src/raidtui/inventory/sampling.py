"""Search for data on a disk: read it at many places."""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, takewhile
from typing import NamedTuple

from raidtui.inventory.signatures import Signature
from raidtui.model.disk import Look

MIB = 1 << 20
EDGE_BYTES = 4 * MIB
SAMPLES = 128
SAMPLE_BYTES = 64 << 10
"""Length of one sample. Many small ones find more data than a few large ones."""
WIDE_BYTES = 16 << 10
"""Length of a read beyond the first `SAMPLES` places, of which there are up to `_MOST_PLACES`."""
_FINEST_BYTES = 16 * MIB
_MOST_PLACES = 1 << 16
_READ_WHOLE_BYTES = 72 * MIB
_READ_ALLOCATED_BYTES = 1 << 30
"""Allocated blocks are read from end to end up to this total, and sampled beyond it."""
_ALIGN = 4096
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes, _memcmp.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_int
_FILLS = {b"\0": "zeroes", b"\xff": "ones"}

Extent = tuple[int, int]
"""Offset and length in bytes."""


class Content(NamedTuple):
    """Signatures and data found on a disk, and how much of it was read."""

    signatures: tuple[Signature, ...] = ()
    fill: str = ""
    """`zeroes` or `ones` where every place read holds nothing else, `data` where one does, empty where none was read."""
    data_at: int | None = None
    """Start of the first sample that holds data, in bytes."""
    regions: int = 0
    """Number of samples of up to 4 MiB that were read."""
    look: Look | None = None
    """Extent of the search on a blank disk; None if data was found, or if only given positions were read."""

    @property
    def blank(self) -> bool:
        return not self.signatures and self.fill in ("zeroes", "ones")

    def has_table(self, disk: str) -> bool:
        """Return True if a partition table was found on the disk itself."""
        return any(signature.usage == "partitions" and signature.where == disk for signature in self.signatures)


class _Reader:
    """Reads places of one open device through an aligned buffer, until one holds data: bytes that differ from the first."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._buffer = mmap.mmap(-1, MIB)  # aligned, as O_DIRECT demands
        self._view = memoryview(self._buffer)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._buffer))
        self._first = b""
        self.read: list[Extent] = []

    @property
    def fill(self) -> str:
        return _FILLS.get(self._first, "")

    def data_in(self, offset: int, length: int) -> int | None:
        """Return the offset of the first MiB of a place that holds data; None if the place is blank. Raises OSError."""
        for at in range(offset, offset + length, MIB):
            size = min(MIB, offset + length - at)
            if os.preadv(self._fd, [self._view[:size]], at) != size:
                raise OSError(f"a read at byte {at} ended early")
            self._first = self._first or self._buffer[:1]
            # Every byte like its neighbour, and the first like the first of all: compared in place, without Python's lock.
            uniform = self._buffer[:1] == self._first and _memcmp(self._address, self._address + 1, size - 1) == 0
            if self._first not in _FILLS or not uniform:
                return at
        self.read.append((offset, length))
        return None

    def first_data(self, places: Iterable[Extent]) -> int | None:
        """Read places in turn up to the first data; return its offset, None if all places are blank. Raises OSError."""
        return next((at for place in places if (at := self.data_in(*place)) is not None), None)

    def content(self, data_at: int | None, look: Look | None = None) -> Content:
        if data_at is not None:
            return Content(fill="data", data_at=data_at, regions=len(self.read) + 1)
        return Content(fill=self.fill, regions=len(self.read), look=look)


def regions(size_bytes: int, samples: int = SAMPLES, rng: random.Random | None = None) -> Iterator[Extent]:
    """Yield head, tail, middle, and a random place in each of `samples` equal parts: (offset, length), in 4 KiB steps."""
    chance = rng or random.SystemRandom()
    end = size_bytes - size_bytes % _ALIGN
    if size_bytes <= _READ_WHOLE_BYTES:
        yield 0, size_bytes
        return
    yield 0, EDGE_BYTES
    yield end - EDGE_BYTES, size_bytes - (end - EDGE_BYTES)
    yield size_bytes // 2 // MIB * MIB, MIB
    part = size_bytes // samples
    for index in range(samples):
        yield (index * part + chance.randrange(max(1, part - SAMPLE_BYTES))) // _ALIGN * _ALIGN, SAMPLE_BYTES


def sample(fd: int, places: Iterable[Extent]) -> Content:
    """Read these places of an open device, up to the first that holds data."""
    reader = _Reader(fd)
    return reader.content(reader.first_data(places))


def look(
    fd: int, size_bytes: int, *, seconds: float = 0.0, allocated: Sequence[Extent] | None = None, first: int | None = None
) -> Content:
    """Search a whole disk for data, up to the first: at `regions`, then at more and more places for about `seconds`.

    `allocated`: the extents in which the disk keeps data, if it reports them; the further places are in these alone.
    `first` is a place to read before all others.
    """
    reader = _Reader(fd)
    until = time.monotonic() + seconds
    known: list[Extent] = []
    if first is not None and 0 <= first < size_bytes:
        at = first // _ALIGN * _ALIGN
        known = [(at, min(MIB, size_bytes - at))]
    space = [(0, size_bytes)] if allocated is None else list(allocated)
    further: Iterable[Extent] = ()
    if seconds > 0 and size_bytes > _READ_WHOLE_BYTES:
        further = takewhile(lambda _: time.monotonic() < until, _further(space, reader.read))
    if (data_at := reader.first_data(chain(known, regions(size_bytes), further))) is not None:
        return reader.content(data_at)
    found = Look(
        places=len(reader.read),
        read_bytes=sum(length for _, length in merged(reader.read)),
        gap_bytes=largest_gap(space, reader.read),
        allocated_bytes=None if allocated is None else sum(length for _, length in allocated),
    )
    return reader.content(None, found)


def _further(space: Sequence[Extent], read: Sequence[Extent]) -> Iterator[Extent]:
    """Yield places of `space` that are not in `read`: each round divides it into twice as many parts, and has one place in
    every part without one. A round goes upwards, since rotating disks are fastest so.
    """
    chance = random.SystemRandom()
    starts = [0, *accumulate(length for _, length in space)]
    total = starts[-1]
    if total <= _READ_ALLOCATED_BYTES:
        for offset, length in space:
            for at in range(offset, offset + length, MIB):
                yield at, min(MIB, offset + length - at)
        return
    known = {place for offset, _ in read if (place := _within(space, starts, offset)) is not None}
    parts = SAMPLES // 2
    while parts < SAMPLES or (parts < _MOST_PLACES and total // parts > _FINEST_BYTES):
        parts *= 2
        part = -(-total // parts)
        taken = {place // part for place in known}
        for index in range(parts):
            if index in taken:
                continue
            place = min(index * part + chance.randrange(part), total - 1)
            known.add(place)
            extent = bisect_right(starts, place) - 1
            offset, length = space[min(extent, len(space) - 1)]
            at = (offset + place - starts[extent]) // _ALIGN * _ALIGN
            yield at, max(_ALIGN, min(WIDE_BYTES, (offset + length - at) // _ALIGN * _ALIGN))


def _within(space: Sequence[Extent], starts: Sequence[int], offset: int) -> int | None:
    """Return the position of a disk offset in the extents of `space` put end to end; None if it is in none of them."""
    index = bisect_right(space, (offset, 1 << 63)) - 1
    if index < 0 or offset >= sum(space[index]):
        return None
    return starts[index] + offset - space[index][0]


def merged(extents: Iterable[Extent]) -> list[Extent]:
    """Return the same bytes as sorted extents that neither overlap nor touch."""
    whole: list[Extent] = []
    for offset, length in sorted(extents):
        if whole and offset <= sum(whole[-1]):
            start, before = whole[-1]
            whole[-1] = start, max(before, offset + length - start)
        else:
            whole.append((offset, length))
    return whole


def largest_gap(space: Iterable[Extent], read: Iterable[Extent]) -> int:
    """Return the length of the longest piece of `space` of which nothing was read, in bytes."""
    done = merged(read)
    ends = [sum(extent) for extent in done]
    largest = 0
    for offset, length in merged(space):
        at, end = offset, offset + length
        for index in range(bisect_right(ends, offset), len(done)):
            start = done[index][0]
            if start >= end:
                break
            largest = max(largest, start - at)
            at = ends[index]
        largest = max(largest, end - at)
    return largest
