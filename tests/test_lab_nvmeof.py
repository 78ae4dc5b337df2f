"""Exports over NVMe-oF on a real kernel: for the run's own connection alone, read back on both sides, and gone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lab_harness import start_lab
from lab_kills import in_thirds, killed_at
from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

WORKLOAD = {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "size": "16MiB", "runtime": "12s"}}}
PAIR = {"tcp": {"nvmeof": {"on": "@data", "queues": 1, "queue_size": 64, "in_capsule_data": "4KiB"}}}
LONG: dict[str, Any] = {
    "loop": {"nvmeof": {"on": "@data", "transport": "loop"}},
    "mirror-over-tcp": {"md": {"level": "raid1", "on": {"nvmeof": {"on": "@data"}}}},
    "tcp-over-mirror": {"nvmeof": {"on": {"md": {"level": "raid1", "on": "@data"}}}},
    "xfs": {"filesystem": {"type": "xfs", "on": {"nvmeof": {"on": {"lvm": {"type": "striped", "on": "@data"}}}}}},
    "nothing": {"nvmeof": {"on": [{"null": {"size": "1TiB"}}, {"null": {"size": "1TiB", "sector_size": "4KiB"}}]}},
    "volume": {"zpool": {"vdevs": [{"mirror": {"nvmeof": {"on": "@data"}}}], "volume": {"size": "50%"}}},
}
CONFIG = ("find /sys/kernel/config/nvmet -mindepth 2 -maxdepth 2 2>/dev/null; ls -d /sys/kernel/config/nullb/*/; "
          "cat /sys/class/nvme/*/transport; ss -Htln")  # fmt: skip
SOMEBODY = "nqn.2014-08.org.nvmexpress:uuid:6f2c6a10-9d5c-4b6e-8e0a-3a1d5f0c7b21"


def scenario(layouts: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "raidtui.scenario/1", "name": "nvmeof", "roles": {"data": {"count": 2}}, "layouts": layouts,
            "workloads": WORKLOAD}  # fmt: skip


def words(lab: Lab, layouts: dict[str, Any], folder: Path) -> list[str]:
    (folder / "nvmeof.json").write_text(json.dumps(scenario(layouts)))
    serials = ",".join(lab.serials)
    return ["replay", str(folder / "nvmeof.json"), "--bind", f"data={serials}", "--erase", serials,
            "-o", str(folder / "nvmeof.result.json")]  # fmt: skip


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("nvmeof", "2x1100M")
    try:
        yield lab
    finally:
        lab.down()


class Seen(NamedTuple):
    """The server's listeners and a foreign host's attempt to connect during a measurement, and the records of that run."""

    before: str
    listeners: list[str]
    somebody: tuple[int, str]
    """Exit code of a connection by another host, and what the kernel said about it."""
    steps: dict[str, dict[str, Any]]
    done: list[dict[str, Any]]
    result: dict[str, Any]


@pytest.fixture(scope="module")
def seen(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("nvmeof")
    before = lab.run(CONFIG, check=False).text
    process, run = start_and_await(lab, "measure", *words(lab, PAIR, folder))
    listeners = lab.run("ss -Htln | awk '{print $4}'").text.split()
    (nqn,) = lab.run("ls /sys/kernel/config/nvmet/subsystems").text.split()
    (own,) = [one.rpartition(":")[2] for one in listeners if one.startswith("127.0.0.1:")]
    tried = lab.run(f"nvme connect -t tcp -a 127.0.0.1 -s {own} -n {nqn} --hostnqn {SOMEBODY} --hostid {SOMEBODY[-36:]}",
                    check=False)  # fmt: skip
    said = lab.run("dmesg | grep nvmet | tail -5", check=False).text
    out, error = process.communicate(timeout=1700)
    assert process.returncode == 0, out + error
    folder_of_run = f"/var/lib/raidtui/runs/{run}"
    steps = {step["id"]: step for step in json.loads(lab.run(f"cat {folder_of_run}/plan.json").text)["steps"]}
    lines = lab.run(f"grep step-done {folder_of_run}/journal.jsonl").text.splitlines()
    result = json.loads((folder / "nvmeof.result.json").read_text())
    return Seen(before, listeners, (tried.code, said), steps,
                [json.loads(line)["event"] for line in lines], result)  # fmt: skip


def test_it_is_exported_measured_and_gone(lab: Lab, seen: Seen) -> None:
    (layout,) = seen.result["layouts"]
    assert layout["taken_down"]
    (read,) = [facts for facts in layout["read_back"].values() if "connection" in facts]
    assert read["connection"]["state"] == "live"
    assert (read["connection"]["queues"], read["connection"]["queue_size"]) == (1, 64)
    assert (read["in_capsule_bytes"], read["any_host"], len(read["namespaces"])) == (4096, "0", 2)
    assert lab.run(CONFIG, check=False).text == seen.before
    assert all(lab.is_zero(serial) for serial in lab.serials)


def test_what_ran_is_what_was_planned(seen: Seen) -> None:
    done = [(seen.steps[one["step"]], one) for one in seen.done]
    judged = [(step, one) for step, one in done if step["action"].startswith("nvmeof.")]
    assert [step["action"] for step, _ in judged] == ["nvmeof.export", "nvmeof.verify", "nvmeof.remove"]
    for step, event in judged:
        assert event.get("commands", []) == step.get("commands", []), step["action"]


def test_it_listens_on_loopback_alone_and_lets_nobody_else_in(seen: Seen) -> None:
    assert all(one.startswith("127.0.0.1:") or one.endswith(":22") for one in seen.listeners), seen.listeners
    code, said = seen.somebody
    assert code != 0, "another host was let in"
    assert f"connect by host {SOMEBODY}" in said, said


def test_a_killed_run_leaves_no_export(lab: Lab) -> None:
    points = ("call=nvmeof.connect", "path=/sys/kernel/config/nvmet/ports/*", "after")
    killed_at(lab, scenario(PAIR), {"data": lab.serials}, ",".join(f"nvmeof.export:{point}" for point in points), 900)
    assert lab.run("cd /sys/kernel/config/nvmet; ls hosts; ls subsystems; ls ports").text == ""
    assert set(lab.run("cat /sys/class/nvme/*/transport").text.split()) == {"pcie"}


@pytest.mark.slow
def test_every_transport_and_layer_below_and_above(lab: Lab, tmp_path: Path) -> None:
    before = lab.run(CONFIG, check=False).text
    done = raidtui(lab, *words(lab, LONG, tmp_path), timeout_s=1700)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "nvmeof.result.json").read_text())
    assert {one["layout"] for one in result["layouts"] if one["taken_down"]} == set(LONG)
    assert lab.run(CONFIG, check=False).text == before
    assert all(lab.is_zero(serial) for serial in lab.serials)


@pytest.mark.slow
def test_an_export_of_somebody_else_stays(lab: Lab, tmp_path: Path) -> None:
    own, port = "/sys/kernel/config/nvmet/subsystems/somebody", "/sys/kernel/config/nvmet/ports/7"
    lab.run(f"modprobe nvmet; mkdir {own} {own}/namespaces/1 {port}; truncate -s 64M /root/his; "
            f"echo /root/his > {own}/namespaces/1/device_path; echo 1 > {own}/namespaces/1/enable")  # fmt: skip
    try:
        done = raidtui(lab, *words(lab, PAIR, tmp_path))
        assert done.returncode == 0, done.stdout + done.stderr
        assert lab.run(f"cat {own}/namespaces/1/enable; ls /sys/kernel/config/nvmet/ports").text.split() == ["1", "7"]
    finally:
        lab.run(f"echo 0 > {own}/namespaces/1/enable; rmdir {own}/namespaces/1 {own} {port}")


@in_thirds
def test_every_kill_is_undone(lab: Lab, part: str) -> None:
    layouts = {"stack": {"md": {"level": "raid1", "on": {"nvmeof": {"on": "@data"}}}},
               "nothing": {"nvmeof": {"on": {"null": {"size": "1GiB"}}}}}  # fmt: skip
    killed_at(lab, scenario(layouts), {"data": lab.serials}, f"every:{part}")
