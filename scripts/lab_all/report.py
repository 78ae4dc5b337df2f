"""Table of the outcomes, saved after every row."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

COLUMNS = ("built", "read back", "measured", "gone", "blank", "canary", "commands")


class Row(NamedTuple):
    """One layout of a scenario, or one file of tests (which has no layout)."""

    name: str
    layout: str
    passed_columns: dict[str, bool]
    seconds: float
    wrong: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(self.passed_columns.values()) and not self.wrong


class Wish(NamedTuple):
    """One row to be run."""

    name: str
    layout: str
    source_hash: str


def wish(name: str, layout: str, source: bytes) -> Wish:
    """`source`: what it is made from. Where that changed, an earlier row says nothing."""
    return Wish(name, layout, hashlib.sha256(source).hexdigest()[:16])


class Report:
    """The last row for each wish, in a file of one row a line that several processes add to."""

    def __init__(self, folder: Path, *, resume: bool) -> None:
        self.folder = folder
        self._file = folder / "rows.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        if not resume:
            self._file.unlink(missing_ok=True)
        self._file.touch()

    def known(self, wish: Wish) -> bool:
        """True where it passed before."""
        row = self._found().get(wish)
        return row is not None and row.passed

    def add(self, wish: Wish, row: Row) -> None:
        with self._file.open("a") as file:
            file.write(json.dumps([*wish, *row[2:]]) + "\n")
        print(f"{'passed' if row.passed else 'FAILED'}  {row.name} {row.layout}  {row.seconds:.0f} s", flush=True)
        for text in row.wrong:
            print(f"        {text}", file=sys.stderr, flush=True)

    def rows(self, wishes: Sequence[Wish]) -> list[Row]:
        """One for each; where there is none, one that did not pass."""
        found = self._found()
        return [found.get(one) or Row(one.name, one.layout, {}, 0.0, ("it was not run to its end",)) for one in wishes]

    def _found(self) -> dict[Wish, Row]:
        found = {}
        for line in self._file.read_text().splitlines():
            name, layout, source_hash, columns, seconds, wrong = json.loads(line)
            found[Wish(name, layout, source_hash)] = Row(name, layout, columns, seconds, tuple(wrong))
        return found


def table(rows: Sequence[Row]) -> str:
    """One line a row; below it what is wrong where it did not pass."""
    names = max(len(row.name) for row in rows)
    layouts = max(len(row.layout) for row in rows)
    head = f"{'SCENARIO':<{names}}  {'LAYOUT':<{layouts}}  " + "  ".join(name.upper() for name in COLUMNS) + "  SECONDS"
    lines = ["", head]
    for row in rows:
        marks = "  ".join(_mark(row, name).ljust(len(name)) for name in COLUMNS)
        lines.append(f"{row.name:<{names}}  {row.layout:<{layouts}}  {marks}  {row.seconds:7.0f}")
        lines += [f"    {text}" for text in row.wrong]
    good = sum(row.passed for row in rows)
    return "\n".join([*lines, "", f"{good} of {len(rows)} passed"])


def _mark(row: Row, column: str) -> str:
    if not row.layout:
        return "yes" if row.passed else "NO"
    return "yes" if row.passed_columns.get(column) else "NO"
