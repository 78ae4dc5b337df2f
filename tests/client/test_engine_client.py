"""The client's own promises: bounded messages and queues, no deadlock, and words for what cannot be reached."""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import hostile
import pytest

from raidtui.client.engine_client import EngineClient
from raidtui.client.places import Place, not_reached
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import MAX_DEPTH, MAX_VALUES, excess

FAKE = str(Path(__file__).with_name("hostile_engine.py"))


@pytest.fixture
def client(tmp_path):
    opened = []

    def connect(answers: dict[str, Any], waiting=None, **more: Any) -> EngineClient:
        file = tmp_path / "engine.json"
        plan = {"start": [hostile.hello()], "answers": answers, "end": "serve", "linger_s": 60, **more}
        file.write_text(json.dumps(plan))
        place = Place("stor1", (sys.executable, "-I", "-S", FAKE), {**os.environ, "HOSTILE_ENGINE": str(file)})
        opened.append(EngineClient(place, waiting))
        return opened[-1]

    yield connect
    for one in opened:
        one.close()


def refused(call: Any) -> str:
    with pytest.raises(ProblemError) as caught:
        call()
    return caught.value.problems[0].code


def test_an_engine_that_is_not_read_waits(client) -> None:
    engine = client({"watch-disks": [hostile.event("x" * 100_000, 500), hostile.result(None)]})
    events = engine.stream("watch-disks")
    first = next(events)
    assert engine._inboxes._open[1].size < 8 << 20
    assert 1 + sum(event == first for event in events) == 500


def test_a_stream_that_nobody_reads_keeps_no_other_request_from_its_answer(client) -> None:
    engine = client({"watch-disks": [hostile.event("x" * 100_000, 500), hostile.result(None)], "runs": [hostile.result(7)]})
    events = engine.stream("watch-disks")
    next(events)
    assert engine.call("runs") == 7
    assert refused(lambda: list(events)) == "engine-answer"


def test_answers_to_what_was_given_up_are_passed_over(client) -> None:
    engine = client({"watch-disks": [hostile.event(1, 5000), hostile.result(None)], "runs": [hostile.result(7)]})
    events = engine.stream("watch-disks")
    next(events)
    events.close()
    assert engine.call("runs") == 7


def test_closing_ends_every_wait(client) -> None:
    engine = client({"disks": []})
    found = []
    waiting = threading.Thread(target=lambda: found.append(refused(lambda: engine.call("disks"))))
    waiting.start()
    engine.close()
    waiting.join(20)
    assert found == ["engine-lost"]


def test_a_request_that_no_engine_reads_does_not_keep_the_client_from_closing(client) -> None:
    engine = client({}, end="hang")
    large = {"document": "x" * (1 << 20)}
    stuck = threading.Thread(target=lambda: refused(lambda: engine.call("plan", large)))
    stuck.start()
    stuck.join(0.3)
    engine.close()
    stuck.join(20)
    assert not stuck.is_alive()


def test_a_result_that_is_longer_than_a_message_comes_in_pieces(client) -> None:
    parts = (b"[1" + b",1" * 200_000, b"]")
    pieces = [hostile.event(base64.b64encode(part).decode()) for part in parts]
    size = {"schema": "raidtui.pieces/1", "size_bytes": 400_003}
    assert len(client({"result": [*pieces, hostile.result(size)]}).result("r")) == 400_003
    assert refused(lambda: client({"result": [pieces[0], hostile.result(size)]}).result("r")) == "engine-answer"


def test_more_than_an_engine_takes_is_not_sent(client) -> None:
    assert refused(lambda: client({}).call("plan", {"document": "x" * (9 << 20)})) == "file"


def test_a_slow_hello_is_waited_for_and_may_be_given_up(client) -> None:
    said = []

    def waiting(waited_s: float, words: str) -> None:
        said.append((waited_s, words))
        if len(said) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client({}, waiting, start=[], stderr=[["connecting \x1b[31m\n", 1]], end="hang")
    assert said[1][0] >= 1
    assert said[1][1] == "connecting \\x1b[31m"


SSH = Place("stor1", ("/usr/bin/ssh", "stor1"), {})


@pytest.mark.parametrize(
    ("said", "way"),
    [
        ("ssh: Could not resolve hostname stor1: Name or service not known", "name"),
        ("ssh: connect to host stor1 port 22: Connection refused", "sshd"),
        ("ssh: connect to host stor1 port 22: Connection timed out", "up"),
        ("Host key verification failed.", "host key"),
        ("root@stor1: Permission denied (publickey).", "log in"),
    ],
)
def test_a_host_that_is_not_reached_is_no_bug_and_nothing_is_said_of_runs(said: str, way: str) -> None:
    (problem,) = not_reached(SSH, 255, said).problems
    assert (problem.code, problem.exit) == ("unreachable", 2)
    assert problem.message == f"cannot reach stor1: {said}"
    assert way in problem.remedy
    assert "runs" not in problem.message + problem.remedy


def test_a_host_without_a_shell_is_told_from_one_that_is_not_reached() -> None:
    (problem,) = not_reached(SSH, 127, "/bin/sh: not found").problems
    assert (problem.code, problem.exit) == ("engine-start", 2)
    assert "is missing on stor1" in problem.message


def test_a_message_is_measured_by_what_it_comes_to() -> None:
    assert excess(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) == ""
    assert "deep" in excess(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))
    assert "deep" in excess(b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1))
    assert excess(b'["' + b"[{" * 1000 + b'"]') == ""
    assert "values" in excess(b"[" + b"{}," * MAX_VALUES + b"1]")
    assert excess(b'["' + b"{}," * 100_000 + b'"]') == ""
    assert "1 MiB" in excess(b'["' + b"x" * (2 << 20) + b'"]')
    assert excess(b'["' + b"x" * (2 << 20) + b'"]', texts=False) == ""
    assert excess(b'["a",' + b"1," * 600_000 + b'"b"]') == "", "numbers between texts are no text"
    assert excess(b"[18446744073709551615,0.1234567890123456789012345678,1e-300,1e+29]") == ""
    for number in (b"1" * 25, b"-" + b"9" * 40, b"1e30", b"1E+308", b"1e0030", b"1e400"):
        assert "out of range" in excess(b'{"a":' + number + b"}"), number
    assert excess(b'["' + b"1" * 40 + b'","1e400","a\\":1e400"]') == ""
