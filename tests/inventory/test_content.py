"""What lies on a disk is found wherever it lies, and blank is blank."""

from __future__ import annotations

import os
import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.base.text import clean
from raidtui.inventory import signatures as disk_signatures
from raidtui.inventory.blocks import Node
from raidtui.inventory.content import Signature, content_reasons, describe, find_signatures, signature_code
from raidtui.inventory.sampling import EDGE_BYTES, MIB, Content, regions, sample

SIZE = 256 * MIB
SWAP = b"SWAPSPACE2"
NODE = Node("nvme0n1", 1, "nvme0n1", 0, SIZE)


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(SIZE)
    fd = os.open(path, os.O_RDWR)
    yield fd
    os.close(fd)


def look(fd: int) -> tuple[Signature, ...]:
    return find_signatures(fd, SIZE, [NODE])


def put_swap(fd: int, at: int = 0) -> None:
    os.pwrite(fd, struct.pack("<III", 1, 1000, 0) + bytes(range(1, 17)), at + 1024)
    os.pwrite(fd, SWAP, at + 4096 - len(SWAP))


def put_md(fd: int, minor_version: int) -> None:
    """An md superblock of format 1.x: 1.0 near the end, 1.1 at the start, 1.2 at 4 KiB."""
    sectors = SIZE // 512
    at = {0: (sectors - 16) & ~7, 1: 0, 2: 8}[minor_version]
    head = struct.pack(
        "<IIII16s32sQIIQIIQ", 0xA92B4EFC, 1, 0, 0, bytes(range(16)), b"stor1:0", 0, 5, 2, sectors - 2048, 128, 4, 0
    )
    tail = struct.pack("<QQQ", 2048, sectors - 2048, at)
    block = bytearray(head.ljust(128, b"\0") + tail).ljust(256 + 2 * 4, b"\0")
    words = struct.unpack(f"<{len(block) // 4}I", block)
    total = sum(words)
    struct.pack_into("<I", block, 216, ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF)
    os.pwrite(fd, bytes(block), at * 512)


def test_nothing_is_found_on_a_blank_disk(image):
    assert look(image) == ()
    content = sample(image, regions(SIZE))
    assert (content.fill, content.blank) == ("zeroes", True)
    assert list(content_reasons("nvme0n1", content)) == []


def test_a_disk_filled_with_ones_is_blank_too(image):
    for offset in range(0, SIZE, MIB):
        os.pwrite(image, b"\xff" * MIB, offset)
    assert sample(image, regions(SIZE)).fill == "ones"


def test_ones_and_zeroes_together_are_data(image):
    os.pwrite(image, b"\xff" * EDGE_BYTES, 0)
    assert sample(image, regions(SIZE)).fill == "data"


@pytest.mark.parametrize("at", [0, 512, EDGE_BYTES - 1, SIZE - 1, SIZE - EDGE_BYTES])
def test_one_byte_at_either_edge_is_unknown_data(image, at):
    os.pwrite(image, b"x", at)
    content = sample(image, regions(SIZE))
    assert content.fill == "data"
    assert content.data_at <= at < content.data_at + MIB
    assert [r.code for r in content_reasons("nvme0n1", content)] == ["unknown-data"]


def test_data_in_the_middle_only_is_found(image):
    os.pwrite(image, os.urandom(8 * MIB), SIZE // 2)
    assert sample(image, regions(SIZE)).fill == "data"


def test_swap_is_found_with_its_uuid(image):
    put_swap(image)
    [found] = look(image)
    assert (found.type, found.where) == ("swap", "nvme0n1")
    assert found.uuid.startswith("01020304")
    assert [r.code for r in content_reasons("nvme0n1", Content((found,)))] == ["swap-signature"]


@pytest.mark.parametrize("minor_version", [0, 1, 2])
def test_a_stale_md_superblock_is_found_wherever_its_format_puts_it(image, minor_version):
    put_md(image, minor_version)
    [found] = look(image)
    assert (found.type, found.version, found.label) == ("linux_raid_member", f"1.{minor_version}", "stor1:0")
    [why] = content_reasons("nvme0n1", Content((found,)))
    assert why.code == "md-superblock"
    assert why.remedy.endswith("mdadm --zero-superblock /dev/nvme0n1")


def test_every_signature_is_found_and_not_the_first_only(image):
    put_swap(image)
    put_md(image, 0)
    assert {found.type for found in look(image)} == {"swap", "linux_raid_member"}


def test_a_signature_inside_a_partition_is_found_there(image):
    put_swap(image, 8 * MIB)
    partition = Node("nvme0n1p1", 2, "nvme0n1", 8 * MIB, 100 * MIB)
    [found] = find_signatures(image, SIZE, [NODE, partition])
    assert (found.type, found.where) == ("swap", "nvme0n1p1")


def test_a_partition_table_is_found(image):
    entry = struct.pack("<BBBBBBBBII", 0, 0, 0, 0, 0x83, 0, 0, 0, 2048, 10000)
    os.pwrite(image, entry, 446)
    os.pwrite(image, b"\x55\xaa", 510)
    [found] = look(image)
    assert (found.type, found.usage, signature_code(found)) == ("dos", "partitions", "partition-table")


def test_an_image_that_cannot_be_read_is_an_error_and_not_blank(tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(OSError):  # noqa: PT011
            disk_signatures.signatures(fd, 0, SIZE, "x")
    finally:
        os.close(fd)


def test_a_read_that_ends_early_is_an_error(image):
    with pytest.raises(OSError, match="ended early"):
        sample(image, [(SIZE - MIB, 2 * MIB)])


def test_content_that_nobody_read_is_unchecked():
    assert [r.code for r in content_reasons("sda", Content())] == ["unchecked"]


@given(st.integers(512, 1 << 45).map(lambda n: n // 512 * 512), st.integers(0, 2**32))
def test_regions_stay_on_the_disk_and_cover_both_edges(size, seed):
    places = list(regions(size, rng=random.Random(seed)))
    assert all(offset >= 0 and length > 0 and offset + length <= size for offset, length in places)
    assert all(offset % 4096 == 0 for offset, _ in places)
    assert places[0][0] == 0
    assert max(offset + length for offset, length in places) == size


@given(st.builds(Signature, *[st.text(max_size=20)] * 6, st.booleans()))
def test_every_signature_has_a_reason_that_is_harmless_to_show(signature):
    assert describe(signature)
    for why in content_reasons("sda", Content((signature,))):
        assert clean(why.message, 10_000) == why.message
        assert clean(why.remedy, 10_000) == why.remedy
