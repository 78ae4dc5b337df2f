"""Workloads of a table that has no rates of them, but percentages of one of its layouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from raidtui.model.table import Figure, Table
from raidtui.results.extract import Point
from raidtui.results.lint.cells import layout_label


def relative(table: Table, measured: Iterable[str]) -> tuple[list[Point], list[str]]:
    """Points of percentages, and what must be said of them. `measured` are workloads of which rates are known.

    Percentages can be held against each other where they are of the same layout under the same workload; else they are
    left out, and it is said why. Of several numbers of one layout the first counts, of a mix those of its first direction.
    """
    by_workload: dict[str, list[Figure]] = {}
    for figure in table.figures:
        if figure.metric == "share" and figure.workload not in measured:
            by_workload.setdefault(figure.workload, []).append(figure)
    points: list[Point] = []
    notes: dict[str, list[str]] = {}
    for workload, figures in by_workload.items():
        bases = list(dict.fromkeys(figure.of for figure in figures))
        if len(bases) > 1 or not bases[0]:
            notes.setdefault(_why_not(table, bases), []).append(workload)
            continue
        notes.setdefault(f"percentages of {layout_label(table, bases[0])} alone, no rates", []).append(workload)
        points += _points(figures)
    return points, [f"{', '.join(workloads)}: {note}" for note, workloads in notes.items()]


def _points(figures: Sequence[Figure]) -> list[Point]:
    directions = {figure.direction: None for figure in figures}
    direction = "" if "" in directions else next(iter(directions))
    first: dict[tuple[str, int], Figure] = {}
    for figure in figures:
        if figure.direction == direction:
            first.setdefault((figure.layout, figure.round), figure)
    return [
        Point(id=one.place or f"{layout}/{one.workload}/{round_}", layout=layout, workload=one.workload, round=round_,
              percent=one.value)
        for (layout, round_), one in first.items()
    ]  # fmt: skip


def _why_not(table: Table, bases: list[str]) -> str:
    if bases == [""]:
        return "percentages, and nothing says of which layout; they were not compared"
    names = ", ".join(layout_label(table, base) if base else "nobody knows what" for base in bases)
    return f"percentages of different layouts ({names}); they were not compared"
