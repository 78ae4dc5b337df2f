"""fio by raidtui's client and server beside fio started by hand on each host: the same jobs, on the same export.

Pairs alternate within one run: after each measured cell comes a cell that does almost nothing, and during that one the job
files of the measured cell are run by hand. No time is asserted: emulated machines are too unsteady.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lab_clients import await_nothing_left, clients_of, hosts_of, lab_with_clients, replay_words
from lab_runs import start_and_await
from raidtui.lab.control import Lab

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]

PAIRS = int(os.environ.get("RAIDTUI_FIO_PAIRS", "2"))
JOB = {"rw": "randread", "bs": "4KiB", "iodepth": 4, "size": "8MiB"}
SCENARIO: dict[str, Any] = {
    "schema": "raidtui.scenario/1",
    "name": "by-hand",
    "hosts": {"storage": {}, "clients": {"count": 2}},
    "roles": {"data": {"count": 2}},
    "layouts": {"tcp": {"nvmeof": {"on": {"md": {"level": "raid0", "on": "@data"}}, "to": "clients"}}},
    "workloads": {
        f"{name}-{pair}": {"fio": {**JOB, **more}} for pair in range(PAIRS)
        for name, more in (("load", {"runtime": "20s"}), ("rest", {"rate_iops": 1, "runtime": "60s"}))
    },
}  # fmt: skip
DEVICE = "/dev/disk/by-id/nvme-uuid.*"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_with_clients("by-hand") as lab:
        yield lab


def job_files(lab: Lab, run: str, *, rests: bool) -> list[str]:
    """Wait until the job files of the run are those of a measured cell, or of one that does nothing; return them."""
    until = time.monotonic() + 900
    while time.monotonic() < until:
        cat = f"cd /var/lib/raidtui/runs/{run}/work && cat clients-1.fio && echo '#' && cat clients-2.fio"
        shown = lab.run(cat, check=False)
        files = shown.text.split("#\n")
        if shown.code == 0 and all("rw=randread" in file and ("rate_iops=" in file) == rests for file in files):
            return files
        time.sleep(0.5)
    raise AssertionError("the cell never began")


def by_hand(client: Lab, job: str) -> dict[str, Any]:
    """Run a job file on the device that the client is connected to."""
    client.run("cat > /root/by-hand.fio", input_bytes=job.encode())
    device = client.run(f"readlink -f {DEVICE}").text.strip()
    mine = f"sed 's,^filename=.*,filename={device},' /root/by-hand.fio > /root/mine.fio"
    report = json.loads(client.run(f"{mine} && fio --readonly --output-format=json /root/mine.fio", 200).text)
    return {"options": report["global options"] | report["jobs"][0]["job options"], **report["jobs"][0]["read"]}


def test_the_hosts_fio_runs_the_same_jobs_as_fio_by_hand(lab: Lab, tmp_path: Path) -> None:
    words = replay_words(lab, tmp_path, SCENARIO, "tcp")
    process, run = start_and_await(lab, "measure", *words, patience_s=1200)
    hand, files = list[list[dict[str, Any]]](), list[list[str]]()
    for _ in range(PAIRS):
        files.append(job_files(lab, run, rests=False))
        job_files(lab, run, rests=True)
        for client in clients_of(lab):
            client.wait_for("[ $(pgrep -cx fio) -ge 2 ]")
        time.sleep(3)
        with ThreadPoolExecutor(2) as pool:
            hand.append(list(pool.map(by_hand, clients_of(lab), files[-1])))
    out, error = process.communicate(timeout=1700)
    assert process.returncode == 0, out + error
    result = json.loads((tmp_path / "by-hand.result.json").read_text())
    cells = {cell["workload"]: cell for cell in result["cells"]}
    ratios = []
    for pair, both in enumerate(hand):
        cell = cells[f"load-{pair}"]
        mine = [cell["hosts"][f"clients-{number}"]["read"] for number in (1, 2)]
        told = [one["options"] for one in both]
        assert [one["rw"] for one in told] == 2 * ["randread"]
        assert [(one["bs"], one["iodepth"], one["size"]) for one in told] == 2 * [("4096", "4", str(8 << 20))]
        regions = [int(one.get("offset", 0)) for one in told]
        assert regions[0] == 0 < 8 << 20 < regions[1], "each host has a region of its own"
        assert all(one["ios"] > 0 for one in mine)
        assert all(one["total_ios"] > 0 for one in both)
        ratios.append(cell["summary"]["read"]["iops"] / sum(one["iops"] for one in both))
        rates = [[round(one["iops"]) for one in of] for of in (mine, both)]
        print(f"pair {pair}: raidtui {rates[0]}, by hand {rates[1]} IOPS, ratio {ratios[-1]:.3f}")
    print(f"raidtui's rate by that of fio by hand, of {PAIRS} pairs: median {statistics.median(ratios):.3f}, "
          f"from {min(ratios):.3f} to {max(ratios):.3f}")  # fmt: skip
    await_nothing_left(*hosts_of(lab))
    assert all(lab.is_zero(serial) for serial in lab.serials)
