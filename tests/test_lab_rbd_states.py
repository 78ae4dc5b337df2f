"""Every state of a real Ceph cluster that takes a cell's validity: found by its code, and none on a clean cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_harness import start_lab
from raidtui.lab import ssh
from raidtui.lab.control import Lab
from raidtui.lab.flavours import CEPH

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]

DRIVER = Path(__file__).parent / "stack/rbd_states_driver.py"
OBJECTS = 32
# Two copies, without which nothing is written: with an OSD less, its placement groups stop.
MAKE = (
    "ceph osd pool create data 4 4 replicated --size 2 && ceph osd pool set data min_size 2"
    " && ceph osd pool application enable data rbd"
    f" && rados bench -p data 600 write -b 4096 -O 4096 -t 4 --max-objects {OBJECTS} --no-cleanup --run-name kept"
)
LOAD = "systemd-run -q --collect --unit load --working-directory / rados bench -p data 300"
UNLOAD = "systemctl stop load"
KILL, START = "systemctl kill -s KILL ceph-{0}", "systemctl reset-failed; systemctl start ceph-{0}"
KILL_OSD, START_OSD = KILL.format("osd@2"), START.format("osd@2")
Step = tuple[str, str, str]


def seen(line: str, pattern: str) -> Step:
    """Run the line, and wait until the cluster's status matches."""
    return line, "status", pattern


def option(name: str, value: str = "") -> str:
    return f"ceph config set osd {name} {value}" if value else f"ceph config rm osd {name}"


# One object in each chunk of a scrub, and pauses between chunks: otherwise it is over before the manager hears of it.
SCRUBS = {"osd_scrub_chunk_min": "1", "osd_scrub_chunk_max": "1", "osd_scrub_sleep": "3"}
SLOWLY = " && ".join(option(*one) for one in SCRUBS.items())
AS_BEFORE = "; ".join(option(name) for name in SCRUBS)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("states", "1x64M", flavour=CEPH)
    try:
        lab.put_file(DRIVER, "/root/rbd_states_driver.py")
        lab.run(MAKE, 600)
        yield lab
    finally:
        lab.down()


def marks(lab: Lab, then: list[Step], back: str = "", first: list[Step] | None = None) -> dict[str, str]:
    """Look at the cluster, change it, look again; return what is marked, by code. The cluster then is as before."""
    lab.run("lab-ceph wait", 900)
    state = json.dumps({"first": first or [], "then": then})
    try:
        ran = lab.run(["python3", "-I", "/root/rbd_states_driver.py", state], 900, check=False)
    finally:
        lab.run(f"{back}\nlab-ceph wait" if back else "lab-ceph wait", 900)
    print(ran.text, ran.error_text)
    assert not ran.code, ran.error_text
    told = json.loads(ran.text)
    assert told["seconds"] < 120
    return {mark["code"]: mark["sentence"] for mark in told["marks"]}


def test_a_clean_cluster_has_no_mark(lab: Lab) -> None:
    assert marks(lab, [("sleep 5", "", "")]) == {}


@pytest.mark.parametrize("kind", ["scrub", "deep-scrub"])
def test_a_scrub(lab: Lab, kind: str) -> None:
    start = f"{SLOWLY} && ceph osd pool {kind} data"
    assert set(marks(lab, [seen(start, "scrubbing")], AS_BEFORE)) == {"rbd-scrubbing"}


def test_data_that_moves(lab: Lab) -> None:
    start = f"{option('osd_recovery_sleep', '2')} && ceph osd out 2"
    found = marks(lab, [seen(start, "backfill|recovering")], f"ceph osd in 2; {option('osd_recovery_sleep')}")
    assert {"rbd-recovering", "rbd-map-changed"} <= set(found) <= {"rbd-recovering", "rbd-map-changed", "rbd-not-clean"}


def test_an_osd_that_is_lost(lab: Lab) -> None:
    found = marks(lab, [seen(KILL_OSD, "peered")], START_OSD)
    assert {"rbd-osd-down", "rbd-not-clean", "rbd-map-changed"} <= set(found) <= {
        "rbd-osd-down", "rbd-not-clean", "rbd-map-changed", "rbd-recovering"}  # fmt: skip
    assert "2 OSDs are up, and 3 were" in found["rbd-map-changed"]


def test_an_osd_that_was_lost_and_returned(lab: Lab) -> None:
    """All is well again at the end: the map's epoch alone tells it."""
    found = marks(lab, [seen(KILL_OSD, "OSD_DOWN"), (f"{START_OSD}; lab-ceph wait", "", "")])
    assert set(found) == {"rbd-map-changed"}
    assert "an OSD was down meanwhile" in found["rbd-map-changed"]


def test_a_monitor_that_does_not_answer(lab: Lab) -> None:
    """The look ends by its deadline."""
    found = marks(lab, [("systemctl kill -s STOP ceph-mon@a", "", "")], "systemctl kill -s CONT ceph-mon@a")
    assert set(found) == {"rbd-no-answer"}


def test_a_monitor_that_is_gone(lab: Lab) -> None:
    found = marks(lab, [(KILL.format("mon@a"), "", "")], START.format("mon@a"))
    assert set(found) == {"rbd-no-answer"}


def test_a_manager_that_is_gone(lab: Lab) -> None:
    """Monitors miss it half a minute later (mon_mgr_beacon_grace)."""
    gone = seen(KILL.format("mgr@x"), '"available": ?false')
    found = marks(lab, [gone], START.format("mgr@x"))
    assert "rbd-no-manager" in found
    assert set(found) <= {"rbd-no-manager", "rbd-not-clean"}


def test_osds_that_are_nearly_full(lab: Lab) -> None:
    start = seen("ceph osd set-nearfull-ratio 0.0001", "OSD_NEARFULL")
    assert set(marks(lab, [start], "ceph osd set-nearfull-ratio 0.85")) == {"rbd-full", "rbd-map-changed"}


def test_operations_that_take_long(lab: Lab) -> None:
    complain = (option("osd_op_complaint_time", "2"), "", "")
    slow = seen(f"systemctl kill -s STOP ceph-osd@2; {LOAD} write -b 4096 -t 16", "SLOW_OPS")
    back = f"{UNLOAD}; systemctl kill -s CONT ceph-osd@2; {option('osd_op_complaint_time')}"
    assert set(marks(lab, [slow], back, [complain])) == {"rbd-slow-ops"}


def test_clients_that_are_paused(lab: Lab) -> None:
    found = marks(lab, [seen("ceph osd set pause", "pausewr")], "ceph osd unset pause")
    assert set(found) == {"rbd-paused", "rbd-map-changed"}
    assert "pause" in found["rbd-map-changed"]


def test_flags_that_somebody_sets(lab: Lab) -> None:
    found = marks(lab, [seen("ceph osd set noscrub", "noscrub")], "ceph osd unset noscrub")
    assert set(found) == {"rbd-map-changed"}
    assert "noscrub flag(s) set" in found["rbd-map-changed"]


def test_clients_of_other_pools(lab: Lab) -> None:
    load = (f"{LOAD} rand -t 8 --run-name kept", "osd pool stats", r'"(read|write)_op_per_sec": ?[1-9]\d')
    found = marks(lab, [], UNLOAD, [load])
    assert set(found) == {"rbd-other-load"}
    assert "data (" in found["rbd-other-load"]


AWAY = Path(__file__).parent / "stack/rbd_away_driver.py"
OF_RUNS = "ceph osd pool ls; ls /sys/bus/rbd/devices"
MAPPED = {
    "schema": "raidtui.scenario/1", "name": "away", "roles": {}, "policy": {"rounds": 1, "cooldown": "1s"},
    "layouts": {"copies": {"rbd": {"size": "16MiB", "pg_num": 4, "replicated": {"size": 2}}}},
    "workloads": {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "runtime": "20s"}}},
}  # fmt: skip


def test_a_cluster_that_goes_away_under_a_mapped_image(lab: Lab) -> None:
    """The run ends by its deadlines and says what it left, so does recovery; with the cluster back, the rest is removed."""
    ssh.sync_code(lab.name)
    lab.put_file(AWAY, "/root/rbd_away_driver.py")
    lab.run("cat > /root/away.json; modprobe rbd", input_bytes=json.dumps(MAPPED).encode())
    before = lab.run(OF_RUNS, 300).text
    ran = lab.run(["python3", "-I", "/root/rbd_away_driver.py", "/root/away.json"], 3000, check=False)
    print(ran.text, ran.error_text)
    told = json.loads(ran.text.splitlines()[-1])
    assert (told["exit"], told["mapped"]) == (6, [])
    assert (told["away"]["exit"], told["away"]["codes"], told["away"]["mapped"]) == (6, ["rbd-no-answer"], [])
    assert (told["back"]["exit"], told["back"]["codes"]) == (0, [])
    assert lab.run(OF_RUNS, 300).text == before
