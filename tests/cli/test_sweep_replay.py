"""A sweep from the scenario to the curve: planned, replayed on simulated disks, shown, compared, drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raidtui.cli.main import main
from raidtui.engine.simulated.disks import RECORDED_DISKS
from raidtui.model.recording import read_recording

DISKS = [disk.id for disk in read_recording(RECORDED_DISKS).disks if disk.transport == "nvme"][:3]
WHERE = ["--bind", f"data={','.join(DISKS)}"]
FIO = {"rw": "randread", "bs": "4KiB", "runtime": "5s", "size": "1%"}
SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "curve",
    "roles": {"data": {"count": 3}},
    "layouts": {"raid5": {"md": {"level": "raid5", "on": "@data"}}},
    "workloads": {"seek": {"fio": {**FIO, "iodepth": [1, 64, 4096]}}},
}


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    code = main(["--on", "sim", *words])
    said = capsys.readouterr()
    assert code == 0, said.err
    return said.out


def test_a_sweep_is_planned_replayed_shown_compared_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    Path("curve.json").write_text(json.dumps(SCENARIO))
    plan = run(capsys, "plan", "curve.json", *WHERE)
    assert "Sweep    seek: 3 combinations (iodepth 1, 64, 4096), 3 cells, about " in plan
    told = json.loads(run(capsys, "plan", "curve.json", *WHERE, "--json"))
    assert [(sweep["name"], sweep["iodepth"], sweep["cells"]) for sweep in told["sweeps"]] == [("seek", [1, 64, 4096], 3)]

    run(capsys, "replay", "curve.json", *WHERE, "--erase", ",".join(DISKS), "-o", "curve.result.json")
    result = json.loads(Path("curve.result.json").read_text())
    assert result["scenario"] == SCENARIO
    assert [cell["workload"] for cell in result["cells"]] == ["seek-q1", "seek-q64", "seek-q4096"]
    assert result["cells"][1]["sweep"] == {"name": "seek", "bs": "4KiB", "iodepth": 64}

    for said in (run(capsys, "show", "curve.result.json"), run(capsys, "compare", "curve.result.json")):
        assert "Sweep seek: IOPS and mean latency by queue depth" in said
        assert "raid5: " in said
        assert "in flight" in said
    (sweep,) = json.loads(run(capsys, "compare", "curve.result.json", "--format", "json"))["sweeps"]
    one, more, most = sweep["curves"][0]["points"]
    assert (one["in_flight"], more["in_flight"], most["in_flight"]) == (1, 64, 4096)
    assert one["mean_us"] < most["mean_us"]
    assert one["iops"] < most["iops"]
    run(capsys, "compare", "curve.result.json", "-o", "curve.html")
    assert "<h2>Sweeps</h2>" in Path("curve.html").read_text()
    run(capsys, "compare", "curve.result.json", "--format", "svg", "--chart", "sweeps", "-o", "curve.svg")
    assert ">4096×1<" in Path("curve.svg").read_text()


def test_a_result_of_a_sweep_is_replayed_like_its_scenario_and_one_of_its_workloads_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("curve.json").write_text(json.dumps(SCENARIO))
    words = ("--quick", "--workload", "seek-q64", "--erase", ",".join(DISKS))
    run(capsys, "replay", "curve.json", *WHERE, *words, "-o", "one.result.json")
    assert [cell["workload"] for cell in json.loads(Path("one.result.json").read_text())["cells"]] == ["seek-q64"]
    plan = json.loads(run(capsys, "plan", "one.result.json", *WHERE, "--workload", "seek", "--json"))
    assert [cell["workload"] for cell in plan["cells"]] == ["seek-q1", "seek-q64", "seek-q4096"]


@pytest.mark.parametrize("code", ["sweep-list", "sweep-size", "sweep-option", "sweep-name"])
def test_every_problem_of_a_sweep_is_explained(capsys: pytest.CaptureFixture[str], code: str) -> None:
    assert "iodepth" in run(capsys, "explain", code) or code == "sweep-size"
