"""With `"reset": "rollback"` a volume is filled once and rolled back before each cell."""

from __future__ import annotations

from typing import Any

import pytest
from test_planning import plan

from raidtui.model.plan import Step
from raidtui.model.problem import ProblemError

POOL = {"zpool": {"vdevs": [{"raidz1": "@data"}], "volume": {"size": "50%"}}}
FILES = {"zpool": {"vdevs": [{"raidz1": "@data"}], "dataset": {}}}
RAID = {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB"}}
READS = {
    "small": {"fio": {"rw": "randread", "bs": "16KiB", "size": "64MiB", "runtime": "60s"}},
    "large": {"fio": {"rw": "randrw", "bs": "16KiB", "size": "128MiB", "runtime": "60s"}},
}
WRITES = {"w": {"fio": {"rw": "randwrite", "bs": "16KiB", "size": "64MiB", "runtime": "60s"}}}


def steps_of(layout: dict[str, Any], workloads: dict[str, Any], **policy: Any) -> list[Step]:
    given = {"reset": "rollback", "rounds": 2, "order": "grouped", **policy}
    return list(plan(layouts={"x": layout}, workloads=workloads, policy=given).steps)


def test_a_volume_is_filled_once_and_rolled_back_before_each_cell() -> None:
    steps = steps_of(POOL, READS)
    build = [step for step in steps if step.phase == "build"]
    assert [step.action for step in build][-3:] == ["zpool.verify", "prefill", "zpool.snapshot"]
    assert "fill 128 MiB" in build[-2].title, "the largest region that is read"
    assert build[-2].erases
    (volume,) = (step for step in build if step.action == "zpool.volume")
    name = volume.commands[0][-1]
    assert build[-1].commands == (("zfs", "snapshot", f"{name}@filled"),)
    assert volume.undo == (("zfs", "destroy", f"{name}@filled"), ("zfs", "destroy", name))
    measure = [step for step in steps if step.phase == "measure"]
    assert [step.action for step in measure] == ["zpool.rollback", "measure"] * 4
    assert measure[0].title.startswith("x/small/1: ")
    assert measure[0].commands[0] == ("zfs", "rollback", f"{name}@filled")
    assert all(step.args["laid_out"] for step in measure if step.action == "measure")


def test_nothing_is_filled_where_nothing_is_read_or_the_policy_forbids_it() -> None:
    assert "prefill" not in [step.action for step in steps_of(POOL, WRITES)]
    assert "prefill" not in [step.action for step in steps_of(POOL, READS, prefill=False)]


def test_the_rollback_comes_before_caches_are_emptied() -> None:
    measure = [step.action for step in steps_of(POOL, WRITES, rounds=1, caches="cold") if step.phase == "measure"]
    assert measure == ["zpool.rollback", "zpool.cold", "measure"]


def test_bare_disks_beside_the_layout_are_measured_as_ever() -> None:
    steps = steps_of(POOL, READS, ceilings=True, rounds=1)
    assert [step.action for step in steps if step.cell.startswith("@data:")][:2] == ["prefill", "measure"]


def test_by_default_nothing_is_reset() -> None:
    actions = [step.action for step in steps_of(POOL, READS, reset="none")]
    assert not {"zpool.snapshot", "zpool.rollback"} & set(actions)


@pytest.mark.parametrize("layout", [FILES, RAID, {"filesystem": {"type": "xfs", "on": POOL}}])
def test_what_cannot_be_rolled_back_is_refused_by_name(layout: dict[str, Any]) -> None:
    with pytest.raises(ProblemError) as caught:
        steps_of(layout, WRITES)
    assert "reset-impossible" in [problem.code for problem in caught.value.problems]
    assert any(problem.message.startswith("layout x ") for problem in caught.value.problems)
