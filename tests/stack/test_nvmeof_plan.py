"""A plan of an export over NVMe-oF: what will run, who may connect, and how everything is found again."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from raidtui.model.convert import decode
from raidtui.model.network import LinkEnd
from raidtui.model.plan import Host, Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.amplification import Writes
from raidtui.stack.exports import port_of
from raidtui.stack.layer import Part, Planned
from raidtui.stack.nvmeof import LAYER, initiator, target
from raidtui.stack.nvmeof.plan import device_path
from raidtui.stack.nvmeof.spec import Export, NvmeofSpec

GIB, KIB = 1 << 30, 1 << 10
DISKS = tuple(Part(f"disk:{name}", f"/dev/{name}", 8 * GIB, 512, (name,), True) for name in "ab")
ARRAY = Part("md:rtx", "/dev/md/rtx", 8 * GIB, 4096, ("a", "b", "c"), False, True, 128 * KIB, 64 * KIB)
PATHS = {"disk:a": "/dev/a", "disk:b": "/dev/b"}


def spec_of(**options: Any) -> NvmeofSpec:
    return decode(NvmeofSpec, {"on": "@data", **options})


def plan(*below: Part, token: str = "abcd1234", **options: Any) -> Planned:
    return LAYER.plan(spec_of(**options), {"on": below or DISKS}, Names(token), Policy())


def export_of(planned: Planned) -> Export:
    (args,) = {draft.args for draft in (*planned.build, *planned.teardown)}
    assert isinstance(args, Export)
    return args


def codes(counts: int = 1, **options: Any) -> list[str]:
    return [problem.code for problem in LAYER.check(spec_of(**options), {"on": counts}, "$.nvmeof")]


def texts(planned: Planned) -> list[str]:
    return [" ".join(argv) for argv in planned.build[0].commands]


def test_tcp_listens_on_the_loopback_address_alone() -> None:
    export = export_of(plan())
    assert (export.transport, export.address) == ("tcp", "127.0.0.1")
    assert 61_000 <= int(export.service) < 65_536
    assert any(text.endswith(f"echo 127.0.0.1 > {target.port(export)}/addr_traddr") for text in texts(plan()))


def test_the_subsystem_is_offered_last_and_to_one_host_only() -> None:
    export, commands = export_of(plan()), plan().build[0].commands
    assert commands[-3] == ("ln", "-s", str(target.subsystem(export)), f"{target.port(export)}/subsystems/{export.nqn}")
    assert commands[-1][:2] == ("nvme", "connect")
    assert not any("attr_allow_any_host" in text for text in texts(plan())), "the kernel's default is no"
    assert ("ln", "-s", str(target.host(export)), f"{target.subsystem(export)}/allowed_hosts/{export.host_nqn}") in commands


def test_every_device_is_a_namespace_with_its_planned_uuid() -> None:
    planned = plan()
    export = export_of(planned)
    assert [one.on for one in export.devices] == ["disk:a", "disk:b"]
    assert len({one.uuid for one in export.devices}) == 2
    assert [offer.path for offer in planned.offers] == [device_path(one) for one in export.devices]
    assert LAYER.devices(spec_of(), {"on": 2}) == 2
    assert planned.targets[0].refs == tuple(one.ref for one in export.devices)


def test_the_device_keeps_sector_stripe_and_size_of_the_one_below() -> None:
    (offer,) = plan(ARRAY, transport="loop").offers
    assert (offer.size_bytes, offer.logical_sector_bytes) == (8 * GIB, 4096)
    assert (offer.stripe_bytes, offer.chunk_bytes) == (128 * KIB, 64 * KIB)
    assert not offer.discard


def test_loop_has_no_socket_and_no_capsules() -> None:
    export = export_of(plan(transport="loop"))
    assert (export.address, export.service, export.in_capsule_bytes) == (export.name, "", None)
    assert not any("addr_trsvcid" in text or "inline" in text for text in texts(plan(transport="loop")))
    assert "--trsvcid" not in plan(transport="loop").build[0].commands[-1]


def test_the_target_of_spdk_is_refused_by_name_and_the_kernels_is_the_default() -> None:
    assert spec_of().target == "kernel"
    assert (codes(), codes(target="kernel")) == ([], [])
    (problem,) = LAYER.check(spec_of(target="spdk"), {"on": 1}, "$.layouts.a.nvmeof")
    assert (problem.code, problem.place) == ("nvmeof-spdk", "$.layouts.a.nvmeof.target")
    assert '"target": "kernel"' in problem.remedy


def test_rdma_to_this_server_itself_uses_the_given_address_and_its_own_modules() -> None:
    planned = plan(transport="rdma", address="10.0.0.1")
    export, commands = export_of(planned), planned.build[0].commands
    assert (export.address, export.in_capsule_bytes) == ("10.0.0.1", 4 * KIB)
    assert [argv[1] for argv in commands if argv[0] == "modprobe"] == ["nvmet-rdma", "nvme-rdma"]
    assert ("sh", "-c", f"echo rdma > {target.port(export)}/addr_trtype") in commands
    assert commands[-1][:6] == ("nvme", "connect", "--transport", "rdma", "--traddr", "10.0.0.1")


def test_an_address_of_ipv6_has_its_family_in_the_port_and_no_brackets() -> None:
    planned = plan(address="FD00:0::1")
    export, commands = export_of(planned), planned.build[0].commands
    assert export.address == "fd00::1"
    assert ("sh", "-c", f"echo ipv6 > {target.port(export)}/addr_adrfam") in commands
    assert ("sh", "-c", f"echo fd00::1 > {target.port(export)}/addr_traddr") in commands
    assert commands[-1][4:8] == ("--traddr", "fd00::1", "--trsvcid", export.service)
    assert (target.asked(export)["family"], target.asked(export_of(plan()))["family"]) == ("ipv6", "ipv4")
    assert target.asked(export_of(plan(transport="loop")))["family"] == ""


def test_the_family_of_the_port_is_read_back(configfs: Path) -> None:
    export = export_of(plan(address="fd00::1"))
    (target.port(export) / "subsystems").mkdir(parents=True)
    (target.port(export) / "addr_adrfam").write_text("ipv4\n")
    assert target.read(export)["family"] == "ipv4"


def client(number: int, **links: LinkEnd) -> Host:
    own, storage = f"10.0.{number}.2", f"10.0.{number}.1"
    return Host(f"clients-{number}", f"c{number}", "c", str(number), "boot", "6", own, storage, **links)


def test_hosts_that_the_same_address_leads_to_have_ports_of_their_own() -> None:
    uuid = "00000000-0000-0000-0000-000000000007"
    assert [port_of(uuid), port_of(uuid, (61_007,)), port_of(uuid, (61_007, 61_008))] == [61_007, 61_008, 61_009]
    assert port_of(str(UUID(int=4535)), (65_535,)) == 61_000
    hosts = [Host(f"clients-{n}", f"c{n}", "c", str(n), "boot", "6", f"10.0.0.{n}", "10.0.0.100") for n in range(1, 200)]
    assert LAYER.plan_on is not None
    many = tuple(Part(f"lvm:{n}", f"/dev/v/{n}", 8 * GIB, 512, ("a",), True) for n in range(1, 200))
    made = LAYER.plan_on(spec_of(to="clients"), {"on": many}, Names("abcd1234"), hosts)
    services = [draft.args.service for draft in made.build if draft.action == "nvmeof.offer"]
    assert len(set(services)) == len(services) == 199


def test_rdma_to_other_hosts_is_refused_where_a_link_has_none() -> None:
    rdma, plain = LinkEnd("to-c1", 1500, "rxe0/1"), LinkEnd("eth0", 1500)
    assert LAYER.plan_on is not None
    spec, parts = spec_of(transport="rdma", to="clients"), {"on": DISKS}
    made = LAYER.plan_on(spec, parts, Names("abcd1234"), [client(1, own_link=rdma, storage_link=rdma), client(2)])
    assert made.build[0].title == "Export 2 devices over NVMe/RDMA to clients-1 alone"
    with pytest.raises(ProblemError) as caught:
        LAYER.plan_on(spec, parts, Names("abcd1234"), [client(1, own_link=plain, storage_link=rdma)])
    assert [problem.code for problem in caught.value.problems] == ["export-no-rdma"]


def test_an_address_of_another_target_has_its_own_code(configfs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = export_of(plan())

    def make(change: target.Change) -> None:
        if change.path.parent.name == "subsystems" and change.verb == "link":
            raise OSError(98, "Address already in use")

    monkeypatch.setattr(target.Change, "make", make)
    with pytest.raises(ProblemError) as caught:
        target.make(export, PATHS)
    assert caught.value.problems[0].code == "export-address-taken"
    assert f"another target listens on {export.address}:{export.service}" in caught.value.problems[0].message


def test_options_of_the_connection_are_those_asked_for() -> None:
    command = plan(queues=2, queue_size=64, in_capsule_data="4KiB").build[0].commands[-1]
    assert command[-4:] == ("--nr-io-queues", "2", "--queue-size", "64")
    assert "--nr-io-queues" not in plan().build[0].commands[-1]
    inline = [text for text in texts(plan(in_capsule_data="4KiB")) if "inline" in text]
    assert inline[0].startswith("sh -c echo 4096 > ")


def test_another_plan_has_other_names_everywhere() -> None:
    one, other = export_of(plan()), export_of(plan(token="efgh5678"))
    for field in ("name", "nqn", "host_nqn", "host_id", "port"):
        assert getattr(one, field) != getattr(other, field), field


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"in_capsule_data": "0B"}, []),
        ({"in_capsule_data": "64KiB"}, []),
        ({"in_capsule_data": "5KiB"}, ["nvmeof-in-capsule"]),
        ({"in_capsule_data": "1MiB"}, ["nvmeof-in-capsule"]),
        ({"in_capsule_data": "16KiB", "transport": "loop"}, ["nvmeof-in-capsule"]),
        ({"counts": 0}, ["nvmeof-none"]),
        ({"transport": "rdma", "to": "clients"}, []),
        ({"transport": "rdma", "address": "10.0.0.1"}, []),
        ({"transport": "rdma"}, ["nvmeof-address"]),
        ({"transport": "rdma", "address": "0.0.0.0"}, ["nvmeof-address"]),
        ({"transport": "rdma", "address": "fd00::1"}, []),
        ({"address": "fd00::1"}, []),
        ({"address": "fe80::1"}, ["nvmeof-address"]),
        ({"address": "fe80::1%eth0"}, ["nvmeof-address"]),
        ({"address": "::"}, ["nvmeof-address"]),
        ({"address": "[fd00::1]"}, ["nvmeof-address"]),
        ({"transport": "loop", "address": "10.0.0.1"}, ["nvmeof-address"]),
        ({"to": "clients", "address": "10.0.0.1"}, ["nvmeof-address"]),
        ({"transport": "rdma", "to": "clients", "queue_size": 256}, ["nvmeof-queue-size"]),
        ({"transport": "rdma", "to": "clients", "in_capsule_data": "16KiB"}, []),
        ({"transport": "rdma", "to": "clients", "in_capsule_data": "20KiB"}, ["nvmeof-in-capsule"]),
    ],
)
def test_what_the_kernel_would_not_take_is_refused(options: dict[str, Any], expected: list[str]) -> None:
    assert codes(**options) == expected


def test_writes_pass_through() -> None:
    share = LAYER.spread(spec_of(), {"on": 1}, Writes(4096, 4096, random=True)).inputs["on"]
    assert (share.low, share.high) == (1.0, 1.0)


@pytest.fixture
def configfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in place of configfs: folders do not fill themselves with files, which removing has to stand."""
    for name in ("hosts", "subsystems", "ports"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(target, "NVMET", tmp_path)
    monkeypatch.setattr(initiator, "CONTROLLERS", tmp_path / "class")
    return tmp_path


def test_a_port_of_somebody_else_is_not_touched(configfs: Path) -> None:
    export = export_of(plan())
    entry = target.port(export)
    (entry / "subsystems").mkdir(parents=True)
    (entry / "addr_traddr").write_text("192.0.2.1\n")
    (entry / "addr_trsvcid").write_text("4420\n")
    assert not target.exists(export)
    assert target.remove(export) == ((), "")
    with pytest.raises(ProblemError) as caught:
        target.make(export, PATHS)
    assert caught.value.problems[0].code in ("nvmeof-taken", "nvmeof-refused")
    assert (entry / "addr_traddr").read_text() == "192.0.2.1\n"


@pytest.mark.parametrize("written", [{}, {"addr_traddr": "127.0.0.1\n"}])
def test_a_port_that_was_not_given_its_whole_address_is_the_runs_own(configfs: Path, written: dict[str, str]) -> None:
    export = export_of(plan())
    (target.port(export) / "subsystems").mkdir(parents=True)
    for name, text in written.items():
        (target.port(export) / name).write_text(text)
    assert target.exists(export)


def test_a_link_of_our_subsystem_in_any_port_is_removed(configfs: Path) -> None:
    export = export_of(plan())
    target.subsystem(export).mkdir()
    other = configfs / "ports/1/subsystems"
    other.mkdir(parents=True)
    (other / export.nqn).symlink_to(target.subsystem(export))
    done, trouble = target.remove(export)
    assert trouble == ""
    assert done[0] == ("rm", str(other / export.nqn))
    assert not target.subsystem(export).exists()
    assert other.is_dir()


def test_nothing_is_left_to_do_the_second_time(configfs: Path) -> None:
    export = export_of(plan())
    target.host(export).mkdir()
    assert target.exists(export)
    assert target.remove(export) == ((("rmdir", str(target.host(export))),), "")
    assert target.remove(export) == ((), "")
