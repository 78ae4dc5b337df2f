"""What is sent to the terminal, and in which order keys are taken."""

from __future__ import annotations

from made_compose import BOUND
from pilot import drive, until
from textual import events

from raidtui.tui.terminal import ShownLines, joined


def test_a_line_that_is_on_the_terminal_already_is_not_sent_again():
    shown = ShownLines()
    first = "\x1b[1;1Hone\n\x1b[2;1Htwo"
    assert shown.news(first) == first
    assert shown.news("\x1b[1;1Hone\n\x1b[2;1Hnew\x1b[2;3H") == "\x1b[2;1Hnew\x1b[2;3H"


def test_a_line_of_which_a_part_was_written_meanwhile_is_sent_again():
    shown = ShownLines()
    shown.news("\x1b[1;1Hone\n")
    shown.news("\x1b[1;2Hx")
    assert shown.news("\x1b[1;1Hone\n") == "\x1b[1;1Hone\n"


def test_after_forgetting_everything_is_sent_again():
    shown = ShownLines()
    shown.news("\x1b[1;1Hone\n")
    shown.forget()
    assert shown.news("\x1b[1;1Hone\n") == "\x1b[1;1Hone\n"


def test_a_style_that_goes_on_is_not_ended_and_begun():
    assert joined("\x1b[1ma\x1b[0m\x1b[1mb\x1b[0m\x1b[2mc\x1b[0m") == "\x1b[1mab\x1b[0m\x1b[2mc\x1b[0m"
    assert joined("\x1b[1ma\x1b[0m b\x1b[1mc\x1b[0m") == "\x1b[1ma\x1b[0m b\x1b[1mc\x1b[0m"
    link = "\x1b[1m\x1b]8;;u\x1b\\a\x1b[0m\x1b[1mb\x1b[0m"
    assert joined(link) == link


def test_keys_typed_in_one_burst_go_into_the_dialog_that_the_first_of_them_opens(shop):
    app = shop.app(BOUND)

    async def talk(pilot):
        await pilot.press("2")
        await until(pilot, lambda: app.screen.kinds is not None)
        for key in (*"lraid6", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else "\r"))
        await until(pilot, lambda: len(app.draft.document["layouts"]) == 4)
        assert app.draft.document["layouts"]["raid6"] == {"md": {"level": "raid6", "on": "@data"}}
        assert len(app.draft.document["roles"]) == 2
        assert app.screen.MODE == "compose"

    drive(app, talk)
