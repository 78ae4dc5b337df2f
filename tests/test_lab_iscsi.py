"""Exports over iSCSI on a real kernel: for the run's own initiator alone, read back on both sides, and gone afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import start_lab
from lab_kills import in_thirds, killed_at
from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

WORKLOAD = {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "size": "16MiB", "runtime": "12s"}}}
PAIR = {"pair": {"iscsi": {"on": "@data", "queue_depth": 16, "session_commands": 64, "immediate_data": False}}}
LONG: dict[str, Any] = {
    "mirror-over-iscsi": {"md": {"level": "raid1", "on": {"iscsi": {"on": "@data"}}}},
    "iscsi-over-mirror": {"iscsi": {"on": {"md": {"level": "raid1", "on": "@data"}}}},
    "xfs": {"filesystem": {"type": "xfs", "on": {"iscsi": {"on": {"lvm": {"type": "striped", "on": "@data"}}}}}},
    "volume": {"zpool": {"vdevs": [{"mirror": {"iscsi": {"on": "@data"}}}], "volume": {"size": "50%"}}},
}
LEFT = (
    "ls /sys/class/iscsi_session /sys/kernel/config/target/iscsi /sys/kernel/config/target/core/* 2>/dev/null"
    " | grep -E '^rt|iqn.*:rt|session[0-9]';"
    " iscsiadm -m node 2>/dev/null; iscsiadm -m iface | grep rt; ss -Htln | grep -v :22"
)
"""Sessions, targets, backstores, records and sockets of a run."""


def scenario(layouts: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "raidtui.scenario/1", "name": "iscsi", "roles": {"data": {"count": 2}}, "layouts": layouts,
            "workloads": WORKLOAD}  # fmt: skip


def words(lab: Lab, layouts: dict[str, Any], folder: Path) -> list[str]:
    (folder / "iscsi.json").write_text(json.dumps(scenario(layouts)))
    serials = ",".join(lab.serials)
    return ["replay", str(folder / "iscsi.json"), "--bind", f"data={serials}", "--erase", serials,
            "-o", str(folder / "iscsi.result.json")]  # fmt: skip


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("iscsi", "2x1100M")
    try:
        yield lab
    finally:
        lab.down()


def test_it_is_exported_to_its_own_initiator_measured_and_gone(lab: Lab, tmp_path: Path) -> None:
    process, run = start_and_await(lab, "measure", *words(lab, PAIR, tmp_path))
    listeners = lab.run("ss -Htln | awk '{print $4}'").text.split()
    (own,) = [one for one in listeners if one.startswith("127.0.0.1:")]
    assert all(one == own or one.endswith(":22") for one in listeners), listeners
    # The server's own initiator name is not the one of the run.
    (iqn,) = lab.run("ls /sys/kernel/config/target/iscsi | grep iqn").text.split()
    node = f"iscsiadm -m node -T {iqn} -p {own} -I other"
    lab.run(f"iscsiadm -m iface -I other -o new; {node} -o new")
    tried = lab.run(f"{node} --login", check=False)
    assert tried.code != 0, "another initiator was let in"
    assert "authorization failure" in tried.error_text, tried.error_text
    lab.run(f"{node} -o delete; iscsiadm -m iface -I other -o delete")
    out, error = process.communicate(timeout=1700)
    assert process.returncode == 0, out + error
    (layout,) = json.loads((tmp_path / "iscsi.result.json").read_text())["layouts"]
    (read,) = [facts for facts in layout["read_back"].values() if "session" in facts]
    assert (read["session"]["state"], read["session"]["queue_depths"]) == ("LOGGED_IN", [16, 16])
    assert (read["session"]["immediate_data"], read["portals"]) == ("0", [own])
    assert lab.run(LEFT, check=False).text == ""
    assert all(lab.is_zero(serial) for serial in lab.serials)
    folder = f"/var/lib/raidtui/runs/{run}"
    steps = {step["id"]: step for step in json.loads(lab.run(f"cat {folder}/plan.json").text)["steps"]}
    for line in lab.run(f"grep step-done {folder}/journal.jsonl").text.splitlines():
        event = json.loads(line)["event"]
        if (step := steps[event["step"]])["action"].startswith("iscsi."):
            # iscsiadm deleted the run's record together with the other one, which has the same target.
            ran, planned = ([argv for argv in found if argv[2:3] != ["node"] or argv[-1] != "delete"]
                            for found in (event.get("commands", []), step.get("commands", [])))  # fmt: skip
            assert ran == planned, step["action"]


@pytest.mark.slow
def test_a_killed_run_leaves_no_export(lab: Lab) -> None:
    points = ("call=iscsi.export", "-m", "after")
    killed_at(lab, scenario(PAIR), {"data": lab.serials}, ",".join(f"iscsi.export:{point}" for point in points), 900)
    assert lab.run(LEFT, check=False).text == ""


@pytest.mark.slow
def test_layers_below_and_above(lab: Lab, tmp_path: Path) -> None:
    done = raidtui(lab, *words(lab, LONG, tmp_path), timeout_s=1700)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "iscsi.result.json").read_text())
    assert {one["layout"] for one in result["layouts"] if one["taken_down"]} == set(LONG)
    assert lab.run(LEFT, check=False).text == ""
    assert all(lab.is_zero(serial) for serial in lab.serials)


@in_thirds
def test_every_kill_is_undone(lab: Lab, part: str) -> None:
    layouts = {"stack": {"md": {"level": "raid1", "on": {"iscsi": {"on": "@data"}}}}}
    killed_at(lab, scenario(layouts), {"data": lab.serials}, f"every:{part}")
