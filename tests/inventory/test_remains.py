"""What libblkid does not find: labels of former ZFS partitions, and copies of superblocks whose first one is gone."""

from __future__ import annotations

import os
import struct
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.inventory.blocks import Node
from raidtui.inventory.content import content_reasons, find_signatures
from raidtui.inventory.sampling import MIB, Content
from raidtui.inventory.signatures import btrfs_copy, ext_copy, parse_config, xfs_copy

SIZE = 256 * MIB
NODE = Node("sda", 1, "sda", 0, SIZE)
LABEL = 256 << 10
FORMER_END = SIZE - 9 * MIB
"""Of the data partition that zpool makes before its reserved one."""


def pair(name: str, kind: int, value: bytes) -> bytes:
    text = name.encode()
    body = struct.pack(">I", len(text)) + text.ljust((len(text) + 3) // 4 * 4, b"\0") + struct.pack(">II", kind, 1) + value
    return struct.pack(">II", len(body) + 8, len(body) + 16) + body


def config(name: str, guid: int) -> bytes:
    text = name.encode()
    string = struct.pack(">I", len(text)) + text.ljust((len(text) + 3) // 4 * 4, b"\0")
    pairs = (
        pair("version", 8, struct.pack(">Q", 5000)),
        pair("name", 9, string),
        pair("state", 8, struct.pack(">Q", 1)),
        pair("pool_guid", 8, struct.pack(">Q", guid)),
    )
    return bytes([1, 1, 0, 0]) + struct.pack(">II", 0, 1) + b"".join(pairs) + bytes(8)


@pytest.fixture
def image(tmp_path: Path) -> int:
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(SIZE)
    fd = os.open(path, os.O_RDWR)
    yield fd
    os.close(fd)


def look(fd: int) -> list[tuple[str, str, str]]:
    return [(s.type, s.uuid, s.label) for s in find_signatures(fd, SIZE, [NODE])]


@pytest.mark.parametrize(
    "label",
    [
        0,
        MIB,
        MIB + LABEL,
        FORMER_END - 2 * LABEL,
        FORMER_END - LABEL,
        SIZE - 2 * LABEL,
        SIZE - LABEL,
        SIZE - 16 * MIB - 3 * 512,
    ],
)
def test_a_single_label_names_its_pool_wherever_the_vdev_was(image: int, label: int) -> None:
    os.pwrite(image, config("tank", 77), label + (16 << 10))
    assert look(image) == [("zfs_member", "77", "tank")]


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("at", [FORMER_END - LABEL + (128 << 10), SIZE - 5 * MIB, SIZE - (127 << 10), MIB + (200 << 10)])
def test_an_uberblock_alone_is_enough(image: int, at: int, order: str) -> None:
    os.pwrite(image, (0x00BAB10C).to_bytes(8, order), at)  # type: ignore[arg-type]
    assert look(image) == [("zfs_member", "", "")]
    [why] = content_reasons("sda", Content(find_signatures(image, SIZE, [NODE])))
    assert (why.code, why.remedy) == ("zfs-exported", "if nobody needs it: blkdiscard -z /dev/sda")


def test_the_magic_within_a_sector_is_no_uberblock(image: int) -> None:
    os.pwrite(image, (0x00BAB10C).to_bytes(8, "little"), SIZE - 5 * MIB + 8)
    assert look(image) == []


def test_an_image_whose_size_is_no_multiple_of_anything_is_read_to_its_end(tmp_path: Path) -> None:
    size = 20 * MIB + 512
    path = tmp_path / "odd.img"
    path.write_bytes(bytes(size - 512) + (0x00BAB10C).to_bytes(8, "little") + bytes(504))
    fd = os.open(path, os.O_RDONLY)
    try:
        assert [s.type for s in find_signatures(fd, size, [NODE._replace(size_bytes=size)])] == ["zfs_member"]
    finally:
        os.close(fd)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_configuration_or_none(data: bytes) -> None:
    for prefix in (b"", config("p", 1)[:12], config("p", 1)[:60]):
        parse_config(prefix + data)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40), st.integers(0, 2**64 - 1))
def test_a_configuration_is_read_back(name: str, guid: int) -> None:
    assert parse_config(config(name, guid)) == (str(guid), name, "5000")


UUID = uuid.UUID(int=0x1234)


def ext(block_bytes: int, group: int) -> bytes:
    block = bytearray(512)
    struct.pack_into("<I", block, 24, {1024: 0, 2048: 1, 4096: 2}[block_bytes])
    block[56:58] = b"\x53\xef"
    struct.pack_into("<H", block, 90, group)
    block[104:120] = UUID.bytes
    return bytes(block)


@pytest.mark.parametrize(("block_bytes", "group", "offset"), [
    (1024, 1, 8193 << 10), (1024, 3, 24577 << 10), (2048, 1, 32 * MIB), (4096, 1, 128 * MIB),
])  # fmt: skip
def test_a_copy_of_an_ext_superblock_is_found(image: int, block_bytes: int, group: int, offset: int) -> None:
    os.pwrite(image, ext(block_bytes, group), offset)
    assert look(image) == [("ext4", str(UUID), "")]
    assert ext_copy(ext(block_bytes, group), offset + 512, "sda") is None


def test_a_mirror_of_a_btrfs_superblock_is_found(image: int) -> None:
    block = bytearray(512)
    block[64:72], block[32:48] = b"_BHRfS_M", UUID.bytes
    struct.pack_into("<Q", block, 48, 64 * MIB)
    os.pwrite(image, block, 64 * MIB)
    assert look(image) == [("btrfs", str(UUID), "")]
    assert btrfs_copy(bytes(block), 128 * MIB, "sda") is None


def test_the_second_group_of_xfs_is_found(image: int) -> None:
    block = bytearray(512)
    block[:4], block[32:48] = b"XFSB", UUID.bytes
    struct.pack_into(">I", block, 4, 4096)
    struct.pack_into(">I", block, 84, SIZE // 4 // 4096)
    os.pwrite(image, block, SIZE // 4)
    assert look(image) == [("xfs", str(UUID), "")]
    assert xfs_copy(bytes(block), SIZE // 8, "sda") is None
