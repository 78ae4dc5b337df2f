"""Targets have the numbers that the plan shows, however many files the runner has open."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import cast

import pytest

from raidtui.engine.run import target
from raidtui.gate.permit import Permit

SCRIPT = """
import os
from raidtui.engine.run import target
target.reserve(2)
many = [os.open(os.devnull, os.O_RDONLY) for _ in range(150)]
assert not {100, 101} & set(many)
for _ in range(2):
    for number in (100, 101):
        fd = os.open("/proc/self/stat", os.O_RDONLY)
        assert target._as_number(fd, number) == number
        assert os.read(number, 1) != b""
        assert not os.get_inheritable(number)
        target._give_back(number, ())
        assert os.read(number, 1) == b"", "what was open is closed"
    many += [os.open(os.devnull, os.O_RDONLY) for _ in range(10)]
    assert not {100, 101} & set(many)
"""


def test_the_planned_numbers_stay_free_for_targets() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("alive", [True, False], ids=["its disks are there", "a disk is lost"])
def test_a_device_that_is_not_let_go_is_waited_for_while_its_disks_are_there(
    alive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go, close = threading.Event(), os.close

    def hang(fd: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            let_go.wait(30)
        close(fd)

    monkeypatch.setattr(os, "close", hang)
    monkeypatch.setattr(target, "_RELEASE_PATIENCE_S", 0.0)
    timer = threading.Timer(0.3, let_go.set)
    if alive:
        timer.start()
    target._give_back(os.open(os.devnull, os.O_RDONLY), [cast(Permit, SimpleNamespace(alive=lambda: alive))])
    assert let_go.is_set() == alive
    let_go.set()
