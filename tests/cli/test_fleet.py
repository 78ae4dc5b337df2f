"""`--on a,b,c`: one scenario on many simulated servers, and what many servers cannot do."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from raidtui.cli.fleet.printers import drawn
from raidtui.cli.main import COMMANDS, main
from raidtui.cli.screen import console
from raidtui.engine.simulated.disks import RECORDED_DISKS
from raidtui.front.fleet.runs import ServerRun

SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "many",
    "roles": {"data": {"count": 2, "where": {"transport": "nvme", "max_size": "2TB"}}},
    "layouts": {"raid1": {"md": {"level": "raid1", "on": "@data"}}},
    "workloads": {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 32, "runtime": "5s"}}},
}
FOUR = "sim:a,sim:b,sim:c,sim:d+slow+firmware"
MANY = {"replay", "attach", "plan", "disks", "doctor", "runs", "cancel", "recover"}


@pytest.fixture(autouse=True)
def scenario(tmp_path):
    (tmp_path / "many.json").write_text(json.dumps(SCENARIO))


@pytest.fixture
def run(capsys):
    def run(*words):
        code = main(words, lambda _: 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def disks(name):
    return f"RTLAB-CB41B383-23-{name},RTLAB-CB41B383-24-{name}"


def consent(on):
    """The words that consent to erase the disks of all servers of a list."""
    return [word for server in on.split(",") for word in ("--erase", f"{server}:{disks(server[4:].partition('+')[0])}")]


def runs_there(tmp_path):
    return [path.name for path in tmp_path.rglob("runs/*") if path.is_dir()]


def test_four_servers_replay_at_once_and_the_slow_one_is_named_with_its_firmware(run, tmp_path):
    code, out, err = run("--on", FOUR, "replay", "many.json", *consent(FOUR), "-o", "out")
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "many.sim_a.result.json", "many.sim_b.result.json", "many.sim_c.result.json",
        "many.sim_d+slow+firmware.result.json",
    ]  # fmt: skip
    joined = " ".join(out.split())
    assert "sim:d+slow+firmware is unlike the others in 1 of 1 layouts × workloads" in joined
    assert "it differs in firmware" in joined
    assert "all servers: simulated" in joined
    for server in FOUR.split(","):
        assert f"{server}: ✓ raid1/write/1" in err
    # The same from the files, later.
    code, out, _ = run("compare", "--servers", *map(str, sorted((tmp_path / "out").iterdir())), "--json")
    found = json.loads(out)
    assert code == 0
    assert [(one["server"], one["facts"]) for one in found["unlike"]] == [("simulated d", ["firmware"])]
    # A second time nothing is replaced, and nothing starts.
    before = runs_there(tmp_path)
    code, out, err = run("--on", FOUR, "replay", "many.json", *consent(FOUR), "-o", "out")
    assert code == 2
    assert "[output]" in err
    assert runs_there(tmp_path) == before


def test_without_consent_for_every_server_nothing_starts_anywhere(run, tmp_path):
    on = "sim:a,sim:b"
    code, out, err = run("--on", on, "replay", "many.json")
    assert code == 3
    assert f"--erase sim:a:{disks('a')}" in out
    assert f"--erase sim:b:{disks('b')}" in out
    assert "[consent]" in err
    for words in (
        ["--erase", f"sim:a:{disks('a')}"],  # b is missing
        ["--erase", disks("a"), "--erase", f"sim:b:{disks('b')}"],  # no server
        ["--erase", f"sim:a:{disks('b')}", "--erase", f"sim:b:{disks('a')}"],  # each other's
        [*consent(on), "--erase", f"sim:c:{disks('c')}"],  # a server that was not named
    ):
        code, out, err = run("--on", on, "replay", "many.json", *words)
        assert code == 3, words
        assert "nothing was touched" in err
    assert runs_there(tmp_path) == []


def test_the_printed_command_consents_to_exactly_these_plans(run, tmp_path):
    _, out, _ = run("--on", "sim:a,sim:b", "plan", "many.json")
    lines = [line.strip().removesuffix("\\") for line in out.splitlines()]
    words = " ".join(lines[next(n for n, line in enumerate(lines) if line.startswith("raidtui --on sim:a,sim:b replay")) :])
    code, out, _ = run(*words.split()[1:], "--json")
    assert code == 0
    records = [json.loads(line) for line in out.splitlines()]
    last = records.pop()
    assert (last["schema"], last["exit"]) == ("raidtui.fleet/1", 0)
    assert [one["server"] for one in last["servers"]] == ["sim:a", "sim:b"]
    assert {record["server"] for record in records} == {"sim:a", "sim:b"}
    ends = [record for record in records if record["event"]["kind"] == "run-finished"]
    assert len(ends) == 2


def test_a_server_without_a_plan_does_not_stop_the_others_unless_that_is_asked_for(run, tmp_path):
    recording = json.loads(RECORDED_DISKS.read_text())
    recording["disks"] = recording["disks"][:2]
    (tmp_path / "few.json").write_text(json.dumps(recording))
    on = "sim:a,sim:few.json"
    code, out, err = run("--on", on, "replay", "many.json", *consent("sim:a"), "--no-keep-going")
    assert code == 3
    assert "nothing was started" in err
    assert runs_there(tmp_path) == []
    code, out, err = run("--on", on, "replay", "many.json", *consent("sim:a"))
    assert code == 5
    assert "sim:few.json: roles.data" in err
    assert "too-few-disks" in out
    assert len(runs_there(tmp_path)) == 1


def test_runs_are_left_and_followed_again(run, tmp_path):
    on = "sim:a,sim:b"
    code, out, err = run("--on", on, "replay", "many.json", *consent(on), "--detach")
    assert code == 0
    begun = dict(line.split() for line in out.splitlines())
    assert list(begun) == ["sim:a", "sim:b"]
    assert f"raidtui --on {on} attach" in err
    code, out, _ = run("--on", on, "runs")
    assert all(name in out for name in begun.values())
    code, _, _ = run("--on", on, "attach", "-o", "out")
    assert code == 0
    assert len(list((tmp_path / "out").iterdir())) == 2
    code, out, _ = run("--on", on, "recover")
    assert code == 0
    assert sorted(out.splitlines()) == [f"{server}: Nothing to recover: no run left anything behind." for server in begun]
    code, _, err = run("--on", on, "cancel")
    assert code == 2
    assert err.count("[no-run]") == 2


def test_an_interrupt_cancels_all_runs(tmp_path):
    on = "sim:a,sim:b"
    long = {**SCENARIO, "policy": {"rounds": 20}}
    (tmp_path / "long.json").write_text(json.dumps(long))
    child = subprocess.Popen(
        [sys.executable, "-m", "raidtui", "--on", on, "replay", "long.json", *consent(on)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=dict(os.environ),
    )  # fmt: skip
    try:
        measured = set()
        while measured != {"sim:a", "sim:b"}:
            line = child.stderr.readline()
            assert line, child.poll()
            measured |= {server for server in ("sim:a", "sim:b") if line.startswith(f"{server}: ✓")}
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does it
        _, err = child.communicate(timeout=120)
    finally:
        child.kill()
    assert child.returncode == 130
    assert "cancelling 2 runs" in err
    assert err.count("cancelled; the disks are as they were found") == 2
    assert "connection was lost" not in err


def test_a_hangup_leaves_all_runs(tmp_path):
    on = "sim:a,sim:b"
    child = subprocess.Popen(
        [sys.executable, "-m", "raidtui", "--on", on, "replay", "many.json", *consent(on)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=dict(os.environ),
    )  # fmt: skip
    try:
        while ": run " not in child.stderr.readline():
            assert child.poll() is None
        child.send_signal(signal.SIGHUP)
        _, err = child.communicate(timeout=120)
    finally:
        child.kill()
    assert child.returncode == 128 + signal.SIGHUP
    assert f"raidtui --on {on} attach" in err
    assert main(["--on", on, "attach"]) == 0


def test_what_killed_runs_left_is_recovered_on_all_servers(run, tmp_path):
    on = "sim:a,sim:b"
    (tmp_path / "long.json").write_text(json.dumps({**SCENARIO, "policy": {"rounds": 20}}))
    assert run("--on", on, "replay", "long.json", *consent(on), "--detach")[0] == 0
    for lock in tmp_path.rglob("runner.lock"):
        psutil.Process(int(lock.read_text())).kill()
    until = time.monotonic() + 30
    while (listed := run("--on", on, "runs")[1]).count("interrupted ") < 2 and time.monotonic() < until:
        time.sleep(0.1)
    assert "undone by `raidtui --on sim:a,sim:b recover`" in listed
    code, _, err = run("--on", on, "attach")
    assert code == 6
    assert err.count("[run-interrupted]") == 2
    code, out, _ = run("--on", on, "recover", "--json")
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert sorted((one["server"], len(one["runs"])) for one in answers) == [("sim:a", 1), ("sim:b", 1)]
    assert run("--on", on, "runs")[1].count("recovered") == 2


@pytest.mark.parametrize("command", sorted({*COMMANDS, ""} - MANY))
def test_other_commands_are_refused_with_the_way_out(command, run):
    arguments = {"show": ["x"], "open": ["x"], "preview": ["x"], "lint": ["x"], "compare": ["x"], "schema": ["result"],
                 "import": ["x"], "lab": ["status"], "design": ["4x1TB ssd"],
                 "completion": ["bash"], "build": ["x"], "free": ["x"]}.get(command, [])  # fmt: skip
    code, out, err = run("--on", "sim:a,sim:b", *filter(None, [command]), *arguments)
    assert code == 2
    assert "[one-server]" in err
    assert "raidtui --on sim:a" in err
    assert out == ""


@pytest.mark.parametrize(
    "words", [("disks", "--watch"), ("recover", "RUN"), ("recover", "--without", "S1"), ("attach", "RUN"),
              ("plan", "quick", "--host", "clients=c1")]
)
def test_what_names_something_of_one_server_is_refused(words, run):
    code, _, err = run("--on", "sim:a,sim:b", *words)
    assert code == 2
    assert "[one-server]" in err


def test_two_names_of_one_machine_are_refused(engine, run):
    engine.answers(disks={"result": {}})
    code, _, err = run("--on", "stor1,root@stor1", "disks")
    assert code == 2
    assert "stor1 and root@stor1 are the same running machine" in err
    assert engine.requests() == []


def test_lists_have_the_servers_names(run):
    code, out, _ = run("--on", "sim:a,sim:b", "disks", "--json")
    answers = {(found := json.loads(line))["server"]: found for line in out.splitlines()}
    assert code == 0
    assert {server: found["host"] for server, found in answers.items()} == {"sim:a": "simulated a", "sim:b": "simulated b"}
    code, out, err = run("--on", "sim:a,sim:b,lab:there-is-none", "doctor")
    assert code == 2
    assert "lab:there-is-none: lab there-is-none is not up" in err
    assert out.startswith("sim:a, sim:b\n")


def test_a_terminal_has_a_line_for_each_server_that_still_runs_as_many_as_fit(capsys):
    runs = [ServerRun(f"stor{number}", f"run{number}") for number in range(1, 6)]
    runs[0].ended, runs[1].lost = True, True
    console(width=80).print(drawn(runs, 2))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("stor2 ")
    assert "connection lost" in lines[0]
    assert lines[1].startswith("stor3 ")
    assert lines[2].startswith("… and 2 more. 1 of 5 servers ended; the others are at 0 %; 1 connection lost")
    assert max(map(len, lines)) <= 80


@pytest.mark.slow
def test_a_hundred_servers_need_little_memory_here(tmp_path):
    """Beside the 40 MiB that raidtui has with one, less than 1 MiB for each server."""
    names = [f"sim:s{n:03d}" for n in range(100)]
    (tmp_path / "servers").write_text("\n".join(names))
    (tmp_path / "consent").write_text("\n".join(f"{name}:{disks(name[4:])}" for name in names))
    with open(tmp_path / "out", "w") as out, open(tmp_path / "err", "w") as err:
        child = psutil.Popen(
            [sys.executable, "-m", "raidtui", "--on", "@servers", "replay", "many.json", "--erase", "@consent", "--json"],
            stdout=out, stderr=err,
        )  # fmt: skip
        peak = 0
        while child.poll() is None:
            with child.oneshot():
                peak = max(peak, child.memory_info().rss)
            time.sleep(0.2)
    assert child.returncode == 0, (tmp_path / "err").read_text()[-2000:]
    last = json.loads((tmp_path / "out").read_text().splitlines()[-1])
    assert len(last["comparison"]["servers"]) == 100
    assert peak < 140 << 20
