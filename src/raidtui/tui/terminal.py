"""Output to the terminal, without cells that it shows already."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple

from rich.cells import get_character_cell_size
from textual.drivers.linux_driver import LinuxDriver

_MOVE: Final = re.compile(r"\x1b\[(\d+);(\d+)H")
_STYLE: Final = re.compile(r"(\x1b\[[\d;]*m)")
_POINTER: Final = re.compile(r"\x1b\]22;[^\x07\x1b]*(?:\x07|\x1b\\)")
"""Shape of the mouse's pointer: it draws nothing."""
_PLAIN: Final = "\x1b[0m"
_GAP: Final = 10
"""Number of equal cells from which a move of the cursor is shorter than writing them again."""


class Cell(NamedTuple):
    """One column of a line; the second column of a wide character has no text."""

    style: str
    text: str


_UNKNOWN: Final = Cell("?", "?")


class ShownLines:
    """The cells that the terminal shows, as far as they were sent."""

    def __init__(self) -> None:
        self._lines: dict[int, list[Cell]] = {}
        """By number from 1. A line of which nothing is known has no entry."""

    def forget(self) -> None:
        """Send everything again: the terminal may show something else."""
        self._lines.clear()

    def news(self, data: str) -> str:
        """Return `data` without the cells that the terminal shows already. Text without a move of the cursor is kept."""
        before, *moves = _MOVE.split(data)
        sent = [before]
        for line, column, text in zip(moves[::3], moves[1::3], moves[2::3], strict=True):
            sent.append(self._piece(int(line), int(column), text))
        return "".join(sent)

    def _piece(self, line: int, column: int, text: str) -> str:
        text = text.removesuffix("\n")
        cells = cells_of(text)
        if not cells:  # a move alone, or what is no plain text
            if text and not _POINTER.fullmatch(text):
                self._lines.pop(line, None)
            return f"\x1b[{line};{column}H{text}"
        known, start = self._lines.setdefault(line, []), column - 1
        known += [_UNKNOWN] * (start + len(cells) - len(known))
        old = known[start : start + len(cells)]
        if old == cells:
            return ""
        known[start : start + len(cells)] = cells
        return "".join(f"\x1b[{line};{column + first}H{_written(cells[first:end])}" for first, end in _changes(old, cells))


def cells_of(text: str) -> list[Cell]:
    """Return the cells of styled text; none if it has other escape sequences."""
    cells: list[Cell] = []
    style = ""
    for part in _STYLE.split(text):
        if part[:1] == "\x1b":
            if not _STYLE.fullmatch(part):
                return []
            style = "" if part == _PLAIN else part
        elif "\x1b" in part:
            return []
        elif part.isascii():
            blank = Cell(_of_blanks(style), " ")
            cells += [blank if char == " " else Cell(style, char) for char in part]
        else:
            for char in part:
                width = get_character_cell_size(char)
                if width:
                    cells += [Cell(style, char), Cell(style, "")][:width]
                elif cells:  # belongs to the character before it
                    place = -1 if cells[-1].text else -2
                    cells[place] = Cell(cells[place].style, cells[place].text + char)
    return cells


def _changes(old: Sequence[Cell], new: Sequence[Cell]) -> Iterator[tuple[int, int]]:
    """Yield the runs of cells to be written, each by its begin and end; runs with few equal cells between are one."""
    runs: list[list[int]] = []
    for place, (one, other) in enumerate(zip(old, new, strict=True)):
        if one != other:
            if runs and place - runs[-1][1] < _GAP:
                runs[-1][1] = place + 1
            else:
                runs.append([place, place + 1])
    for first, end in runs:
        # Both columns of a wide character are written, and of one that is overwritten.
        while first and (not new[first].text or not old[first].text):
            first -= 1
        while end < len(new) and (not new[end].text or not old[end].text):
            end += 1
        yield first, end


def _written(cells: Sequence[Cell]) -> str:
    """Return cells as text, with what changes from one style to the next."""
    parts: list[str] = []
    style = ""
    for cell in cells:
        if cell.style != style and not (cell.text == " " and cell.style == _of_blanks(style)):
            parts.append(_change(style, cell.style))
            style = cell.style
        parts.append(cell.text)
    return "".join(parts) + (_PLAIN if style else "")


class _Style(NamedTuple):
    """A style in its parts, as numbers of an SGR sequence."""

    attributes: str = ""
    colour: str = ""
    ground: str = ""


@lru_cache(maxsize=4096)
def _parts(style: str) -> _Style:
    numbers = iter(style[2:-1].split(";"))
    attributes: list[str] = []
    colour = ground = ""
    for number in numbers:
        code = int(number or 0)
        value = number
        if code in (38, 48):
            kind = next(numbers, "5")
            value = ";".join([number, kind, *islice(numbers, 3 if kind == "2" else 1)])
        if code == 38 or 30 <= code <= 37 or 90 <= code <= 97:
            colour = value
        elif code == 48 or 40 <= code <= 47 or 100 <= code <= 107:
            ground = value
        elif code:
            attributes.append(value)
    return _Style(";".join(attributes), colour, ground)


@lru_cache(maxsize=4096)
def _of_blanks(style: str) -> str:
    """Return the style of a blank in this style: its ground is all that is seen, unless it is reversed or underlined."""
    parts = _parts(style)
    seen = not set(parts.attributes.split(";")) <= {"", "1", "2", "3"}
    return style if seen else f"\x1b[{parts.ground}m" if parts.ground else ""


@lru_cache(maxsize=4096)
def _change(old: str, new: str) -> str:
    """Return the sequence that leads from one style to another."""
    if not new:
        return _PLAIN
    before, after = _parts(old), _parts(new)
    if before.attributes != after.attributes:
        return f"{_PLAIN if old else ''}{new}"
    colour = "" if before.colour == after.colour else after.colour or "39"
    ground = "" if before.ground == after.ground else after.ground or "49"
    return f"\x1b[{';'.join(filter(None, (colour, ground)))}m"


class SparingDriver(LinuxDriver):
    """Textual's driver, without what is on the terminal already: a dialog sends only the cells that it covers."""

    def __init__(self, app: Any, **given: Any) -> None:
        """`app` has the `shown_lines` of its terminal, and forgets them when the terminal may have moved its lines."""
        super().__init__(app, **given)
        self._shown: ShownLines = app.shown_lines

    def write(self, data: str) -> None:
        super().write(self._shown.news(data))

    def start_application_mode(self) -> None:
        self._shown.forget()
        super().start_application_mode()  # type: ignore[no-untyped-call]
