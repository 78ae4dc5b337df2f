"""Output to the terminal, without lines that it shows already."""

from __future__ import annotations

import re
from typing import Any

from textual.drivers.linux_driver import LinuxDriver

_MOVE = re.compile(r"\x1b\[(\d+);(\d+)H")
_PLAIN = "\x1b[0m"
_STYLE = re.compile(r"\x1b\[[\d;]*m")


class ShownLines:
    """The piece that was last sent to each line. Each piece begins with a move of the cursor, so one may be left out."""

    def __init__(self) -> None:
        self._pieces: dict[str, tuple[str, str]] = {}
        """Line → the column and the text of the piece written to it last."""

    def forget(self) -> None:
        """Send every line again: the terminal may show something else."""
        self._pieces.clear()

    def news(self, data: str) -> str:
        """Return `data` without the pieces that the terminal shows already, and with fewer changes of style."""
        before, *moves = _MOVE.split(data)
        sent = [before]
        for line, column, text in zip(moves[::3], moves[1::3], moves[2::3], strict=True):
            short = joined(text)
            if short and self._pieces.get(line) == (column, short):
                continue
            if short:
                self._pieces[line] = (column, short)
            sent.append(f"\x1b[{line};{column}H{short}")
        return "".join(sent)


def joined(text: str) -> str:
    """Return text without the end of a style that begins again at once."""
    pieces = text.split(_PLAIN)
    if len(pieces) == 1:
        return text
    parts: list[str] = []
    last = ""
    for piece in pieces:
        found = _STYLE.match(piece)
        style = found.group() if found and "\x1b" not in piece[found.end() :] else ""
        if parts and style and style == last:
            parts.append(piece[len(style) :])
        else:
            parts.append(f"{_PLAIN}{piece}" if parts else piece)
        last = style
    return "".join(parts)


class SparingDriver(LinuxDriver):
    """Textual's driver, without what is on the terminal already: a dialog sends only the lines that it covers."""

    def __init__(self, app: Any, **given: Any) -> None:
        """`app` has the `shown_lines` of its terminal, and forgets them when the terminal may have moved its lines."""
        super().__init__(app, **given)
        self._shown: ShownLines = app.shown_lines

    def write(self, data: str) -> None:
        super().write(self._shown.news(data))

    def start_application_mode(self) -> None:
        self._shown.forget()
        super().start_application_mode()  # type: ignore[no-untyped-call]
