"""Signs that the terminal can draw: blocks and braille, or plain ASCII in their place."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import NamedTuple

_ASCII_TERMINALS = ("linux", "vt", "ansi", "dumb", "cons", "sun", "wyse")
_MULTIPLEXERS = ("screen", "tmux")


class Glyphs(NamedTuple):
    """One sign for one meaning, on every screen."""

    unicode: bool
    ellipsis: str
    ascending: str
    descending: str
    selected: str
    absent: str
    """Stands where there is no value."""
    bar: str
    """A bar's last cell from least to most full; the last of them is a full cell."""
    spark: str
    """Signs from the lowest level to the highest."""
    vertical: str
    horizontal: str


UNICODE = Glyphs(True, "…", "▲", "▼", "●", "–", "▏▎▍▌▋▊▉█", "▁▂▃▄▅▆▇█", "│", "─")
ASCII = Glyphs(False, "~", "^", "v", "*", "-", "#", "_.:-=+*#", "|", "-")


def choose(environ: Mapping[str, str]) -> Glyphs:
    """The signs for a terminal, by `TERM` and the locale's variables.

    Consoles whose fonts lack blocks and braille get ASCII; so does any terminal whose locale names another character set
    than UTF-8, and a multiplexer without a locale that names it. Other terminals without a locale are taken to be modern.
    """
    term = environ.get("TERM", "").lower()
    locale = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environ.get(name))), "").lower()
    utf8 = "utf-8" in locale or "utf8" in locale
    if term.startswith(_ASCII_TERMINALS):
        return ASCII
    if term.startswith(_MULTIPLEXERS):
        return UNICODE if utf8 else ASCII
    return UNICODE if utf8 or locale in ("", "c", "posix") else ASCII


@functools.cache
def glyphs() -> Glyphs:
    """The signs for the terminal that this process has."""
    return choose(os.environ)
