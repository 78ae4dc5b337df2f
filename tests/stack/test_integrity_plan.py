"""A plan of an integrity device says what will run, and how large the device will be, to the byte."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import pytest

from raidtui.gate.last_look import foreign
from raidtui.inventory import Signature
from raidtui.inventory.signatures import integrity_label
from raidtui.model.convert import decode
from raidtui.model.plan import Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.action import signatures_left
from raidtui.stack.amplification import Writes
from raidtui.stack.catalog import bind
from raidtui.stack.integrity import LAYER, superblock
from raidtui.stack.integrity.build import mismatches, parse_table
from raidtui.stack.integrity.geometry import data_bytes, journal_sectors
from raidtui.stack.integrity.spec import DmIntegritySpec
from raidtui.stack.layer import Part, Planned
from raidtui.stack.mapping import Table

GIB, MIB = 1 << 30, 1 << 20
DISK = Part("disk:a", "/dev/a", 256 * MIB, 512, ("a",), True)
NAME = Names("abcd1234").new("integrity").name


def spec_of(**options: Any) -> DmIntegritySpec:
    return decode(DmIntegritySpec, {"on": "@data", **options})


def plan(below: Part = DISK, **options: Any) -> Planned:
    return LAYER.plan(spec_of(**options), {"on": (below,)}, Names("abcd1234"), Policy())


@pytest.mark.parametrize(
    ("mode", "option"),
    [("journal", ()), ("bitmap", ("--integrity-bitmap-mode",)), ("direct", ("--integrity-no-journal",))],
)
def test_a_disk_gets_its_tags_by_these_commands(mode: str, option: tuple[str, ...]) -> None:
    create, _ = plan(mode=mode, sector_size="4KiB").build
    assert create.commands == (
        ("integritysetup", "format", "--integrity", "crc32c", "--sector-size", "4096", "/dev/a"),
        ("integritysetup", "open", "--integrity", "crc32c", *option, "/dev/a", NAME),
    )
    assert create.writes_bytes == DISK.size_bytes, "every sector is written once"


def test_it_is_closed_and_erased_by_these_commands() -> None:
    planned = plan()
    expected = (("cryptsetup", "close", NAME), ("wipefs", "--all", "--types", "DM_integrity", "/dev/a"))
    assert planned.teardown[0].commands == planned.build[0].undo == expected


@pytest.mark.parametrize(
    ("tag_bytes", "sector_bytes", "sectors", "journal"),
    [
        (4, 512, 516136, 4048),
        (4, 4096, 519848, 3920),
        (8, 512, 512040, 4048),
        (8, 4096, 519336, 3920),
        (20, 512, 499744, 4056),
        (20, 4096, 517784, 3936),
        (32, 512, 489512, 4048),
        (32, 4096, 516224, 3960),
    ],
)
def test_the_room_for_data_is_the_kernels(tag_bytes: int, sector_bytes: int, sectors: int, journal: int) -> None:
    """Values of Linux 6.12 on a disk of 256 MiB."""
    assert data_bytes(256 * MIB, tag_bytes, sector_bytes) == 512 * sectors
    assert journal_sectors(256 * MIB // 512, tag_bytes, sector_bytes) == journal


def test_a_device_without_room_is_refused() -> None:
    with pytest.raises(ProblemError) as refused:
        plan(DISK._replace(size_bytes=128 << 10))
    assert refused.value.problems[0].code == "integrity-too-small"


def test_sectors_are_not_smaller_than_those_below() -> None:
    with pytest.raises(ProblemError) as refused:
        plan(DISK._replace(logical_sector_bytes=4096), sector_size="512B")
    assert refused.value.problems[0].code == "integrity-sector"


@pytest.mark.parametrize(
    ("options", "count", "code"), [({"sector_size": "8KiB"}, 1, "integrity-sector"), ({}, 2, "integrity-one")]
)
def test_what_linux_refuses_is_refused(options: dict[str, Any], count: int, code: str) -> None:
    problems = LAYER.check(spec_of(**options), {"on": count}, "$.integrity")
    assert [problem.code for problem in problems] == [code]


@pytest.mark.parametrize("syncs", [False, True])
def test_a_journal_may_write_everything_twice_and_a_bitmap_once(syncs: bool) -> None:
    large = Writes(MIB, 8 * MIB, random=False, syncs=syncs)
    journal = LAYER.spread(spec_of(), {"on": 1}, large).inputs["on"]
    bitmap = LAYER.spread(spec_of(mode="bitmap"), {"on": 1}, large).inputs["on"]
    assert (journal.low, bitmap.low) == (1.0, 1.0)
    assert journal.high is not None
    assert bitmap.high is not None
    assert 2.0 < journal.high < 2.4
    assert 1.0 < bitmap.high < 1.1


def test_small_syncs_write_whole_sections_of_the_journal() -> None:
    share = LAYER.spread(spec_of(), {"on": 1}, Writes(4096, 4096, random=True, syncs=True)).inputs["on"]
    assert share.high is not None
    assert share.high > 20


def block(tag_bytes: int, log2_sectors: int) -> bytes:
    return struct.pack("<8sBBHIQIBB", b"integrt\0", 5, 15, tag_bytes, 22, 519848, 0, log2_sectors, 0).ljust(4096, b"\0")


def test_a_superblock_is_the_runs_by_its_geometry() -> None:
    create = plan(sector_size="4KiB", tag="sha256").build[0]
    ours = signatures_left([bind("integrity.create", msgspec.to_builtins(create.args))])
    mine = Signature("DM_integrity", label=integrity_label(block(32, 3)) or "", where="a")
    theirs = [mine._replace(label=integrity_label(other) or "") for other in (block(32, 0), block(4, 3), bytes(4096))]
    assert foreign([mine, *theirs], "a", ours) == theirs
    assert mine.label == superblock.label(create.args)  # type: ignore[arg-type]


def test_table_and_status_are_read() -> None:
    words = "259:0 0 4 B 9 block_size:4096 journal_sectors:3920 interleave_sectors:32768 internal_hash:crc32c fix_padding"
    assert parse_table(Table(519848, "integrity", tuple(words.split()))) == {
        "target": "integrity",
        "mode": "bitmap",
        "tag": "crc32c",
        "tag_bytes": 4,
        "sector_bytes": 4096,
        "journal_bytes": 3920 * 512,
    }
    assert mismatches(Table(519848, "integrity", ("6", "519848", "-"))) == 6
