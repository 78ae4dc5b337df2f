"""The runner is a process of its own, started by path: the path must lead to the command that runs a folder."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from raidtui.engine.run import launch


def test_the_command_of_a_runner_reaches_the_plan_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "runner.log"

    def await_end(folder: Path) -> None:
        until = time.monotonic() + 60
        while b"Error" not in log.read_bytes() and time.monotonic() < until:
            time.sleep(0.05)

    monkeypatch.setattr(launch, "has_systemd", lambda: False)
    monkeypatch.setattr(launch, "_await_admission", await_end)
    launch.launch(tmp_path)
    assert f"No such file or directory: '{tmp_path}/plan.json'" in log.read_text()
