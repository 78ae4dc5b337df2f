"""SIGKILL of the runner before and after its journal records: `recover` brings every disk back to blank."""

from __future__ import annotations

import pytest

from lab_harness import MakeLab
from lab_kills import in_thirds, killed_at
from raidtui.lab.control import Lab

pytestmark = pytest.mark.lab

DISKS = "5x1100M"
SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "kill",
    "roles": {"data": {"count": 3}, "journal": {"count": 1}},
    "layouts": {"raid5-journal": {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB", "journal": "@journal"}}},
    "workloads": {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "size": "64MiB", "runtime": "1s"}}},
    "policy": {"initial_sync": "skip-if-zeroed"},
}
RISKIEST = ("3:after", "8:before", "18:before")
"""Around the blanking, the creation and the teardown. The whole row is `slow`."""


def kill_at(lab: Lab, points: str) -> None:
    """Kill at these points, beside a disk that is somebody else's."""
    canary = lab.serials[4]
    lab.run(f"head -c 33554432 /dev/urandom > /dev/{lab.kernel_name(canary)}; sync")
    before = lab.disk_hash(canary)
    killed_at(lab, SCENARIO, {"data": lab.serials[:3], "journal": lab.serials[3:4]}, points)
    assert lab.disk_hash(canary) == before


def test_recover_brings_everything_back_after_the_riskiest_kills(make_lab: MakeLab) -> None:
    kill_at(make_lab(DISKS), ",".join(RISKIEST))


@in_thirds
def test_recover_brings_everything_back_after_every_kill(make_lab: MakeLab, part: str) -> None:
    kill_at(make_lab(DISKS), f"every:{part}")
