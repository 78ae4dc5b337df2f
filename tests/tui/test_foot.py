"""The two lines at the foot: keys that can be clicked on, the screens, and what is under the mouse."""

from __future__ import annotations

from typing import ClassVar

import pytest
from pilot import LARGE, SMALL, drive, until
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType

from raidtui.tui.screens.base import Foot, LineKey, ModeBar


def words_of(line):
    return line.render_line(0).text


def place(line, words):
    """The column where these words begin."""
    return words_of(line).index(words)


class Keys(App[None]):
    """An application with a key that does something, one that cannot, and one twice."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "note('a')", "Add", tooltip="Adds one"),
        Binding("b", "note('b')", "Break"),
        Binding("c,d", "note('c')", "Change"),
        Binding("e", "note('e')", "Hidden", show=False),
    ]

    def __init__(self, breakable: bool = False) -> None:
        super().__init__()
        self.noted: list[str] = []
        self.rung = 0
        self.breakable = breakable

    def compose(self) -> ComposeResult:
        yield Foot()

    def action_note(self, word: str) -> None:
        self.noted.append(word)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if parameters == ("b",) and not self.breakable else True

    def bell(self) -> None:
        self.rung += 1


def keyed(act, **options):
    app = Keys(**options)

    async def talk(pilot):
        foot = app.query_one(Foot)
        await until(pilot, lambda: "Change" in words_of(foot))
        await act(pilot, app, foot)

    drive(app, talk)


def test_the_keys_of_what_has_the_focus_each_action_once():
    async def act(pilot, app, foot):
        assert words_of(foot).rstrip() == "a Add b Break c Change"

    keyed(act)


def test_a_click_on_a_key_is_as_if_it_were_typed():
    async def act(pilot, app, foot):
        await pilot.click(Foot, offset=(place(foot, "Change") + 2, 0))
        await pilot.click(Foot, offset=(0, 0))
        await pilot.click(Foot, offset=(place(foot, "Break") - 3, 0))  # between two keys
        await until(pilot, lambda: app.noted == ["c", "a"])

    keyed(act)


def test_a_key_that_does_nothing_now_rings_and_does_nothing():
    async def act(pilot, app, foot):
        await pilot.click(Foot, offset=(place(foot, "Break"), 0))
        await pilot.pause()
        assert (app.noted, app.rung) == ([], 1)
        app.breakable = True
        app.refresh_bindings()
        await pilot.pause()
        await pilot.click(Foot, offset=(place(foot, "Break"), 0))
        await until(pilot, lambda: app.noted == ["b"])

    keyed(act)


def test_what_is_under_the_mouse_shows_it_and_says_what_it_does():
    async def act(pilot, app, foot):
        before = list(foot.render_line(0))
        await pilot.hover(Foot, offset=(place(foot, "Add"), 0))
        assert foot.tooltip == "Adds one"
        assert list(foot.render_line(0)) != before
        await pilot.hover(Foot, offset=(60, 0))
        assert foot.tooltip is None
        assert list(foot.render_line(0)) == before

    keyed(act)


@pytest.mark.parametrize(("words", "screen"), [("Compose", "compose"), ("3", "plan"), ("Results", "results")])
def test_a_click_on_a_screens_name_goes_there(stage, words, screen):
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        line = app.screen.query_one(ModeBar)
        await pilot.click(ModeBar, offset=(place(line, words), 0))
        await until(pilot, lambda: app.current_mode == screen)
        here = [key.words for key in app.screen.query_one(ModeBar)._left if key.here]
        assert here == [screen.capitalize()]

    drive(app, talk)


def test_help_and_the_exit_are_at_the_right_and_are_clicked_on_too(stage):
    app = stage.app()

    async def talk(pilot):
        await until(pilot, lambda: app.link_state.up)
        line = app.screen.query_one(ModeBar)
        assert words_of(line).endswith("q Quit ")
        await pilot.click(ModeBar, offset=(place(line, "Help"), 0))
        await until(pilot, lambda: app.screen.query("HelpPanel"))
        await pilot.click(ModeBar, offset=(place(line, "Quit"), 0))
        await until(pilot, lambda: not app.is_running)

    drive(app, talk, size=LARGE)


@pytest.mark.parametrize("width", [1, 20, 60, 79, 80, 200])
def test_the_line_is_as_wide_as_the_terminal_and_begins_with_the_first_key(stage, width):
    app = stage.app()

    async def talk(pilot):
        line = app.screen.query_one(ModeBar)
        assert line.render_line(0).cell_length == width
        assert " 1 Disks  2 Compose ".startswith(words_of(line)[:20])

    drive(app, talk, size=(width, SMALL[1]))


def test_wide_signs_take_two_columns():
    assert LineKey("表", "写入", "x").width == 7
