"""A run that is killed at its journal records, recovered each time, and what was left (`engine/kill_driver.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from raidtui.lab import ssh
from raidtui.lab.control import Lab

DRIVER = Path(__file__).parent / "engine/kill_driver.py"
TIMEOUT_S = 4500
"""For a third of all records of a stack."""


def in_thirds(test: Any) -> Any:
    """A test of every record takes a `part` of them at a time: what failed is done again in minutes."""
    marks = (pytest.mark.slow, pytest.mark.timeout(TIMEOUT_S + 300), pytest.mark.parametrize("part", ["1/3", "2/3", "3/3"]))
    for mark in marks:
        test = mark(test)
    return test


def killed_at(
    lab: Lab,
    scenario: dict[str, Any],
    binding: dict[str, list[str]],
    points: str,
    timeout_s: float = TIMEOUT_S,
    hosts: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    """Kill a run of this scenario at each of these points, and recover; each leaves nothing, and blank disks.

    `points` and `hosts` are those of the driver: `3:before,lvm.cache:lvconvert`, or `every:1/3`.
    """
    ssh.sync_code(lab.name)
    lab.run("cat > /root/kill.json", input_bytes=json.dumps(scenario).encode())
    lab.put_file(DRIVER, "/root/kill_driver.py")
    argv = ["python3", "-I", "/root/kill_driver.py", "/root/kill.json", json.dumps(binding), points, *hosts]
    found = [json.loads(line) for line in lab.run(argv, timeout_s).text.splitlines() if line.startswith("{")]
    if points.startswith("every"):
        whole = found.pop(0)
        assert whole["exit"] == 0, "the run that is not killed"
        assert len(found) == whole["points"]
    else:
        assert len(found) == len(points.split(","))
    print("seconds to recover:", {point["point"]: point["seconds"] for point in found})
    for point in found:
        _judge(point)
    assert lab.run("pgrep -x fio", check=False).text == ""
    assert all(lab.is_zero(serial) for serials in binding.values() for serial in serials)
    return found


def _judge(point: dict[str, Any]) -> None:
    assert point["killed"], point
    assert point["recover_exit"] == 0, point
    assert point["again"] == [0, [], True], point
    assert not point["busy"], point
    assert not point["arrays"], point
    assert not point["left_on_hosts"], point
