"""The comparison as JSON, in printable ASCII."""

from __future__ import annotations

import json
from typing import Any

from raidtui.model.convert import plain
from raidtui.results.comparison import Comparison
from raidtui.results.formats.base import Format
from raidtui.results.slimming import without_cells
from raidtui.results.tidy import tidy

SCHEMA = "raidtui.comparison/1"


def document(comparison: Comparison) -> dict[str, Any]:
    """The table, and below `cells` one object for each cell with its run and its command.

    In the table rates are operations or bytes per second, whatever the unit they are shown in; shares are of 1.
    """
    return {"schema": SCHEMA, **plain(without_cells(comparison)), "cells": list(tidy(comparison))}


def write(comparison: Comparison) -> bytes:
    """The document, indented."""
    text = json.dumps(document(comparison), indent=2, ensure_ascii=True)
    return (text.replace("\x7f", "\\u007f") + "\n").encode()


FORMAT = Format("json", ".json", "JSON, schema raidtui.comparison/1", write)
