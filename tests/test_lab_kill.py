"""SIGKILL of the runner before and after its journal records: `recover` brings every disk back to blank."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab_harness import MakeLab
from raidtui.lab.control import Lab

HERE = Path(__file__).parent
DISKS = "5x1G"
SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "kill",
    "roles": {"data": {"count": 3}, "journal": {"count": 1}},
    "layouts": {"raid5-journal": {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB", "journal": "@journal"}}},
    "workloads": {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "size": "64MiB", "runtime": "1s"}}},
    "policy": {"initial_sync": "skip-if-zeroed"},
}
RISKIEST = ("3:after", "7:after", "8:before", "12:after", "13:before", "15:after", "16:before", "18:before")
"""Around the blanking, the creation, the measuring and the teardown. The whole row is `slow`."""


def kill_at(lab: Lab, points: str, timeout_s: float) -> list[dict]:
    """Run the driver in the guest and judge every point it went through."""
    lab.raidtui("--version")
    lab.run(["sh", "-c", f"cat > /root/kill.json <<'EOF'\n{json.dumps(SCENARIO)}\nEOF"])
    lab.put_file(HERE / "engine" / "kill_driver.py", "/root/kill_driver.py")
    binding = json.dumps({"data": lab.serials[:3], "journal": lab.serials[3:4]})
    canary = lab.serials[4]
    lab.run(f"head -c 33554432 /dev/urandom > /dev/{lab.kernel_name(canary)}; sync")
    before = lab.disk_hash(canary)
    done = lab.run(["python3", "-I", "/root/kill_driver.py", "/root/kill.json", binding, points], timeout_s)
    assert lab.disk_hash(canary) == before
    assert all(lab.is_zero(serial) for serial in lab.serials[:4])
    assert not lab.run("pgrep -x fio", check=False).out
    return [json.loads(line) for line in done.text.splitlines() if line.startswith("{")]


def judge(found: list[dict]) -> None:
    print("seconds to recover:", {point["point"]: point["seconds"] for point in found if "point" in point})
    for point in found:
        if "point" not in point:
            assert point["exit"] == 0, point
            continue
        assert point["killed"], point
        assert point["recover_exit"] == 0, point
        assert point["again"] == [0, [], True], point
        assert not point["busy"], point
        assert not point["arrays"], point


@pytest.mark.lab
def test_recover_brings_everything_back_after_the_riskiest_kills(make_lab: MakeLab) -> None:
    found = kill_at(make_lab(DISKS), ",".join(RISKIEST), 800)
    assert len(found) == len(RISKIEST)
    judge(found)


@pytest.mark.lab
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_recover_brings_everything_back_after_every_kill(make_lab: MakeLab) -> None:
    found = kill_at(make_lab(DISKS), "all", 7000)
    assert len(found) == 1 + 2 * found[0]["records"]
    judge(found)
