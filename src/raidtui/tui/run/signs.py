"""Signs of a run: meaning is never by colour alone, and terminals without these characters get plain ones."""

from __future__ import annotations

from typing import NamedTuple

from raidtui.tui.widgets.glyphs import glyphs


class Signs(NamedTuple):
    """One sign for one meaning."""

    good: str
    bad: str
    now: str
    later: str
    skipped: str
    note: str
    end: str
    odd: str
    branch: str
    last_branch: str
    degree: str


_UNICODE = Signs("✓", "✗", "▶", "·", "–", "·", "■", "≠", "├ ", "└ ", "°C")
_ASCII = Signs("+", "x", ">", ".", "/", "-", "=", "!=", "|-", "`-", "C")


def signs() -> Signs:
    """Return the signs that the terminal can draw."""
    return _UNICODE if glyphs().unicode else _ASCII
