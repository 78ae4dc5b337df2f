"""Readers of foreign files: every module here that has a `READER`. A new kind is a new file."""

from __future__ import annotations

import importlib
import pkgutil
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

__all__ = ["READERS", "Imported", "Reader", "Source"]
