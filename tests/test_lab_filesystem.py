"""Filesystems on a real kernel: made as planned, read back as asked, measured with files, and gone whatever happened."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import seen_by_driver, start_driver, start_lab
from lab_kills import in_thirds, killed_at
from raidtui.lab import ssh
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

HERE = Path(__file__).parent
RAID5 = {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB"}}

RAID0 = {"md": {"level": "raid0", "on": "@data", "chunk": "64KiB"}}


def whole(name: str, disks: int, on: Any = "@data", **options: Any) -> dict[str, Any]:
    return {"do": "whole", "name": name, "disks": disks, "layout": {"filesystem": {"on": on, **options}}}


MADE = [
    whole("xfs on raid5", 3, RAID5, type="xfs"),
    whole("ext4 without journal", 1, type="ext4", journal=False, block_size="1KiB", discard="online"),
    whole("btrfs raid1", 3, type="btrfs", data="raid1", metadata="raid1c3", compress="zstd", compress_level=5,
          checksum="xxhash", node_size="32KiB", discard="async"),
    whole("btrfs with a subvolume", 2, type="btrfs", subvolume="bench", copy_on_write=False),
    whole("f2fs", 1, type="f2fs", overprovision=10, fsync_mode="strict"),
]  # fmt: skip
MORE_MADE = [
    whole("xfs with all options", 1, type="xfs", stripe_unit="256KiB", stripe_width="1MiB", log_size="128MiB",
          allocation_groups=4, reflink=False, atime="strictatime", discard="online"),
    whole("xfs", 1, type="xfs"),
    whole("xfs with blocks larger than a page", 1, type="xfs", block_size="16KiB"),
    whole("xfs without stripes", 2, RAID0, type="xfs", geometry="none", block_size="1KiB"),
    whole("xfs on a striped volume", 3, {"lvm": {"type": "striped", "on": "@data", "stripe_size": "128KiB"}}, type="xfs"),
    whole("ext4 on a volume on raid5", 3, {"lvm": {"on": RAID5}}, type="ext4"),
    whole("ext4 on raid5", 4, RAID5, type="ext4", journal_mode="writeback"),
    whole("ext4 without stripes", 2, RAID0, type="ext4", geometry="none", log_size="32MiB", atime="relatime"),
    whole("btrfs", 1, type="btrfs", copy_on_write=False),
]
XFS, EXT4 = ({"filesystem": {"on": "@data", "type": kind}} for kind in ("xfs", "ext4"))
FAULTS = [
    {"do": "killed", "name": "killed", "disks": 1, "layout": EXT4, "after_s": [0.02, 0.2]},
    {"do": "busy", "name": "busy", "disks": 1, "layout": XFS},
    {"do": "left_behind", "name": "left behind", "disks": 1, "layout": XFS},
    {"do": "foreign", "name": "foreign", "disks": 1, "layout": XFS},
]
MORE_FAULTS = [
    {"do": "covered", "name": "covered", "disks": 1, "layout": XFS},
    {"do": "unplugged", "name": "unplugged", "disks": 1, "layout": XFS},
]
Seen = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("fs", "5x1100M")
    try:
        ssh.sync_code(lab.name)
        yield lab
    finally:
        lab.down()


def drive(lab: Lab, cases: list[dict[str, Any]]) -> Seen:
    """Everything that the driver saw, by case."""
    start_driver(lab, "fs_driver.py", cases)
    lab.wait_for("test -e /run/fs-ready -o -e /root/ended", 1200)
    serial = lab.run("cat /run/fs-ready 2>/dev/null || true").text.strip()
    if serial:
        lab.unplug(serial)
        lab.run("touch /run/fs-pulled")
        lab.wait_for("test -e /root/ended", 400)
    found = seen_by_driver(lab)
    if serial:
        lab.plug(serial, like_new=True)
    return found


@pytest.fixture(scope="module")
def seen(lab: Lab) -> Seen:
    return drive(lab, [*MADE, *FAULTS])


@pytest.fixture(scope="module")
def more(lab: Lab) -> Seen:
    return drive(lab, [*MORE_MADE, *MORE_FAULTS])


def check_made(case: dict[str, Any]) -> None:
    assert "problems" not in case, case
    assert case["commands"] == case["planned"], "what was shown is what ran"
    found, args = case["fs.verify"], case["args"]
    assert found["uuid"] == args["uuid"]
    assert found["size_bytes"] >= args["size_bytes"]
    assert {"nosuid", "nodev", "noexec"} <= set(found["options"])
    assert case["health"] == []
    assert (case["made again"], case["mounted again"]) == ("already there", "already there")
    assert set(case["members"].values()) == {"target"}
    assert case["mode"] == "0o700"
    assert case["teardown"][0] == "undone"
    assert set(case["undo"]) | set(case["again"]) == {"nothing to do"}
    assert case["left"] == {}


@pytest.mark.parametrize("name", [case["name"] for case in MADE])
def test_a_filesystem_is_made_as_planned_read_back_as_asked_and_leaves_nothing(seen: Seen, name: str) -> None:
    check_made(seen[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [case["name"] for case in MORE_MADE])
def test_every_filesystem_is_made_as_planned_read_back_as_asked_and_leaves_nothing(more: Seen, name: str) -> None:
    check_made(more[name])


KIB = 1 << 10
STRIPES = ("stripe_unit", "stripe_width")


def facts(case: dict[str, Any], *wanted: str) -> list[Any]:
    return [case["fs.verify"][what] for what in wanted]


def test_geometry_and_options_are_those_that_were_asked_for(seen: Seen) -> None:
    assert facts(seen["xfs on raid5"], *STRIPES) == [64 * KIB, 128 * KIB]
    assert facts(seen["ext4 without journal"], "journal", "block_bytes") == [False, KIB]
    assert facts(seen["btrfs raid1"], "data", "metadata", "devices", "checksum", "node_bytes") == [
        "raid1", "raid1c3", 3, "xxhash", 32 * KIB,
    ]  # fmt: skip
    assert facts(seen["btrfs raid1"], "subvolume") == [""]
    assert facts(seen["btrfs with a subvolume"], "subvolume") == ["bench"]
    shown = {"btrfs raid1": "compress=zstd:5", "btrfs with a subvolume": "nodatacow", "f2fs": "fsync_mode=strict"}
    for name, option in shown.items():
        assert option in facts(seen[name], "options")[0], name


@pytest.mark.slow
def test_geometry_follows_what_is_below_unless_it_shall_not(more: Seen) -> None:
    assert facts(more["xfs with all options"], *STRIPES, "log_bytes", "allocation_groups", "reflink") == [
        256 * KIB, 1024 * KIB, 128 * 1024 * KIB, 4, False,
    ]  # fmt: skip
    assert facts(more["ext4 on raid5"], *STRIPES) == [64 * KIB, 192 * KIB]
    assert facts(more["xfs on a striped volume"], *STRIPES) == [128 * KIB, 384 * KIB]
    assert facts(more["ext4 on a volume on raid5"], *STRIPES) == [64 * KIB, 128 * KIB]
    assert facts(more["xfs with blocks larger than a page"], "block_bytes") == [16 * KIB]
    assert facts(more["xfs without stripes"], *STRIPES, "block_bytes") == [0, 0, KIB]
    assert facts(more["ext4 without stripes"], *STRIPES) == [0, 0]
    for name, option in {"ext4 on raid5": "data=writeback", "btrfs": "nodatacow"}.items():
        assert option in facts(more[name], "options")[0], name


def test_an_mkfs_that_was_killed_leaves_nothing(seen: Seen) -> None:
    assert all(kill["left"] == {} for kill in seen["killed"]["kills"])


def test_who_uses_it_is_named_and_it_stays_mounted_until_he_ends(seen: Seen) -> None:
    case = seen["busy"]
    code, message, exit_code = case["refused"]
    assert (code, exit_code) == ("mount-busy", 6)
    assert f"pid {case['pid']} (sleep) works in it" in message
    assert case["still"] == ["xfs"]
    assert case["undo"][0] == "undone"
    assert case["left"] == {}


@pytest.mark.slow
def test_what_others_mount_is_neither_measured_nor_unmounted(more: Seen) -> None:
    case = more["covered"]
    assert any("tmpfs, not xfs" in sentence or "another device" in sentence for sentence in case["health"]), case["health"]
    assert case["refused"][0] == "mount-busy"
    assert case["theirs"] == ["xfs", "tmpfs"]
    assert case["elsewhere"][0] == "mount-busy"
    assert "-elsewhere" in case["elsewhere"][1]
    assert case["left"] == {}


def test_a_mount_in_the_namespace_of_a_daemon_is_taken_away_as_well(seen: Seen) -> None:
    case = seen["left behind"]
    assert "problems" not in case, case
    assert case["undo"][0] == "undone"
    assert case["left"] == {}


def test_a_device_that_carries_something_is_not_made_into_another(seen: Seen) -> None:
    case = seen["foreign"]
    assert case["refused"][0] == "fs-not-blank"
    assert "ext4" in case["refused"][1]
    assert case["same"]
    assert case["undone"] == "nothing to do"


@pytest.mark.slow
def test_a_disk_that_was_pulled_makes_it_sick_and_does_not_hinder_its_end(more: Seen) -> None:
    case = more["unplugged"]
    assert case["health"]
    assert case["undo"][0] == "undone"
    assert case["left"] == {}


# The whole way, through the command line


def scenario(tmp_path: Path, layouts: dict[str, Any], workloads: dict[str, Any], disks: int = 4) -> str:
    value = {
        "schema": "raidtui.scenario/1", "name": "fs", "roles": {"data": {"count": disks}}, "layouts": layouts,
        "workloads": workloads, "policy": {"initial_sync": "skip-if-zeroed"},
    }  # fmt: skip
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(value))
    return str(path)


def raidtui(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "raidtui", "--on", f"lab:{lab.name}", *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)


def consent(lab: Lab, disks: int) -> list[str]:
    chosen = ",".join(lab.serials[:disks])
    return ["--bind", f"data={chosen}", "--erase", chosen]


def blank(lab: Lab, disks: int) -> bool:
    assert lab.run("grep raidtui/mnt /proc/mounts", check=False).text == ""
    assert lab.run("ls /run/raidtui/mnt 2>/dev/null", check=False).text == ""
    return all(lab.is_zero(serial) for serial in lab.serials[:disks])


@pytest.mark.slow
def test_files_pg_test_fsync_and_dd_are_measured_on_it(seen: Seen, lab: Lab, tmp_path: Path) -> None:
    workloads = {
        "write": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "numjobs": 2, "size": "32MiB", "runtime": "2s"}},
        "read": {"fio": {"rw": "randread", "bs": "4KiB", "nrfiles": 64, "filesize": "1MiB", "runtime": "2s"}},
        "pg": {"pg_test_fsync": {"secs_per_test": 1}},
        "dd": {"dd": {"bs": "1MiB", "size": "32MiB"}},
    }
    path = scenario(tmp_path, {"xfs": {"filesystem": {"type": "xfs", "on": RAID5}}}, workloads)
    out = tmp_path / "out.result.json"
    done = raidtui(lab, "replay", path, *consent(lab, 4), "-o", str(out), "--json")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    records = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    plan = next(event["plan"] for event in records if event["kind"] == "run-started")
    executed = {event["step"]: event.get("commands", []) for event in records if event["kind"] == "step-done"}
    for step in plan["steps"]:
        for command in step.get("commands", []):
            assert command in executed[step["id"]], step["title"]
    result = json.loads(out.read_text())
    cells = {cell["workload"]: cell for cell in result["cells"]}
    assert all(cell["valid"] for cell in cells.values())
    assert cells["read"]["summary"]["read"]["iops"] > 0
    assert len(cells["pg"]["report"]["tables"]) == 5
    assert cells["pg"]["summary"]["write"]["iops"] == cells["pg"]["report"]["tables"][0]["rows"][1]["ops_per_s"]
    assert cells["dd"]["summary"]["write"]["bytes"] == 32 << 20
    assert cells["dd"]["write_amplification"] >= 1.2
    assert {use["role"] for use in cells["write"]["devices"].values()} == {"target", "member"}
    assert blank(lab, 4)


@pytest.mark.slow
def test_a_runner_that_dies_while_files_are_written_leaves_no_mount(seen: Seen, lab: Lab, tmp_path: Path) -> None:
    long = {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "size": "128MiB", "runtime": "120s"}}
    path = scenario(tmp_path, {"xfs": {"filesystem": {"type": "xfs", "on": "@data"}}}, {"long": long}, disks=1)
    run = raidtui(lab, "replay", path, *consent(lab, 1), "--detach")
    assert run.returncode == 0, run.stderr
    lab.wait_for("pgrep -x fio", 500)
    assert lab.run("grep raidtui/mnt /proc/mounts", check=False).text == "", "mounts are the runner's own"
    lab.run("pkill -KILL -f '__main__.py runner'")
    recovered = raidtui(lab, "recover")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    assert lab.run("pgrep -x fio", check=False).text == ""
    assert blank(lab, 1)
    assert raidtui(lab, "recover").returncode == 0


KILLED = {
    "schema": "raidtui.scenario/1",
    "name": "kill",
    "roles": {"data": {"count": 3}},
    "layouts": {"it": {"filesystem": {"type": "xfs", "on": RAID5}}},
    "workloads": {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "size": "64MiB", "runtime": "1s"}}},
    "policy": {"initial_sync": "skip-if-zeroed"},
}
KILLED_SUBVOLUME = {
    **KILLED,
    "layouts": {"it": {"filesystem": {"type": "btrfs", "on": "@data", "metadata": "raid1", "subvolume": "bench"}}},
}
RISKIEST = "11:after,18:after"
"""Before mkfs, and while it is measured."""
RISKIEST_SUBVOLUME = "fs.subvolume:call=fs.make_subvolume,fs.subvolume:subvol,fs.mount:before"
"""While the top level is mounted, while the subvolume is made in it, and before that is mounted."""
STACKS = pytest.mark.parametrize("scenario", [KILLED, KILLED_SUBVOLUME], ids=["xfs on raid5", "btrfs with a subvolume"])


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "points"), [(KILLED, RISKIEST), (KILLED_SUBVOLUME, RISKIEST_SUBVOLUME)])
def test_recover_unmounts_after_the_riskiest_kills(seen: Seen, lab: Lab, scenario: dict[str, Any], points: str) -> None:
    killed_at(lab, scenario, {"data": lab.serials[:3]}, points)


@STACKS
@in_thirds
def test_recover_unmounts_after_every_kill(seen: Seen, lab: Lab, scenario: dict[str, Any], part: str) -> None:
    killed_at(lab, scenario, {"data": lab.serials[:3]}, f"every:{part}")
