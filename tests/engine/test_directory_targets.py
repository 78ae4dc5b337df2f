"""Layouts that end in a filesystem: planned on files, crossed with what can load them, judged by what they count."""

from __future__ import annotations

from typing import Any

import pytest
from test_planning import SCENARIO, plan
from test_preview import one, see

from raidtui.engine.run.measuring import counted_how
from raidtui.engine.validity import marks
from raidtui.engine.validity.evidence import Evidence
from raidtui.load.catalog import engines
from raidtui.load.engine import Pattern
from raidtui.model.convert import decode
from raidtui.model.measure import Direction, Measured, Summary
from raidtui.model.plan import Step
from raidtui.model.problem import ProblemError
from raidtui.model.result import Cell

XFS = {"filesystem": {"type": "xfs", "on": {"md": {"level": "raid5", "on": "@data", "chunk": "64KiB"}}}}
READ = {"fio": {"rw": "randread", "bs": "4KiB", "nrfiles": 4, "filesize": "16MiB", "runtime": "60s"}}
PG = {"pg_test_fsync": {}}


def steps(layouts: dict[str, Any], workloads: dict[str, Any]) -> tuple[Step, ...]:
    return plan(layouts=layouts, workloads=workloads, policy={"initial_sync": "skip-if-zeroed"}).steps


def test_files_are_laid_out_then_measured_in_the_same_folder() -> None:
    found = [step for step in steps({"x": XFS}, {"r": READ}) if step.phase == "measure"]
    fill, measure = found
    assert (fill.action, measure.action) == ("prefill", "measure")
    assert fill.args["kind"] == measure.args["kind"] == "directory"
    assert (fill.args["region_bytes"], measure.args["laid_out"]) == (64 << 20, True)
    assert measure.args["counted"] == "at least"
    assert fill.commands[0][-1] == measure.commands[0][-1]
    assert fill.commands[0][-1].startswith("--directory=/run/raidtui/mnt/rt"), "the command can be copied"


def test_a_filesystem_is_taken_down_before_what_it_stands_on() -> None:
    actions = [step.action for step in steps({"x": XFS}, {"r": READ}) if step.phase in ("build", "teardown")]
    assert actions == [
        "recheck", "md.create", "md.verify", "fs.make", "fs.mount", "fs.verify", "fs.unmount", "md.stop", "disks.blank",
    ]  # fmt: skip


def test_a_workload_that_needs_files_is_refused_where_there_are_none() -> None:
    with pytest.raises(ProblemError) as error:
        steps({"x": XFS, "raid5": SCENARIO["layouts"]["raid5"]}, {"pg": PG})  # type: ignore[index]
    (problem,) = error.value.problems
    assert (problem.code, problem.place) == ("workload-target", "$.workloads.pg.pg_test_fsync")
    assert "raid5 is a block device" in problem.message
    assert steps({"x": XFS}, {"pg": PG})


def test_nothing_stands_on_a_filesystem() -> None:
    with pytest.raises(ProblemError) as error:
        steps({"x": {"md": {"level": "raid1", "on": [XFS, "@journal"]}}}, {"r": READ})
    assert "no-device-below" in [problem.code for problem in error.value.problems]


def test_files_are_an_option_of_directories_alone() -> None:
    with pytest.raises(ProblemError) as error:
        steps({"raid5": SCENARIO["layouts"]["raid5"]}, {"r": READ})  # type: ignore[index]
    assert {problem.code for problem in error.value.problems} == {"fio-files"}


def measured(written: int) -> Measured:
    return Measured(Summary(write=Direction(100, written, 100.0, float(written), 1.0), runtime_s=1.0, jobs=1), ("fio",))


@pytest.mark.parametrize(
    ("counted", "device_bytes", "valid"),
    [("at least", 1000 << 20, True), ("at least", 99 << 20, True), ("at least", 90 << 20, False), ("no", 0, True),
     ("exactly", 1000 << 20, False)],
)  # fmt: skip
def test_what_a_filesystem_adds_is_no_fault_and_what_it_keeps_back_is(counted: Any, device_bytes: int, valid: bool) -> None:
    evidence = Evidence(
        Cell("x/w/1", "x", "w", 1, False, summary=measured(100 << 20).summary),
        target_read_bytes=0, target_written_bytes=device_bytes, counted=counted,
        monotonic_s=1.0, boottime_s=1.0, wall_s=1.0,
    )  # fmt: skip
    assert [mark.code for mark in marks(evidence)] == ([] if valid else ["bytes-disagree"])


def test_what_goes_through_the_page_cache_is_not_held_against_the_devices() -> None:
    direct, cached = (Pattern((4096,), True, True, 4096, whole_sectors=whole) for whole in (True, False))
    assert (counted_how("at least", direct), counted_how("at least", cached)) == ("at least", "no")
    assert counted_how("exactly", cached) == "exactly"
    fio = {"rw": "randwrite", "bs": "4KiB", "runtime": "1s", "ioengine": "psync"}
    dd = {"do": "write", "bs": "1MiB", "size": "1GiB"}
    for kind, spec, how in (
        ("fio", fio, "exactly"),
        ("fio", {**fio, "direct": False, "why_buffered": "a test"}, "no"),
        ("dd", dd, "exactly"),
        ("dd", {**dd, "flag": "none", "conv": "fsync"}, "exactly"),
        ("dd", {**dd, "flag": "none", "why_buffered": "a test"}, "no"),
        ("dd", {**dd, "do": "read", "flag": "none", "why_buffered": "a test"}, "no"),
    ):
        engine = engines()[kind]
        assert counted_how("exactly", engine.pattern(decode(engine.spec, spec))) == how


def test_a_preview_shows_the_room_and_what_is_below_goes_on_counting() -> None:
    xfs, md = one(XFS), one(XFS["filesystem"]["on"])
    assert xfs.problems == ()
    assert xfs.size_bytes is not None
    assert md.size_bytes is not None
    assert 0.9 * md.size_bytes < xfs.size_bytes < md.size_bytes
    assert (xfs.may_fail, xfs.write_penalty, xfs.stripe_bytes) == (1, md.write_penalty, md.stripe_bytes)
    assert xfs.ceiling == md.ceiling
    assert [argv[0] for argv in (*xfs.build, *xfs.teardown)][:4] == ["mdadm", "mkfs.xfs", "mount", "umount"]


def test_a_preview_shows_workloads_on_files_and_says_what_does_not_go_together() -> None:
    found = see(layouts={"x": XFS}, workloads={"r": READ, "pg": PG})
    assert found.problems == ()
    assert [view.command[-1] for view in found.workloads] == [
        "--directory=/run/raidtui/mnt/rtpreview0b/", "--filename=/run/raidtui/mnt/rtpreview0b/pg_test_fsync.out",
    ]  # fmt: skip
    wrong = see(workloads={"pg": PG})
    assert {problem.code for problem in wrong.problems} == {"workload-target"}
