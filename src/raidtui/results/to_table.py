"""A result of raidtui's own as a table, so that the same checks look at it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Literal

from raidtui.model.measure import Direction
from raidtui.model.result import Cell, Result
from raidtui.model.table import TABLE_SCHEMA, Asked, Figure, Subject, Table
from raidtui.results.imports.fio_parts.asked import asked_of
from raidtui.results.rates import label_of

_DIRECTIONS: tuple[Literal["read", "write", "trim"], ...] = ("read", "write", "trim")


def table_of_result(result: Result) -> Table:
    """Rates of every cell that was measured; disks that were measured one by one are alike where their model is."""
    models = {disk.id: disk.model for disk in result.disks}
    layouts, workloads, figures = dict[str, Subject](), dict[str, Asked](), list[Figure]()
    for index, cell in enumerate(result.cells):
        if cell.summary is None:
            continue
        key = label_of(cell)
        layouts.setdefault(key, Subject(like=f"{cell.layout}: {models.get(cell.part, '')}" if cell.part else ""))
        workloads.setdefault(cell.workload, _asked(result, cell))
        for name in _DIRECTIONS:
            direction = getattr(cell.summary, name)
            if direction is not None and direction.ios:
                figures += _figures(key, cell, name, direction, f"$.cells[{index}].summary.{name}")
    return Table(
        schema=TABLE_SCHEMA, name=result.run, title=str(result.scenario.get("title", ""))[:400], source="a run of raidtui",
        date=result.started, host=result.machine.host, layouts=layouts, workloads=workloads, figures=tuple(figures),
    )  # fmt: skip


def _figures(key: str, cell: Cell, name: Literal["read", "write", "trim"], flow: Direction, place: str) -> list[Figure]:
    rates = (("iops", flow.iops, "IOPS"), ("bandwidth", flow.bytes_per_s, "B/s"))
    return [
        Figure(key, cell.workload, metric, value, unit, place=place, direction=name, round=max(1, cell.round))  # type: ignore[arg-type]
        for metric, value, unit in rates
    ]


def _asked(result: Result, cell: Cell) -> Asked:
    section = result.scenario.get("workloads")
    given: Any = section.get(cell.workload) if isinstance(section, Mapping) else None
    options = given.get("fio") if isinstance(given, dict) else None
    plain = {str(name): str(value) for name, value in options.items()} if isinstance(options, dict) else {}
    # Options are the command; the name is the label that is held against it.
    block = asked_of(plain).block_bytes if plain else None
    return Asked(block_bytes=block, command=_command(cell), place="$.cells[].command")


def _command(cell: Cell) -> str:
    """Without the target's own name, which says nothing of what was asked."""
    words = [word for word in cell.command if not word.startswith(("--name=", "--filename=", "--directory="))]
    return shlex.join(words)[:4000]
