"""The comparison as JSON, in printable ASCII."""

from __future__ import annotations

import json

from raidtui.model.convert import plain
from raidtui.results.compare import Comparison
from raidtui.results.formats.base import Format

SCHEMA = "raidtui.comparison/1"


def write(comparison: Comparison) -> bytes:
    """Rates are operations or bytes per second, whatever the unit they are shown in; shares are of 1."""
    text = json.dumps({"schema": SCHEMA, **plain(comparison)}, indent=2, ensure_ascii=True)
    return (text.replace("\x7f", "\\u007f") + "\n").encode()


FORMAT = Format("json", ".json", "JSON, schema raidtui.comparison/1", write)
