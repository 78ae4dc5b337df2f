"""Targets for workloads that need no special kernel: files, opened as the runner opens devices."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from raidtui.load.engine import Target, TargetDevice

SIZE_BYTES = 16 << 20


@pytest.fixture
def make_target(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    fds: list[int] = []

    def make(count: int = 1, size_bytes: int = SIZE_BYTES) -> Target:
        devices = []
        for _ in range(count):
            path = tmp_path / f"device{len(fds)}"
            fds.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            os.truncate(path, size_bytes)
            devices.append(TargetDevice(fds[-1], path.name, size_bytes))
        return Target(tuple(devices))

    yield make
    for fd in fds:
        os.close(fd)


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    return folder
