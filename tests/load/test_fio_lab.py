"""fio on real block devices: that they are measured, and what happens when they go away, fail and hang."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from raidtui.lab import ssh
from raidtui.lab.control import Lab
from raidtui.lab.disks import parse_spec

pytestmark = pytest.mark.lab
GUEST_SCRIPT = Path(__file__).parent / "guest_fio.py"
MIB = 1 << 20


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = Lab("fio-tests")
    try:
        lab.up(parse_spec("2x1G"))
        ssh.sync_code(lab.name)
        lab.put_file(GUEST_SCRIPT, "/tmp/guest_fio.py")
        yield lab
    finally:
        lab.down()


def measure(lab: Lab, devices: list[str], during: Callable[[], object] | None = None, **asked: Any) -> dict[str, Any]:
    """Measure in the guest; `during` is called on this side once the first live sample has come."""
    asked["options"] = {"bs": "4KiB", "runtime": "4s", "size": "128MiB", **asked.pop("options", {})}
    lab.run("rm -f /tmp/fio-started")

    def interfere() -> None:
        lab.wait_for("test -e /tmp/fio-started")
        if during is not None:
            during()

    helper = threading.Thread(target=interfere)
    if during is not None:
        helper.start()
    finished = lab.run(
        "python3 -I /tmp/guest_fio.py", 120.0, input_bytes=json.dumps({"devices": devices, **asked}).encode()
    )
    if during is not None:
        helper.join()
    answer: dict[str, Any] = json.loads(finished.text)
    return answer


def nodes(lab: Lab) -> list[str]:
    return [f"/dev/{lab.kernel_name(serial)}" for serial in lab.serials]


def said(answer: dict[str, Any]) -> str:
    return " | ".join(answer.get("problems", ()))


@pytest.fixture
def mapped(lab: Lab) -> Iterator[str]:
    """A device-mapper device over part of the first disk, whose table can be changed while it is used."""
    device = nodes(lab)[0]
    lab.run(f"dmsetup create rtfio --table '0 524288 linear {device} 0'")
    yield "/dev/mapper/rtfio"
    lab.run("dmsetup resume rtfio; for n in 1 2 3 4 5 6 7 8; do dmsetup remove rtfio && break; sleep 0.5; done")


def test_both_disks_are_measured_at_once_and_the_kernel_counts_the_same(lab: Lab) -> None:
    answer = measure(lab, nodes(lab), options={"rw": "randrw", "iodepth": 8, "numjobs": 2, "fsync": 16})
    assert said(answer) == ""
    summary = answer["summary"]
    read, written = answer["sectors"]
    # Others read disks too (udev, when one is closed); nobody else writes.
    assert 0 <= read * 512 - summary["read"]["bytes"] < 8 * MIB
    assert written * 512 == summary["write"]["bytes"]
    assert summary["sync"]["ios"] > 0
    assert len(answer["samples"]) >= 3


@pytest.mark.parametrize("ioengine", ["io_uring", "libaio", "psync", "pvsync2", "sync"])
def test_every_io_engine_works(lab: Lab, ioengine: str) -> None:
    depth = 8 if ioengine in ("io_uring", "libaio") else 1
    answer = measure(
        lab,
        nodes(lab)[:1],
        options={"rw": "randwrite", "ioengine": ioengine, "iodepth": depth, "runtime": "2s", "fdatasync": 8},
    )
    assert said(answer) == ""
    summary = answer["summary"]
    assert summary["write"]["ios"] > 0
    assert summary["sync"]["ios"] == pytest.approx(summary["write"]["ios"] / 8, abs=depth)
    assert ("mean_us" in summary["sync"].get("latency", {})) == (ioengine != "libaio")


def test_prefill_reaches_the_end_of_its_region_and_not_beyond(lab: Lab) -> None:
    lab.run(f"blkdiscard -f -z {nodes(lab)[1]}; sync", 120.0)
    answer = measure(lab, nodes(lab)[1:], prefill=100 * MIB)
    assert said(answer) == ""
    with lab.disk_file(lab.serials[1]).open("rb") as disk:
        blocks = [disk.read(4096) for _ in range(100 * MIB // 4096)]
        assert bytes(4096) not in blocks
        assert len(set(blocks)) == len(blocks)
        assert disk.read(16 * MIB) == bytes(16 * MIB)


@pytest.mark.parametrize("rw", ["randwrite", "randread"])
def test_an_unplugged_disk_ends_the_run_and_is_said(lab: Lab, rw: str) -> None:
    serial = lab.serials[1]
    try:
        answer = measure(
            lab,
            nodes(lab),
            lambda: lab.unplug(serial),
            options={"rw": rw, "iodepth": 4, "runtime": "20s"},
        )
    finally:
        lab.plug(serial)
        lab.wait_for(f"grep -q {serial} /sys/block/nvme*/device/serial")
    assert "went away" in said(answer) or "I/O error" in said(answer)
    assert answer["seconds"] < 30


def test_errors_of_a_device_are_said(lab: Lab, mapped: str) -> None:
    def fail() -> None:
        lab.run("dmsetup suspend rtfio && dmsetup load rtfio --table '0 524288 error' && dmsetup resume rtfio")

    answer = measure(lab, [mapped], fail, options={"rw": "randread", "runtime": "20s"})
    assert "I/O error" in said(answer)
    assert answer["seconds"] < 15


def test_a_device_that_hangs_is_stuck_and_nothing_waits_for_it(lab: Lab, mapped: str) -> None:
    answer = measure(
        lab,
        [mapped],
        lambda: lab.run("dmsetup suspend --nolockfs rtfio"),
        patience=3.0,
        options={"rw": "randwrite", "ioengine": "psync", "runtime": "8s"},
    )
    assert answer["refused"] == "stuck"
    assert answer["seconds"] < 30


def test_a_run_that_is_stopped_while_its_device_is_slow_to_answer_is_not_stuck(lab: Lab, mapped: str) -> None:
    def stop() -> None:
        lab.run("dmsetup suspend --nolockfs rtfio; touch /tmp/fio-stop; sleep 14; dmsetup resume rtfio")

    options = {"rw": "randwrite", "iodepth": 4, "runtime": "60s"}
    answer = measure(lab, [mapped], stop, patience=30.0, options=options)
    assert "refused" not in answer, answer
    assert "stopped" in said(answer)


def test_a_pause_of_the_device_is_seen_and_is_no_error(lab: Lab, mapped: str) -> None:
    def pause() -> None:
        lab.run("dmsetup suspend --nolockfs rtfio; sleep 5; dmsetup resume rtfio")

    options = {"rw": "randwrite", "iodepth": 4, "runtime": "12s"}
    answer = measure(lab, [mapped], pause, patience=30.0, options=options)
    assert said(answer) == ""
    # fio's reports wait for its jobs, and its jobs for the device: one sample spans the whole pause.
    assert max(sample["span_s"] for sample in answer["samples"]) > 2.5
    assert answer["summary"]["write"]["latency"]["max_us"] > 2.5e6
