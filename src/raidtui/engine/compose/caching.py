"""Reads that memory may answer instead of the disks: what a workload reads against what a layer below keeps of it."""

from __future__ import annotations

from typing import Any

from raidtui.load.engine import Engine
from raidtui.model.plan import TargetKind
from raidtui.model.scenario import Node, Policy
from raidtui.stack.catalog import all_layers
from raidtui.stack.layer import Reading


def memory_for(layout: Node, policy: Policy, engine: Engine, spec: Any, size_bytes: int, kind: TargetKind) -> int | None:
    """Return the memory in which a layer can cache all data that the workload reads, in bytes; None if it does not fit."""
    pattern = engine.pattern(spec)
    if not pattern.reads or policy.caches == "cold":
        return None
    reading = Reading(pattern.block_bytes, pattern.whole_sectors, pattern.writes)
    kept = [all_layers()[node.kind].memory_bytes(node.spec, reading) for node in layout.walk()]
    most = max((found for found in kept if found is not None), default=0)
    return most if engine.region_bytes(spec, size_bytes, kind=kind) <= most else None
