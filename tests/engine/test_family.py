"""What is a member of what, from what the built steps say of themselves."""

from __future__ import annotations

from pathlib import Path

import msgspec

from raidtui.engine.run.target import below_partitions, family_of
from raidtui.model.event import CellStarted


def test_members_and_journal_belong_to_their_array() -> None:
    found = family_of([{"md127": "target", "sda": "member", "sdb": "member", "sdc": "journal"}])
    assert found.devices == {"md127": "target", "sda": "member", "sdb": "member", "sdc": "journal"}
    assert found.parents == {"sda": "md127", "sdb": "md127", "sdc": "md127"}


def test_an_array_below_another_is_its_member() -> None:
    found = family_of(
        [{"md126": "target", "sda": "member"}, {"md125": "target", "sdb": "member"},
         {"md127": "target", "md126": "member", "md125": "member"}]
    )  # fmt: skip
    assert found.devices["md127"] == "target"
    assert found.devices["md126"] == "member"
    assert found.parents == {"sda": "md126", "sdb": "md125", "md126": "md127", "md125": "md127"}


def test_plain_disks_have_no_parents() -> None:
    assert family_of([{"sda": "target"}, {"sda": "target", "sdb": "target"}]).parents == {}


def test_a_disk_is_below_its_partition_unless_it_has_several(tmp_path: Path) -> None:
    for disk, count in (("sda", 1), ("sdb", 2)):
        for number in range(1, count + 1):
            name = f"{disk}{number}"
            (tmp_path / "devices" / disk / name).mkdir(parents=True)
            (tmp_path / "devices" / disk / name / "partition").write_text(f"{number}\n")
            (tmp_path / name).symlink_to(tmp_path / "devices" / disk / name)
        (tmp_path / disk).symlink_to(tmp_path / "devices" / disk)
    devices = ["md127", "sda1", "sda", "sdb1", "sdb2", "sdb"]
    assert below_partitions(devices, tmp_path) == {"sda": "sda1"}
    assert below_partitions(["sda1"], tmp_path) == {}, "the disk is none of them"


def test_journals_of_before_have_no_parents() -> None:
    old = b'{"kind":"cell-started","cell":"a/b/1","number":1,"of":2,"devices":{"md127":"target"}}'
    assert msgspec.json.decode(old, type=CellStarted).parents == {}
