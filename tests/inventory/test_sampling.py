"""A look finds data wherever it lies as far as it says that it does, and says what it may have missed."""

from __future__ import annotations

import importlib
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.front.phrases import look_line
from raidtui.inventory import content, ioctl
from raidtui.inventory.content import DataSeen
from raidtui.inventory.sampling import MIB, Content, Extent, largest_gap, look, merged
from raidtui.model.disk import Disk, Look

GIB = 1 << 30
TIB = 1 << 40
LONG_S = 600.0
MakeDisk = Callable[..., int]


@pytest.fixture
def sparse(tmp_path: Path) -> Iterator[MakeDisk]:
    """Makes an open file of some size that is blank but for one piece of data."""
    fds: list[int] = []

    def make(size: int, data_at: int = 0, data_bytes: int = 0) -> int:
        fd = os.open(tmp_path / f"disk{len(fds)}", os.O_RDWR | os.O_CREAT)
        fds.append(fd)
        os.truncate(fd, size)
        for at in range(data_at, data_at + data_bytes, MIB):
            os.pwrite(fd, b"\x5a" * min(MIB, data_at + data_bytes - at), at)
        return fd

    yield make
    for fd in fds:
        os.close(fd)


def test_a_piece_of_data_in_the_middle_of_a_large_disk_is_found_every_time(sparse):
    at = random.SystemRandom().randrange(GIB, TIB - GIB)
    fd = sparse(TIB, at, 128 * MIB)
    for _ in range(3):
        found = look(fd, TIB, seconds=LONG_S)
        assert found.fill == "data"
        assert found.look is None
        assert at - MIB < found.data_at < at + 128 * MIB


def test_a_quick_look_says_that_it_may_miss_what_the_long_one_finds(sparse):
    fd = sparse(2 * TIB)
    quick, long = look(fd, 2 * TIB).look, look(fd, 2 * TIB, seconds=LONG_S).look
    assert quick.gap_bytes > 8 * GIB
    assert long.gap_bytes < 128 * MIB
    assert long.places > 100 * quick.places
    assert "may be missed" in look_line(quick)


def test_looks_are_independent_of_each_other(sparse):
    fd = sparse(TIB)
    assert len({look(fd, TIB).look.gap_bytes for _ in range(5)}) == 5


def test_a_small_disk_is_read_whole(sparse):
    fd = sparse(64 * MIB)
    found = look(fd, 64 * MIB, seconds=LONG_S)
    assert found.look == Look(1, 64 * MIB, 0)
    assert look_line(found.look) == "blank: all of it was read"


def test_where_the_disk_says_what_is_allocated_all_of_that_is_read(sparse):
    at = 700 * GIB + 300 * MIB
    fd = sparse(TIB, at, 4096)
    assert look(fd, TIB, seconds=LONG_S, allocated=[(GIB, MIB), (at - 200 * MIB, 256 * MIB)]).fill == "data"
    blank = look(fd, TIB, seconds=LONG_S, allocated=[(GIB, MIB), (at + MIB, 256 * MIB)])
    assert (blank.fill, blank.look.gap_bytes, blank.look.allocated_bytes) == ("zeroes", 0, 257 * MIB)
    assert "all that the disk has allocated was read" in look_line(blank.look)


def test_a_disk_that_has_nothing_allocated_is_looked_at_all_the_same(sparse):
    assert look(sparse(TIB, TIB // 2, MIB), TIB, seconds=LONG_S, allocated=[]).fill == "data"


def test_much_that_is_allocated_is_sampled_there_alone(sparse):
    fd = sparse(TIB)
    extents = [(100 * GIB, 2 * GIB), (500 * GIB, 6 * GIB)]
    found = look(fd, TIB, seconds=LONG_S, allocated=extents)
    assert 0 < found.look.gap_bytes < 128 * MIB
    assert found.look.allocated_bytes == 8 * GIB


def test_where_data_was_found_before_is_read_first(sparse):
    fd = sparse(TIB, 333 * GIB, 4096)
    found = look(fd, TIB, first=333 * GIB)
    assert (found.data_at, found.regions) == (333 * GIB, 1)


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 40)), max_size=8),
    st.lists(st.tuples(st.integers(0, 240), st.integers(1, 20)), max_size=20),
)
def test_the_largest_gap_is_the_longest_run_of_bytes_that_were_not_read(space: list[Extent], read: list[Extent]):
    def bytes_of(extents: list[Extent]) -> set[int]:
        return {byte for offset, length in extents for byte in range(offset, offset + length)}

    wanted, seen = bytes_of(space), bytes_of(read)
    longest = run = 0
    for byte in range(300):
        run = run + 1 if byte in wanted and byte not in seen else 0
        longest = max(longest, run)
    assert largest_gap(space, read) == longest
    assert bytes_of(merged(read)) == seen


DISK = Disk(id="S1", name="sda", size_bytes=TIB, serial="S1", wwid="naa.5", model="m")


@pytest.fixture
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(importlib.import_module("raidtui.inventory.content"), "run_folder", lambda: tmp_path)
    return tmp_path


def test_data_once_found_is_looked_for_again_until_it_is_gone(run_folder):
    DataSeen().update({DISK: Content(fill="data", data_at=5 * GIB)})
    assert DataSeen().get(DISK) == 5 * GIB
    assert DataSeen().get(msgspec.structs.replace(DISK, size_bytes=GIB)) is None
    DataSeen().update({DISK: Content()})  # it could not be read: nothing is known
    assert DataSeen().get(DISK) == 5 * GIB
    DataSeen().update({DISK: Content(fill="zeroes")})
    assert DataSeen().get(DISK) is None


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b'{"a": "b"}', b"\xff\x00"])
def test_a_damaged_memory_is_an_empty_one(run_folder, text):
    (run_folder / content._DATA_SEEN_NAME).write_bytes(text)
    assert DataSeen().get(DISK) is None


def test_a_thin_disk_tells_its_blocks_and_a_thick_one_does_not():
    page = (2047).to_bytes(8, "big") + (512).to_bytes(4, "big") + bytes(2) + bytes([0b1100_0000]) + bytes(17)
    assert ioctl.parse_thin_capacity(page) == (2048, 512)
    for flags in (0, 0b1000_0000, 0b0100_0000):
        assert ioctl.parse_thin_capacity(page[:14] + bytes([flags]) + page[15:]) is None
    assert ioctl.parse_thin_capacity(b"") is None


def test_lba_status_tells_mapped_deallocated_and_anchored_apart():
    def descriptor(lba: int, blocks: int, status: int) -> bytes:
        return lba.to_bytes(8, "big") + blocks.to_bytes(4, "big") + bytes([status, 0, 0, 0])

    body = descriptor(0, 8, 0) + descriptor(8, 100, 1) + descriptor(108, 4, 2)
    page = (4 + len(body)).to_bytes(4, "big") + bytes(4) + body + bytes(64)
    assert ioctl.parse_lba_status(page) == [(0, 8, True), (8, 100, False), (108, 4, True)]
    assert ioctl.parse_lba_status(page[:20]) == []
    assert ioctl.parse_lba_status(b"") == []
