"""One line for each layout and workload, for spreadsheets and scripts (RFC 4180, UTF-8, a full stop for decimals)."""

from __future__ import annotations

import csv
import io

from raidtui.base.text import clean
from raidtui.results.compare import Comparison
from raidtui.results.formats.base import Format
from raidtui.results.lines import lines

COLUMNS = ("layout", "workload", "unit", "state", "median", "low", "high", "percent_of_baseline", "valid", "cells",
           "reasons", "baseline", "run", "scenario", "host", "rehearsal")  # fmt: skip


def write(comparison: Comparison) -> bytes:
    """A header and the lines. An empty field is a value that is not there."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for line in lines(comparison):
        source = comparison.sources[line.result - 1] if comparison.sources else None
        about = (source.run, source.scenario, source.host, "yes" if source.rehearsal else "no") if source else ("",) * 4
        writer.writerow([
            _text(line.layout), _text(line.workload), line.unit, line.state,
            *map(_number, (line.median, line.low, line.high, line.percent)), line.valid, line.cells,
            _text(line.reasons), _text(comparison.baseline), *map(_text, about),
        ])  # fmt: skip
    return out.getvalue().encode()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".rstrip("0").rstrip(".")


def _text(value: str) -> str:
    """Harmless text: a spreadsheet takes what begins with one of these signs for a formula."""
    shown = clean(value, 4096)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown


FORMAT = Format("csv", ".csv", "one line for each layout and workload", write)
