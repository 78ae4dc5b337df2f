"""Roles whose disks are those of other hosts: bound, planned and consented to by host, and each host's part of a plan."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_simulated import engine, events  # noqa: F401  a fixture

from raidtui.client.engine_client import EngineClient
from raidtui.engine.compose.reading import read_document
from raidtui.engine.machine import describe
from raidtui.engine.run.host_part import part_of
from raidtui.engine.run.runs import fold
from raidtui.engine.simulated.disks import RECORDED_DISKS
from raidtui.front.plan import check_consent
from raidtui.model.describe import Preview, PreviewRequest
from raidtui.model.event import Record, RunFinished, RunStarted, StepDone, StepStarted
from raidtui.model.plan import Plan
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import PlanRequest, RunRequest, Started, StartRequest
from raidtui.model.recording import read_recording
from raidtui.model.result import Result

A, B, C, D = [disk.id for disk in read_recording(RECORDED_DISKS).disks if disk.rotational is False][:4]
SCENARIO: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "there",
    "hosts": {"storage": {}, "nodes": {"count": 2}},
    "roles": {"own": {"count": 2, "host": "nodes"}, "data": {"count": 2}},
    "layouts": {
        "mirror": {"md": {"level": "raid1", "on": "@own"}},
        "bare": {"disk": {"on": "@own"}},
        "files": {"filesystem": {"type": "xfs", "on": {"md": {"level": "raid0", "on": "@own"}}}},
        "here": {"md": {"level": "raid1", "on": "@data"}},
    },
    "workloads": {"read": {"fio": {"rw": "randread", "bs": "4KiB", "size": "64MiB", "runtime": "10s"}}},
}
NODES = {"nodes": ("root@n1", "root@n2")}
BIND = {"data": (C, D), "nodes-1:own": (A, B), "nodes-2:own": (f"nodes-2:{B}", f"nodes-2:{C}")}
ERASED = sorted((C, D, f"nodes-1:{A}", f"nodes-1:{B}", f"nodes-2:{B}", f"nodes-2:{C}"))


def changed(**parts: object) -> str:
    return json.dumps({**SCENARIO, **parts})


def asked(bind: dict[str, tuple[str, ...]] | None = None) -> PlanRequest:
    return PlanRequest(json.dumps(SCENARIO), bind or BIND, hosts=NODES)


def planned(engine: EngineClient, bind: dict[str, tuple[str, ...]] | None = None) -> Plan:  # noqa: F811
    return engine.call("plan", asked(bind), Plan)


def problem_of(engine: EngineClient, bind: dict[str, tuple[str, ...]]) -> tuple[str, str]:  # noqa: F811
    with pytest.raises(ProblemError) as caught:
        planned(engine, bind)
    problem = caught.value.problems[0]
    return problem.code, problem.remedy


def test_each_host_has_disks_of_its_own_that_are_named_with_it(engine: EngineClient):  # noqa: F811
    plan = planned(engine)
    assert list(plan.erases) == ERASED
    assert {role: [disk.host for disk in disks] for role, disks in plan.binding.items()} == {
        "data": ["", ""], "nodes-1:own": ["nodes-1"] * 2, "nodes-2:own": ["nodes-2"] * 2,
    }  # fmt: skip
    assert set(plan.looks) == set(ERASED), "how much of each disk was read is known of hosts' disks, too"


def test_disks_of_hosts_are_never_chosen_from_several(engine: EngineClient):  # noqa: F811
    assert problem_of(engine, {"data": (C, D)})[0] == "ambiguous-binding"
    code, remedy = problem_of(engine, {**BIND, "own": (A, B)})
    assert (code, remedy) == ("unknown-role", "Name them by host: --bind nodes-1:own=SERIAL")
    assert problem_of(engine, {**BIND, "nodes-3:own": (A, B)})[0] == "unknown-role"
    assert problem_of(engine, {**BIND, "nodes-1:own": (A, A)})[0] == "disk-twice"


def test_consent_to_a_disk_of_a_host_names_the_host(engine: EngineClient):  # noqa: F811
    plan = planned(engine)
    assert check_consent(plan, ERASED) == plan.erases
    for wrong in ([C, D, A, B, B, C], [name.removeprefix("nodes-2:") for name in ERASED], ERASED[1:]):
        with pytest.raises(ProblemError) as caught:
            check_consent(plan, wrong)
        assert {problem.code for problem in caught.value.problems} <= {"erase-too-few", "erase-too-many"}
        request = StartRequest(asked(), plan.digest, plan.token, tuple(wrong))
        with pytest.raises(ProblemError) as caught:
            engine.call("start", request, Started)
        assert {problem.code for problem in caught.value.problems} <= {"erase-too-few", "erase-too-many", "erase-unknown"}


def test_a_layout_is_built_and_taken_down_by_each_host_and_loaded_by_all(engine: EngineClient):  # noqa: F811
    plan = planned(engine)
    of_mirror = [step for step in plan.steps if step.block == "mirror#1"]
    built = [(step.host, step.action) for step in of_mirror if step.phase == "build" and step.action == "md.create"]
    assert built == [("nodes-1", "md.create"), ("nodes-2", "md.create")]
    blanked = [step for step in of_mirror if step.action == "disks.blank"]
    assert [(step.host, step.erases) for step in blanked] == [
        ("nodes-1", (f"nodes-1:{A}", f"nodes-1:{B}")), ("nodes-2", (f"nodes-2:{B}", f"nodes-2:{C}")),
    ]  # fmt: skip
    (cell,) = [step for step in of_mirror if step.action == "measure"]
    assert [(one["host"], one["offset_bytes"], one["built"]) for one in cell.args["on"]] == [
        ("nodes-1", 0, True), ("nodes-2", 0, True),
    ]  # fmt: skip
    assert cell.title.endswith("by nodes-1, nodes-2, each with disks of its own")
    assert set(cell.files) == {"nodes-1.fio", "nodes-2.fio"}
    assert all(not step.host for step in plan.steps if step.block == "here#1")
    assert {step.host for step in plan.steps if step.phase == "finish"} == {"", "nodes-1", "nodes-2"}


def test_disks_that_are_measured_one_by_one_are_so_on_each_host(engine: EngineClient):  # noqa: F811
    cells = [cell for cell in planned(engine).cells if cell.layout == "bare"]
    assert sorted(cell.part for cell in cells) == sorted(name for name in ERASED if ":" in name)


def test_files_of_a_filesystem_on_hosts_lie_in_a_folder_of_each(engine: EngineClient):  # noqa: F811
    (cell,) = [step for step in planned(engine).steps if step.block == "files#1" and step.action == "measure"]
    assert all("directory=/proc/self/fd/100" in text for text in cell.files.values())


def test_a_host_gets_its_own_part_under_its_own_names(engine: EngineClient):  # noqa: F811
    plan = planned(engine)
    part = part_of(plan, "nodes-2")
    assert {role: [(disk.id, disk.host) for disk in disks] for role, disks in part.binding.items()} == {
        "nodes-2:own": [(B, ""), (C, "")]
    }  # fmt: skip
    assert set(part.erases) == {B, C}
    assert {disk for step in part.steps for disk in step.erases} == {B, C}
    told = json.dumps([[step.host, step.args, step.erases] for step in part.steps])
    assert "nodes-" not in told
    assert f"disk:{B}" in told
    assert f"disk:{A}" not in told
    assert not [step for step in part.steps if step.block == "here#1"]


def test_the_storage_server_owes_nothing_on_disks_of_hosts(engine: EngineClient):  # noqa: F811
    """A host's disk may have the same name as one of the storage server: neither is taken for the other."""
    plan = planned(engine, {**BIND, "nodes-1:own": (C, D)})
    steps = [step for step in plan.steps if step.block in ("here#1", "mirror#1") and step.phase in ("build", "teardown")]
    events_of: list[Any] = [RunStarted("run", plan, describe(), 1, "0")]
    for step in [one for one in steps if one.block == "here#1" and one.phase == "build"]:
        events_of.append(StepStarted(step.id, step.title, step.action, creates=step.creates, args=step.args))
    for step in [one for one in steps if one.block == "mirror#1"]:
        events_of.append(StepStarted(step.id, step.title, step.action, creates=step.creates, args=step.args))
        facts = {"blank": {disk: {} for disk in (C, D)}} if step.action == "disks.blank" else {}
        events_of.append(StepDone(step.id, "undone" if step.phase == "teardown" else "done", 0.1, facts=facts))
    story = fold(iter([Record(number, 0.0, "", event) for number, event in enumerate(events_of)]))
    assert set(story.owed) == {C, D}
    assert [step.action for step in story.made] == ["md.create"]


def test_what_cannot_be_there_is_refused_by_name(engine: EngineClient):  # noqa: F811
    mixed = {"md": {"level": "raid1", "on": ["@own", "@data"]}}
    exported = {"nvmeof": {"on": "@own", "transport": "loop"}}
    for layout in (mixed, exported):
        with pytest.raises(ProblemError) as caught:
            read_document(changed(layouts={"wrong": layout}))
        assert [(one.code, bool(one.remedy)) for one in caught.value.problems] == [("role-host", True)]
    request = PlanRequest(changed(policy={"precondition": "1x"}), BIND, hosts=NODES)
    with pytest.raises(ProblemError) as caught:
        engine.call("plan", request, Plan)
    assert caught.value.problems[0].code == "role-host"


def test_a_preview_shows_what_stands_on_disks_of_hosts_without_sizes_before_these_were_seen(
    engine: EngineClient,  # noqa: F811
):
    shown = engine.call("preview", PreviewRequest(json.dumps(SCENARIO), {"data": (C, D)}), Preview)
    assert shown.problems == ()
    views = {layout.name: layout for layout in shown.layouts}
    assert views["here"].size_bytes
    assert (views["here"].on_each_of, views["mirror"].on_each_of) == ((), ("nodes-1", "nodes-2"))
    assert views["mirror"].size_bytes is None
    assert (views["mirror"].may_fail, views["mirror"].erases, shown.seconds) == (1, (), None)


def test_a_preview_has_sizes_and_the_cost_of_the_run_once_the_disks_of_hosts_were_seen(
    engine: EngineClient,  # noqa: F811
):
    disks = read_recording(RECORDED_DISKS).disks
    request = PreviewRequest(json.dumps(SCENARIO), BIND, there={"nodes-1": disks, "nodes-2": disks})
    shown = engine.call("preview", request, Preview)
    assert shown.problems == ()
    views, plan = {layout.name: layout for layout in shown.layouts}, planned(engine)
    sizes = {disk.id: disk.size_bytes for disk in disks}
    mirror, bare = views["mirror"], views["bare"]
    assert mirror.size_bytes is not None
    assert mirror.raw_bytes == sizes[A] + sizes[B] > 2 * mirror.size_bytes > 0
    assert mirror.erases == tuple(disk for disk in ERASED if disk not in (C, D))
    assert bare.size_bytes == min(sizes[A], sizes[B])
    built = [command for command in mirror.build if "--create" in command]
    assert len(built) == 1, "the commands of one host stand for those of all"
    assert (shown.seconds, shown.cells, shown.erases) == (plan.seconds, len(plan.cells), plan.erases)
    (host, *_) = mirror.stack.inputs["on"]
    assert sorted(host.disks) == list(mirror.erases)


def test_a_preview_names_the_choice_that_a_host_leaves_open(engine: EngineClient):  # noqa: F811
    disks = read_recording(RECORDED_DISKS).disks
    bind = {role: ids for role, ids in BIND.items() if role != "nodes-2:own"}
    request = PreviewRequest(json.dumps(SCENARIO), bind, there={"nodes-1": disks, "nodes-2": disks})
    shown = engine.call("preview", request, Preview)
    (problem,) = shown.problems
    assert (problem.code, problem.place) == ("ambiguous-binding", "$.roles.own")
    assert "'nodes-2:own' needs 2 disks" in problem.message
    views = {layout.name: layout for layout in shown.layouts}
    assert views["mirror"].size_bytes is None
    assert views["mirror"].stack.size_bytes, "of the host whose disks are chosen"


def test_a_run_on_disks_of_hosts_from_plan_to_result(engine: EngineClient):  # noqa: F811
    plan = planned(engine)
    started = engine.call("start", StartRequest(asked(), plan.digest, plan.token, tuple(ERASED)), Started)
    (end,) = [event for event in events(engine, started.run) if isinstance(event, RunFinished)]
    assert (end.exit, end.problems) == (0, ())
    result = engine.call("result", RunRequest(started.run), Result)
    assert {disk.id for disks in result.binding.values() for disk in disks} == set(ERASED)
    assert len(result.cells) == 7
