"""A comparison as tidy data: one line for each cell, one column for each number, with its unit in the column's name."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from raidtui.base.text import clean
from raidtui.results.compare import Comparison, Row
from raidtui.results.extract import DIRECTIONS, Point
from raidtui.results.lines import INVALID, VALID, state_of

Value = str | int | float | None

_LATENCY = ("mean_us", "p50_us", "p99_us", "p999_us", "max_us")
COLUMNS = (
    "layout", "workload", "round", "state", "iops_per_s", "throughput_MB_per_s",
    *(f"{direction}_{field}" for direction in DIRECTIONS for field in _LATENCY),
    "cpu_cores", "written_to_members_per_byte", "duration_s", "reasons", "result", "run", "cell", "scenario", "host",
    "rehearsal", "started", "command",
)  # fmt: skip
"""MB is 10⁶ bytes. `layout` and `workload` are named as in the comparison."""


def tidy(comparison: Comparison) -> Iterator[dict[str, Value]]:
    """Row by row; a layout that could not be built, or was not measured with a workload, has one line without numbers."""
    for row in comparison.rows:
        for index, workload in enumerate(comparison.workloads):
            entry = row.entries[index]
            head: dict[str, Value] = {"layout": clean(row.label), "workload": clean(workload)}
            for point in entry.points if entry is not None else ():
                yield {**dict.fromkeys(COLUMNS), **head, **_numbers(point), **_origin(comparison, row)}
            if entry is None:
                nothing = {"state": state_of(row, index), "reasons": clean(row.failed, 4096)}
                yield {**dict.fromkeys(COLUMNS), **head, **nothing, **_origin(comparison, row)}


def _numbers(point: Point) -> dict[str, Value]:
    found: dict[str, Value] = {
        "round": point.round,
        "state": VALID if point.valid else INVALID,
        "iops_per_s": point.iops,
        "throughput_MB_per_s": None if point.bytes_per_s is None else point.bytes_per_s / 1e6,
        "cpu_cores": point.cpu_cores_used,
        "written_to_members_per_byte": point.write_amplification,
        "duration_s": point.seconds or None,
        "reasons": clean("; ".join(point.reasons), 4096),
        "cell": clean(point.id),
        "started": clean(point.started),
        "command": clean(shlex.join(point.command), 8192),
    }
    for direction, latency in point.latency.items():
        found |= {f"{direction}_{field}": getattr(latency, field) for field in _LATENCY}
    return found


def _origin(comparison: Comparison, row: Row) -> dict[str, Value]:
    if not comparison.sources:
        return {}
    source = comparison.sources[row.source - 1]
    return {"result": row.source, "run": clean(source.run), "scenario": clean(source.scenario), "host": clean(source.host),
            "rehearsal": "yes" if source.rehearsal else "no"}  # fmt: skip
