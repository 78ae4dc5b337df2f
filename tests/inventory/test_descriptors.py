"""Ways to use a disk that /proc/PID/fd does not show. Real processes where the kernel of the test can make them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.inventory.blocks import Blocks, Node
from raidtui.inventory.openers import Look, OtherNodes, parse_ring, read_other_nodes

RING = """pos:\t0
flags:\t02000002
SqMask:\t0x3
SqThread:\t-1
UserFiles:\t3
    0: nvme8n1
    1: <none>
    2: /dev/sdb (deleted)
UserBufs:\t1
    0: 0x7f1200000000/4096
PollList:
"""


def test_the_files_of_a_ring_are_named_by_their_last_part() -> None:
    assert parse_ring(RING) == ("nvme8n1", "sdb")


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader_of_rings(text: str) -> None:
    parse_ring(text)
    parse_ring(f"\nUserFiles:\t1\n{text}\nUserBufs:\t0")


def test_a_registered_disk_is_told_by_the_kernels_name(tmp_path: Path) -> None:
    folder = tmp_path / "10"
    (folder / "fd").mkdir(parents=True)
    (folder / "fdinfo").mkdir()
    (folder / "fd" / "5").symlink_to("anon_inode:[io_uring]")
    (folder / "fdinfo" / "5").write_text(RING)
    look = Look(OtherNodes(names={"nvme8n1": (7,), "sdb": (8,)}), tmp_path)
    assert look.devices_of("10") == {7: "registered with io_uring as nvme8n1", 8: "registered with io_uring as sdb"}


def character(sys: Path, name: str, number: str) -> Path:
    folder = sys / "class" / name
    folder.mkdir(parents=True)
    (folder / "dev").write_text(f"{number}\n")
    return folder


def test_character_devices_lead_to_their_disks(tmp_path: Path) -> None:
    blocks = Blocks([Node(name, at, name) for at, name in enumerate(("sda", "sdb", "nvme0n1", "nvme0n2", "nvme1n1"), 1)])
    (character(tmp_path, "scsi_generic/sg3", "21:3") / "device/block/sda").mkdir(parents=True)
    (character(tmp_path, "bsg/0:0:1:0", "250:1") / "device/block/sdb").mkdir(parents=True)
    character(tmp_path, "bsg/sas_host0", "250:9")
    character(tmp_path, "nvme-generic/ng0n2", "240:2")
    character(tmp_path, "nvme-generic/ng1c4n1", "240:3")
    controller = character(tmp_path, "nvme/nvme0", "239:0")
    (controller / "nvme0n1").mkdir()
    (controller / "nvme0c0n2").mkdir()
    found = read_other_nodes(blocks, tmp_path)
    assert found.characters == {
        os.makedev(21, 3): (1,), os.makedev(250, 1): (2,), os.makedev(240, 2): (4,), os.makedev(240, 3): (5,),
        os.makedev(239, 0): (3, 4),
    }  # fmt: skip
    assert found.names["sg3"] == found.names["sda"] == (1,)


def test_an_open_character_device_is_told_with_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "10" / "fd"
    folder.mkdir(parents=True)
    (folder / "4").symlink_to("/dev/zero")
    zero = Path("/dev/zero").stat().st_rdev
    assert Look(OtherNodes(characters={zero: (7, 8)}), tmp_path).devices_of("10") == {7: "by /dev/zero", 8: "by /dev/zero"}


def test_a_mapped_device_is_found_by_the_file_behind_the_mapping(tmp_path: Path) -> None:
    node = tmp_path / "node"
    try:
        os.mknod(node, 0o60600, os.makedev(259, 7))
    except PermissionError:
        pytest.skip("only root makes device nodes")
    folder = tmp_path / "10"
    (folder / "map_files").mkdir(parents=True)
    (folder / "map_files" / "400000-40b000").symlink_to(node)
    (folder / "map_files" / "7f00-8f00").symlink_to(__file__)
    (folder / "maps").write_text(
        "00400000-0040b000 r--s 00000000 00:06 278                        /dev/disk (deleted)\n"
        "00007f00-00008f00 r--p 00000000 08:01 12                         /usr/lib/x.so\n"
        "7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0                          [stack]\n"
    )
    assert Look(OtherNodes(), tmp_path).devices_of("10") == {os.makedev(259, 7): "mapped into memory"}
    assert Look(OtherNodes(), tmp_path, frozenset({os.makedev(0, 6)})).devices_of("10") == {}


def test_a_process_that_is_gone_uses_nothing(tmp_path: Path) -> None:
    assert Look(OtherNodes(), tmp_path).devices_of("10") == {}
