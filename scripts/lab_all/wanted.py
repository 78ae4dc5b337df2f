"""The shipped scenarios, and the disks that a lab needs for each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from raidtui.front.files import read_bytes, shipped
from raidtui.lab.disks import DiskSpec

GIB = 1 << 30
SIZES = {"nvme": 8 * GIB, "ssd": 4 * GIB, "hdd": GIB // 2}
"""Flash costs nothing where nothing is written; disks that rotate are written with zeroes after every layout."""
CANARY = DiskSpec(GIB // 8)


class Wanted(NamedTuple):
    """One scenario."""

    name: str
    data: bytes
    layouts: tuple[str, ...]
    roles: dict[str, list[DiskSpec]]
    """Disks like those that each role asks for."""
    clients: dict[str, int]
    """Number of hosts of each group beside the storage server."""

    def two_of(self, layout: str) -> list[str]:
        """Two workloads that this layout is measured with: one that writes, and the first of the others."""
        value = json.loads(self.data)
        only = value.get("policy", {}).get("only", {})
        others = {workload for workloads in only.values() for workload in workloads}
        names = only.get(layout) or [name for name in value["workloads"] if name not in others]
        writing = [name for name in names if "write" in name]
        first = (writing or names)[:1]
        return [*first, *[name for name in names if name not in first][:1]]


def shipped_scenarios() -> Iterator[Wanted]:
    """Every one, by name."""
    for name, path in shipped():
        data = read_bytes(str(path))
        value = json.loads(data)
        if any("rbd" in layout or "vitastor" in layout for layout in value["layouts"].values()):
            continue  # tests/test_lab_rbd.py, tests/test_lab_vitastor.py: it needs a cluster
        roles = {role: [_disk(entry)] * entry["count"] for role, entry in value["roles"].items()}
        groups = {group: entry.get("count", 1) for group, entry in list(value.get("hosts", {}).items())[1:]}
        yield Wanted(name, data, tuple(value["layouts"]), roles, groups)


def _disk(role: dict[str, Any]) -> DiskSpec:
    where = role.get("where", {})
    kind = where.get("kind") or ("hdd" if where.get("rotational") else "nvme")
    return DiskSpec(SIZES[kind], kind)
