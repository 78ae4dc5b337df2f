"""Reads that the ARC may answer instead of the disks are said before they are measured, and only where it may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_planning import plan
from test_preview import one

from raidtui.model.convert import decode
from raidtui.stack.layer import Reading
from raidtui.stack.zfs import arc
from raidtui.stack.zfs.spec import ZpoolSpec

GIB = 1 << 30
READ = {"fio": {"rw": "randread", "bs": "4KiB", "size": "1GiB", "runtime": "60s"}}
WRITE = {"fio": {"rw": "randwrite", "bs": "4KiB", "size": "1GiB", "runtime": "60s"}}


def pool(**changes: Any) -> dict[str, Any]:
    measured = {} if "dataset" in changes else {"volume": {"size": "50%"}}
    return {"zpool": {"vdevs": [{"stripe": "@data"}], "arc_max": "2GiB", **measured, **changes}}


def said(layout: dict[str, Any], workload: dict[str, Any] = READ, **policy: Any) -> list[str]:
    changes = {"layouts": {"it": layout}, "workloads": {"w": workload}, "policy": policy}
    shown = [text for text in plan(**changes).warnings if "the ARC" in text]
    assert [text for text in one(layout, workloads={"w": workload}, policy=policy).warnings if "the ARC" in text] == shown
    return shown


def test_what_fits_into_the_arc_is_said_with_the_limit_and_the_ways_out() -> None:
    (text,) = said(pool())
    assert text.startswith("Workload w on it: all that is read fits into the ARC, which may take 2.0 GiB")
    assert "arc_max" in text
    assert "cold caches" in text


@pytest.mark.parametrize(
    ("layout", "workload", "policy"),
    [
        (pool(arc_max="512MiB"), READ, {}),
        (pool(), WRITE, {}),
        (pool(), READ, {"caches": "cold"}),
        (pool(inherited={"primarycache": "metadata"}), READ, {}),
        (pool(volume={"size": "50%", "properties": {"primarycache": "none"}}), READ, {}),
        ({"md": {"level": "raid0", "on": "@data"}}, READ, {}),
        (pool(dataset={}), READ, {}),
    ],
    ids=["small-arc", "writes-only", "cold", "metadata-only", "nothing-cached", "no-pool", "direct-on-dataset"],
)
def test_it_is_not_said_where_the_disks_have_to_answer(
    layout: dict[str, Any], workload: dict[str, Any], policy: dict[str, Any]
) -> None:
    assert said(layout, workload, **policy) == []


def test_it_is_said_of_a_pool_below_a_filesystem() -> None:
    assert said({"filesystem": {"type": "xfs", "on": pool()}})


def test_workloads_and_layouts_alike_are_one_sentence() -> None:
    made = plan(layouts={"a": pool(), "b": pool()}, workloads={"r": READ, "s": READ})
    (text,) = [text for text in made.warnings if "the ARC" in text]
    assert text.startswith("Workloads r, s on a, b:")


DATASET: dict[str, Any] = {"vdevs": [{"stripe": "@data"}], "dataset": {"properties": {"recordsize": "16K"}}}


@pytest.mark.parametrize(
    ("changes", "reading", "kept"),
    [
        ({}, Reading((4096,), True, False), False),
        ({}, Reading((4096,), False, False), True),
        ({}, Reading((512,), True, False), True),
        ({}, Reading((), True, False), True),
        ({}, Reading((4096,), True, True), True),
        ({}, Reading((16384, 65536), True, True), False),
        ({"inherited": {"direct": "disabled"}}, Reading((4096,), True, False), True),
        ({"tuning": {"parameters": {"zfs_dio_enabled": 0}}}, Reading((4096,), True, False), True),
        ({"inherited": {"primarycache": "none"}}, Reading((4096,), False, False), False),
        ({"dataset": None, "volume": {"size": "50%"}}, Reading((4096,), True, False), True),
    ],
)
def test_direct_reads_of_a_dataset_go_past_the_arc_in_whole_pages(
    changes: dict[str, Any], reading: Reading, kept: bool
) -> None:
    given = {name: value for name, value in {**DATASET, **changes}.items() if value is not None}
    assert arc.keeps(decode(ZpoolSpec, given), reading) == kept


def test_the_limit_is_the_one_that_is_set_and_else_the_one_that_zfs_chooses(tmp_path: Path) -> None:
    spec = decode(ZpoolSpec, {"vdevs": [{"stripe": "@data"}], "volume": {"size": "50%"}})
    stats, meminfo = tmp_path / "arcstats", tmp_path / "meminfo"
    assert arc.most_bytes(spec, stats, meminfo) is None
    meminfo.write_text("MemTotal:        2097152 kB\nMemFree: 1 kB\n")
    assert arc.most_bytes(spec, stats, meminfo) == 2 * GIB * 5 // 8
    meminfo.write_text("MemTotal:       67108864 kB\n")
    assert arc.most_bytes(spec, stats, meminfo) == 63 * GIB
    stats.write_text("c_max                           4    123456789\n")
    assert arc.most_bytes(spec, stats, meminfo) == 123456789
