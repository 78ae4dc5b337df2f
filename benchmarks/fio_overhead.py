"""Measure the overhead of a run: the same workload by bare fio and by raidtui, in pairs of random order.

    python benchmarks/fio_overhead.py [--lab | --device /dev/…] [--watched] [--pairs N] [--seconds S] [--rw randread]

As a run does it: through the workload engine, with the sampler of all devices and the journal of every event beside it.
With --lab it runs in a lab of its own, on one of its disks. Without --device a file in memory is used: the fastest target
and so the worst case. A device is only read unless --rw says otherwise, and then its content is lost. Prints IOPS through
raidtui ÷ IOPS of bare fio (median, quartiles), the same for two bare runs (the noise that any difference has to be seen
against), and raidtui's own CPU in percent of one core. With --watched the screen Run is on a terminal of the same machine
meanwhile, following a run with an engine of its own (`tui_run.py`): the worst case, since it is usually on another.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

if Path("/opt/raidtui").is_dir():  # inside the lab
    sys.path.insert(0, "/opt/raidtui")

from raidtui.base import proc
from raidtui.engine.run.journal import Journal
from raidtui.load.engine import Target, TargetDevice
from raidtui.load.fio.engine import FioEngine
from raidtui.load.fio.spec import FioSpec
from raidtui.model.convert import decode
from raidtui.model.event import FrameTaken, WorkloadSampled
from raidtui.watch.sampler import Sampler

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
    journal = Journal(folder)
    sampler = Sampler(lambda frame: journal.append(FrameTaken(frame)))
    sampler.start()
    try:
        live = lambda sample: journal.append(WorkloadSampled("cell", sample))  # noqa: E731
        answer = engine.run(spec, Target((device,)), folder=folder, live=live, stop=threading.Event())
    finally:
        sampler.stop()
        journal.close()
    if answer.problems:
        raise SystemExit("; ".join(answer.problems))
    return sum(flow.iops for flow in (answer.summary.read, answer.summary.write) if flow)


@contextlib.contextmanager
def watching(folder: Path) -> Iterator[None]:
    """The screen Run on a terminal, drawing once a second."""
    from tui_pty import await_report, on_terminal

    report = folder / "report"
    report.unlink(missing_ok=True)
    argv = [sys.executable, str(Path(__file__).with_name("tui_run.py")), "--application"]
    where = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(folder))
    with on_terminal(argv, {**where, "FIRST_FRAME_REPORT": str(report)}):
        await_report(report, argv)
        yield


def show(what: str, ratios: list[float]) -> None:
    low, _, high = quantiles(ratios, n=4)
    print(f"{what:<44} {median(ratios):.3f}  (quartiles {low:.3f} to {high:.3f}, {len(ratios)} pairs)")


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def in_lab(asked: argparse.Namespace) -> None:
    """The same in a lab with one disk, which is filled first so that reads hit written blocks."""
    from raidtui.lab.control import Lab
    from raidtui.lab.disks import parse_spec

    lab = Lab(f"bench-{os.getpid()}").up(parse_spec("1x1G"))
    try:
        lab.raidtui("--version")
        device = f"/dev/{lab.kernel_name(lab.serials[0])}"
        lab.run(["dd", "if=/dev/urandom", f"of={device}", "bs=1M", "count=1024", "oflag=direct"], 300, check=False)
        lab.put_file(Path(__file__), "/root/fio_overhead.py")
        words = ["--device", device, "--rw", asked.rw]
        words += ["--pairs", asked.pairs, "--seconds", asked.seconds, "--jobs", asked.jobs]
        seconds = 120 + asked.pairs * (asked.seconds + 10) * 4
        print(lab.run(["python3", "-I", "/root/fio_overhead.py", *map(str, words)], seconds).text, end="")
    finally:
        lab.down()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--lab", action="store_true")
    parser.add_argument(
        "--watched", action="store_true", help="with the screen Run on a terminal beside it; not in the lab"
    )
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rw", default="randread")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    if asked.lab and asked.watched:
        parser.error("--watched and --lab do not go together: there are no screens in the lab")
    if asked.lab:
        in_lab(asked)
        return
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
                with watching(folder) if asked.watched else contextlib.nullcontext():
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
