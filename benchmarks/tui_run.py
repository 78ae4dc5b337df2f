#!/usr/bin/env python3
"""The whole Run screen ÷ btop and `iostat -x 1`: CPU, bytes to the terminal, memory, answer to a key.

    .venv/bin/python benchmarks/tui_run.py [--devices 24,1000] [--pairs 3] [--seconds 10]

As `tui_table.py`, but with the application itself: it follows a run over its own connection, whose far side is a small
engine that samples the same devices once a second and makes up fio's figures, half a second after each frame. The run is a
minute old when it begins, so that the charts are full. What is measured is the application; what the sampling side costs is
in `sampler.py`, while of `iostat` and btop it is part of what they are measured with.
"""

from __future__ import annotations

import argparse
import json
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
from typing import Any

BUDGETS = {
    (24, "CPU ÷ btop"): 3.0,
    (24, "bytes ÷ btop"): 0.5,
    (1000, "CPU ÷ iostat"): 0.20,
    (1000, "bytes ÷ iostat"): 0.06,
}
SETTLE_S = 4.5
"""After the run is on the screen. On a busy machine that alone may take as long."""
OLD_S = 60
ENGINE_END_S = 2.0
"""The far side ends by itself when the application is gone, and holds the files until then."""
MADE = Path(__file__).resolve().parent.parent / "tests" / "cli"


def engine() -> None:
    """The far side of one connection: answers what the application asks, and makes up a run."""
    from raidtui.model.protocol import PROTOCOL

    say({"type": "hello", "protocol": PROTOCOL, "version": "0.1.0", "host": "bench", "root": True, "boot_id": "b"})
    for line in sys.stdin:
        request = json.loads(line)
        number, method = request["id"], request["method"]
        if method == "follow":
            threading.Thread(target=follow, args=(number,), daemon=True).start()
        elif method != "watch-disks":
            problem = {"code": "bench", "message": "nothing of that kind here"}
            say({"type": "failure", "id": number, "problems": [problem]})


def follow(number: int) -> None:
    """A run with one cell that goes on for ever: a frame of every device and a sample of fio, once a second."""
    sys.path.insert(0, str(MADE))
    import made
    import msgspec

    from raidtui.model.event import AnyEvent, CellStarted, FrameTaken, Record, RunStarted, WorkloadSampled
    from raidtui.model.frame import Frame
    from raidtui.model.measure import Direction, Latency, Sample
    from raidtui.watch.sampler import Sampler

    encode = msgspec.json.Encoder().encode
    began_s, seq, chance = time.monotonic() - OLD_S, 0, random.Random(1)

    def record(event: AnyEvent, at_s: float | None = None) -> None:
        nonlocal seq
        seq += 1
        at_s = time.monotonic() - began_s if at_s is None else at_s
        line = encode(Record(seq, at_s, "2026-01-31T12:00:00.000Z", event))
        sys.stdout.buffer.write(b'{"type":"event","id":%d,"event":%b}\n' % (number, line))
        sys.stdout.buffer.flush()

    def sample(at_s: float) -> None:
        record(WorkloadSampled("raid5/randwrite/1", Sample(at_s, 1.0, direction(), direction())), at_s)

    def direction() -> Direction:
        iops = 3e5 * (1 + chance.random() / 10)
        mean_us = 80 * (1 + chance.random())
        latency = Latency(mean_us=mean_us, p99_us=mean_us * 9, max_us=mean_us * 60 * (1 + chance.random()))
        return Direction(int(iops), int(iops * 4096), iops, iops * 4096.0, 1.0, latency)

    def sink(frame: Frame) -> None:
        if seq == 1:
            names = list(frame.devices)
            devices = dict.fromkeys(names[1:], "member") | {names[0]: "target"}
            record(CellStarted("raid5/randwrite/1", 1, 1, devices, dict.fromkeys(names[1:], names[0])), 0.0)
            for second in range(1, OLD_S):
                sample(float(second))
        record(FrameTaken(frame))
        time.sleep(0.5)
        sample(time.monotonic() - began_s)

    record(RunStarted("bench", made.plan(), made.MACHINE, 1, "0.1.0"), 0.0)
    Sampler(sink, interval_s=1.0).start()


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def application() -> None:
    """The application, following that run."""
    from raidtui.client.engine_client import EngineClient
    from raidtui.client.places import Place
    from raidtui.tui.app import RaidtuiApp
    from raidtui.tui.run.desk import RunDesk

    def begin(app: RaidtuiApp) -> None:
        app.follow_run("bench")
        app.desk.changed.subscribe(app, shown)

    def shown(desk: RunDesk) -> None:
        desk.changed.unsubscribe(app)
        app.call_after_refresh(Path(os.environ["FIRST_FRAME_REPORT"]).write_text, str(time.process_time()))

    there = Place("bench", (sys.executable, str(Path(__file__).resolve()), "--engine"), dict(os.environ))
    app = RaidtuiApp(lambda: EngineClient(there), place="bench", on="bench", begin=begin)
    app.run()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="24,1000", help="how many devices to compare at (24,1000)")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each run is measured")
    parser.add_argument("--picture", type=Path, help="also write what is on the terminal here, as it was sent")
    for hidden in ("--inside", "--engine", "--application"):
        parser.add_argument(hidden, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine or options.application:
        (engine if options.engine else application)()
        return 0
    missing = [tool for tool in ("iostat", "btop") if shutil.which(tool) is None]
    if missing:
        print(f"not installed: {', '.join(missing)} (packages sysstat, btop)", file=sys.stderr)
        return 2
    if not options.inside:
        unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        return subprocess.run([*unshare, sys.executable, __file__, "--inside", *sys.argv[1:]]).returncode
    kept = True
    with tempfile.TemporaryDirectory() as name:
        for devices in map(int, options.devices.split(",")):
            kept &= measure(devices, options.pairs, options.seconds, Path(name), options.picture)
    return 0 if kept else 1


def measure(devices: int, pairs: int, seconds: float, folder: Path, picture: Path | None) -> bool:
    from sampler import Feeder
    from tui_pty import await_report, btop_home, judge, on_terminal

    home, report = btop_home(folder), folder / "report"
    ours = {"XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder), "FIRST_FRAME_REPORT": str(report)}
    tools = {
        "raidtui": ([sys.executable, __file__, "--application"], ours),
        "btop": (["btop"], home),
        "iostat": (["iostat", "-x", "1"], {}),
    }
    found: dict[str, dict[str, list[float]]] = {name: {"CPU": [], "bytes": [], "memory": []} for name in tools}
    keys: list[float] = []
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=True)
    feeder = Feeder(Path("/dev/shm"), devices)
    try:
        for pair in range(pairs):
            for name in list(tools) if pair % 2 == 0 else reversed(list(tools)):
                argv, environ = tools[name]
                report.unlink(missing_ok=True)
                with on_terminal(argv, environ) as tool:
                    if name == "raidtui":
                        await_report(report, argv)
                    cpu, sent = tool.steady(SETTLE_S, seconds)
                    for what, value in (("CPU", cpu), ("bytes", sent), ("memory", tool.memory_mb())):
                        found[name][what].append(value)
                    print(f"  {devices} devices, pair {pair + 1}: {name} {cpu:.3f} %, {sent:.0f} bytes/s", file=sys.stderr)
                    if name == "raidtui":
                        keys.append(tool.key_latency_ms([b"\t"] * 15))
                        if picture:
                            picture.write_bytes(tool.everything)
    finally:
        time.sleep(ENGINE_END_S)
        feeder.stop()
    medians = {name: {what: statistics.median(each) for what, each in by.items()} for name, by in found.items()}
    print(f"the Run screen, {devices} devices; medians of {pairs} alternating pairs, {seconds:g} s each")
    for name, by in medians.items():
        print(f"  {name:8} {by['CPU']:7.3f} % of one core  {by['bytes']:9.0f} bytes/s  {by['memory']:6.1f} MB")
    answer_ms = statistics.median(keys)
    kept = judge("answers a key, ms", answer_ms, 100.0)
    for peer in ("btop", "iostat"):
        for what in ("CPU", "bytes", "memory"):
            label = f"{what} ÷ {peer}"
            kept &= judge(label, medians["raidtui"][what] / medians[peer][what], BUDGETS.get((devices, label)))
    return kept


if __name__ == "__main__":
    raise SystemExit(main())
