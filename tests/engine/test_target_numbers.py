"""Targets have the numbers that the plan shows, however many files the runner has open."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import os
from raidtui.engine import target
target.reserve(2)
many = [os.open(os.devnull, os.O_RDONLY) for _ in range(150)]
assert not {100, 101} & set(many)
for _ in range(2):
    for number in (100, 101):
        fd = os.open("/proc/self/stat", os.O_RDONLY)
        assert target._as_number(fd, number) == number
        assert os.read(number, 1) != b""
        assert not os.get_inheritable(number)
        target._give_back(number)
        assert os.read(number, 1) == b"", "what was open is closed"
    many += [os.open(os.devnull, os.O_RDONLY) for _ in range(10)]
    assert not {100, 101} & set(many)
"""


def test_the_planned_numbers_stay_free_for_targets() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
