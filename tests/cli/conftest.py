"""A command line that talks to a fake engine, through a real process and pipe."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from raidtui.cli.main import main
from raidtui.model.convert import plain


class Said(NamedTuple):
    code: int
    out: str
    err: str
    requests: list[dict[str, Any]]


class Engine:
    """Where answers of the fake engine are set, and raidtui is run against it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.file = folder / "answers.json"
        self._capsys = capsys

    def answers(self, **by_method: dict[str, Any]) -> None:
        self.file.write_text(json.dumps({name.replace("_", "-"): plain(given) for name, given in by_method.items()}))

    def requests(self) -> list[dict[str, Any]]:
        log = Path(f"{self.file}.log")
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def connections(self) -> int:
        """Number of connections so far."""
        return len(Path(f"{self.file}.connections").read_text().splitlines())

    def run(self, *words: str) -> Said:
        code = main(["--on", "stor1", *words])
        said = self._capsys.readouterr()
        return Said(code, said.out, said.err, self.requests())


@pytest.fixture(autouse=True)
def quiet_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own settings reaches a test, and a test keeps nothing outside its folder."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Engine:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    ssh = bin_folder / "ssh"
    fake = Path(__file__).with_name("fake_engine.py")
    ssh.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake}"\n')
    ssh.chmod(0o755)
    made = Engine(tmp_path, capsys)
    monkeypatch.setenv("FAKE_ENGINE", str(made.file))
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    return made


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setenv("COLUMNS", "120")
