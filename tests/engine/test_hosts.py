"""Hosts beside the storage server: what a scenario may say of them, and plans whose steps are on several hosts."""

from __future__ import annotations

import copy
import json

import pytest
from test_simulated import NVME, engine, events  # noqa: F401  a fixture

from raidtui.client.engine_client import EngineClient
from raidtui.engine.compose.hosts import find_hosts
from raidtui.engine.compose.reading import read_document
from raidtui.model.describe import Preview, PreviewRequest
from raidtui.model.event import RunFinished
from raidtui.model.plan import Host, Plan
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import PlanRequest, RunRequest, Started, StartRequest
from raidtui.model.result import Result

SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "clients",
    "hosts": {"storage": {}, "clients": {"count": 2}},
    "roles": {"data": {"count": 2}},
    "layouts": {"tcp": {"nvmeof": {"on": {"md": {"level": "raid1", "on": "@data"}}, "to": "clients"}}},
    "workloads": {"read": {"fio": {"rw": "randread", "bs": "4KiB", "size": "64MiB", "runtime": "10s"}}},
}
ADDRESSES = {"clients": ("root@c1", "root@c2")}


def changed(**parts: object) -> str:
    return json.dumps({**copy.deepcopy(SCENARIO), **parts})


def problems(text: str) -> dict[str, str]:
    with pytest.raises(ProblemError) as caught:
        read_document(text)
    return {problem.place: problem.code for problem in caught.value.problems}


def host(number: int, **differs: object) -> Host:
    given = {"ref": f"clients-{number}", "address": f"c{number}", "host": f"c{number}", "machine_id": str(number),
             "boot_id": "boot", "kernel": "6.12", "own_address": f"10.10.{number}.2",
             "storage_address": f"10.10.{number}.1"}  # fmt: skip
    return Host(**{**given, **differs})


def test_a_layer_goes_to_a_group_that_the_scenario_has():
    read_document(json.dumps(SCENARIO))
    place = "$.layouts.tcp.nvmeof.to"
    assert problems(changed(hosts={"storage": {}, "others": {}})) == {place: "unknown-name"}
    assert problems(changed(hosts={"clients": {}})) == {place: "unknown-name"}, "the first group is the storage server"
    assert problems(changed(hosts={})) == {place: "unknown-name"}


def test_there_is_one_storage_server_and_counts_are_bounded():
    assert problems(changed(hosts={"storage": {"count": 2}, "clients": {}})) == {"$.hosts.storage.count": "schema"}
    assert problems(changed(hosts={"storage": {}, "clients": {"count": 0}})) == {"$.hosts.clients.count": "schema"}
    assert problems(changed(hosts={"storage": {}, "clients": {"cores": 2}}))["$.hosts.clients.cores"] == "schema"


def test_what_cannot_be_on_another_host_is_refused():
    export = SCENARIO["layouts"]["tcp"]
    above = {"tcp": {"nvmeof": {"on": [export], "transport": "loop"}}}
    assert "export-below" in problems(changed(layouts=above)).values()
    files = {"tcp": {"filesystem": {"type": "xfs", "on": export}}}
    with pytest.raises(ProblemError) as caught:
        read_document(changed(layouts=files))
    (problem,) = caught.value.problems
    assert problem.message == "a filesystem cannot stand on the nvmeof below it, whose devices are those of clients"
    assert problem.remedy
    loop = {"tcp": {"nvmeof": {"on": "@data", "to": "clients", "transport": "loop"}}}
    assert problems(changed(layouts=loop)) == {"$.layouts.tcp.nvmeof.transport": "nvmeof-loop-to"}


@pytest.mark.parametrize(("found", "code"), [
    ([host(1), host(2, machine_id="1")], "host-twice"),
    ([host(1), host(2, storage_address="")], "host-no-link"),
    ([host(1), host(2, storage_address="fe80::1%eth1")], "host-link-local"),
    ([host(1), host(2, clock_difference_s=-3600.0)], "host-clock"),
])  # fmt: skip
def test_hosts_that_do_not_fit_are_refused(found: list[Host], code: str):
    scenario = read_document(json.dumps(SCENARIO)).scenario
    with pytest.raises(ProblemError) as caught:
        find_hosts(scenario, scenario.layouts.values(), ADDRESSES, lambda _: {"clients": tuple(found)})
    assert [(problem.code, bool(problem.remedy)) for problem in caught.value.problems] == [(code, True)]
    hosts = find_hosts(scenario, scenario.layouts.values(), ADDRESSES, lambda _: {"clients": (host(1), host(2))})
    assert hosts["clients"][1].ref == "clients-2"


def test_the_storage_server_is_no_client():
    scenario = read_document(json.dumps(SCENARIO)).scenario
    with pytest.raises(ProblemError) as caught:
        find_hosts(scenario, scenario.layouts.values(), ADDRESSES, lambda _: {"clients": (host(1), host(2))}, ("boot", "2"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.message) == ("host-twice", "clients-2 (c2) is the storage server")


def test_as_many_hosts_are_named_as_the_scenario_counts():
    scenario = read_document(json.dumps(SCENARIO)).scenario
    missing, unknown = "hosts-missing", "unknown-name"
    for said, code in (({}, missing), ({"clients": ("c1",)}, missing), ({"others": ("c1",)}, unknown)):
        with pytest.raises(ProblemError) as caught:
            find_hosts(scenario, scenario.layouts.values(), said, lambda _: {})
        assert (caught.value.problems[0].code, bool(caught.value.problems[0].remedy)) == (code, True)


def test_hosts_that_no_layout_is_exported_to_are_not_asked():
    scenario = read_document(changed(layouts={"local": {"md": {"level": "raid1", "on": "@data"}}})).scenario
    assert find_hosts(scenario, scenario.layouts.values(), {}, lambda _: pytest.fail("nobody is asked")) == {}


def test_a_preview_shows_the_commands_before_the_hosts_are_named(engine: EngineClient):  # noqa: F811
    request = PreviewRequest(json.dumps(SCENARIO), {"data": tuple(NVME[:2])})
    found = engine.call("preview", request, Preview)
    assert found.problems == ()
    commands = [" ".join(argv) for argv in found.layouts[0].build]
    assert len([text for text in commands if text.startswith("nvme connect") and "storage-to-clients-" in text]) == 2
    unknown = PreviewRequest(changed(hosts={}), {"data": tuple(NVME[:2])})
    assert [problem.code for problem in engine.call("preview", unknown, Preview).problems] == ["unknown-name"]


def plan_of(engine: EngineClient, addresses: dict[str, tuple[str, ...]] = ADDRESSES) -> tuple[PlanRequest, Plan]:  # noqa: F811
    request = PlanRequest(json.dumps(SCENARIO), {"data": tuple(NVME[:2])}, hosts=addresses)
    return request, engine.call("plan", request, Plan)


def test_every_host_has_an_export_and_a_region_of_its_own(engine: EngineClient):  # noqa: F811
    _, plan = plan_of(engine)
    assert [step.host for step in plan.steps if step.action == "nvmeof.offer"] == ["", ""]
    assert [step.host for step in plan.steps if step.action == "nvmeof.connect"] == ["clients-1", "clients-2"]
    offers = [step.args for step in plan.steps if step.action == "nvmeof.offer"]
    assert len({offer["nqn"] for offer in offers}) == len({offer["host_nqn"] for offer in offers}) == 2
    assert [offer["address"] for offer in offers] == [found.storage_address for found in plan.hosts["clients"]]
    (cell,) = [step for step in plan.steps if step.action == "measure"]
    assert [one["offset_bytes"] for one in cell.args["on"]] == [0, cell.args["size_bytes"]]
    assert cell.args["size_bytes"] % (1 << 20) == 0
    # What was built first is taken away last, and each connection ends before its export.
    order = [step.action for step in plan.steps if step.action.startswith("nvmeof")]
    assert order == [*2 * ["nvmeof.offer", "nvmeof.connect"], *2 * ["nvmeof.disconnect", "nvmeof.withdraw"]]


def test_links_are_measured_before_the_first_layout(engine: EngineClient):  # noqa: F811
    _, plan = plan_of(engine)
    admit, step = plan.steps[:2]
    assert (admit.action, step.action, step.args) == ("admit", "links", {"seconds": 0})
    request = PlanRequest(changed(policy={"ceilings": True}), {"data": tuple(NVME[:2])}, hosts=ADDRESSES)
    step = engine.call("plan", request, Plan).steps[1]
    assert (step.action, step.args, step.seconds) == ("links", {"seconds": 3}, 31.0)


def test_iscsi_has_one_target_with_a_name_and_a_portal_for_each_host(engine: EngineClient):  # noqa: F811
    layouts = {"iscsi": {"iscsi": {"on": "@data", "to": "clients"}}}
    request = PlanRequest(changed(layouts=layouts), {"data": tuple(NVME[:2])}, hosts=ADDRESSES)
    plan = engine.call("plan", request, Plan)
    (offer,) = [step for step in plan.steps if step.action == "iscsi.offer"]
    logins = [step for step in plan.steps if step.action == "iscsi.login"]
    assert [step.host for step in logins] == ["clients-1", "clients-2"]
    allowed = [(offer.args["initiator"], offer.args["address"]),
               *((one["initiator"], one["address"]) for one in offer.args["others"])]  # fmt: skip
    assert allowed == [(step.args["initiator"], step.args["address"]) for step in logins]
    assert [address for _, address in allowed] == [found.storage_address for found in plan.hosts["clients"]]
    assert all(step.args["others"] == [] and step.args["iqn"] == offer.args["iqn"] for step in logins)
    portals = [argv for argv in offer.commands if argv[1].endswith("/portals")]
    assert [argv[3] for argv in portals] == [address for _, address in allowed]
    (cell,) = [step for step in plan.steps if step.action == "measure"]
    assert cell.args["refs"] == cell.args["on"][1]["refs"] == [unit["ref"] for unit in offer.args["devices"]]
    order = [step.action for step in plan.steps if step.action.startswith("iscsi")]
    assert order == ["iscsi.offer", "iscsi.login", "iscsi.login", "iscsi.logout", "iscsi.logout", "iscsi.withdraw"]


STRIPED = {"lvm": {"type": "striped", "volumes": 4, "on": "@data"}}


def exported_plan(engine: EngineClient, layout: object, clients: int = 2) -> Plan:  # noqa: F811
    text = changed(layouts={"x": layout}, hosts={"storage": {}, "clients": {"count": clients}})
    addresses = {"clients": tuple(f"root@c{number}" for number in range(1, clients + 1))}
    return engine.call("plan", PlanRequest(text, {"data": tuple(NVME[:2])}, hosts=addresses), Plan)


def test_each_host_has_volumes_of_its_own_over_nvme(engine: EngineClient):  # noqa: F811
    plan = exported_plan(engine, {"nvmeof": {"on": STRIPED, "to": "clients"}})
    offers = [step.args["devices"] for step in plan.steps if step.action == "nvmeof.offer"]
    assert [[one["on"].rpartition("-")[2] for one in found] for found in offers] == [
        [offers[0][0]["on"], "3"], ["2", "4"],
    ]  # fmt: skip
    (cell,) = [step for step in plan.steps if step.action == "measure"]
    assert [(one["offset_bytes"], one["own"]) for one in cell.args["on"]] == [(0, True), (0, True)]
    assert [one["refs"] for one in cell.args["on"]] == [[one["ref"] for one in found] for found in offers]
    assert cell.args["size_bytes"] == offers[0][0]["size_bytes"]
    assert "volumes of its own" in cell.title
    assert set(cell.files["clients-1.fio"].splitlines()) >= {"[d0]", "[d1]"}
    assert cell.commands[0][3:] == ("--client=sock:clients-1.sock", "clients-1.fio",
                                    "--client=sock:clients-2.sock", "clients-2.fio")  # fmt: skip


def test_each_host_has_volumes_of_its_own_of_one_iscsi_target(engine: EngineClient):  # noqa: F811
    pool = {"zpool": {"vdevs": [{"stripe": "@data"}], "volume": {"size": "80%"}, "volumes": 4}}
    plan = exported_plan(engine, {"iscsi": {"on": pool, "to": "clients"}})
    (offer,) = [step for step in plan.steps if step.action == "iscsi.offer"]
    logins = [step.args for step in plan.steps if step.action == "iscsi.login"]
    assert [[unit["ref"] for unit in login["devices"]] for login in logins] == [
        [offer.args["devices"][at]["ref"] for at in places] for places in ((0, 2), (1, 3))
    ]
    mapped = [argv[2:] for argv in offer.commands if "/acls/" in argv[1]]
    assert mapped == [("create", "0", "0"), ("create", "1", "2"), ("create", "0", "1"), ("create", "1", "3")]
    (cell,) = [step for step in plan.steps if step.action == "measure"]
    assert [one["refs"] for one in cell.args["on"]] == [[unit["ref"] for unit in login["devices"]] for login in logins]


@pytest.mark.parametrize(("layout", "clients", "words"), [
    ({"nvmeof": {"on": STRIPED, "to": "clients"}}, 3, "4 volumes cannot be shared out to 3 hosts"),
    ({"nvmeof": {"on": [{"lvm": {"volumes": 2, "on": {"partition": {"on": "@data", "use": "50%"}}}},
                        {"partition": {"on": "@data", "use": "50%"}}], "to": "clients"}}, 2, "exported together"),
])  # fmt: skip
def test_volumes_that_cannot_be_shared_out_are_refused(engine: EngineClient, layout: object, clients: int, words: str):  # noqa: F811
    with pytest.raises(ProblemError) as caught:
        exported_plan(engine, layout, clients)
    (problem,) = caught.value.problems
    assert (problem.code, problem.place) == ("volumes-unequal", "$.layouts.x.nvmeof")
    assert words in problem.message
    assert problem.remedy


def test_a_preview_says_what_each_host_has_and_how_it_is_loaded(engine: EngineClient):  # noqa: F811
    layouts = {"own": {"nvmeof": {"on": STRIPED, "to": "clients"}}, "local": STRIPED, **SCENARIO["layouts"]}
    found = engine.call("preview", PreviewRequest(changed(layouts=layouts), {"data": tuple(NVME[:2])}), Preview)
    assert [layout.hosts_have for layout in found.layouts] == ["volumes of its own", "", "a region of its own"]
    (workload,) = found.workloads
    assert "/dev/rtpreview0" in " ".join(workload.command)
    assert [hosted.layouts for hosted in workload.hosted] == [("own",), ("tcp",)]
    assert all(set(hosted.files) == {"clients-1.fio", "clients-2.fio"} for hosted in workload.hosted)
    alone = engine.call("preview", PreviewRequest(json.dumps(SCENARIO), {"data": tuple(NVME[:2])}), Preview)
    assert (alone.workloads[0].command, len(alone.workloads[0].hosted)) == ((), 1)


def test_disks_are_those_of_a_group_of_hosts():
    read_document(changed(roles={"data": {"count": 2, "host": "storage"}}))
    place = "$.roles.data.host"
    assert problems(changed(roles={"data": {"count": 2, "host": "others"}})) == {place: "unknown-name"}


def test_consent_is_to_a_plan_with_these_hosts(engine: EngineClient):  # noqa: F811
    _, plan = plan_of(engine)
    _, same = plan_of(engine)
    _, other = plan_of(engine, {"clients": ("root@c1", "root@c3")})
    assert plan.digest == same.digest != other.digest


def test_a_simulated_run_has_its_hosts_in_the_result(engine: EngineClient):  # noqa: F811
    request, plan = plan_of(engine)
    started = engine.call("start", StartRequest(request, plan.digest, plan.token, plan.erases), Started)
    assert [event.exit for event in events(engine, started.run) if isinstance(event, RunFinished)] == [0]
    result = engine.call("result", RunRequest(started.run), Result)
    assert [found.address for found in result.hosts["clients"]] == ["root@c1", "root@c2"]
    assert [built.hosts_have for built in result.layouts] == ["a region of its own"]
