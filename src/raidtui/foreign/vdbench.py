"""Summaries of vdbench for raw I/O: its console, `summary.html` and `totals.html`. The line `avg_` of each run counts.

Its MB are 1024² bytes, as its heading says. Of runs of file systems (`fwd`) only `flatfile.html` is read.
"""

from __future__ import annotations

import re
from typing import Final

from raidtui.foreign.labels import size_bytes
from raidtui.foreign.sources import Building, TableReader, lines_of, stem, unreadable
from raidtui.foreign.vdbench_flatfile import add_flatfile, sniff_flatfile
from raidtui.model.problem import ProblemError
from raidtui.model.table import Asked, Pattern

_TAGS: Final = re.compile(r"<[^>]{0,300}>")
_RUN: Final = re.compile(r".*Starting RD=([^;\s]+); I/O rate: ([^;]*);.*?(?:For loops: (.*?))?\s*")
_NAMES: Final = re.compile(r".*\binterval\s+i/o\s+MB/sec\s+bytes\s+read\s+resp\s+(.*)")
_UNITS: Final = re.compile(r"\s*rate\s+(10(?:24|00)\*\*2)\s+i/o\s+pct\s+time\s+(.*)")
_AVERAGE: Final = re.compile(r"(?:\S+\s+)?avg_\d+-\d+((?:\s+(?:\d{1,30}(?:\.\d{1,30})?|NaN))+)\s*")
_RATE, _MB, _BYTES, _READ, _RESPONSE = range(5)


def sniff(text: str) -> bool:
    return _sniff_summary(text) or sniff_flatfile(text)


def add(making: Building, text: str, name: str) -> None:
    (add_flatfile if sniff_flatfile(text) else _add_summary)(making, text, name)


def _sniff_summary(text: str) -> bool:
    lines = [_TAGS.sub("", line) for line in text.splitlines()[:3000]]
    return any(map(_NAMES.fullmatch, lines)) and any(map(_UNITS.fullmatch, lines))


def _add_summary(making: Building, text: str, name: str) -> None:
    layout = making.layout(stem(name))
    run, begun, unit, above = "", 0, "", ""
    names: tuple[str, ...] = ()
    averaged = False
    for number, raw in enumerate(lines_of(text, name), 1):
        line = _TAGS.sub("", raw).rstrip()
        if (start := _RUN.fullmatch(line)) is not None:
            if begun and not averaged:
                raise _cut(name, begun, run)
            loops = start[3] if start[3] and start[3] != "None" else ""
            run, begun, averaged = " ".join(filter(None, (start[1], loops))), number, False
        elif (first := _NAMES.fullmatch(line)) is not None:
            above = first[1]
        elif (second := _UNITS.fullmatch(line)) is not None:
            names = tuple(map(" ".join, zip(above.split(), second[2].split(), strict=False)))
            unit = "MiB/s" if second[1] == "1024**2" else "MB/s"
        elif (average := _AVERAGE.fullmatch(line.strip())) is not None and unit:
            averaged = True
            values = average[1].split()
            if len(values) < _RESPONSE + 1:
                raise unreadable(f"{name}:{number}", "the line of averages is not whole", "The output may be cut off.")
            if float(values[_RATE]) > 0:
                _average(making, (layout, run or "vdbench"), values, names, unit, f"{name}:{number}")
    if begun and not averaged:
        raise _cut(name, begun, run)


def _cut(name: str, line: int, run: str) -> ProblemError:
    return unreadable(f"{name}:{line}", f"run {run} has no line of averages: it did not finish", "Run it again.")


def _average(
    making: Building, cell: tuple[str, str], values: list[str], names: tuple[str, ...], unit: str, place: str
) -> None:
    reads, block = float(values[_READ]), float(values[_BYTES])
    pattern: Pattern = "read" if reads == 100 else "write" if reads == 0 else "mixed"
    layout, run = cell
    loops = dict(part.split("=", 1) for part in run.split() if "=" in part)
    whole = int(block) if block == int(block) and block > 0 else None
    asked = Asked(
        pattern=pattern, block_bytes=whole or size_bytes(loops.get("xfersize", "")),
        read_percent=reads if pattern == "mixed" else None, place=place,
    )  # fmt: skip
    key = making.workload(run, asked)
    making.printed((layout, key), "iops", values[_RATE], "IOPS", place)
    making.printed((layout, key), "bandwidth", values[_MB], unit, place)
    making.printed((layout, key), "latency", values[_RESPONSE], "ms", place, statistic="mean")
    told = dict(zip(names, values[_RESPONSE + 1 :], strict=False))
    for direction in ("read", "write") if pattern == "mixed" else ():
        if float(told.get(f"{direction} resp", 0)) > 0:
            making.printed((layout, key), "latency", told[f"{direction} resp"], "ms", place, direction=direction,
                           statistic="mean")  # fmt: skip


VDBENCH = TableReader("vdbench", "a summary or flatfile of vdbench, as a table", sniff, add)
