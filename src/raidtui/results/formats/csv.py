"""One line for each cell, for spreadsheets and scripts (RFC 4180, UTF-8, a full stop for decimals)."""

from __future__ import annotations

import csv
import io

from raidtui.results.comparison import Comparison
from raidtui.results.formats.base import Format
from raidtui.results.tidy import COLUMNS, Value, tidy


def write(comparison: Comparison) -> bytes:
    """A header and the lines. An empty field is a value that is not there."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    writer.writerows([_text(line[name]) for name in COLUMNS] for line in tidy(comparison))
    return out.getvalue().encode()


def _text(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) >= 1 else f"{value:.6g}"
    if isinstance(value, int):
        return str(value)
    # A spreadsheet takes what begins with one of these signs for a formula.
    return f"'{value}" if value[:1] in ("=", "+", "-", "@") else value


FORMAT = Format("csv", ".csv", "one line for each cell, units in the header", write)
