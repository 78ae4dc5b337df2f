#!/usr/bin/env python3
"""CPU of raidtui's sampler ÷ CPU of `iostat -x 1`, for as many devices as one likes.

    .venv/bin/python benchmarks/sampler.py [--lines 24,1000] [--pairs 5] [--seconds 10]

Both tools run in a private mount namespace with its own /proc/diskstats and /sys/block (iostat ≥ 12.5 reads a file per
device there), whose numbers all change every second. Both are measured in their steady state, by the scheduler's own
account of each process (/proc/PID/task/*/schedstat), one after the other in alternating order; a pair is one run of each.

raidtui's side is what its runner does: sample (kernel threads and the network too, which iostat does not know), encode
each frame for the journal and write it to a file, fold the series of eight devices. iostat's side is its text, to
/dev/null and to a terminal. The files stand in memory, where they cost raidtui 0.33 µs and iostat some 3 µs per device
and second less than the kernel's own would: the ratios favour iostat.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TARGETS = {24: 2.0, 1000: 0.2}
SETTLE_S = 2.5
FOLDED_DEVICES = 8


def child(lines: int) -> None:
    """raidtui's side, in a process of its own until it is ended. Ends itself when not every device changes every time."""
    import msgspec

    from raidtui.model.frame import Frame
    from raidtui.watch.sampler import Sampler
    from raidtui.watch.series import SeriesFold
    from raidtui.watch.threads import Threads

    fold = SeriesFold(device_name(i) for i in range(FOLDED_DEVICES))
    encoder = msgspec.json.Encoder()
    with tempfile.TemporaryFile(buffering=0) as journal:

        def sink(frame: Frame) -> None:
            if len(frame.devices) != lines:
                os._exit(3)
            journal.write(encoder.encode(frame) + b"\n")
            fold.add(frame)

        Sampler(sink, interval_s=1.0, threads=Threads()).start()
        threading.Event().wait()


def device_name(index: int) -> str:
    return f"nvme{index}n1"


class Feeder:
    """The files that both tools read, rewritten in place twice a second, so that every reading finds new numbers."""

    def __init__(self, folder: Path, lines: int) -> None:
        self._random = random.Random(lines)
        self._counters = [[self._random.randrange(10**8, 2 * 10**8) for _ in range(17)] for _ in range(lines)]
        self._stopped = threading.Event()
        block = folder / "block"
        self._diskstats = folder / "diskstats"
        self._stats = [block / device_name(index) / "stat" for index in range(lines)]
        for path in (self._diskstats, *self._stats):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        self._write()
        for source, target in ((folder / "diskstats", "/proc/diskstats"), (block, "/sys/block")):
            subprocess.run(["mount", "--bind", source, target], check=True)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        for target in ("/proc/diskstats", "/sys/block"):
            subprocess.run(["umount", target], check=True)

    def _run(self) -> None:
        while not self._stopped.wait(0.5):
            self._write()

    def _write(self) -> None:
        text = []
        for index, counters in enumerate(self._counters):
            counters[:] = [value + self._random.randrange(1, 1000) for value in counters]
            counters[8] = 100000000 + self._random.randrange(64)  # requests in flight: a gauge, of the same width
            numbers = " ".join(map(str, counters))
            text.append(f" 259 {index:7d} {device_name(index)} {numbers}\n")
            overwrite(self._stats[index], f"{numbers}\n")
        overwrite(self._diskstats, "".join(text))


def overwrite(path: Path, text: str) -> None:
    """In place and at once: a reader never sees the file empty, as it would with one that is truncated first."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.pwrite(fd, text.encode(), 0)
    finally:
        os.close(fd)


def cpu_s(pid: int) -> float:
    """CPU seconds that all threads of a process have had."""
    return sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def steady_cpu_percent(argv: list[str], seconds: float, terminal: bool = False) -> float:
    """CPU of one tool while it goes on, in percent of one core."""
    if terminal:
        ours, theirs = os.openpty()
        threading.Thread(target=drain, args=(ours,), daemon=True).start()
    else:
        theirs = os.open(os.devnull, os.O_WRONLY)
    tool = subprocess.Popen(argv, stdout=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    try:
        # Half way between two ticks at both ends, so that each run is measured over the same number of them.
        time.sleep(SETTLE_S)
        before_s, began = cpu_s(tool.pid), time.monotonic()
        time.sleep(seconds)
        used_s, took = cpu_s(tool.pid) - before_s, time.monotonic() - began
        if tool.poll() is not None:
            raise SystemExit(f"{' '.join(argv)} ended by itself")
        return 100 * used_s / took
    finally:
        tool.kill()
        tool.wait()


def drain(fd: int) -> None:
    try:
        while os.read(fd, 1 << 16):
            pass
    except OSError:  # the other end is closed
        os.close(fd)


def compare(feeder: Feeder, lines: int, pairs: int, seconds: float) -> bool:
    tools = {
        "raidtui": ([sys.executable, "-I", __file__, "--child", str(lines)], False),
        "iostat to /dev/null": (["iostat", "-x", "1"], False),
        "iostat to a terminal": (["iostat", "-x", "1"], True),
    }
    found: dict[str, list[float]] = {name: [] for name in tools}
    for pair in range(pairs):
        order = list(tools) if pair % 2 == 0 else list(reversed(tools))
        for name in order:
            argv, terminal = tools[name]
            found[name].append(steady_cpu_percent(argv, seconds, terminal))
            if not feeder.alive:
                raise SystemExit("the files could not be rewritten: nothing was measured")
            print(f"  {lines} lines, pair {pair + 1}: {name} {found[name][-1]:.3f} %", file=sys.stderr)
    print(f"{lines} device lines, all changing every second; medians of {pairs} alternating pairs, {seconds:g} s each")
    for name, percents in found.items():
        print(f"  {name:22} {statistics.median(percents):7.3f} % of one core")
    kept = True
    for name in list(tools)[1:]:
        ratios = [ours / theirs for ours, theirs in zip(found["raidtui"], found[name], strict=True)]
        ratio, target = statistics.median(ratios), TARGETS.get(lines)
        gate = "" if target is None else f"   at most {target:g}: {'kept' if ratio <= target else 'MISSED'}"
        kept &= target is None or ratio <= target
        print(f"  raidtui ÷ {name:22} {ratio:6.3f} ({min(ratios):.3f} to {max(ratios):.3f}){gate}")
    sys.stdout.flush()
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", default="24,1000", help="device lines to compare at (24,1000)")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each run is measured")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
    if shutil.which("iostat") is None:
        print("iostat is not installed (package sysstat)", file=sys.stderr)
        return 2
    if not options.inside:
        unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        return subprocess.run([*unshare, sys.executable, __file__, "--inside", *sys.argv[1:]]).returncode
    kept = True
    for lines in map(int, options.lines.split(",")):
        # In memory, and where no other process can see or sweep it away.
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=True)
        feeder = Feeder(Path("/dev/shm"), lines)
        try:
            kept &= compare(feeder, lines, options.pairs, options.seconds)
        finally:
            feeder.stop()
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
