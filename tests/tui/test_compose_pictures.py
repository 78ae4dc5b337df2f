"""Pictures of the screen Compose: empty, choosing a journal, a problem; on a small and a large terminal."""

from __future__ import annotations

import json

import pytest
from compose_pilot import at_line, at_option, opened, previewed
from made_compose import BOUND, DISKS, DOCUMENT
from pictures import same_picture
from pilot import LARGE, SMALL, drive, until

from raidtui.tui.draft import Draft

SIZES = pytest.mark.parametrize(("size", "name"), [(SMALL, "80"), (LARGE, "200")])


async def settled(pilot, screen) -> None:
    """Everything that was asked was answered and drawn, and nothing blinks."""
    screen.query_one("#typed").cursor_blink = False
    await previewed(pilot, screen)
    await until(pilot, lambda: pilot.app.disks is not None)
    await pilot.pause(0.1)


@SIZES
def test_empty(shop, size, name):
    async def talk(pilot):
        screen = await opened(pilot)
        await settled(pilot, screen)
        await same_picture(pilot, f"compose-empty-{name}")

    drive(shop.app(), talk, size)


@SIZES
def test_a_journal_is_chosen(shop, size, name):
    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5-journal")
        await at_option(pilot, screen, "journal")
        await pilot.press("enter")
        await settled(pilot, screen)
        await same_picture(pilot, f"compose-journal-{name}")

    drive(shop.app(BOUND), talk, size)


@SIZES
def test_a_problem(shop, size, name):
    wrong = json.loads(json.dumps(DOCUMENT))
    wrong["layouts"]["raid5-journal"]["md"] |= {"chunk": "3KiB", "consistency": "ppl"}
    shop.disks(DISKS[:4])

    async def talk(pilot):
        screen = await opened(pilot)
        await at_line(pilot, screen, "layouts", "raid5-journal")
        screen.focus_pane("preview")
        await settled(pilot, screen)
        await same_picture(pilot, f"compose-wrong-{name}")

    drive(shop.app(Draft(wrong, BOUND.bind)), talk, size)
