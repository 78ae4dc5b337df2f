"""What passed: kept after every row, so that nothing is lost when it is stopped, and shown as one table."""

from __future__ import annotations

import hashlib
import json
import sys
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


class Report:
    """Rows by name and layout, in a file of one row a line."""

    def __init__(self, folder: Path, *, resume: bool) -> None:
        self.folder = folder
        self._file = folder / "rows.jsonl"
        self._earlier: dict[tuple[str, str], tuple[Row, str]] = {}
        self._rows: list[Row] = []
        folder.mkdir(parents=True, exist_ok=True)
        if resume and self._file.exists():
            for line in self._file.read_text().splitlines():
                *values, of = json.loads(line)
                row = Row(values[0], values[1], values[2], values[3], tuple(values[4]))
                self._earlier[row.name, row.layout] = row, of
        else:
            self._file.write_text("")

    def known(self, name: str, layout: str, source: bytes) -> bool:
        """True where it passed before and its source is still the same: then that counts."""
        row, of = self._earlier.get((name, layout), (None, ""))
        if row is None or not row.passed or of != _hash(source):
            return False
        self._rows.append(row)
        return True

    def add(self, row: Row, source: bytes) -> None:
        self._rows.append(row)
        with self._file.open("a") as file:
            file.write(json.dumps([*row, _hash(source)]) + "\n")
        print(f"{'passed' if row.passed else 'FAILED'}  {row.name} {row.layout}  {row.seconds:.0f} s", flush=True)
        for text in row.wrong:
            print(f"        {text}", file=sys.stderr, flush=True)

    def passed(self) -> bool:
        return bool(self._rows) and all(row.passed for row in self._rows)

    def table(self) -> str:
        """One line a row; below it what is wrong where it did not pass."""
        names = max(len(row.name) for row in self._rows)
        layouts = max(len(row.layout) for row in self._rows)
        head = f"{'SCENARIO':<{names}}  {'LAYOUT':<{layouts}}  " + "  ".join(name.upper() for name in COLUMNS) + "  SECONDS"
        lines = ["", head]
        for row in self._rows:
            marks = "  ".join(_mark(row, name).ljust(len(name)) for name in COLUMNS)
            lines.append(f"{row.name:<{names}}  {row.layout:<{layouts}}  {marks}  {row.seconds:7.0f}")
            lines += [f"    {text}" for text in row.wrong]
        good = sum(row.passed for row in self._rows)
        return "\n".join([*lines, "", f"{good} of {len(self._rows)} passed"])


def _mark(row: Row, column: str) -> str:
    if not row.layout:
        return "yes" if row.passed else "NO"
    return "yes" if row.passed_columns.get(column) else "NO"


def _hash(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:16]
