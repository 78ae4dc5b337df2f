"""Formats in which a comparison can be written."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from raidtui.results.formats.base import Format
from raidtui.results.formats.page import HTML, PNG, SVG
from raidtui.results.formats.text import CSV, JSON, MD, TABLE
from raidtui.results.formats.workbook import XLSX

FORMATS: Final = MappingProxyType[str, Format]({made.name: made for made in (TABLE, CSV, HTML, JSON, MD, PNG, SVG, XLSX)})
"""Formats by the word that names them on the command line, the terminal's table first. A new format is an entry here."""
