"""Cells that were measured in the lab, judged again: runs in which nothing was wrong bring no marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from recorded_cells import evidence_of, recorded

from raidtui.engine.validity import marks
from raidtui.engine.validity.evidence import Evidence

DATA = Path(__file__).parent.parent / "data"
CLEAN = sorted((DATA / "results").glob("*.result.json.gz")) + sorted((DATA / "cells").glob("clean*.result.json.gz"))


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.name.partition(".")[0])
def test_what_was_as_it_should_be_has_no_marks(path: Path) -> None:
    seen = list(evidence_of(recorded(path)))
    assert seen
    assert {evidence.cell.id: marks(evidence) for evidence in seen if marks(evidence)} == {}


def seen(name: str, cell: str) -> Evidence:
    path = DATA / "cells" / f"{name}.result.json.gz"
    return next(evidence for evidence in evidence_of(recorded(path)) if evidence.cell.id == cell)


def changed(of: Evidence, devices: dict[str, dict[str, Any]]) -> Evidence:
    """With facts of these devices changed."""
    replace = msgspec.structs.replace
    made = {name: replace(of.cell.devices[name], **facts) for name, facts in devices.items()}
    return of._replace(cell=replace(of.cell, devices={**of.cell.devices, **made}))


def codes(of: Evidence) -> list[tuple[str, str]]:
    return [(mark.code, mark.about) for mark in marks(of)]


def test_one_of_twelve_disks_that_takes_three_times_as_long_is_named() -> None:
    clean = seen("clean-lvm-stripe-files", "stripe/dd-write-4k-sync/1")
    use = clean.cell.devices["sdg"]
    seconds = [None if ms is None else 3 * ms for ms in use.series["write_await_ms"]]
    slow = {"mean_write_await_ms": 3 * (use.mean_write_await_ms or 0), "series": {"write_await_ms": seconds}}
    assert codes(changed(clean, {"sdg": slow})) == [("slow-member", use.disk)]


def test_syncs_of_files_whose_flushes_never_came_are_found() -> None:
    clean = seen("clean-lvm-stripe-files", "stripe/pg-test-fsync/1")
    silent: dict[str, dict[str, Any]] = {name: {"flushes": 0, "mean_flush_await_ms": None} for name in clean.members}
    assert codes(changed(clean, silent)) == [("sync-without-flush", "")]


def test_reads_that_the_disks_never_saw_are_found_where_nothing_was_written() -> None:
    clean = seen("clean-lvm-striped", "striped/seq-read-4m-q32/1")
    idle: dict[str, dict[str, Any]] = {name: {"reads": 3, "read_bytes": 12288} for name in clean.members}
    found = codes(changed(clean, idle)._replace(prefilled=False))
    assert found == [("unwritten-read", ""), ("above-link", "")], "at 2.3 GB/s, of which no disk saw anything"
