"""Images of a Vitastor cluster: options that cannot be, and the commands of a plan. Nothing here needs a cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from raidtui.engine.compose.planner import make_plan
from raidtui.engine.compose.reading import read_document
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import ProblemError
from raidtui.stack.catalog import bind

XOR: dict[str, Any] = {"size": "32MiB", "images": 2, "erasure": {"k": 2, "scheme": "xor"}, "failure_domain": "osd"}
READ: dict[str, Any] = {"rw": "randread", "bs": "4KiB", "runtime": "10s"}
PLACE = "$.layouts.images.vitastor"


def document(options: dict[str, Any], fio: dict[str, Any] = READ) -> str:
    return json.dumps({
        "schema": "raidtui.scenario/1", "name": "t", "roles": {}, "layouts": {"images": {"vitastor": options}},
        "workloads": {"read": {"fio": fio}},
    })  # fmt: skip


def problems(**options: Any) -> dict[str, str]:
    try:
        read_document(document({"size": "32MiB", **options}))
    except ProblemError as error:
        return {problem.place.removeprefix(PLACE): problem.code for problem in error.problems}
    return {}


def planned(options: dict[str, Any], fio: dict[str, Any] = READ) -> Plan:
    return make_plan(read_document(document(options, fio)).scenario, {}, Options(), token="abcdefgh", boot_id="b")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"size": "1000kB"}, {".size": "vitastor-size"}),
        ({"through": "ublk"}, {".through": "vitastor-ublk"}),
        ({"replicated": {"size": 2, "min_size": 3}}, {".replicated.min_size": "vitastor-copies"}),
        ({"replicated": {}, "erasure": {"k": 2}}, {".erasure": "vitastor-copies"}),
        ({"erasure": {"k": 2, "m": 2, "scheme": "xor"}}, {".erasure.m": "vitastor-copies"}),
        ({"erasure": {"k": 4, "m": 2, "min_size": 3}}, {".erasure.min_size": "vitastor-copies"}),
        ({"config": "relative.conf"}, {".config": "schema"}),
        ({"etcd": "--help me"}, {".etcd": "schema"}),
        ({"failure_domain": "--force"}, {".failure_domain": "schema"}),
        ({"erasure": {"k": 4, "m": 2, "min_size": 5}, "etcd": "10.0.0.1:2379/v3,[fd00::1]:2379/v3", "through": "nbd"}, {}),
    ],
)
def test_options_that_cannot_be_are_refused_at_their_place(options: dict[str, Any], found: dict[str, str]) -> None:
    assert problems(**options) == found


def commands(plan: Plan, action: str) -> list[str]:
    return [" ".join(argv) for step in plan.steps if step.action == action for argv in step.commands]


def test_the_commands_are_those_of_the_tools_with_options_after_the_verb() -> None:
    plan = planned({"size": "32MiB", "replicated": {"size": 2, "min_size": 1}, "failure_domain": "osd", "pg_num": 8})
    name = next(step.creates.name for step in plan.steps if step.creates is not None)
    assert commands(plan, "vitastor.pool") == [
        f"vitastor-cli create-pool {name} -s 2 --pg_minsize 1 -n 8 --failure_domain osd --wait --json"
    ]
    assert commands(plan, "vitastor.images") == [f"vitastor-cli create -s 32M -p {name} {name}-1 --json"]
    assert commands(plan, "vitastor.remove") == [
        f"vitastor-cli rm {name}-1 --progress 0", f"vitastor-cli rm-pool {name}",
    ]  # fmt: skip


def test_through_the_engine_fio_opens_the_images_and_nothing_is_mapped() -> None:
    plan = planned({**XOR, "config": "/etc/vitastor/b.conf", "etcd": "10.0.0.1:2379/v3"})
    assert [step.action for step in plan.steps if step.phase in ("build", "teardown")] == [
        "vitastor.pool", "vitastor.images", "vitastor.verify", "vitastor.remove",
    ]  # fmt: skip
    (pool,) = commands(plan, "vitastor.pool")
    assert " --ec 2+1 " in pool, "--scheme xor leaves a pool inactive"
    fill, cell = (next(step for step in plan.steps if step.action == action) for action in ("prefill", "measure"))
    assert fill.args["kind"] == cell.args["kind"] == "image"
    assert cell.args["counted"] == "no", "the kernel counts nothing"
    argv = cell.commands[0]
    assert [word for word in argv if "ioengine" in word] == ["--ioengine=libfio_vitastor.so"]
    assert "--thread=1" in argv
    first = argv.index("--name=d0")
    assert argv[first + 1].startswith("--image=rt")
    assert argv[first + 2 : first + 5] == ("--conf=/etc/vitastor/b.conf", "--etcd=10.0.0.1:2379/v3", "--name=d1")


def test_through_nbd_images_are_mapped_and_unmapped() -> None:
    plan = planned({**XOR, "through": "nbd", "config": "/etc/vitastor/b.conf"})
    assert [step.action for step in plan.steps if step.phase in ("build", "teardown")] == [
        "vitastor.pool", "vitastor.images", "vitastor.map", "vitastor.verify", "vitastor.unmap", "vitastor.remove",
    ]  # fmt: skip
    maps, unmaps = commands(plan, "vitastor.map"), commands(plan, "vitastor.unmap")
    assert len(maps) == len(unmaps) == 2
    assert all(one.startswith("vitastor-nbd map --image rt") for one in maps)
    assert all("--config_path /etc/vitastor/b.conf" in one for one in maps)
    assert next(step.args["kind"] for step in plan.steps if step.action == "measure") == "block"


def test_the_cluster_is_named_in_each_command_of_its_tool() -> None:
    plan = planned({**XOR, "config": "/etc/vitastor/b.conf"})
    own = [argv for step in plan.steps for argv in (*step.commands, *step.undo) if argv[0] == "vitastor-cli"]
    assert own
    assert all(argv[argv.index("--config_path") + 1] == "/etc/vitastor/b.conf" for argv in own)
    assert not any(argv[1].startswith("-") for argv in own)


@pytest.mark.parametrize("through", ["engine", "nbd"])
def test_smaller_blocks_than_the_cluster_has_are_refused(through: str) -> None:
    with pytest.raises(ProblemError) as refused:
        planned({**XOR, "through": through}, {**READ, "bs": "2KiB"})
    (problem,) = refused.value.problems
    assert (problem.code, "4096" in problem.message) == ("under-sector", True)


def test_several_jobs_may_load_one_image_of_vitastor_and_not_one_with_a_lock() -> None:
    jobs = {**READ, "numjobs": 8, "iodepth": 64}
    assert planned(XOR, jobs).cells
    for features, refused in ((None, True), (["layering", "exclusive-lock"], True), (["layering"], False)):
        ceph = {"size": "32MiB", "through": "librbd", **({"features": features} if features else {})}
        given = json.loads(document({}, jobs))
        given["layouts"] = {"images": {"rbd": ceph}}
        codes = set()
        try:
            make_plan(read_document(json.dumps(given)).scenario, {}, Options(), token="abcdefgh", boot_id="b")
        except ProblemError as error:
            codes = {problem.code for problem in error.problems}
        assert codes == ({"image-clients"} if refused else set())


def test_every_step_can_be_decoded_from_the_journal() -> None:
    for step in planned({**XOR, "through": "nbd"}).steps:
        if step.action.startswith("vitastor."):
            bind(step.action, step.args)


def test_regions_are_written_before_they_are_read() -> None:
    assert next(step.action for step in planned(XOR).steps if step.phase == "measure") == "prefill"
