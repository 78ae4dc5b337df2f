"""ZFS pools on a real kernel: built as planned, read back as asked, and taken away whatever happened in between.

One lab, and one process in it for all cases (`stack/zfs_driver.py`); each test looks at one thing that was seen there. A
short row of them is not `slow`: one pool with a volume, one with files, and two kills.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import MakeLab, seen_by_driver, start_driver, start_lab
from lab_kills import in_thirds, killed_at
from raidtui.lab import ssh
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(2400)]
slow = pytest.mark.slow

HERE = Path(__file__).parent
DISKS = "8x512M"
Counts = dict[str, int]


def pool(name: str, counts: Counts, *vdevs: dict[str, Any], **options: Any) -> dict[str, Any]:
    """A case: devices are counted by input name; roles are named after them."""
    extra = {name: f"@{name}" for name in counts if "." not in name}
    return {"do": "whole", "name": name, "counts": counts, "zpool": {"vdevs": list(vdevs), **extra, **options}}


STRIPE = pool(
    "stripe with values of its own", {"vdevs[0].stripe": 2}, {"stripe": "@d"}, arc_max="128MiB",
    properties={"ashift": 9, "comment": "x-y", "feature@edonr": "disabled"},
    inherited={"compression": "lz4", "atime": "off", "recordsize": "16K"},
    volume={"size": "100%", "sparse": True,
            "properties": {"volblocksize": "64K", "compression": "zstd-3", "sync": "always"}},
)  # fmt: skip
MIRRORS = pool(
    "two mirrors with everything", {"vdevs[0].mirror": 4, "special": 2, "log": 1, "spares": 1}, {"mirror": "@d", "per": 2},
    mirrored=["special"],
    volume={"size": "90%", "properties": {"volblocksize": "8K", "dedup": "on", "compression": "gzip-6"}},
)  # fmt: skip
FILES = pool(
    "mirror with files", {"vdevs[0].mirror": 2}, {"mirror": "@d"}, inherited={"atime": "off"},
    dataset={"size": "100%", "properties": {"recordsize": "16K", "compression": "zstd-3", "xattr": "sa"}},
)  # fmt: skip
VOLUME = pool("raidz1 with a log", {"vdevs[0].raidz1": 3, "log": 1}, {"raidz1": "@d"})
SHORT = [VOLUME, {**FILES, "cold": True}]
PLAIN = pool("plain", {"vdevs[0].stripe": 2}, {"stripe": "@d"}, volume={"size": "50%", "sparse": True})
RAIDZ = pool("raidz1 with log and cache", {"vdevs[0].raidz1": 3, "log": 1, "cache": 1}, {"raidz1": "@d"})
DRAID = pool("draid with a spare", {"vdevs[0].draid1": 4}, {"draid1": "@d", "data": 2, "spares": 1})
POOLS = [STRIPE, MIRRORS, {**RAIDZ, "cold": True}]
MORE = [
    DRAID,
    pool("raidz2 with files and everything", {"vdevs[0].raidz2": 3, "special": 3, "log": 1, "cache": 1}, {"raidz2": "@d"},
         mirrored=["special"], inherited={"recordsize": "1M"},
         dataset={"properties": {"special_small_blocks": "16K", "copies": 2, "compression": "off"}}) | {"cold": True},
    pool("one disk", {"vdevs[0].stripe": 1}, {"stripe": "@d"}),
    pool("mirror of three", {"vdevs[0].mirror": 3}, {"mirror": "@d"}, volume={"size": "20MiB"}),
    pool("raidz2", {"vdevs[0].raidz2": 4, "log": 2}, {"raidz2": "@d"}, mirrored=["log"]),
    pool("raidz3 in large blocks", {"vdevs[0].raidz3": 5}, {"raidz3": "@d"},
         volume={"size": "100%", "properties": {"volblocksize": "128K", "copies": 2, "checksum": "sha512"}}),
    pool("two raidz1", {"vdevs[0].raidz1": 6}, {"raidz1": "@d", "per": 3}),
    pool("two roles", {"vdevs[0].mirror": 2, "vdevs[1].mirror": 2}, {"mirror": "@d"}, {"mirror": "@e"}),
    pool("raidz1 with dedup devices", {"vdevs[0].raidz1": 3, "dedup": 2, "spares": 1}, {"raidz1": "@d"},
         mirrored=["dedup"]),
    pool("draid2", {"vdevs[0].draid2": 6}, {"draid2": "@d", "data": 2, "spares": 2}),
    pool("draid3 and ashift 13", {"vdevs[0].draid3": 8}, {"draid3": "@d", "data": 4}, properties={"ashift": 13},
         volume={"size": "50%", "properties": {"volblocksize": "32K"}}),
]  # fmt: skip
BROKEN = {
    "exported": (RAIDZ, "zpool export $POOL"),
    "sick": (RAIDZ, "zpool initialize $POOL; zpool offline $POOL $A"),
}
MORE_BROKEN = {
    "destroyed": (RAIDZ, "zpool destroy $POOL"),
    "its volume gone": (PLAIN, "zfs destroy $POOL/vol"),
}
MOMENTS = [("table", True), ("zpool", False), ("zpool", True), ("pool", True)]
"""What is waited for, and whether a zpool that is at work dies with its parent."""
FAULTS = [
    {**RAIDZ, "do": "killed", "name": "killed", "moments": MOMENTS},
    *({**case, "do": "broken", "name": name, "then": then} for name, (case, then) in BROKEN.items()),
    {**PLAIN, "do": "foreign", "name": "foreign"},
    {**PLAIN, "do": "refused", "name": "refused"},
    {"do": "stacked", "name": "stacked"},
    {**FILES, "do": "busy_files", "name": "busy files"},
    {**RAIDZ, "do": "unplugged", "name": "unplugged"},
    {"do": "blank", "name": "blank"},
]
Seen = dict[str, dict[str, Any]]


def run_cases(lab: Lab, cases: list[dict[str, Any]]) -> Seen:
    """Run the driver with these cases and pull the disk that it asks for; what it saw, by case."""
    start_driver(lab, "zfs_driver.py", cases)
    serial = ""
    if any(case["do"] == "unplugged" for case in cases):
        lab.wait_for("test -e /run/zfs-ready -o -e /root/ended", 1500)
        serial = lab.run("cat /run/zfs-ready || cat /root/error").text.strip()
        assert serial in lab.serials, serial
        lab.unplug(serial)
        lab.run("touch /run/zfs-pulled")
    lab.wait_for("test -e /root/ended", 1500)
    seen = seen_by_driver(lab)
    if serial:
        seen["unplugged"]["serial"] = serial
    return seen


TRIED = {
    "a wrong name": ("volume", {"recordsize": "16K"}),
    "a wrong value": ("filesystem", {"compression": "lz9"}),
    "a wrong size": ("filesystem", {"recordsize": "12K"}),
    "a wrong feature": ("pool", {"feature@warp": "enabled"}),
    "what can only be read": ("pool", {"health": "ONLINE"}),
    "what is right": ("filesystem", {"direct": "always", "dnodesize": "auto", "compression": "zstd-fast-10"}),
}
KILLS = ("10:before", "14:after")
"""Mounted, which is not journaled yet; and the workload is about to begin."""


@pytest.fixture(scope="module")
def short() -> Iterator[tuple[Lab, Seen]]:
    """A lab for the short row, and what was seen in it, by case."""
    lab = start_lab("zfs-short", "4x256M")
    try:
        lists = {"do": "lists", "name": "lists", "tried": TRIED}
        yield lab, run_cases(lab, [lists, *SHORT, {"do": "blank", "name": "blank"}])
    finally:
        lab.down()


@pytest.mark.parametrize("name", [case["name"] for case in SHORT])
def test_a_volume_and_files_are_built_as_planned_and_leave_nothing(short: tuple[Lab, Seen], name: str) -> None:
    judge_whole(short[1][name])


def test_files_are_in_a_mount_that_only_the_run_sees(short: tuple[Lab, Seen]) -> None:
    case = short[1][FILES["name"]]
    found = case["zpool.verify"]
    assert {"nosuid", "nodev", "noexec", "noatime"} <= set(found["options"])
    assert (found["dataset"]["mountpoint"], found["dataset"]["recordsize"]) == ("legacy", "16384")
    assert (case["mounts"], case["mode"]) == (0, "0o700")


def test_properties_are_those_that_the_tools_of_this_server_list(short: tuple[Lab, Seen]) -> None:
    case = short[1]["lists"]
    for of in ("pool", "dataset"):
        assert len(case["listed"][of]) > 20
        assert set(case["listed"][of]) <= set(case["known"][of]), "everything that the tool lists can be written"
    refusals = {name: [code for code, _, _ in said] for name, said in case["said"].items()}
    assert refusals.pop("what is right") == []
    assert set(map(tuple, refusals.values())) == {("zpool-property",)}
    (_, message, remedy), *_ = case["said"]["a wrong value"]
    assert message == "compression cannot be lz9"
    assert "zstd-fast" in remedy


def test_recover_brings_files_back_after_the_riskiest_kills(short: tuple[Lab, Seen]) -> None:
    lab, _ = short
    files = {"zpool": {"vdevs": [{"mirror": "@data"}], "log": "@log", "dataset": {}}}
    scenario = {**KILLED, "roles": {"data": {"count": 2}, "log": {"count": 1}}, "layouts": {"files": files}}
    killed_at(lab, scenario, {"data": lab.serials[:2], "log": lab.serials[2:3]}, ",".join(KILLS), 900)


@pytest.fixture(scope="module")
def bench() -> Iterator[tuple[Lab, Seen]]:
    """The lab and everything that was seen in it, by case."""
    lab = start_lab("zfs", DISKS)
    try:
        yield lab, run_cases(lab, [*POOLS, *FAULTS])
    finally:
        lab.down()


@pytest.fixture(scope="module")
def seen(bench: tuple[Lab, Seen]) -> Seen:
    return bench[1]


def judge_whole(case: dict[str, Any]) -> None:
    assert "problems" not in case, case
    for action, planned in case["planned"].items():
        if action in ("zpool.volume", "zpool.dataset"):
            assert [case[action]["same_as"]] == planned, "what was shown is the same as what was done"
            assert [call[:2] for call in case["commands"][action]] == [["lzc_create", planned[0][-1]]]
        elif action == "zpool.destroy":
            called = ["lzc_destroy", planned[-2][-1]]
            assert case["commands"][action] == [*planned[:-2], called, planned[-1]]
        else:
            assert case["commands"][action] == planned, "what was shown is what ran"
    asked, found = case["args"], case["zpool.verify"]
    if asked["child"] == "vol":
        assert case["actual_size"] == asked["size_bytes"] == int(found["volume"]["volsize"])
        assert (found["volume"]["refreservation"] in ("0", "none")) == asked["sparse"]
    else:
        assert found["size_bytes"] >= asked["size_bytes"]
    assert found["state"] == "ONLINE"
    assert found["pool"]["cachefile"] == "none"
    assert case["health"] == case.get("cold health", []) == []
    assert set(case["again"]) == {"already there"}
    target = ["target"] if asked["child"] == "vol" else []
    assert sorted(case["members"].values()) == sorted([*target, *(entry["role"] for entry in asked["devices"])])
    if "cold" in case:
        assert case["cold ran"][0] == case["cold ran"][1], "what was shown is what ran"
        assert case["kept"]
        assert case["cache files"] == [], "nothing imports the pool when the machine starts"
        assert case["cold"]["arc_bytes_after"] > 0
    assert case["left"] == {}
    assert case["second"] == "nothing to do"


@slow
@pytest.mark.parametrize("name", [case["name"] for case in POOLS])
def test_a_pool_is_built_as_planned_read_back_as_asked_and_leaves_nothing(seen: Seen, name: str) -> None:
    judge_whole(seen[name])


@slow
def test_properties_are_read_back_with_their_own_values(seen: Seen) -> None:
    found = seen[STRIPE["name"]]["zpool.verify"]
    assert (found["pool"]["ashift"], found["pool"]["comment"], found["pool"]["feature@edonr"]) == ("9", "x-y", "disabled")
    assert (found["volume"]["volblocksize"], found["volume"]["sync"]) == ("65536", "always")
    assert (found["compresses"], found["deduplicates"]) == ("zstd-3", None)
    assert seen[MIRRORS["name"]]["zpool.verify"]["deduplicates"] == "on"
    assert seen[RAIDZ["name"]]["zpool.verify"]["compresses"] == "on", "a pool compresses unless it is told not to"


@slow
def test_the_arc_is_limited_while_the_pool_stands_and_put_back(seen: Seen) -> None:
    case = seen[STRIPE["name"]]
    assert case["zpool.verify"]["arc_max_bytes"] == 128 << 20
    assert case["after"] == ["undone"]
    assert case["arc"][0] == case["arc"][1] != 128 << 20


@slow
@pytest.mark.parametrize("moment", range(len(MOMENTS)))
def test_a_creation_that_was_killed_is_undone(seen: Seen, moment: int) -> None:
    kill = seen["killed"]["kills"][moment]
    assert kill["left"] == {}, kill
    assert kill["undo"][1] == "nothing to do"


@slow
def test_the_kills_hit_half_made_pools(seen: Seen) -> None:
    assert any(kill["hit"] and "tables" in kill["before"] for kill in seen["killed"]["kills"])


def judge_broken(case: dict[str, Any]) -> None:
    assert "problems" not in case, case
    assert case["undo"] == ["undone", "nothing to do"]
    assert case["left"] == {}
    gone = case["case"] in ("exported", "destroyed")
    assert case["blind"] == ("nothing to do" if gone else "undone"), "without any permit"


@slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_pool_is_taken_away_in_whatever_state_it_is(seen: Seen, name: str) -> None:
    judge_broken(seen[name])


@slow
def test_what_makes_numbers_wrong_is_said(seen: Seen) -> None:
    sick = seen["sick"]["health"]
    assert "the pool is degraded" in sick
    assert any(sentence.endswith("is offline") for sentence in sick)
    assert any("is busy with initialize" in sentence for sentence in sick)
    assert seen["exported"]["health"] == ["the pool is not there"]


@slow
def test_a_pool_of_somebody_else_is_not_touched(seen: Seen) -> None:
    case = seen["foreign"]
    assert case["imported"][0] == "wrong-members"
    assert (case["undo"][0], case["undo"][2]) == ("zpool-foreign", 6)
    assert (case["exported"][0], case["exported"][2]) == ("zpool-name-taken", 3)
    assert case["after"] == "nothing to do"
    assert case["still"] == "ONLINE"
    assert case["left"] == {}


@slow
def test_actions_refuse_what_is_not_as_asked_or_in_use(seen: Seen) -> None:
    case = seen["refused"]
    assert (case["bad"][0], case["bad"][2]) == ("tool-failed", 4)
    assert "ashift" in case["bad"][1]
    assert case["untouched"] == {}, "what was begun was taken back"
    code, message, exit_code = case["mismatch"]
    assert (code, exit_code) == ("read-back", 4)
    assert "volume compression: asked zle, found on" in message
    code, message, exit_code = case["busy"]
    assert (code, exit_code) == ("zpool-busy", 6)
    assert f"pid {case['pid']} (sleep" in message
    assert case["undo"][-1] == "nothing to do"
    assert case["left"] == {}


@slow
def test_a_pool_stands_on_arrays_and_goes_from_above(seen: Seen) -> None:
    case = seen["stacked"]
    assert "problems" not in case, case
    assert sorted(case["members"].values()) == ["member", "member", "target"]
    assert case["health"] == []
    assert case["undo"] == ["undone"] * 3
    assert case["left"] == {}


@slow
def test_an_unplugged_device_makes_it_sick_and_does_not_hinder_its_end(seen: Seen) -> None:
    case = seen["unplugged"]
    assert "problems" not in case, case
    assert "the pool is degraded" in case["health"]
    assert any(f"{case['serial']} is not there any more" in sentence for sentence in case["health"])
    assert case["blind"] == "undone"
    assert case["undo"] == ["undone", "nothing to do"]
    assert case["facts"]["missing"] == [f"disk:{case['serial']}"]
    assert case["left"] == {}


@slow
def test_the_survivors_are_blank_from_outside(bench: tuple[Lab, Seen]) -> None:
    lab, seen = bench
    assert sorted(seen["blank"]["disks"]) == sorted(set(lab.serials) - {seen["unplugged"]["serial"]})
    assert all(lab.is_zero(serial) for serial in seen["blank"]["disks"])


@slow
def test_who_works_among_the_files_is_named_and_they_stay_until_he_ends(seen: Seen) -> None:
    case = seen["busy files"]
    assert (case["busy"][0], case["busy"][2], case["still"]) == ("mount-busy", 6, ["zfs"])
    assert f"pid {case['pid']} (sleep) works in it" in case["busy"][1]
    assert case["undo"][-1] == "nothing to do"
    assert case["left"] == {}


@slow
def test_every_kind_of_pool(make_lab: MakeLab) -> None:
    lab = make_lab(DISKS)
    broken = [{**case, "do": "broken", "name": name, "then": then} for name, (case, then) in MORE_BROKEN.items()]
    seen = run_cases(lab, [*MORE, *broken, {"do": "blank", "name": "blank"}])
    for case in MORE:
        judge_whole(seen[case["name"]])
    for name in MORE_BROKEN:
        judge_broken(seen[name])
    assert seen["its volume gone"]["health"] == ["the volume is gone"]
    assert all(lab.is_zero(serial) for serial in lab.serials)


KILLED = {
    "schema": "raidtui.scenario/1",
    "name": "kill-zfs",
    "roles": {"data": {"count": 3}, "log": {"count": 1}, "cache": {"count": 1}, "special": {"count": 2}},
    "layouts": {
        "raidz1": {
            "zpool": {"vdevs": [{"raidz1": "@data"}], "log": "@log", "cache": "@cache", "special": "@special",
                      "mirrored": ["special"], "volume": {"size": "50%"}, "arc_max": "128MiB"}
        }
    },
    "workloads": {"write": {"fio": {"rw": "randwrite", "bs": "16KiB", "size": "64MiB", "runtime": "1s"}}},
    "policy": {"caches": "cold"},
}  # fmt: skip


@in_thirds
def test_recover_brings_everything_back_after_every_kill(make_lab: MakeLab, part: str) -> None:
    lab = make_lab("7x512M")
    ids = lab.serials
    usual = lab.run("modprobe zfs; cat /sys/module/zfs/parameters/zfs_arc_max").text
    binding = {"data": ids[:3], "log": ids[3:4], "cache": ids[4:5], "special": ids[5:]}
    killed_at(lab, KILLED, binding, f"every:{part}")
    assert lab.run("cat /sys/module/zfs/parameters/zfs_arc_max").text == usual


@slow
@pytest.mark.parametrize("measured", [{"volume": {"size": "50%"}}, {"dataset": {}}], ids=["volume", "files"])
def test_a_pool_that_lost_too_much_is_left_and_recovered_after_a_restart(
    make_lab: MakeLab, measured: dict[str, Any]
) -> None:
    """A stripe loses a disk: no command may hang on it, and the disks are given back once the machine was restarted."""
    # ZFS tries again and again to write to what is left, which leaves nothing of a single CPU to anybody else.
    lab = make_lab("2x512M", cpus=2)
    layouts = {"stripe": {"zpool": {"vdevs": [{"stripe": "@data"}], **measured}}}
    scenario = {**KILLED, "name": "suspended", "roles": {"data": {"count": 2}}, "layouts": layouts, "policy": {}}
    scenario["workloads"] = {"write": {"fio": {"rw": "randwrite", "bs": "16KiB", "size": "64MiB", "runtime": "30s"}}}
    lab.run("cat > /root/suspended.json", input_bytes=json.dumps(scenario).encode())
    ssh.sync_code(lab.name)
    erase = ",".join(lab.serials)
    run = f"raidtui replay /root/suspended.json --erase {erase} --json > /root/events 2> /root/said; echo $? > /root/ended"
    lab.run(f"setsid sh -c '{run}' < /dev/null > /dev/null 2>&1 &")
    lab.wait_for("grep -q sampled /root/events", 200)
    lab.unplug(lab.serials[0])
    lab.wait_for("test -e /root/ended", 600)
    assert lab.run("cat /root/ended").text.strip() == "6", lab.run("cat /root/said").text
    said = lab.run("cat /root/said").text
    assert any(f"[{code}]" in said for code in ("zpool-busy", "zpool-suspended", "mount-busy")), said
    assert lab.run("zpool list -H -o name").text.startswith("rt"), "ZFS still answers"
    lab.crash()
    lab.start()
    lab.plug(lab.serials[0])
    recovered = lab.raidtui("recover", timeout_s=300)
    assert recovered.code == 0, recovered.text + recovered.error_text
    assert all(lab.is_zero(serial) for serial in lab.serials)
