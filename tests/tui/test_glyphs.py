"""Which terminals are drawn on with blocks and braille."""

import pytest

from raidtui.tui.widgets.glyphs import ASCII, UNICODE, choose


@pytest.mark.parametrize(
    ("environ", "unicode"),
    [
        ({"TERM": "xterm-256color", "LANG": "en_GB.UTF-8"}, True),
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-256color", "LANG": "C"}, True),
        ({"TERM": "xterm", "LANG": "de_DE.ISO-8859-1"}, False),
        ({"TERM": "xterm", "LANG": "en_GB.UTF-8", "LC_ALL": "de_DE@euro"}, False),
        ({"TERM": "linux", "LANG": "en_GB.UTF-8"}, False),
        ({"TERM": "vt100"}, False),
        ({"TERM": "dumb"}, False),
        ({"TERM": "screen"}, False),
        ({"TERM": "screen-256color", "LC_CTYPE": "C.utf8"}, True),
        ({"TERM": "tmux-256color", "LANG": "C"}, False),
        ({}, True),
    ],
)
def test_blocks_are_drawn_where_terminal_and_locale_have_them(environ: dict[str, str], unicode: bool) -> None:
    assert choose(environ).unicode is unicode


def test_without_blocks_everything_is_ascii() -> None:
    assert all(sign.isascii() for sign in ASCII[1:])
    assert len(ASCII) == len(UNICODE)
