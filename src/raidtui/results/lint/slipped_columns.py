"""The largest numbers of a column that are all multiples of 1024: GB/s that were made MB/s with the wrong factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from raidtui.model.table import Figure, Finding, Table, Unit
from raidtui.results.lint.cells import SLACK, CellKey, base, block_sizes, decimals_step, of_metric, shown, where
from raidtui.results.published import Interval

SMALLEST: Final = 1000.0
STEP: Final = 51.2
"""Tools print GB/s with one or two digits behind the point: half of a tenth, times 1024."""
CHANCE: Final = 0.002
FEWEST: Final = 2
"""One such number alone is right as often: 300,000 operations of 4 KiB are 1228.8 MB/s."""
_LARGER: Final[dict[Unit, str]] = {"MB/s": "GB/s", "kB/s": "MB/s"}


def check(table: Table) -> Iterator[Finding]:
    """`unit-slip` for bandwidths that have no operations beside them to tell by."""
    operations = _operations(table)
    for unit, larger in _LARGER.items():
        column = [figure for figure in of_metric(table.figures, "bandwidth") if figure.unit == unit]
        sums = _sums(column)
        right = {
            id(figure)
            for figure in column
            if any(_confirmed(figure, expected.get(_cell(figure))) for expected in (operations, sums))
        }
        for figure in _suspicious(column, right):
            if _cell(figure) not in operations:
                before = round(figure.value / 1.024, 6)
                yield Finding(
                    "unit-slip", where(table, figure),
                    f"{shown(figure)} are {before / 1000:g} × 1024, as are all of the largest numbers here: {larger} were "
                    f"made {unit} by multiplying with 1024; it should be {before:,.0f} {unit}.", figure.value, before,
                )  # fmt: skip


def _suspicious(column: Sequence[Figure], right: set[int]) -> list[Figure]:
    """The largest figures, as long as they are multiples of the step; none where chance may have done it."""
    falling = sorted((f for f in column if f.value >= SMALLEST), key=lambda f: -f.value)
    top = list(takewhile(lambda f: id(f) not in right and _is_multiple(f.value), falling))
    if not top:
        return []
    rest = falling[len(top) :]
    step = decimals_step(rest or top)
    different = len({figure.value for figure in top})
    return top if different >= FEWEST and (step / STEP) ** different <= CHANCE else []


def _is_multiple(value: float) -> bool:
    ratio = value / STEP
    return abs(ratio - round(ratio)) < 1e-6 * max(1.0, ratio)


def _cell(figure: Figure) -> CellKey:
    return CellKey(figure.layout, figure.workload, figure.round, figure.direction)


def _operations(table: Table) -> dict[CellKey, Interval]:
    """Bytes per second of each cell whose operations and block size are known."""
    found: dict[CellKey, Interval] = {}
    sizes = {key: block_sizes(table, key) for key in table.workloads}
    for figure in of_metric(table.figures, "iops"):
        for size in sizes.get(figure.workload, ())[:1]:
            found[_cell(figure)] = base(figure).times(size)
    return found


def _sums(column: Sequence[Figure]) -> dict[CellKey, Interval]:
    """Bytes per second of reads and writes together, of cells that tell both."""
    parts: dict[CellKey, dict[str, Interval]] = {}
    for figure in column:
        if figure.direction:
            parts.setdefault(_cell(figure)._replace(direction=""), {}).setdefault(figure.direction, base(figure))
    return {
        key: Interval(sum(one.low for one in found.values()), sum(one.high for one in found.values()))
        for key, found in parts.items()
        if len(found) > 1
    }


def _confirmed(figure: Figure, expected: Interval | None) -> bool:
    """Whether operations beside it say that it is right."""
    return expected is not None and not base(figure).gap(Interval(expected.low * (1 - SLACK), expected.high * (1 + SLACK)))


CHECK = check
