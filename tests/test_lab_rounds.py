"""Numbers that can be trusted, on real arrays: order, a layout against itself, preconditioned disks, steady state."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_harness import start_lab
from raidtui.lab.control import Lab
from raidtui.model.statistics.judge import judge
from raidtui.results.compare import compare
from raidtui.results.load import read_result
from raidtui.results.rates import rate_of
from test_lab_replay import consent, md, raidtui, scenario, start_and_await

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1800)]

WRITE = {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "size": "64MiB", "runtime": "3s"}}
MIX = {"fio": {"rw": "randrw", "bs": "4KiB", "iodepth": 4, "size": "64MiB", "runtime": "3s"}}
LONG = {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "size": "64MiB", "runtime": "20s"}}
SLOW = {"fio": {**WRITE["fio"], "runtime": "8s"}}
BARE = {"disk": {"on": "@data", "mode": "together"}}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Four disks that are filled and synchronised in no time."""
    lab = start_lab("rounds", "4x512M")
    try:
        yield lab
    finally:
        lab.down()


@pytest.fixture(autouse=True)
def nothing_is_left(lab: Lab) -> Iterator[None]:
    yield
    for serial in lab.serials:
        assert lab.is_zero(serial), serial
    assert lab.run("ls -d /sys/block/md* 2>/dev/null", check=False).text == ""
    assert lab.run("pgrep -x fio; pgrep -f 'raidtui/__main__.py runner'", check=False).text == ""


def test_twice_the_capacity_is_what_snia_asks_for(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"raid1": md("raid1")}, {"write": WRITE}, disks=2, initial_sync="wait", precondition="2x")
    out = tmp_path / "r.result.json"
    run = raidtui(lab, "replay", path, *consent(lab, 2), "--json", "-o", str(out), timeout_s=900)
    assert run.returncode == 0, run.stderr
    events = [json.loads(line)["event"] for line in run.stdout.splitlines()]
    result = read_result(out.read_bytes(), str(out))
    (built,) = result.layouts
    assert built.preconditioned == "preconditioned 2x sequential (SNIA PTS 2.0.2)"
    assert built.read_back["disks.blank"]["blank"].keys() == set(lab.serials[:2])
    started = [event["step"] for event in events if event["kind"] == "step-started" and event["action"] == "precondition"]
    told = [event for event in events if event["kind"] == "step-progressed" and event["step"] in started]
    assert told
    assert max(event["fraction"] for event in told) > 0.5


def test_disks_are_full_of_data_before_the_first_pass_and_cancelling_between_passes_blanks_them(
    lab: Lab, tmp_path: Path
) -> None:
    policy = {"initial_sync": "wait", "precondition": "1.5x", "steady": True}
    path = scenario(tmp_path, {"bare": BARE}, {"long": LONG}, disks=2, **policy)
    out = tmp_path / "r.result.json"
    run, name = start_and_await(lab, "measure", "replay", path, *consent(lab, 2), "-o", str(out))
    for serial in lab.serials[:2]:
        for at in (70, 300, 511):
            read = f"dd if=/dev/{lab.kernel_name(serial)} bs=1M count=1 skip={at} iflag=direct status=none"
            words = lab.run(f"{read} | gzip -c | wc -c").text
            assert int(words) > 900_000, f"{serial} at {at} MiB is not incompressible data"
    lab.wait_for(f"""grep -q '"pass_number":2' /var/lib/raidtui/runs/{name}/journal.jsonl""", 400)
    assert raidtui(lab, "cancel").returncode == 0
    text = run.communicate(timeout=300)
    assert run.returncode == 130, text
    result = read_result(out.read_bytes(), str(out))
    (cell,) = result.cells
    assert not cell.valid
    assert len(cell.steady.passes) == 2
    (built,) = result.layouts
    assert built.preconditioned == "preconditioned 1.5x sequential: less than SNIA PTS asks"


def test_cancelling_while_disks_are_preconditioned(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"raid1": md("raid1")}, {"write": WRITE}, disks=2, initial_sync="wait", precondition="2x")
    for serial in lab.serials[:2]:
        lab.throttle(serial, bytes_per_s=8 << 20)
    try:
        run, _ = start_and_await(lab, "precondition", "replay", path, *consent(lab, 2), "-o", str(tmp_path / "r.json"))
        time.sleep(3)
        assert raidtui(lab, "cancel").returncode == 0
        time.sleep(2)
    finally:
        for serial in lab.serials[:2]:
            lab.throttle(serial)
    text = run.communicate(timeout=300)
    assert run.returncode == 130, text


def test_a_rehearsal_with_all_of_it(lab: Lab, tmp_path: Path) -> None:
    path = scenario(
        tmp_path, {"raid1": md("raid1"), "bare": BARE}, {"write": WRITE, "mix": MIX}, disks=2, initial_sync="wait",
        rounds=2, order="random", noise_of="raid1", precondition="2x", steady=True,
    )  # fmt: skip
    plan = json.loads(raidtui(lab, "plan", path, *consent(lab, 2)[:2], "--quick", "--json").stdout)
    out = tmp_path / "r.result.json"
    run = raidtui(lab, "replay", path, *consent(lab, 2), "--quick", "--json", "-o", str(out), timeout_s=1500)
    assert run.returncode == 0, run.stderr
    events = [json.loads(line)["event"] for line in run.stdout.splitlines()]
    result = read_result(out.read_bytes(), str(out))

    assert [cell.id for cell in result.cells] == [cell["id"] for cell in plan["cells"]]
    assert sorted((cell.layout, cell.again) for cell in result.cells if cell.workload == "mix") == [
        ("bare", False), ("bare", False), ("raid1", False), ("raid1", False), ("raid1", True), ("raid1", True),
    ]  # fmt: skip
    for built in result.layouts:
        assert built.preconditioned.startswith("preconditioned with 256 MiB of each disk (a rehearsal)")
        assert built.taken_down
    for cell in result.cells:
        assert cell.valid, cell.reasons
        steady = cell.steady
        assert steady is not None
        assert len(steady.passes) == 5
        assert (steady.reached is None) == any(mark.code == "not-steady" for mark in cell.marks)
        assert cell.summary.write.ios == sum(one.summary.write.ios for one in steady.passes)
        assert cell.summary.write.latency.p99_us
        assert cell.seconds >= 15
        assert set(steady.variables) >= {"write IOPS", "write bandwidth", "write mean latency"}
        assert ("read IOPS" in steady.variables) == (cell.workload == "mix")
        assert max(sample.at_s for sample in cell.samples) > 12
        live = [event for event in events if event["kind"] == "sampled" and event["cell"] == cell.id]
        assert {event.get("pass_number", 0) for event in live if not event.get("prefill")} == {1, 2, 3, 4, 5}

    executed = {event["step"]: event.get("commands", []) for event in events if event["kind"] == "step-done"}
    for step in plan["steps"]:
        if step["action"] in ("precondition", "measure"):
            assert all(command in executed[step["id"]] for command in step["commands"]), step["title"]
    comparison = compare(result)
    assert comparison.same == (("raid1", "raid1 again"),)
    assert all(floor is not None for floor in comparison.noise_floors)
    shown = raidtui(lab, "show", str(out))
    assert shown.returncode == 0, shown.stderr
    assert "by pass: [" in shown.stdout
    assert "raid1, round 1 again: built" in shown.stdout
    drawn = raidtui(lab, "compare", str(out), "--format", "svg", "-o", str(tmp_path / "r.svg"))
    assert drawn.returncode == 0, drawn.stderr
    assert "thick: the window" in (tmp_path / "r.svg").read_text()


def test_of_disks_measured_against_themselves_hardly_any_are_called_different(lab: Lab, tmp_path: Path) -> None:
    """A/A: four disks one by one, each against itself, under five workloads, in five rounds: twenty pairs of the same."""
    loads = {
        f"{way}-{block.lower()}": {"fio": {"rw": way, "bs": block, "iodepth": 4, "size": "64MiB", "runtime": "1s"}}
        for way, block in (("randwrite", "4KiB"), ("randwrite", "16KiB"), ("randwrite", "64KiB"), ("write", "64KiB"),
                           ("write", "256KiB"))
    }  # fmt: skip
    bare = {"disk": {"on": "@data", "mode": "each"}}
    path = scenario(tmp_path, {"bare": bare}, loads, rounds=5, order="random", noise_of="bare", initial_sync="wait")
    out = tmp_path / "aa.result.json"
    run = raidtui(lab, "replay", path, *consent(lab), "-o", str(out), timeout_s=1700)
    assert run.returncode in (0, 5), run.stderr
    comparison = compare(read_result(out.read_bytes(), str(out)))
    pairs = []
    for row in comparison.rows:
        for entry, unit in zip(row.entries, comparison.units, strict=True):
            both = [[rate_of(one, unit) for one in points if one.valid] for points in (entry.points, entry.again)]
            assert min(map(len, both)) >= 4
            pairs.append(both)
    assert len(pairs) == 20
    verdicts = [one.verdict for one in judge(pairs)]
    print(verdicts, comparison.noise_floors, flush=True)
    assert verdicts.count("different") <= 0.05 * len(verdicts)


def test_a_disk_that_does_a_tenth_less_is_found_in_five_rounds(lab: Lab, tmp_path: Path) -> None:
    """The host lets one disk do 100 operations a second, and the other one 90."""
    path = Path(scenario(tmp_path, {name: {"disk": {"on": f"@{name}"}} for name in ("whole", "tenth-less")},
                         {"write": SLOW}, rounds=5, order="random", initial_sync="wait"))  # fmt: skip
    asked = json.loads(path.read_text())
    path.write_text(json.dumps({**asked, "roles": {"whole": {"count": 1}, "tenth-less": {"count": 1}}}))
    one, other = lab.serials[:2]
    out = tmp_path / "planted.result.json"
    lab.throttle(one, iops=100)
    lab.throttle(other, iops=90)
    try:
        run = raidtui(lab, "replay", str(path), "--bind", f"whole={one}", "--bind", f"tenth-less={other}",
                      "--erase", f"{one},{other}", "-o", str(out), timeout_s=1700)  # fmt: skip
    finally:
        lab.throttle(one)
        lab.throttle(other)
    assert run.returncode in (0, 5), run.stderr
    (entry,) = [row.entries[0] for row in compare(read_result(out.read_bytes(), str(out)), baseline=f"whole {one}").rows
                if row.label.startswith("tenth-less ")]  # fmt: skip
    assert entry is not None
    print(entry.of_baseline, entry.share_low, entry.share_high, entry.rank_p, entry.p, flush=True)
    assert entry.verdict == "different"
    assert abs(entry.of_baseline - 0.9) < 0.03


def test_each_combination_of_a_sweep_is_measured_with_its_own_depth_and_jobs(lab: Lab, tmp_path: Path) -> None:
    seek = {"rw": "randread", "bs": "4KiB", "size": "32MiB", "runtime": "2s", "iodepth": [1, 4, 16], "numjobs": [1, 2]}
    path = scenario(tmp_path, {"raid0": md("raid0")}, {"seek": {"fio": seek}}, disks=2)
    out = tmp_path / "r.result.json"
    run = raidtui(lab, "replay", path, *consent(lab, 2), "-o", str(out), timeout_s=900)
    result = read_result(out.read_bytes(), str(out))
    assert [cell.workload for cell in result.cells] == [f"seek-t{jobs}q{depth}" for jobs in (1, 2) for depth in (1, 4, 16)]
    for cell in result.cells:
        assert cell.sweep is not None
        assert {f"--iodepth={cell.sweep.iodepth}", f"--numjobs={cell.sweep.numjobs}"} <= set(cell.command)
        assert cell.report["global options"]["iodepth"] == str(cell.sweep.iodepth)
    assert run.returncode == 0, run.stderr
    (sweep,) = compare(result).sweeps
    (curve,) = sweep.curves
    assert [(one.numjobs, one.in_flight) for one in curve.points] == [(1, 1), (2, 2), (1, 4), (2, 8), (1, 16), (2, 32)]
    for point in curve.points:
        assert point.iops is not None
        assert point.mean_us is not None
        # Little's law.
        assert point.iops * point.mean_us / 1e6 < point.in_flight * 1.1, "no more was in flight than asked for"
    shown = "".join(raidtui(lab, "show", str(out)).stdout.split())
    assert "Sweepseek:IOPSandmeanlatencybyqueuedepthandjobs" in shown
    assert "raid0:knee" in shown or "raid0:noknee" in shown
