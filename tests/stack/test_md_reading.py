"""What md leaves to be read, on disks and in files, is understood; anything else is not taken for it."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.stack.builder.serve import parse_command
from raidtui.stack.md import kernel, superblock
from raidtui.stack.md.plan import mdadm_uuid
from raidtui.stack.md.spec import PARITY_LAYOUTS

ARRAY = "b96d7fc6-3781-50d8-b00c-90903d9710da"


def version_1(array: str) -> bytes:
    head = superblock.MAGIC.to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(8)
    return (head + uuid.UUID(array).bytes).ljust(4096, b"\0")


def version_090(array: str) -> bytes:
    words = [int.from_bytes(uuid.UUID(array).bytes[i : i + 4], "big").to_bytes(4, "little") for i in range(0, 16, 4)]
    head = superblock.MAGIC.to_bytes(4, "little").ljust(20, b"\0") + words[0]
    return (head.ljust(52, b"\0") + b"".join(words[1:])).ljust(4096, b"\0")


def test_a_superblock_is_known_by_its_magic_and_says_its_uuid() -> None:
    assert superblock.parse("1.2", 4096, version_1(ARRAY)) == ("1.2", 4096, ARRAY)
    assert superblock.parse("0.90", 65536, version_090(ARRAY)) == ("0.90", 65536, ARRAY)
    assert superblock.parse("1.2", 4096, bytes(4096)) is None
    assert superblock.parse("1.2", 4096, version_090(ARRAY)) is None


@given(st.binary(min_size=512, max_size=512), st.sampled_from(["0.90", "1.0", "1.1", "1.2"]))
def test_any_block_is_a_superblock_or_is_not(block: bytes, metadata: str) -> None:
    found = superblock.parse(metadata, 0, block)
    assert found is None or uuid.UUID(found.uuid)


@given(st.integers(1, 1 << 55))
def test_superblocks_are_looked_for_within_the_device(sectors: int) -> None:
    size_bytes = sectors * 512
    places = dict(superblock.places(size_bytes))
    assert {"1.1": 0, "1.2": 4096}.items() <= places.items()
    if sectors >= 256:
        assert size_bytes - 12288 < places["1.0"] <= size_bytes - 8192
        assert size_bytes - 131072 < places["0.90"] <= size_bytes - 65536


@pytest.mark.skipif(sys.byteorder != "little", reason="the sample is from such a machine")
def test_the_map_of_mdadm_names_arrays_by_the_same_uuid(tmp_path: Path) -> None:
    path = tmp_path / "map"
    path.write_text("md127 1.2 c67f6db9:d8508137:90900cb0:da10973d /dev/md/rt1\nmd126 imsm garbage\n\n")
    assert list(kernel.read_map(path)) == [("md127", ARRAY)]
    assert list(kernel.read_map(tmp_path / "absent")) == []
    assert mdadm_uuid(ARRAY) == "b96d7fc6:378150d8:b00c9090:3d9710da"


def layout_number(name: str) -> int:
    """Near copies + 256 × far copies, + 65536 for `offset` (drivers/md/raid10.c)."""
    kind = name.rstrip("0123456789")
    count = int(name.removeprefix(kind))
    return {"near": count | 1 << 8, "far": 1 | count << 8, "offset": 1 | count << 8 | 1 << 16}[kind]


@given(st.sampled_from(["near", "far", "offset"]), st.integers(2, 99))
def test_layouts_of_raid10_are_read_as_they_are_written(kind: str, copies: int) -> None:
    assert kernel.layout_name("raid10", layout_number(f"{kind}{copies}")) == f"{kind}{copies}"


def test_layouts_are_the_kernels_numbers() -> None:
    assert [layout_number(name) for name in ("near2", "far2", "offset2")] == [0x102, 0x201, 0x10201]
    for name, number in PARITY_LAYOUTS.items():
        assert kernel.layout_name("raid5", number) == name
    assert kernel.layout_name("raid1", 0) is None
    assert kernel.layout_name("raid6", 9) == "9"


def test_the_commands_of_blivet_and_libblockdev_are_read_from_their_log() -> None:
    assert parse_command("Running [12] mdadm --stop /dev/md/x ...") == ("mdadm", "--stop", "/dev/md/x")
    assert parse_command("Running... lvm vgremove rtx") == ("lvm", "vgremove", "rtx")
    assert parse_command("stdout[12]: Running [1] mdadm ...") is None
    assert parse_command("...done [12] (exit code: 0)") is None
