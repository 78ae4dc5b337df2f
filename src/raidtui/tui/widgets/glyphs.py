"""Signs that the terminal can draw (blocks and braille, or plain ASCII in their place), and texts of table cells."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, isfinite
from typing import NamedTuple

from rich.text import Text

_ASCII_TERMINALS = ("linux", "vt", "ansi", "dumb", "cons", "sun", "wyse")
_MULTIPLEXERS = ("screen", "tmux")


class Glyphs(NamedTuple):
    """One sign for one meaning, on every screen; nothing is said by colour alone."""

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
    good: str
    bad: str
    now: str
    later: str
    skipped: str
    dot: str
    end: str
    odd: str
    branch: str
    last_branch: str
    degree: str
    below: str
    """A link that runs below its maximum."""
    remedy: str
    mark: str
    """A vertical line that is no axis."""


UNICODE = Glyphs(True, "…", "▲", "▼", "●", "–", "▏▎▍▌▋▊▉█", "▁▂▃▄▅▆▇█", "│", "─",
                 "✓", "✗", "▶", "·", "–", "·", "■", "≠", "├ ", "└ ", "°C", "↓", "→", "┊")  # fmt: skip
ASCII = Glyphs(False, "~", "^", "v", "*", "-", "#", "_.:-=+*#", "|", "-",
               "+", "x", ">", ".", "/", "-", "=", "!=", "|-", "`-", "C", "!", "->", ":")  # fmt: skip


def choose(environ: Mapping[str, str]) -> Glyphs:
    """Return the signs for a terminal, by `TERM` and the locale's variables.

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
    """Return the signs for the terminal of this process."""
    return choose(os.environ)


def bar(percent: float | None, width: int, style: str = "", signs: Glyphs | None = None) -> Text:
    """Return `percent` of 100 as a bar over `width` cells, in eighths of a cell where the terminal can."""
    if percent is None or not isfinite(percent):
        return Text((signs or glyphs()).absent.ljust(width)[:width], style="dim")
    return Text(bar_text(percent, width, signs), style=style)


def bar_text(percent: float, width: int, signs: Glyphs | None = None) -> str:
    """Return a bar as plain text."""
    signs = signs or glyphs()
    steps = len(signs.bar)
    filled = round(min(max(percent, 0.0), 100.0) / 100 * width * steps)
    whole, part = divmod(filled, steps)
    return (signs.bar[-1] * whole + (signs.bar[part - 1] if part else "")).ljust(width)


def spark(
    values: Sequence[float | None], width: int, *, top: float | None = None, style: str = "", signs: Glyphs | None = None
) -> Text:
    """Return the last `width` values, one per cell, the newest on the right, with a gap where there was none.

    `top` is the value of the highest level; without it, the largest value in view. Levels start at 0.
    """
    newest = values[-width:] if width > 0 else ()
    recent = [value if value is not None and isfinite(value) else None for value in newest]
    highest = max((value for value in recent if value is not None), default=0.0) if top is None else top
    return Text(spark_text(recent, highest, signs).rjust(width), style=style)


def spark_text(values: Iterable[float | None], top: float, signs: Glyphs | None = None) -> str:
    """Return one sign for each value, up to `top`. Only values of 0 have the lowest sign."""
    levels = (signs or glyphs()).spark
    last = len(levels) - 1
    steps = last / max(top, 1e-300) if top > 0 else 0.0
    return "".join([" " if value is None else levels[ceil(max(0, min(last, value * steps)))] for value in values])
