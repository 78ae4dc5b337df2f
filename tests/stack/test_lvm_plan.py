"""A plan of a volume says what will run, word for word, and how large the volume will be, to the extent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from lvm_cases import GIB, commands, disks, parts_of, plan, short, spec_of

from raidtui.model.plan import Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack import calls
from raidtui.stack.layer import Part
from raidtui.stack.lvm import LAYER, build
from raidtui.stack.lvm.commands import CONFIG, lvm_uuid
from raidtui.stack.lvm.devices import Status, parse_label
from raidtui.stack.lvm.health import problems_of
from raidtui.stack.lvm.pool import pool_differences
from raidtui.stack.lvm.read_back import missing_extents, size_differences
from raidtui.stack.lvm.size import data_start, rows

MIB = 1 << 20
NAMES = Names("abcd1234")
GROUP = NAMES.new("lvm")
PVS = [lvm_uuid(NAMES.new("lvm-pv").uuid) for _ in range(3)]
SKIP = Policy(initial_sync="skip-if-zeroed")


def test_a_raid5_is_created_by_these_commands() -> None:
    planned = plan(spec_of(type="raid5", size="1GiB"), {"on": 3}, policy=SKIP)
    assert commands(planned) == {
        "lvm.group": (
            *(("lvm", "pvcreate", f"/dev/on{i}", "--dataalignment=1024K", "--uuid", PVS[i], "--norestorefile")
              for i in range(3)),
            ("lvm", "vgcreate", "-s", "4096K", GROUP.name, "/dev/on0", "/dev/on1", "/dev/on2", "--setautoactivation", "n"),
        ),
        "lvm.volume": (
            ("lvm", "lvcreate", "--name", "volume", "--size", "1048576K", GROUP.name, "/dev/on0", "/dev/on1", "/dev/on2",
             "--type", "raid5", "--alloc", "normal", "--stripes", "2", "--stripesize", "64K", "--regionsize", "2048K",
             "--nosync"),
        ),
        "lvm.verify": (),
    }  # fmt: skip
    assert [short(argv) for argv in planned.teardown[0].commands] == [
        ("lvm", "vgchange", "--activate", "n", GROUP.name),
        ("lvm", "lvremove", GROUP.name),
        ("lvm", "vgremove", GROUP.name),
        ("lvm", "pvremove", "/dev/on0", "/dev/on1", "/dev/on2"),
    ]


def test_a_cachevol_is_put_in_front_by_these_commands() -> None:
    spec = spec_of(type="striped", cache={"on": "@fast", "mode": "writeback", "chunk": "128KiB"})
    planned = plan(spec, {"on": 2, "cache.on": 1})
    assert commands(planned)["lvm.cache"] == (
        ("lvm", "lvcreate", "--name", "fast", "--size", "8384512K", GROUP.name, "/dev/cache0",
         "--type", "linear", "--alloc", "normal", "--activate", "n", "--zero", "n", "--wipesignatures", "n"),
        ("lvm", "lvconvert", "--type", "cache", "--cachevol", f"{GROUP.name}/fast", "--cachemode", "writeback",
         "--cachepolicy", "smq", "--chunksize", "128K", f"{GROUP.name}/volume"),
    )  # fmt: skip
    assert planned.build[1].commands[0][6:9] == (GROUP.name, "/dev/on0", "/dev/on1"), "data stays on its own devices"


def test_a_cache_pool_and_a_writecache_are_put_in_front_by_these_commands() -> None:
    pool = plan(spec_of(cache={"on": "@fast", "kind": "pool", "mode": "passthrough"}), {"on": 1, "cache.on": 1})
    assert commands(pool)["lvm.cache"] == (
        ("lvm", "lvcreate", "--name", "fast", "--size", "8372224K", GROUP.name, "/dev/cache0",
         "--type", "cache-pool", "--poolmetadatasize", "12288K", "--poolmetadataspare", "n", "--chunksize", "64K",
         "--cachemode", "passthrough"),
        ("lvm", "lvconvert", "--type", "cache", "--cachepool", f"{GROUP.name}/fast", "--cachemode", "passthrough",
         "--cachepolicy", "smq", f"{GROUP.name}/volume"),
    )  # fmt: skip
    spec = spec_of(writecache={"on": "@fast", "size": "1GiB", "high_watermark": 60, "writeback_jobs": 64})
    assert commands(plan(spec, {"on": 1, "writecache.on": 1}))["lvm.cache"][1] == (
        "lvm", "lvconvert", "--type", "writecache", "--cachevol", f"{GROUP.name}/fast", "--cachesettings",
        "block_size=4096", "--cachesettings", "high_watermark=60", "--cachesettings", "writeback_jobs=64",
        f"{GROUP.name}/volume",
    )  # fmt: skip


def test_a_vdo_and_a_thin_volume_are_made_by_these_commands() -> None:
    planned = plan(spec_of(type="raid5", vdo={"virtual_size": "8TB", "compression": False}), {"on": 3})
    assert planned.build[1].commands[0][3:5] == ("pool", "--size")
    assert commands(planned)["lvm.pool"] == (
        ("lvm", "lvconvert", "--type", "vdo-pool", "--name", "volume", "--virtualsize", "7812501504K", "--compression", "n",
         "--deduplication", "y", "--vdosettings", "slab_size_mb=2048", "--vdosettings", "index_memory_size_mb=256",
         f"{GROUP.name}/pool"),
    )  # fmt: skip
    assert planned.targets[0].size_bytes == 7812501504 << 10
    assert planned.offers
    assert planned.offers[0].logical_sector_bytes == 4096
    thin = plan(spec_of(type="raid1", thin={"virtual_size": "50%"}), {"on": 2})
    assert commands(thin)["lvm.pool"] == (
        ("lvm", "lvcreate", "--name", "meta", "--size", "16384K", GROUP.name, "/dev/on0", "/dev/on1",
         "--type", "raid1", "--mirrors", "1", "--activate", "n", "--zero", "n", "--wipesignatures", "n"),
        ("lvm", "lvconvert", "--type", "thin-pool", "--poolmetadata", f"{GROUP.name}/meta", "--poolmetadataspare", "n",
         "--chunksize", "64K", "--zero", "y", "--discards", "passdown", "--errorwhenfull", "y", f"{GROUP.name}/pool"),
        ("lvm", "lvcreate", "--type", "thin", "--name", "volume", "--virtualsize", "4177920K", "--thinpool", "pool",
         GROUP.name),
    )  # fmt: skip


def test_a_thin_volume_that_lvm_reports_as_asked_has_no_differences() -> None:
    group = plan(spec_of(thin={"chunk": "128KiB"}), {"on": 1}).build[0].args
    pool_row = {"segtype": "thin-pool", "chunk_size": "131072", "discards": "passdown", "zero": "zero",
                "lv_when_full": "error", "lv_metadata_size": str(group.thin.metadata_bytes)}  # fmt: skip
    volume_row = {"segtype": "thin", "lv_size": str(group.target_bytes), "pool_lv": "pool"}
    assert pool_differences(group, {"volume": volume_row, "pool": pool_row}, 0) == []
    wrong = pool_differences(group, {"volume": volume_row, "pool": {**pool_row, "chunk_size": "65536"}}, 0)
    assert [str(one) for one in wrong] == ["pool chunk_size: asked 131072, found 65536"]


def test_a_thin_volume_whose_pool_lies_on_vdo_is_made_by_these_commands() -> None:
    options = {"vdo": {"virtual_size": "1TiB"}, "thin": {"virtual_size": "10%", "chunk": "1MiB"}}
    planned = plan(spec_of(type="striped", **options), {"on": 2})
    assert commands(planned)["lvm.pool"] == (
        ("lvm", "lvconvert", "--type", "vdo-pool", "--name", "thin", "--virtualsize", "1073741824K", "--compression", "y",
         "--deduplication", "y", "--vdosettings", "slab_size_mb=2048", "--vdosettings", "index_memory_size_mb=256",
         f"{GROUP.name}/pool"),
        ("lvm", "lvcreate", "--name", "meta", "--size", "65536K", GROUP.name, "/dev/on0", "/dev/on1",
         "--type", "linear", "--activate", "n", "--zero", "n", "--wipesignatures", "n"),
        ("lvm", "lvconvert", "--type", "thin-pool", "--poolmetadata", f"{GROUP.name}/meta", "--poolmetadataspare", "n",
         "--chunksize", "1024K", "--zero", "y", "--discards", "passdown", "--errorwhenfull", "y", f"{GROUP.name}/thin"),
        ("lvm", "lvcreate", "--type", "thin", "--name", "volume", "--virtualsize", "107372544K", "--thinpool", "thin",
         GROUP.name),
    )  # fmt: skip
    assert planned.targets[0].size_bytes == 107372544 << 10
    args = planned.build[0].args
    assert args.data_name(pooled=True) == "pool_vdata"
    assert LAYER.describe(spec_of(**options), {"on": 1}) == "linear of 1, VDO with compression and deduplication, thin"


def test_a_pool_with_a_cache_is_cached_before_it_becomes_one() -> None:
    spec = spec_of(type="striped", cache={"on": "@fast"}, vdo={})
    planned = plan(spec, {"on": 2, "cache.on": 1})
    assert [draft.action for draft in planned.build] == ["lvm.group", "lvm.volume", "lvm.cache", "lvm.pool", "lvm.verify"]
    assert commands(planned)["lvm.cache"][1][-1] == f"{GROUP.name}/pool"
    args = planned.build[0].args
    assert [args.origin_name(pooled=pooled) for pooled in (False, True)] == ["pool_corig", "pool_vdata_corig"]
    thin = plan(spec_of(writecache={"on": "@fast"}, thin={}), {"on": 1, "writecache.on": 1}).build[0].args
    assert thin.origin_name(pooled=True) == "pool_tdata_wcorig"
    assert thin.is_cached({"pool", "pool_tdata", "pool_tdata_wcorig"})
    assert not thin.is_pooled({"pool", "pool_wcorig"})


def test_every_command_sees_its_own_devices_only_and_starts_no_daemon() -> None:
    planned = plan(spec_of(type="striped"), {"on": 2})
    for argv in [argv for draft in (*planned.build, *planned.teardown) for argv in draft.commands]:
        assert argv[-4:] == ("--devices", "/dev/on0,/dev/on1", "--config", CONFIG)
    assert "monitoring=0" in CONFIG


@pytest.mark.parametrize(
    ("options", "counts", "words"),
    [
        ({"type": "striped"}, {"on": 4}, ("--type", "striped", "--alloc", "normal", "--stripes", "4")),
        ({"type": "striped", "stripe_size": "256KiB"}, {"on": 4}, ("--stripesize", "256K")),
        ({"type": "raid5", "allocation": "anywhere"}, {"on": 6}, ("--alloc", "anywhere", "--stripes", "5")),
        ({"type": "raid6"}, {"on": 6}, ("--stripes", "4")),
        ({"type": "raid1"}, {"on": 3}, ("--mirrors", "2", "--regionsize", "2048K")),
        ({"type": "raid10"}, {"on": 6}, ("--stripes", "3", "--stripesize", "64K", "--mirrors", "1")),
        ({"type": "raid1", "mirrors": 2, "region_size": "8MiB"}, {"on": 6}, ("--mirrors", "2", "--regionsize", "8192K")),
        ({"type": "linear"}, {"on": 2}, ("--type", "linear", "--alloc", "normal", "--devices")),
    ],
)
def test_options_become_these_words(options: dict[str, Any], counts: dict[str, int], words: tuple[str, ...]) -> None:
    (argv,) = plan(spec_of(**options), counts).build[1].commands
    assert any(argv[i : i + len(words)] == words for i in range(len(argv))), argv


@pytest.mark.parametrize(
    ("options", "count", "extents"),
    [
        ({"type": "linear"}, 2, 2 * 2047),
        ({"type": "linear", "allocation": "contiguous"}, 2, 2047),
        ({"type": "striped"}, 4, 4 * 2047),
        ({"type": "striped", "stripes": 3}, 4, 3 * 2047),
        ({"type": "striped", "stripes": 2}, 4, 4 * 2047),
        ({"type": "striped", "size": "50%"}, 4, 2 * 2047 // 4 * 4),
        ({"type": "striped", "size": "1GiB"}, 3, 258),
        ({"type": "raid0"}, 3, 3 * 2047),
        ({"type": "raid1"}, 3, 2046),
        ({"type": "raid1", "mirrors": 1}, 4, 2 * 2047 - 1),
        ({"type": "raid5"}, 4, 3 * 2046),
        ({"type": "raid6"}, 6, 4 * 2046),
        ({"type": "raid10"}, 4, 2 * 2046),
        ({"type": "linear", "extent_size": "32MiB"}, 1, 255),
    ],
)
def test_the_size_is_known_to_the_extent(options: dict[str, Any], count: int, extents: int) -> None:
    """As lvcreate 2.03.31 finds them on devices of 2047 extents of 4 MiB."""
    planned = plan(spec_of(**options), {"on": count})
    assert planned.build[1].args.volume.extents == extents


def test_devices_of_different_sizes_are_used_from_the_largest_on() -> None:
    assert rows([10, 5, 5], 2, "normal") == 10
    assert rows([10, 8, 3, 3], 2, "cling") == 8
    assert rows([10, 5, 3], 1, "normal") == 18
    assert rows([10, 5], 3, "normal") == 0


def test_sizes_on_unequal_devices_are_those_that_lvm_finds() -> None:
    """As lvcreate 2.03.31 does on five devices of 63 extents and one of 127."""
    free = [63, 63, 63, 63, 63, 127]
    assert rows(free, 1, "normal") == 442
    assert rows(free, 3, "normal") * 3 == 378
    assert rows(free[:5], 2, "normal") * 2 == 252
    assert rows(free[:5], 3, "normal", images=True) - 1 == 62
    assert rows(free[:4], 2, "normal", images=True) - 1 == 125
    assert rows(free, 2, "normal", images=True) == 63, "LVM puts no two images on one device"


def test_data_begins_on_a_stripe_of_the_layer_below() -> None:
    assert data_start(None) == (1 << 20, 1 << 20)
    assert data_start(3 * 512 << 10) == (3 * 512 << 10, 3 * 512 << 10)
    assert data_start(128 << 10) == (1 << 20, 128 << 10)


def test_the_initial_sync_is_left_out_only_over_disks_that_can_be_proven_zero() -> None:
    planned = plan(spec_of(type="raid1"), {"on": 2}, policy=SKIP)
    assert planned.needs_zero
    assert [draft.action for draft in planned.build] == ["lvm.group", "lvm.volume", "lvm.verify"]
    below = tuple(Part(f"md:rt{i}", f"/dev/md/rt{i}", 8 * GIB, 512, (f"a{i}", f"b{i}")) for i in range(2))
    stacked = LAYER.plan(spec_of(type="raid1"), {"on": below}, Names("t"), SKIP)
    assert not stacked.needs_zero
    assert [draft.action for draft in stacked.build] == ["lvm.group", "lvm.volume", "lvm.sync", "lvm.verify"]
    assert stacked.build[0].args.disks == ("a0", "b0", "a1", "b1")
    raid6 = plan(spec_of(type="raid6"), {"on": 5}, policy=SKIP)
    assert not raid6.needs_zero, "LVM leaves it out for no raid6"
    assert not plan(spec_of(type="striped"), {"on": 2}, policy=SKIP).needs_zero


def test_every_step_knows_the_uuids_before_there_is_a_group() -> None:
    planned = plan(spec_of(type="raid5"), {"on": 3})
    assert planned.build[0].creates == GROUP
    for draft in (*planned.build, *planned.teardown):
        assert [pv.uuid for pv in draft.args.pvs] == PVS
    leaves = LAYER.actions["lvm.group"].leaves(planned.build[0].args)
    assert leaves == tuple(("LVM2_member", uuid) for uuid in PVS)
    assert planned.teardown[0].commands == planned.build[0].undo


@pytest.mark.parametrize(
    ("options", "count", "may_fail", "penalty", "stripe"),
    [
        ({"type": "linear"}, 4, 0, 1, None),
        ({"type": "striped"}, 4, 0, 1, 4 * 64 << 10),
        ({"type": "raid1"}, 3, 2, 3, None),
        ({"type": "raid5"}, 4, 1, 2, 3 * 64 << 10),
        ({"type": "raid5", "allocation": "anywhere"}, 4, 0, 2, 3 * 64 << 10),
        ({"type": "raid6"}, 6, 2, 3, 4 * 64 << 10),
        ({"type": "raid10"}, 4, 1, 2, 2 * 64 << 10),
    ],
)
def test_shape(options: dict[str, Any], count: int, may_fail: int, penalty: float, stripe: int | None) -> None:
    shape = LAYER.shape(spec_of(**options), parts_of({"on": count}))
    assert (shape.may_fail, shape.write_penalty, shape.stripe_bytes) == (may_fail, penalty, stripe)
    assert shape.reads_to_write == (options["type"] in ("raid5", "raid6"))
    (offers,) = plan(spec_of(**options), {"on": count}).offers
    assert offers.stripe_bytes == stripe


KIB = 1 << 10
RAID5 = (64 * KIB, 192 * KIB)
"""Chunk and stripe of an array of four."""


@pytest.mark.parametrize(
    ("options", "below", "shown"),
    [
        ({"type": "striped", "stripe_size": "256KiB"}, [None] * 3, (256 * KIB, 768 * KIB)),
        ({"type": "raid6"}, [None] * 6, (64 * KIB, 256 * KIB)),
        ({"type": "raid10"}, [RAID5] * 4, (64 * KIB, 128 * KIB)),
        ({"type": "linear"}, [None], (None, None)),
        ({"type": "linear"}, [RAID5], RAID5),
        ({"type": "linear", "cache": {"on": "@fast"}}, [RAID5], RAID5),
        ({"type": "linear"}, [RAID5, RAID5], (None, None)),
        ({"type": "linear", "extent_size": "6MiB"}, [RAID5, RAID5], RAID5),
        ({"type": "linear"}, [(64 * KIB, 128 * KIB)] * 2, (64 * KIB, 128 * KIB)),
        ({"type": "linear"}, [(64 * KIB, 128 * KIB), None], (None, None)),
        ({"type": "raid1"}, [RAID5, RAID5], (None, None)),
        ({"type": "raid1"}, [(64 * KIB, 256 * KIB)] * 2, (64 * KIB, 256 * KIB)),
        ({"type": "striped", "vdo": {}}, [None] * 2, (None, None)),
        ({"type": "striped", "thin": {}}, [None] * 2, (None, None)),
    ],
)
def test_a_filesystem_above_is_told_of_the_stripes_that_its_extents_begin_on(
    options: dict[str, Any], below: list[tuple[int, int] | None], shown: tuple[int | None, int | None]
) -> None:
    on = tuple(
        part._replace(chunk_bytes=of[0] if of else None, stripe_bytes=of[1] if of else None)
        for part, of in zip(disks("on", [8 * GIB] * len(below)), below, strict=True)
    )
    parts = {"on": on} | ({"cache.on": disks("fast", [GIB])} if "cache" in options else {})
    (offers,) = LAYER.plan(spec_of(**options), parts, Names("t"), Policy()).offers
    assert (offers.chunk_bytes, offers.stripe_bytes) == shown
    shape = LAYER.shape(spec_of(**options), parts)
    assert (shape.chunk_bytes, shape.stripe_bytes) == shown


def test_the_threads_of_vdo_are_among_its_settings() -> None:
    planned = plan(spec_of(vdo={"bio_threads": 8, "physical_threads": 2, "block_map_cache": "256MiB"}), {"on": 1})
    (argv,) = commands(planned)["lvm.pool"]
    settings = [argv[i + 1] for i, word in enumerate(argv) if word == "--vdosettings"]
    assert settings == [
        "slab_size_mb=2048", "index_memory_size_mb=256", "block_map_cache_size_mb=256",
        "bio_threads=8", "physical_threads=2",
    ]  # fmt: skip
    with pytest.raises(ProblemError) as caught:
        plan(spec_of(vdo={"physical_threads": 3}), {"on": 1})
    assert caught.value.problems[0].code == "lvm-too-small", "there is room for two slabs"


@pytest.mark.parametrize("kind", ["thin", "vdo"])
def test_a_virtual_volume_may_show_more_than_there_is(kind: str) -> None:
    once, thrice = (plan(spec_of(**{kind: {"virtual_size": share}}), {"on": 1}).targets[0] for share in ("100%", "300%"))
    assert thrice.size_bytes == 3 * once.size_bytes
    (caution,) = LAYER.cautions(spec_of(**{kind: {"virtual_size": "300%"}}), ())
    assert "300%" in caution
    assert LAYER.cautions(spec_of(**{kind: {}}), ()) == ()
    for options in ({kind: {"virtual_size": "10001%"}}, {"size": "101%"}):
        with pytest.raises(ProblemError) as caught:
            spec_of(**options)
        assert "a share is more than 0% and at most" in caught.value.problems[0].message


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"thin": {"virtual_size": "17PiB"}}, "lvm-extent-size"),
        ({"extent_size": "1MiB", "vdo": {"virtual_size": "4PiB"}}, "lvm-extent-size"),
        ({"size": "100TiB", "extent_size": "64MiB", "vdo": {"virtual_size": "5000%"}}, "lvm-vdo"),
    ],
)
def test_a_virtual_volume_is_no_larger_than_lvm_and_vdo_count(options: dict[str, Any], code: str) -> None:
    with pytest.raises(ProblemError) as caught:
        plan(spec_of(**options), {"on": 1}, 100 * GIB << 11)
    (problem,) = caught.value.problems
    assert problem.code == code
    assert problem.place.endswith(".virtual_size")


def test_regions_are_as_large_as_asked_or_refused_with_the_least_that_works() -> None:
    def regions(**options: Any) -> Any:
        return plan(spec_of(type="raid1", **options), {"on": 2}, 100 * GIB).build[1].args.volume.region_bytes

    assert (regions(), regions(region_size="64KiB")) == (2048 * KIB, 64 * KIB)
    with pytest.raises(ProblemError) as caught:
        regions(region_size="4KiB")
    (problem,) = caught.value.problems
    assert (problem.code, problem.place, problem.remedy) == ("lvm-region-size", "lvm.region_size", "At least 64KiB.")


def test_a_device_of_dm_raid_counts_twice_and_what_stands_on_it_once() -> None:
    for options, counted in (
        ({"type": "striped"}, "exactly"),
        ({"type": "raid5"}, "at least"),
        ({"type": "raid5", "vdo": {}}, "exactly"),
    ):
        (target,) = plan(spec_of(**options), {"on": 3}).targets
        assert target.counted == counted


def test_what_does_not_fit_and_what_does_not_mix_is_refused() -> None:
    for spec, parts, code in (
        (spec_of(type="raid1"), {"on": disks("on", [4 << 20, 4 << 20])}, "lvm-too-small"),
        (spec_of(size="9GiB"), {"on": disks("on", [8 * GIB])}, "lvm-too-small"),
        (spec_of(), {"on": (*disks("a", [8 * GIB]), *disks("b", [8 * GIB], sector=4096))}, "lvm-sectors"),
    ):
        with pytest.raises(ProblemError) as caught:
            LAYER.plan(spec, parts, Names("t"), Policy())
        assert caught.value.problems[0].code == code


def test_vdo_has_slabs_of_which_there_are_not_too_many() -> None:
    def vdo(size_bytes: int, **options: Any) -> Any:
        spec = spec_of(vdo={"virtual_size": "1TiB", **options})
        return commands(LAYER.plan(spec, {"on": disks("on", [size_bytes])}, Names("t"), Policy()))["lvm.pool"][0]

    assert "slab_size_mb=2048" in vdo(16 << 40)
    assert "slab_size_mb=4096" in vdo(17 << 40)
    for size_bytes, options in ((2 << 40, {"slab_size": "128MiB"}), (300 << 40, {})):
        with pytest.raises(ProblemError) as caught:
            vdo(size_bytes, **options)
        assert caught.value.problems[0].code == "lvm-vdo"
        assert caught.value.problems[0].remedy


def test_a_cache_has_at_most_as_many_chunks_as_lvm_takes() -> None:
    parts = {"on": disks("on", [8 * GIB]), "cache.on": disks("fast", [100 * GIB])}
    for kind in ("cachevol", "pool"):
        asked = spec_of(cache={"on": "@f", "kind": kind, "chunk": "32KiB"})
        with pytest.raises(ProblemError) as caught:
            LAYER.plan(asked, parts, Names("t"), Policy())
        assert caught.value.problems[0].place == "lvm.cache.chunk"
        assert LAYER.plan(spec_of(cache={"on": "@f", "kind": kind, "chunk": "128KiB"}), parts, Names("t"), Policy())


def test_every_option_says_what_it_comes_to() -> None:
    spec = spec_of(type="raid5")
    found = LAYER.defaults(spec, {"on": 6})
    optional = {name for name in spec.__struct_fields__ if name != "on"}
    assert set(found) == optional
    assert found["stripes"][0] == "5"
    assert LAYER.describe(spec, {"on": 6}) == "raid5 of 6, stripe 64KiB"
    assert LAYER.tolerates_failures(spec, {"on": 6})["on"][0] == 1
    assert LAYER.tolerates_failures(spec_of(type="striped"), {"on": 6})["on"][0] == 0


def test_a_cache_that_holds_what_is_nowhere_else_must_not_be_lost() -> None:
    for mode, count in (("writeback", 0), ("writethrough", 1)):
        spec = spec_of(type="raid1", cache={"on": "@fast", "mode": mode})
        counts = {"on": 2, "cache.on": 1}
        assert LAYER.tolerates_failures(spec, counts)["cache.on"][0] == count
        assert LAYER.shape(spec, parts_of(counts)).may_fail == count
        assert dict(LAYER.inputs(spec)).keys() == {"on", "cache.on"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("raid raid5_ls 3 AAA 10/10 idle 0 0 -", []),
        ("raid raid5_ls 3 AAa 4/10 recover 0 0 -", ["v is busy with recover"]),
        ("raid raid5_ls 3 ADA 10/10 idle 0 0 -", ["v has a dead image"]),
        ("mirror 2 253:1 253:2 3/8 1 AA 1 core", ["v is not in sync"]),
        ("cache 8 15/2048 256 13/3136 6 34 0 0 0 13 0 2 metadata2 writeback 2 m 4096 smq 0 rw -", []),
        ("cache 8 15/2048 256 13/3136 6 34 0 0 0 13 0 1 writeback 2 m 4096 smq 0 ro needs_check",
         ["the metadata of cache v is read-only", "cache v needs a check"]),
        ("cache Fail", ["v failed"]),
        ("writecache 0 1000 900 0", []),
        ("writecache 5 1000 900 0", ["writecache v has an error"]),
        ("thin-pool 1 113/1024 0/16384 - rw no_discard_passdown error_if_no_space - 256", []),
        ("thin-pool 1 113/1024 9/9 - out_of_data_space discard_passdown error_if_no_space - 256",
         ["thin pool v is out_of_data_space"]),
        ("vdo /dev/dm-6 normal - online offline 787299 1572864", []),
        ("vdo /dev/dm-6 read-only - error offline 9 9",
         ["VDO pool v is read-only", "the index of VDO pool v is error", "VDO pool v is full"]),
        ("integrity 0 100 50", ["v is not in sync"]),
        ("integrity 3 100 -", ["v found wrong checksums"]),
    ],
)  # fmt: skip
def test_what_the_kernel_says_of_a_target_is_understood(line: str, said: list[str]) -> None:
    target, *words = line.split()
    assert problems_of(Status("v", target, tuple(words))) == said


def test_a_label_is_known_by_its_uuid() -> None:
    label = b"LABELONE" + (1).to_bytes(8, "little") + bytes(4) + (32).to_bytes(4, "little") + b"LVM2 001"
    block = bytes(512) + label + PVS[0].replace("-", "").encode() + bytes(4096)
    assert parse_label(block) == PVS[0]
    assert parse_label(bytes(4096)) is None
    assert parse_label(block.replace(b"LVM2", b"LVM9")) is None


def test_a_volume_that_lvm_has_too_few_extents_for_gets_as_many_as_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of LVM keeps more room for itself: each of two devices has one extent less than planned."""
    group = plan(spec_of(type="striped"), {"on": 2}).build[0].args
    pvs = [{"pv_uuid": pv.uuid, "pv_pe_count": str(pv.extents - 1)} for pv in group.pvs]
    asked: list[int] = []

    def call(function: str, *, argv: tuple[str, ...], **_: object) -> None:
        assert function == "lvm.create_volume"
        asked.append(int(argv[argv.index("--size") + 1].removesuffix("K")) << 10)
        if asked[-1] > 2 * (group.pvs[0].extents - 1) * group.extent_bytes:
            raise calls.CallFailed(calls.TOOL_FAILED.problem("Insufficient suitable allocatable extents"), (argv,))

    context: Any = SimpleNamespace(builder=SimpleNamespace(call=call))
    argv = ("lvm", "lvcreate", "--name", "volume", "--size", f"{group.volume.size_bytes >> 10}K", group.name)
    missing = missing_extents(group, pvs)
    monkeypatch.setattr(build, "read_group", lambda *_: ({}, pvs))
    ran = build._run(context, group, argv, None, ())
    assert missing == 2
    assert asked == [group.volume.size_bytes, group.volume.size_bytes - 2 * group.extent_bytes]
    assert ran[5] == f"{asked[-1] >> 10}K", "the journal has the command that succeeded"
    assert size_differences(group, "lv_size", group.volume.size_bytes, str(asked[-1]), missing) == []
    assert size_differences(group, "lv_size", group.volume.size_bytes, str(asked[-1]), 0) != []
    whole = [{"pv_uuid": pv.uuid, "pv_pe_count": str(pv.extents)} for pv in group.pvs]
    monkeypatch.setattr(build, "read_group", lambda *_: ({}, whole))
    with pytest.raises(ProblemError):
        build._run(context, group, argv, None, ())


def test_a_group_is_divided_into_volumes_alike() -> None:
    spec = spec_of(type="striped", volumes=3)
    planned = plan(spec, {"on": 2})
    made = commands(planned)["lvm.volume"]
    assert [argv[3] for argv in made] == ["volume", "volume2", "volume3"]
    assert {(*argv[:3], *argv[4:]) for argv in made} == {(*made[0][:3], *made[0][4:])}, "all else is the same"
    assert [part.path.rpartition("/")[2] for part in planned.offers] == ["volume", "volume2", "volume3"]
    assert [part.ref for part in planned.offers] == [f"lvm:{GROUP.name}", f"lvm:{GROUP.name}-2", f"lvm:{GROUP.name}-3"]
    (target,) = planned.targets
    assert target.refs == tuple(part.ref for part in planned.offers)
    whole = plan(spec_of(type="striped"), {"on": 2}).targets[0].size_bytes
    assert whole - 3 * (8 << 20) <= 3 * target.size_bytes <= whole
    assert LAYER.devices(spec, {"on": 2}) == 3
    assert LAYER.shape(spec, parts_of({"on": 2})).size_bytes == 3 * target.size_bytes
    assert LAYER.describe(spec, {"on": 2}) == "striped of 2, stripe 64KiB, 3 volumes"


@pytest.mark.parametrize("kind", ["raid1", "raid5", "raid10", "mirror"])
def test_each_of_several_volumes_has_images_with_metadata_of_their_own(kind: str) -> None:
    free = parts_of({"on": 4})
    one, four = (LAYER.plan(spec_of(type=kind, volumes=number), free, NAMES, SKIP) for number in (1, 4))
    extents = (8 * GIB - MIB) // (4 * MIB) - 1
    each = four.build[1].args.volume
    rows = each.extents // each.stripes + 1
    assert 4 * rows <= extents + 1
    assert one.targets[0].size_bytes > 4 * four.targets[0].size_bytes


@pytest.mark.parametrize(("option", "value"), [("thin", {}), ("vdo", {}), ("cache", {"on": "@fast"})])
def test_several_volumes_have_no_pool_and_no_cache(option: str, value: dict[str, Any]) -> None:
    found = LAYER.check(spec_of(volumes=2, **{option: value}), {"on": 2, f"{option}.on": 1}, "$.lvm")
    assert ("lvm-volumes", "$.lvm.volumes") in [(problem.code, problem.place) for problem in found]
