"""Images of a Ceph cluster: options that cannot be, and the commands of a plan. Nothing here needs a cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from raidtui.engine.compose.planner import make_plan
from raidtui.engine.compose.reading import read_document
from raidtui.model.convert import decode
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import ProblemError
from raidtui.stack.amplification import Writes
from raidtui.stack.catalog import bind
from raidtui.stack.rbd import LAYER
from raidtui.stack.rbd.spec import RbdSpec

EC: dict[str, Any] = {"size": "32MiB", "images": 2, "erasure": {"k": 2, "m": 1}, "failure_domain": "osd", "pg_num": 8}
PLACE = "$.layouts.images.rbd"


def document(options: dict[str, Any]) -> str:
    return json.dumps({
        "schema": "raidtui.scenario/1", "name": "t", "roles": {}, "layouts": {"images": {"rbd": options}},
        "workloads": {"read": {"fio": {"rw": "randread", "bs": "4KiB", "runtime": "10s"}}},
    })  # fmt: skip


def problems(**options: Any) -> dict[str, str]:
    try:
        read_document(document({"size": "32MiB", **options}))
    except ProblemError as error:
        return {problem.place.removeprefix(PLACE): problem.code for problem in error.problems}
    return {}


def planned(options: dict[str, Any]) -> Plan:
    return make_plan(read_document(document(options)).scenario, {}, Options(), token="abcdefgh", boot_id="b")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"size": "1000kB"}, {".size": "rbd-size"}),
        ({"object_size": "3MiB"}, {".object_size": "rbd-objects"}),
        ({"stripe_unit": "64KiB"}, {".stripe_unit": "rbd-objects"}),
        ({"stripe_unit": "96KiB", "stripe_count": 2}, {".stripe_unit": "rbd-objects"}),
        ({"features": ["layering", "object-map"]}, {".features": "rbd-features"}),
        ({"features": ["exclusive-lock", "journaling"]}, {".features": "rbd-features"}),
        ({"replicated": {"size": 2, "min_size": 3}}, {".replicated.min_size": "rbd-copies"}),
        ({"pool": "rbd", "pg_num": 8, "root": "default"}, {".pg_num": "rbd-existing-pool", ".root": "rbd-existing-pool"}),
        ({"pool": "rbd", "erasure": {"k": 2, "m": 1}}, {".erasure": "rbd-existing-pool"}),
        ({"data_pool": "pieces"}, {".data_pool": "rbd-existing-pool"}),
        ({"pool": "rbd", "data_pool": "pieces"}, {}),
        ({"map_options": "ms_mode=crc,osd_request_timeout=0"}, {".map_options": "rbd-map-option"}),
        ({"map_options": "ms_mode=crc;reboot"}, {".map_options": "schema"}),
        ({"cache": True}, {".cache": "rbd-client"}),
        ({"through": "librbd", "keyring": "/etc/ceph/k", "map_options": "ms_mode=crc"},
         {".keyring": "rbd-client", ".map_options": "rbd-client"}),
        ({"through": "librbd", "cache": True, "features": ["exclusive-lock", "journaling"]}, {}),
        ({"user": "--help"}, {".user": "schema"}),
        ({"conf": "relative.conf"}, {".conf": "schema"}),
        ({"features": ["layering", "exclusive-lock"], "stripe_unit": "64KiB", "stripe_count": 4}, {}),
    ],
)
def test_options_that_cannot_be_are_refused_at_their_place(options: dict[str, Any], found: dict[str, str]) -> None:
    assert problems(**options) == found


def test_a_plan_makes_pool_images_and_mappings_and_takes_each_of_them_away() -> None:
    plan = planned(EC)
    assert [step.action for step in plan.steps if step.phase in ("build", "teardown")] == [
        "rbd.pool", "rbd.images", "rbd.map", "rbd.verify", "rbd.unmap", "rbd.remove",
    ]  # fmt: skip
    assert plan.erases == ()
    made = {step.action: step for step in plan.steps}
    name = made["rbd.pool"].creates.name  # type: ignore[union-attr]
    text = "\n".join(" ".join(argv) for argv in made["rbd.pool"].commands)
    assert f"erasure-code-profile set {name}-data k=2 m=1 crush-failure-domain=osd" in text
    assert f"osd pool set {name}-data allow_ec_overwrites true" in text
    taken = [argv[2:] for argv in made["rbd.remove"].commands]
    assert [words[:3] for words in taken] == [
        ("pool", "delete", f"{name}-data"), ("pool", "delete", name), ("crush", "rule", "rm"), ("crush", "rule", "rm"),
        ("erasure-code-profile", "rm", f"{name}-data"),
    ]  # fmt: skip
    assert len(made["rbd.map"].commands) == 1 + 2
    assert all("osd_request_timeout=" in argv[-1] for argv in made["rbd.map"].commands[1:])


def test_regions_are_written_before_they_are_read() -> None:
    assert next(step.action for step in planned(EC).steps if step.phase == "measure") == "prefill"


def test_the_cluster_is_named_in_each_command_and_no_key_is() -> None:
    where = {"conf": "/etc/ceph/b.conf", "user": "bench", "keyring": "/etc/ceph/b.keyring"}
    plan = planned({**EC, **where})
    words = ("--conf", "/etc/ceph/b.conf", "--name", "client.bench", "--keyring", "/etc/ceph/b.keyring")
    own = [argv for step in plan.steps for argv in (*step.commands, *step.undo) if argv[0] in ("ceph", "rbd")]
    assert own
    assert all(argv[1:7] == words for argv in own)


def test_every_step_can_be_decoded_from_the_journal() -> None:
    for step in planned(EC).steps:
        if step.action.startswith("rbd."):
            bind(step.action, step.args)


def test_through_librbd_the_workload_opens_the_images_and_nothing_is_mapped() -> None:
    plan = planned({**EC, "through": "librbd", "conf": "/etc/ceph/b.conf"})
    assert [step.action for step in plan.steps if step.phase in ("build", "teardown")] == [
        "rbd.pool", "rbd.images", "rbd.verify", "rbd.remove",
    ]  # fmt: skip
    made = next(step for step in plan.steps if step.action == "rbd.images")
    assert made.commands[0][-2:] == ("rbd_cache", "false"), "direct I/O does not pass librbd's cache"
    fill, cell = (next(step for step in plan.steps if step.action == action) for action in ("prefill", "measure"))
    assert fill.args["kind"] == cell.args["kind"] == "image"
    assert cell.args["counted"] == "no", "the kernel counts nothing"
    assert cell.commands[0][:2] == ("/usr/bin/env", "CEPH_CONF=/etc/ceph/b.conf")
    assert not any("/dev/" in word for word in cell.commands[0])


def test_no_layer_stands_on_an_image_that_the_workload_opens_itself() -> None:
    for through, found in (("krbd", set()), ("librbd", {"no-device-below"})):
        given = json.loads(document({}))
        given["layouts"] = {"xfs": {"filesystem": {"type": "xfs", "on": {"rbd": {"size": "1GiB", "through": through}}}}}
        try:
            read_document(json.dumps(given))
            codes = set()
        except ProblemError as error:
            codes = {problem.code for problem in error.problems}
        assert codes == found


def test_a_tool_that_needs_a_device_is_refused_on_an_image() -> None:
    given = json.loads(document({**EC, "through": "librbd"}))
    given["workloads"] = {"dd": {"dd": {"do": "read", "bs": "1MiB", "size": "16MiB"}}}
    with pytest.raises(ProblemError) as refused:
        make_plan(read_document(json.dumps(given)).scenario, {}, Options(), token="abcdefgh", boot_id="b")
    assert {problem.code for problem in refused.value.problems} == {"workload-target"}


def test_scrubs_are_held_around_all_of_it() -> None:
    plan = planned({**EC, "scrub": "hold"})
    steps = [step for step in plan.steps if step.phase in ("build", "teardown")]
    assert (steps[0].action, steps[-1].action) == ("rbd.hold", "rbd.release")
    assert steps[0].undo == steps[-1].commands
    assert bind(steps[0].action, steps[0].args).claims() == ("scrubs of the Ceph cluster of /etc/ceph/ceph.conf",)


@pytest.mark.parametrize(
    ("options", "least"),
    [
        ({"replicated": {"size": 2}}, 2.0),
        ({"erasure": {"k": 2, "m": 1}}, 1.5),
        ({}, None),  # the number of copies is the cluster's own
    ],
)
def test_osds_write_at_least_copies_or_pieces(options: dict[str, Any], least: float | None) -> None:
    spec = decode(RbdSpec, {"size": "1GiB", **options}, PLACE)
    (share,) = LAYER.spread(spec, {}, Writes(4096, 4096, True)).inputs.values()
    assert (share.low, share.high) == (least, None)
