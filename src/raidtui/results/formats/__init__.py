"""Formats in which a comparison can be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from raidtui.results.comparison import Comparison
from raidtui.results.formats.page import write_html, write_png, write_svg
from raidtui.results.formats.text import write_csv, write_json, write_md, write_table
from raidtui.results.formats.workbook import write_xlsx


class Format(NamedTuple):
    """One way to write a comparison. The same one gives the same bytes, but for the last digits of where charts lie."""

    name: str
    suffix: str
    """Suffix of the file name: `.md`."""
    about: str
    write: Callable[[Comparison], bytes]
    binary: bool = False
    """Not for a terminal."""
    charts: Callable[[Comparison, Sequence[str]], bytes] | None = None
    """Function for formats that consist of charts: write only these kinds, by their names in `CHARTS`."""


_ALL = (
    Format("table", ".txt", "a table for a terminal", write_table),
    Format("csv", ".csv", "one line for each cell, units in the header", write_csv),
    Format("html", ".html", "one page with charts, that needs nothing but itself", write_html),
    Format("json", ".json", "JSON, schema raidtui.comparison/1", write_json),
    Format("md", ".md", "a table in Markdown", write_md),
    Format("png", ".png", "all charts on one sheet, as a picture", write_png, binary=True, charts=write_png),
    Format("svg", ".svg", "all charts on one sheet, light or dark as the reader's screen is", write_svg, charts=write_svg),
    Format("xlsx", ".xlsx", "a workbook with live formulas and charts", write_xlsx, binary=True),
)
FORMATS: Final = MappingProxyType({made.name: made for made in _ALL})
"""Formats by the word that names them on the command line. A new format is an entry here."""
