"""With `"reset": "rollback"` a volume is filled once and rolled back before each cell; with `rewind`, the whole pool is."""

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
    assert build[-1].commands == (("zfs", "snapshot", f"{name}@filled"), ("zfs", "hold", "raidtui", f"{name}@filled"))
    release = ("zfs", "release", "raidtui", f"{name}@filled")
    assert volume.undo == (release, ("zfs", "destroy", f"{name}@filled"), ("zfs", "destroy", name))
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


def test_a_filesystem_is_rolled_back_to_how_it_was_made_and_files_are_laid_out_for_each_cell() -> None:
    steps = steps_of(FILES, READS, rounds=1)
    build = [step for step in steps if step.phase == "build"]
    assert [step.action for step in build][-3:] == ["zpool.mount", "zpool.verify", "zpool.snapshot"]
    measure = [step for step in steps if step.phase == "measure"]
    assert [step.action for step in measure] == ["zpool.rollback", "prefill", "measure"] * 2
    unmounted, back, _, waited, mounted = measure[0].commands
    assert (unmounted[0], back[:2], waited[:4], mounted[0]) == (
        "umount", ("zfs", "rollback"), ("zpool", "wait", "-t", "free"), "mount",
    )  # fmt: skip
    assert build[-1].commands == (("zfs", "snapshot", back[2]), ("zfs", "hold", "raidtui", back[2]))
    assert back[2].endswith("/fs@empty")


def test_a_pool_is_rewound_to_its_checkpoint_before_each_cell_from_its_own_devices() -> None:
    steps = steps_of(POOL, READS, reset="rewind", rounds=1)
    build = [step for step in steps if step.phase == "build"]
    assert [step.action for step in build][-3:] == ["zpool.verify", "prefill", "zpool.checkpoint"]
    name = build[-1].commands[0][2]
    assert build[-1].commands == (("zpool", "checkpoint", name),)
    measure = [step for step in steps if step.phase == "measure"]
    assert [step.action for step in measure] == ["zpool.rewind", "measure"] * 2
    exported, imported, again = measure[0].commands
    assert (exported, again) == (("zpool", "export", name), ("zpool", "checkpoint", name))
    assert imported[:6] == ("zpool", "import", "-N", "-o", "cachefile=none", "--rewind-to-checkpoint")
    assert (imported[6:-1:2], len(imported[7:-1:2]), imported[-1]) == (("-d",) * 3, 3, name)
    (teardown,) = (step for step in steps if step.action == "zpool.destroy")
    assert teardown.commands == (("zfs", "destroy", f"{name}/vol"), ("zpool", "destroy", name)), "with its checkpoint"


def test_a_pool_with_files_is_unmounted_for_a_rewind_and_nothing_is_filled_before() -> None:
    steps = steps_of(FILES, READS, reset="rewind", rounds=1, caches="cold")
    assert [step.action for step in steps if step.phase == "build"][-2:] == ["zpool.verify", "zpool.checkpoint"]
    measure = [step for step in steps if step.phase == "measure"]
    assert [step.action for step in measure] == ["zpool.rewind", "prefill", "zpool.cold", "measure"] * 2
    assert [argv[0] for argv in measure[0].commands] == ["umount", "zpool", "zpool", "zpool", "mount"]


def test_a_filled_volume_that_leaves_no_room_for_its_checkpoint_is_refused() -> None:
    large = {"zpool": {**POOL["zpool"], "volume": {"size": "51%"}}}
    with pytest.raises(ProblemError) as caught:
        steps_of(large, READS, reset="rewind")
    assert [(one.code, one.place) for one in caught.value.problems] == [
        ("zpool-too-small", "$.layouts.x.zpool.volume.size")
    ]  # fmt: skip
    assert steps_of(large, READS, reset="rewind", prefill=False), "nothing of it is in the checkpoint"
    assert steps_of(large, READS, reset="rollback")


@pytest.mark.parametrize(
    "properties", [{"feature@zpool_checkpoint": "disabled"}, {"compatibility": "legacy"}, {"version": 28}]
)
def test_a_pool_without_the_feature_of_checkpoints_is_refused(properties: dict[str, Any]) -> None:
    with pytest.raises(ProblemError) as caught:
        steps_of({"zpool": {**POOL["zpool"], "properties": properties}}, WRITES, reset="rewind")
    assert any("zpool_checkpoint" in problem.message for problem in caught.value.problems)


def test_a_device_that_is_renewed_before_each_cell_cannot_be_tuned() -> None:
    tuned = {"zpool": {**POOL["zpool"], "tuning": {"device": {"read_ahead": "1MiB"}}}}
    assert steps_of(tuned, WRITES, reset="rollback")
    with pytest.raises(ProblemError) as caught:
        steps_of(tuned, WRITES, reset="rewind")
    assert [problem.code for problem in caught.value.problems] == ["tuning-no-device"]


@pytest.mark.parametrize("reset", ["rollback", "rewind"])
@pytest.mark.parametrize("layout", [RAID, {"filesystem": {"type": "xfs", "on": POOL}}])
def test_what_cannot_be_brought_back_is_refused_by_name(layout: dict[str, Any], reset: str) -> None:
    with pytest.raises(ProblemError) as caught:
        steps_of(layout, WRITES, reset=reset)
    assert "reset-impossible" in [problem.code for problem in caught.value.problems]
    assert any(problem.message.startswith("layout x ") for problem in caught.value.problems)
