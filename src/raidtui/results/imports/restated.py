"""A later table of a file that says numbers of an earlier one again: a summary, not another campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raidtui.model.table import Figure


def told_again(figures: Sequence[Figure], before: int, again: Mapping[tuple[str, str], str]) -> list[int]:
    """Which of the figures from `before` on only say again what stands before them; none unless most of them do.

    `again` has the other name that a layout got there, by its own name and the workload. Where most differ, they were
    measured again, and what is equal may have been copied.
    """
    names = {(other, workload): layout for (layout, workload), other in again.items()}
    earlier = {(*_cell(figure, figure.layout), figure.value) for figure in figures[:before]}
    renamed = [i for i in range(before, len(figures)) if (figures[i].layout, figures[i].workload) in names]
    found = [
        i for i in renamed
        if (*_cell(figures[i], names[figures[i].layout, figures[i].workload]), figures[i].value) in earlier
    ]  # fmt: skip
    return found if 2 * len(found) > len(renamed) else []


def _cell(figure: Figure, layout: str) -> tuple[object, ...]:
    return layout, figure.workload, figure.metric, figure.unit, figure.direction, figure.statistic, figure.round
