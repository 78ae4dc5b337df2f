"""`flatfile.html` of vdbench: a line of columns for each interval, of which the line `avg_` of each run counts.

Its MB are 1024² bytes, as its head says. Runs of file systems (`fwd`) have columns of reads and of writes; those of mkdir,
open and others are not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from raidtui.foreign.labels import whole
from raidtui.foreign.sources import Building, lines_of, stem, unreadable
from raidtui.model.table import Asked, Pattern

_TAGS: Final = re.compile(r"<[^>]{0,300}>")
_AVERAGE: Final = re.compile(r"avg_\d+-\d+")
_VARIED: Final = ("xfersize", "threads", "rdpct", "reqrate")
"""Columns that tell the runs of one name apart: loops of its definition."""


def sniff_flatfile(text: str) -> bool:
    return any(map(_headings, text.splitlines()[:400]))


def _headings(line: str) -> list[str]:
    """Return the columns of a heading in small letters; nothing for another line."""
    words = _TAGS.sub("", line).lower().split()
    return words if words[:1] == ["tod"] and {"run", "interval", "mb/sec", "resp"} <= set(words) else []


def add_flatfile(making: Building, text: str, name: str) -> None:
    layout, headings = making.layout(stem(name)), list[str]()
    rows: list[tuple[dict[str, str], str]] = []
    begun: dict[str, int] = {}
    for number, line in enumerate(lines_of(text, name), 1):
        headings = _headings(line) or headings
        cells = _TAGS.sub("", line).split()
        if not headings or cells[:1] in ([], ["tod"]) or line.startswith("*"):
            continue
        if len(cells) != len(headings):
            message = f"the row has {len(cells)} columns, its heading {len(headings)}"
            raise unreadable(f"{name}:{number}", message, "The file may be cut off.")
        row = dict(zip(headings, cells, strict=True))
        begun.setdefault(row["run"], number)
        if _AVERAGE.fullmatch(row["interval"]):
            begun.pop(row["run"])
            rows.append((row, f"{name}:{number}"))
    for run, number in begun.items():
        raise unreadable(f"{name}:{number}", f"run {run} has no line of averages: it did not finish", "Run it again.")
    runs = Counter(row["run"] for row, _ in rows)
    for row, place in rows:
        own = [other for other, _ in rows if other["run"] == row["run"]]
        told = [f"{key}={row[key]}" for key in _VARIED if len({other.get(key) for other in own}) > 1]
        label = " ".join([row["run"], *told]) if runs[row["run"]] > 1 else row["run"]
        _row(making, layout, label, row, place)


def _row(making: Building, layout: str, run: str, row: Mapping[str, str], place: str) -> None:
    """Add the averages of a run. Vdbench writes n/a where it does not know a number."""
    of_files = "read_rate" in row
    reads = _percent(row, of_files)
    if reads is None:
        return
    pattern: Pattern = "read" if reads == 100 else "write" if reads == 0 else "mixed"
    asked = Asked(pattern=pattern, block_bytes=whole(row.get("xfersize", "")) or None,
                  read_percent=round(reads, 2) if pattern == "mixed" else None, place=place)  # fmt: skip
    times = making.jobs[layout, run] = making.jobs.get((layout, run), 0) + 1
    cell = layout, making.workload(run, asked)
    if not of_files:
        making.printed(cell, "iops", row["rate"], "IOPS", place, round=times)
        making.printed(cell, "bandwidth", row["mb/sec"], "MiB/s", place, round=times)
        making.printed(cell, "latency", row["resp"], "ms", place, statistic="mean", round=times)
    for direction in ("read", "write") if of_files or pattern == "mixed" else ():
        if float(row.get(f"{direction}_resp", "n/a").replace("n/a", "0")) <= 0:
            continue
        making.printed(cell, "latency", row[f"{direction}_resp"], "ms", place, direction=direction, statistic="mean",
                       round=times)  # fmt: skip
        if of_files:
            making.printed(cell, "iops", row[f"{direction}_rate"], "IOPS", place, direction=direction, round=times)
            making.printed(cell, "bandwidth", row[f"mb_{direction}"], "MiB/s", place, direction=direction, round=times)


def _percent(row: Mapping[str, str], of_files: bool) -> float | None:
    """Return the share of reads in percent; None if nothing was read or written."""
    try:
        if not of_files:
            return float(row["read%"]) if float(row["rate"]) > 0 else None
        reads, writes = float(row["read_rate"]), float(row["write_rate"])
    except (KeyError, ValueError):
        return None
    return 100 * reads / (reads + writes) if reads + writes > 0 else None
