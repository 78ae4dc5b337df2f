"""What pg_test_fsync prints: operations per second of every way to make a write durable."""

from __future__ import annotations

import re
from typing import Final

from raidtui.model.table import Asked
from raidtui.results.imports.tables import Building, TableReader, lines_of, stem
from raidtui.results.published import read_number

_SECTIONS: Final = (
    ("Compare file sync methods using one", "one write", 1),
    ("Compare file sync methods using two", "two writes", 2),
    ("Compare open_sync with different", "open_sync", 0),
    ("Test if fsync on non-write", "other descriptor", 1),
    ("Non-", "not durable", 1),
)
"""How a section begins, its name here, and how many writes of 8 kB an operation is; 0 where the row says it."""
_ROW: Final = re.compile(r"\s*(\S.*?)\s+([\d.]+)\s+ops/sec\s+([\d.]+)\s+usecs/op\s*")
_WRITES: Final = re.compile(r"(\d+)\s*\*\s*(\d+)kB")
_BLOCK_BYTES: Final = 8192


def sniff(text: str) -> bool:
    return "ops/sec" in text and "usecs/op" in text and "sync methods" in text


def add(making: Building, text: str, name: str) -> None:
    section, writes = "", 1
    layout = making.layout(stem(name))
    for number, line in enumerate(lines_of(text, name), 1):
        for beginning, title, count in _SECTIONS:
            if line.startswith(beginning):
                section, writes = title, count
        if (match := _ROW.fullmatch(line)) is None or not section:
            continue
        row, operations, us = match.groups()
        sizes = _WRITES.search(row)
        moved = int(sizes.group(1)) * int(sizes.group(2)) * 1024 if sizes else writes * _BLOCK_BYTES
        label = f"{section}: {' '.join(row.split())}"
        workload = making.workload(label, Asked(pattern="write", block_bytes=moved, iodepth=1, command="pg_test_fsync"))
        place = f"{name}:{number}"
        making.add(layout, workload, "iops", read_number(operations), "IOPS", place, operations)
        making.add(layout, workload, "latency", read_number(us), "us", place, us, statistic="mean")


READER = TableReader("pg_test_fsync", "output of pg_test_fsync, as a table", sniff, add)
