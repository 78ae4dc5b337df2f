"""Letters and colours of layouts: the same for a layout in tables and charts, so that no colour says anything alone."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Final

INKS: Final = tuple(f"series{number}" for number in range(1, 7))
"""Names of the colours; tables and charts have a component class for each."""
_COLOURS: Final = ("$text-primary", "$text-warning", "$text-error", "$text-success", "$text-accent", "$text-secondary")
"""The same colours as variables of a theme."""


def letter(place: int) -> str:
    """Return the letter of the layout at this place of a comparison."""
    return ascii_lowercase[place % len(ascii_lowercase)]


def ink(place: int) -> str:
    """Return the name of its colour."""
    return INKS[place % len(INKS)]


def colour(place: int) -> str:
    """Return the variable of the theme that has its colour."""
    return _COLOURS[place % len(_COLOURS)]
