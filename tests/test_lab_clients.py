"""Two hosts load what a storage server exports: read back on both sides, for these hosts alone, and gone whatever dies."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lab_clients import assert_untouched, await_nothing_left, hosts_of, lab_with_clients, replay_words
from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]

SCENARIO: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "clients",
    "hosts": {"storage": {}, "clients": {"count": 2}},
    "roles": {"data": {"count": 2}},
    "layouts": {"tcp": {"nvmeof": {"on": {"md": {"level": "raid1", "on": "@data"}}, "to": "clients"}},
                "iscsi": {"iscsi": {"on": {"md": {"level": "raid1", "on": "@data"}}, "to": "clients"}}},
    "workloads": {"read": {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 4, "size": "32MiB", "runtime": "30s"}}},
}
STRANGER = "nqn.2014-08.org.nvmexpress:uuid:6f2c6a10-9d5c-4b6e-8e0a-3a1d5f0c7b21"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_with_clients("clients") as lab:
        yield lab


def words(lab: Lab, folder: Path, *layouts: str) -> list[str]:
    return replay_words(lab, folder, SCENARIO, *layouts)


class Seen(NamedTuple):
    """The storage server's listeners and its clients' connections during a measurement, and the result of that run."""

    listeners: list[str]
    stranger: list[int]
    """Exit codes of connections by another host name, and by the other client's."""
    kept: dict[str, str]
    """Connections of each client during the measurement."""
    result: dict[str, Any]


@pytest.fixture(scope="module")
def seen(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("clients")
    process, run = start_and_await(lab, "measure", *words(lab, folder), patience_s=1200)
    listeners = lab.run("ss -Htln | awk '{print $4}'").text.split()
    steps = json.loads(lab.run(f"cat /var/lib/raidtui/runs/{run}/plan.json").text)["steps"]
    first, second = (step["args"] for step in steps if step["action"] == "nvmeof.offer")
    tried = [
        lab.client(2).run(f"nvme connect -t tcp -a {first['address']} -s {first['service']} -n {first['nqn']} "
                          f"--hostnqn {nqn} --hostid {nqn[-36:]}", 60, check=False).code
        for nqn in (STRANGER, second["host_nqn"])
    ]  # fmt: skip
    kept = {host: lab.client(at).run("cat /sys/class/nvme/*/subsysnqn").text for at, host in ((1, "1"), (2, "2"))}
    out, error = process.communicate(timeout=1700)
    assert process.returncode == 0, out + error
    assert first["nqn"] in kept["1"] and second["nqn"] in kept["2"]  # noqa: PT018
    return Seen(listeners, tried, kept, json.loads((folder / "clients.result.json").read_text()))


def test_both_hosts_load_their_region_and_the_numbers_are_joined(seen: Seen) -> None:
    assert [cell["layout"] for cell in seen.result["cells"]] == ["tcp", "iscsi"]
    for cell in seen.result["cells"]:
        assert cell["valid"], cell["marks"]
        assert sorted(cell["hosts"]) == ["clients-1", "clients-2"]
        total = sum(part["read"]["ios"] for part in cell["hosts"].values())
        assert cell["summary"]["read"]["ios"] == total > 0
        assert all(part["read"]["ios"] for part in cell["hosts"].values())
    assert [host["own_address"] for host in seen.result["hosts"]["clients"]] == ["10.10.1.2", "10.10.2.2"]


def test_what_was_read_back_on_both_sides_is_in_the_result(seen: Seen) -> None:
    tcp, iscsi = seen.result["layouts"]
    assert tcp["taken_down"]
    assert iscsi["taken_down"]
    read = tcp["read_back"].values()
    assert len([facts for facts in read if facts.get("connection", {}).get("state") == "live"]) == 2
    assert len([facts for facts in read if facts.get("any_host") == "0"]) == 2
    read = iscsi["read_back"].values()
    assert len([facts for facts in read if facts.get("session", {}).get("state") == "LOGGED_IN"]) == 2
    assert [len(facts["portals"]) for facts in read if "portals" in facts] == [2]


def test_an_export_listens_on_its_link_alone_and_lets_nobody_else_in(seen: Seen) -> None:
    ports = [one for one in seen.listeners if not one.endswith(":22")]
    assert sorted(one.rpartition(":")[0] for one in ports if one.startswith("10.10.")) == ["10.10.1.1", "10.10.2.1"]
    assert [one for one in ports if one.startswith(("0.0.0.0", "*", "[::]"))] == []
    assert 0 not in seen.stranger


def test_nothing_is_left_and_other_disks_are_untouched(lab: Lab, seen: Seen) -> None:
    await_nothing_left(*hosts_of(lab))
    assert_untouched(lab)
    assert all(lab.is_zero(serial) for serial in lab.serials)


def killed(lab: Lab, folder: Path) -> tuple[subprocess.Popen, str]:
    process, run = start_and_await(lab, "measure", *words(lab, folder, "tcp"), patience_s=1200)
    lab.client(1).wait_for("pgrep -x fio")
    return process, run


def test_a_killed_run_leaves_the_hosts_to_themselves_and_is_recovered(lab: Lab, tmp_path: Path) -> None:
    process, run = killed(lab, tmp_path)
    lab.run(f"kill -9 $(cat /var/lib/raidtui/runs/{run}/runner.lock)")
    process.communicate(timeout=400)
    await_nothing_left(lab.client(1), lab.client(2))
    done = raidtui(lab, "recover")
    assert done.returncode == 0, done.stdout + done.stderr
    await_nothing_left(*hosts_of(lab))
    assert all(lab.is_zero(serial) for serial in lab.serials)
    assert_untouched(lab)


def test_a_killed_peer_is_recovered_on_its_host(lab: Lab, tmp_path: Path) -> None:
    process, run = killed(lab, tmp_path)
    lab.client(1).run(f"kill -9 $(cat /var/lib/raidtui/runs/{run}/runner.lock)")
    out, error = process.communicate(timeout=900)
    assert process.returncode == 6, out + error
    assert "host-lost" in out + error
    done = raidtui(lab.client(1), "recover")
    assert done.returncode == 0, done.stdout + done.stderr
    assert raidtui(lab, "recover").returncode == 0
    await_nothing_left(*hosts_of(lab))
    assert all(lab.is_zero(serial) for serial in lab.serials)


def test_a_host_whose_fio_dies_makes_the_cell_invalid(lab: Lab, tmp_path: Path) -> None:
    process, _ = killed(lab, tmp_path)
    lab.client(1).run("pkill -9 -x fio")
    out, error = process.communicate(timeout=900)
    assert process.returncode == 5, out + error
    result = json.loads((tmp_path / "clients.result.json").read_text())
    assert [cell["valid"] for cell in result["cells"]] == [False]
    await_nothing_left(*hosts_of(lab))


def test_a_cut_link_ends_both_sides(lab: Lab, tmp_path: Path) -> None:
    process, _ = killed(lab, tmp_path)
    lab.cut(1)
    try:
        out, error = process.communicate(timeout=1500)
        assert process.returncode == 6, out + error
        assert "clients-1" in out + error
        await_nothing_left(lab.client(1))
    finally:
        lab.restore(1)
    assert raidtui(lab, "recover").returncode == 0
    await_nothing_left(*hosts_of(lab))
    assert all(lab.is_zero(serial) for serial in lab.serials)
