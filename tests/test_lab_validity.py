"""Faults planted on a real kernel are found, each by its own check; what is as it should be is marked by none."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_harness import start_lab
from raidtui.lab.control import Lab
from test_lab_replay import consent, raidtui, start_and_await

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1800)]

MIRROR = {"vdevs": [{"mirror": "@data", "per": 2}], "arc_max": "64MiB"}
POOL = {"zpool": {**MIRROR, "inherited": {"compression": "off"}, "volume": {"size": "80%"}}}
READ = {"rw": "randread", "bs": "4KiB", "iodepth": 4, "size": "512MiB", "runtime": "14s"}
WRITE = {"rw": "write", "bs": "1MiB", "iodepth": 4, "size": "512MiB", "runtime": "14s"}
SYNC = {"rw": "randwrite", "ioengine": "psync", "bs": "4KiB", "fsync": 1, "size": "512MiB", "runtime": "14s"}
CALM = [{"rate_iops": 200}, {"rate": "8MB"}, {"rate_iops": 50}]
"""Rates that are kept by a machine with other work to do as well: an emulated one shares its cores."""
SHORT = {"runtime": "5s"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = start_lab("validity", "4x1100M")
    try:
        yield lab
    finally:
        lab.down()


@pytest.fixture(autouse=True)
def quick_disks(lab: Lab) -> Iterator[None]:
    yield
    for serial in lab.serials:
        lab.throttle(serial)
        set_hot(lab, serial, hot=False)


def md(level: str) -> dict[str, Any]:
    return {"md": {"level": level, "on": "@data", "chunk": "64KiB"}}


def set_hot(lab: Lab, serial: str, *, hot: bool) -> None:
    """Bit 1 of an NVMe SMART log's critical warning: a temperature is beyond its limits."""
    path = f"/machine/peripheral/{lab.disk(serial).node}"
    lab.qmp("qom-set", path=path, property="smart_critical_warning", value=2 if hot else 0)


def scenario(tmp_path: Path, layouts: dict[str, Any], workloads: dict[str, Any], **policy: object) -> str:
    path = tmp_path / "scenario.json"
    value = {
        "schema": "raidtui.scenario/1", "name": "validity", "roles": {"data": {"count": 4}},
        "layouts": layouts, "workloads": {name: {"fio": spec} for name, spec in workloads.items()},
        "policy": {"initial_sync": "skip-if-zeroed", "order": "grouped", **policy},
    }  # fmt: skip
    path.write_text(json.dumps(value))
    return str(path)


def marks(result: Path) -> dict[str, list[dict[str, Any]]]:
    """By cell."""
    found = {cell["id"]: cell.get("marks", []) for cell in json.loads(result.read_text())["cells"]}
    for cell, its in found.items():
        print(cell, [(mark["code"], mark["sentence"]) for mark in its])
    return found


def codes(found: dict[str, list[dict[str, Any]]], cell: str) -> list[str]:
    return [mark["code"] for mark in found[cell]]


def replayed(lab: Lab, tmp_path: Path, path: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    out = tmp_path / "out.result.json"
    done = raidtui(lab, "replay", path, *consent(lab), "-o", str(out), timeout_s=1500)
    assert out.exists(), done.stdout + done.stderr
    return done.returncode, marks(out)


def disturbed(lab: Lab, tmp_path: Path, path: str, cell: str, what: Any, after_s: float = 0.0) -> Any:
    """As `replayed`, with something done so many seconds after the cell began."""
    out = tmp_path / "out.result.json"
    process, run = start_and_await(lab, "recheck", "replay", path, *consent(lab), "-o", str(out))
    journal = f"/var/lib/raidtui/runs/{run}/journal.jsonl"
    try:
        lab.wait_for(f"""grep '"kind":"sampled","cell":"{cell}"' {journal} | grep -qv '"prefill":true'""", 300)
    except TimeoutError:
        raidtui(lab, "cancel")  # the next test wants these disks
        raise
    time.sleep(after_s)
    what()
    said = process.communicate(timeout=900)
    assert out.exists(), said
    return process.returncode, marks(out)


def test_compressible_data_under_compression(lab: Lab, tmp_path: Path) -> None:
    pool = {"zpool": {**MIRROR, "inherited": {"compression": "lz4"}, "volume": {"size": "80%"}}}
    spec = {**WRITE, **SHORT}
    loads = {"half": {**spec, "buffer_compress_percentage": 80}, "random": spec}
    _, found = replayed(lab, tmp_path, scenario(tmp_path, {"pool": pool}, loads))
    assert "reduced-data" in codes(found, "pool/half/1")
    assert "reduced-data" not in codes(found, "pool/random/1")


def test_blocks_that_were_never_written(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"pool": POOL, "raid0": md("raid0")}, {"read": {**READ, **SHORT}}, prefill=False)
    code, found = replayed(lab, tmp_path, path)
    assert code == 5
    assert codes(found, "pool/read/1") == ["unwritten-read", "not-prefilled"]
    assert codes(found, "raid0/read/1") == ["not-prefilled"]


@pytest.mark.parametrize("caches", ["", "warm"])
def test_a_data_set_in_memory(lab: Lab, tmp_path: Path, caches: str) -> None:
    pool = {"zpool": {**POOL["zpool"], "arc_max": "512MiB"}}
    policy = {"caches": caches} if caches else {}
    loads = {"read": {**READ, **SHORT, "size": "96MiB"}}
    code, found = replayed(lab, tmp_path, scenario(tmp_path, {"pool": pool}, loads, **policy))
    assert code == 0
    assert codes(found, "pool/read/1") == ([] if caches else ["cached-reads"])


def test_syncs_that_flush_nothing(lab: Lab, tmp_path: Path) -> None:
    volume = {"size": "80%", "properties": {"sync": "disabled"}}
    pools = {name: {"zpool": {**POOL["zpool"], "volume": {**volume, "properties": {"sync": name}}}}
             for name in ("disabled", "standard")}  # fmt: skip
    _, found = replayed(lab, tmp_path, scenario(tmp_path, pools, {"sync": {**SYNC, **SHORT}}))
    assert codes(found, "disabled/sync/1") == ["sync-without-flush"]
    assert codes(found, "standard/sync/1") == []


def test_an_array_that_checks_itself(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"raid5": md("raid5")}, {"write": {**SYNC, "runtime": "8s"}})
    checking = lambda: lab.run("for a in /sys/block/md*/md/sync_action; do echo check > $a; done")  # noqa: E731
    code, found = disturbed(lab, tmp_path, path, "raid5/write/1", checking, 1.0)
    assert code == 5
    assert "resyncing" in codes(found, "raid5/write/1")


@pytest.mark.parametrize("level", ["raid0", "raid5"])
def test_a_member_at_half_speed_is_named(lab: Lab, tmp_path: Path, level: str) -> None:
    path = scenario(tmp_path, {"array": md(level)}, {"read": {**READ, "iodepth": 16, "runtime": "10s"}})
    slow = lab.serials[2]
    code, found = disturbed(lab, tmp_path, path, "array/read/1", lambda: lab.throttle(slow, iops=100))
    assert code == 0
    assert ("slow-member", slow) in [(mark["code"], mark["about"]) for mark in found["array/read/1"] if "about" in mark]


def test_a_hot_disk_is_named(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"raid0": md("raid0")}, {"read": {**READ, **SHORT}})
    hot = lab.serials[1]
    set_hot(lab, hot, hot=True)
    _, found = replayed(lab, tmp_path, path)
    assert [(mark["code"], mark["about"]) for mark in found["raid0/read/1"]] == [("hot-disk", hot)]


def test_a_latency_that_cannot_be_kept(lab: Lab, tmp_path: Path) -> None:
    spec = {**READ, "runtime": "10s", "iodepth": 8, "latency_window": "500ms"}
    loads = {"met": {**spec, "latency_target": "5s", "latency_percentile": 90.0},
             "missed": {**spec, "latency_target": "0.01ms", "latency_percentile": 90.0}}  # fmt: skip
    _, found = replayed(lab, tmp_path, scenario(tmp_path, {"raid0": md("raid0")}, loads))
    assert codes(found, "raid0/missed/1") == ["latency-missed"]
    assert codes(found, "raid0/met/1") == []


def test_a_cell_that_becomes_slow_in_the_middle(lab: Lab, tmp_path: Path) -> None:
    path = scenario(tmp_path, {"raid0": md("raid0")}, {"read": {**READ, "runtime": "24s"}})

    def slow_down() -> None:
        for serial in lab.serials:
            lab.throttle(serial, iops=50)

    _, found = disturbed(lab, tmp_path, path, "raid0/read/1", slow_down, 11.0)
    (mark,) = (mark for mark in found["raid0/read/1"] if mark["code"] == "unsteady")
    assert 8 <= mark["at_s"] <= 16


def test_an_array_that_is_faster_than_its_disks(lab: Lab, tmp_path: Path) -> None:
    layouts = {"disks": {"disk": {"on": "@data"}}, "raid0": md("raid0")}
    path = scenario(tmp_path, layouts, {"read": {**READ, "rw": "read", "bs": "1MiB", **SHORT}})
    for serial in lab.serials:
        lab.throttle(serial, bytes_per_s=16 << 20)

    def lift() -> None:
        for serial in lab.serials:
            lab.throttle(serial)

    _, found = disturbed(lab, tmp_path, path, "raid0/read/1", lift)
    assert "above-disks" in codes(found, "raid0/read/1")


def test_random_operations_that_are_merged(lab: Lab, tmp_path: Path) -> None:
    batch = {"iodepth_batch_submit": 32, "iodepth_batch_complete_min": 32, "iodepth_batch_complete_max": 32}
    layout = {"disks": {"disk": {"on": "@data", "mode": "together", "tuning": {"disks": {"scheduler": "mq-deadline"}}}}}
    loads = {"write": {"rw": "randwrite", "bs": "4KiB", "iodepth": 32, "size": "128KiB", **SHORT, **batch}}
    _, found = replayed(lab, tmp_path, scenario(tmp_path, layout, loads))
    assert codes(found, "disks/write/1") == ["merged"]


def test_what_is_as_it_should_be_is_not_marked(lab: Lab, tmp_path: Path) -> None:
    read, write, sync = ({**spec, **calm} for spec, calm in zip((READ, WRITE, SYNC), CALM, strict=True))
    layouts = {"disks": {"disk": {"on": "@data"}}, "raid0": md("raid0"), "raid5": md("raid5"), "mirror": POOL}
    alone = {"read-alone": {**READ, "rw": "read", "bs": "1MiB", **SHORT}, "write-alone": {**WRITE, **SHORT}}
    path = scenario(tmp_path, layouts, {"read": read, "write": write, "sync": sync, **alone},
                    only={"disks": ["read-alone", "write-alone"]})  # fmt: skip
    code, found = replayed(lab, tmp_path, path)
    assert code == 0
    assert len(found) == 4 * 2 + 3 * 3
    assert {cell: codes(found, cell) for cell in found if found[cell]} == {}
