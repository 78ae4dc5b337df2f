"""Cells of plain tables: blocks of rows behind commas, semicolons, tabs or bars, and numbers with their units."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from raidtui.foreign.headings import rate_unit
from raidtui.foreign.published import Published, read_number
from raidtui.foreign.sources import unreadable
from raidtui.model.table import RATE_UNITS, Asked, Figure

MAX_COLUMNS: Final = 1000
_LONGEST: Final = 200
"""Characters of a cell with a number; spaces without end would be tried in every way."""
_RULE: Final = re.compile(r"[\s|:+=-]*-{2,}[\s|:+=-]*")
_DIRECTIVE: Final = re.compile(r"\s*#\s*([A-Za-z]+)(?:\s+([^:]{1,200}))?:\s*(.*)")
_CELL: Final = re.compile(r"([~≈<>+−-]?\s?(?:\d[\d\s.,'\u00a0\u2009\u202f]*)(?:[eE][-+]?\d+)?)\s*([^\d\s].*)?")
_MARKED: Final = re.compile(r"(\*\*|__|\*|`)(.+)\1")
_COUNTED: Final = re.compile(r"([kKMG])\s*(iops|io/s|ops/s|ops/sec|ops)?", re.IGNORECASE)
_SPREAD: Final = re.compile(r"\s*(?:±|\+/-|\+-)\s*\d[\d.,]*\s?%?")
_FOOTNOTE: Final = re.compile(r"\s*(?:[*†‡]+|\[\w{1,3}\]|\^\d)$")
_TIMES: Final = {"us": "us", "µs": "us", "μs": "us", "usec": "us", "мкс": "us", "ms": "ms", "msec": "ms", "мс": "ms",
                 "ns": "ns", "nsec": "ns", "s": "s", "sec": "s"}  # fmt: skip
_COMMA: Final = re.compile(r"\D?\d+(?:[.\s]\d{3})*,(?:\d{1,2}|\d{4,})|\D?\d{1,3}(?:\.\d{3})+,\d+|0,\d+")
"""Numbers that have a fraction behind a comma, for certain; and those behind a point."""
_POINT: Final = re.compile(r"\D?\d+(?:[,\s]\d{3})*\.(?:\d{1,2}|\d{4,})|\D?\d{1,3}(?:,\d{3})+\.\d+|0\.\d+")
_GROUPS: Final = re.compile(r"\D?[1-9]\d{0,2}(?:\.\d{3})+")
_THOUSANDTHS: Final = re.compile(r"\D?\d{1,3},\d{3}")
NOTHING: Final = frozenset({"", "-", "–", "—", "n/a", "na", "nan", "none", "null", "?", "*", "n/a*", "x", "✗"})


class Row(NamedTuple):
    line: int
    cells: tuple[str, ...]


class Directive(NamedTuple):
    """`# word subject: text`."""

    line: int
    word: str
    subject: str
    text: str


class Cell(NamedTuple):
    """A number and the unit behind it, where one stands there."""

    number: Published
    text: str
    unit: str


def blocks(lines: list[str], name: str) -> tuple[list[list[Row]], list[Directive]]:
    """Tables that blank lines part, and what lines with # say. Raises ProblemError where a row is too wide."""
    delimiter = delimiter_of(lines)
    found: list[list[Row]] = [[]]
    directives: list[Directive] = []
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("#"):
            if (match := _DIRECTIVE.fullmatch(line)) is not None:
                directives.append(
                    Directive(number, match.group(1).lower(), (match.group(2) or "").strip(), match.group(3).strip())
                )
        elif _RULE.fullmatch(line):
            continue
        else:
            if _unclosed(line, delimiter):
                raise unreadable(f"{name}:{number}", "a quote is opened and not closed", "A cell ends in its own line.")
            cells = split_row(line, delimiter)
            if len(cells) > MAX_COLUMNS:
                raise unreadable(f"{name}:{number}", f"the row has {len(cells)} columns; at most {MAX_COLUMNS} are read")
            if any(cells):
                found[-1].append(Row(number, cells))
            elif found[-1]:
                found.append([])
    rows = [row for block in found for row in block]
    if _decimal_commas(rows):
        found = [[row._replace(cells=tuple(map(_with_decimal_point, row.cells))) for row in block] for block in found]
    return [block for block in found if block], directives


def _decimal_commas(rows: list[Row]) -> bool:
    """Return True if the unambiguous numbers use a comma before their fraction."""
    numbers = [match.group(1).strip() for row in rows for cell in row.cells if (match := _CELL.fullmatch(cell.strip()))]
    return any(map(_COMMA.fullmatch, numbers)) and not any(map(_POINT.fullmatch, numbers))


def _with_decimal_point(cell: str) -> str:
    """`412.345` as 412345 and `12,411` as 12.411, where a file writes its fractions behind commas."""
    match = _CELL.fullmatch(cell)
    if match is None:
        return cell
    number = match.group(1)
    if _GROUPS.fullmatch(number.strip()):
        return number.replace(".", "") + cell[match.end(1) :]
    return number.replace(",", ".") + cell[match.end(1) :] if _THOUSANDTHS.fullmatch(number.strip()) else cell


def delimiter_of(lines: list[str]) -> str:
    """The sign that parts most lines into equally many cells; a comma within numbers loses against any other."""
    best, score = ",", 0.0
    for sign in ("\t", "|", ";", ","):
        counts = [_outside(line, sign) for line in lines[:200] if line.strip() and not line.lstrip().startswith("#")]
        with_sign = [count for count in counts if count]
        if not with_sign:
            continue
        common = max(set(with_sign), key=with_sign.count)
        here = with_sign.count(common) / len(counts)
        if here > score + 0.15:
            best, score = sign, here
    return best


def read_cell(text: str) -> Cell | None:
    """`4603.11 MB/s`, `99.81%`, `2 817 002.93 IOPS`, `63.6k`, `120 µs`; None where no number stands."""
    if len(text) > _LONGEST:
        return None
    plain = _SPREAD.sub("", _FOOTNOTE.sub("", text.strip())).strip("* ")
    if plain.lower() in NOTHING or (match := _CELL.fullmatch(plain)) is None:
        return None
    digits, rest = match.group(1).strip(), (match.group(2) or "").strip()
    if (counted := _COUNTED.fullmatch(rest)) is not None and counted.group(1) != "g":
        digits, rest = f"{digits}{counted.group(1).replace('m', 'M')}", counted.group(2) or ""
    number = read_number(digits)
    if number is None:
        return None
    return Cell(number, digits, _unit(rest)) if not rest or _unit(rest) else None


def _unit(text: str) -> str:
    """The unit that stands behind a number; nothing for any other word."""
    lowered = text.lower().strip(" .()")
    if lowered in ("%", "percent", "pct"):
        return "%"
    if lowered in ("iops", "io/s", "ops/s", "ops/sec", "ops", "iop/s"):
        return "IOPS"
    if lowered in ("kiops", "k iops"):
        return "kIOPS"
    return _TIMES.get(lowered, "") or rate_unit(text)


def split_row(line: str, delimiter: str) -> tuple[str, ...]:
    """The cells of a line, without the quotes that they stand in."""
    if delimiter == "|":
        inner = line.strip()
        return tuple(_bare(cell.strip()) for cell in inner.removeprefix("|").removesuffix("|").split("|"))
    try:
        return tuple(cell.strip() for cell in next(csv.reader(io.StringIO(line), delimiter=delimiter), ()))
    except csv.Error:
        return (line.strip(),)


def _bare(cell: str) -> str:
    """Without Markdown's marks for bold words and code, where they are around the whole cell."""
    match = _MARKED.fullmatch(cell)
    return cell if match is None or match.group(1) in match.group(2) else match.group(2).strip()


def _unclosed(line: str, delimiter: str) -> bool:
    """Return True if a cell begins with a quote that swallows the rest of the line."""
    if delimiter == "|" or '"' not in line:
        return False
    try:
        next(csv.reader(io.StringIO(line), delimiter=delimiter, strict=True), ())
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _outside(line: str, sign: str) -> int:
    """Count a sign outside of quotes."""
    return sum(part.count(sign) for part in line.split('"')[::2])


def columns_of(rows: list[Row]) -> Iterator[tuple[int, str]]:
    """Index and text of each heading."""
    yield from enumerate(rows[0].cells)


def mapped(cells: tuple[str, ...], mapping: Mapping[str, str]) -> dict[int, str]:
    """Return the headings of mapped columns, by index."""
    wanted = {" ".join(heading.lower().split()): role for role, heading in mapping.items()}
    return {i: wanted[key] for i, cell in enumerate(cells) if (key := " ".join(cell.lower().split())) in wanted}


_GROUPED_GROUPS: Final = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_NEAR: Final = 0.02


def regrouped(figures: Sequence[Figure], workloads: dict[str, Asked]) -> list[Figure]:
    """The figures, with such operations times a thousand where every bandwidth agrees with that."""
    rates = {_cell(f): f.value * RATE_UNITS[f.unit] for f in figures if f.metric == "bandwidth"}
    written = [f for f in figures if _is_grouped(f)]
    known = [
        (f.value * 1000 * size, rate)
        for f in written
        if (size := workloads[f.workload].block_bytes) and (rate := rates.get(_cell(f)))
    ]
    if not known or any(abs(counted / rate - 1) > _NEAR for counted, rate in known):
        return list(figures)
    return [
        replace(f, value=float(f.text.replace(".", "")), text=f.text.replace(".", "")) if _is_grouped(f) else f
        for f in figures
    ]


def _is_grouped(figure: Figure) -> bool:
    return figure.metric == "iops" and _GROUPED_GROUPS.fullmatch(figure.text) is not None


def _cell(figure: Figure) -> tuple[str, str, int, str]:
    return figure.layout, figure.workload, figure.round, figure.direction


_INLINE_SHARES_LONGEST: Final = 200
_BOTH: Final = re.compile(r"([~≈]?\s?\d[^()%±]*?)\s*\(\s*([+−-]?\d+(?:[.,]\d+)?\s?%)\s*\)")
_HEADING: Final = re.compile(r"(.+?)\s*[(,/]\s*((?:%|vs).*?)\)?")
"""`IOPS (% of raid0)`."""
_WHOLE: Final = re.compile(r"100(?:[.,]0+)?\s?%|[+−-].*")
"""Number of a share: a single cell is a whole or has a sign; a spread (`523 (2%)`) has neither."""


def is_both(text: str) -> bool:
    """Return True if a cell holds a number and a percentage."""
    return _both(text) is not None


def _both(text: str) -> re.Match[str] | None:
    return _BOTH.fullmatch(text) if len(text) <= _INLINE_SHARES_LONGEST else None


def with_shares_apart(rows: list[Row]) -> list[Row]:
    """The table, with a column of percentages behind each that has them in its cells. The first row has the headings."""
    found = [
        (index, match.group(2))
        for row in rows[1:]
        for index, cell in enumerate(row.cells[: len(rows[0].cells)])
        if (match := _both(cell)) is not None
    ]
    if not any(_WHOLE.fullmatch(share) for _, share in found):
        return rows
    columns = {index for index, _ in found}
    return [_apart(row, columns, heading=row is rows[0]) for row in rows]


def _apart(row: Row, columns: set[int], *, heading: bool) -> Row:
    cells: list[str] = []
    for index, cell in enumerate(row.cells):
        both = (_HEADING.fullmatch(cell[:_INLINE_SHARES_LONGEST]) if heading else _both(cell)) if index in columns else None
        cells.append(both.group(1) if both is not None else cell)
        if index in columns:
            cells.append(both.group(2) if both is not None else "%" if heading else "")
    return row._replace(cells=tuple(cells))


def cell_of(row: Row, index: int) -> str:
    """Return the text of a cell; empty if the row is shorter."""
    return row.cells[index] if index < len(row.cells) else ""


def numbers(index: int, rows: Sequence[Row]) -> Iterator[Cell]:
    """The cells of a column that are numbers."""
    return (cell for row in rows[1:] if (cell := read_cell(cell_of(row, index))) is not None)
