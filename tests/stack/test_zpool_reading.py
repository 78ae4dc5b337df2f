"""What ZFS, its tools and its disks say is understood: pools as JSON, lists of properties, partition tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.stack.zfs import devices, free_space, pool, properties, property_list
from raidtui.stack.zfs.pool import Activity
from raidtui.stack.zfs.properties import check_form, check_known, fits, same

MIB = 1 << 20
COMPRESSION = "on | off | lzjb | gzip | gzip-[1-9] | zle | lz4 | zstd | zstd-[1-19] | zstd-fast | zstd-fast-[1-10,20,1000]"


def disk(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "vdev_type": "disk", "path": name, "state": "ONLINE", "read_errors": 0, **more}


STATUS = {
    "pools": {
        "rtx": {
            "name": "rtx", "state": "DEGRADED", "pool_guid": 17, "error_count": 2,
            "scan_stats": {"function": "RESILVER", "state": "SCANNING"},
            "vdevs": {"rtx": {"name": "rtx", "vdev_type": "root", "vdevs": {
                "raidz1-0": {"name": "raidz1-0", "vdev_type": "raidz", "state": "DEGRADED", "vdevs": {
                    "/dev/a1": disk("/dev/a1", write_errors=3), "/dev/b1": disk("/dev/b1", state="REMOVED")}},
                "/dev/c1": disk("/dev/c1", trim_state="ACTIVE")}}},
            "logs": {"mirror-1": {"name": "mirror-1", "vdev_type": "mirror", "vdevs": {"/dev/l1": disk("/dev/l1")}}},
            "l2cache": {"/dev/e1": disk("/dev/e1", init_state="ACTIVE")},
            "spares": {
                "draid1-0-0": {"name": "draid1-0-0", "vdev_type": "dspare"}, "/dev/s1": disk("/dev/s1", state="AVAIL")},
        }
    }
}  # fmt: skip


def test_a_pool_is_read_with_everything_in_it() -> None:
    found = pool.parse_status(STATUS, "rtx")
    assert found is not None
    assert (found.guid, found.state, found.scan, found.error_count) == ("17", "DEGRADED", "resilver", 2)
    assert [(top.role, top.name, len(top.leaves)) for top in found.tops] == [
        ("member", "raidz1-0", 2), ("member", "/dev/c1", 1), ("log", "mirror-1", 1), ("cache", "/dev/e1", 1),
        ("spare", "/dev/s1", 1),
    ]  # fmt: skip
    by_path = {leaf.path: leaf for leaf in found.leaves}
    assert (by_path["/dev/a1"].errors, by_path["/dev/b1"].state) == (3, "REMOVED")
    assert (by_path["/dev/c1"].busy, by_path["/dev/e1"].busy, by_path["/dev/s1"].busy) == ("trim", "initialize", "")
    assert pool.parse_status(STATUS, "other") is None


DONE = {"init_state": "COMPLETE", "initialized": 1044324864, "to_initialize": 1073611264, "init_errors": 0}
TRIMMED = {"trim_state": "COMPLETE", "trimmed": 1044232192, "to_trim": 1073563648, "trim_errors": 0, "trim_notsup": 0}


def pool_of(*leaves: dict[str, Any], **sections: Any) -> pool.Pool:
    tree = {"vdevs": {"rtx": {"vdevs": {leaf["name"]: leaf for leaf in leaves}}}, **sections}
    found = pool.parse_status({"pools": {"rtx": {"pool_guid": 1, "state": "ONLINE", **tree}}}, "rtx")
    assert found is not None
    return found


def test_a_trimmed_and_initialized_pool_is_complete_on_every_device_but_caches_and_spares() -> None:
    found = pool_of(
        disk("/dev/a1", **DONE, **TRIMMED), logs={"/dev/l1": disk("/dev/l1", **DONE, **TRIMMED)},
        l2cache={"/dev/e1": disk("/dev/e1", init_state="UNINITIALIZED", trim_state="UNTRIMMED", trim_notsup=0)},
        spares={"/dev/s1": disk("/dev/s1", state="AVAIL", init_state="UNINITIALIZED")},
    )  # fmt: skip
    initialized = free_space.activities(found, {}, "initialize")
    assert initialized["/dev/a1"] == Activity("COMPLETE", 1044324864, 1073611264)
    assert list(initialized) == list(free_space.activities(found, {}, "trim")) == ["/dev/a1", "/dev/l1"]
    for verb in ("initialize", "trim"):
        assert free_space.incomplete(free_space.activities(found, {}, verb), verb) == []


@pytest.mark.parametrize(
    ("verb", "told", "said"),
    [
        ("initialize", {}, "/dev/a1 is not initialized"),
        ("initialize", {**DONE, "init_state": "CANCELED"}, "/dev/a1 is canceled"),
        ("initialize", {**DONE, "init_state": "SUSPENDED"}, "/dev/a1 is suspended"),
        ("initialize", {**DONE, "init_errors": 2}, "/dev/a1 had 2 errors"),
        ("trim", {"trim_state": "UNTRIMMED", "trim_notsup": 1}, "/dev/a1 does not accept discards"),
        ("trim", {**TRIMMED, "trim_state": "ACTIVE"}, "/dev/a1 is active"),
    ],
)
def test_what_did_not_complete_is_said(verb: str, told: dict[str, Any], said: str) -> None:
    found = free_space.activities(pool_of(disk("/dev/a1", **told)), {}, verb)
    assert free_space.incomplete(found, verb) == [said]


def test_progress_is_told_by_device_as_long_as_there_are_few() -> None:
    half, quarter, done = Activity("ACTIVE", 50, 100), Activity("ACTIVE", 25, 100), Activity("COMPLETE", 97, 100)
    text, share = free_space.progress("initialize", {"A": half, "B": quarter, "C": Activity("ACTIVE")}, 10.0)
    assert (text, share) == ("zpool initialize: A 50 %, B 25 %, C 0 %, 30 s left", 0.25)
    text, _ = free_space.progress("trim", {**{f"D{at}": done for at in range(9)}, "A": half}, 1.0)
    assert text == "zpool trim: 9 of 10 devices, the slowest is A 50 %"


@pytest.mark.parametrize(
    ("value", "grammar", "taken"),
    [
        ("lz4", COMPRESSION, True), ("gzip-6", COMPRESSION, True), ("gzip-10", COMPRESSION, False),
        ("zstd-19", COMPRESSION, True), ("zstd-fast-20", COMPRESSION, True), ("zstd-fast-11", COMPRESSION, False),
        ("lz9", COMPRESSION, False), ("16K", "512 to 128k, power of 2", True), ("16384", "512 to 128k, power of 2", True),
        ("12K", "512 to 1M, power of 2", False), ("2M", "512 to 1M, power of 2", False),
        ("0", "zero or 512 to 1M, power of 2", True), ("0", "512 to 1M, power of 2", False),
        ("verify", "on | off | verify | sha256[,verify] | edonr,verify", True),
        ("sha256,verify", "on | off | verify | sha256[,verify] | edonr,verify", True),
        ("edonr", "on | off | verify | sha256[,verify] | edonr,verify", False),
        ("anything", "<size> | none", False), ("10G", "<size> | none", True), ("none", "<size> | none", True),
        ("12", "<ashift, 9-16, or 0=default>", True), ("x", "<ashift, 9-16, or 0=default>", False),
        ("anything", "<comment-string>", True), ("anything", "<file[,file...]> | off | legacy", True),
        ("anything", "", True),
    ],
)  # fmt: skip
def test_a_value_is_one_that_zfs_lists(value: str, grammar: str, taken: bool) -> None:
    assert fits(value, grammar) is taken


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_list_of_values_is_stumbled_over(value: str, grammar: str) -> None:
    fits(value, grammar)
    same("compression", value, grammar)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for of, name, facts in (
        ("pool", "failmode", {"values": "wait | continue | panic", "readonly": "0"}),
        ("pool", "size", {"values": "<size>", "readonly": "1"}),
        ("dataset", "recordsize", {"values": "512 to 1M, power of 2", "readonly": "0", "datasets": "filesystem "}),
        ("dataset", "acltype", {"values": "off | nfsv4 | posix", "readonly": "0", "datasets": "filesystem "}),
        ("dataset", "aclinherit", {"values": "discard | noallow | restricted | passthrough", "readonly": "0"}),
        ("dataset", "special_small_blocks", {"values": "zero or 512 to 1M, power of 2", "readonly": "0"}),
        ("dataset", "sync", {"values": "standard | always", "readonly": "0", "datasets": "filesystem volume "}),
        ("dataset", "volblocksize", {"values": "512 to 128k, power of 2", "readonly": "0", "datasets": "volume "}),
    ):
        folder = tmp_path / f"properties.{of}" / name
        folder.mkdir(parents=True)
        for fact, value in facts.items():
            (folder / fact).write_text(value + "\n")
    (tmp_path / "features.pool" / "com.delphix:async_destroy").mkdir(parents=True)
    monkeypatch.setattr(properties, "MODULE", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("where", "given", "said"),
    [
        ("pool", {"failmode": "wait", "feature@async_destroy": "disabled"}, ""),
        ("pool", {"failmode": "hope"}, "failmode cannot be hope"),
        ("pool", {"size": "9"}, "size can only be read"),
        ("pool", {"sync": "always"}, "no property sync of a pool"),
        ("pool", {"feature@warp": "enabled"}, "has no feature@warp"),
        ("pool", {"feature@async_destroy": "perhaps"}, "cannot be perhaps"),
        ("volume", {"sync": "always", "volblocksize": "64K"}, ""),
        ("volume", {"recordsize": "64K"}, "recordsize is not a property of a volume"),
        ("filesystem", {"recordsize": "64K"}, ""),
        ("filesystem", {"recordsize": "16M", "special_small_blocks": "2M"}, ""),
        ("filesystem", {"special_small_blocks": 0}, ""),
        ("filesystem", {"recordsize": "32M"}, "recordsize cannot be 32M"),
        ("filesystem", {"recordsize": "3M"}, "recordsize cannot be 3M"),
        ("volume", {"volblocksize": "16M"}, ""),
        ("volume", {"volblocksize": "32M"}, "volblocksize cannot be 32M"),
        ("filesystem", {"acltype": "posixacl", "aclinherit": "secure"}, ""),
        ("filesystem", {"acltype": "noacl"}, ""),
        ("filesystem", {"acltype": "disabled"}, ""),
        ("filesystem", {"acltype": "secure"}, "acltype cannot be secure"),
        ("filesystem", {"volblocksize": "64K"}, "volblocksize is not a property of a filesystem"),
    ],
)
def test_properties_are_checked_against_the_servers_own_list(
    module: Path, where: Any, given: dict[str, str], said: str
) -> None:
    problems = list(check_known(given, where, "zpool"))
    assert [said in problem.message for problem in problems] == ([True] if said else [])


@pytest.mark.parametrize(
    ("name", "meant"), [("recordsiz", "recordsize"), ("recsize", "recordsize"), ("failmod", "failmode")]
)
def test_a_property_that_is_almost_right_is_put_right(module: Path, name: str, meant: str) -> None:
    (problem,) = check_known({name: "1"}, "pool" if meant == "failmode" else "filesystem", "zpool")
    assert problem.remedy == f"Did you mean {meant}?"


def test_the_largest_block_is_the_modules_own_parameter(module: Path) -> None:
    (module / "parameters").mkdir()
    (module / "parameters/zfs_max_recordsize").write_text("1048576\n")
    (problem,) = check_known({"recordsize": "2M"}, "filesystem", "zpool")
    assert "512 to 1M" in problem.remedy
    assert list(check_known({"recordsize": "1M"}, "filesystem", "zpool")) == []
    assert list(check_known({"recordsize": "2M"}, "filesystem", "zpool", 2 * MIB)) == []


@pytest.mark.parametrize(
    ("name", "asked", "found", "alike"),
    [
        ("volblocksize", "16K", "16384", True),
        ("compression", "lz4", "lz4", True),
        ("compression", "gzip-6", "gzip", True),
        ("checksum", "sha256", "on", False),
        ("dedup", "sha256", "on", True),
        ("acltype", "disabled", "off", True),
        ("aclinherit", "secure", "restricted", True),
        ("compression", "on", "off", False),
        ("volblocksize", "8K", None, False),
    ],
)
def test_what_is_read_back_is_compared_by_meaning(name: str, asked: str, found: str | None, alike: bool) -> None:
    assert same(name, asked, found) is alike


def fake_disk(tmp_path: Path, size: int) -> Path:
    path = tmp_path / "disk"
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_the_labels_of_zfs_are_at_both_ends_of_a_partition() -> None:
    assert list(devices.label_positions(MIB, 10 * MIB)) == [(MIB, MIB // 2), (11 * MIB - MIB // 2, MIB // 2)]


def test_a_volume_is_found_by_its_link_without_opening_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "VOLUMES", tmp_path)
    monkeypatch.setattr(pool, "_volume_name", pytest.fail)
    (tmp_path / "tank/a").mkdir(parents=True)
    (tmp_path / "tank/a/vol").symlink_to("../../../zd16")
    (tmp_path / "tank/a/vol-part1").symlink_to("../../../zd16p1")
    assert pool.linked_node("tank/a/vol") == "zd16"
    assert pool.linked_node("tank/vol") is None
    assert pool.linked_node("other/vol") is None


def test_forms_offer_what_the_servers_module_lists(module: Path) -> None:
    assert [entry.name for entry in property_list.pool_entries()] == ["failmode", "feature@"]
    of_dataset = {entry.name: entry for entry in property_list.filesystem_entries()}
    assert list(of_dataset) == ["recordsize", "sync", "special_small_blocks", "acltype", "aclinherit"]
    assert of_dataset["sync"].choices == ("standard", "always"), "this module has no `disabled`"
    assert of_dataset["recordsize"].choices[-1] == "16M"
    assert of_dataset["special_small_blocks"].choices[:2] == ("0", "512")
    assert "posixacl" in of_dataset["acltype"].choices
    assert "recordsize" not in {entry.name for entry in property_list.volume_entries()}


def test_every_offered_value_is_one_that_zfs_lists() -> None:
    for entry in (*property_list.pool_entries(), *property_list.filesystem_entries(), *property_list.volume_entries()):
        assert entry.choices or entry.type != "choice"
        assert list(check_form(dict.fromkeys([entry.name.replace("@", "@draid")], (*entry.choices, "1")[0]), "x")) == []
