"""A plan of an encrypted volume says what will run, how large the volume will be, and never anything about its key."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from raidtui.gate.last_look import foreign
from raidtui.inventory import Signature
from raidtui.model.convert import decode
from raidtui.model.plan import Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.action import signatures_left
from raidtui.stack.amplification import Writes
from raidtui.stack.catalog import bind
from raidtui.stack.layer import Part, Planned
from raidtui.stack.luks import LAYER
from raidtui.stack.luks.build import parse_table
from raidtui.stack.luks.header import COPIES, Header, is_zero, overwrite, parse_header
from raidtui.stack.luks.spec import LuksSpec
from raidtui.stack.mapping import Table

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10
DISK = Part("disk:a", "/dev/a", 8 * GIB, 512, ("a",), True)
ARRAY = Part("md:rtx", "/dev/md/rtx", 8 * GIB, 512, ("a", "b", "c", "d"), False, False, 192 * KIB, 64 * KIB)
CREATED = Names("abcd1234").new("luks")


def spec_of(**options: Any) -> LuksSpec:
    return decode(LuksSpec, {"on": "@data", **options})


def plan(below: Part = DISK, **options: Any) -> Planned:
    return LAYER.plan(spec_of(**options), {"on": (below,)}, Names("abcd1234"), Policy())


def codes(counts: int = 1, **options: Any) -> list[str]:
    return [problem.code for problem in LAYER.check(spec_of(**options), {"on": counts}, "$.luks")]


def test_a_disk_is_encrypted_by_these_commands() -> None:
    create, verify = plan(sector_size="4KiB", discards=True, no_write_workqueue=True).build
    assert create.commands == (
        ("cryptsetup", "luksFormat", "--type", "luks2", "--cipher", "aes-xts-plain64", "--key-size", "512",
         "--sector-size", "4096", "--offset", "32768", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000",
         "--label", CREATED.name, "--uuid", CREATED.uuid, "--key-file", "-", "/dev/a"),
        ("cryptsetup", "open", "--allow-discards", "--perf-no_write_workqueue", "--key-file", "-", "/dev/a", CREATED.name),
    )  # fmt: skip
    assert create.creates == CREATED
    assert verify.commands == ()


def test_it_is_closed_and_its_key_slots_are_overwritten() -> None:
    planned = plan()
    expected = (
        ("cryptsetup", "close", CREATED.name),
        ("blkdiscard", "--zeroout", "--length", "16777216", "/dev/a"),
    )
    assert planned.teardown[0].commands == planned.build[0].undo == expected


def test_the_arguments_of_the_steps_have_no_key() -> None:
    args = msgspec.to_builtins(plan().build[0].args)
    assert set(args) == {
        "name", "uuid", "ref", "on", "on_path", "disks", "cipher", "key_bits", "sector_bytes", "offset_bytes", "flags",
    }  # fmt: skip


def test_the_volume_is_smaller_by_the_header() -> None:
    (offers,) = plan().offers
    assert (offers.path, offers.size_bytes) == (f"/dev/mapper/{CREATED.name}", 8 * GIB - 16 * MIB)
    assert not offers.discard
    assert plan(discards=True).offers[0].discard


def test_data_above_an_array_begins_with_a_whole_stripe() -> None:
    planned = plan(ARRAY)
    assert planned.build[0].args.offset_bytes == 16 * MIB + 128 * KIB  # type: ignore[union-attr]
    assert planned.build[0].args.offset_bytes % ARRAY.stripe_bytes == 0  # type: ignore[union-attr, operator]
    assert planned.offers[0].stripe_bytes == ARRAY.stripe_bytes


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"counts": 2}, "luks-one"),
        ({"key_size": 384}, "luks-key"),
        ({"cipher": "aes-cbc-essiv:sha256", "key_size": 512}, "luks-key"),
        ({"cipher": "xchacha20,aes-adiantum-plain64", "key_size": 512}, "luks-key"),
        ({"sector_size": "8KiB"}, "luks-sector"),
        ({"sector_size": "768B"}, "luks-sector"),
    ],
)
def test_what_linux_refuses_is_refused(options: dict[str, Any], code: str) -> None:
    assert codes(**options) == [code]


@pytest.mark.parametrize(
    ("below", "options", "code"),
    [
        (DISK._replace(logical_sector_bytes=4096), {"sector_size": "512B"}, "luks-sector"),
        (DISK._replace(size_bytes=16 * MIB), {}, "luks-too-small"),
        (DISK._replace(size_bytes=GIB + 512), {"sector_size": "4KiB"}, "luks-too-small"),
    ],
)
def test_devices_that_do_not_allow_it_are_refused(below: Part, options: dict[str, Any], code: str) -> None:
    with pytest.raises(ProblemError) as refused:
        plan(below, **options)
    assert refused.value.problems[0].code == code


def test_every_byte_is_written_once() -> None:
    share = LAYER.spread(spec_of(), {"on": 1}, Writes(4096, 4096, True)).inputs["on"]
    assert (share.low, share.high) == (1.0, 1.0)


def test_a_header_is_the_runs_before_and_after_it_has_its_uuid() -> None:
    create = plan().build[0]
    ours = signatures_left([bind("luks.create", msgspec.to_builtins(create.args))])
    fresh = Signature("crypto_LUKS", "9f3f2e1c-0000-4000-8000-000000000000", CREATED.name, "crypto", where="a")
    done = fresh._replace(uuid=CREATED.uuid)
    theirs = fresh._replace(label="backup")
    assert foreign([fresh, done, theirs], "a", ours) == [theirs]


def header(magic: bytes, uuid: bytes = b"u-u", label: bytes = b"rtx", version: int = 2) -> bytes:
    block = bytearray(4096)
    block[:8] = magic + version.to_bytes(2, "big")
    block[24 : 24 + len(label)] = label
    block[168 : 168 + len(uuid)] = uuid
    return bytes(block)


def test_both_copies_of_a_header_are_read() -> None:
    for magic in COPIES.values():
        assert parse_header(header(magic), magic) == Header("u-u", "rtx")
    assert parse_header(header(COPIES[0], version=1), COPIES[0]) is None
    assert parse_header(bytes(4096), COPIES[0]) is None


def test_key_slots_are_overwritten_to_the_last_byte(tmp_path: Any) -> None:
    path = tmp_path / "disk"
    path.write_bytes(b"k" * (17 * MIB + 128 * KIB))
    length = 16 * MIB + 128 * KIB
    with path.open("r+b") as file:
        overwrite(file.fileno(), length)
    assert path.read_bytes() == bytes(length) + b"k" * MIB
    assert is_zero(str(path), length)
    assert not is_zero(str(path), length + 1)


@pytest.mark.parametrize("key", [":64:logon:cryptsetup:u-d0", "0" * 128])
def test_a_table_tells_the_size_of_the_key_and_not_the_key(key: str) -> None:
    words = ("aes-xts-plain64", key, "0", "259:0", "32768", "2", "no_read_workqueue", "sector_size:4096")
    assert parse_table(Table(100, "crypt", words)) == {
        "target": "crypt",
        "cipher": "aes-xts-plain64",
        "key_bits": 512,
        "sector_bytes": 4096,
        "offset_bytes": 16 * MIB,
        "flags": ["no_read_workqueue"],
    }
    assert parse_table(Table(100, "crypt", words[:5]))["sector_bytes"] == 512
