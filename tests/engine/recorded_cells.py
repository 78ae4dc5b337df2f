"""Cells of a recorded result, with what was seen around them as far as a result keeps it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec

from raidtui.engine.compose.reading import read_document, reductions
from raidtui.engine.validity.evidence import Evidence
from raidtui.load.catalog import engines
from raidtui.model.result import Cell, Result
from raidtui.stack.catalog import all_layers


def evidence_of(result: Result) -> Iterator[Evidence]:
    """Cell by cell, as the engine had it. Heat, clocks and what ran beside the workload are not kept: all was well."""
    scenario = read_document(json.dumps(result.scenario)).scenario
    disks = {disk.id: disk for disk in result.disks}
    for number, cell in enumerate(result.cells):
        node, load = scenario.layouts[cell.layout], scenario.workloads[cell.workload]
        engine = engines()[load.kind]
        targets = [use for use in cell.devices.values() if use.role == "target"]
        kind = all_layers()[node.kind].target_kind(node.spec)
        built = next(one for one in result.layouts if one.layout == cell.layout)
        yield Evidence(
            bare(cell),
            target_read_bytes=sum(use.read_bytes for use in targets),
            target_written_bytes=sum(use.written_bytes for use in targets),
            counted="exactly" if kind == "block" else "no",
            monotonic_s=cell.seconds, boottime_s=cell.seconds, wall_s=cell.seconds,
            pattern=engine.pattern(load.spec),
            region_bytes=engine.region_bytes(load.spec, built.size_bytes, kind=kind) if built.size_bytes else None,
            memory_cache="".join(all_layers()[one.kind].memory_cache for one in node.walk()),
            reduces=reductions(node),
            prefilled=scenario.policy.prefill or not engine.reads(load.spec),
            caches=result.scenario.get("policy", {}).get("caches", ""),
            disks=disks,
            earlier=result.cells[:number],
            memory_bytes=result.machine.memory_bytes,
        )  # fmt: skip


def bare(cell: Cell) -> Cell:
    """As it was before it was judged."""
    return msgspec.structs.replace(cell, valid=False, reasons=(), marks=())


def recorded(path: Path) -> Result:
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=Result)
