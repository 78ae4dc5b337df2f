"""The runner is a process of its own, started by path: the path must lead to the command that runs a folder."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from raidtui.engine.run import launch, runs


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


def test_the_folder_of_a_refused_run_is_removed_with_the_log_of_its_runner(tmp_path: Path) -> None:
    folder = tmp_path / "20260131-120000-abcd1234"
    (folder / "work").mkdir(parents=True)
    for name in ("plan.json", "journal.jsonl", "runner.lock", "runner.log", "closed", "result.json"):
        (folder / name).write_text("")
    runs.discard(folder)
    assert not folder.exists()
