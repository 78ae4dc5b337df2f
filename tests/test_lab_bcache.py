"""Cached devices on a real kernel: built as planned, read back as asked, and taken away whatever happened in between.

One process in the lab for all cases of a row (`stack/bcache_driver.py`); each test looks at one thing that was seen there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import MakeLab, seen_by_driver, start_driver, start_lab
from lab_kills import in_thirds, killed_at
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

HERE = Path(__file__).parent
Seen = dict[str, dict[str, Any]]


def case(do: str, name: str, on: Any = "@slow", roles: dict[str, int] | None = None, **options: Any) -> dict[str, Any]:
    extra = {key: options.pop(key) for key in ("moments", "then", "pull", "hits") if key in options}
    layout = {"bcache": {"on": on, "cache": "@fast", "bucket": "64KiB", **options}}
    return {"do": do, "name": name, "roles": roles or {"slow": 1, "fast": 1}, "layout": layout, **extra}


PAIR = {"pair": 2, "fast": 1}
MIRROR = {"md": {"level": "raid1", "on": "@pair"}}
DIRTY = {"mode": "writeback", "sequential_cutoff": "0B", "congestion": "off"}
EVERYTHING = {**DIRTY, "writeback_percent": 40, "writeback_delay": "60s", "replacement": "fifo", "discard": True}
BLANK = {"do": "blank", "name": "blank"}

SHORT = [
    case("whole", "writeback with every option", **EVERYTHING),
    case(
        "killed",
        "killed",
        moments=["before the backing device has its UUID", "while it detaches"],
        **DIRTY,
    ),
    BLANK,
]

STRIPED = {"lvm": {"type": "striped", "on": "@pair"}}
RAID5 = {"md": {"level": "raid5", "chunk": "64KiB", "on": "@three"}}
WHOLE = [
    case("whole", "writethrough", hits=True),
    case("whole", "writearound", mode="writearound", replacement="random", sequential_cutoff="1MiB"),
    case("whole", "none", mode="none", bucket="512KiB", block="4KiB"),
    case("whole", "smallest bucket", bucket="4KiB", block="512B", **DIRTY),
    case("whole", "before a mirror", MIRROR, PAIR, data_offset="1MiB", block="4KiB", **DIRTY),
    case("whole", "before a striped volume", STRIPED, PAIR, **DIRTY),
    case("whole", "before an aligned raid5", RAID5, {"three": 3, "fast": 1}, data_offset="128KiB", **DIRTY),
    {
        "do": "whole",
        "name": "below a volume with a mirror as cache",
        "roles": {"slow": 1, "pair": 2},
        "layout": {"lvm": {"on": {"bcache": {"on": "@slow", "cache": MIRROR, "bucket": "64KiB", **DIRTY}}}},
    },
]
MOMENTS = [
    "before the cache has its UUID",
    "before the backing device has its UUID",
    "before they are registered",
    "when one is registered",
    "before the options are set",
    "while the options are set",
    "while it detaches",
    "when it is stopped",
    "when one superblock is gone",
]
STOP = "echo 1 > $SET/stop; for i in {1..60}; do [ -e $SET ] || break; sleep 1; done; "
REGISTER = "udevadm settle; echo $B > /sys/fs/bcache/register_quiet; udevadm settle"
BROKEN = {
    "detached": "echo 1 > $SET/bdev0/detach; for i in {1..60}; do [ -e $SET/bdev0 ] || break; sleep 1; done",
    "stopped": STOP,
    "without its cache": f"{STOP} wipefs --all --types bcache $C; {REGISTER}",
    "in another mode": "echo writethrough > $SET/bdev0/cache_mode",
}
LONG = [
    *WHOLE,
    case("killed", "killed", moments=MOMENTS, **DIRTY),
    case("killed", "killed before a mirror", MIRROR, PAIR, moments=MOMENTS, **DIRTY),
    *(case("broken", name, then=then, **DIRTY) for name, then in BROKEN.items()),
    case("detaching", "detaching slowly", **DIRTY),
    case("refused", "refused"),
    case("foreign", "foreign"),
    case("shared", "shared", **DIRTY),
    case("unplugged", "cache pulled", pull="cache", **DIRTY),
    case("unplugged", "backing device pulled", pull="backing", **DIRTY),
    BLANK,
]


def drive(lab: Lab, cases: list[dict[str, Any]]) -> Seen:
    """Run the driver in the guest; do to its disks what it asks for."""
    start_driver(lab, "bcache_driver.py", cases)
    while True:
        lab.wait_for("test -e /run/bcache-asked -o -e /root/ended", 1500)
        if lab.run("test -e /root/ended", check=False).code == 0:
            break
        what, serial = json.loads(lab.run("cat /run/bcache-asked").text)
        if what == "unplug":
            lab.unplug(serial)
        else:
            lab.throttle(serial, iops=20 if what == "slow" else 0)
        lab.run("rm /run/bcache-asked")
    return seen_by_driver(lab)


@pytest.fixture(scope="module")
def short() -> Iterator[tuple[Lab, Seen]]:
    lab = start_lab("bcache", "2x128M")
    try:
        yield lab, drive(lab, SHORT)
    finally:
        lab.down()


@pytest.fixture(scope="module")
def long() -> Iterator[tuple[Lab, Seen]]:
    lab = start_lab("bcache-long", "6x512M")
    try:
        yield lab, drive(lab, LONG)
    finally:
        lab.down()


def judge_whole(seen: dict[str, Any]) -> None:
    """Built as planned, read back as asked, used, and gone."""
    assert "problems" not in seen, seen
    for action, step in seen.items():
        if action.startswith("bcache."):
            assert step["commands"] == step["planned"], "what was shown is what ran"
    asked, found = seen["args"], seen["bcache.verify"]["facts"]
    assert found["mode"] == asked["mode"]
    assert found["replacement"] == asked["replacement"]
    for name in ("writeback_percent", "writeback_delay"):
        assert found[name] == asked["settings"].get(name, found[name])
    assert seen["size"][0] == seen["size"][1], "the size was known to the byte"
    assert seen["sector"][0] == seen["sector"][1]
    assert seen["path"][0] == seen["path"][1]
    assert seen["again"] == "already there"
    assert seen["health"] == []
    assert sorted(seen["members"].values()) == ["backing", "cache", "target"]
    dirty = seen["used"]["dirty_bytes"]
    assert (dirty > 0) == (asked["mode"] == "writeback"), seen["used"]
    assert seen["used"]["state"] == ("dirty" if dirty else "clean")
    for action, step in seen["teardown"].items():
        if action.startswith("bcache."):
            assert step["commands"] == step["planned"]
    assert seen["teardown"]["bcache.detach"]["facts"]["left_bytes"] == 0
    assert len(seen["teardown"]["bcache.remove"]["facts"]["erased"]) == 2
    assert seen["second"] == "nothing to do"
    assert seen["left"] == {}


def judge_kill(kill: dict[str, Any]) -> None:
    """Undone without permits as far as that goes, then with them, and then there is nothing left to undo."""
    assert kill["status"] == -9, kill
    assert kill["left"] == {}, kill
    assert "undone" in [*kill["undo"][0], *kill["undo"][1]]
    assert set(kill["undo"][2]) == {"nothing to do"}
    assert set(kill["on_disks"]) <= {uuid for _, uuid in kill["leaves"]}, "recovery knows every superblock"


@pytest.mark.parametrize("name", [one["name"] for one in SHORT if one["do"] == "whole"])
def test_a_cached_device_is_built_as_planned_and_taken_away_as_planned(short: tuple[Lab, Seen], name: str) -> None:
    judge_whole(short[1][name])


def test_dirty_data_is_written_back_before_the_cache_goes(short: tuple[Lab, Seen]) -> None:
    seen = short[1]["writeback with every option"]
    detach = seen["teardown"]["bcache.detach"]
    assert detach["facts"]["dirty_bytes"] > 0
    assert detach["result"] == "undone"


@pytest.mark.parametrize("moment", ["before the backing device has its UUID", "while it detaches"])
def test_a_kill_is_undone(short: tuple[Lab, Seen], moment: str) -> None:
    judge_kill(short[1]["killed"]["kills"][moment])


def test_all_disks_are_blank_from_outside(short: tuple[Lab, Seen]) -> None:
    lab, seen = short
    assert sorted(seen["blank"]["disks"]) == sorted(lab.serials)
    assert all(lab.is_zero(serial) for serial in lab.serials)


@pytest.mark.slow
@pytest.mark.parametrize("name", [one["name"] for one in WHOLE])
def test_every_mode_and_every_stack_is_built_and_taken_away(long: tuple[Lab, Seen], name: str) -> None:
    judge_whole(long[1][name])


@pytest.mark.slow
def test_hits_are_counted(long: tuple[Lab, Seen]) -> None:
    assert long[1]["writethrough"]["hits"]["cache_hits"] > 0
    assert long[1]["writethrough"]["teardown"]["bcache.detach"]["facts"]["stats"]["cache_hits"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["killed", "killed before a mirror"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_at_any_moment_is_undone(long: tuple[Lab, Seen], name: str, moment: str) -> None:
    judge_kill(long[1][name]["kills"][moment])


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_it_is_taken_away_in_whatever_state_it_is(long: tuple[Lab, Seen], name: str) -> None:
    seen = long[1][name]
    assert "problems" not in seen, seen
    assert seen["health"], "it is not healthy any more, and says why"
    assert seen["left"] == {}
    assert set(seen["undo"][2]) == {"nothing to do"}


@pytest.mark.slow
def test_a_crash_while_it_detaches_slowly_does_not_wait_for_what_is_dirty(long: tuple[Lab, Seen]) -> None:
    seen = long[1]["detaching slowly"]
    assert seen["dirty"] > 20 << 20
    assert any("internal/io_disable" in word for argv in seen["commands"] for word in argv), seen
    assert seen["left"] == {}


@pytest.mark.slow
def test_somebody_elses_cached_device_is_not_touched(long: tuple[Lab, Seen]) -> None:
    seen = long[1]["foreign"]
    assert seen["same"], seen
    assert seen["refused"][2] == 4
    assert seen["results"] == ["nothing to do", "undone"]
    assert seen["left"] == {}


@pytest.mark.slow
def test_a_cache_that_somebody_else_uses_too_is_left_alone_until_he_has_detached(long: tuple[Lab, Seen]) -> None:
    seen = long[1]["shared"]
    assert [found[0] for found in seen["problems_of"]] == ["bcache-foreign"] * 3, seen
    assert all(seen["name"] in found[1] and found[2] == 6 for found in seen["problems_of"])
    assert seen["states"] == ["dirty", "dirty"]
    assert seen["left"] == {}


@pytest.mark.slow
def test_actions_refuse_what_is_not_as_asked_or_in_use(long: tuple[Lab, Seen]) -> None:
    seen = long[1]["refused"]
    code, message, exit_code = seen["mismatch"]
    assert (code, exit_code) == ("read-back", 4)
    assert "mode: asked writearound, found writethrough" in message
    code, message, exit_code = seen["busy"]
    assert (code, exit_code) == ("bcache-busy", 6)
    assert f"pid {seen['pid']} (sleep) has it open" in message
    assert seen["left"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cache pulled", "backing device pulled"])
def test_a_pulled_disk_makes_it_sick_and_does_not_hinder_its_end(long: tuple[Lab, Seen], name: str) -> None:
    seen = long[1][name]
    assert any(seen["serial"] in sentence for sentence in seen["health"]), seen
    assert seen["left"] == {}, seen
    assert set(seen["undo"][2]) == {"nothing to do"}


@pytest.mark.slow
def test_the_survivors_are_blank_from_outside(long: tuple[Lab, Seen]) -> None:
    lab, seen = long
    pulled = {seen[name]["serial"] for name in ("cache pulled", "backing device pulled")}
    assert sorted(seen["blank"]["disks"]) == sorted(set(lab.serials) - pulled)
    assert all(lab.is_zero(serial) for serial in seen["blank"]["disks"])


CACHED_MIRROR = {"bcache": {"on": MIRROR, "cache": "@fast", "bucket": "64KiB", **DIRTY}}
LAYOUTS = {"mirror": CACHED_MIRROR, "xfs": {"filesystem": {"type": "xfs", "on": CACHED_MIRROR}}}
WORKLOADS = {
    name: {"fio": {"rw": f"rand{name}", "bs": "4KiB", "size": "64MiB", "runtime": "1s"}} for name in ("write", "read")
}
SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "cached",
    "roles": {"pair": {"count": 2}, "fast": {"count": 1}},
    "layouts": LAYOUTS,
    "workloads": WORKLOADS,
    "policy": {"initial_sync": "skip-if-zeroed"},
}


@pytest.mark.slow
def test_a_replay_measures_it_and_leaves_blank_disks(make_lab: MakeLab) -> None:
    lab = make_lab("3x512M")
    lab.run("cat > /root/cached.json", input_bytes=json.dumps(SCENARIO).encode())
    pair, fast = ",".join(lab.serials[:2]), lab.serials[2]
    words = ["replay", "/root/cached.json", "--quick", "--bind", f"pair={pair}", "--bind", f"fast={fast}"]
    done = lab.raidtui(*words, "--erase", f"{pair},{fast}", "-o", "/root/cached.result.json", timeout_s=600)
    assert done.code == 0, (done.text, done.error_text)
    result = json.loads(lab.run("cat /root/cached.result.json").text)
    assert [cell["valid"] for cell in result["cells"]] == [True] * 4
    assert all(lab.is_zero(serial) for serial in lab.serials)


@in_thirds
def test_recover_brings_everything_back_after_every_kill_of_a_stack(make_lab: MakeLab, part: str) -> None:
    lab = make_lab("3x512M")
    one = {"layouts": {"xfs": LAYOUTS["xfs"]}, "workloads": {"write": WORKLOADS["write"]}}
    killed_at(lab, {**SCENARIO, **one}, {"pair": lab.serials[:2], "fast": lab.serials[2:]}, f"every:{part}")
