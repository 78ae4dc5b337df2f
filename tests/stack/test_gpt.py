"""Partition tables are written, read and taken off as the kernel and other tools do it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from raidtui.stack import gpt
from raidtui.stack.gpt import MIB, Partition, Table

SIZE = 80 * MIB


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "disk"
    with path.open("w+b", buffering=0) as file:
        file.truncate(SIZE + 4096)
        yield file.fileno()


def table_of(*lengths: int) -> Table:
    found, at = [], MIB
    for length in lengths:
        found.append(Partition(str(uuid.uuid4()), at, length))
        at += length
    return Table(str(uuid.uuid4()), tuple(found))


@pytest.mark.parametrize("sector", [512, 4096])
def test_a_table_is_written_read_and_taken_off(fd: int, sector: int) -> None:
    size, table = SIZE + sector, table_of(40 * MIB, 38 * MIB)
    assert gpt.read_guid(fd, size) is None
    gpt.write_table(fd, size, sector, table)
    assert gpt.read_guid(fd, size) == table.guid
    assert gpt.read_copies(fd, size, sector) == (table, table)
    gpt.erase_table(fd, size, MIB, 79 * MIB)
    assert gpt.read_guid(fd, size) is None
    with open(fd, "rb", closefd=False) as file:
        file.seek(0)
        assert not any(file.read())


@pytest.mark.parametrize("sector", [512, 4096])
def test_either_copy_is_enough_to_know_whose_table_it_is(fd: int, sector: int) -> None:
    size, table = SIZE + sector, table_of(10 * MIB)
    gpt.write_table(fd, size, sector, table)
    pwrite(fd, sector, bytes(sector))
    assert gpt.read_guid(fd, size) == table.guid
    assert gpt.read_copies(fd, size, sector) == (None, table)
    gpt.write_table(fd, size, sector, table)
    pwrite(fd, size - sector, bytes(sector))
    assert gpt.read_copies(fd, size, sector) == (table, None)


def test_damaged_entries_are_no_table(fd: int) -> None:
    table = table_of(10 * MIB)
    gpt.write_table(fd, SIZE, 512, table)
    pwrite(fd, 2 * 512 + 32, b"\xff")
    assert gpt.read_copies(fd, SIZE, 512) == (None, table)


@pytest.mark.parametrize(("size", "room"), [(80 * MIB, 78 * MIB), (80 * MIB + 4096, 78 * MIB), (MIB, 0), (0, 0)])
def test_partitions_have_the_whole_mebibytes_between_both_copies(size: int, room: int) -> None:
    assert gpt.room_bytes(size) == room


def pwrite(fd: int, at: int, data: bytes) -> None:
    with open(fd, "r+b", buffering=0, closefd=False) as file:
        file.seek(at)
        file.write(data)
