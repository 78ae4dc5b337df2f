"""Engines that break the protocol, hang, or come back from a restart: words on the screen, and the application lives on."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from pilot import drive, until
from textual.widgets import Static

from raidtui.client.engine_client import EngineClient
from raidtui.client.places import Place
from raidtui.model.problem import Problem
from raidtui.model.protocol import PROTOCOL, Hello
from raidtui.tui.app import RaidtuiApp
from raidtui.tui.link import LinkState
from raidtui.tui.screens.base import banner_words

HOSTILE = Path(__file__).parent.parent / "client" / "hostile_engine.py"
GREETING = {"protocol": PROTOCOL, "version": "0.1.0", "host": "stor1", "root": True, "boot_id": "b"}
HELLO = json.dumps({"type": "hello", **GREETING})
BAD_DISKS = '{"type":"event","id":{ID},"event":{"schema":"","host":"\\u001b[31m","boot_id":"","disks":[{"id":1}]}}\n'


def app_of(stage, plan, there=None):
    (stage.folder / "hostile.json").write_text(json.dumps(plan))
    env = {**os.environ, "HOSTILE_ENGINE": str(stage.folder / "hostile.json")}
    place = Place("stor1", (sys.executable, "-I", "-S", str(HOSTILE)), env)

    def connect():
        return EngineClient(place, app.link.waited)

    app = RaidtuiApp(there or connect, place="stor1", on="stor1", folder=stage.folder)
    return app


def banner(app) -> str:
    shown = app.screen.query_one("Banner", Static)
    return str(shown.render()) if shown.has_class("-lost") else ""


@pytest.mark.parametrize(
    "plan",
    [
        {"start": [["{}\n", 1]], "end": "hang"},
        {"start": [["x" * 1000, 1000]], "end": "exit"},
        {"start": [[HELLO + "\n", 2]], "answers": {}, "end": "serve"},
        {"start": [[HELLO + "\n", 1]], "answers": {"*": [["not JSON\n", 1]]}, "end": "serve"},
        {"start": [[HELLO + "\n", 1]], "answers": {"*": [[BAD_DISKS, 1]]}, "end": "serve"},
        {"start": [[HELLO + "\n", 1]], "answers": {"*": [["x" * 1000, 20_000]]}, "end": "serve"},
    ],
)
def test_a_hostile_engine_is_a_message_and_another_try(stage, plan):
    async def talk(pilot):
        app = pilot.app
        await until(pilot, lambda: app.link_state.problem and app.link_state.problem.code == "engine-answer")
        await until(pilot, lambda: "cannot be used" in banner(app))
        assert "\x1b" not in banner(app)
        for key in "2345":
            await pilot.press(key)
        # The next engine is an honest one.
        honest = {"start": [[HELLO + "\n", 1]], "answers": {"watch-disks": []}, "linger_s": 60, "end": "serve"}
        (stage.folder / "hostile.json").write_text(json.dumps(honest))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.link_state.up and not banner(app))

    drive(app_of(stage, plan), talk)


def test_a_slow_engine_is_waited_for_and_the_words_of_its_command_are_shown(stage, monkeypatch):
    monkeypatch.setattr("raidtui.tui.screens.base._SLOW_S", 0.5)
    plan = {"stderr": [["Warning: \x1b[31mslow\n", 1]], "end": "hang"}

    async def talk(pilot):
        await until(pilot, lambda: "waiting for the engine on stor1: 2 s" in banner(pilot.app))
        assert "Warning: \\x1b[31mslow" in banner(pilot.app)
        honest = {"start": [[HELLO + "\n", 1]], "answers": {"watch-disks": []}, "linger_s": 60, "end": "serve"}
        (stage.folder / "hostile.json").write_text(json.dumps(honest))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: pilot.app.link_state.up)

    drive(app_of(stage, plan), talk)


def test_a_server_that_restarted_is_said_until_it_was_read(stage):
    def engine(boot_id):
        hello = HELLO.replace('"b"', f'"{boot_id}"') + "\n"
        return {"start": [[hello, 1]], "answers": {"watch-disks": []}, "linger_s": 60, "end": "serve"}

    async def talk(pilot):
        app = pilot.app
        await until(pilot, lambda: app.link_state.up)
        (stage.folder / "hostile.json").write_text(json.dumps(engine("after")))
        app.link._client.close()
        await until(pilot, lambda: app.link_state.up and app.link_state.restarted)
        await until(pilot, lambda: "the server restarted" in banner(app))
        assert "raidtui recover" in banner(app)
        assert "go on" not in banner(app)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: not app.link_state.restarted)

    drive(app_of(stage, engine("before")), talk)


def test_only_of_an_engine_that_answered_before_it_is_said_that_runs_go_on():
    problem = Problem("unreachable", "cannot reach stor1: connection refused")
    assert "go on" not in banner_words(LinkState(problem=problem, retry_at=9.0), "stor1", 0.0)
    assert "go on" in banner_words(LinkState(problem=problem, retry_at=9.0, known=True), "stor1", 0.0)
    assert banner_words(LinkState(hello=Hello(1, "", "", root=True, boot_id="b")), "stor1", 0.0) == ""
