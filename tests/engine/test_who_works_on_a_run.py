"""One process works on a run; whoever looks for it does not stand in its way."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from raidtui.engine.run import launch, runs
from raidtui.model.problem import ProblemError


def test_there_is_one_owner_and_others_learn_who(tmp_path: Path) -> None:
    assert runs.owner(tmp_path) is None
    fd = runs.own(tmp_path)
    assert fd is not None
    assert runs.owner(tmp_path) == os.getpid()
    assert runs.own(tmp_path) is None
    os.close(fd)
    assert runs.owner(tmp_path) is None


def test_looking_for_the_owner_never_keeps_one_from_becoming_it(tmp_path: Path) -> None:
    (tmp_path / "runner.lock").touch()
    enough = threading.Event()

    def look() -> None:
        while not enough.is_set():
            runs.owner(tmp_path)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for one in lookers:
        one.start()
    try:
        for _ in range(300):
            fd = runs.own(tmp_path)
            assert fd is not None
            os.close(fd)
    finally:
        enough.set()
        for one in lookers:
            one.join()


def test_a_recovery_is_not_ended_by_cancel(tmp_path: Path) -> None:
    fd = runs.own(tmp_path, may_be_ended=False)
    assert fd is not None
    try:
        with pytest.raises(ProblemError, match="being recovered"):
            launch.cancel(tmp_path)
    finally:
        os.close(fd)
    with pytest.raises(ProblemError, match="is not running"):
        launch.cancel(tmp_path)
