"""The policy says whether a cell begins with what is left in memory, or with empty caches."""

from __future__ import annotations

from typing import Any

import pytest
from test_planning import plan

from raidtui.model.plan import Step
from raidtui.model.problem import ProblemError

POOL = {"zpool": {"vdevs": [{"raidz1": "@data"}], "volume": {"size": "50%"}}}
FILES = {"zpool": {"vdevs": [{"raidz1": "@data"}], "dataset": {}}}
READ = {"fio": {"rw": "randread", "bs": "16KiB", "size": "64MiB", "runtime": "60s"}}


def measuring(layout: dict[str, Any], caches: str) -> list[Step]:
    policy = {"caches": caches, "rounds": 2, "order": "grouped", "cooldown": "5s"}
    made = plan(layouts={"x": layout}, workloads={"r": READ}, policy=policy)
    return [step for step in made.steps if step.phase == "measure"]


@pytest.mark.parametrize("layout", [POOL, FILES])
def test_caches_are_emptied_before_each_cell_after_what_it_reads_was_written(layout: dict[str, Any]) -> None:
    actions = [step.action for step in measuring(layout, "cold")]
    assert actions == ["prefill", "zpool.cold", "cooldown", "measure"] * 2
    assert [step.action for step in measuring(layout, "warm")] == ["prefill", "cooldown", "measure"] * 2


def test_the_step_belongs_to_its_cell_and_says_what_it_runs() -> None:
    cold = next(step for step in measuring(POOL, "cold") if step.action == "zpool.cold")
    assert cold.cell == "x/r/1"
    assert cold.title.startswith("x/r/1: Export and import")
    assert [command[:2] for command in cold.commands] == [("zpool", "export"), ("zpool", "import")]


def test_layouts_without_a_cache_of_their_own_are_measured_as_they_are() -> None:
    raid = {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB"}}
    assert "zpool.cold" not in [step.action for step in measuring(raid, "cold")]


def test_a_pool_below_another_layer_cannot_be_exported() -> None:
    stacked = {"filesystem": {"type": "xfs", "on": POOL}}
    with pytest.raises(ProblemError) as caught:
        measuring(stacked, "cold")
    assert [problem.code for problem in caught.value.problems] == ["cold-below"]
    assert measuring(stacked, "warm")


def test_nothing_stands_on_a_dataset() -> None:
    with pytest.raises(ProblemError) as caught:
        measuring({"filesystem": {"type": "xfs", "on": FILES}}, "warm")
    assert "no-device-below" in [problem.code for problem in caught.value.problems]
