"""The columns of the CSV that a comparison is written to: read back under their own names, not by guessing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from raidtui.results.imports.cells import Row
from raidtui.results.imports.heading import Heading
from raidtui.results.imports.tables import Building
from raidtui.results.lines import VALID
from raidtui.results.tidy import COLUMNS

_FEW: Final = {"layout", "workload", "state", "iops_per_s", "throughput_MB_per_s"}
"""Nobody else's table has all of these."""
_LATENCY: Final = re.compile(r"(read|write|trim)_(mean|p50|p99|p999|max)_us")
_READ: Final = {
    "layout": Heading("layout", "layout"),
    "workload": Heading("workload", "workload"),
    "round": Heading("round", "round"),
    "command": Heading("command", "command"),
    "queue_depth": Heading("iodepth", "queue depth"),
    "iops_per_s": Heading("figure", "IOPS", "iops", "IOPS"),
    "throughput_MB_per_s": Heading("figure", "MB/s", "bandwidth", "MB/s"),
}


def tidy_headings(cells: Sequence[str]) -> dict[int, Heading]:
    """By index, what each column is; nothing for anybody else's table."""
    return {i: _heading(cell) for i, cell in enumerate(cells) if cell in COLUMNS} if set(cells) >= _FEW else {}


def _heading(name: str) -> Heading:
    if (latency := _LATENCY.fullmatch(name)) is None:
        return _READ.get(name, Heading("ignored", name))
    direction, statistic = latency.groups()
    return Heading("figure", "latency", "latency", "us", statistic.replace("p999", "p99.9"), direction)


def valid_rows(making: Building, rows: list[Row], name: str) -> list[Row]:
    """The heading, and the cells that were valid; that there are others is noted."""
    state = rows[0].cells.index("state")
    found = [rows[0], *(row for row in rows[1:] if row.cells[state : state + 1] == (VALID,))]
    if left := len(rows) - len(found):
        lines = "1 line is" if left == 1 else f"{left} lines are"
        making.note(f"{name}:{rows[0].line}: {lines} of no valid cell; not read.")
    return found
