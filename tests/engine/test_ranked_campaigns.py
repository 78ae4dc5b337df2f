"""A campaign that was asked for a ranking: what is refused, what is planned, what is left out, and what the result says."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from test_planning import SCENARIO, disk

from raidtui.engine.compose.binding import bind
from raidtui.engine.compose.planner import make_plan, used_roles
from raidtui.engine.compose.reading import read_document
from raidtui.engine.run.ending import Ending
from raidtui.engine.run.ranking import Rankings, merit, metric_of
from raidtui.engine.run.runner import Runner
from raidtui.engine.run.runs import fold
from raidtui.engine.run.tally import Tally
from raidtui.engine.run.target import Family
from raidtui.front.phrases import ranking_line
from raidtui.model.convert import encode
from raidtui.model.event import AnyEvent, CellDone, Record, RunFinished, RunStarted, Skipped, StepFailed, StepStarted
from raidtui.model.mark import Mark
from raidtui.model.measure import Direction, Latency, Summary
from raidtui.model.plan import CellPlan, Options, Plan, Step
from raidtui.model.problem import Problem, ProblemError
from raidtui.model.result import Cell, Machine, Result
from raidtui.results.load import read_result

POLICY = {"rounds": 6, "initial_sync": "skip-if-zeroed", "ranking": {}}
LAYOUTS = {
    "raid0": {"md": {"level": "raid0", "on": "@data"}},
    "raid5": {"md": {"level": "raid5", "on": "@data"}},
    "bare": {"disk": {"on": "@data", "mode": "each"}},
}
WORKLOAD = {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 8, "runtime": "60s", "ramp_time": "2s"}}
RATES = {"raid0": 9000.0, "raid5": 3000.0, "bare": 2500.0}


def read(**changes: Any):
    whole = {**SCENARIO, "layouts": LAYOUTS, "workloads": {"w": WORKLOAD}, "policy": POLICY, **changes}
    return read_document(json.dumps(whole)).scenario


def planned(options: Options = Options(), **changes: Any) -> Plan:  # noqa: B008
    scenario = read(**changes)
    binding = bind(used_roles(scenario, options), {"data": ("S1", "S2", "S3")}, [disk(n) for n in range(1, 5)])
    return make_plan(scenario, binding, options, token="abcdefgh", boot_id="b")


def with_ranking(**ranking: Any) -> dict[str, Any]:
    return {**POLICY, "ranking": ranking}


def measured(plan: CellPlan, rate: float, *, valid: bool = True) -> Cell:
    write = Direction(int(rate * 5), int(rate * 5 * 4096), rate, rate * 4096, 5.0)
    return Cell(plan.id, plan.layout, plan.workload, plan.round, valid, part=plan.part, summary=Summary(write=write))


def steady(cell: CellPlan) -> Cell:
    """A little up and down from round to round, and from disk to disk."""
    return measured(cell, RATES[cell.layout] * (1 + 0.01 * (cell.round % 2)) * (1.1 if cell.part == "S2" else 1.0))


def replayed(plan: Plan, cell_of: Callable[[CellPlan], Cell | None]) -> list[AnyEvent]:
    """What a runner would journal of this plan; a layout of which there is no cell could not be built."""
    events: list[AnyEvent] = []
    tally, cells = Tally(), {cell.id: cell for cell in plan.cells}

    def say(event: AnyEvent) -> None:
        events.append(event)
        tally.add(Record(len(events), float(len(events)), "", event))

    say(RunStarted("20260131-120000-abcdefgh", plan, Machine("h", "k"), 1, "0"))
    for block, steps_ in itertools.groupby((step for step in plan.steps if step.block), key=lambda step: step.block):
        steps = list(steps_)
        mine = [cells[name] for name in dict.fromkeys(step.cell for step in steps if step.cell)]
        if why := tally.rankings.block_not_needed(mine):
            say(Skipped(tuple(cell.id for cell in mine), why, block))
            continue
        build = next(step for step in steps if step.phase == "build")
        say(StepStarted(build.id, build.title, build.action, block))
        for cell in mine:
            if why := tally.rankings.not_needed(cell):
                say(Skipped((cell.id,), why))
            elif (done := cell_of(cell)) is None:
                say(StepFailed(build.id, Problem("tool-failed", "no"), 1.0))
                break
            else:
                say(CellDone(done))
    say(RunFinished(0, "done"))
    return events


def result_of(events: list[AnyEvent]) -> Result:
    tally = Tally()
    for number, event in enumerate(events, 1):
        tally.add(Record(number, float(number), "", event))
    return tally.result()


@pytest.mark.parametrize(
    ("policy", "code", "place"),
    [
        ({**POLICY, "order": "grouped"}, "ranking-grouped", "$.policy.ranking"),
        ({**POLICY, "rounds": 1}, "ranking-rounds", "$.policy.rounds"),
        (with_ranking(slice="500ms"), "ranking-slice", "$.policy.ranking.slice"),
        (with_ranking(question="worst"), "schema", "$.policy.ranking.question"),
        (with_ranking(confidence=100), "schema", "$.policy.ranking.confidence"),
    ],
)
def test_a_ranking_that_cannot_be_answered_is_refused_when_it_is_read(policy, code, place):
    with pytest.raises(ProblemError) as refusal:
        read(policy=policy)
    assert [(problem.code, problem.place) for problem in refusal.value.problems] == [(code, place)]


def test_the_plan_has_every_step_up_to_the_bound_and_each_cell_is_a_slice():
    made = planned()
    assert made.ends_early
    assert {cell.round for cell in made.cells} == set(range(1, 7))
    commands = [step.commands[0] for step in made.steps if step.action == "measure"]
    assert all("--runtime=5s" in argv and "--ramp_time=2s" in argv for argv in commands)
    whole = planned(policy={**POLICY, "ranking": None})
    assert not whole.ends_early
    assert made.digest != whole.digest
    assert [cell.id for cell in made.cells] == [cell.id for cell in whole.cells]
    assert sum(step.seconds for step in whole.steps) > sum(step.seconds for step in made.steps)


def test_a_slice_is_never_longer_than_the_workload_and_a_region_is_never_cut():
    short = {"fio": {**WORKLOAD["fio"], "runtime": "3s"}}
    region = {"fio": {"rw": "write", "bs": "1MiB", "size": "64MiB", "runtime": "60s", "time_based": False}}
    made = planned(workloads={"short": short, "region": region})
    argv = {step.cell.split("/")[-2]: step.commands[0] for step in made.steps if step.action == "measure"}
    assert "--runtime=3s" in argv["short"]
    assert "--runtime=60s" in argv["region"]


def test_a_campaign_ends_as_soon_as_the_best_is_known():
    made = planned()
    result = result_of(replayed(made, steady))
    (ranked,) = result.ranking
    assert result.complete
    assert ranked.answered
    assert (ranked.layouts[0].layout, ranked.layouts[0].place) == ("raid0", 1)
    assert ranked.most_rounds == 6
    assert ranked.rounds == max(cell.round for cell in result.cells)
    assert ranked.skipped + len(result.cells) == len(made.cells)
    assert max(cell.round for cell in result.cells) < 6
    assert ranked.spent_s < ranked.most_s
    assert {told.better for told in ranked.told} >= {"raid0"}


def test_whole_blocks_are_left_out_each_with_the_reason():
    skipped = [event for event in replayed(planned(), steady) if isinstance(event, Skipped)]
    assert all(event.block and event.why for event in skipped)
    assert "what was asked of w is known at 95 %" in {event.why for event in skipped}


def test_single_cells_of_a_block_are_left_out_where_another_workload_still_needs_its_layout():
    """Under `same` nothing is ever told apart, and after some rounds given up."""
    made = planned(workloads={"w": WORKLOAD, "same": WORKLOAD})
    noise = itertools.cycle((0.8, 1.3, 1.0, 0.7, 1.2, 0.9, 1.1))
    events = replayed(made, lambda cell: steady(cell) if cell.workload == "w" else measured(cell, 1000 * next(noise)))
    singles = [event for event in events if isinstance(event, Skipped) and not event.block]
    assert singles
    assert all(cell.split("/")[-2] == "w" for event in singles for cell in event.cells)
    by_name = {ranked.workload: ranked for ranked in result_of(events).ranking}
    assert by_name["w"].answered
    assert not by_name["same"].answered
    assert {beyond.round for beyond in by_name["same"].beyond} <= {3, 4, 5}


def test_what_is_told_to_be_worse_is_not_measured_again_while_the_others_are():
    close = {"raid0": 1000.0, "raid5": 1010.0, "bare": 300.0}
    noise = itertools.cycle((0.97, 1.03, 1.0, 0.98, 1.04, 0.99, 1.01))
    events = replayed(planned(), lambda cell: measured(cell, close[cell.layout] * next(noise)))
    reasons = [event for event in events if isinstance(event, Skipped) and event.block.startswith("bare#")]
    assert any("better for w at 95 %" in event.why for event in reasons)
    rounds = {one.layout: one.rounds for one in result_of(events).ranking[0].layouts}
    assert rounds["bare"] < rounds["raid0"]


def test_a_layout_that_cannot_be_built_holds_nobody_up():
    events = replayed(planned(), lambda cell: None if cell.layout == "raid5" else steady(cell))
    (ranked,) = result_of(events).ranking
    assert ranked.answered
    assert {one.layout: one.place for one in ranked.layouts} == {"raid0": 1, "bare": 2, "raid5": None}
    assert sum(isinstance(event, StepFailed) for event in events) == 2


def test_cells_that_are_not_valid_are_no_numbers():
    events = replayed(planned(), lambda cell: measured(cell, 9e9, valid=False) if cell.layout == "raid5" else steady(cell))
    (ranked,) = result_of(events).ranking
    assert ranked.layouts[-1].layout == "raid5"
    assert ranked.layouts[-1].place is None


def test_where_no_layout_has_valid_cells_nothing_is_known():
    events = replayed(planned(), lambda cell: measured(cell, 9e9, valid=False))
    (ranked,) = result_of(events).ranking
    assert not ranked.answered
    assert [one.place for one in ranked.layouts] == [None, None, None]
    assert ranking_line(ranked).startswith("w: nothing can be ranked, since too few cells of every layout are valid, after")
    reasons = {event.why for event in events if isinstance(event, Skipped)}
    assert reasons == {"too few cells of any layout are valid for w"}


def test_a_cell_that_was_cancelled_says_nothing_of_its_layout():
    made = planned(policy=with_ranking(question="order"))
    rankings = Rankings(made)
    first = [cell for cell in made.cells if cell.round <= 2]
    for cell in first[:-1]:
        rankings.done(measured(cell, 100.0, valid=cell.layout != first[-1].layout))
    ended = measured(first[-1], 100.0, valid=False)
    rankings.done(msgspec.structs.replace(ended, marks=(Mark("cancelled", "the run was cancelled"),)))
    (ranked,) = rankings.ranked()
    assert (ranked.rounds, ranked.answered) == (1, False)
    assert all(one.place is not None for one in ranked.layouts)


def test_without_a_question_every_cell_is_needed_and_nothing_is_ranked():
    made = planned(policy={**POLICY, "ranking": None})
    rankings = Rankings(made)
    for cell in made.cells:
        assert not rankings.not_needed(cell)
        rankings.done(steady(cell))
    assert rankings.ranked() == ()


def test_the_result_is_read_back_and_runs_counts_what_is_still_needed():
    events = replayed(planned(), steady)
    result = result_of(events)
    assert read_result(encode(result)).ranking == result.ranking
    story = fold(Record(number, 0.0, "", event) for number, event in enumerate(events, 1))
    assert story.cells_done == len(result.cells)
    assert story.cells_done + story.cells_skipped == len(planned().cells)


def test_layouts_are_ranked_by_what_the_workload_is_about():
    small = Summary(write=Direction(1000, 1000 * 4096, 100.0, 409600.0, 10.0))
    large = Summary(read=Direction(1000, 1000 << 20, 100.0, float(100 << 20), 10.0))
    synced = Summary(
        write=Direction(1000, 4096000, 100.0, 409600.0, 10.0), sync=Direction(1000, 0, 100.0, 0.0, 10.0, Latency(500.0))
    )
    assert metric_of([small]) == "IOPS"
    assert metric_of([large]) == "MB/s"
    assert metric_of([synced]) == "µs per sync"
    assert metric_of([synced, small]) == "IOPS"
    assert merit(synced, "µs per sync") == pytest.approx(2000.0)
    assert merit(large, "MB/s") == 100 << 20
    assert merit(Summary(), "IOPS") == 0


class Steps(Runner):
    """The runner's own order of things, without disks: a step does nothing, and a measurement is made up."""

    def __init__(self, plan: Plan, cell_of: Callable[[CellPlan], Cell | None]) -> None:
        self.plan, self.tally, self.events, self._cell_of = plan, Tally(), [], cell_of
        self._cells = {cell.id: cell for cell in plan.cells}
        self.ending, self._kept, self.cancel = Ending(), False, threading.Event()
        self.context, self.watchdog = SimpleNamespace(), SimpleNamespace(lost=())
        self.sampler = SimpleNamespace(watch_md=list)
        self.journal = SimpleNamespace(is_full=lambda: False)

    def _emit(self, event: AnyEvent) -> None:
        self.events.append(event)
        self.tally.add(Record(len(self.events), float(len(self.events)), "", event))

    def _save(self) -> None:
        self.tally.result()

    def _family(self, step: Step) -> Family:
        return Family({}, {})

    def _do(self, step: Step) -> None:
        self._emit(StepStarted(step.id, step.title, step.action, step.block, step.cell))
        if step.phase == "build" and self._cell_of(next(c for c in self.plan.cells if c.layout in step.block)) is None:
            self._emit(StepFailed(step.id, Problem("tool-failed", "no"), 1.0))
            raise ProblemError(Problem("tool-failed", "no"))
        if step.action == "measure" and (cell := self._cell_of(self._cells[step.cell])) is not None:
            self._cell_done(cell)

    def blocks(self) -> list[AnyEvent]:
        self._emit(RunStarted("20260131-120000-abcdefgh", self.plan, Machine("h", "k"), 1, "0"))
        for block, steps in itertools.groupby(self.plan.steps, key=lambda step: step.block):
            if block:
                self._block_if_needed(block, list(steps))
        return self.events


@pytest.mark.parametrize("broken", ["", "raid5"])
@pytest.mark.parametrize("workloads", [("w",), ("w", "same")])
def test_the_runner_asks_before_each_block_and_each_cell(workloads, broken):
    made = planned(workloads=dict.fromkeys(workloads, WORKLOAD))
    shares = [0.8, 1.3, 1.0, 0.7, 1.2, 0.9, 1.1]

    def cell_of(cell: CellPlan) -> Cell | None:
        restless = 1000 * shares[made.cells.index(cell) % len(shares)]
        if cell.layout == broken:
            return None
        return steady(cell) if cell.workload == "w" else measured(cell, restless)

    def told(events: list[AnyEvent]) -> list[AnyEvent]:
        return [event for event in events if isinstance(event, (Skipped, CellDone))]

    events = Steps(made, cell_of).blocks()
    assert told(events) == told(replayed(made, cell_of))
    built = {event.block for event in events if isinstance(event, StepStarted) and event.block}
    left_out = {event.block for event in events if isinstance(event, Skipped) and event.block}
    assert left_out
    assert not built & left_out
