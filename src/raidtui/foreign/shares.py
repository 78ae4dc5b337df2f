"""Percentages in plain tables: their sign and unit, the layout or workload that they are of, the layout that is 100 %."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from raidtui.foreign.cells import NOTHING, Row, numbers, read_cell
from raidtui.foreign.columns import asked, plain
from raidtui.foreign.headings import Heading, residual

_LESS: Final = re.compile(r"loss|overhead|slow-?down|penalty|drop|degradation", re.IGNORECASE)
_TIMES: Final = re.compile(r"\d+(?:[.,]\d+)?\s?[x×]")
_LARGEST_FRACTION: Final = 20.0
"""A layout is not more than so many times as fast as another one that it stands beside."""
_NEAR: Final = 1.5
"""Percentage points."""
_OF_THE_WORKLOAD: Final = ("workload", "block", "iodepth", "numjobs", "fsync", "round")


def settled(headings: Mapping[int, Heading], rows: Sequence[Row], note: Callable[[str], None]) -> dict[int, Heading]:
    """The headings; a share has its sign, unit and baseline, or is left out with a note. The first row has the headings."""
    found = {i: _signed(i, heading, rows) if heading.role == "share" else heading for i, heading in headings.items()}
    names = {plain(name) for h in found.values() if not h.whose or h.of for name in (h.text, residual(h.text))}
    layouts = {plain(row.cells[i]) for i, h in found.items() if h.role == "layout" for row in rows[1:]} - {""}
    for index, heading in found.items():
        if heading.role != "share":
            continue
        if (heading.change and not heading.unit) or (heading.less and not _confirmed(index, found, rows)):
            note(f"nothing says whether {heading.text!r} is more or less.")
            found[index] = heading._replace(role="ignored")
        elif not heading.of and plain(heading.whose) in layouts:
            found[index] = heading._replace(of=heading.whose, whose="")
        elif not heading.of and heading.whose and plain(heading.whose) not in names and asked(heading.whose) is None:
            found[index] = heading._replace(role="unread")
    return found


def _signed(index: int, heading: Heading, rows: Sequence[Row]) -> Heading:
    """A share whose cells have + and - is a change; `unit` is `fraction` for 0.78 and 0.78x, and empty if it is unknown."""
    texts = [text for row in rows[1:] if (text := row.cells[index]).lower() not in NOTHING]
    cells = numbers(index, rows)
    times = bool(texts) and all(map(_TIMES.fullmatch, texts))
    percent = re.search(r"%|pct|percent|процент", heading.text, re.IGNORECASE) or any(cell.unit for cell in cells)
    whole = any(cell.number.value == 1 for cell in cells)
    fraction = not percent and whole and all(cell.number.value <= _LARGEST_FRACTION for cell in cells)
    signed = any(text[:1] in "+-−" and read_cell(text) for text in texts)
    if heading.change and not signed:
        if _LESS.search(heading.text):
            return heading._replace(unit="") if times else heading._replace(less=True)
        if not (times or fraction):
            return heading._replace(unit="")
    if times or fraction:
        return heading._replace(change=signed, unit="fraction")
    return heading._replace(change=signed, unit=heading.unit or ("%" if any(c.number.value == 100 for c in cells) else ""))


def _confirmed(index: int, headings: Mapping[int, Heading], rows: Sequence[Row]) -> bool:
    """Return True if at least half of the rates are lower by the given loss than those of the row without loss.

    Otherwise an overhead may be one of space or latency, or be counted another way.
    """
    labels = [i for i, heading in headings.items() if heading.role in _OF_THE_WORKLOAD]
    rates = [i for i, heading in headings.items() if heading.metric in ("iops", "bandwidth")]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows[1:]:
        groups.setdefault(tuple(row.cells[i] for i in labels), []).append(row)
    votes = []
    for group in groups.values():
        whole = next((row for row in group if _number(row, index) == 0), None)
        for row in group if whole is not None else ():
            if row is not whole and (lost := _number(row, index)) is not None:
                kept = [100 * own / other for i in rates if (own := _number(row, i)) is not None
                        and (other := _number(whole, i))]  # fmt: skip
                votes.append(any(abs(one - (100 - lost)) <= _NEAR for one in kept))
    return any(votes) and 2 * sum(votes) >= len(votes)


def _number(row: Row | None, index: int) -> float | None:
    cell = read_cell(row.cells[index]) if row is not None else None
    return cell.number.value if cell is not None else None


def workload_of_share(index: int, headings: Mapping[int, Heading], names: Mapping[int, str]) -> str:
    """The workload of a share beside columns of workloads: the one that it names, else that of the column before it.

    Nothing where a single share stands behind several workloads: it may be of their sum.
    """
    said = residual(headings[index].whose)
    if said and ((known := _only(said, list(names.values()))) or asked(said) is not None):
        return known or said
    before = [name for i, name in names.items() if i < index]
    alone = sum(heading.role == "share" for heading in headings.values()) == 1
    return "" if not before or (alone and len({plain(name) for name in before}) > 1) else before[-1]


def owner_and_baseline(
    index: int, headings: Mapping[int, Heading], names: Mapping[int, str], rows: Sequence[Row]
) -> tuple[str, str]:
    """Return the layout of a share beside columns of layouts, and the layout that is 100 %; empty texts if unknown."""
    heading, layouts = headings[index], list(dict.fromkeys(names.values()))
    shares = {i: one for i, one in headings.items() if one.role == "share"}
    owners = {i: _owner(one, layouts) for i, one in shares.items()}
    if not any(owners.values()):
        # One share behind each layout, or behind each but the first; those that say changes may be of any two.
        behind = {i: names[i - 1] for i, share in shares.items() if i - 1 in names and not share.change}
        owners = behind if len(behind) == len(set(behind.values())) > 1 else {}
    layout, of = owners.get(index, ""), heading.of
    if not layout and not of and len(layouts) == 2:
        of, layout = _of_two(index, heading, names, rows)
    if not layout:
        others = [name for name in layouts if not of or plain(of) not in plain(name)]
        layout = others[-1] if len(others) == 1 or (len(others) == 2 and not of) else ""
    if not of:
        bases = [name for name in layouts if name not in owners.values() and name != layout]
        of = bases[0] if len(bases) == 1 else ""
    return layout, of


def _owner(share: Heading, layouts: Sequence[str]) -> str:
    """The layout that a heading names, as its own column writes it."""
    said = residual(share.whose) if share.of else ""
    own = plain(share.text.replace("%", " "))
    return _only(share.whose if share.of else "", layouts) or said or next((n for n in layouts if plain(n) == own), "")


def _only(said: str, names: Sequence[str]) -> str:
    """The name that this is, or the only one that it is a part of."""
    same = [name for name in names if said and plain(name) == plain(said)]
    inside = {name for name in names if said and f" {plain(said)} " in f" {plain(name)} "}
    return same[0] if same else inside.pop() if len(inside) == 1 else ""


def _of_two(index: int, heading: Heading, names: Mapping[int, str], rows: Sequence[Row]) -> tuple[str, str]:
    """Return which of two layouts is 100 %, and the other: the second is a share of the first unless most rows deny it."""
    first, second = dict.fromkeys(names.values())
    columns = [next(i for i, name in names.items() if name == wanted) for wanted in (first, second)]
    backward = 0
    for row in rows[1:]:
        share, one, other = (_number(row, i) for i in (index, *columns))
        if share is not None and one and other:
            said, ratio = heading.percent(share), other / one
            backward += 1 if abs(said - 100 / ratio) < abs(said - 100 * ratio) else -1
    return (second, first) if backward > 0 else (first, second)
