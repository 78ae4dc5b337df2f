"""Signals while a run is followed: what ends the run, and what only leaves it."""

import json
import os
import signal
import subprocess
import sys
import time

import made
import pytest

from raidtui.model.protocol import RunInfo

ERASE = "S64GNE0R100001,S64GNE0R100002"


@pytest.fixture
def going(engine, tmp_path):
    """Start a command whose run goes on until it is cancelled, wait until it is under way, and give its process."""
    (tmp_path / "tiny.json").write_text(json.dumps(made.SCENARIO))
    records = made.records(exit=130, outcome="cancelled")
    info = made.plain(RunInfo(made.RUN, "tiny", "running", "", ()))
    engine.answers(
        plan={"result": made.plan()},
        start={"result": {"run": made.RUN}},
        follow={"events": records[:11], "until": "cancel", "then": made.plain(records[21:])},
        cancel={"result": info},
        result={"result": made.result()},
    )
    children = []

    def start(*words):
        child = subprocess.Popen(
            [sys.executable, "-m", "raidtui", "--on", "stor1", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=dict(os.environ),
        )  # fmt: skip
        children.append(child)
        while "raid1/sync-4k#1: measure" not in child.stderr.readline():
            assert child.poll() is None
        time.sleep(0.3)
        return child

    yield start
    for child in children:
        child.kill()
        child.communicate()


def cancels(engine):
    return [request["params"] for request in engine.requests() if request["method"] == "cancel"]


def test_the_first_interrupt_cancels_the_run_and_sees_it_taken_down(engine, going):
    child = going("replay", "tiny.json", "--erase", ERASE)
    # As a terminal does it: to the whole group, so that the connection's process gets it too.
    os.killpg(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert cancels(engine) == [{"run": made.RUN}]
    assert child.returncode == 130
    assert "cancelled; the disks are as they were found" in err


def test_a_terminated_replay_leaves_its_run_alone(engine, going):
    for number in (signal.SIGTERM, signal.SIGHUP):
        child = going("replay", "tiny.json", "--erase", ERASE)
        child.send_signal(number)
        _, err = child.communicate(timeout=60)
        assert child.returncode == 128 + number
        assert f"raidtui --on stor1 attach {made.RUN}" in err
    assert cancels(engine) == []


def test_a_second_interrupt_leaves_a_run_that_does_not_end(engine, going):
    answers = json.loads(engine.file.read_text())
    answers["follow"]["until"] = "never"
    engine.file.write_text(json.dumps(answers))
    child = going("replay", "tiny.json", "--erase", ERASE)
    child.send_signal(signal.SIGINT)
    while not cancels(engine):
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 6
    assert "goes on" in err


def test_an_interrupt_leaves_a_run_that_is_only_watched(engine, going):
    child = going("attach", made.RUN)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "goes on" in err
    assert cancels(engine) == []
