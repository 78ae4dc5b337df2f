"""Filesystems on paper: what is refused, the very commands, stripes from below, and words for all of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from md_cases import GIB, disks
from md_cases import plan as plan_md
from md_cases import spec_of as md_spec

from raidtui.inventory.mounts import parse_mountinfo
from raidtui.model.convert import decode
from raidtui.model.plan import Names
from raidtui.model.problem import REFUSALS, ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.fs import LAYER, geometry, verify
from raidtui.stack.fs.spec import FIELDS_OF, FilesystemSpec
from raidtui.stack.layer import Part, Planned


def spec_of(type_: str, **options: Any) -> FilesystemSpec:
    return decode(FilesystemSpec, {"type": type_, "on": "@data", **options})


def plan(spec: FilesystemSpec, parts: tuple[Part, ...] | None = None) -> Planned:
    return LAYER.plan(spec, {"on": parts or disks("d", [8 * GIB])}, Names("abcd1234"), Policy())


def on_raid5() -> tuple[Part, ...]:
    return plan_md(md_spec(level="raid5", chunk="64KiB"), {"on": 4}).offers


REFUSED = [
    ("fs-option", "compress", "xfs", {"compress": "zstd"}),
    ("fs-option", "journal", "btrfs", {"journal": False}),
    ("fs-option", "discard", "ext4", {"discard": "async"}),
    ("fs-option", "fsync_mode", "ext4", {"fsync_mode": "strict"}),
    ("fs-option", "subvolume", "xfs", {"subvolume": "bench"}),
    ("fs-devices", "on", "xfs", {"counts": 2}),
    ("fs-devices", "data", "btrfs", {"data": "raid1c3", "counts": 2}),
    ("fs-devices", "data", "btrfs", {"data": "raid1", "counts": 1}),
    ("fs-profile", "metadata", "btrfs", {"data": "raid1", "metadata": "single", "counts": 4}),
    ("fs-block", "block_size", "xfs", {"block_size": "128KiB"}),
    ("fs-block", "block_size", "ext4", {"block_size": "8KiB"}),
    ("fs-block", "block_size", "ext4", {"block_size": "3KiB"}),
    ("fs-block", "block_size", "xfs", {"block_size": "512B"}),
    ("fs-block", "node_size", "btrfs", {"node_size": "20KiB"}),
    ("fs-log", "log_size", "xfs", {"log_size": "8MiB"}),
    ("fs-log", "log_size", "ext4", {"journal": False, "log_size": "64MiB"}),
    ("fs-log", "journal_mode", "ext4", {"journal": False, "journal_mode": "writeback"}),
    ("fs-stripe", "stripe_width", "xfs", {"stripe_width": "192KiB"}),
    ("fs-stripe", "stripe_width", "xfs", {"stripe_unit": "64KiB", "stripe_width": "100KiB"}),
    ("fs-stripe", "stripe_unit", "ext4", {"stripe_unit": "5KiB"}),
    ("fs-stripe", "stripe_unit", "ext4", {"stripe_unit": "64KiB", "geometry": "none"}),
    ("fs-compress", "compress_level", "btrfs", {"compress_level": 3}),
    ("fs-compress", "compress_level", "btrfs", {"compress": "lzo", "compress_level": 3}),
    ("fs-compress", "copy_on_write", "btrfs", {"compress": "zstd", "copy_on_write": False}),
]


@pytest.mark.parametrize(("code", "option", "type_", "options"), REFUSED)
def test_what_linux_would_not_make_is_refused(code: str, option: str, type_: str, options: dict[str, Any]) -> None:
    given = dict(options)
    count = given.pop("counts", 1)
    found = LAYER.check(spec_of(type_, **given), {"on": count}, "$.x")
    assert (code, f"$.x.{option}") in [(p.code, p.place) for p in found]
    assert all(p.message and p.remedy for p in found)


def test_every_code_of_a_refusal_is_explained() -> None:
    assert {code for code, *_ in REFUSED} <= set(REFUSALS)


@pytest.mark.parametrize("type_", ["xfs", "ext4", "btrfs", "f2fs"])
def test_plain_ones_are_accepted_and_have_words(type_: str) -> None:
    spec = spec_of(type_)
    assert LAYER.check(spec, {"on": 1}, "$") == []
    assert LAYER.describe(spec, {"on": 1}) == (type_ if type_ != "btrfs" else "btrfs")
    defaults = LAYER.defaults(spec, {"on": 1})
    assert set(defaults) >= {name for fields in FIELDS_OF.values() for name in fields} - {"geometry"}
    assert all(value and why for value, why in defaults.values())


def test_stripes_follow_from_what_is_below() -> None:
    xfs, ext4 = plan(spec_of("xfs"), on_raid5()), plan(spec_of("ext4"), on_raid5())
    assert "su=65536,sw=3" in xfs.build[0].commands[0]
    assert "nodiscard,lazy_itable_init=0,lazy_journal_init=0,stride=16,stripe_width=48" in ext4.build[0].commands[0]
    assert "chunk and stripe of md below" in xfs.build[0].title


def test_stripes_can_be_given_or_left_out_of_account() -> None:
    given = plan(spec_of("xfs", stripe_unit="256KiB", stripe_width="1MiB"), on_raid5())
    assert "su=262144,sw=4" in given.build[0].commands[0]
    without = plan(spec_of("xfs", geometry="none"), on_raid5())
    assert "noalign" in without.build[0].commands[0]
    assert without.build[1].commands[0][4].endswith(",noalign")
    assert "stride=0" in plan(spec_of("ext4", geometry="none"), on_raid5()).build[0].commands[0][-2]


def test_a_directory_is_measured_and_nothing_can_stand_on_it() -> None:
    planned = plan(spec_of("xfs"))
    (target,) = planned.targets
    assert (target.kind, target.counted) == ("directory", "at least")
    assert target.paths == ("/run/raidtui/mnt/rtabcd1234a",)
    assert not planned.offers
    assert LAYER.target_kind(spec_of("xfs")) == "directory"
    assert plan(spec_of("btrfs", compress="zstd")).targets[0].counted == "no"


def test_every_mount_is_harmless_and_every_step_can_be_undone() -> None:
    for type_ in ("xfs", "ext4", "btrfs", "f2fs"):
        make, mount, _ = plan(spec_of(type_)).build
        assert mount.commands[0][4].startswith("nosuid,nodev,noexec,noatime")
        assert mount.undo == (("umount", "/run/raidtui/mnt/rtabcd1234a"),)
        assert make.creates is not None
        assert make.creates.uuid in " ".join(make.commands[0])
        assert LAYER.actions["fs.make"].leaves(make.args)[0] == (type_, make.creates.uuid)


def test_options_reach_the_commands() -> None:
    btrfs = plan(
        spec_of("btrfs", data="raid10", metadata="raid1c3", node_size="32KiB", checksum="xxhash", compress="zstd",
                compress_level=9, compress_force=True, discard="async"),
        disks("d", [8 * GIB] * 4),
    )  # fmt: skip
    argv, mount = btrfs.build[0].commands[0], btrfs.build[1].commands[0]
    assert argv[-4:] == ("/dev/d0", "/dev/d1", "/dev/d2", "/dev/d3")
    assert argv[4:] == (btrfs.build[0].args.uuid, "-d", "raid10", "-m", "raid1c3", "-n", "32768", "--csum", "xxhash",
                        *argv[-4:])  # fmt: skip
    assert mount[4].endswith("discard=async,compress-force=zstd:9")
    ext4 = plan(spec_of("ext4", journal=False, block_size="1KiB", discard="online", atime="relatime"))
    assert "^has_journal" in ext4.build[0].commands[0]
    assert ext4.build[1].commands[0][4] == "nosuid,nodev,noexec,relatime,discard,noinit_itable"
    f2fs = plan(spec_of("f2fs", overprovision=10, fsync_mode="strict"))
    assert f2fs.build[0].commands[0][-3:] == ("-o", "10", "/dev/d0")
    assert "fsync_mode=strict" in f2fs.build[1].commands[0][4]


def test_a_subvolume_is_made_in_the_top_level_and_mounted_instead_of_it() -> None:
    spec = spec_of("btrfs", subvolume="bench")
    planned = plan(spec)
    assert [draft.action for draft in planned.build] == ["fs.make", "fs.subvolume", "fs.mount", "fs.verify"]
    made, mount = planned.build[1:3]
    point = "/run/raidtui/mnt/rtabcd1234a"
    assert made.commands == (
        ("mount", "-t", "btrfs", "-o", "nosuid,nodev,noexec,subvol=/,nodiscard", "/dev/d0", point),
        ("btrfs", "subvol", "create", f"{point}/bench"),
        ("umount", point),
    )
    assert (made.undo, made.creates) == (mount.undo, mount.creates)
    assert mount.commands[0][4] == "nosuid,nodev,noexec,noatime,subvol=/bench,nodiscard"
    assert (made.title, mount.title) == ("Make the subvolume bench in it", f"Mount the subvolume bench on {point}")
    assert LAYER.describe(spec, {"on": 1}) == "btrfs, subvolume bench"
    assert LAYER.check(spec, {"on": 1}, "$") == []


def test_without_a_subvolume_the_plan_is_that_of_earlier_versions() -> None:
    assert b"subvolume" not in msgspec.json.encode(plan(spec_of("btrfs")).build[0].args)


@pytest.mark.parametrize("name", ["", "a/b", "..", "-f", "a,ro", "@data", "a b", "a\n", "a" * 64])
def test_a_subvolume_has_a_plain_name(name: str) -> None:
    with pytest.raises(ProblemError) as caught:
        spec_of("btrfs", subvolume=name)
    (problem,) = caught.value.problems
    assert (problem.place, "letters, digits" in problem.message + problem.remedy) == ("$.subvolume", True)


@pytest.mark.parametrize(
    ("subvolume", "shown", "same"),
    [("bench", "/bench", True), ("bench", "/", False), (None, "/", True), (None, "/bench", False)],
)
def test_a_mount_is_that_of_the_subvolume(subvolume: str | None, shown: str, same: bool) -> None:
    (mount,) = parse_mountinfo(f"91 31 0:45 {shown} /m rw - btrfs /dev/d0 rw,subvolid=256,subvol={shown}")
    fs = plan(spec_of("btrfs", **({"subvolume": subvolume} if subvolume else {}))).build[0].args
    assert verify.shows_subvolume(fs, mount) is same


def test_room_is_less_than_the_device_and_follows_the_profile() -> None:
    whole = disks("d", [8 * GIB] * 4)
    assert 7 * GIB < plan(spec_of("xfs")).targets[0].size_bytes < 8 * GIB
    raid1 = plan(spec_of("btrfs", data="raid1"), whole).targets[0].size_bytes
    assert 14 * GIB < raid1 < 16 * GIB
    assert plan(spec_of("btrfs", data="raid5"), whole).targets[0].size_bytes > raid1
    with pytest.raises(ProblemError) as error:
        plan(spec_of("xfs"), disks("d", [256 << 20]))
    assert error.value.problems[0].code == "fs-too-small"


@pytest.mark.parametrize(
    ("kind", "part", "options", "code"),
    [
        ("f2fs", {"size_bytes": 17 << 40}, {}, "fs-too-large"),
        ("xfs", {"chunk_bytes": GIB, "stripe_bytes": 2 * GIB}, {}, "fs-stripe"),
        ("ext4", {"chunk_bytes": GIB // 4, "stripe_bytes": GIB // 2}, {}, "fs-stripe"),
        ("ext4", {}, {"block_size": "1KiB", "stripe_unit": "64MiB"}, "fs-stripe"),
    ],
)
def test_what_mkfs_cannot_write_down_is_refused(
    kind: str, part: dict[str, int], options: dict[str, str], code: str
) -> None:
    on = (disks("d", [64 * GIB])[0]._replace(**part),)
    with pytest.raises(ProblemError) as error:
        plan(spec_of(kind, **options), on)
    assert error.value.problems[0].code == code
    assert error.value.problems[0].remedy
    if "chunk_bytes" in part:
        assert plan(spec_of(kind, geometry="none"), on)


@pytest.mark.parametrize(("release", "fits"), [("6.1.0-37-amd64", False), ("6.12.0", True), ("7.0", True), ("odd", True)])
def test_blocks_larger_than_a_page_need_a_kernel_that_mounts_them(
    monkeypatch: pytest.MonkeyPatch, release: str, fits: bool
) -> None:
    monkeypatch.setattr(geometry, "release", lambda: release)
    monkeypatch.setattr(geometry, "PAGE_BYTES", 4096)
    on = disks("d", [64 * GIB])
    assert plan(spec_of("xfs", block_size="4KiB"), on)
    large = spec_of("xfs", block_size="64KiB")
    if fits:
        assert plan(large, on).targets[0].size_bytes < plan(spec_of("xfs"), on).targets[0].size_bytes
        return
    with pytest.raises(ProblemError) as error:
        plan(large, on)
    (problem,) = error.value.problems
    assert (problem.code, problem.place) == ("fs-block", "filesystem.block_size")
    assert release in problem.message


def test_a_log_has_room_for_large_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, "release", lambda: "6.12.0")
    with pytest.raises(ProblemError) as error:
        plan(spec_of("xfs", block_size="16KiB", log_size="64MiB"), disks("d", [64 * GIB]))
    assert error.value.problems[0].remedy.endswith("256MiB.")


def test_what_may_fail_is_what_every_profile_survives() -> None:
    survives = LAYER.tolerates_failures(spec_of("btrfs", data="raid6", metadata="raid1c3"), {"on": 4})
    assert survives["on"] == (2, "any 2 of the 4 devices")
    assert LAYER.tolerates_failures(spec_of("btrfs", data="raid0"), {"on": 4})["on"][0] == 0
    assert LAYER.shape(spec_of("btrfs", data="raid1"), {"on": disks("d", [8 * GIB] * 2)}).write_penalty == 2


@pytest.mark.parametrize(
    ("mib", "plain", "striped"),
    [(320, 4, None), (512, 4, None), (600, 4, 8), (1024, 4, 8), (6144, 4, 8), (10240, 4, 16), (614400, 4, 32)],
)
def test_allocation_groups_are_as_many_as_mkfs_xfs_made(mib: int, plain: int, striped: int | None) -> None:
    """As xfsprogs 6.13 made them on files of these sizes, without stripes and with `-d su=64k,sw=2`; None: it refused."""
    part = Part("md:a", "/dev/md/a", mib << 20, 512, ("a",), chunk_bytes=64 << 10, stripe_bytes=128 << 10)
    spec = decode(FilesystemSpec, {"type": "xfs", "on": "@data"})
    geometry.refuse(spec, [part], None)
    assert geometry.default_groups(mib << 20, striped=False) == plain
    if striped is None:
        with pytest.raises(ProblemError, match="does not fit"):
            geometry.refuse(spec, [part], geometry.stripes(spec, part))
    else:
        geometry.refuse(spec, [part], geometry.stripes(spec, part))
        assert geometry.default_groups(mib << 20, striped=True) == striped


@pytest.mark.parametrize(("log", "fits"), [("255MiB", True), ("256MiB", False)])
def test_a_log_of_xfs_fits_into_one_group(log: str, fits: bool) -> None:
    """mkfs.xfs 6.13 took 255 MiB in a group of 256 MiB, and not 256."""
    part = Part("disk:a", "/dev/a", 1 << 30, 512, ("a",))
    spec = decode(FilesystemSpec, {"type": "xfs", "on": "@data", "log_size": log})
    if fits:
        geometry.refuse(spec, [part], None)
    else:
        with pytest.raises(ProblemError) as caught:
            geometry.refuse(spec, [part], None)
        assert caught.value.problems[0].code == "fs-log"
