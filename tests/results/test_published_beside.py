"""The rows of a published comparison stand in the columns of a result of the scenario that asks for the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from test_comparing import cell, result

from raidtui.foreign.imported import aligned, extract_of
from raidtui.model.table import Table
from raidtui.results.compare import compare_many
from raidtui.results.extract import extract

ROOT = Path(__file__).parents[2] / "scenarios"


def test_vitastor_and_ceph_stand_beside_their_published_numbers() -> None:
    scenario: dict[str, Any] = json.loads((ROOT / "vitastor-ceph.json").read_text())
    table = msgspec.json.decode((ROOT / "published/vitastor-ceph.json").read_bytes(), type=Table)
    cells = []
    for layout, names in scenario["policy"]["only"].items():
        images = next(iter(scenario["layouts"][layout].values())).get("images", 1)
        for name in names:
            command = ("fio", *(f"--name=d{number}" for number in range(images)))
            cells.append(msgspec.structs.replace(cell(layout, name, 1000), command=command))
    own = extract(msgspec.structs.replace(result(*cells), scenario=scenario))
    found = compare_many(aligned([own, extract_of(table)], {1: table}))
    columns: dict[str, tuple[set[str], set[str]]] = {name: (set(), set()) for name in found.workloads}
    for row in found.rows:
        for name, entry in zip(found.workloads, row.entries, strict=True):
            if entry is not None:
                columns[name][row.source - 1].add(row.label)
    published = {name for name, (_, theirs) in columns.items() if theirs}
    assert published == {figure.workload for figure in table.figures}
    # That all operations go over the network cannot be asked for.
    assert {name for name in published if not columns[name][0]} == {"rand-read-4k-t8q64-network"}
    ours, theirs = columns["rand-read-4k-t8q64"]
    assert ours == {f"{name}-8-images" for name in (
        "ceph-2-replicas", "vitastor-2-replicas", "ceph-ec-2+1", "vitastor-ec-2+1",
    )}  # fmt: skip
    assert theirs == {"ceph-2-replicas:2", "vitastor-2-replicas-fio:2", "ceph-ec-2+1:2", "vitastor-ec-2+1:2"}, "of result 2"
