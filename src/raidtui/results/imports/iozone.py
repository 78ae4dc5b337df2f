"""iozone's table: a row for each file and record size, a column for each test. Its kB are 1024 bytes."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from raidtui.model.table import Asked, Metric, Pattern
from raidtui.results.imports.tables import Building, TableReader, lines_of, stem
from raidtui.results.published import read_number

_TESTS: Final[tuple[tuple[str, Pattern, bool], ...]] = (
    ("write", "write", False), ("rewrite", "write", False), ("read", "read", False), ("reread", "read", False),
    ("random read", "read", True), ("random write", "write", True), ("backward read", "read", False),
    ("record rewrite", "write", False), ("stride read", "read", False), ("fwrite", "write", False),
    ("frewrite", "write", False), ("fread", "read", False), ("freread", "read", False),
)  # fmt: skip
"""The columns behind size and record length, in iozone's own order."""
_HEADING: Final = re.compile(r"\s*(?:kB|KB)\s+reclen\s+write\s+rewrite\b.*")
_ROW: Final = re.compile(r"\s*\d+\s+\d+(?:\s+\d+)+\s*")
_COMMAND: Final = re.compile(r"\s*Command line used:\s*(.*)")
_NEAR: Final = 2
_METRICS: Final[dict[str, tuple[Metric, str]]] = {"IOPS": ("iops", ""), "us": ("latency", "mean")}
"""By the unit that -O and -N make it print."""


def sniff(text: str) -> bool:
    return any(_HEADING.fullmatch(line) for line in text.splitlines()[:2000])


def add(making: Building, text: str, name: str) -> None:
    layout = making.layout(stem(name))
    ends: list[int] = []
    command, unit = Asked(), "KiB/s"
    for number, line in enumerate(lines_of(text, name), 1):
        if (shown := _COMMAND.fullmatch(line)) is not None:
            command = Asked(command=shown.group(1).strip()[:4000], place=f"{name}:{number}")
        elif "operations per second" in line.lower():
            unit = "IOPS"
        elif "microseconds per operation" in line.lower():
            unit = "us"
        elif _HEADING.fullmatch(line):
            ends = [match.end() for match in re.finditer(r"\S+", line)]
        elif ends and _ROW.fullmatch(line):
            _row(making, layout, line, ends, unit, command, f"{name}:{number}")


def _row(making: Building, layout: str, line: str, ends: list[int], unit: str, shown: Asked, place: str) -> None:
    cells = list(re.finditer(r"\d+", line))
    size_kib, record_kib = int(cells[0].group()), int(cells[1].group())
    values = cells[2:]
    in_order = len(values) == len(ends) - 2
    for index, cell in enumerate(values):
        # Columns of tests that were not run are blank: the number stands where its heading ends.
        column = index if in_order else min(range(2, len(ends)), key=lambda i: abs(ends[i] - cell.end())) - 2
        if column >= len(_TESTS) or (not in_order and abs(ends[column + 2] - cell.end()) > _NEAR):
            continue
        test, pattern, random = _TESTS[column]
        block = record_kib * 1024 or None
        workload = making.workload(
            f"{test} {record_kib} KiB of {size_kib} KiB",
            msgspec.structs.replace(shown, pattern=pattern, random=random, block_bytes=block, iodepth=1),
        )
        metric, statistic = _METRICS.get(unit, ("bandwidth", ""))
        making.add(layout, workload, metric, read_number(cell.group()), unit, place, cell.group(), statistic=statistic)


READER = TableReader("iozone", "iozone's table, as a table", sniff, add)
