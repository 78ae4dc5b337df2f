"""Matrix of all cells of the run, one sign each, layouts by workloads; without room for a grid it is a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from raidtui.base.text import clean
from raidtui.front.progress import RunView
from raidtui.model.result import Cell
from raidtui.results.rates import rate, rate_text, unit_of
from raidtui.tui.run.signs import signs
from raidtui.tui.widgets.glyphs import glyphs

_LEAST_COLUMN = 11
_NAME_MOST = 24
_MOST_SIGNS = 12
"""Above that, signs are counted."""

STATES = ("valid", "invalid", "running", "skipped", "planned")


class Square(NamedTuple):
    """All cells of one layout and workload: rounds, and parts where a layout is measured disk by disk."""

    signs: tuple[str, ...]
    """Number of cells by the names of `STATES`, in the order of the plan."""
    value: str
    """Rate of the latest valid cell."""


def squares(view: RunView) -> dict[tuple[str, str], Square]:
    """Cells by layout and workload, in the order of the plan."""
    done = {(cell.id, cell.part): cell for cell in view.cells}
    found: dict[tuple[str, str], list[tuple[str, Cell | None]]] = {}
    for planned in view.plan.cells if view.plan else ():
        cell = done.get((planned.id, planned.part))
        running = view.cell is not None and view.cell.cell == planned.id
        waiting = "running" if running else "skipped" if planned.id in view.skipped else "planned"
        sign = ("valid" if cell.valid else "invalid") if cell else waiting
        found.setdefault((planned.layout, planned.workload), []).append((sign, cell))
    return {key: Square(tuple(sign for sign, _ in cells), _value(cells)) for key, cells in found.items()}


def _value(cells: list[tuple[str, Cell | None]]) -> str:
    last = next((cell for sign, cell in reversed(cells) if sign == "valid" and cell), None)
    if last is None:
        return ""
    unit = unit_of([last])
    return f"{rate_text(rate(last, unit), unit)} {unit}"


def matrix_lines(found: Mapping[tuple[str, str], Square], width: int) -> list[Text]:
    """Return a grid if the columns fit, else workloads below their layout."""
    layouts = list(dict.fromkeys(layout for layout, _ in found))
    workloads = list(dict.fromkeys(workload for _, workload in found))
    if not found:
        return []
    name_width = min(_NAME_MOST, max(cell_len(clean(name)) for name in layouts))
    signs_width = max(len(_signs(square)) for square in found.values())
    value_width = max(14, max(cell_len(square.value) for square in found.values()))
    full = signs_width + 1 + value_width
    for column in (max(full, *(cell_len(clean(name)) for name in workloads)), full, max(signs_width, _LEAST_COLUMN)):
        if name_width + len(workloads) * (column + 2) <= width:
            return _grid(found, layouts, workloads, name_width, column)
    return _list(found, layouts, width)


def _grid(
    found: Mapping[tuple[str, str], Square], layouts: list[str], workloads: list[str], name_width: int, column: int
) -> list[Text]:
    head = Text(" " * name_width, style="dim", no_wrap=True)
    for workload in workloads:
        head.append("  " + _fit(clean(workload), column))
    lines = [head]
    for layout in layouts:
        line = Text(_fit(clean(layout), name_width), no_wrap=True)
        for workload in workloads:
            square = found.get((layout, workload))
            line.append("  ")
            line.append_text(_square(square, column) if square else Text(" " * column))
        lines.append(line)
    return lines


def _list(found: Mapping[tuple[str, str], Square], layouts: list[str], width: int) -> list[Text]:
    lines = []
    signs_width = max(len(_signs(square)) for square in found.values())
    value_width = max(cell_len(square.value) for square in found.values())
    column = signs_width + (1 + value_width if value_width else 0)
    name_width = max(4, width - column - 3)
    for layout in layouts:
        lines.append(Text(clean(layout), style="strong", no_wrap=True))
        for (of, workload), square in found.items():
            if of == layout:
                line = Text("  " + _fit(clean(workload), name_width) + " ", no_wrap=True)
                lines.append(line.append_text(_square(square, column)))
    return lines


def _square(square: Square, width: int) -> Text:
    text = _signs(square)
    if square.value and len(text) + 1 + cell_len(square.value) <= width:
        text.append(square.value.rjust(width - len(text)))
    return text if len(text) >= width else text.append(" " * (width - len(text)))


def _signs(square: Square) -> Text:
    text, known = Text(no_wrap=True), _known_signs()
    if len(square.signs) <= _MOST_SIGNS:
        for name in square.signs:
            text.append(*known[name])
        return text
    for name, (sign, style) in known.items():
        if count := square.signs.count(name):
            text.append(f"{' ' if text else ''}{count}{sign}", style)
    return text


def _known_signs() -> dict[str, tuple[str, str]]:
    """Sign and style by state."""
    known = signs()
    waiting = ((known.skipped, "dim"), (known.later, "dim"))
    looks = ((known.good, "good"), (known.bad, "alert"), (known.now, "accent"), *waiting)
    return dict(zip(STATES, looks, strict=True))


def _fit(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + glyphs().ellipsis
