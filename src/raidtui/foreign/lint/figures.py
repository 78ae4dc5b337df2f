"""Figures by cell, and words for places and numbers: shared by the checks. Block sizes that nearly all numbers agree on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from raidtui.foreign.labels import read_command, read_label
from raidtui.foreign.published import Interval, decimals, interval
from raidtui.model.problem import Refusal
from raidtui.model.table import RATE_UNITS, SIZE_UNITS, TIME_UNITS, Figure, Finding, Metric, Table, Unit

SLACK = 0.01
"""Difference that measuring may cause between two counts of one cell: averages of samples against whole sums."""
MOST_OF_A_CELL = 200
_FACTORS: Final[Mapping[str, float]] = {**RATE_UNITS, **SIZE_UNITS, **TIME_UNITS}


class CellKey(NamedTuple):
    """A layout under a workload in a round; with a direction, if the source has numbers for each."""

    layout: str
    workload: str
    round: int
    direction: str


def cell_of(figure: Figure) -> CellKey:
    return CellKey(figure.layout, figure.workload, figure.round, figure.direction)


def by_cell(table: Table) -> dict[CellKey, list[Figure]]:
    """The figures of each cell, in the table's order; of a cell without end, the first ones."""
    cells: dict[CellKey, list[Figure]] = {}
    for figure in table.figures:
        cell = cells.setdefault(cell_of(figure), [])
        if len(cell) < MOST_OF_A_CELL:
            cell.append(figure)
    return cells


def of_metric(figures: Sequence[Figure], metric: Metric) -> Iterator[Figure]:
    return (figure for figure in figures if figure.metric == metric)


def base(figure: Figure) -> Interval:
    """Return the value in bytes, bytes per second, seconds or operations per second."""
    return interval(figure).times(factor(figure.unit))


def factor(unit: Unit) -> float:
    """Return the factor from this unit to bytes, bytes per second or seconds; 1 for counts."""
    return _FACTORS.get(unit, 1.0)


def block_sizes(table: Table, workload: str) -> tuple[int, ...]:
    """Return the bytes that one operation may move: by the field and the command, or else by the label.

    Where they differ, that is another finding; numbers that follow from one of them are right.
    """
    asked = table.workloads.get(workload)
    if asked is None:
        return ()
    done = read_command(asked.command) if asked.command else None
    ran = None if done is None else done.block_bytes
    known = [size for size in (asked.block_bytes, ran) if size]
    if not known and (done is None or "bs" not in asked.command):
        known = [size for size in (read_label(asked.label or workload).block_bytes,) if size]
    return tuple(dict.fromkeys(known))


def where(table: Table, figure: Figure) -> str:
    """`mdadm-local-raid0, randwrite 4k (file.txt:263)`."""
    place = f" ({figure.place})" if figure.place else ""
    again = f", round {figure.round}" if figure.round > 1 else ""
    return f"{layout_label(table, figure.layout)}, {workload_label(table, figure.workload)}{again}{place}"


def found(
    refusal: Refusal, table: Table, figure: Figure, sentence: str, computed: float | str,
    kind: str, evidence: str = "", among: int = 0,
) -> Finding:  # fmt: skip
    """A finding about one figure."""
    return Finding(refusal.code, where(table, figure), sentence, figure.value, computed, kind, evidence, among)


def rounded(value: float) -> float:
    """Six digits that count."""
    return float(f"{value:.6g}")


def layout_of_percentages(figures: Iterable[Figure]) -> str:
    """The layout that is 100 % where no share says which: the only one whose shares all are 100."""
    nameless = [figure for figure in figures if figure.metric == "share" and not figure.of]
    below = {figure.layout for figure in nameless if figure.value != 100}
    whole = {figure.layout for figure in nameless} - below
    return whole.pop() if len(whole) == 1 else ""


def layout_label(table: Table, key: str) -> str:
    subject = table.layouts.get(key)
    return subject.label if subject is not None and subject.label else key


def workload_label(table: Table, key: str) -> str:
    asked = table.workloads.get(key)
    return asked.label if asked is not None and asked.label else key


def number(value: float) -> str:
    """Four digits that count, as plain text: `20,130`, `261.6`, `0.1541`."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.4g}"


def shown(figure: Figure) -> str:
    """The number as it was published, with its unit."""
    unit = "" if figure.unit == "operations" else f" {figure.unit}"
    # 7.1e2 % was written as 7.1x.
    text = f"{figure.value:g}" if figure.unit == "%" and "e" in figure.text else figure.text
    return f"{text or number(figure.value)}{unit}"


def decimals_step(figures: Sequence[Figure]) -> float:
    """The coarsest of 1000, 500, 100 … that all of these numbers are multiples of, and never finer than their digits."""
    finest = 10.0 ** -max((decimals(figure) for figure in figures), default=0)
    for exponent in range(3, -7, -1):
        for step in (10.0**exponent, 5 * 10.0 ** (exponent - 1)):
            if step < finest:
                return finest
            if all(is_multiple(figure.value, step) for figure in figures):
                return step
    return finest


STEP: Final = 51.2
"""Tools print GB/s with one or two digits behind the point: half of a tenth, times 1024."""


def is_multiple(value: float, step: float = STEP) -> bool:
    ratio = value / step
    return abs(ratio - round(ratio)) < 1e-6 * (max(1.0, ratio) if step == STEP else 1.0)


FEWEST: Final = 3
"""Cells of a kind that must agree, for each one that does not."""
_SMALLEST, _LARGEST = 512, 16 << 20


def implied_sizes(table: Table, said: Mapping[str, object]) -> dict[CellKey, int]:
    """Bytes of an operation, for cells that moved no possible block with each one, where all others of their kind did.

    It is what these moved. A kind is a direction and an order: all random reads. `said` has the sizes of workloads that
    say theirs.
    """
    kinds: dict[tuple[object, ...], dict[CellKey, int | None]] = {}
    for key, figures in by_cell(table).items() if table.kind == "published" else ():
        asked = table.workloads[key.workload]
        moved = None if said.get(key.workload) or asked.pattern is None or asked.random is None else _moved(figures)
        if moved is not None:
            kinds.setdefault((asked.pattern, asked.random, key.direction), {})[key] = _size_in(moved)
    implied: dict[CellKey, int] = {}
    for cells in kinds.values():
        sizes = {size for size in cells.values() if size is not None}
        odd = [key for key, size in cells.items() if size is None]
        if len(sizes) == 1 and len(cells) - len(odd) >= FEWEST * len(odd):
            implied |= dict.fromkeys(odd, *sizes)
    return implied


def _moved(figures: list[Figure]) -> Interval | None:
    """Bytes that each operation of a cell moved; None where it is not told by one line."""
    operations, rates = list(of_metric(figures, "iops")), list(of_metric(figures, "bandwidth"))
    if len(operations) != 1 or len(rates) != 1 or operations[0].place != rates[0].place:
        return None
    return base(rates[0]).over(base(operations[0]))


def _size_in(moved: Interval) -> int | None:
    """The power of two that an operation may have moved."""
    size = _SMALLEST
    while size <= _LARGEST:
        if moved.gap(Interval(size, size).widened(SLACK)) == 0:
            return size
        size *= 2
    return None


AT_LEAST: Final = 4
"""Names of one kind that make a row of disks; fewer may be alike by accident."""
_DISK: Final = re.compile(
    r"(?:/dev/)?((?:nvme|sd|ssd|hdd|disk|drive|osd|member)[\s_-]?)(?:\d+(?:n\d+)?|[a-z]{1,2}|#\d+)", re.IGNORECASE
)
_MODEL_IN_BRACKETS: Final = re.compile(r"(.+?)\s*\(([^()]+)\)(.*)")
_SERIAL: Final = re.compile(r"(?=.*\d)(?=.*[A-Z])([A-Z0-9]{5})[A-Z0-9-]{3,25}")
_LAYOUT: Final = re.compile(
    r"(?<![a-z])(?:raid|md\d*(?!\w)|mdadm|lvm|zfs|zpool|ext[234]|xfs|btrfs|f2fs|mirror|stripe|luks|dm[-_ ]|ceph|drbd|bcache"
    r"|vdo|jbod|pool|volume|chunk|vdev)",
    re.IGNORECASE,
)
"""Part of a name in brackets or behind a hyphen: an option, not the number of a disk."""
_NUMBER: Final = re.compile(
    r"(?:(?i:slot|bay|port|disk|drive|no\.?|nr\.?|s/?n:?|serial)\s*)?#?(?:[\d:.]+|(?=[A-Z\d-]*\d)[A-Z\d][A-Z\d:.-]{3,})"
)
_SIZE: Final = re.compile(r".*\d\s?[KMGT](?:i?B)?")


def likes(names: Iterable[str]) -> dict[str, str]:
    """Group disks by a property that each shares with at least three others: model, serial or the row of its name."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if like := _like(name):
            groups.setdefault(like, []).append(name)
    return {name: like[:400] for like, group in groups.items() if len(group) >= AT_LEAST for name in group}


def _like(name: str) -> str:
    """Return the group of a disk, as far as its name tells it."""
    if (match := _DISK.fullmatch(name)) is not None:
        return match.group(1).strip(" _-").lower()
    both = _MODEL_IN_BRACKETS.fullmatch(name)
    if both is not None and _DISK.fullmatch(both.group(1)):
        return f"{both.group(2)}{both.group(3)}"  # NVMe1 (PM9A3)
    if _LAYOUT.search(name) is not None:
        return ""
    if both is not None:  # PM9A3 (0369), Physical
        return f"{both.group(1)}{both.group(3)}" if _NUMBER.fullmatch(both.group(2)) else ""
    serial = _SERIAL.fullmatch(name) if _SIZE.fullmatch(name) is None else None
    return serial.group(1) if serial is not None else ""
