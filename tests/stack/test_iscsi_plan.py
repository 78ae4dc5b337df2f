"""A plan of an export over iSCSI: what will run, who may log in, and how everything is found again."""

from __future__ import annotations

from typing import Any

import pytest

from raidtui.model.convert import decode
from raidtui.model.network import LinkEnd
from raidtui.model.plan import Host, Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.iscsi import LAYER
from raidtui.stack.iscsi.build import asked
from raidtui.stack.iscsi.plan import device_path
from raidtui.stack.iscsi.spec import IscsiExport, IscsiSpec
from raidtui.stack.layer import Part, Planned

GIB = 1 << 30
DISKS = tuple(Part(f"disk:{name}", f"/dev/{name}", 8 * GIB, 512, (name,), True) for name in "ab")


def spec_of(**options: Any) -> IscsiSpec:
    return decode(IscsiSpec, {"on": "@data", **options})


def plan(*below: Part, token: str = "abcd1234", **options: Any) -> Planned:
    return LAYER.plan(spec_of(**options), {"on": below or DISKS}, Names(token), Policy())


def export_of(planned: Planned) -> IscsiExport:
    (args,) = {draft.args for draft in (*planned.build, *planned.teardown)}
    assert isinstance(args, IscsiExport)
    return args


def texts(planned: Planned) -> list[str]:
    return [" ".join(argv) for argv in planned.build[0].commands]


def test_the_portal_is_on_the_loopback_address_alone_and_comes_last() -> None:
    export, made = export_of(plan()), [text for text in texts(plan()) if text.startswith("targetcli")]
    assert (export.address, 61_000 <= export.port < 65_536) == ("127.0.0.1", True)
    assert made[0] == "targetcli set global auto_add_default_portal=false auto_add_mapped_luns=false"
    assert made[-1] == f"targetcli /iscsi/{export.iqn}/tpg1/portals create 127.0.0.1 {export.port}"


def test_only_the_initiator_of_the_run_may_log_in() -> None:
    export, made = export_of(plan()), texts(plan())
    assert f"targetcli /iscsi/{export.iqn}/tpg1 set attribute authentication=0 generate_node_acls=0" in made
    assert [text for text in made if "acls create" in text] == [
        f"targetcli /iscsi/{export.iqn}/tpg1/acls create {export.initiator}"
    ]
    assert f"iscsiadm -m iface -I {export.name} -o update -n iface.initiatorname -v {export.initiator}" in made


def test_every_device_is_a_unit_with_its_planned_serial_number() -> None:
    planned = plan()
    export = export_of(planned)
    assert [unit.on for unit in export.devices] == ["disk:a", "disk:b"]
    assert len({unit.serial for unit in export.devices}) == 2
    assert [offer.path for offer in planned.offers] == [device_path(export, lun) for lun in range(2)]
    assert LAYER.devices(spec_of(), {"on": 2}) == 2


def test_options_of_the_session_are_those_asked_for() -> None:
    made = texts(plan(queue_depth=64, session_commands=512, immediate_data=False))
    assert any(text.endswith("-n node.session.queue_depth -v 64") for text in made)
    assert any(text.endswith("-n node.session.cmds_max -v 512") for text in made)
    for depth, commands in ((32, 128), (113, 128), (114, 256), (128, 256), (1024, 2048)):
        assert any(text.endswith(f"-n node.session.cmds_max -v {commands}") for text in texts(plan(queue_depth=depth)))
    assert any(text.endswith("-n node.session.iscsi.ImmediateData -v No") for text in made)
    assert any(text.endswith("set parameter ImmediateData=No") for text in made)


def test_iser_turns_the_portal_and_the_initiators_interface_to_rdma() -> None:
    planned = plan(transport="iser", address="10.0.0.1")
    export, made = export_of(planned), texts(planned)
    assert made[:3] == ["modprobe target_core_iblock", "modprobe iscsi_target_mod", "modprobe ib_isert"]
    assert f"targetcli /iscsi/{export.iqn}/tpg1/portals/{export.portal} enable_iser boolean=true" in made
    assert f"iscsiadm -m iface -I {export.name} -o update -n iface.transport_name -v iser" in made
    assert not any("iser" in text for text in texts(plan()))


@pytest.mark.parametrize("transport", ["tcp", "iser"])
def test_a_portal_of_ipv6_has_brackets(transport: str) -> None:
    planned = plan(transport=transport, address="FD00:0::1")
    export, made = export_of(planned), texts(planned)
    assert (export.address, export.portal, export.portals) == ("fd00::1", f"[fd00::1]:{export.port}",
                                                               (f"[fd00::1]:{export.port}",))  # fmt: skip
    assert f"targetcli /iscsi/{export.iqn}/tpg1/portals create fd00::1 {export.port}" in made
    assert any(f"-p [fd00::1]:{export.port} " in text and text.endswith("--login") for text in made)
    assert asked(export)["portals"] == [f"[fd00::1]:{export.port}"]
    assert device_path(export, 0).startswith(f"/dev/disk/by-path/ip-fd00::1:{export.port}-iscsi-")


def test_hosts_on_links_of_ipv6_have_a_portal_each() -> None:
    hosts = [Host(f"clients-{n}", f"c{n}", "c", str(n), "boot", "6", f"fd00:{n}::2", f"fd00:{n}::1") for n in (1, 2)]
    assert LAYER.plan_on is not None
    offer, *joins = LAYER.plan_on(spec_of(to="clients"), {"on": DISKS}, Names("abcd1234"), hosts).build
    assert isinstance(offer.args, IscsiExport)
    port = offer.args.port
    assert offer.args.portals == (f"[fd00:1::1]:{port}", f"[fd00:2::1]:{port}")
    assert [join.args.portal for join in joins if isinstance(join.args, IscsiExport)] == list(offer.args.portals)


def test_iser_to_other_hosts_is_refused_where_a_link_has_no_rdma() -> None:
    rdma, plain = LinkEnd("to-c1", 1500, "rxe0/1"), LinkEnd("eth0", 1500)
    host = Host("clients-1", "c1", "c1", "1", "boot", "6", "10.0.1.2", "10.0.1.1", plain, rdma)
    assert LAYER.plan_on is not None
    with pytest.raises(ProblemError) as caught:
        LAYER.plan_on(spec_of(transport="iser", to="clients"), {"on": DISKS}, Names("abcd1234"), [host])
    assert [(problem.code, problem.place) for problem in caught.value.problems] == [("export-no-rdma", "iscsi.transport")]


def test_the_initiators_records_are_removed_with_the_session() -> None:
    planned = plan()
    export = export_of(planned)
    assert planned.teardown[0].commands == planned.build[0].undo
    assert [argv[-1] for argv in planned.teardown[0].commands[:3]] == ["--logout", "delete", "delete"]
    assert planned.teardown[0].commands[3] == ("targetcli", "/iscsi", "delete", export.iqn)


def test_another_plan_has_other_names_everywhere() -> None:
    one, other = export_of(plan()), export_of(plan(token="efgh5678"))
    for field in ("name", "iqn", "initiator", "port"):
        assert getattr(one, field) != getattr(other, field), field


@pytest.mark.parametrize(
    ("options", "counts", "expected"),
    [
        ({"session_commands": 256}, 1, []),
        ({"session_commands": 100}, 1, ["iscsi-session-commands"]),
        ({"session_commands": 128, "queue_depth": 113}, 1, []),
        ({"session_commands": 128, "queue_depth": 114}, 1, ["iscsi-session-commands"]),
        ({"queue_depth": 1024}, 1, []),
        ({}, 0, ["iscsi-none"]),
        ({"transport": "iser", "to": "clients"}, 1, []),
        ({"transport": "iser", "address": "10.0.0.1"}, 1, []),
        ({"transport": "iser"}, 1, ["iscsi-address"]),
        ({"address": "10.0.0.1", "to": "clients"}, 1, ["iscsi-address"]),
        ({"address": "fd00::1"}, 1, []),
        ({"address": "fe80::1%eth0"}, 1, ["iscsi-address"]),
    ],
)
def test_what_open_iscsi_would_not_take_is_refused(options: dict[str, Any], counts: int, expected: list[str]) -> None:
    problems = LAYER.check(spec_of(**options), {"on": counts}, "$.iscsi")
    assert [problem.code for problem in problems] == expected
