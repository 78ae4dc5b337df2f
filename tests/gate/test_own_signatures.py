"""A run's own signatures are told from those of others."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest

from raidtui.gate.last_look import foreign
from raidtui.inventory import Signature
from raidtui.inventory.signatures import signatures
from raidtui.stack.catalog import all_layers

POOL = Signature("zfs_member", "1234", "rtabca")
UBERBLOCKS = Signature("zfs_member", version="uberblock", where="sda", remains=True)


def test_uberblocks_whose_label_is_gone_are_those_of_the_pool_that_the_run_made() -> None:
    assert foreign([UBERBLOCKS], "sda", [POOL]) == []


@pytest.mark.parametrize("ours", [[], [Signature("linux_raid_member", "1234")]])
def test_uberblocks_are_somebody_elses_where_the_run_made_no_pool(ours: list[Signature]) -> None:
    assert foreign([UBERBLOCKS], "sda", ours) == [UBERBLOCKS]


def test_remains_that_name_another_pool_are_somebody_elses() -> None:
    theirs = UBERBLOCKS._replace(uuid="99", label="tank")
    assert foreign([theirs], "sda", [POOL]) == [theirs]


def xfs_log(uuid: bytes, size_bytes: int, folder: Path) -> int:
    """Return an open image that begins with a record of a log of XFS (`struct xlog_rec_header`)."""
    record = bytearray(512)
    struct.pack_into(">IIII", record, 0, 0xFEEDBABE, 1, 2, 512)
    struct.pack_into(">I16sI", record, 300, 1, uuid, 32768)
    path = folder / "disk.img"
    path.write_bytes(record)
    os.truncate(path, size_bytes)
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def test_records_of_the_log_in_a_partial_parity_log_are_those_of_the_filesystem_that_the_run_made(tmp_path: Path) -> None:
    uuid, size = UUID("00010203-0405-0607-0809-0a0b0c0d0e0f"), 64 << 20
    image = xfs_log(uuid.bytes, size, tmp_path)
    try:
        found = signatures(image, 0, size, "sda")
    finally:
        os.close(image)
    assert [(one.type, one.uuid) for one in found] == [("xfs_external_log", str(uuid))]
    made = all_layers()["filesystem"].actions["fs.make"]
    for kind, own, theirs in (("xfs", str(uuid), []), ("xfs", str(UUID(int=1)), found), ("ext4", str(uuid), found)):
        leaves = made.leaves(SimpleNamespace(type=kind, uuid=own))
        assert foreign(found, "sda", [Signature(kind, uuid) for kind, uuid in leaves]) == list(theirs)
