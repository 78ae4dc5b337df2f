"""What measuring costs: the same workload by bare fio and through raidtui's engine, in pairs of random order.

    python benchmarks/fio_overhead.py [--device /dev/…] [--pairs N] [--seconds S] [--rw randread]

Without --device a file in memory is used: the fastest target and so the worst case. A device is only read unless --rw says
otherwise, and then its content is lost. Prints IOPS through raidtui ÷ IOPS of bare fio (median, quartiles), the same for
two bare runs (the noise that any difference has to be seen against), and raidtui's own CPU in percent of one core.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import tempfile
import threading
from pathlib import Path
from statistics import median, quantiles

from raidtui.base import proc
from raidtui.load.engine import Target, TargetDevice
from raidtui.load.engines.fio import FioEngine
from raidtui.load.fio.options import FioSpec
from raidtui.model.convert import decode

FILE_BYTES = 256 << 20
# What raidtui adds to a plain fio command line that only changes the reporting.
REPORTING = ("--output-format=", "--status-interval=")


def bare(engine: FioEngine, spec: FioSpec, device: TargetDevice) -> float:
    path = f"/proc/self/fd/{device.fd}"
    argv = engine.command(spec, (path,), size_bytes=device.size_bytes)
    plain = [word for word in argv if not word.startswith(REPORTING)] + ["--output-format=json"]
    finished = proc.run(plain, timeout_s=spec.runtime.seconds + 60, env={}, pass_fds=[device.fd])
    job = json.loads(finished.out)["jobs"][0]
    return float(job["read"]["iops"] + job["write"]["iops"])


def measured(engine: FioEngine, spec: FioSpec, device: TargetDevice, folder: Path) -> float:
    answer = engine.run(spec, Target((device,)), folder=folder, live=lambda sample: None, stop=threading.Event())
    if answer.problems:
        raise SystemExit("; ".join(answer.problems))
    return sum(flow.iops for flow in (answer.summary.read, answer.summary.write) if flow)


def show(what: str, ratios: list[float]) -> None:
    low, _, high = quantiles(ratios, n=4)
    print(f"{what:<44} {median(ratios):.3f}  (quartiles {low:.3f} to {high:.3f}, {len(ratios)} pairs)")


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rw", default="randread")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    options = {"rw": asked.rw, "bs": "4KiB", "ioengine": "psync", "numjobs": asked.jobs, "runtime": f"{asked.seconds}s"}
    if not asked.device:
        options |= {"direct": False, "why_buffered": "a file in memory"}
    spec = decode(FioSpec, options)
    engine = FioEngine(block_only=bool(asked.device))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        path = Path(asked.device) if asked.device else folder / "target"
        if not asked.device:
            path.write_bytes(os.urandom(1 << 20) * (FILE_BYTES >> 20))
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        device = TargetDevice(fd, str(path), os.lseek(fd, 0, os.SEEK_END))
        ours: list[float] = []
        noise: list[float] = []
        own: list[float] = []
        for _ in range(asked.pairs):
            kinds = ["bare", "bare", "measured"]
            random.shuffle(kinds)
            got: dict[str, list[float]] = {"bare": [], "measured": []}
            for kind in kinds:
                if kind == "bare":
                    got[kind].append(bare(engine, spec, device))
                    continue
                began = cpu_s()
                got[kind].append(measured(engine, spec, device, folder))
                own.append((cpu_s() - began) / asked.seconds * 100)
            ours.append(got["measured"][0] / (sum(got["bare"]) / 2))
            noise.append(got["bare"][0] / got["bare"][1])
    show("IOPS through raidtui ÷ bare fio", ours)
    show("IOPS of bare fio ÷ bare fio (noise)", noise)
    print(f"{'CPU of raidtui, % of one core':<44} {median(own):.2f}")


if __name__ == "__main__":
    main()
