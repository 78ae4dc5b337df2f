"""Sweeps: lists in a fio workload make a workload for each combination, and everything wrong with them has its place."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from test_planning import SCENARIO, disk
from test_preview import see, workload

from raidtui.engine.compose.binding import bind
from raidtui.engine.compose.planner import make_plan
from raidtui.engine.compose.reading import read_document
from raidtui.engine.compose.schema import describe, schema
from raidtui.engine.explain import explain
from raidtui.model.convert import plain
from raidtui.model.plan import Options, Plan, SweepPlan
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Scenario
from raidtui.model.sweep import SWEPT, Swept

DISKS = [disk(number) for number in range(1, 5)]
FIO: dict[str, Any] = {"rw": "randread", "bs": "4KiB", "runtime": "10s"}


def document(policy: dict[str, Any] | None = None, **workloads: Any) -> str:
    loads = {name.replace("_", "-"): {"fio": {**FIO, **options}} for name, options in workloads.items()}
    return json.dumps({**SCENARIO, "workloads": loads, "policy": policy or {}})


def scenario(policy: dict[str, Any] | None = None, **workloads: Any) -> Scenario:
    return read_document(document(policy, **workloads)).scenario


def planned(found: Scenario, options: Options = Options()) -> Plan:  # noqa: B008
    binding = bind(found.roles, {"data": ("S1", "S2", "S3")}, DISKS)
    return make_plan(found, binding, options, token="abcdefgh", boot_id="b")


def refused(text: str) -> list[tuple[str, str]]:
    with pytest.raises(ProblemError) as raised:
        _ = read_document(text).scenario
    assert all(problem.exit == 2 and problem.remedy and problem.message for problem in raised.value.problems)
    assert all(explain(problem.code) for problem in raised.value.problems)
    return [(problem.code, problem.place) for problem in raised.value.problems]


def test_lists_make_a_workload_for_each_combination_named_by_its_listed_values() -> None:
    loads = scenario(seek={"iodepth": [1, 16], "numjobs": [4, 2]}, one={}).workloads
    assert list(loads) == ["seek-t4q1", "seek-t4q16", "seek-t2q1", "seek-t2q16", "one"]
    assert loads["seek-t2q16"].sweep == Swept("seek", "4KiB", 2, 16)
    assert (loads["seek-t2q16"].spec.numjobs, loads["seek-t2q16"].spec.iodepth) == (2, 16)
    assert loads["one"].sweep is None
    sizes = scenario(seek={"bs": ["512B", "4KiB", "1MiB", "512kB"], "iodepth": 8}).workloads
    assert list(sizes) == ["seek-512b", "seek-4k", "seek-1m", "seek-512kb"]
    assert list(scenario(seek={"numjobs": [4]}).workloads) == ["seek-t4"], "a list of one value is a list"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"iodepth": []}, [("sweep-list", ".iodepth")]),
        ({"iodepth": [1, 4, 4]}, [("sweep-list", ".iodepth[2]")]),
        ({"bs": ["4KiB", "8KiB", "4096B"]}, [("sweep-list", ".bs[2]")]),
        ({"iodepth": [1, 0], "numjobs": [1, 2]}, [("schema", ".iodepth[1]")]),
        ({"iodepth": [1, [4]]}, [("schema", ".iodepth[1]")]),
        ({"bs": ["4KiB", 8]}, [("schema", ".bs[1]")]),
        ({"iodepth": [1, 8], "numjobs": [1, 2], "ioengine": "psync"}, [("fio-queue-depth", ".iodepth[1]")]),
        ({"iodepth": list(range(1, 12)), "numjobs": list(range(1, 11))}, [("sweep-size", "")]),
        ({"iodepth": list(range(1, 66))}, [("sweep-size", ".iodepth")]),
        ({"runtime": ["5s", "9s"]}, [("sweep-option", ".runtime")]),
        ({"rw": ["read", "write"], "iodepth": [1, 2]}, [("sweep-option", ".rw")]),
    ],
)  # fmt: skip
def test_a_wrong_list_is_refused_where_it_stands(options: dict[str, Any], found: list[tuple[str, str]]) -> None:
    assert refused(document(seek=options)) == [(code, f"$.workloads.seek.fio{place}") for code, place in found]


def test_another_workload_engine_takes_no_lists() -> None:
    text = json.dumps({**SCENARIO, "workloads": {"copy": {"dd": {"direction": "read", "bs": ["1MiB"]}}}})
    assert ("sweep-option", "$.workloads.copy.dd.bs") in refused(text)


def test_a_name_that_a_workload_has_or_that_is_too_long_is_refused() -> None:
    assert refused(document(seek={"iodepth": [1, 4]}, seek_q4={})) == [("sweep-name", "$.workloads.seek")]
    assert refused(document(seek={"iodepth": [1], "numjobs": [2]}, seek_t2={"iodepth": [1]}, **{"seek-t2q1": {}}))[0] == (
        "sweep-name", "$.workloads.seek",
    )  # fmt: skip
    long = "x" * 60
    assert refused(document(**{long: {"iodepth": [1, 16]}})) == [("sweep-name", f"$.workloads.{long}")]


def test_all_workloads_together_have_a_limit() -> None:
    many = {f"seek{number}": {"iodepth": list(range(1, 60))} for number in range(4)}
    assert refused(document(**many)) == [("sweep-size", "$.workloads")]


def test_policy_and_options_may_name_a_sweep_or_one_of_its_workloads() -> None:
    found = scenario({"only": {"raid5": ["seek"]}}, seek={"iodepth": [1, 4]}, one={})
    assert found.policy.only == {"raid5": ("seek-q1", "seek-q4")}
    assert refused(document({"only": {"raid5": ["see"]}}, seek={"iodepth": [1, 4]}))[0][0] == "unknown-name"
    both = scenario(seek={"iodepth": [1, 4]}, one={})
    assert {cell.workload for cell in planned(both, Options(workloads=("seek",))).cells} == {"seek-q1", "seek-q4"}
    assert {cell.workload for cell in planned(both, Options(workloads=("seek-q4",))).cells} == {"seek-q4"}
    with pytest.raises(ProblemError, match="see"):
        planned(both, Options(workloads=("see",)))


def test_a_plan_has_the_scenario_as_it_was_written_and_the_cost_of_each_sweep() -> None:
    text = document({"rounds": 2}, seek={"iodepth": [1, 4], "numjobs": [1, 8]}, one={})
    plan = planned(read_document(text).scenario)
    assert plan.scenario == json.loads(text)
    own = [cell for cell in plan.cells if cell.workload != "one"]
    seconds = sum(step.seconds for step in plan.steps if step.cell in {cell.id for cell in own})
    assert plan.sweeps == (SweepPlan("seek", ("4KiB",), (1, 8), (1, 4), 4, len(own), pytest.approx(seconds)),)
    assert len(own) == 4 * 2 * 5, "two arrays, and each of three disks"
    assert {cell.sweep for cell in plan.cells if cell.workload == "seek-t8q4"} == {Swept("seek", "4KiB", 8, 4)}
    commands = {step.cell: step.commands[0] for step in plan.steps if step.action == "measure"}
    cell = next(cell for cell in own if cell.workload == "seek-t8q4")
    assert {"--iodepth=4", "--numjobs=8"} <= set(commands[cell.id])


def test_a_plan_without_lists_says_nothing_of_sweeps() -> None:
    told = plain(planned(scenario(one={})))
    assert "sweeps" not in told
    assert all("sweep" not in cell for cell in told["cells"])


def test_a_preview_shows_a_sweep_as_one_workload_under_its_own_name() -> None:
    loads = {"seek": {"fio": {**FIO, "iodepth": [1, 4]}}, "one": {"fio": FIO}}
    found = see(workloads=loads)
    assert [view.name for view in found.workloads] == ["seek", "one"]
    view = workload(found, "seek")
    assert view.words == "sweep of 2: randread 4KiB, T1Q1, 10s … randread 4KiB, T1Q4, 10s"
    assert view.seconds == 2 * workload(found, "one").seconds
    assert next(one.given for one in view.settings if one.field == "iodepth") == [1, 4]
    broken = see(workloads={"seek": {"fio": {**FIO, "iodepth": [1, 1]}}})
    assert [problem.code for problem in workload(broken, "seek").problems] == ["sweep-list"]
    chosen = see(workloads=loads, options=Options(workloads=("seek",)))
    assert [view.name for view in chosen.workloads] == ["seek"]


def test_schema_and_kinds_know_which_options_may_be_lists() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(json.dumps(schema("scenario"))))
    validator.validate(json.loads(document(seek={"iodepth": [1, 4], "numjobs": [1], "bs": ["4KiB", "1MiB"]})))
    for options in ({"iodepth": []}, {"iodepth": [1, 1]}, {"iodepth": [0]}, {"runtime": ["5s"]}, {"bs": [None]}):
        assert not validator.is_valid(json.loads(document(seek=options))), options
    (kind,) = (kind for kind in describe().workloads if kind.kind == "fio")
    assert tuple(sorted(field.name for field in kind.fields if field.sweep)) == tuple(sorted(SWEPT["fio"]))
