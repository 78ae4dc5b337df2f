"""Tuning on a real kernel: set as asked, recorded, and put back as found, whatever happened in between.

One lab, and one process in it for all cases (`stack/tuning_driver.py`); each test looks at one thing that was seen there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import CPUS, start_lab
from raidtui.lab import ssh
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

DRIVER = Path(__file__).parent / "stack/tuning_driver.py"
DISKS = "3x256M"
# A disk with one queue has the one, a disk with several the other (block/elevator.c), unless somebody chooses.
USUAL, CHOSEN = ("mq-deadline", "none") if CPUS == 1 else ("none", "mq-deadline")
QUEUE = {"scheduler": CHOSEN, "nr_requests": 63, "read_ahead": "1MiB"}
ON = {"level": "raid5", "on": "@data", "chunk": "64KiB"}
SCENARIO: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "tuning",
    "roles": {"data": {"count": 3}},
    "layouts": {
        "array": {"md": {**ON, "tuning": {
            "disks": QUEUE, "device": {"read_ahead": "4MiB"}, "stripe_cache_size": 1024, "group_thread_cnt": 1,
            "sync_speed_min": "10MiB", "sync_speed_max": "1GiB",
        }}},
        "pool": {"zpool": {
            "vdevs": [{"raidz1": "@data"}],
            "volume": {"size": "50%"},
            "tuning": {"disks": {"write_cache": "write through"}, "parameters": {"zfs_txg_timeout": 11}},
        }},
        "too-many": {"disk": {"on": "@data", "tuning": {"disks": {"read_ahead": "64KiB", "nr_requests": 65536}}}},
    },
    "workloads": {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "size": "16MiB", "runtime": "1s"}}},
    "policy": {"initial_sync": "skip-if-zeroed"},
}  # fmt: skip
SHORT = ("array", "pool killed")
KILLED = ("array killed after 1", "array killed after 5", "array killed after all", "array killed while putting back")
LONG = ("pool", "not taken", "held", *KILLED)
Seen = dict[str, dict[str, Any]]


def run_cases(lab: Lab, cases: tuple[str, ...]) -> Seen:
    """What the driver saw of each case."""
    ssh.sync_code(lab.name)
    lab.put_file(DRIVER, "/root/tuning_driver.py")
    lab.run("cat > /root/tuning.json", input_bytes=json.dumps(SCENARIO).encode())
    binding = json.dumps({"data": lab.serials})
    argv = ["python3", "-I", "/root/tuning_driver.py", "/root/tuning.json", binding, *cases]
    done = lab.run(argv, 1000, check=False)
    assert done.code == 0, done.error_text
    seen = {case["case"]: case for case in map(json.loads, done.text.splitlines())}
    print({name: case["seconds"] for name, case in seen.items()})
    assert all(lab.is_zero(serial) for serial in lab.serials)
    return seen


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("tuning", DISKS)
    try:
        yield lab
    finally:
        lab.down()


@pytest.fixture(scope="module")
def seen(lab: Lab) -> Seen:
    return run_cases(lab, SHORT)


def of(case: dict[str, Any], ending: str) -> list[dict[str, str]]:
    """What was recorded of every setting whose name ends so."""
    (built,) = case["layouts"]
    return [values for what, values in built["tuning"].items() if what.endswith(ending)]


def test_an_array_and_its_disks_are_tuned_as_asked_and_put_back_as_found(seen: Seen) -> None:
    case = seen["array"]
    assert case["exit"] == 0, case["problems"]
    assert case["after"] == case["before"]
    assert all(valid for _, valid, _ in case["cells"]), case["cells"]
    schedulers = of(case, "queue/scheduler")
    assert len(schedulers) == 3
    for values in schedulers:
        assert values["asked"] == values["set"] == CHOSEN
        assert values["restored"] == values["found"] == USUAL
    for values in of(case, "queue/nr_requests"):
        assert (values["set"], values["restored"]) == ("63", values["found"])
    assert of(case, "md/stripe_cache_size") == [
        {"asked": "1024", "found": "256", "set": "1024", "restored": "gone with its device"}
    ]
    assert of(case, "md/group_thread_cnt")[0]["set"] == "1"
    assert of(case, "md/sync_speed_max")[0] == {
        "asked": "1048576", "found": "system", "set": "1048576", "restored": "gone with its device",
    }  # fmt: skip
    assert {values["set"] for values in of(case, "queue/read_ahead_kb")} == {"1024", "4096"}


def test_what_was_promised_is_what_ran(seen: Seen) -> None:
    (built,) = seen["array"]["layouts"]
    promised = [command for _, commands in seen["array"]["promised"] for command in commands]
    assert len(promised) == 14
    assert [command for command in built["commands"] if command[0] == "sh"] == promised


def judge_killed(case: dict[str, Any]) -> None:
    assert "problems" not in case, case["problems"]
    assert case["killed"]
    assert case["while_dead"] != case["before"]
    assert case["recovered"][0] == 0, case["recovered"]
    assert case["again"] == [0, []]
    assert case["after"] == case["before"]
    assert case["left"] == []
    assert case["state"] == "recovered"


def test_a_parameter_of_zfs_is_put_back_after_a_kill_and_nobody_sets_it_before(seen: Seen) -> None:
    case = seen["pool killed"]
    judge_killed(case)
    parameter = "/sys/module/zfs/parameters/zfs_txg_timeout"
    assert (case["before"][parameter], case["while_dead"][parameter]) == ("5", "11")
    assert case["another"] == [["claim-left", f"raidtui recover {case['run']}"]]
    assert case["relying"] == case["another"], "a pool that sets nothing would be measured with what is left"


@pytest.mark.slow
def test_whatever_happens_the_settings_are_those_that_were_there_before(lab: Lab) -> None:
    seen = run_cases(lab, LONG)
    for name, case in seen.items():
        assert case["after"] == case["before"], name
        if name in KILLED:
            judge_killed(case)
            assert case["another"] == [], "nothing of it belongs to the whole server"
    pool = seen["pool"]
    assert pool["exit"] == 0, pool["problems"]
    assert of(pool, "zfs_txg_timeout") == [{"asked": "11", "found": "5", "set": "11", "restored": "5"}]
    assert [values["set"] for values in of(pool, "queue/write_cache")] == ["write through"] * 3
    refused = seen["not taken"]
    assert refused["exit"] == 4
    assert [code for code, _, _ in refused["problems"]] == ["tuning-not-taken"]
    assert refused["left"] == []
    held = seen["held"]
    assert (held["exit"], held["layouts"], held["steps"]) == (3, [], [])
    assert held["problems"][0][:2] == ["held", "held by run another-run"]


@pytest.mark.slow
def test_a_disk_that_is_pulled_keeps_nobody_from_putting_the_others_back(lab: Lab) -> None:
    names = {serial: lab.kernel_name(serial) for serial in lab.serials}
    look = "for f in scheduler nr_requests read_ahead_kb; do cat /sys/block/{}/queue/$f; done"
    before = {serial: lab.run(look.format(name)).text for serial, name in names.items()}
    scenario = {
        **SCENARIO,
        "layouts": {"all": {"disk": {"on": "@data", "mode": "together", "tuning": {"disks": QUEUE}}}},
        "workloads": {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "size": "16MiB", "runtime": "60s"}}},
    }
    lab.run("cat > /root/pulled.json", input_bytes=json.dumps(scenario).encode())
    disks = ",".join(lab.serials)
    words = ("replay", "/root/pulled.json", "--bind", f"data={disks}", "--erase", disks, "--detach")
    assert lab.raidtui(*words).code == 0
    folder = "/var/lib/raidtui/runs/$(ls /var/lib/raidtui/runs | tail -1)"
    lab.wait_for(f"""grep -q '"kind":"sampled"' {folder}/journal.jsonl""", 200)
    pulled = lab.serials[0]
    assert f"[{CHOSEN}]" in lab.run(look.format(names[pulled])).text
    lab.unplug(pulled)
    lab.wait_for(f"""grep -q '"kind":"run-finished"' {folder}/journal.jsonl""", 200)
    result = json.loads(lab.run(f"cat {folder}/result.json").text)
    restored = {what: values["restored"] for what, values in result["layouts"][0]["tuning"].items()}
    assert restored[f"{pulled} queue/scheduler"] == "gone with its device"
    for serial in lab.serials[1:]:
        assert lab.run(look.format(names[serial])).text == before[serial]
        assert restored[f"{serial} queue/scheduler"] == USUAL
    lab.plug(pulled)
    refused = lab.raidtui("recover", timeout_s=200)
    assert refused.code == 6, "it was away: whose nameless data it has now, nobody knows"
    assert "unknown-data" in refused.text + refused.error_text
    lab.run(f"blkdiscard -z /dev/{lab.kernel_name(pulled)}")
    assert lab.raidtui("recover", timeout_s=200).code == 0
    assert all(lab.is_zero(serial) for serial in lab.serials)
