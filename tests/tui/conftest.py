"""The application on a pretended terminal, over a real pipe to an engine that answers from a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from raidtui.client.engine_client import EngineClient
from raidtui.client.places import Place
from raidtui.model.convert import plain
from raidtui.tui.app import RaidtuiApp

if TYPE_CHECKING:
    from made_compose import Workshop

FAKE = Path(__file__).parent.parent / "cli" / "fake_engine.py"


class Stage:
    """Where answers of the engine are set, and the application is made that talks to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "answers.json"
        self.now_s = 0.0
        """The application's clock: ages in pictures do not depend on the time of day."""
        self._answers: dict[str, Any] = {
            "watch-disks": {"events": [], "until": "never", "then": []},
            "runs": {"result": {"schema": "raidtui.runs/1", "runs": []}},
            "clusters": {"result": {"schema": "raidtui.clusters/1", "host": "stor1"}},
            "smart": {"result": {"schema": "raidtui.smart/1", "disk": ""}},
        }

    def answers(self, **by_method: dict[str, Any]) -> None:
        """As in `fake_engine`: `disks={"result": …}`, `plan={"failure": […]}`; `_` in a name stands for `-`."""
        self._answers |= {name.replace("_", "-"): plain(given) for name, given in by_method.items()}
        self.file.write_text(json.dumps(self._answers))

    def requests(self, method: str = "") -> list[dict[str, Any]]:
        """What the engine was asked, with its parameters; of one method only, where that is given."""
        log = Path(f"{self.file}.log")
        asked = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [one for one in asked if not method or one["method"] == method]

    def app(self, begin: Callable[[RaidtuiApp], None] | None = None) -> RaidtuiApp:
        if not self.file.exists():
            self.answers()
        there = Place("stor1", (sys.executable, str(FAKE)), {**os.environ, "FAKE_ENGINE": str(self.file)})
        app = RaidtuiApp(lambda: EngineClient(there), place="stor1", on="stor1", folder=self.folder, begin=begin)
        app.now = lambda: self.now_s
        return app


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("LANG", "C.UTF-8")
    for name in ("NO_COLOR", "TEXTUAL", "TEXTUAL_THEME", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return Stage(tmp_path)


@pytest.fixture
def shop(stage: Stage, tmp_path: Path) -> Workshop:
    """An engine that describes and previews as the real one does."""
    from made_compose import Workshop

    return Workshop(tmp_path)
