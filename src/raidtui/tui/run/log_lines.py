"""The step log as lines of text. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from rich.text import Text

from raidtui.tui.run.clock import clock
from raidtui.tui.run.signs import signs
from raidtui.tui.run.step_log import Kind, LogLine

_TIME_WIDTH = 8
_WORTH_TELLING_S = 1.0


class LogText(Sequence[Text]):
    """The log's lines as they were at a second of the run, each made when it is looked at."""

    def __init__(self, lines: Sequence[LogLine], at_s: float) -> None:
        self._lines = lines
        self._at_s = at_s

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> Text: ...
    @overload
    def __getitem__(self, index: slice) -> list[Text]: ...
    def __getitem__(self, index: int | slice) -> Text | list[Text]:
        if isinstance(index, slice):
            return [log_line(line, self._at_s) for line in self._lines[index]]
        return log_line(self._lines[index], self._at_s)


def log_line(line: LogLine, at_s: float) -> Text:
    """One line as it was at a second of the run."""
    sign, style = _step_sign(line, at_s) if line.kind == "step" else _sign(line.kind)
    text = Text(no_wrap=True)
    text.append(clock(line.at_s).rjust(_TIME_WIDTH), "dim").append(f" {sign} ", style)
    text.append(line.text, style if line.kind in ("warning", "error", "invalid") else "")
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
