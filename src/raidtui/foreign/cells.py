"""Cells of plain tables: blocks of rows behind commas, semicolons, tabs or bars, and numbers with their units."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from raidtui.foreign.captions import Captions
from raidtui.foreign.headings import TIMES, rate_unit
from raidtui.foreign.published import Published, read_number, read_plain
from raidtui.foreign.sources import unreadable
from raidtui.model.table import RATE_UNITS, Asked, Figure

MAX_COLUMNS: Final = 1000
MAX_ROWS: Final = 40_000
"""Rows of a file, which are read in some seconds."""
_LONGEST: Final = 200
"""Characters of a cell with a number; spaces without end would be tried in every way."""
_RULE: Final = re.compile(r"[\s|:+=-]*-{2,}[\s|:+=-]*")
_DIRECTIVE: Final = re.compile(r"\s*#\s*([A-Za-z]+)(?:\s+([^:]{1,200}))?:\s*(.*)")
_CELL: Final = re.compile(r"([~≈<>+−-]?\s?(?:\d[\d\s.,'\u00a0\u2009\u202f]*)(?:[eE][-+]?\d+)?)\s*([^\d\s].*)?")
_MARKED: Final = re.compile(r"(\*\*|__|\*|`)(.+)\1")
_COUNTED: Final = re.compile(r"([kKMG])\s*(iops|io/s|ops/s|ops/sec|ops)?", re.IGNORECASE)
_SPREAD: Final = re.compile(r"\s*(?:±|\+/-|\+-)\s*\d[\d.,]*\s?%?")
_FOOTNOTE: Final = re.compile(r"\s*(?:[*†‡]+|\[\w{1,3}\]|\^\d)$")
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


class Table(NamedTuple):
    """A table of a text, and the unit and caption that the headings and sentences above it say."""

    rows: list[Row]
    unit: str
    caption: str = ""


def blocks(lines: list[str], name: str) -> tuple[list[Table], list[Directive]]:
    """Tables that blank lines part, and what lines with # say. Raises ProblemError where a row is too wide."""
    delimiter = delimiter_of(lines)
    if (rows := sum(delimiter in line for line in lines)) > MAX_ROWS:
        raise unreadable(name, f"it has {rows} rows; at most {MAX_ROWS} are read", "Split it, or leave samples out.")
    found: list[list[Row]] = [[]]
    above: list[tuple[str, str]] = []
    directives: list[Directive] = []
    captions = Captions()
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("#"):
            captions.say(line)
            if (match := _DIRECTIVE.fullmatch(line)) is not None:
                word, subject, text = match.groups(default="")
                directives.append(Directive(number, word.lower(), subject.strip(), text.strip()))
            continue
        if _RULE.fullmatch(line):
            continue
        if delimiter != "|" and '"' in line and _unclosed(line, delimiter):
            raise unreadable(f"{name}:{number}", "a quote is opened and not closed", "A cell ends in its own line.")
        cells = split_row(line, delimiter)
        if len(cells) > MAX_COLUMNS:
            raise unreadable(f"{name}:{number}", f"the row has {len(cells)} columns; at most {MAX_COLUMNS} are read")
        if len(cells) == 1 and delimiter not in line and (not found[-1] or delimiter == "|"):
            captions.say(line)
            cells = ("",)
        if any(cells):
            if not found[-1]:
                above.append((captions.unit(), captions.caption(headings=delimiter == "|")))
            found[-1].append(Row(number, cells))
        elif found[-1]:
            found.append([])
    texts = [cell for block in found for row in block for cell in row.cells]
    numbers = [match.group(1).strip() for text in texts if (match := _CELL.fullmatch(text.strip()))]
    if any(map(_COMMA.fullmatch, numbers)) and not any(map(_POINT.fullmatch, numbers)):
        found = [[row._replace(cells=tuple(map(_with_decimal_point, row.cells))) for row in block] for block in found]
    return [Table(block, *said) for block, said in zip(filter(None, found), above, strict=True)], directives


def even(block: Sequence[Row], name: str, note: Callable[[str], None]) -> list[Row]:
    """The rows, each as wide as the headings; a wider one is left out, since its numbers would stand under other headings.

    Raises ProblemError where most rows are wider: their headings are not what stands above them.
    """
    columns = len(block[0].cells)
    wider = [row for row in block[1:] if any(row.cells[columns:])]
    for row in wider:
        message = f"the row has {len(row.cells)} cells, the first one of its table {columns}"
        if 2 * len(wider) > len(block) - 1:
            raise unreadable(f"{name}:{row.line}", message, "Every column needs a heading, and a comma in a number quotes.")
        note(f"{name}:{row.line}: {message}; it was not read.")
    return [Row(r.line, (*r.cells[:columns], *[""] * (columns - len(r.cells)))) for r in block if r not in wider]


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
        shown = [line for line in lines[:200] if line.strip() and not line.lstrip().startswith("#")]
        counts = [sum(part.count(sign) for part in line.split('"')[::2]) for line in shown]
        with_sign = [count for count in counts if count]
        if not with_sign:
            continue
        common = max(set(with_sign), key=with_sign.count)
        here = with_sign.count(common) / len(counts)
        if here > score + 0.15:
            best, score = sign, here
    return best


@lru_cache(maxsize=4096)
def read_cell(text: str) -> Cell | None:
    """`4603.11 MB/s`, `99.81%`, `2 817 002.93 IOPS`, `63.6k`, `120 µs`; None where no number stands."""
    if (plain_number := read_plain(text)) is not None:
        return Cell(plain_number, text, "")
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
    return next((name for words, name in TIMES if re.fullmatch(words, lowered)), "") or rate_unit(text)


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
    """Remove Markdown's marks for bold words and code around a whole cell."""
    match = _MARKED.fullmatch(cell)
    return cell if match is None or match.group(1) in match.group(2) else match.group(2).strip()


def _unclosed(line: str, delimiter: str) -> bool:
    """Return True if a cell begins with a quote that swallows the rest of the line."""
    try:
        next(csv.reader(io.StringIO(line), delimiter=delimiter, strict=True), ())
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


_GROUPED: Final = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_NEAR: Final = 0.02


def regrouped(figures: Sequence[Figure], workloads: Mapping[str, Asked]) -> list[Figure]:
    """The figures; operations as `412.345` are 412345 where every bandwidth beside them agrees with that."""

    def cell(figure: Figure) -> tuple[object, ...]:
        return figure.layout, figure.workload, figure.round, figure.direction

    rates = {cell(f): f.value * RATE_UNITS[f.unit] for f in figures if f.metric == "bandwidth"}
    grouped = [f for f in figures if f.metric == "iops" and _GROUPED.fullmatch(f.text)]
    ratios = [
        f.value * 1000 * size / rates[cell(f)]
        for f in grouped
        if (size := workloads[f.workload].block_bytes) and rates.get(cell(f))
    ]
    if not ratios or any(abs(ratio - 1) > _NEAR for ratio in ratios):
        return list(figures)
    whole = {f: f.text.replace(".", "") for f in grouped}
    return [replace(f, value=float(whole[f]), text=whole[f]) if f in whole else f for f in figures]


_BOTH: Final = re.compile(r"([~≈]?\s?\d[^()%±]*?)\s*\(\s*([+−-]?\d+(?:[.,]\d+)?\s?%)\s*\)")
_HEADING_OF_BOTH: Final = re.compile(r"(.+?)\s*[(,/]\s*((?:%|vs).*?)\)?")
"""`IOPS (% of raid0)`."""
_WHOLE: Final = re.compile(r"100(?:[.,]0+)?\s?%|[+−-].*")
"""A share is 100 % in one cell, or has a sign; a spread (`523 (2%)`) has neither."""


def is_both(text: str) -> re.Match[str] | None:
    """Match a cell that holds a number and a percentage: `740000 (92.5%)`."""
    return _BOTH.fullmatch(text) if len(text) <= _LONGEST else None


def with_shares_apart(rows: list[Row]) -> list[Row]:
    """The table, with a column of percentages behind each that has them in its cells. The first row has the headings."""
    found = [(i, both.group(2)) for row in rows[1:] for i, text in enumerate(row.cells) if (both := is_both(text))]
    if not any(_WHOLE.fullmatch(share) for _, share in found):
        return rows
    columns = {index for index, _ in found}

    def apart(index: int, text: str, *, heading: bool) -> tuple[str, ...]:
        if index not in columns:
            return (text,)
        both = _HEADING_OF_BOTH.fullmatch(text[:_LONGEST]) if heading else is_both(text)
        return (both.group(1), both.group(2)) if both is not None else (text, "%" if heading else "")

    return [
        Row(row.line, tuple(cell for i, text in enumerate(row.cells) for cell in apart(i, text, heading=row is rows[0])))
        for row in rows
    ]


def said_in(index: int, rows: Sequence[Row]) -> list[str]:
    """Return the texts of a column, without its heading in the first row and without signs for nothing."""
    return [row.cells[index] for row in rows[1:] if row.cells[index].lower() not in NOTHING]


def numbers(index: int, rows: Sequence[Row]) -> list[Cell]:
    """The cells of a column that are numbers."""
    return [cell for row in rows[1:] if (cell := read_cell(row.cells[index])) is not None]
