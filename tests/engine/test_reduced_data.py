"""On layouts that compress or deduplicate, what a workload writes is said: by the scenario, else by raidtui, and shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from raidtui.engine.compose.planner import make_plan
from raidtui.engine.compose.preview import preview
from raidtui.engine.compose.reading import read_document
from raidtui.model.describe import PreviewRequest
from raidtui.model.disk import Disk
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import ProblemError

GIB = 1 << 30
DISKS = tuple(
    Disk(f"S{n}", f"nvme{n}n1", 8 * GIB, f"S{n}", f"eui.{n}", "M", transport="nvme", rotational=False, discard=True)
    for n in range(3)
)
WRITE = {"fio": {"rw": "randwrite", "bs": "4KiB", "runtime": "5s"}}
SAID = {"fio": {**WRITE["fio"], "buffer_compress_percentage": 50}}
READ = {"fio": {"rw": "randread", "bs": "4KiB", "runtime": "5s"}}
DD = {"dd": {"bs": "1MiB", "size": "1GiB"}}
PG = {"pg_test_fsync": {}}


def pool(**properties: str) -> dict[str, Any]:
    return {"zpool": {"vdevs": [{"stripe": "@data"}], "dataset": {"properties": properties}}}


def lvm(**vdo: bool) -> dict[str, Any]:
    return {"lvm": {"type": "striped", "on": "@data", "vdo": vdo}}


def btrfs(**options: str) -> dict[str, Any]:
    return {"filesystem": {"type": "btrfs", "on": "@data", **options}}


OFF = pool(compression="off")
REDUCING = {
    "zfs by itself": (pool(), "compressed"),
    "zfs lz4": (pool(compression="lz4"), "compressed"),
    "zfs dedup": (pool(compression="off", dedup="on"), "deduplicated"),
    "zfs both": (pool(compression="zstd-3", dedup="sha256"), "compressed and deduplicated"),
    "vdo": (lvm(), "compressed and deduplicated"),
    "vdo compression": (lvm(deduplication=False), "compressed"),
    "btrfs": (btrfs(compress="zstd"), "compressed"),
}


def document(layouts: dict[str, Any], workloads: dict[str, Any]) -> str:
    roles = {"data": {"count": 3}}
    return json.dumps(
        {"schema": "raidtui.scenario/1", "name": "t", "roles": roles, "layouts": layouts, "workloads": workloads}
    )


def planned(layouts: dict[str, Any], workloads: dict[str, Any]) -> Plan:
    scenario = read_document(document(layouts, workloads)).scenario
    return make_plan(scenario, {"data": DISKS}, Options(quick=True), token="abcdefgh", boot_id="b")


def commands(plan: Plan, action: str = "measure") -> list[tuple[str, ...]]:
    return [step.commands[0] for step in plan.steps if step.action == action]


@pytest.mark.parametrize("name", REDUCING)
def test_data_that_is_not_said_is_random_and_the_plan_says_so(name: str) -> None:
    layout, how = REDUCING[name]
    plan = planned({"a": layout}, {"w": WRITE})
    (argv,) = commands(plan)
    assert {"--buffer_compress_percentage=0", "--dedupe_percentage=0"} <= set(argv)
    (warning,) = (text for text in plan.warnings if "not say" in text)
    assert warning.startswith(f"What is written to a is {how} there, and workload w does not say")
    (view,) = preview(PreviewRequest(document({"a": layout}, {"w": WRITE})), DISKS).layouts
    assert warning in view.warnings


@pytest.mark.parametrize("layout", [OFF, lvm(compression=False, deduplication=False), btrfs()])
def test_where_nothing_becomes_less_nothing_is_added(layout: dict[str, Any]) -> None:
    plan = planned({"a": layout}, {"w": WRITE})
    assert not any("percentage" in word for word in commands(plan)[0])
    assert not [text for text in plan.warnings if "not say" in text]


def test_what_the_scenario_says_is_kept() -> None:
    plan = planned({"a": pool(dedup="on")}, {"w": SAID})
    assert {"--buffer_compress_percentage=50", "--dedupe_percentage=0"} <= set(commands(plan)[0])
    refilled = planned({"a": pool(dedup="on")}, {"w": {"fio": {**WRITE["fio"], "refill_buffers": True}}})
    assert not any("percentage" in word for word in commands(refilled)[0])
    assert not refilled.warnings


def test_what_is_read_was_written_as_random_data_or_as_the_workload_says() -> None:
    assert "--refill_buffers=1" in commands(planned({"a": pool()}, {"r": READ}), "prefill")[0]
    mixed = {"fio": {**SAID["fio"], "rw": "randrw"}}
    (filled,) = commands(planned({"a": pool()}, {"m": mixed}), "prefill")
    assert "--buffer_compress_percentage=50" in filled
    assert "--refill_buffers=1" not in filled


def test_only_layouts_that_reduce_are_named() -> None:
    plan = planned({"plain": OFF, "small": pool()}, {"w": WRITE, "r": READ})
    (warning,) = (text for text in plan.warnings if "not say" in text)
    assert "plain" not in warning
    assert "workload w does" in warning
    assert sum("--dedupe_percentage=0" in argv for argv in commands(plan)) == 1


def test_zeroes_and_repeated_bytes_are_refused_where_they_measure_nothing() -> None:
    for layout, _ in REDUCING.values():
        with pytest.raises(ProblemError) as caught:
            planned({"a": layout}, {"w": DD})
        assert [problem.code for problem in caught.value.problems] == ["dd-zeroes"]
        assert caught.value.problems[0].place == "$.workloads.w.dd.do"
    with pytest.raises(ProblemError) as caught:
        planned({"a": pool(compression="off", dedup="on")}, {"w": PG})
    assert [problem.code for problem in caught.value.problems] == ["pg-dedup"]
    assert planned({"a": pool(compression="lz4")}, {"w": PG}).cells
    assert planned({"a": OFF}, {"w": DD}).cells
