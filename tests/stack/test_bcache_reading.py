"""Superblocks and files of sysfs are read for what they are, whatever stands in them."""

from __future__ import annotations

import base64
import gzip
import uuid
from pathlib import Path
from typing import Any

import pytest
from bcache_cases import plan
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from raidtui.stack.bcache import kernel, superblock
from raidtui.stack.bcache.spec import BcacheDevice
from raidtui.stack.bcache.verify import differences

SET = "57da5943-d840-4228-b138-e44b6faf5088"
OTHER = "1be43ac2-3022-41dd-b99e-3297a089243d"


BACKING = base64.b64decode(
    "YroAePDZV+IIAAAAAAAAAAEAAAAAAAAAxoVz9k4aRcqCZfV/SLptgYxc2gCGWEaTkFJn3Ivry6JX2llD2EBCKLE45Etvr1CIAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAACAAABAAAAAAAAAAAAAAAAA=="
).ljust(4096, b"\0")
"""The superblock of a backing device as make-bcache 1.0.8 wrote it in the lab."""
CACHE = gzip.decompress(
    base64.b64decode(
        "H4sIAAAAAAACA1txsfTTuUWibhwMqOBYa/E3PynXU02pX+s9duU2fjbkPHtostvr5uR9904+6CwPvxXpfMPBSWOjxRPv/PUBHQz0BgoQipGhAYhh"
        "7FEwCkbBKBgFo2AUjIJRMApGwSgYBaNgFGADAJ3zNi0AEAAA"
    )
)
"""That of a cache device, as kernel 6.12 wrote it when it was registered: with keys."""
OWN = "8c5cda00-8658-4693-9052-67dc8bebcba2"


def test_recorded_superblocks_are_read_and_are_sound() -> None:
    assert superblock.parse(BACKING) == (OWN, SET, True)
    assert superblock.parse(CACHE) == ("f33109cd-c293-46eb-8363-bedec9e08977", SET, True)


@pytest.mark.parametrize("recorded", [BACKING, CACHE])
def test_a_superblock_gets_another_uuid_and_nothing_else(recorded: bytes) -> None:
    block = superblock.stamped(recorded, OTHER)
    assert superblock.parse(block) == (OTHER, SET, True)
    assert [i for i in range(4096) if block[i] != recorded[i] and not (i < 8 or 40 <= i < 56)] == []
    before = superblock.parse(recorded)
    assert before is not None
    assert superblock.stamped(block, before.uuid) == recorded


def test_the_checksum_is_crc_64_we() -> None:
    assert superblock._crc64(b"123456789") == 0x62EC59E3F1A4F00A


def test_what_is_not_sound_is_not_stamped() -> None:
    broken = bytes([BACKING[0] ^ 1]) + BACKING[1:]
    assert superblock.parse(broken) == (OWN, SET, False)
    for block in (broken, bytes(4096), b""):
        with pytest.raises(ValueError, match="superblock"):
            superblock.stamped(block, OTHER)


@given(st.binary(max_size=4096), st.booleans())
def test_any_block_is_a_superblock_or_is_not(block: bytes, magic: bool) -> None:
    if magic:
        block = block[:24].ljust(24, b"\0") + superblock.MAGIC + block[40:].ljust(400, b"\xff")
    found = superblock.parse(block)
    assert found is None or (uuid.UUID(found.uuid) and uuid.UUID(found.set_uuid))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.0k"), (512, "0.5k"), (4096, "4.0k"), (64 << 10, "64.0k"), (512 << 10, "512.0k"), (1 << 20, "1.0M"),
     (4 << 20, "4.0M"), (1000 << 10, "0.9M"), (1 << 40, "1.0T"), ((1 << 32) - 1, "3.9G")],
)  # fmt: skip
def test_numbers_are_written_as_the_kernel_does(value: int, text: str) -> None:
    assert kernel.hprint(value) == text


@given(st.integers(0, 1 << 60))
def test_numbers_are_read_back_within_their_last_digit(value: int) -> None:
    found = kernel.from_hprint(kernel.hprint(value))
    assert found is not None
    assert found <= value
    assert value - found <= max(103, value * 0.12)


@pytest.mark.parametrize("text", [None, "", "none", "1.0X", "1k", "1.00k"])
def test_what_is_no_number_is_none(text: str | None) -> None:
    assert kernel.from_hprint(text) is None


def test_the_chosen_one_of_several_is_in_brackets() -> None:
    assert kernel.chosen("writethrough [writeback] writearound none") == "writeback"
    assert kernel.chosen("nothing chosen") is None
    assert kernel.chosen(None) is None


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """/sys/class/block of a server with a cached disk, one that waits for its cache, and one without."""
    block = tmp_path / "block"
    of_set = tmp_path / "sets" / SET
    for name in ("slow", "fast", "waits", "plain", "bcache0"):
        (block / name).mkdir(parents=True)
    for name, files in {
        "slow": {"cache_mode": "[writeback]", "backing_dev_uuid": OWN, "backing_dev_name": "slow"},
        "fast": {"bucket_size": "64.0k"},
        "waits": {"cache_mode": "[writethrough]", "backing_dev_uuid": OTHER, "backing_dev_name": "waits"},
    }.items():
        (block / name / "bcache").mkdir()
        for file, text in files.items():
            (block / name / "bcache" / file).write_text(f"{text}\n")
    of_set.mkdir(parents=True)
    (block / "fast/bcache/set").symlink_to(of_set)
    (block / "slow/bcache/cache").symlink_to(of_set)
    (block / "slow/bcache/dev").symlink_to(block / "bcache0")
    (block / "bcache0/bcache").symlink_to(block / "slow/bcache")
    return block


def test_registered_devices_are_known_by_their_set_and_their_uuid(server: Path) -> None:
    found = {one.name: (one.is_cache, one.set_uuid, one.uuid, one.device) for one in kernel.registered(server)}
    assert found == {
        "slow": (False, SET, OWN, "bcache0"),
        "waits": (False, "", OTHER, ""),
        "fast": (True, SET, "", ""),
    }
    assert [one.is_cache for one in kernel.registered(server)] == [False, False, True], "backing devices are stopped first"


def test_a_superblock_is_ours_by_its_set_or_by_the_uuid_that_was_planned() -> None:
    args = plan().build[0].args
    backing = args.devices[0].uuid
    zero = str(uuid.UUID(int=0))
    assert kernel.is_ours(superblock.Superblock(backing, zero, True), args), "detached by the kernel"
    assert kernel.is_ours(superblock.Superblock(OTHER, args.uuid, True), args), "before it had its own UUID"
    assert not kernel.is_ours(superblock.Superblock(OTHER, SET, True), args)
    assert not kernel.is_ours(superblock.Superblock(OTHER, zero, True), args)
    assert not kernel.is_ours(None, args)


def test_what_others_put_behind_the_cache_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    args = plan().build[0].args
    of_set = tmp_path / args.uuid
    of_set.mkdir()

    def attach(link: str, name: str, own: str) -> None:
        folder = tmp_path / name / "bcache"
        folder.mkdir(parents=True)
        (folder / "backing_dev_uuid").write_text(own)
        (of_set / link).symlink_to(folder)

    attach("bdev0", "slow", OTHER)
    assert kernel.strangers(args, tmp_path, tmp_path) == [], "it may not have its own UUID yet"
    (of_set / "bdev0").readlink().joinpath("backing_dev_uuid").write_text(args.devices[0].uuid)
    attach("bdev1", "theirs", OTHER)
    assert kernel.strangers(args, tmp_path, tmp_path) == ["theirs"]
    attach("volume2", "bcache7", "")
    assert kernel.strangers(args, tmp_path, tmp_path) == ["theirs", "bcache7"]
    (of_set / "bdev0").unlink()
    assert kernel.strangers(args, tmp_path, tmp_path) == ["bcache7"]
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone/size").write_text("1024")
    monkeypatch.setattr(superblock, "read", lambda *_: superblock.Superblock(args.devices[0].uuid, SET, True))
    assert kernel.strangers(args, tmp_path, tmp_path) == ["theirs", "bcache7"], "ours is detached, so this one is not ours"
    assert kernel.strangers(replace(args, uuid=SET), tmp_path, tmp_path) == []


def as_asked(args: BcacheDevice) -> dict[str, Any]:
    return {
        "backing_uuid": args.devices[0].uuid,
        "mode": args.mode,
        "replacement": args.replacement,
        "bucket_size": "512.0k",
        "block_size": "0.5k",
        "running": 1,
        "discard": 0,
        "state": "clean",
        "size_bytes": args.size_bytes,
        "sequential_cutoff": "4.0M",
    }


@pytest.mark.parametrize(
    ("what", "found"),
    [("mode", "writethrough"), ("bucket_size", "256.0k"), ("block_size", "4.0k"), ("state", "no cache"),
     ("state", "inconsistent"), ("size_bytes", 1), ("running", 0), ("discard", 1), ("backing_uuid", OTHER),
     ("sequential_cutoff", "0.0k"), ("replacement", "fifo")],
)  # fmt: skip
def test_what_is_not_as_asked_is_named(what: str, found: Any) -> None:
    args = plan(mode="writeback", sequential_cutoff="4MiB").build[0].args
    assert differences(args, as_asked(args)) == []
    (wrong,) = differences(args, {**as_asked(args), what: found})
    assert wrong.what == what


def test_a_kernel_that_no_longer_discards_is_fine_unless_it_was_asked_for() -> None:
    args = plan().build[0].args
    assert differences(args, {**as_asked(args), "discard": None, "sequential_cutoff": None}) == []
    asked = plan(discard=True).build[0].args
    assert [d.what for d in differences(asked, {**as_asked(asked), "discard": None})] == ["discard"]
