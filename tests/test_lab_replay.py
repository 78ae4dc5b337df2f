"""raidtui's main job, through its own command line, on real arrays: and what it does when things go wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import start_lab
from lab_runs import raidtui, start, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

WRITE = {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "size": "128MiB", "runtime": "3s"}}
READ = {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 4, "size": "64MiB", "runtime": "3s"}}
LONG = {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "size": "128MiB", "runtime": "120s"}}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Six small disks: four to work on, one spare, and the last a canary with content that nobody may touch."""
    lab = start_lab("replay", "6x1100M")
    try:
        lab.run(f"head -c 16777216 /dev/urandom > /dev/{lab.kernel_name(lab.serials[5])}; sync")
        yield lab
    finally:
        lab.down()


@pytest.fixture(autouse=True)
def nothing_is_left(lab: Lab) -> Iterator[None]:
    """Every test leaves the four disks blank, no array, no process of ours, no lock, and the canary as it was."""
    canary = lab.disk_hash(lab.serials[5])
    yield
    for serial in lab.serials[:5]:
        if lab.kernel_name(serial) is not None:
            assert lab.is_zero(serial), serial
    assert lab.disk_hash(lab.serials[5]) == canary
    assert lab.run("ls -d /sys/block/md* 2>/dev/null", check=False).text == ""
    assert lab.run("pgrep -x fio; pgrep -f 'raidtui/__main__.py runner'", check=False).text == ""


def scenario(tmp_path: Path, layouts: dict, workloads: dict, disks: int = 4, **policy: object) -> str:
    path = tmp_path / "scenario.json"
    value = {
        "schema": "raidtui.scenario/1", "name": "test", "roles": {"data": {"count": disks}},
        "layouts": layouts, "workloads": workloads, "policy": {"initial_sync": "skip-if-zeroed", **policy},
    }  # fmt: skip
    path.write_text(json.dumps(value))
    return str(path)


def md(level: str, **options: object) -> dict:
    return {"md": {"level": level, "on": "@data", **options}}


def consent(lab: Lab, disks: int = 4) -> list[str]:
    chosen = ",".join(lab.serials[:disks])
    return ["--bind", f"data={chosen}", "--erase", chosen]


def test_replay_builds_measures_and_takes_down_every_layout_with_the_commands_of_the_plan(lab: Lab, tmp_path: Path) -> None:
    layouts = {
        "disks": {"disk": {"on": "@data", "mode": "together"}},
        "raid10": md("raid10", layout="far2", chunk="64KiB"),
        "raid6": md("raid6", chunk="64KiB"),
    }
    path = scenario(tmp_path, layouts, {"write": WRITE, "read": READ}, only={"disks": ["read"]})
    plan = json.loads(raidtui(lab, "plan", path, *consent(lab)[:2], "--json").stdout)
    out = tmp_path / "out.result.json"
    done = raidtui(lab, "replay", path, *consent(lab), "--json", "-o", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(out.read_text())
    assert result["complete"]
    assert result["outcome"] == "done"
    assert result["plan_digest"] == plan["digest"]
    assert [cell["id"] for cell in result["cells"]] == [cell["id"] for cell in plan["cells"]]
    for cell in result["cells"]:
        assert cell["valid"], cell["reasons"]
        summary = cell["summary"]["write" if cell["workload"] == "write" else "read"]
        assert summary["iops"] > 0
        assert len(cell["samples"]) >= 2
        assert cell["cpu_cores_used"] > 0
    for built in result["layouts"]:
        assert built["taken_down"]
    by_id = {cell["id"]: cell for cell in result["cells"]}
    assert by_id["raid10/write/1"]["write_amplification"] == pytest.approx(2.0, abs=0.1)
    assert by_id["raid6/write/1"]["write_amplification"] >= 2.5
    again = raidtui(lab, "show", str(out))
    assert again.returncode == 0
    assert "raid10" in again.stdout
    look_at_what_was_executed([json.loads(line)["event"] for line in done.stdout.splitlines()])


def without_target(argv: list[str]) -> list[str]:
    return [word for word in argv if not word.startswith(("--filename=", "--directory="))]


def look_at_what_was_executed(records: list[dict[str, Any]]) -> None:
    plan = next(event["plan"] for event in records if event["kind"] == "run-started")
    executed = {event["step"]: event.get("commands", []) for event in records if event["kind"] == "step-done"}
    promised = [(step, command) for step in plan["steps"] for command in step.get("commands", [])]
    assert promised
    for step, command in promised:
        # A run passes its target as a descriptor, where a plan has its path.
        assert without_target(command) in map(without_target, executed[step["id"]]), step["title"]
    began = next(event for event in records if event["kind"] == "cell-started" and event["cell"].startswith("raid6/"))
    (array,) = (name for name, what in began["devices"].items() if what == "target")
    assert began["parents"] == {name: array for name in began["devices"] if name != array}


def test_without_consent_nothing_is_touched(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"raid5": md("raid5")}, {"write": WRITE})
    hashes = [lab.disk_hash(serial) for serial in lab.serials]
    bind, erase = consent(lab)[:2], lab.serials[:4]
    done = raidtui(lab, "replay", path, *bind)
    assert done.returncode == 3
    assert f"--erase {','.join(erase)}" in done.stdout + done.stderr
    for wrong in (erase[:3], [*erase, lab.serials[4]], [*erase[:3], "NO-SUCH-DISK"]):
        refused = raidtui(lab, "replay", path, *bind, "--erase", ",".join(wrong))
        assert refused.returncode == 3, refused.stderr
    assert [lab.disk_hash(serial) for serial in lab.serials] == hashes


def test_a_disk_with_data_is_refused_by_replay(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"raid1": md("raid1")}, {"write": WRITE}, disks=2)
    both = f"{lab.serials[0]},{lab.serials[5]}"
    refused = raidtui(lab, "replay", path, "--bind", f"data={both}", "--erase", both)
    assert refused.returncode == 3
    assert lab.serials[5] in refused.stderr
    assert "unknown-data" in refused.stderr


@pytest.mark.slow
def test_of_two_replays_on_overlapping_disks_one_runs(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"raid0": md("raid0")}, {"write": WRITE})
    both = [start(lab, "replay", path, *consent(lab), "-o", str(tmp_path / f"{n}.json")) for n in range(2)]
    texts = [process.communicate(timeout=400) for process in both]
    assert sorted(process.returncode for process in both) == [0, 3], texts
    loser = texts[[process.returncode for process in both].index(3)]
    assert "held by run" in loser[1]


def test_a_disk_pulled_while_measuring_invalidates_the_cell(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"raid5": md("raid5", chunk="64KiB")}, {"long": LONG})
    out = tmp_path / "r.result.json"
    run, _ = start_and_await(lab, "measure", "replay", path, *consent(lab), "-o", str(out))
    time.sleep(3)
    lab.unplug(lab.serials[1])
    try:
        text = run.communicate(timeout=300)
    finally:
        lab.plug(lab.serials[1])
    assert run.returncode == 5, text
    cell = json.loads(out.read_text())["cells"][0]
    assert not cell["valid"]
    assert f"disk {lab.serials[1]} was lost" in cell["reasons"]
    assert raidtui(lab, "recover").returncode == 0


@pytest.mark.slow
def test_a_disk_pulled_while_building_fails_the_build(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"raid5": md("raid5", chunk="64KiB")}, {"write": WRITE}, initial_sync="wait")
    for serial in lab.serials[:4]:
        lab.throttle(serial, bytes_per_s=8 << 20)
    try:
        run, _ = start_and_await(lab, "md.sync", "replay", path, *consent(lab), "-o", str(tmp_path / "r.result.json"))
        time.sleep(2)
        lab.unplug(lab.serials[2])
    finally:
        for serial in (lab.serials[0], lab.serials[1], lab.serials[3]):
            lab.throttle(serial)
    text = run.communicate(timeout=300)
    lab.plug(lab.serials[2])
    lab.throttle(lab.serials[2])
    assert run.returncode == 4, text
    assert raidtui(lab, "recover").returncode == 0


@pytest.mark.slow
def test_without_systemd_the_runner_is_a_session_of_its_own(lab: Lab, tmp_path: Path) -> None:
    lab.raidtui("--version")
    lab.put_file(Path(scenario(tmp_path, {"raid0": md("raid0")}, {"write": WRITE})), "/root/scenario.json")
    hide = 'mount -t tmpfs none /run/systemd && exec "$@"'
    words = ["raidtui", "replay", "/root/scenario.json", *consent(lab), "--detach"]
    lab.run(["unshare", "--mount", "sh", "-c", hide, "sh", *words], 120)
    assert "raidtui-run" not in lab.run("systemctl list-units --no-legend 'raidtui-run-*'").text
    pid = lab.run("pgrep -f '__main__.py runner'").text.split()[0]
    assert lab.run(f"ps -o sid= -p {pid}").text.strip() == pid
    assert raidtui(lab, "attach").returncode == 0


def test_a_run_keeps_its_disks_survives_its_connection_and_is_taken_down_when_cancelled(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"raid1": md("raid1")}, {"long": LONG})
    out = tmp_path / "r.result.json"
    run, name = start_and_await(lab, "measure", "replay", path, *consent(lab))
    second = raidtui(lab, "replay", path, *consent(lab))
    assert second.returncode == 3
    assert f"held by run {name}" in second.stderr
    run.kill()
    run.wait(30)
    lab.run("pkill -KILL -f '__main__.py engine'", check=False)
    attached = start(lab, "attach", name, "-o", str(out))
    cancelled = raidtui(lab, "cancel")
    assert cancelled.returncode == 0, cancelled.stderr
    text = attached.communicate(timeout=400)
    assert attached.returncode == 130, text
    assert "raid1" in text[0]
    assert json.loads(out.read_text())["outcome"] == "cancelled"


@pytest.mark.slow
def test_a_superblock_that_is_lost_while_it_is_measured_fails_the_build(lab: Lab, tmp_path: Path) -> None:
    """The kernel does not notice it: an array that runs reads its superblocks no more."""
    path = scenario(tmp_path, {"raid5": md("raid5")}, {"read": {"fio": {**READ["fio"], "runtime": "10s"}}})
    disks = ",".join(lab.serials[:4])
    process, _ = start_and_await(lab, "measure", "replay", path, "--bind", f"data={disks}", "--erase", disks, "-o",
                                 str(tmp_path / "out.json"))  # fmt: skip
    lab.run(f"dd if=/dev/zero of=/dev/{lab.kernel_name(lab.serials[1])} bs=4096 seek=1 count=1 oflag=direct conv=notrunc")
    _, said = process.communicate(timeout=600)
    assert process.returncode == 4, said
    assert "as blivet sees" in said
    assert "[read-back]" in said
