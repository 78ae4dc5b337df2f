"""A plan of a pool says what will run, word for word, and how large its volume will be."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from zpool_cases import GIB, disks, parts_of, plan, spec_of

from raidtui.model.plan import Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.builder.process import Builder, Built
from raidtui.stack.calls import CallFailed
from raidtui.stack.context import Context
from raidtui.stack.layer import Part
from raidtui.stack.zfs import LAYER, arc, build, pool, properties, rules, size
from raidtui.stack.zfs.commands import ArcLimit
from raidtui.stack.zfs.spec import Group

CREATED = Names("abcd1234").new("zpool")
NAME = CREATED.name
ALWAYS = ("-o", "cachefile=none", "-o", "ashift=12", "-o", "failmode=continue")
UNMOUNTED = ("-O", "mountpoint=none", "-O", "canmount=off")
MIB = 1 << 20


@pytest.fixture(autouse=True)
def _no_zfs_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(properties, "MODULE", tmp_path / "absent")
    monkeypatch.setattr(pool, "MODULE_VERSION", tmp_path / "version")


def test_a_raidz_with_everything_is_created_by_these_commands() -> None:
    spec = spec_of(
        {"raidz1": "@d"}, log="@l", cache="@c", special="@s", spares="@p", mirrored=["special"],
        properties={"autotrim": "on"}, inherited={"compression": "lz4", "recordsize": "16K"},
        volume={"size": "80%", "sparse": True, "properties": {"volblocksize": "16K", "compression": "off"}},
    )  # fmt: skip
    planned = plan(spec, {"vdevs[0].raidz1": 3, "special": 2, "log": 1, "cache": 1, "spares": 1})
    create, volume, verify = planned.build
    *partitioned, made = create.commands
    assert [argv[-1] for argv in partitioned] == [
        "/dev/d00n1", "/dev/d01n1", "/dev/d02n1", "/dev/s0n1", "/dev/s1n1", "/dev/l0n1", "/dev/c0n1", "/dev/s0n1"
    ]  # fmt: skip
    sizes = f"--new=1:1024K:+{create.args.devices[0].length >> 10}K"
    assert partitioned[0][:3] == ("sgdisk", f"--disk-guid={create.args.devices[0].disk_guid}", sizes)
    assert (made,) == (
        ("zpool", "create", *ALWAYS, "-o", "autotrim=on", *UNMOUNTED, "-O", "compression=lz4", "-O", "recordsize=16K", NAME,
         "raidz1", "/dev/d00n1p1", "/dev/d01n1p1", "/dev/d02n1p1", "special", "mirror", "/dev/s0n1p1", "/dev/s1n1p1",
         "log", "/dev/l0n1p1", "cache", "/dev/c0n1p1", "spare", "/dev/s0n1p1"),
    )  # fmt: skip
    bytes_ = str(planned.targets[0].size_bytes)
    assert volume.commands == (
        ("zfs", "create", "-s", "-V", bytes_, "-o", "volblocksize=16K", "-o", "compression=off", f"{NAME}/vol"),
    )
    assert (create.action, volume.action, verify.action) == ("zpool.create", "zpool.volume", "zpool.verify")
    assert planned.targets[0].paths == (f"/dev/zvol/{NAME}/vol",)


def test_a_new_pool_is_trimmed_and_initialized_before_anything_is_created_in_it() -> None:
    spec = spec_of({"mirror": "@d"}, log="@l", cache="@c", initialize=True, trim=True)
    planned = plan(spec, {"vdevs[0].mirror": 2, "log": 1, "cache": 1})
    assert [draft.action for draft in planned.build] == [
        "zpool.create", "zpool.trim", "zpool.initialize", "zpool.volume", "zpool.verify"
    ]  # fmt: skip
    _, trim, initialize, *_ = planned.build
    assert trim.commands == (("zpool", "trim", NAME), ("zpool", "wait", "-t", "trim", NAME))
    assert initialize.commands == (("zpool", "initialize", NAME), ("zpool", "wait", "-t", "initialize", NAME))
    assert (trim.title, initialize.title) == (
        "Discard all free space of 3 devices", "Write over all free space of 3 devices"
    )  # fmt: skip
    assert trim.writes_bytes == 0
    assert 3 * 7.9 * GIB < (initialize.writes_bytes or 0) < 3 * 8 * GIB, "the cache is not initialized"
    assert (trim.undo, initialize.undo) == ((), ()), "they go with the pool"
    assert LAYER.describe(spec, {"vdevs[0].mirror": 2}) == "mirror of 2, trimmed, initialized, blocks of 16KiB"
    plain = plan(spec_of({"mirror": "@d"}), {"vdevs[0].mirror": 2})
    assert not {"zpool.trim", "zpool.initialize"} & {draft.action for draft in plain.build}


@pytest.mark.parametrize(
    ("kind", "role", "refused"),
    [("disk", "vdevs[0].mirror", True), ("luks", "vdevs[0].mirror", True), ("lvm", "vdevs[0].mirror", False),
     ("disk", "cache", False), ("disk", "spares", False), ("disk", "log", True)],
)  # fmt: skip
def test_what_takes_no_discards_is_not_trimmed(kind: str, role: str, refused: bool) -> None:
    spec = spec_of({"mirror": "@d"}, log="@l", cache="@c", spares="@p", trim=True, initialize=True)
    parts = parts_of({"vdevs[0].mirror": 2, "log": 1, "cache": 1, "spares": 1})
    parts[role] = tuple(part._replace(ref=f"{kind}:X{at}", discard=False) for at, part in enumerate(parts[role]))
    if not refused:
        assert LAYER.plan(spec, parts, Names("abcd1234"), Policy()).build
        return
    with pytest.raises(ProblemError) as caught:
        LAYER.plan(spec, parts, Names("abcd1234"), Policy())
    (problem,) = caught.value.problems
    assert (problem.code, problem.place) == ("zpool-trim", "zpool.trim")
    assert problem.message.startswith("X0")


def test_what_was_preconditioned_is_not_trimmed() -> None:
    counts, policy = {"vdevs[0].mirror": 2}, Policy(precondition="2x")
    assert plan(spec_of({"mirror": "@d"}, initialize=True), counts, policy=policy).build
    with pytest.raises(ProblemError) as caught:
        plan(spec_of({"mirror": "@d"}, trim=True), counts, policy=policy)
    assert [problem.code for problem in caught.value.problems] == ["zpool-trim-preconditioned"]


def test_special_devices_can_be_several_mirrors() -> None:
    spec = spec_of({"raidz1": "@d"}, special="@s", log="@l", mirrored=["special", "log"], mirrored_per={"special": 2})
    counts = {"vdevs[0].raidz1": 3, "special": 4, "log": 3}
    assert LAYER.check(spec, counts, "$") == []
    argv = plan(spec, counts).build[0].commands[-1]
    assert argv[argv.index("special") :] == (
        "special", "mirror", "/dev/s0n1p1", "/dev/s1n1p1", "mirror", "/dev/s2n1p1", "/dev/s3n1p1",
        "log", "mirror", "/dev/l0n1p1", "/dev/l1n1p1", "/dev/l2n1p1",
    )  # fmt: skip
    assert LAYER.describe(spec, counts) == "raidz1 of 3, special of 2 mirrors, mirrored log, blocks of 16KiB"
    assert LAYER.tolerates_failures(spec, counts)["special"] == (1, "any 1 disk of each vdev")
    assert LAYER.shape(spec, parts_of(counts)).may_fail == 1


def test_an_arc_is_smaller_than_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arc, "memory_bytes", lambda: 4 * GIB)
    assert plan(spec_of({"mirror": "@d"}, arc_max="3GiB"), {"vdevs[0].mirror": 2})
    with pytest.raises(ProblemError) as caught:
        plan(spec_of({"mirror": "@d"}, arc_max="4GiB"), {"vdevs[0].mirror": 2})
    assert (caught.value.problems[0].code, caught.value.problems[0].place) == ("zfs-arc", "zpool.arc_max")


def test_sets_of_features_are_those_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "SETS", (tmp_path / "etc", tmp_path / "usr"))
    counts, large = {"vdevs[0].mirror": 2}, {"inherited": {"recordsize": "1M"}}
    assert plan(spec_of({"mirror": "@d"}, properties={"compatibility": "grub2"}, **large), counts), "none are shown"
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr/new").write_text("# of 2026\nlarge_blocks, draid\nlz4_compress # old\n")
    (tmp_path / "usr/old").write_text("draid\n")
    assert plan(spec_of({"mirror": "@d"}, properties={"compatibility": "new"}, **large), counts)
    for name, place in (("none", "zpool.properties.compatibility"), ("new,old", "zpool.inherited.recordsize")):
        with pytest.raises(ProblemError) as caught:
            plan(spec_of({"mirror": "@d"}, properties={"compatibility": name}, **large), counts)
        assert [problem.place for problem in caught.value.problems] == [place]


@pytest.mark.parametrize(
    ("vdevs", "counts", "words"),
    [
        ([{"stripe": "@d"}], {"vdevs[0].stripe": 2}, ("/dev/d00n1p1", "/dev/d01n1p1")),
        (
            [{"mirror": "@d", "per": 2}],
            {"vdevs[0].mirror": 4},
            ("mirror", "/dev/d00n1p1", "/dev/d01n1p1", "mirror", "/dev/d02n1p1", "/dev/d03n1p1"),
        ),
        (
            [{"mirror": "@d"}, {"mirror": "@e"}],
            {"vdevs[0].mirror": 2, "vdevs[1].mirror": 2},
            ("mirror", "/dev/d00n1p1", "/dev/d01n1p1", "mirror", "/dev/d10n1p1", "/dev/d11n1p1"),
        ),
        (
            [{"draid1": "@d", "data": 2, "spares": 1}],
            {"vdevs[0].draid1": 4},
            ("draid1:2d:4c:1s", "/dev/d00n1p1", "/dev/d01n1p1", "/dev/d02n1p1", "/dev/d03n1p1"),
        ),
        ([{"draid2": "@d"}], {"vdevs[0].draid2": 12}, ("draid2:8d:12c:0s",)),
    ],
)
def test_vdevs_become_these_words(vdevs: list[dict[str, Any]], counts: dict[str, int], words: tuple[str, ...]) -> None:
    *_, argv = plan(spec_of(*vdevs), counts).build[0].commands
    at = argv.index(NAME) + 1
    assert argv[at : at + len(words)] == words


POINT = f"/run/raidtui/mnt/{NAME}"
MOUNT = ("mount", "-t", "zfs", "-o", "nosuid,nodev,noexec", f"{NAME}/fs", POINT)
DATASET = {"size": "50%", "properties": {"recordsize": "16K", "compression": "off"}}


def test_a_dataset_is_mounted_in_a_private_place_and_by_nobody_else() -> None:
    planned = plan(spec_of({"mirror": "@d"}, dataset=DATASET), {"vdevs[0].mirror": 2})
    assert [draft.action for draft in planned.build] == ["zpool.create", "zpool.dataset", "zpool.mount", "zpool.verify"]
    commands = [draft.commands for draft in planned.build]
    assert commands[0][-1][: len(ALWAYS) + 2 + len(UNMOUNTED)] == ("zpool", "create", *ALWAYS, *UNMOUNTED)
    own = ("-o", "mountpoint=legacy", "-o", "recordsize=16K", "-o", "compression=off")
    assert commands[1:3] == [(("zfs", "create", *own, f"{NAME}/fs"),), (MOUNT,)]
    assert planned.teardown[0].commands == (("umount", POINT), ("zfs", "destroy", f"{NAME}/fs"), ("zpool", "destroy", NAME))
    (target,) = planned.targets
    assert (target.kind, target.counted, target.refs, target.paths) == ("directory", "no", (f"dir:{NAME}",), (POINT,))
    assert target.size_bytes % (16 << 10) == 0
    assert not planned.offers
    assert LAYER.measured_as(spec_of({"mirror": "@d"}, dataset={})) == "directory"
    assert LAYER.measured_as(spec_of({"mirror": "@d"})) == "block"


def test_files_fill_at_most_what_fits_and_80_percent_of_it_where_nothing_is_said() -> None:
    counts = {"vdevs[0].mirror": 2}
    whole, usual = (
        plan(spec_of({"mirror": "@d"}, dataset=options), counts).targets[0].size_bytes for options in ({"size": "100%"}, {})
    )
    assert usual == pytest.approx(0.8 * whole, rel=1e-3)
    with pytest.raises(ProblemError) as caught:
        plan(spec_of({"mirror": "@d"}, dataset={"size": "100GiB"}), counts)
    assert (caught.value.problems[0].code, caught.value.problems[0].place) == ("zpool-too-small", "zpool.dataset.size")


@pytest.mark.parametrize(
    ("options", "unmounted", "mounted"), [({}, (), ()), ({"dataset": {}}, (("umount", POINT),), (MOUNT,))]
)
def test_cold_caches_are_an_export_and_an_import_of_its_own_devices_before_each_cell(
    options: dict[str, Any], unmounted: tuple[Any, ...], mounted: tuple[Any, ...]
) -> None:
    spec, counts = spec_of({"mirror": "@d"}, **options), {"vdevs[0].mirror": 2}
    (cold,) = plan(spec, counts, policy=Policy(caches="cold")).before_cell
    devices = ("-d", "/dev/d00n1p1", "-d", "/dev/d01n1p1")
    again = (("zpool", "export", NAME), ("zpool", "import", "-N", "-o", "cachefile=none", *devices, NAME))
    assert (cold.action, cold.commands) == ("zpool.cold", (*unmounted, *again, *mounted))
    assert plan(spec, counts).before_cell == ()


@pytest.mark.parametrize("found", ["2.1.11-1", "2.2.2-0ubuntu9"])
def test_a_zfs_that_is_too_old_is_refused_when_planning(tmp_path: Path, found: str) -> None:
    (tmp_path / "version").write_text(f"{found}\n")
    with pytest.raises(ProblemError) as caught:
        plan(spec_of({"mirror": "@d"}), {"vdevs[0].mirror": 2})
    assert caught.value.problems[0].code == "zfs-too-old"
    assert "backports" in caught.value.problems[0].remedy
    (tmp_path / "version").write_text("2.3.9-0+deb13u1\n")
    assert plan(spec_of({"mirror": "@d"}), {"vdevs[0].mirror": 2}).targets


@pytest.mark.parametrize(
    ("vdev", "count", "share"),
    [({"stripe": "@d"}, 4, 1.0), ({"mirror": "@d"}, 3, 1 / 3), ({"raidz1": "@d"}, 3, 2 / 3), ({"raidz2": "@d"}, 6, 2 / 3)],
)
def test_of_what_disks_are_written_this_share_is_data(vdev: dict[str, str], count: int, share: float) -> None:
    (kind,) = vdev
    counts = {f"vdevs[0].{kind}": count}
    assert LAYER.shape(spec_of(vdev, dataset={}), parts_of(counts)).data_share == pytest.approx(share, rel=0.05)


def test_every_step_knows_the_whole_pool_and_what_it_may_leave() -> None:
    planned = plan(spec_of({"mirror": "@d"}, cache="@c"), {"vdevs[0].mirror": 2, "cache": 1})
    create = planned.build[0]
    assert create.creates == CREATED
    assert all(draft.args == create.args for draft in (*planned.build, *planned.teardown))
    leaves = LAYER.actions["zpool.create"].leaves(create.args)
    guids = [entry.disk_guid for entry in create.args.devices]
    assert len(set(guids)) == 3
    assert leaves == (*(("gpt", guid) for guid in guids), ("zfs_member", "", NAME))
    assert create.undo == (("zpool", "destroy", NAME),)
    assert planned.teardown[0].commands == (("zfs", "destroy", f"{NAME}/vol"), *create.undo)
    again = plan(spec_of({"mirror": "@d"}, cache="@c"), {"vdevs[0].mirror": 2, "cache": 1})
    assert again.build[0].args == create.args, "the same plan has the same GUIDs"


def test_a_limited_arc_is_put_back_after_the_pool() -> None:
    planned = plan(spec_of({"mirror": "@d"}, arc_max="1GiB"), {"vdevs[0].mirror": 2})
    first, last = planned.build[0], planned.teardown[-1]
    assert (first.action, last.action) == ("zpool.arc", "zpool.arc-back")
    assert first.args == last.args == ArcLimit(GIB, first.creates.uuid if first.creates else "")
    assert planned.build[1].creates == CREATED


def test_disks_of_one_vdev_get_partitions_of_the_same_size() -> None:
    spec = spec_of({"mirror": "@d"}, log="@l")
    parts = {"vdevs[0].mirror": disks("d", [8 * GIB, 9 * GIB]), "log": disks("l", [GIB])}
    args = LAYER.plan(spec, parts, Names("t"), Policy()).build[0].args
    assert [entry.length for entry in args.devices] == [8 * GIB - 2 * MIB] * 2 + [GIB - 2 * MIB]
    assert {entry.start for entry in args.devices} == {MIB}


def test_devices_that_cannot_have_partitions_are_taken_as_they_are() -> None:
    below = tuple(Part(f"lvm:rt{i}", f"/dev/rtvg/rt{i}", 8 * GIB, 512, (f"a{i}",)) for i in range(2))
    create = LAYER.plan(spec_of({"mirror": "@d"}), {"vdevs[0].mirror": below}, Names("t"), Policy()).build[0]
    assert create.commands[0][-2:] == ("/dev/rtvg/rt0", "/dev/rtvg/rt1")
    assert {entry.disk_guid for entry in create.args.devices} == {""}
    above_md = tuple(Part(f"md:rt{i}", f"/dev/md/rt{i}", 8 * GIB, 512, (f"a{i}",)) for i in range(2))
    create = LAYER.plan(spec_of({"mirror": "@d"}), {"vdevs[0].mirror": above_md}, Names("t"), Policy()).build[0]
    assert create.commands[-1][-1] == "/dev/md/rt1p1"
    # zpool would partition these by itself, and wait for udev, which is kept away.
    connected = tuple(Part(f"nvmeof:rt-{i}", f"/dev/disk/by-id/nvme-uuid.{i}", 8 * GIB, 512, (f"a{i}",)) for i in range(2))
    create = LAYER.plan(spec_of({"mirror": "@d"}), {"vdevs[0].mirror": connected}, Names("t"), Policy()).build[0]
    assert create.commands[-1][-1] == "/dev/disk/by-id/nvme-uuid.1-part1"
    assert all(entry.disk_guid for entry in create.args.devices)


@pytest.mark.parametrize(
    ("group", "leaf", "available"),
    [
        (Group("member", "raidz1", (0, 1, 2)), 2136997888, 3798990848),
        (Group("member", "draid1", (0, 1, 2, 3, 4, 5), 2, 1), 2146172928, 6581319608),
        (Group("member", "mirror", (0, 1)), 2145386496, 1879048192),
    ],
)
def test_the_room_of_a_pool_is_what_zfs_said_of_one_in_the_lab(group: Group, leaf: int, available: int) -> None:
    own = 8 << 20
    assert size.available_bytes([group], [leaf] * len(group.devices), 12) == available - own


def test_small_blocks_on_raidz_have_less_room_than_large_ones() -> None:
    def room(block: str) -> int:
        volume = {"size": "100%", "properties": {"volblocksize": block}}
        return plan(spec_of({"raidz1": "@d"}, volume=volume), {"vdevs[0].raidz1": 6}, 1 << 40).targets[0].size_bytes

    assert room("64KiB") == room("64KB") == room("64k") == room("65536")
    rooms = [room(block) for block in ("4K", "8K", "16K", "64K", "128K")]
    assert rooms == sorted(rooms)
    assert rooms[0] < 0.65 * rooms[-1], "one block, its parity and nothing else"


@pytest.mark.parametrize("share", ["1%", "33.333%", "80%", "100%"])
@pytest.mark.parametrize("block", ["4K", "16K", "1M"])
def test_a_share_is_whole_blocks(share: str, block: str) -> None:
    volume = {"size": share, "properties": {"volblocksize": block}}
    found = plan(spec_of({"raidz2": "@d"}, volume=volume), {"vdevs[0].raidz2": 5}).targets[0].size_bytes
    assert found % {"4K": 4096, "16K": 16384, "1M": 1 << 20}[block] == 0


def test_a_volume_that_does_not_fit_is_refused_unless_it_is_sparse() -> None:
    counts = {"vdevs[0].mirror": 2}
    with pytest.raises(ProblemError) as caught:
        plan(spec_of({"mirror": "@d"}, volume={"size": "100GiB"}), counts)
    assert caught.value.problems[0].code == "zpool-too-small"
    sparse = spec_of({"mirror": "@d"}, volume={"size": "100GiB", "sparse": True})
    assert plan(sparse, counts).targets[0].size_bytes == 100 * GIB


@pytest.mark.parametrize(("size", "real", "made"), [("80%", 0.99, 63 / 64), ("80%", 0.9, None), ("5GiB", 0.99, None)])
def test_a_share_of_the_room_is_what_this_zfs_has_room_for(
    tmp_path: Path, size: str, real: float, made: float | None
) -> None:
    zpool = plan(spec_of({"mirror": "@d"}, volume={"size": size}), {"vdevs[0].mirror": 2}).build[0].args
    tried: list[int] = []

    class Full(Builder):
        def call(self, function: str, **args: Any) -> Built:
            assert (function, args["zpool"]) == ("zfs.create", zpool)
            tried.append(args["size_bytes"])
            return Built(tried[-1] <= real * zpool.size_bytes, (("lzc_create", str(tried[-1])),))

    context = Context("t", tmp_path, {}, lambda *_: None, threading.Event(), builder=Full(tmp_path))
    if made is None:
        with pytest.raises(CallFailed, match="out of space"):
            build.create_fitting_volumes(context, zpool)
        assert min(tried) >= (zpool.least_bytes or zpool.size_bytes)
    else:
        made_bytes, calls = build.create_fitting_volumes(context, zpool)
        assert (made_bytes, calls) == (tried[-1], (("lzc_create", str(tried[-1])),))
        assert tried[-1] == pytest.approx(made * zpool.size_bytes, rel=1e-3)
        assert tried[-1] % (16 << 10) == 0
    assert tried[0] == zpool.size_bytes


def test_what_cannot_be_is_refused_with_a_reason() -> None:
    with pytest.raises(ProblemError) as caught:
        plan(spec_of({"mirror": "@d"}), {"vdevs[0].mirror": 2}, size_bytes=60 * MIB)
    assert caught.value.problems[0].code == "zpool-too-small"
    large = (Part("disk:a", "/dev/a", GIB, 4096, ("a",)),)
    with pytest.raises(ProblemError) as caught:
        LAYER.plan(spec_of({"stripe": "@d"}, properties={"ashift": 9}), {"vdevs[0].stripe": large}, Names("t"), Policy())
    assert caught.value.problems[0].place == "zpool.properties.ashift"
    assert LAYER.plan(spec_of({"stripe": "@d"}), {"vdevs[0].stripe": large}, Names("t"), Policy())


@pytest.mark.parametrize("name", ["vdevs[0].stripe", "log", "special"])
def test_a_pool_stands_on_no_pool_however_deep(name: str) -> None:
    pool = {"zpool": {"vdevs": [{"stripe": "@a"}], "volume": {"size": "50%"}}}
    deep = {"md": {"level": "raid1", "on": [{"lvm": {"on": pool}}, "@b"]}}
    spec = spec_of({"stripe": deep}) if name.startswith("vdevs") else spec_of({"stripe": "@d"}, **{name: deep})
    found = LAYER.check(spec, {"vdevs[0].stripe": 1, name: 1}, "$.l.zpool")
    assert [(problem.code, problem.place) for problem in found] == [("zpool-on-zpool", f"$.l.zpool.{name}")]


@pytest.mark.parametrize(
    ("vdev", "count", "may_fail", "penalty"),
    [
        ({"stripe": "@d"}, 4, 0, 1.0),
        ({"mirror": "@d"}, 3, 2, 3.0),
        ({"mirror": "@d", "per": 2}, 4, 1, 2.0),
        ({"raidz1": "@d"}, 3, 1, 3.0),
        ({"raidz2": "@d"}, 8, 2, 6.0),
        ({"draid1": "@d", "data": 3}, 8, 1, 4.0),
    ],
)
def test_shape(vdev: dict[str, Any], count: int, may_fail: int, penalty: float) -> None:
    (kind,) = (name for name in vdev if name not in ("per", "data"))
    spec, counts = spec_of(vdev), {f"vdevs[0].{kind}": count}
    shape = LAYER.shape(spec, parts_of(counts))
    assert (shape.may_fail, shape.write_penalty) == (may_fail, penalty)


@pytest.mark.parametrize(
    ("spec", "counts", "words"),
    [
        (spec_of({"stripe": "@d"}), {"vdevs[0].stripe": 1}, "one disk, blocks of 16KiB"),
        (
            spec_of({"mirror": "@d", "per": 2}, log="@l"),
            {"vdevs[0].mirror": 4, "log": 1},
            "2 × mirror of 2, log, blocks of 16KiB",
        ),
        (
            spec_of({"draid1": "@d", "data": 2}, inherited={"compression": "lz4"}),
            {"vdevs[0].draid1": 6},
            "draid1:2d:6c:0s, compression lz4, blocks of 16KiB",
        ),
        (
            spec_of({"mirror": "@d"}, dataset={"properties": {"dedup": "on"}}, inherited={"recordsize": "1M"}),
            {"vdevs[0].mirror": 2},
            "mirror of 2, dedup on, files in records of 1024KiB",
        ),
    ],
)  # fmt: skip
def test_words(spec: Any, counts: dict[str, int], words: str) -> None:
    assert LAYER.describe(spec, counts) == words


def test_a_pool_is_divided_into_volumes_alike() -> None:
    spec = spec_of({"stripe": "@d"}, volumes=3)
    planned = plan(spec, {"vdevs[0].stripe": 2})
    volume = next(draft for draft in planned.build if draft.action == "zpool.volume")
    assert [argv[-1] for argv in volume.commands] == [f"{NAME}/vol", f"{NAME}/vol2", f"{NAME}/vol3"]
    assert len({argv[:-1] for argv in volume.commands}) == 1
    assert [argv[-1] for argv in planned.teardown[0].commands] == [f"{NAME}/vol", f"{NAME}/vol2", f"{NAME}/vol3", NAME]
    assert planned.targets[0].paths == tuple(f"/dev/zvol/{NAME}/{name}" for name in ("vol", "vol2", "vol3"))
    assert [part.ref for part in planned.offers] == [f"zpool:{NAME}", f"zpool:{NAME}-2", f"zpool:{NAME}-3"]
    whole = plan(spec_of({"stripe": "@d"}), {"vdevs[0].stripe": 2}).targets[0].size_bytes
    assert 0.95 * whole <= 3 * planned.targets[0].size_bytes <= whole
    assert LAYER.describe(spec, {"vdevs[0].stripe": 2}) == "stripe of 2, 3 volumes, blocks of 16KiB"


def test_volumes_that_do_not_fit_are_made_anew_and_all_of_one_size(tmp_path: Path) -> None:
    zpool = plan(spec_of({"stripe": "@d"}, volumes=2), {"vdevs[0].stripe": 2}).build[0].args
    there: dict[str, int] = {}

    class Small(Builder):
        def call(self, function: str, **args: Any) -> Built:
            if function == "zfs.destroy":
                del there[args["dataset"]]
                return Built(None, ())
            name, size_bytes = args["zpool"].dataset, args["size_bytes"]
            fits = sum(there.values()) + size_bytes <= 1.98 * zpool.size_bytes
            there.update({name: size_bytes} if fits else {})
            return Built(fits, (("lzc_create", name, str(size_bytes)),))

    context = Context("t", tmp_path, {}, lambda *_: None, threading.Event(), builder=Small(tmp_path))
    size_bytes, calls = build.create_fitting_volumes(context, zpool)
    assert there == {f"{NAME}/vol": size_bytes, f"{NAME}/vol2": size_bytes}
    assert [argv[1] for argv in calls] == [f"{NAME}/vol", f"{NAME}/vol2"]
    assert size_bytes == pytest.approx(zpool.size_bytes * 63 / 64, rel=1e-3)


def test_several_volumes_are_rewound_and_not_rolled_back() -> None:
    spec, counts = spec_of({"stripe": "@d"}, volumes=2, volume={"size": "40%"}), {"vdevs[0].stripe": 2}
    with pytest.raises(ProblemError) as caught:
        plan(spec, counts, policy=Policy(reset="rollback"))
    assert caught.value.problems[0].code == "zpool-volumes"
    assert plan(spec, counts, policy=Policy(reset="rewind")).renewed
    dataset = spec_of({"stripe": "@d"}, volumes=2, dataset={})
    assert [problem.code for problem in LAYER.check(dataset, counts, "$.zpool")] == ["zpool-volumes"]
