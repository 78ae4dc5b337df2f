"""Partitions on a real kernel: parts of disks below arrays and pools, built, measured, taken away, and killed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import start_lab
from lab_kills import in_thirds, killed_at
from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

MIB = 1 << 20


def part(role: str, use: str) -> dict[str, Any]:
    return {"partition": {"on": role, "use": use}}


MIRROR = {"md": {"level": "raid1", "on": [part("@a", "60%"), part("@b", "60%")]}}
SHARED: dict[str, Any] = {
    "zpool": {
        "vdevs": [{"stripe": part("@a", "200MiB")}],
        "log": part("@b", "10%"),
        "special": part("@b", "300MiB"),
        "volume": {"size": "64MiB"},
    }
}
SHORT: dict[str, Any] = {"mirror": MIRROR, "pool": SHARED}
LONG: dict[str, Any] = {
    "bare": part("@a", "50%"),
    "large-sectors": {"md": {"level": "raid0", "on": [part("@d", "300MiB"), part("@d", "10%")]}},
    "cache-beside-cache": {
        "lvm": {
            "type": "linear", "size": "64MiB", "cache": {"on": part("@b", "200MiB")},
            "on": {"bcache": {"on": "@a", "cache": part("@b", "40%"), "bucket": "64KiB"}},
        }
    },
    "log-beside-data": {"zpool": {"vdevs": [{"mirror": [part("@a", "40%"), part("@b", "40%")]}],
                                  "log": part("@b", "100MiB"), "volume": {"size": "64MiB"}}},
    "luks": {"luks": {"on": part("@a", "200MiB")}},
    "integrity": {"integrity": {"on": part("@a", "100MiB")}},
    "xfs": {"filesystem": {"type": "ext4", "on": part("@a", "60%")}},
    "lvm": {"lvm": {"type": "raid1", "mirrors": 1, "size": "64MiB", "on": [part("@a", "30%"), part("@b", "30%")]}},
}  # fmt: skip
PARTITIONS = "ls -d /sys/block/*/*/partition /dev/disk/by-partuuid/* 2>/dev/null"
WORKLOAD = {"write": {"fio": {"rw": "randwrite", "bs": "4KiB", "iodepth": 4, "size": "16MiB", "runtime": "2s"}}}


def scenario(layouts: dict[str, Any]) -> dict[str, Any]:
    roles = {name: {"count": 1} for name in sorted(set(re.findall(r'"@(\w+)"', json.dumps(layouts))))}
    if "d" in roles:
        roles["d"]["where"] = {"logical_sector": "4096B"}
    policy = {"initial_sync": "wait"}
    return {"schema": "raidtui.scenario/1", "name": "parts", "roles": roles, "layouts": layouts, "workloads": WORKLOAD,
            "policy": policy}  # fmt: skip


def bound(lab: Lab, layouts: dict[str, Any]) -> dict[str, list[str]]:
    """The disks are those in the lab's order; the last one has sectors of 4 KiB."""
    names = {"a": 0, "b": 1, "d": 2}
    return {role: [lab.serials[names[role]]] for role in scenario(layouts)["roles"]}


def words(lab: Lab, layouts: dict[str, Any], folder: Path) -> list[str]:
    path = folder / "parts.json"
    path.write_text(json.dumps(scenario(layouts)))
    given = bound(lab, layouts)
    binds = [word for role, (serial,) in given.items() for word in ("--bind", f"{role}={serial}")]
    erase = ",".join(serial for (serial,) in given.values())
    return ["replay", str(path), *binds, "--quick", "--erase", erase, "-o", str(folder / "parts.result.json")]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("parts", "2x1100M,1x1100M@4096")
    try:
        yield lab
    finally:
        lab.down()


def judge_replay(lab: Lab, layouts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Replay, with every layout built as asked, measured, gone, and every disk blank without partitions."""
    done = raidtui(lab, *words(lab, layouts, folder), timeout_s=1700)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((folder / "parts.result.json").read_text())
    assert {one["layout"] for one in result["layouts"] if one["taken_down"]} == set(layouts)
    assert lab.run(PARTITIONS, check=False).text == ""
    assert all(lab.is_zero(serial) for serial in lab.serials), "both copies of the tables are gone"
    return result


def test_layers_on_partitions_are_built_measured_and_gone(lab: Lab, tmp_path: Path) -> None:
    result = judge_replay(lab, SHORT, tmp_path)
    cells = {cell["layout"]: cell for cell in result["cells"]}
    used = cells["mirror"]["devices"]
    assert sorted(use["disk"] for use in used.values() if use.get("disk")) == sorted(lab.serials[:2])
    assert cells["mirror"]["write_amplification"] == pytest.approx(2.0, rel=0.05), "counted on the disks, once"
    read = {one["layout"]: one["read_back"] for one in result["layouts"]}
    lengths = {
        layout: sorted(part["length"] // MIB for one in found.values() for table in one.get("tables", {}).values()
                       for part in table["partitions"].values())
        for layout, found in read.items()
    }  # fmt: skip
    assert lengths == {"mirror": [658, 658], "pool": [109, 200, 300]}


STANDING = "for disk in $(ls /sys/block | grep nvme); do sgdisk -p /dev/$disk 2>/dev/null; done; ls /dev/disk/by-partuuid"


@pytest.mark.slow
def test_a_killed_run_holds_its_partitions_and_is_recovered(lab: Lab, tmp_path: Path) -> None:
    process, run = start_and_await(lab, "measure", *words(lab, {"mirror": MIRROR}, tmp_path))
    lab.run(f"pkill -KILL -f '[r]unner .*{run}'")
    process.communicate(timeout=300)
    standing = lab.run(STANDING).text
    assert standing.count("8300  raidtui") == 2
    plan = json.loads(lab.run(f"cat /var/lib/raidtui/runs/{run}/plan.json").text)
    tables = next(step["args"]["tables"] for step in plan["steps"] if step["action"] == "partition.create")
    assert all(table["guid"].upper() in standing and table["parts"][0]["guid"] in standing for table in tables)
    shown = json.loads(raidtui(lab, "disks", "--json").stdout)
    reasons = {disk["serial"]: sorted(reason["code"] for reason in disk["reasons"]) for disk in shown["disks"]}
    assert [reasons[serial] for serial in lab.serials] == [["held", "md-active", "partitions"]] * 2 + [[]]
    done = raidtui(lab, "recover", run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert raidtui(lab, "recover", run).returncode == 0, "any number of times"
    assert lab.run(PARTITIONS, check=False).text == ""
    assert all(lab.is_zero(serial) for serial in lab.serials)


@pytest.mark.slow
def test_every_kind_of_layer_stands_on_partitions(lab: Lab, tmp_path: Path) -> None:
    judge_replay(lab, LONG, tmp_path)


@pytest.mark.slow
def test_kills_while_a_table_is_written_and_erased(lab: Lab) -> None:
    layouts = {"pool": SHARED}
    killed_at(lab, scenario(layouts), bound(lab, layouts),
              "partition.create:before,partition.create:call=partition.create,partition.create:after,"
              "partition.remove:before,partition.remove:call=partition.remove,partition.remove:after")  # fmt: skip


@in_thirds
def test_every_kill_is_undone(lab: Lab, part: str) -> None:
    layouts = {"pool": SHARED}
    killed_at(lab, scenario(layouts), bound(lab, layouts), f"every:{part}")
