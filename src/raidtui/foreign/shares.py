"""Percentages in plain tables: their owner, their baseline, their sign."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from raidtui.foreign.cells import NOTHING, Row, cell_of, numbers, read_cell
from raidtui.foreign.columns import asked, named, own_name, plain
from raidtui.foreign.headings import Heading, residual
from raidtui.foreign.sources import Building
from raidtui.model.table import TIME_UNITS


def workload_of_share(index: int, headings: Mapping[int, Heading], names: Mapping[int, str]) -> str:
    """The workload of a share beside columns of workloads: the one that it names, else that of the column before it.

    Nothing where a single share stands behind several workloads: it may be of their sum.
    """
    said = residual(headings[index].other or headings[index].words)
    if said and (known := _only(said, list(names.values()))):
        return known
    if said and asked(said) is not None:
        return said
    before = [name for i, name in names.items() if i < index]
    alone = sum(heading.role == "share" for heading in headings.values()) == 1
    return "" if not before or (alone and len({plain(name) for name in before}) > 1) else before[-1]


def owner_and_baseline(
    index: int, headings: Mapping[int, Heading], names: Mapping[int, str], rows: Sequence[Row]
) -> tuple[str, str]:
    """Return the layout of a share beside columns of layouts, and the layout that is 100 %; empty texts if unknown."""
    heading, layouts = headings[index], list(names.values())
    shares = {i: one for i, one in headings.items() if one.role == "share"}
    whose = {i: _whose(one, layouts) for i, one in shares.items()}
    if not any(whose.values()):
        whose = _behind(shares, names)
    layout, of = whose.get(index, ""), heading.of
    if not layout and not of and len(set(layouts)) == 2:
        of, layout = _direction(index, heading, names, rows)
    if not layout:
        others = [name for name in layouts if not of or plain(of) not in plain(name)]
        layout = others[-1] if len(others) == 1 or (len(others) == 2 and not of) else ""
    if not of:
        bases = [name for name in dict.fromkeys(layouts) if name not in whose.values() and name != layout]
        of = bases[0] if len(bases) == 1 else ""
    return layout, of


def _behind(shares: Mapping[int, Heading], names: Mapping[int, str]) -> dict[int, str]:
    """One share behind each layout, or behind each but the first; those that say changes may be of any two."""
    found = {i: names[i - 1] for i, share in shares.items() if i - 1 in names and not share.change}
    return found if len(found) == len(set(found.values())) > 1 else {}


def _whose(share: Heading, layouts: Sequence[str]) -> str:
    """The layout that a heading names, as its own column writes it."""
    said = residual(share.other)
    return named(share.other, layouts) or _only(said, layouts) or said or own_name(share, layouts)


def _only(said: str, names: Sequence[str]) -> str:
    """The name that this is, or the only one that it is a part of."""
    inside = {name for name in names if said and f" {plain(said)} " in f" {plain(name)} "}
    return named(said, names) or (inside.pop() if len(inside) == 1 else "")


def _direction(index: int, heading: Heading, names: Mapping[int, str], rows: Sequence[Row]) -> tuple[str, str]:
    """Return which of two layouts is 100 %, and the other: the second is a share of the first unless most numbers show the
    opposite.
    """
    first, second = dict.fromkeys(names.values())
    columns = [next(i for i, name in names.items() if name == wanted) for wanted in (first, second)]
    backward = 0
    for row in rows[1:]:
        share, one, other = (read_cell(cell_of(row, i)) for i in (index, *columns))
        if share is None or one is None or other is None or not one.number.value or not other.number.value:
            continue
        said = heading.percent(share.number.value)
        ratio = other.number.value / one.number.value
        backward += 1 if abs(said - 100 / ratio) < abs(said - 100 * ratio) else -1
    return (second, first) if backward > 0 else (first, second)


_LESS: Final = re.compile(r"loss|overhead|slow-?down|penalty|drop|degradation", re.IGNORECASE)
_TIMES: Final = re.compile(r"\d+(?:[.,]\d+)?\s?[x×]")
_LARGEST_FRACTION: Final = 20.0
"""A layout is not more than so many times as fast as another one that it stands beside."""


def settled(heading: Heading, index: int, rows: Sequence[Row], making: Building, name: str) -> Heading:
    """The heading with its unit, or one that is not read, which is noted. The first row has the headings."""
    place = f"{name}:{rows[0].line}"
    return _signed(index, _timed(index, heading, rows, making, place), rows, making, place)


def _timed(index: int, heading: Heading, rows: Sequence[Row], making: Building, place: str) -> Heading:
    """A column of latencies has its unit in the heading or behind the numbers; without one it says nothing."""
    if heading.metric != "latency" or heading.unit:
        return heading
    cells = list(numbers(index, rows))
    if any(cell.unit in TIME_UNITS for cell in cells):
        return heading
    if cells:
        making.note(f"{place}: nothing says which unit {heading.text!r} has; not read.")
    return heading._replace(role="ignored")


def _signed(index: int, heading: Heading, rows: Sequence[Row], making: Building, place: str) -> Heading:
    """A column of percentages with + and - says how much more or less; one of such words without them, only if they do."""
    if heading.role != "share":
        return heading
    texts = [text for row in rows[1:] if (text := cell_of(row, index))]
    signed = any(text[:1] in "+-−" and read_cell(text) for text in texts)
    if heading.change and not signed:
        times = _LESS.search(heading.text) is None and (_times(texts) or _fractions(index, heading, rows))
        if not times and _LESS.search(heading.text) and not _times(texts):
            return heading._replace(less=True)
        if not times:
            making.note(f"{place}: nothing says whether {heading.text!r} is more or less.")
            return heading._replace(role="ignored")
    if _times(texts) or _fractions(index, heading, rows):
        return heading._replace(change=signed, unit="fraction")
    whole = any(cell.number.value == 100 for cell in numbers(index, rows))
    return heading._replace(change=signed, unit=heading.unit or ("%" if whole else ""))


def _times(texts: Sequence[str]) -> bool:
    """Return True if cells are written as 0.78x."""
    return bool(texts) and all(_TIMES.fullmatch(text) for text in texts if text.lower() not in NOTHING)


def _fractions(index: int, heading: Heading, rows: Sequence[Row]) -> bool:
    """Return True if shares are written as 1.00 and 0.22, in a column without the word percent."""
    found = list(numbers(index, rows))
    said = re.search(r"%|pct|percent|процент", heading.text, re.IGNORECASE) or any(cell.unit for cell in found)
    whole = any(cell.number.value == 1 for cell in found)
    return not said and whole and all(cell.number.value <= _LARGEST_FRACTION for cell in found)


_NEAR: Final = 1.5
"""Percentage points."""
_OF_THE_WORKLOAD: Final = ("workload", "block", "iodepth", "numjobs", "fsync", "round")


def losses(headings: Mapping[int, Heading], rows: Sequence[Row], making: Building, place: str) -> dict[int, Heading]:
    """The headings; an overhead that most numbers contradict is one of space or latency, or is counted another way."""
    found = dict(headings)
    for index, heading in headings.items():
        if heading.less and not _confirmed(index, headings, rows):
            making.note(f"{place}: nothing says whether {heading.text!r} is more or less.")
            found[index] = heading._replace(role="ignored")
    return found


def _confirmed(index: int, headings: Mapping[int, Heading], rows: Sequence[Row]) -> bool:
    """Return True if at least half of the numbers are lower by the given loss than those of the row without loss."""
    labels = [i for i, heading in headings.items() if heading.role in _OF_THE_WORKLOAD]
    rates = [i for i, heading in headings.items() if heading.metric in ("iops", "bandwidth")]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows[1:]:
        groups.setdefault(tuple(cell_of(row, i) for i in labels), []).append(row)
    votes = []
    for group in groups.values():
        whole = next((row for row in group if _number(row, index) == 0), None)
        for row in group:
            lost = _number(row, index)
            if whole is not None and row is not whole and lost is not None:
                kept = [_percent(row, whole, i) for i in rates]
                votes.append(any(one is not None and abs(one - (100 - lost)) <= _NEAR for one in kept))
    return any(votes) and 2 * sum(votes) >= len(votes)


def _percent(row: Row, whole: Row, index: int) -> float | None:
    own, other = _number(row, index), _number(whole, index)
    return 100 * own / other if own is not None and other else None


def _number(row: Row, index: int) -> float | None:
    cell = read_cell(cell_of(row, index))
    return cell.number.value if cell is not None else None
