"""A pool that is trimmed and initialized on a real kernel: seen complete, cancelled, killed meanwhile, and refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab_harness import seen_by_driver, start_driver, start_lab
from lab_kills import killed_at
from lab_runs import raidtui, start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1200)]

PATTERN = (0xDEADBEEFDEADBEEE).to_bytes(8, "little")
"""The pattern that an initialize writes to free space by default (module parameter zfs_initialize_value)."""
INSIDE = (300 << 20, 600 << 20)
"""Places of a disk of 1100 MiB that are in no use by an empty pool with a small volume."""
WRITE = {"fio": {"rw": "write", "bs": "128KiB", "size": "16MiB", "runtime": "12s", "time_based": True}}
POOL = {"vdevs": [{"mirror": "@data"}], "volume": {"size": "64MiB"}, "log": "@log"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = start_lab("free-space", "3x1100M,2x1100M:hdd")
    try:
        yield made
    finally:
        made.down()


def flash(lab: Lab) -> list[str]:
    return [serial for serial in lab.serials if lab.disk(serial).spec.kind == "nvme"]


def disks_without_discard(lab: Lab) -> list[str]:
    return [serial for serial in lab.serials if lab.disk(serial).spec.kind == "hdd"]


def scenario(**options: Any) -> dict[str, Any]:
    return {
        "schema": "raidtui.scenario/1", "name": "free-space", "roles": {"data": {"count": 2}, "log": {"count": 1}},
        "layouts": {"pool": {"zpool": {**POOL, **options}}}, "workloads": {"write": WRITE},
    }  # fmt: skip


def bound(lab: Lab) -> list[str]:
    data, log = flash(lab)[:2], flash(lab)[2]
    return ["--bind", f"data={','.join(data)}", "--bind", f"log={log}", "--erase", ",".join([*data, log])]


def written(path: Path, document: dict[str, Any]) -> str:
    path.write_text(json.dumps(document))
    return str(path)


def inside(lab: Lab, serial: str) -> set[bytes]:
    """Return what is at some places of the disk, read from outside the guest."""
    with lab.disk_file(serial).open("rb") as file:
        return {file.read(8) for at in INSIDE if file.seek(at) >= 0}


def events(lab: Lab, run: str) -> list[dict[str, Any]]:
    lines = lab.run(f"cat /var/lib/raidtui/runs/{run}/journal.jsonl").text.splitlines()
    return [json.loads(line)["event"] for line in lines]


def test_a_pool_is_trimmed_and_initialized_and_taken_down(lab: Lab, tmp_path: Path) -> None:
    path, out = written(tmp_path / "s.json", scenario(trim=True, initialize=True)), tmp_path / "r.json"
    process, run = start_and_await(lab, "measure", "replay", path, *bound(lab), "-o", str(out))
    status = lab.run("zpool status -i; zpool status -t").text
    assert status.count("100% initialized, completed") == status.count("100% trimmed, completed") == 3
    assert all(inside(lab, serial) == {PATTERN} for serial in flash(lab))
    assert process.wait(400) == 0, process.communicate()
    found = events(lab, run)
    steps = {event["step"]: event["action"] for event in found if event["kind"] == "step-started"}
    order = [action for action in steps.values() if action.startswith("zpool.")]
    assert order == ["zpool.create", "zpool.trim", "zpool.initialize", "zpool.volume", "zpool.verify", "zpool.destroy"]
    done = {steps[event["step"]]: event for event in found if event["kind"] == "step-done"}
    for action in ("zpool.trim", "zpool.initialize"):
        verb = action.partition(".")[2]
        assert [argv[:2] for argv in done[action]["commands"]] == [["zpool", verb], ["zpool", "wait"]]
    told = [event for event in found if event["kind"] == "step-progressed" and steps[event["step"]] == "zpool.initialize"]
    assert len(told) > 2
    assert all(serial in told[-1]["text"] for serial in flash(lab)), told[-1]
    shares = [event["fraction"] for event in told if event["text"].startswith("zpool initialize: ")]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1
    (layout,) = json.loads(out.read_text())["layouts"]
    (facts,) = [one for one in layout["read_back"].values() if "initialized" in one]
    print(facts["trimmed"], "|", facts["initialized"], "|", told[len(told) // 2])
    assert "on 3 devices in" in facts["initialized"]
    shown = raidtui(lab, "show", str(out))
    assert f"initialized {facts['initialized']}" in " ".join(shown.stdout.split()), shown
    assert all(lab.is_zero(serial) for serial in flash(lab))


@contextmanager
def slow_disks(lab: Lab) -> Iterator[None]:
    """Let an initialize last: nothing that is done meanwhile comes too late, however fast the machine is."""
    for serial in flash(lab):
        lab.throttle(serial, bytes_per_s=16 << 20)
    try:
        yield
    finally:
        for serial in flash(lab):
            lab.throttle(serial)


@pytest.mark.slow
def test_a_cancel_ends_the_initialize_and_the_pool_is_taken_down(lab: Lab, tmp_path: Path) -> None:
    path = written(tmp_path / "s.json", scenario(initialize=True))
    with slow_disks(lab):
        process, run = start_and_await(lab, "zpool.initialize", "replay", path, *bound(lab))
        lab.wait_for("zpool status -i | grep -q '% initialized, started'", 60)
        assert raidtui(lab, "cancel").returncode == 0
    assert process.wait(300) == 130, process.communicate()
    (ended,) = [event for event in events(lab, run) if event["kind"] == "step-failed"]
    assert ended["problem"]["code"] == "cancelled"
    assert [argv[1:-1] for argv in ended["commands"]] == [["initialize"], ["initialize", "-c"]]
    assert lab.run("zpool list -H").text == ""
    assert all(lab.is_zero(serial) for serial in flash(lab))


@pytest.mark.slow
def test_after_a_cancel_or_with_a_device_that_is_gone_zfs_initializes_nothing_any_more(lab: Lab) -> None:
    pool = {"vdevs": [{"mirror": "@d"}], "initialize": True}
    case = {"do": "interrupted", "counts": {"vdevs[0].mirror": 2}, "zpool": pool}
    cases = [{**case, "name": "cancel"}, {**case, "name": "offline", "by": "zpool offline {pool} {device}"}]
    with slow_disks(lab):
        start_driver(lab, "zfs_driver.py", [*cases, {"do": "blank", "name": "blank"}])
        lab.wait_for("test -e /root/ended", 400)
    seen = seen_by_driver(lab)
    for name in ("cancel", "offline"):
        one = seen[name]
        assert "problems" not in one, one
        assert "initialized, started" in one["before"]
        online = [line for line in one["status"].splitlines() if " ONLINE " in line]
        assert not any("initialized, started" in line for line in online), one["status"]
        assert one["busy"] == "initialize"
        assert (one["undo"], one["left"]) == (["undone", "nothing to do"], {})
        print(one["stopped"], one["reports"])
    assert seen["cancel"]["stopped"][0] == "cancelled"
    assert seen["offline"]["stopped"][0] == "zpool-free-space"
    assert "is offline" in seen["offline"]["stopped"][1]


@pytest.mark.slow
def test_a_run_that_is_killed_while_it_initializes_is_recovered(lab: Lab) -> None:
    data, log = flash(lab)[:2], flash(lab)[2:]
    killed_at(lab, scenario(initialize=True), {"data": data, "log": log}, "zpool.initialize:thread=vdev_initialize", 500)


def test_disks_without_discards_are_initialized_but_not_trimmed(lab: Lab, tmp_path: Path) -> None:
    bind = ["--bind", f"data={','.join(disks_without_discard(lab))}", "--bind", f"log={flash(lab)[0]}"]
    refused = raidtui(lab, "plan", written(tmp_path / "t.json", scenario(trim=True)), *bind)
    assert refused.returncode == 2, refused
    assert "[zpool-trim]" in refused.stderr
    assert all(serial in refused.stderr for serial in disks_without_discard(lab))
    planned = raidtui(lab, "plan", written(tmp_path / "i.json", scenario(initialize=True)), *bind)
    assert planned.returncode == 0, planned
    assert "Write over all free space of 3 devices" in planned.stdout
    assert "zpool initialize rt" in planned.stdout


@pytest.mark.slow
def test_a_trim_that_the_plan_could_not_judge_fails_if_a_device_took_no_discards(lab: Lab, tmp_path: Path) -> None:
    stripe = [{"lvm": {"on": f"@{role}", "size": "90%"}} for role in ("quick", "slow")]
    document = {
        **scenario(), "roles": {"quick": {"count": 1}, "slow": {"count": 1}},
        "layouts": {"pool": {"zpool": {"vdevs": [{"stripe": stripe}], "volume": {"size": "64MiB"}, "trim": True}}},
    }  # fmt: skip
    quick, slow = flash(lab)[0], disks_without_discard(lab)[0]
    words = ["--bind", f"quick={quick}", "--bind", f"slow={slow}", "--erase", f"{quick},{slow}"]
    ran = raidtui(lab, "replay", written(tmp_path / "s.json", document), *words)
    assert ran.returncode == 4, ran
    said = " ".join(ran.stderr.split())
    assert said.count("does not accept discards") == 2, "in the step and at the end, of one device each"
    assert "[zpool-free-space]" in said
    assert lab.is_zero(quick)
    assert lab.is_zero(slow)
