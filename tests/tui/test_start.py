"""From the command line to the screens: without a terminal, over ssh that asks, with a password that has expired."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext

import pytest
from pilot import drive, until

from raidtui.client.engine_client import ENGINE_LOST
from raidtui.client.places import Place
from raidtui.model.problem import ProblemError, fail
from raidtui.tui import start


@pytest.mark.parametrize("words", [(), ("--on", "stor1")])
def test_without_a_terminal_it_says_so_and_exits_2(words):
    done = subprocess.run([sys.executable, "-m", "raidtui", *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, env=dict(os.environ))  # fmt: skip
    assert done.returncode == 2
    assert "need a terminal" in done.stderr
    assert "--help" in done.stderr
    assert done.stdout == ""


def test_a_reconnect_never_asks_behind_the_screens():
    sudo = start._silent(Place("this machine", ("sudo", "--", "python"), {}))
    ssh = start._silent(Place("stor1", ("ssh", "-T", "--", "stor1"), {}))
    lab = start._silent(Place("lab default", ("ssh", "-F", "config", "lab"), {}))
    assert sudo.argv == ("sudo", "-n", "--", "python")
    assert ssh.argv[:3] == ("ssh", "-o", "BatchMode=yes")
    assert lab.argv == ("ssh", "-F", "config", "lab")


def test_the_key_to_reconnect_asks_on_the_plain_terminal_where_that_is_needed(stage, monkeypatch):
    asked = []
    app = stage.app()
    app._ask = lambda: asked.append(1) or (_ for _ in ()).throw(fail(ENGINE_LOST, "sudo: a password is required"))
    monkeypatch.setattr(type(app), "suspend", lambda self: nullcontext())

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        await pilot.press("ctrl+r")
        assert not asked, "all is well: nobody is asked"
        app.link_state = app.link_state._replace(hello=None, problem=_problem())
        await pilot.press("ctrl+r")
        await until(pilot, lambda: asked)
        assert "password is required" in str([toast.message for toast in app._notifications])

    drive(app, talk)


def _problem():
    try:
        raise fail(ENGINE_LOST, "gone")
    except ProblemError as error:
        return error.problems[0]


