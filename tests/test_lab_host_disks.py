"""Layouts on the disks of two hosts that are not the storage server: built, loaded and given back by each host itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_clients import assert_untouched, await_nothing_left, clients_of, hosts_of, lab_with_clients
from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab
from raidtui.lab.disks import parse_spec

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]

SCENARIO: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "there",
    "hosts": {"storage": {}, "nodes": {"count": 2}},
    "roles": {"own": {"count": 2, "host": "nodes"}},
    "layouts": {
        "bare": {"disk": {"on": "@own"}},
        "mirror": {"md": {"level": "raid1", "on": "@own"}},
        "files": {"filesystem": {"type": "xfs", "on": {"lvm": {"type": "striped", "on": "@own"}}}},
        "pool": {"zpool": {"vdevs": [{"mirror": "@own"}], "dataset": {}}},
    },
    "workloads": {
        "read": {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 4, "size": "16MiB", "runtime": "20s"}},
        "write": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "size": "16MiB", "runtime": "20s"}},
    },
}
FREE = """lsblk -ndo NAME,FSTYPE | awk 'NF > 1 && $1 !~ /^vd/'
grep ^md /proc/mdstat; vgs --noheadings -o name; zpool list -Ho name"""
"""Command that lists signatures, arrays, volume groups and pools of a host; it prints nothing if its disks are blank."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_with_clients("there", "1x64M") as lab:
        for client in clients_of(lab):
            for _ in range(2):
                client.add_disk(parse_spec("1x700M")[0])
            client.wait_for("[ $(ls -d /sys/block/nvme*n1 | wc -l) -eq 3 ]")
        yield lab


def own_disks(client: Lab) -> list[str]:
    return [disk.serial for disk in client.state.disks if disk.spec.size_bytes == 700 << 20]


def words(lab: Lab, folder: Path, *layouts: str) -> list[str]:
    (folder / "there.json").write_text(json.dumps(SCENARIO))
    (folder / "there.result.json").unlink(missing_ok=True)
    of = {f"nodes-{number}": own_disks(client) for number, client in enumerate(clients_of(lab), 1)}
    bind = [word for host, serials in of.items() for word in ("--bind", f"{host}:own={','.join(serials)}")]
    erase = ",".join(f"{host}:{serial}" for host, serials in of.items() for serial in serials)
    only = [word for layout in layouts for word in ("--layout", layout)]
    return ["replay", str(folder / "there.json"), *bind, "--erase", erase, *only, "--host", "nodes=root@c1,root@c2",
            "--quick", "-o", str(folder / "there.result.json")]  # fmt: skip


def assert_given_back(lab: Lab) -> None:
    await_nothing_left(*hosts_of(lab))
    for client in clients_of(lab):
        assert client.run(FREE, check=False).text == ""
        assert all(client.is_zero(serial) for serial in own_disks(client))
    assert_untouched(lab)


def test_each_host_builds_and_loads_every_layout_on_its_own_disks(lab: Lab, tmp_path: Path) -> None:
    done = raidtui(lab, *words(lab, tmp_path), timeout_s=3000)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "there.result.json").read_text())
    cells = {cell["id"]: cell for cell in result["cells"]}
    assert len(cells) == 2 * (4 + 3)
    assert all(cell["valid"] for cell in cells.values())
    for cell in cells.values():
        expected = [cell["part"].partition(":")[0]] if cell.get("part") else ["nodes-1", "nodes-2"]
        assert sorted(cell["hosts"]) == expected
        assert all(part[cell["workload"]]["ios"] > 0 for part in cell["hosts"].values()), cell["id"]
    assert all(built["taken_down"] for built in result["layouts"])
    assert_given_back(lab)


def test_a_disk_of_a_host_that_is_in_use_is_refused_by_that_host(lab: Lab, tmp_path: Path) -> None:
    client = lab.client(2)
    taken = own_disks(client)[0]
    client.run(f"mkfs.ext4 -q /dev/$(lsblk -ndo NAME,SERIAL | awk '$2 == \"{taken}\" {{print $1}}')")
    done = raidtui(lab, *words(lab, tmp_path, "mirror"))
    assert done.returncode == 3, done.stdout + done.stderr
    assert f"nodes-2:{taken}" in done.stderr
    client.run(f"blkdiscard -f /dev/$(lsblk -ndo NAME,SERIAL | awk '$2 == \"{taken}\" {{print $1}}')")
    assert_given_back(lab)


@pytest.mark.parametrize("layout", ["mirror", "files", "pool"])
def test_hosts_give_their_disks_back_when_the_run_dies(lab: Lab, tmp_path: Path, layout: str) -> None:
    process, run = start_and_await(lab, "measure", *words(lab, tmp_path, layout), patience_s=1500)
    lab.client(1).wait_for("pgrep -x fio")
    lab.run(f"kill -9 $(cat /var/lib/raidtui/runs/{run}/runner.lock)")
    process.communicate(timeout=400)
    await_nothing_left(*clients_of(lab))
    assert raidtui(lab, "recover", timeout_s=900).returncode == 0
    assert_given_back(lab)


@pytest.mark.parametrize("action", ["md.create", "measure", "disks.blank"])
def test_a_host_whose_part_is_killed_is_recovered_by_itself(lab: Lab, tmp_path: Path, action: str) -> None:
    client = lab.client(1)
    process, run = start_and_await(lab, action, *words(lab, tmp_path, "mirror"), patience_s=1500)
    client.run(f"kill -9 $(cat /var/lib/raidtui/runs/{run}/runner.lock)")
    out, error = process.communicate(timeout=900)
    assert process.returncode == 6, out + error
    assert raidtui(client, "recover", timeout_s=900).returncode == 0
    assert raidtui(lab, "recover", timeout_s=900).returncode == 0
    assert_given_back(lab)


def test_a_host_whose_power_is_cut_is_recovered_after_it_is_back(lab: Lab, tmp_path: Path) -> None:
    client = lab.client(2)
    process, _ = start_and_await(lab, "measure", *words(lab, tmp_path, "files"), patience_s=1500)
    client.wait_for("pgrep -x fio")
    client.crash()
    out, error = process.communicate(timeout=1500)
    assert process.returncode == 6, out + error
    await_nothing_left(lab.client(1))
    client.start()
    done = raidtui(client, "recover", timeout_s=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert raidtui(lab, "recover", timeout_s=900).returncode == 0
    assert_given_back(lab)
