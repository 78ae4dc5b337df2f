"""Layouts composed by hand that no shipped scenario has (`data/composed/layouts.json`): which are built, which refused.

What is said of each was worked out from the kernel's and the tools' own documentation before raidtui saw it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_DATA: dict[str, Any] = json.loads((Path(__file__).parent / "data/composed/layouts.json").read_text())
_ROLE = re.compile(r"(\d+)(MiB|GiB)(?: in sectors of (\d+)B)?")

BUILDS: dict[str, dict[str, Any]] = _DATA["builds"]
"""By name: the layout, why it can be built; maybe what is to be read back, and what is said of it."""
REFUSED: dict[str, dict[str, Any]] = _DATA["refused"]
"""By name: the layout, why it cannot be, and the code of the refusal."""


def roles() -> dict[str, tuple[int, int]]:
    """One disk for each role: its bytes, and the bytes of a logical sector."""
    found = {}
    for name, text in _DATA["roles"].items():
        number, unit, sector = _ROLE.fullmatch(text).groups()  # type: ignore[union-attr]
        found[name] = int(number) << {"MiB": 20, "GiB": 30}[unit], int(sector or 512)
    return found


def scenario(names: Iterable[str], of: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A scenario with these layouts, and the roles that they mention."""
    entries = {name: of[name] for name in names}
    layouts = {name: entry["layout"] for name, entry in entries.items()}
    mentioned = set(re.findall(r'"@(\w+)"', json.dumps(layouts)))
    own = {f"on-{name}": entry["workload"] for name, entry in entries.items() if "workload" in entry}
    policy = {name: value for entry in entries.values() for name, value in entry.get("policy", {}).items()}
    return {
        "schema": "raidtui.scenario/1",
        "name": "composed",
        "roles": {name: {"count": 1} for name in _DATA["roles"] if name in mentioned},
        "layouts": layouts,
        "workloads": own or _DATA["workloads"],
        "policy": {"initial_sync": "skip-if-zeroed", **policy},
    }
