"""Readers of foreign files: every module here that has a `READER`. A new kind is a new file."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import PurePath
from types import MappingProxyType

from raidtui.results.imports.base import Imported, Reader, Source


def _found() -> dict[str, Reader]:
    found: dict[str, Reader] = {}
    for info in pkgutil.iter_modules(__path__):
        made: Reader | None = getattr(importlib.import_module(f"{__name__}.{info.name}"), "READER", None)
        if made is not None:
            found[made.name] = made
    return dict(sorted(found.items()))


READERS = MappingProxyType(_found())
"""Readers by the word that names them on the command line."""


def readers_of(source: Source) -> list[Reader]:
    """Those that claim a file. Where none does: plain tables, if its name or a mapping of columns says that it is one.

    What is wrong with such a table is then said by their reader, which knows the line.
    """
    claiming = [reader for reader in READERS.values() if reader.claims(source)]
    if len(claiming) > 1:  # what tools print may look like a table: commas and units in equally many lines
        claiming = [reader for reader in claiming if reader.name != "table"]
    suffix = PurePath(source.name).suffix.lower()
    meant = source.mapping or suffix in (".csv", ".tsv") or (suffix in (".md", ".markdown") and b"|" in source.data)
    return claiming or ([READERS["table"]] if meant and source.data.strip() else [])


__all__ = ["READERS", "Imported", "Reader", "Source", "readers_of"]
