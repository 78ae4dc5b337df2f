"""Two hosts have volumes of their own, of an LVM group and of a ZFS pool, that no other host sees; killed in the middle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_clients import assert_untouched, await_nothing_left, hosts_of, lab_with_clients, replay_words
from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]

ZVOLS = {"zpool": {"vdevs": [{"stripe": "@data"}], "volume": {"size": "40%"}, "volumes": 4}}
SCENARIO: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "volumes",
    "hosts": {"storage": {}, "clients": {"count": 2}},
    "roles": {"data": {"count": 2, "host": "storage"}},
    "layouts": {
        "lvm": {"nvmeof": {"on": {"lvm": {"type": "striped", "volumes": 4, "on": "@data"}}, "to": "clients"}},
        "zvols": {"iscsi": {"on": ZVOLS, "to": "clients"}},
    },
    "workloads": {"mixed": {"fio": {"rw": "randrw", "bs": "4KiB", "iodepth": 4, "size": "16MiB", "runtime": "20s"}}},
}
NVME = "cat /sys/block/nvme*n*/uuid 2>/dev/null | sort -u"
SCSI = "cat /sys/block/sd*/device/vpd_pg80 | tr -d '\\0' | tr -c 'a-f0-9-' '\\n' | grep -E '^.{36}$' | sort"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_with_clients("volumes") as lab:
        yield lab


def words(lab: Lab, folder: Path, *layouts: str) -> list[str]:
    return replay_words(lab, folder, SCENARIO, *layouts)


@pytest.mark.parametrize(("layout", "action", "identity", "look"), [
    ("lvm", "nvmeof.connect", "uuid", NVME),
    ("zvols", "iscsi.login", "serial", SCSI),
], ids=["lvm", "zvols"])  # fmt: skip
def test_each_host_sees_and_loads_its_own_volumes_alone(
    lab: Lab, tmp_path: Path, layout: str, action: str, identity: str, look: str
) -> None:
    process, run = start_and_await(lab, "measure", *words(lab, tmp_path, layout), patience_s=1500)
    steps = json.loads(lab.run(f"cat /var/lib/raidtui/runs/{run}/plan.json").text)["steps"]
    meant = [sorted(one[identity] for one in step["args"]["devices"]) for step in steps if step["action"] == action]
    seen = [lab.client(number).run(look, check=False).text.split() for number in (1, 2)]
    out, error = process.communicate(timeout=1700)
    assert process.returncode == 0, out + error
    assert [[one for one in found if one in {*meant[0], *meant[1]}] for found in seen] == meant
    assert [len(found) for found in meant] == [2, 2]
    result = json.loads((tmp_path / "volumes.result.json").read_text())
    (built,) = result["layouts"]
    assert (built["hosts_have"], built["taken_down"]) == ("volumes of its own", True)
    (cell,) = result["cells"]
    assert cell["valid"], cell
    assert {host: part["jobs"] for host, part in cell["hosts"].items()} == {"clients-1": 2, "clients-2": 2}
    promised = next(step["commands"] for step in steps if step["action"] == "measure")
    assert cell["command"] in promised, "the plan has the very command"
    await_nothing_left(*hosts_of(lab))
    assert all(lab.is_zero(serial) for serial in lab.serials)


@pytest.mark.parametrize("layout", ["lvm", "zvols"])
def test_a_killed_run_is_recovered(lab: Lab, tmp_path: Path, layout: str) -> None:
    process, run = start_and_await(lab, "measure", *words(lab, tmp_path, layout), patience_s=1500)
    lab.client(1).wait_for("pgrep -x fio")
    lab.run(f"kill -9 $(cat /var/lib/raidtui/runs/{run}/runner.lock)")
    process.communicate(timeout=400)
    await_nothing_left(lab.client(1), lab.client(2))
    done = raidtui(lab, "recover", timeout_s=900)
    assert done.returncode == 0, done.stdout + done.stderr
    await_nothing_left(*hosts_of(lab))
    assert lab.run("dmsetup ls | grep -v 'No devices'; zpool list -H -o name", check=False).text == ""
    assert all(lab.is_zero(serial) for serial in lab.serials)
    assert_untouched(lab)
