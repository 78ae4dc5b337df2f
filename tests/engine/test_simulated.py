"""`--on sim`: whole runs on recorded disks with a fake kernel, marked as simulated in every cell."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from raidtui.client.engine_client import EngineClient
from raidtui.client.places import place
from raidtui.engine.simulated.disks import RECORDED_DISKS
from raidtui.engine.simulated.rates import rates
from raidtui.load.engine import Pattern
from raidtui.model.disk import Disk
from raidtui.model.event import DisksAdmitted, FrameTaken, HostSampled, Record, RunFinished, StepDone, WorkloadSampled
from raidtui.model.plan import Plan
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import (
    Checkup,
    DiskList,
    PlanRequest,
    Recovered,
    RecoverRequest,
    RunList,
    RunRequest,
    Started,
    StartRequest,
)
from raidtui.model.recording import read_recording
from raidtui.model.result import Result

SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "simulated",
    "roles": {"data": {"count": 3}},
    "layouts": {"raid5": {"md": {"level": "raid5", "on": "@data"}}, "raid0": {"md": {"level": "raid0", "on": "@data"}}},
    "workloads": {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 32, "runtime": "20s"}}},
}
NVME = [disk.id for disk in read_recording(RECORDED_DISKS).disks if disk.transport == "nvme"][:3]


@pytest.fixture
def engine(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with EngineClient(place("sim")) as client:
        yield client


def start(engine: EngineClient, scenario: dict = SCENARIO) -> tuple[str, Plan]:
    request = PlanRequest(json.dumps(scenario), {"data": tuple(NVME)})
    plan = engine.call("plan", request, Plan)
    started = engine.call("start", StartRequest(request, plan.digest, plan.token, plan.erases), Started)
    return started.run, plan


def events(engine: EngineClient, run: str) -> list:
    return [record.event for record in engine.stream("follow", {"run": run, "after": 0}, Record)]


def test_a_whole_run_leaves_a_result_that_says_it_was_simulated(engine) -> None:
    run, plan = start(engine)
    seen = events(engine, run)
    assert isinstance(seen[-1], RunFinished)
    assert seen[-1].exit == 0
    assert {event.step for event in seen if isinstance(event, StepDone)} == {step.id for step in plan.steps[1:]}
    assert sum(isinstance(event, WorkloadSampled) for event in seen) >= 20
    assert any(isinstance(event, FrameTaken) for event in seen)
    result = engine.call("result", RunRequest(run), Result)
    assert result.machine.simulated
    assert [[mark.code for mark in cell.marks] for cell in result.cells] == [["simulated"], ["simulated"]]
    raid5, raid0 = result.cells
    assert raid5.summary.write.iops < raid0.summary.write.iops / 2, "a small write to RAID5 reads and writes twice"
    assert raid5.write_amplification == pytest.approx(raid5.expected_write_amplification.low, rel=0.05)
    assert [use.role for use in raid5.devices.values()].count("target") == 1
    assert all(built.taken_down for built in result.layouts)


def test_what_is_exported_over_tcp_passes_the_loopback_and_nothing_else_does(engine) -> None:
    def exported(transport: str) -> dict:
        return {"nvmeof": {"transport": transport, "on": {"md": {"level": "raid0", "on": "@data"}}}}

    layouts = {"tcp": exported("tcp"), "loop": exported("loop"), "local": SCENARIO["layouts"]["raid0"]}
    run, _ = start(engine, {**SCENARIO, "layouts": layouts})
    seen = events(engine, run)
    assert isinstance(seen[-1], RunFinished)
    cells = {cell.layout: cell for cell in engine.call("result", RunRequest(run), Result).cells}
    moved = cells["tcp"].networks["lo"]
    summary = cells["tcp"].summary
    assert summary is not None
    assert moved.sent_bytes == moved.received_bytes == pytest.approx(summary.written_bytes, rel=0.1)
    assert len(moved.series["sent_bytes_per_s"]) == len(cells["tcp"].device_at_s)
    assert (cells["loop"].networks, cells["local"].networks) == ({}, {})


def test_the_same_plan_has_the_same_numbers(engine) -> None:
    runs = [start(engine)[0] for _ in range(1)]
    events(engine, runs[0])
    runs.append(start(engine)[0])
    events(engine, runs[1])
    one, other = (engine.call("result", RunRequest(run), Result) for run in runs)
    assert [cell.summary.write.iops for cell in one.cells] == [cell.summary.write.iops for cell in other.cells]


def test_disks_of_a_run_are_not_free_while_it_runs(engine) -> None:
    run, _ = start(engine)
    held = {disk.id: disk for disk in engine.call("disks", None, DiskList).disks if disk.id in NVME}
    assert {reason.message for disk in held.values() for reason in disk.reasons} == {f"held by run {run}"}
    events(engine, run)
    assert all(disk.free for disk in engine.call("disks", None, DiskList).disks if disk.id in NVME)


def test_a_cancel_ends_the_run_with_its_own_exit_code(engine) -> None:
    run, _ = start(engine)
    engine.call("cancel", RunRequest(run))
    seen = events(engine, run)
    assert seen[-1].exit == 130


def test_a_killed_run_is_recovered(engine, tmp_path) -> None:
    run, _ = start(engine)
    lock = next(tmp_path.rglob(f"{run}/runner.lock"))
    pid = int(lock.read_text())
    os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 20
    while time.monotonic() < until and state(engine, run) == "running":
        time.sleep(0.05)
    assert state(engine, run) == "interrupted"
    recovered = engine.call("recover", RecoverRequest(""), Recovered)
    assert [(one.run, one.exit) for one in recovered.runs] == [(run, 0)]
    assert state(engine, run) == "recovered"
    assert all(disk.free for disk in engine.call("disks", None, DiskList).disks if disk.id in NVME)


def state(engine: EngineClient, run: str) -> str:
    return next(info.state for info in engine.call("runs", None, RunList).runs if info.run == run)


def test_only_the_recorded_disks_are_there_and_nothing_is_checked(engine) -> None:
    listed = engine.call("disks", None, DiskList)
    assert listed.disks == read_recording(RECORDED_DISKS).disks
    assert engine.hello.host.startswith("simulated")
    assert [check.name for check in engine.call("doctor", None, Checkup).checks] == ["simulated server"]


def test_a_recording_of_another_server_is_taken(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    recording = json.loads(RECORDED_DISKS.read_text())
    recording["disks"] = recording["disks"][:2]
    (tmp_path / "two.json").write_text(json.dumps(recording))
    with EngineClient(place(f"sim:{tmp_path / 'two.json'}")) as engine:
        assert len(engine.call("disks", None, DiskList).disks) == 2


@pytest.mark.parametrize("content", [None, "", "[]", '{"schema": "raidtui.scenario/1"}'])
def test_a_file_that_is_no_recording_is_refused_by_name(tmp_path, content) -> None:
    path = tmp_path / "no.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ProblemError) as caught:
        place(f"sim:{path}")
    assert caught.value.problems[0].code == "recording"
    assert str(path) in str(caught.value.problems[0].message)


def disk(transport: str, *, rotational: bool = False) -> Disk:
    return Disk("d", "sda", 10**12, "d", "naa.d", "m", transport=transport, rotational=rotational)


def pattern(**changes) -> Pattern:
    return Pattern(**{"block_bytes": (4096,), "writes": True, "random": True, "in_flight_bytes": 4096 * 32,
                      "whole_sectors": True, **changes})  # fmt: skip


def test_numbers_have_the_order_that_disks_have() -> None:
    def iops(*disks: Disk, **changes) -> float:
        found = rates(pattern(**changes), disks, None)
        return found.reads + found.writes

    hdd, ssd, nvme = disk("sas", rotational=True), disk("sata"), disk("nvme")
    assert iops(hdd) < iops(ssd) < iops(nvme)
    assert iops(hdd) < iops(hdd, hdd)
    assert iops(nvme, in_flight_bytes=4096) < iops(nvme)
    assert iops(ssd, syncs=True, in_flight_bytes=4096) < iops(ssd, in_flight_bytes=4096)
    assert iops() == iops(nvme, nvme, nvme), "images of a cluster are on no disk of the server"


def test_no_state_of_a_simulated_run_is_among_real_runs(engine, tmp_path) -> None:
    run, _ = start(engine)
    events(engine, run)
    assert not (tmp_path / "raidtui" / "runs").exists()
    assert [path.parent.parts[-3:] for path in tmp_path.rglob(run)] == [("simulated", "raidtui", "runs")]


def test_the_recording_is_part_of_the_package() -> None:
    assert RECORDED_DISKS.parent == Path(RECORDED_DISKS).resolve().parent
    assert len({one.kind for one in read_recording(RECORDED_DISKS).disks}) == 3


def test_admitted_disks_are_those_of_the_plan(engine) -> None:
    run, _ = start(engine)
    (admitted,) = [event for event in events(engine, run) if isinstance(event, DisksAdmitted)]
    assert admitted.disks == tuple(NVME)
    assert admitted.evidence == {"simulated": True}


def test_simulated_servers_with_names_have_their_own_machines_and_disks(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    hellos, disks = [], []
    for name in ("sim:a", "sim:b+firmware", "sim"):
        with EngineClient(place(name)) as engine:
            hellos.append(engine.hello)
            disks.append(engine.call("disks", None, DiskList).disks)
    assert [hello.host for hello in hellos] == ["simulated a", "simulated b", "simulated lab"]
    assert len({hello.machine_id for hello in hellos}) == len({hello.boot_id for hello in hellos}) == 3
    of_a, of_b, recorded = ({disk.id: disk for disk in of} for of in disks)
    assert not of_a.keys() & of_b.keys()
    assert not of_a.keys() & recorded.keys()
    assert not {disk.wwid for disk in disks[0] if disk.wwid} & {disk.wwid for disk in disks[1]}
    assert {disk.firmware for disk in disks[1]} == {f"{disk.firmware}-other" if disk.firmware else "" for disk in disks[2]}


def test_a_slow_simulated_server_is_slow_and_says_so(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    scenario = {**SCENARIO, "roles": {"data": {"count": 2, "where": {"transport": "nvme", "max_size": "2TB"}}},
                "layouts": {"raid0": {"md": {"level": "raid0", "on": "@data"}}}}  # fmt: skip
    results = []
    for name in ("sim:a", "sim:b+slow"):
        with EngineClient(place(name)) as engine:
            request = PlanRequest(json.dumps(scenario))
            plan = engine.call("plan", request, Plan)
            run = engine.call("start", StartRequest(request, plan.digest, plan.token, plan.erases), Started).run
            events(engine, run)
            results.append(engine.call("result", RunRequest(run), Result))
            assert (tmp_path / "raidtui" / "simulated" / "named" / name[4] / "raidtui" / "runs" / run).is_dir()
    usual, slow = (result.cells[0].summary.write.iops for result in results)
    assert slow / usual == pytest.approx(0.6, rel=0.15)
    assert "made slow" in results[1].cells[0].marks[0].sentence
    assert results[1].machine.simulated
    assert results[0].machine.machine_id != results[1].machine.machine_id


def test_a_file_comes_before_a_name(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("[]")
    with pytest.raises(ProblemError) as caught:
        place("sim:a")
    assert caught.value.problems[0].code == "recording"


def test_hosts_that_load_an_export_tell_live_numbers_once_a_tick(engine) -> None:
    export = {"nvmeof": {"on": {"md": {"level": "raid0", "on": "@data"}}, "to": "clients"}}
    hosts = {"storage": {}, "clients": {"count": 2}}
    request = PlanRequest(json.dumps({**SCENARIO, "hosts": hosts, "layouts": {"nvme": export}}), {"data": tuple(NVME)},
                          hosts={"clients": ("root@a", "root@b")})  # fmt: skip
    plan = engine.call("plan", request, Plan)
    started = engine.call("start", StartRequest(request, plan.digest, plan.token, plan.erases), Started)
    seen = events(engine, started.run)
    told = [event for event in seen if isinstance(event, HostSampled)]
    assert {event.host for event in told} == {"clients-1", "clients-2"}
    assert all(event.load.write_iops > 0 and event.load.networks for event in told)
    assert not any(isinstance(event, WorkloadSampled) for event in seen)
