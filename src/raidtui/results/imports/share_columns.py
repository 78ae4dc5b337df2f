"""Whose the percentages of a column are, and of whose, in a table that has a column for each layout or workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raidtui.results.imports.cells import Row, read_cell
from raidtui.results.imports.heading import Heading
from raidtui.results.imports.headings import residual
from raidtui.results.imports.row_labels import cell_of
from raidtui.results.imports.table_columns import asked, named, own_name, plain


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
    """Of a share beside columns of layouts: the layout whose it is, and the one that is 100 %; "" where nothing says it."""
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
    """Of two layouts, the one that is 100 % and the other: the second is measured by the first unless most numbers say
    that it is the other way round.
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
