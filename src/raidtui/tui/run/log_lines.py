"""The step log as lines of text. Pure functions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import overload

from rich.text import Text

from raidtui.tui.run.clock import clock
from raidtui.tui.run.signs import signs
from raidtui.tui.run.step_log import Kind, LogLine

_TIME_WIDTH = 8
_INDENT = _TIME_WIDTH + 3
_TOLD_WHOLE = ("warning", "error", "invalid")
_WORTH_TELLING_S = 1.0


class LogText(Sequence[Text]):
    """The log's lines at a second of the run, each made when it is looked at. What went wrong is told whole."""

    def __init__(self, lines: Sequence[LogLine], at_s: float, width: int) -> None:
        self._at_s = at_s
        room = max(20, width - _INDENT)
        self._rows: list[LogLine | str] = []
        for line in lines:
            self._rows.append(line)
            if line.kind in _TOLD_WHOLE and len(line.text) > room:
                self._rows += textwrap.wrap(line.text, room)[1:]
        self._room = room

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Text: ...
    @overload
    def __getitem__(self, index: slice) -> list[Text]: ...
    def __getitem__(self, index: int | slice) -> Text | list[Text]:
        if isinstance(index, slice):
            return [self._text(row) for row in self._rows[index]]
        return self._text(self._rows[index])

    def _text(self, row: LogLine | str) -> Text:
        if isinstance(row, str):
            return Text(" " * _INDENT + row, style="alert", no_wrap=True)
        if row.kind in _TOLD_WHOLE and len(row.text) > self._room:
            return log_line(row, self._at_s, textwrap.wrap(row.text, self._room)[0])
        return log_line(row, self._at_s)


def log_line(line: LogLine, at_s: float, words: str | None = None) -> Text:
    """One line as it was at a second of the run; `words` in place of its own, where they are only their beginning."""
    sign, style = _step_sign(line, at_s) if line.kind == "step" else _sign(line.kind)
    text = Text(no_wrap=True)
    text.append(clock(line.at_s).rjust(_TIME_WIDTH), "dim").append(f" {sign} ", style)
    text.append(words or line.text, style if line.kind in ("warning", "error", "invalid") else "")
    ended = line.ended_s is not None and line.ended_s <= at_s
    if line.kind == "step" and ended:
        took_s = (line.ended_s or 0.0) - line.at_s
        told = [line.outcome] if line.outcome not in ("", "done") else []
        told += [f"{took_s:.1f} s"] if took_s >= _WORTH_TELLING_S else []
        if told:
            text.append("  " + ", ".join(told), "alert" if line.failed else "dim")
    return text


def _sign(kind: Kind) -> tuple[str, str]:
    known = signs()
    return {
        "note": (known.note, "dim"),
        "warning": ("!", "warn"),
        "error": (known.bad, "alert"),
        "valid": (known.good, "good"),
        "invalid": (known.bad, "alert"),
    }.get(kind, (known.end, "strong"))


def _step_sign(line: LogLine, at_s: float) -> tuple[str, str]:
    if line.ended_s is None or line.ended_s > at_s:
        return signs().now, "accent"
    return (signs().bad, "alert") if line.failed else (signs().good, "dim")
