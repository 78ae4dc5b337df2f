"""The result as a fold over a run's events."""

from __future__ import annotations

from raidtui.engine.run.tally import Tally
from raidtui.model.event import AnyEvent, Record, RunStarted, StepDone, StepStarted
from raidtui.model.plan import Options, Plan, Step
from raidtui.model.problem import Problem
from raidtui.model.result import Machine

IDS = ("998", "999", "1000", "1001")
STEPS = tuple(
    Step(id_, "md.stop", "", phase, "raid5#1") for id_, phase in zip(IDS, ("build", *["teardown"] * 3), strict=True)
)
PLAN = Plan("", "t", {"layouts": {"raid5": {}}}, Options(), {}, STEPS, (), (), 1.0, 0)


def taken_down(*done: str, problems: tuple[Problem, ...] = ()) -> bool:
    """`problems`: of the last of these steps."""
    events: list[AnyEvent] = [RunStarted("run", PLAN, Machine("host", "6.12"), 1, "0")]
    for id_ in done:
        found = problems if id_ == done[-1] else ()
        events += [StepStarted(id_, "", "md.stop", "raid5#1"), StepDone(id_, "done", 1.0, (), problems=found)]
    tally = Tally()
    for number, event in enumerate(events, 1):
        tally.add(Record(number, float(number), "", event))
    [built] = tally.result().layouts
    return built.taken_down


def test_a_layout_is_taken_down_once_its_last_step_is_done_however_many_steps_a_plan_has() -> None:
    assert taken_down(*IDS) is True


def test_a_layout_is_not_taken_down_before_its_last_step_is_done() -> None:
    assert [taken_down(*IDS[:count]) for count in (1, 2, 3)] == [False, False, False]


def test_a_layout_is_not_taken_down_while_a_disk_of_it_could_not_be_made_blank() -> None:
    assert taken_down(*IDS, problems=(Problem("tool-failed", "disk S1 could not be made blank", "S1"),)) is False
