"""A plan of a cached device says what will run, word for word, and how large it will be, to the byte."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from bcache_cases import GIB, ONE_EACH, array, disk, parts, plan, spec_of

from raidtui.model.plan import Names
from raidtui.stack.bcache import LAYER, build
from raidtui.stack.bcache.spec import BcacheDevice

SET = Names("abcd1234").new("bcache").uuid
BACKING = str(uuid.uuid5(uuid.UUID(SET), "backing"))
CACHE = str(uuid.uuid5(uuid.UUID(SET), "cache"))
FOLDER = f"/sys/fs/bcache/{SET}"


def echo(value: str, path: str) -> tuple[str, ...]:
    return ("sh", "-c", f"echo {value} > {path}")


def test_a_cached_disk_is_made_by_these_commands() -> None:
    create, tune, verify = plan(mode="writeback", bucket="1MiB", discard=True, sequential_cutoff="0B").build
    assert create.commands == (
        ("modprobe", "bcache"),
        ("make-bcache", "--cset-uuid", SET, "--block", "512", "--bucket", "1048576", "--discard", "--cache", "/dev/fast"),
        ("make-bcache", "--cset-uuid", SET, "--block", "512", "--bdev", "/dev/slow"),
        echo("/dev/fast", "/sys/fs/bcache/register"),
        echo("/dev/slow", "/sys/fs/bcache/register"),
    )
    assert tune.commands == (
        echo("writeback", f"{FOLDER}/bdev0/cache_mode"),
        echo("lru", f"{FOLDER}/cache0/cache_replacement_policy"),
        echo("0", f"{FOLDER}/bdev0/sequential_cutoff"),
    )
    assert verify.commands == ()


def test_it_is_detached_stopped_and_wiped_by_these_commands() -> None:
    planned = plan()
    detach, remove = planned.teardown
    assert detach.commands == (echo("1", f"{FOLDER}/bdev0/detach"),)
    assert (
        remove.commands
        == planned.build[0].undo
        == (
            echo("1", "/sys/class/block/slow/bcache/stop"),
            echo("1", f"{FOLDER}/stop"),
            ("wipefs", "--all", "--types", "bcache", "/dev/slow"),
            ("wipefs", "--all", "--types", "bcache", "/dev/fast"),
        )
    )


def test_a_layer_below_is_stopped_by_the_name_that_the_kernel_gave_it() -> None:
    stop = plan(on=array()).teardown[-1].commands[0]
    assert stop == echo("1", "/sys/class/block/$(basename $(readlink -f /dev/md/rtx))/bcache/stop")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"mode": "none"}, echo("none", f"{FOLDER}/bdev0/cache_mode")),
        ({"replacement": "random"}, echo("random", f"{FOLDER}/cache0/cache_replacement_policy")),
        ({"congestion": "off"}, echo("0", f"{FOLDER}/congested_read_threshold_us")),
        ({"congestion": "off"}, echo("0", f"{FOLDER}/congested_write_threshold_us")),
        ({"mode": "writeback", "writeback_percent": 0}, echo("0", f"{FOLDER}/bdev0/writeback_percent")),
        ({"mode": "writeback", "writeback_delay": "1m"}, echo("60", f"{FOLDER}/bdev0/writeback_delay")),
        ({"sequential_cutoff": "1MiB"}, echo("1048576", f"{FOLDER}/bdev0/sequential_cutoff")),
    ],
)
def test_options_become_these_lines(options: dict[str, Any], line: tuple[str, ...]) -> None:
    assert line in plan(**options).build[1].commands


def test_data_begins_where_it_was_asked_to() -> None:
    assert plan(data_offset="1MiB").build[0].commands[2][5:7] == ("--data-offset", "2048")
    (offers,) = plan(data_offset="1MiB").offers
    assert plan(data_offset="1MiB").build[0].commands[-1][2].endswith(f" {offers.path}")
    assert len(plan().build[0].commands) == len(plan(data_offset="1MiB").build[0].commands) - 1
    assert plan(data_offset="1MiB").targets[0].size_bytes == 8 * GIB - (1 << 20)
    assert plan().targets[0].size_bytes == 8 * GIB - 8192


def test_a_device_with_data_at_an_offset_is_named_without_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached: BcacheDevice = plan(data_offset="1MiB").build[0].args
    link = tmp_path / "by-uuid" / BACKING
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(build, "look", lambda _: {"device": "bcache7"})
    monkeypatch.setattr(build, "run", ran.append)
    monkeypatch.setattr(build, "node_path", lambda uuid: str(link.with_name(uuid)))
    for _ in ("there is no link", "udev's link is replaced"):
        assert build._name(cached) == plan(data_offset="1MiB").build[0].commands[-1], "the plan shows the equivalent"
        assert str(link.readlink()) == "/dev/bcache7"
        assert list(link.parent.iterdir()) == [link]
    assert set(ran) == {("udevadm", "trigger", "--settle", "/dev/bcache7")}


def test_every_step_knows_all_uuids_before_there_is_a_device() -> None:
    planned = plan()
    assert planned.build[0].creates == Names("abcd1234").new("bcache")
    for draft in (*planned.build, *planned.teardown):
        assert draft.args.uuid == SET
        assert [(entry.ref, entry.uuid) for entry in draft.args.devices] == [
            ("disk:slow", BACKING),
            ("disk:fast", CACHE),
        ]
    assert planned.targets[0].paths == (f"/dev/bcache/by-uuid/{BACKING}",)
    leaves = LAYER.actions["bcache.create"].leaves(planned.build[0].args)
    assert set(leaves) == {("bcache", BACKING), ("bcache", CACHE)}


def test_its_sectors_are_the_larger_ones_of_both_devices() -> None:
    (offers,) = plan(cache=disk("fast", sector=4096)).offers
    assert offers.logical_sector_bytes == 4096
    assert "4096" in plan(cache=disk("fast", sector=4096)).build[0].commands[1]


def test_stripes_below_are_passed_up_only_where_data_begins_with_one() -> None:
    (aligned,), (shifted,) = plan(on=array(), data_offset="1MiB").offers, plan(on=array()).offers
    assert (aligned.stripe_bytes, aligned.chunk_bytes) == (128 << 10, 64 << 10)
    assert (shifted.stripe_bytes, shifted.chunk_bytes) == (None, None)
    assert aligned.disks == ("a", "b", "c", "fast")


@pytest.mark.parametrize(
    ("mode", "penalty", "cache_may_fail"),
    [("writethrough", 2, 1), ("writeback", 2, 0), ("writearound", 1, 1), ("none", 1, 1)],
)
def test_shape_and_what_may_fail(mode: str, penalty: float, cache_may_fail: int) -> None:
    spec = spec_of(mode=mode)
    shape = LAYER.shape(spec, parts())
    assert (shape.may_fail, shape.write_penalty) == (0, penalty)
    survives = LAYER.tolerates_failures(spec, ONE_EACH)
    assert (survives["on"][0], survives["cache"][0]) == (0, cache_may_fail)


def test_words_and_defaults_say_what_it_is() -> None:
    assert LAYER.describe(spec_of(), ONE_EACH) == "writethrough, bucket 512KiB"
    spec = spec_of(mode="writeback", sequential_cutoff="0B", congestion="off", writeback_percent=5)
    said = LAYER.describe(spec, ONE_EACH)
    assert said == "writeback, bucket 512KiB, no sequential cutoff, never past a slow cache, 5 % may stay dirty"
    assert LAYER.defaults(spec_of(), ONE_EACH)["writeback_percent"][0] == "none"
    assert LAYER.defaults(spec_of(mode="writeback"), ONE_EACH)["writeback_percent"][0] == "10"
