"""Results of elbencho as CSV (`--csvfile`): the columns `[last]`, which count until the slowest thread is done.

The column `label` is the layout. The usual columns of a mix are of its writes, those behind `rwmix read` of its reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.foreign.cells import split_row
from raidtui.foreign.labels import whole
from raidtui.foreign.sources import Building, TableReader, lines_of, stem, unreadable
from raidtui.model.table import Asked, Pattern

_HEAD: Final = ("ISO date", "label", "path type")
_MIX: Final = "rwmix read "
_NO_RATES: Final = frozenset({"MKDIRS", "RMDIRS", "RMFILES", "STAT", "SYNC", "DROPCACHE"})


def sniff(text: str) -> bool:
    first = next(iter(text.splitlines()), "")
    return first.startswith(",".join(_HEAD)) and "MiB/s [last]" in first


def add(making: Building, text: str, name: str) -> None:
    lines = lines_of(text, name)
    headings = split_row(lines[0], ",")
    rounds: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line.strip() or line.startswith(",".join(_HEAD)):
            continue
        cells, place = split_row(line, ","), f"{name}:{number}"
        if len(cells) < len(headings):
            message = f"the row has {len(cells)} cells, its headings {len(headings)}"
            raise unreadable(place, message, "The file may be cut off.")
        _row(making, dict(zip(headings, cells, strict=False)), rounds, (name, place))


def _row(
    making: Building, row: Mapping[str, str], rounds: dict[tuple[str, str], int], where: tuple[str, str]
) -> None:
    name, place = where
    operation, mixed = row.get("operation", ""), bool(row.get(f"{_MIX}MiB/s [last]"))
    if not row.get("MiB/s [last]") and not mixed:
        making.note(f"{name}: rows of {operation} have no rates of data; not read.")
        return
    pattern: Pattern = "mixed" if mixed else "read" if operation.startswith("READ") else "write"
    block, depth, threads, random = (row.get(key, "") for key in ("block size", "IO depth", "threads", "random"))
    label = f"{operation} {'random ' if random == '1' else ''}{block} B qd={depth} threads={threads}"
    asked = Asked(pattern=pattern, random=random == "1", block_bytes=whole(block) or None, iodepth=whole(depth) or 1,
                  numjobs=whole(threads) or None, command=row.get("command", "")[:4000], place=place)  # fmt: skip
    layout = making.layout(row.get("label") or stem(name))
    if making.several:
        layout = making.layout(f"{stem(name)} {layout}" if row.get("label") else layout)
    cell = layout, making.workload(label, asked)
    rounds[cell] = rounds.get(cell, 0) + 1
    for prefix, direction in (("", "write" if mixed else ""), (_MIX, "read")):
        for heading, metric, unit in (("IOPS [last]", "iops", "IOPS"), ("MiB/s [last]", "bandwidth", "MiB/s")):
            if text := row.get(prefix + heading):
                making.printed(cell, metric, text, unit, place, direction=direction, round=rounds[cell])  # type: ignore[arg-type]
        for word, statistic in (("avg", "mean"), ("max", "max")):
            if text := row.get(f"{prefix}IO lat us [{word}]"):
                making.printed(cell, "latency", text, "us", place, direction=direction, statistic=statistic,
                               round=rounds[cell])  # fmt: skip


ELBENCHO = TableReader("elbencho", "results of elbencho as CSV, as a table", sniff, add)
