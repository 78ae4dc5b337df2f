"""Whatever a client sends, the engine answers honest requests, in bounded memory and without a traceback."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hostile_client as hostile
import pytest

from raidtui.engine import methods, serve
from raidtui.engine.compose.reading import open_document
from raidtui.engine.methods import Method, Nothing
from raidtui.engine.run import runs
from raidtui.model.problem import ProblemError
from raidtui.model.result import without_cells

TABLE = hostile.table()


@pytest.fixture(scope="module")
def base_mib(tmp_path_factory: pytest.TempPathFactory) -> float:
    return hostile.meet([], tmp_path_factory.mktemp("base")).rss_mib


def check(chunks: hostile.Chunks, folder: Path, base_mib: float) -> hostile.Met:
    met = hostile.meet(chunks, folder)
    assert not hostile.faults(met, base_mib)
    return met


def test_every_attack_is_answered_and_outlived(tmp_path: Path, base_mib: float) -> None:
    def one(name: str) -> tuple[str, list[str], int]:
        (folder := tmp_path / name.replace("/", "_")).mkdir()
        met = hostile.meet(TABLE[name], folder)
        return name, hostile.faults(met, base_mib), len(met.replies)

    with ThreadPoolExecutor(2) as pool:
        seen = list(pool.map(one, TABLE))
    assert not [(name, wrong) for name, wrong, _ in seen if wrong]
    assert not [name for name, _, replies in seen if replies < 2], "the hello, and what the attack earned"


def test_damaged_requests_are_outlived(tmp_path: Path, base_mib: float) -> None:
    for first in range(0, 200, 50):
        (folder := tmp_path / str(first)).mkdir()
        check(hostile.many(hostile.damaged(seed) for seed in range(first, first + 50)), folder, base_mib)


@pytest.mark.slow
def test_a_thousand_damaged_requests_are_outlived(tmp_path: Path, base_mib: float) -> None:
    for first in range(0, 1000, 25):
        (folder := tmp_path / str(first)).mkdir()
        check(hostile.many(hostile.damaged(seed) for seed in range(first, first + 25)), folder, base_mib)


def test_ten_clients_at_once_do_not_hinder_each_other(tmp_path: Path, base_mib: float) -> None:
    def one(number: int) -> list[str]:
        (folder := tmp_path / str(number)).mkdir()
        return hostile.faults(hostile.meet(TABLE["a thousand at once"], folder), base_mib)

    with ThreadPoolExecutor(10) as pool:
        assert not any(pool.map(one, range(10)))


def serving(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> tuple[threading.Thread, int, int]:
    """A server in a thread, with made-up methods, and the two ends of its pipes."""
    for name, do in answers.items():
        monkeypatch.setitem(methods.METHODS, name, Method(Nothing, do, lasts=name == "stream"))
    requests, given = os.pipe()
    heard, out = os.pipe()

    def run() -> None:
        serve.Server(requests, out).serve()
        os.close(out)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, given, heard


def test_a_client_that_closes_its_half_still_gets_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    thread, given, heard = serving(monkeypatch, slow=lambda _, __: go.wait(20))
    os.write(given, hostile.request(1, "slow"))
    os.close(given)
    go.set()
    with os.fdopen(heard, "rb") as file:
        replies = [json.loads(line) for line in file]
    thread.join(20)
    assert replies[1] == {"type": "result", "id": 1, "result": True}


def test_nothing_is_made_for_a_client_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "_STUCK_S", 1.0)
    made: list[int] = []

    def endless(_: Any, __: Any) -> Any:
        while True:
            made.append(1)
            yield "x" * 1000

    thread, given, heard = serving(monkeypatch, stream=endless)
    os.write(given, hostile.request(1, "stream"))
    # It is stuck, gives up by itself, and reads no more requests.
    thread.join(60)
    assert not thread.is_alive()
    assert len(made) < 1000
    os.close(given)
    os.close(heard)


def test_streams_that_last_do_not_keep_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def lasting(_: Any, stopped: Any) -> Any:
        while not stopped():
            threading.Event().wait(0.02)
        yield from ()

    thread, given, heard = serving(monkeypatch, stream=lasting, short=lambda _, __: "here")
    many = [hostile.request(number, "stream") for number in range(1, 30)]
    os.write(given, b"".join(many) + hostile.request(99, "short"))
    codes = []
    with os.fdopen(heard, "rb") as file:
        for line in file:
            reply = json.loads(line)
            codes += [problem["code"] for problem in reply.get("problems", ())]
            if reply.get("id") == 99:
                os.close(given)
    thread.join(20)
    assert codes == ["engine-busy"] * 13


def test_a_run_is_not_named_by_who_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "runs_folder", lambda: tmp_path)
    (tmp_path / "20260131-120000-abcd1234").mkdir()
    (tmp_path / "20260131-120000-abcd1234" / "plan.json").write_text("{}")
    runs.check_token("abcd1235")
    for token in ("", "../../..", "abcd123/", "ABCDEFGH", "abcd12345", "abcd123\n", "\x00" * 8, "abcd1234"):
        with pytest.raises(ProblemError) as caught:
            runs.check_token(token)
        assert caught.value.problems[0].code == "plan-changed"


RESULT = {
    "schema": "raidtui.result/1", "version": "0", "run": "r", "plan_digest": "", "rehearsal": False, "complete": True,
    "started": "", "finished": None, "exit": 0, "outcome": "done", "scenario": hostile.SCENARIO, "options": {},
    "binding": {}, "machine": {"host": "h", "kernel": "k"}, "disks": [],
}  # fmt: skip


def test_a_large_result_is_planned_from_without_its_cells() -> None:
    cell = {"id": "c", "layout": "raid1", "workload": "w", "round": 1, "valid": True, "report": [1] * 1_000_000}
    large = json.dumps({**RESULT, "cells": [cell]})
    assert open_document(large).sketch.given == hostile.SCENARIO
    assert "cells" not in json.loads(without_cells(large.encode()))
    assert without_cells(b"[1]") == b"[1]"


def test_a_long_result_is_sent_in_pieces_that_give_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "result.json").write_bytes(b"[" + b"1," * 5_000_000 + b"1]")
    monkeypatch.setattr(runs, "folder_of", lambda run: tmp_path)
    answer: Any = methods.METHODS["result"].do(methods.RunRequest("r"), lambda: False)
    ends = []

    def pieces() -> Any:
        ends.append((yield from answer))

    sent = list(pieces())
    assert ends[0].size_bytes == 10_000_003
    assert max(map(len, sent)) <= 1 << 20
    assert b"".join(sent) == (tmp_path / "result.json").read_bytes()
