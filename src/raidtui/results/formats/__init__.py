"""Formats that a comparison can be written in: every module here that has a `FORMAT`. A new format is a new file."""

from __future__ import annotations

import importlib
import pkgutil
from types import MappingProxyType

from raidtui.results.formats.base import Format


def _found() -> dict[str, Format]:
    found: dict[str, Format] = {}
    for info in pkgutil.iter_modules(__path__):
        made: Format | None = getattr(importlib.import_module(f"{__name__}.{info.name}"), "FORMAT", None)
        if made is not None:
            found[made.name] = made
    return dict(sorted(found.items(), key=lambda item: (item[0] != "table", item[0])))


FORMATS = MappingProxyType(_found())
"""Formats by the word that names them on the command line; the terminal's table comes first."""
