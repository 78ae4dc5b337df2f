"""The application itself: modes, keys, help, a lost engine, settings and themes."""

from __future__ import annotations

import pytest
from pilot import drive, until

MODES = {"1": "disks", "2": "compose", "3": "plan", "4": "run", "5": "results"}


@pytest.mark.parametrize(("key", "mode"), MODES.items())
def test_every_screen_has_one_key(stage, key, mode):
    async def talk(pilot):
        await pilot.press(key)
        assert pilot.app.current_mode == mode

    drive(stage.app(), talk)


def test_help_sheet_and_palette_open_and_close(stage):
    async def talk(pilot):
        await pilot.press("question_mark")
        assert type(pilot.app.screen).__name__ == "CheatSheet"
        await pilot.press("escape")
        await pilot.press("f1")
        assert pilot.app.screen.query("HelpPanel")
        await pilot.press("f1")
        await pilot.pause()
        assert not pilot.app.screen.query("HelpPanel")

    drive(stage.app(), talk)


def test_the_engine_is_found_again_after_it_was_lost(stage):
    stage.answers(watch_disks={"events": [], "until": "never", "then": []})
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        app.link._client.close()
        await until(pilot, lambda: app.link_state.problem is not None or app.link_state.up)
        await until(pilot, lambda: app.link_state.up)

    drive(app, talk)
