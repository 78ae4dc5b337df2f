"""Exports over RDMA with authentication: both hosts measure, no other key is let in, and no key is anywhere afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lab_clients import HOSTS, assert_untouched, await_nothing_left, clients_of, hosts_of, lab_with_clients, replay_words
from lab_runs import raidtui, start_and_await
from raidtui.base.proc import Finished
from raidtui.lab.control import Lab
from raidtui.lab.links import LinkSpec
from raidtui.stack.auth import dhchap_key

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]

SCENARIO: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "fabrics",
    "hosts": {"storage": {}, "clients": {"count": 2}},
    "roles": {"data": {"count": 2}},
    "layouts": {
        "rdma": {"nvmeof": {"on": "@data", "to": "clients", "transport": "rdma", "auth": "dh-hmac-chap"}},
        "tcp": {"nvmeof": {"on": "@data", "to": "clients", "auth": "dh-hmac-chap"}},
        "iser": {"iscsi": {"on": "@data", "to": "clients", "transport": "iser", "auth": "chap"}},
        "own-rdma": {"nvmeof": {"on": "@data", "transport": "rdma", "address": "10.10.1.1", "auth": "dh-hmac-chap"}},
        "own-iser": {"iscsi": {"on": "@data", "transport": "iser", "address": "10.10.1.1", "auth": "chap"}},
    },
    "workloads": {"read": {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 4, "size": "8MiB", "runtime": "30s"}}},
}
LISTENERS = "rdma resource show cm_id | grep LISTEN | sed 's/.*src-addr //' | cut -d' ' -f1 | sort -u"
CONNECT = "nvme connect -D -a {address} -s {service} -n {nqn} --hostnqn {host_nqn} --hostid {host_id}"
TOLD = "code=$?; dmesg | tail -20 >&2; exit $code"
FOLDERS = "/var/lib/raidtui /run/raidtui /var/log /etc/iscsi /var/lib/iscsi"
SESSIONS = "iscsiadm -m session 2>/dev/null | grep raidtui"
NVME_KEYS, ISCSI_KEYS = "/sys/kernel/config/nvmet/hosts", "/sys/kernel/config/target/iscsi"
CONFIGFS_KEYS = f"cat {NVME_KEYS}/*/dhchap_key {ISCSI_KEYS}/*/tpgt_1/acls/*/auth/password"
OPEN_TO_ALL = (f"find {NVME_KEYS} {ISCSI_KEYS} -perm /044 "
               "'(' -name dhchap_key -o -path '*/acls/*/auth/password' ')'")  # fmt: skip


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_with_clients("fabrics", link=LinkSpec(rxe=True)) as lab:
        yield lab


def words(lab: Lab, folder: Path, *layouts: str) -> list[str]:
    hosts = HOSTS if {"rdma", "tcp", "iser"} & set(layouts) else ()
    return replay_words(lab, folder, SCENARIO, *layouts, hosts=hosts)


def places_of(host: Lab, keys: list[str]) -> str:
    """Return the files, arguments and log lines of a host that have one of these keys."""
    host.run("cat > /root/keys", input_bytes="".join(f"{key}\n" for key in keys).encode())
    try:
        return host.run(f"grep -rlFf /root/keys {FOLDERS} 2>/dev/null; "
                        "journalctl -b -o cat | grep -Ff /root/keys; dmesg | grep -Ff /root/keys; "
                        "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -Ff /root/keys",
                        120, check=False).text  # fmt: skip
    finally:
        host.run("rm /root/keys")


class Seen(NamedTuple):
    """A run during its measurement, and its result."""

    listeners: list[str]
    """Addresses that listen by RDMA."""
    sessions: list[str]
    """Sessions of each client, as `iscsiadm -m session` lists them."""
    wrong_key: Finished
    """A connection of the first client by its right name with another key."""
    keys: list[str]
    open_to_all: str
    found: str
    """Places with a key, on all hosts."""
    result: dict[str, Any]


def measured(lab: Lab, folder: Path, layout: str, intrude: str) -> Seen:
    """Measure one layout; `intrude` is run on the first client, with the arguments of its step by name."""
    process, run = start_and_await(lab, "measure", *words(lab, folder, layout), patience_s=1800)
    steps = json.loads(lab.run(f"cat /var/lib/raidtui/runs/{run}/plan.json").text)["steps"]
    args = next(step["args"] for step in steps if step.get("host") == "clients-1")
    values = {name: value for name, value in args.items() if isinstance(value, (str, int))}
    keys = [line for line in lab.run(CONFIGFS_KEYS, check=False).text.split() if line]
    intruder = lab.client(1).run(intrude.format(**values), 120, check=False)
    seen = (lab.run(LISTENERS).text.split(), [client.run(SESSIONS, check=False).text for client in clients_of(lab)],
            intruder, keys, lab.run(OPEN_TO_ALL, check=False).text,
            "".join(places_of(host, keys) for host in hosts_of(lab)))  # fmt: skip
    out, error = process.communicate(timeout=1700)
    assert process.returncode == 0, out + error
    after = "".join(places_of(host, keys) for host in hosts_of(lab))
    told = "".join(f"the client printed {key}" for key in keys if key in out + error)
    result = json.loads((folder / "fabrics.result.json").read_text())
    return Seen(*seen[:5], seen[5] + after + told, result)


@pytest.fixture(scope="module")
def rdma(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    # Over RDMA the initiator of Linux 6.12 never returns when the target rejects its key: it waits in nvme_auth_wait.
    return measured(lab, tmp_path_factory.mktemp("rdma"), "rdma", "false")


@pytest.fixture(scope="module")
def tcp(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return measured(lab, tmp_path_factory.mktemp("tcp"), "tcp", f"{CONNECT} -t tcp --dhchap-secret {dhchap_key()}; {TOLD}")


@pytest.fixture(scope="module")
def iser(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    log_in = """node="iscsiadm -m node -T {iqn} -p {address}:{port} -I wrong"
iscsiadm -m iface -I wrong -o new; iscsiadm -m iface -I wrong -o update -n iface.initiatorname -v {initiator}
$node -o new; for set in authmethod=CHAP username={initiator} password=0123456789abcdef; do
$node -o update -n node.session.auth.${{set%%=*}} -v ${{set#*=}}; done
$node --login; code=$?; $node -o delete; iscsiadm -m iface -I wrong -o delete; exit $code"""
    return measured(lab, tmp_path_factory.mktemp("iser"), "iser", log_in)


def assert_loaded_by_both(seen: Seen) -> None:
    (cell,) = seen.result["cells"]
    assert cell["valid"], cell["marks"]
    assert sorted(cell["hosts"]) == ["clients-1", "clients-2"]
    assert all(part["read"]["ios"] for part in cell["hosts"].values())
    assert seen.result["layouts"][0]["taken_down"]


def test_both_hosts_load_over_nvme_rdma_and_it_is_read_back(rdma: Seen) -> None:
    assert_loaded_by_both(rdma)
    facts = rdma.result["layouts"][0]["read_back"].values()
    connections = [one["connection"] for one in facts if "connection" in one]
    assert [(one["transport"], one["state"], one["queue_size"]) for one in connections] == 2 * [("rdma", "live", 128)]
    assert all(one["authenticated"] for one in connections)
    targets = [one for one in facts if "any_host" in one]
    assert [(one["transport"], one["in_capsule_bytes"]) for one in targets] == 2 * [("rdma", 4096)]
    assert all(one["authenticated"] for one in targets)


def test_nvme_rdma_listens_on_the_addresses_of_the_links_alone(rdma: Seen) -> None:
    assert sorted(one.rpartition(":")[0] for one in rdma.listeners) == ["10.10.1.1", "10.10.2.1"]


def test_the_right_name_with_the_wrong_nvme_key_is_refused(tcp: Seen) -> None:
    assert_loaded_by_both(tcp)
    assert tcp.wrong_key.code != 0
    assert "authentication failed" in tcp.wrong_key.error_text, tcp.wrong_key.error_text


def test_both_hosts_load_over_iser_and_it_is_read_back(iser: Seen) -> None:
    assert_loaded_by_both(iser)
    facts = iser.result["layouts"][0]["read_back"].values()
    sessions = [one["session"] for one in facts if "session" in one]
    assert [(one["transport"], one["state"], one["authenticated"]) for one in sessions] == 2 * [("iser", "LOGGED_IN", True)]
    (target,) = [one for one in facts if "portals" in one]
    assert len(target["iser"]) == 2
    assert target["authentication"] == "1"
    assert [text.split(":")[0] for text in iser.sessions] == ["iser", "iser"]


def test_iser_listens_on_the_addresses_of_the_links_alone(iser: Seen) -> None:
    assert sorted(one.rpartition(":")[0] for one in iser.listeners) == ["10.10.1.1", "10.10.2.1"]


def test_the_right_initiator_with_the_wrong_key_is_refused(iser: Seen) -> None:
    assert iser.wrong_key.code != 0
    assert "uthoriz" in iser.wrong_key.text + iser.wrong_key.error_text


@pytest.mark.parametrize("layout", ["rdma", "tcp", "iser"])
def test_keys_are_in_no_file_argument_log_or_result(layout: str, request: pytest.FixtureRequest) -> None:
    seen: Seen = request.getfixturevalue(layout)
    assert len(set(seen.keys)) == 2
    assert seen.open_to_all == ""
    assert seen.found == ""
    assert not any(key in json.dumps(seen.result) for key in seen.keys)


def test_nothing_is_left_and_other_disks_are_untouched(lab: Lab, rdma: Seen, tcp: Seen, iser: Seen) -> None:
    await_nothing_left(*hosts_of(lab))
    assert lab.run(LISTENERS).text == ""
    for client in clients_of(lab):
        records = client.run("ls /var/lib/iscsi/* /etc/iscsi/* 2>/dev/null | grep -E 'raidtui|^rt'", check=False)
        assert records.text == ""
    assert_untouched(lab)
    assert all(lab.is_zero(serial) for serial in lab.serials)


def test_the_storage_server_reaches_itself_over_rdma(lab: Lab, tmp_path: Path) -> None:
    done = raidtui(lab, *words(lab, tmp_path, "own-rdma", "own-iser"), "--quick", timeout_s=1700)
    assert done.returncode == 0, done.stdout + done.stderr
    cells = json.loads((tmp_path / "fabrics.result.json").read_text())["cells"]
    assert [cell["layout"] for cell in cells] == ["own-rdma", "own-iser"]
    assert all(cell["valid"] for cell in cells), [cell["marks"] for cell in cells]
    await_nothing_left(lab)


def test_a_killed_run_over_rdma_is_recovered(lab: Lab, tmp_path: Path) -> None:
    process, run = start_and_await(lab, "measure", *words(lab, tmp_path, "rdma"), patience_s=1800)
    lab.run(f"kill -9 $(cat /var/lib/raidtui/runs/{run}/runner.lock)")
    process.communicate(timeout=600)
    await_nothing_left(*clients_of(lab))
    done = raidtui(lab, "recover", timeout_s=900)
    assert done.returncode == 0, done.stdout + done.stderr
    await_nothing_left(*hosts_of(lab))
    assert lab.run(LISTENERS).text == ""
    assert all(lab.is_zero(serial) for serial in lab.serials)


@pytest.mark.parametrize(
    ("at", "spoil", "mend", "code"),
    [
        (0, "rdma link delete rxe-c1", "rdma link add rxe-c1 type rxe netdev to-c1", "export-no-rdma"),
        (1, "ip link set to-storage mtu 1400", "ip link set to-storage mtu 1500", "export-mtu"),
    ],
)
def test_a_link_that_does_not_fit_is_refused_before_anything_is_changed(
    lab: Lab, tmp_path: Path, at: int, spoil: str, mend: str, code: str
) -> None:
    hosts_of(lab)[at].run(spoil)
    try:
        refused = raidtui(lab, *words(lab, tmp_path, "rdma"), timeout_s=900)
    finally:
        hosts_of(lab)[at].run(mend)
    assert refused.returncode == 3, refused.stdout + refused.stderr
    assert f"[{code}]" in refused.stdout + refused.stderr
