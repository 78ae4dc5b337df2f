"""A campaign that is asked for a ranking, on real arrays: it ends when the answer is clear, and says what it left out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from lab_harness import MakeLab
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1800)]

ROUNDS = 10
WRITE = {"fio": {"rw": "randwrite", "bs": "4KiB", "ioengine": "libaio", "direct": True, "iodepth": 16, "size": "64MiB",
                 "runtime": "60s"}}  # fmt: skip
SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "ranked",
    "roles": {"data": {"count": 4}},
    "layouts": {name: {"md": {"level": name, "on": "@data", "chunk": "64KiB"}} for name in ("raid0", "raid10", "raid5")},
    "workloads": {"write": WRITE},
    "policy": {
        "rounds": ROUNDS,
        "initial_sync": "skip-if-zeroed",
        "ranking": {"question": "best", "slice": "3s", "close_enough": 20},
    },
}


def raidtui(lab: Lab, *words: str) -> subprocess.CompletedProcess:
    argv = [sys.executable, "-m", "raidtui", "--on", f"lab:{lab.name}", *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=1500, stdin=subprocess.DEVNULL)


def test_a_campaign_ends_before_its_bound_with_the_right_ranking(make_lab: MakeLab, tmp_path: Path) -> None:
    lab = make_lab("4x1100M")
    scenario, out = tmp_path / "scenario.json", tmp_path / "out.result.json"
    scenario.write_text(json.dumps(SCENARIO))
    disks = ",".join(lab.serials)
    plan = raidtui(lab, "plan", str(scenario), "--bind", f"data={disks}")
    assert "at most: what the ranking no longer needs is left out" in plan.stdout
    done = raidtui(lab, "replay", str(scenario), "--bind", f"data={disks}", "--erase", disks, "-o", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(out.read_text())
    (ranked,) = result["ranking"]
    places = {one["layout"]: one["place"] for one in ranked["layouts"]}

    assert result["complete"]
    # On a machine that other things load too, rounds may scatter too far to tell anything apart: then that is what it says.
    assert ranked["answered"] or ranked["beyond"] or ranked["rounds"] == ROUNDS
    assert ranked["skipped"] == 3 * ROUNDS - len(result["cells"]) > 0
    assert ranked["spent_s"] < ranked["most_s"]
    assert max(cell["round"] for cell in result["cells"] if cell["layout"] == "raid5") < ROUNDS
    assert places["raid5"] > 1 or ranked["beyond"]
    medians = {name: rate(result, name) for name in places}
    assert medians["raid5"] == min(medians.values())
    assert places[max(medians, key=medians.__getitem__)] == 1
    for told in ranked["told"]:
        assert told["verdict"] == "close" or medians[told["better"]] > medians[told["worse"]]

    assert "not needed" in done.stderr
    assert f"{len(result['cells'])} cells, {ranked['skipped']} not needed" in done.stderr
    assert all(built["taken_down"] for built in result["layouts"])
    assert all(lab.is_zero(serial) for serial in lab.serials)
    assert "write: " in raidtui(lab, "show", str(out)).stdout.partition("Ranking")[2]

    (run,) = json.loads(raidtui(lab, "runs", "--json").stdout)["runs"]
    assert run["state"] == "finished"
    assert run["cells_done"] == run["cells"] == len(result["cells"])
    again = raidtui(lab, "attach", run["run"], "--json")
    events = [json.loads(line)["event"] for line in again.stdout.splitlines()]
    left_out = [cell for event in events if event["kind"] == "skipped" for cell in event["cells"]]
    assert len(left_out) == ranked["skipped"]
    assert raidtui(lab, "recover", run["run"]).returncode == 0


def rate(result: dict, layout: str) -> float:
    return median(cell["summary"]["write"]["iops"] for cell in result["cells"] if cell["layout"] == layout)
