"""Driving the screen Compose in a test."""

from __future__ import annotations

from pilot import until

from raidtui.tui.screens.compose import ComposeScreen


async def opened(pilot) -> ComposeScreen:
    """The screen, once the engine has described itself and previewed the draft."""
    await pilot.press("2")
    screen = pilot.app.screen
    await until(pilot, lambda: screen.kinds is not None and screen.preview is not None)
    return screen


async def previewed(pilot, screen) -> None:
    """Wait until what is shown is what the draft comes to."""
    await pilot.pause()
    await until(pilot, lambda: not screen.previewing)


async def typed(pilot, text) -> None:
    """Press the keys of a text."""
    for character in text:
        await pilot.press(
            {" ": "space", "-": "minus", ".": "full_stop", "/": "slash", "_": "underscore"}.get(character, character)
        )


async def at_line(pilot, screen, *path) -> None:
    """Put the outline's cursor on a line."""
    screen.focus_pane("outline")
    screen.go(path)
    await pilot.pause()
    assert screen.query_one("#outline").key == path


async def at_option(pilot, screen, name) -> None:
    """Put the form's cursor on an option."""
    screen.focus_pane("form")
    form = screen.query_one("#form")
    form.go_to(next(row.path for row in screen.form.rows if row.field.name == name and not row.renames))
    await pilot.pause()
    assert form.row.field.name == name


def lines(screen, list_id) -> list[str]:
    """Return the lines of a list."""
    return [option.prompt.plain.rstrip() for option in screen.query_one(list_id).options]


def drawn(screen) -> str:
    """The layout as it is drawn."""
    return screen.query_one("#stack").render().plain
