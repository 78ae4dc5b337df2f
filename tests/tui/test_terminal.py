"""Bytes sent to the terminal for a change of the screen, and the order in which keys are handled."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from made_compose import BOUND
from pilot import drive, until
from textual import events

from raidtui.tui.terminal import ShownLines, cells_of

RED, BOLD, PLAIN = "\x1b[31m", "\x1b[1m", "\x1b[0m"


def test_what_is_on_the_terminal_already_is_not_sent_again():
    shown = ShownLines()
    first = "\x1b[1;1Hone\n\x1b[2;1Htwo"
    assert shown.news(first) == "\x1b[1;1Hone\x1b[2;1Htwo"
    assert shown.news("\x1b[1;1Hone\n\x1b[2;1Htoo\x1b[2;3H") == "\x1b[2;2Ho\x1b[2;3H"


def test_runs_far_apart_are_sent_alone_and_near_ones_together():
    shown = ShownLines()
    shown.news("\x1b[1;1H" + "." * 40)
    assert shown.news("\x1b[1;1Ha" + "." * 38 + "b") == "\x1b[1;1Ha\x1b[1;40Hb"
    assert shown.news("\x1b[1;1Ha.c" + "." * 36 + "b") == "\x1b[1;3Hc"
    assert shown.news("\x1b[1;1Hx.y" + "." * 36 + "b") == "\x1b[1;1Hx.y"


def test_a_part_that_was_written_meanwhile_is_sent_again():
    shown = ShownLines()
    shown.news("\x1b[1;1Hone\n")
    shown.news("\x1b[1;2Hx")
    assert shown.news("\x1b[1;1Hone\n") == "\x1b[1;2Hn"
    shown.forget()
    assert shown.news("\x1b[1;1Hone\n") == "\x1b[1;1Hone"


def test_styles_count_and_are_written_once_for_neighbours():
    shown = ShownLines()
    assert shown.news(f"\x1b[1;1H{RED}a{PLAIN}{RED}b{PLAIN}{BOLD}c{PLAIN}") == f"\x1b[1;1H{RED}ab{PLAIN}{BOLD}c{PLAIN}"
    assert shown.news(f"\x1b[1;1H{RED}abc{PLAIN}") == f"\x1b[1;3H{RED}c{PLAIN}"


def test_only_what_changes_of_a_style_is_written_and_blanks_have_no_colour():
    shown = ShownLines()
    ground = "\x1b[31;48;2;1;2;3ma b\x1b[0m\x1b[32;48;2;1;2;3mc\x1b[0m"
    assert shown.news(f"\x1b[1;1H{ground}") == "\x1b[1;1H\x1b[31;48;2;1;2;3ma b\x1b[32mc\x1b[0m"
    assert shown.news("\x1b[1;1H\x1b[31;48;2;1;2;3ma\x1b[0m\x1b[33;48;2;1;2;3m \x1b[0m") == ""
    assert shown.news("\x1b[1;2H\x1b[4;33;48;2;1;2;3m \x1b[0m") == "\x1b[1;2H\x1b[4;33;48;2;1;2;3m \x1b[0m"


def test_wide_characters_are_never_halved():
    shown = ShownLines()
    shown.news("\x1b[1;1H漢字ab")
    assert shown.news("\x1b[1;1H漢x ab") == "\x1b[1;3Hx "
    assert shown.news("\x1b[1;1H漢字ab") == "\x1b[1;3H字"


def test_other_sequences_are_sent_as_they_are_and_their_line_is_forgotten():
    shown = ShownLines()
    shown.news("\x1b[1;1Habc")
    link = "\x1b[1;1H\x1b]8;;u\x1b\\abc\x1b]8;;\x1b\\"
    assert shown.news(link) == link
    assert shown.news("\x1b[1;1Habc") == "\x1b[1;1Habc"
    assert shown.news("\x1b[?25l") == "\x1b[?25l"


def test_a_move_an_end_of_line_and_a_pointer_draw_nothing():
    shown = ShownLines()
    shown.news("\x1b[1;1Habc")
    for nothing in ("\x1b[1;2H\n", "\x1b[1;2H", "\x1b[1;2H\x1b]22;default\x07"):
        shown.news(nothing)
        assert shown.news("\x1b[1;1Habc") == ""


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 6), st.text("ab漢\u0301", max_size=5)), max_size=12))
def test_the_terminal_shows_the_same_as_if_all_had_been_sent(pieces):
    shown, screens = ShownLines(), ({}, {})
    for line, column, text in pieces:
        data = f"\x1b[{line};{column}H{text}"
        _draw(screens[0], data)
        _draw(screens[1], shown.news(data))
        assert screens[0] == screens[1]


def _draw(screen, data):
    """A small terminal: cells by line and column. Half a wide character is a blank."""
    _, *moves = re.split(r"\x1b\[(\d+);(\d+)H", data)
    for line, column, text in zip(moves[::3], moves[1::3], moves[2::3], strict=True):
        for number, cell in enumerate(cells_of(text), int(column)):
            screen[line, number] = cell


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
