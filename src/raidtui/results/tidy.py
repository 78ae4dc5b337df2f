"""A comparison as tidy data: one line for each cell, one column for each number, with its unit in the column's name."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from raidtui.base.text import clean
from raidtui.results.accounting import Account
from raidtui.results.comparison import Comparison, Row
from raidtui.results.extract import DIRECTIONS, Point
from raidtui.results.lines import INVALID, VALID, state_of
from raidtui.results.rates import again_label

Value = str | int | float | None

_LATENCY = ("mean_us", "p50_us", "p99_us", "p999_us", "max_us")
COLUMNS = (
    "layout", "workload", "round", "state", "iops_per_s", "throughput_MB_per_s",
    *(f"{direction}_{field}" for direction in DIRECTIONS for field in _LATENCY),
    "cpu_cores", "written_to_members_per_byte", "duration_s", "published_percent", "reasons", "marks", "result", "run",
    "cell", "scenario", "host", "rehearsal", "started", "command",
    "ceiling_each_alone_MB_per_s", "ceiling_all_at_once_MB_per_s", "ceiling_links_MB_per_s", "share_of_ceiling",
    "expected_written_per_byte_low", "expected_written_per_byte_high", "limited_by", "limited_because",
    "queue_depth",
)  # fmt: skip
"""MB is 10⁶ bytes. `layout` and `workload` are named as in the comparison."""


def tidy(comparison: Comparison) -> Iterator[dict[str, Value]]:
    """Row by row; a layout that could not be built, or was not measured with a workload, has one line without numbers."""
    accounts = {(one.source, cell): one for one in comparison.accounts for cell in one.cells}
    for row in comparison.rows:
        for index, workload in enumerate(comparison.workloads):
            entry = row.entries[index]
            head: dict[str, Value] = {"layout": clean(row.label), "workload": clean(workload)}
            for point in entry.points if entry is not None else ():
                rest = _rest(accounts.get((row.source, point.id)))
                yield {**dict.fromkeys(COLUMNS), **head, **_numbers(point), **_origin(comparison, row), **rest}
            for point in entry.again if entry is not None else ():
                second = {**head, "layout": clean(again_label(row.label))}
                yield {**dict.fromkeys(COLUMNS), **second, **_numbers(point), **_origin(comparison, row)}
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
        "queue_depth": point.queue_depth,
        "duration_s": point.seconds or None,
        "published_percent": point.percent,
        "reasons": clean("; ".join(point.reasons), 4096),
        "marks": clean(" ".join(dict.fromkeys(mark.code for mark in point.marks)), 4096),
        "cell": clean(point.id),
        "started": clean(point.started),
        "command": clean(shlex.join(point.command), 8192),
    }
    for direction, latency in point.latency.items():
        found |= {f"{direction}_{field}": getattr(latency, field) for field in _LATENCY}
    return found


def _rest(one: Account | None) -> dict[str, Value]:
    """Return the columns of the account; empty for bare disks and cells without one."""
    if one is None:
        return {}
    ceilings = {"each_alone": one.solo, "all_at_once": one.together}
    expected = one.expected
    return {
        **{f"ceiling_{name}_MB_per_s": rate.bytes_per_s / 1e6 for name, rate in ceilings.items() if rate is not None},
        "ceiling_links_MB_per_s": None if one.link_bytes_per_s is None else one.link_bytes_per_s / 1e6,
        "share_of_ceiling": one.share,
        "expected_written_per_byte_low": expected.low if expected else None,
        "expected_written_per_byte_high": expected.high if expected else None,
        "limited_by": one.limiter,
        "limited_because": clean(one.why, 4096),
    }


def _origin(comparison: Comparison, row: Row) -> dict[str, Value]:
    if not comparison.sources:
        return {}
    source = comparison.sources[row.source - 1]
    return {"result": row.source, "run": clean(source.run), "scenario": clean(source.scenario), "host": clean(source.host),
            "rehearsal": "yes" if source.rehearsal else "no"}  # fmt: skip
