#!/usr/bin/env python3
"""The live device table ÷ btop and `iostat -x 1`: CPU, bytes to the terminal, memory, first frame, answer to a key.

    .venv/bin/python benchmarks/tui_table.py [--devices 24,1000] [--pairs 3] [--seconds 10]

Each runs on a terminal of 200 × 60, once a second, one after the other in alternating order; a pair is one run of each.
All see the same devices: a private mount namespace has its own /proc/diskstats and /sys/block, whose numbers all change
twice a second (btop shows mounted filesystems only, and its processes besides). raidtui's side is its sampler and its
table in one process: 12 columns of `iostat -x`, a bar and a history for each device.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

BUDGETS = {
    (24, "CPU ÷ btop"): 1.2,
    (24, "CPU ÷ iostat"): 3.0,
    (24, "bytes ÷ btop"): 0.5,
    (1000, "CPU ÷ iostat"): 0.20,
    (1000, "bytes ÷ iostat"): 0.06,
}
FIRST_FRAME_BUDGET = 1.3
SETTLE_S = 3.5


def child(kind: str) -> None:
    """raidtui's side, or an empty Textual application, in a process of its own until it is ended."""
    from textual.app import App, ComposeResult

    class Reporting(App[None]):
        """Tells, where it is asked to, how much CPU it took to draw itself once."""

        def on_mount(self) -> None:
            self.call_after_refresh(self.report)

        def report(self) -> None:
            if path := os.environ.get("FIRST_FRAME_REPORT"):
                Path(path).write_text(str(time.process_time()))

    if kind == "empty":
        Reporting().run()
        return

    from rich.text import Text
    from textual.binding import Binding

    from raidtui.model.frame import Frame
    from raidtui.tui.run.tracks import FrameTrack
    from raidtui.tui.widgets.glyphs import bar, spark
    from raidtui.tui.widgets.live_table import LiveTable
    from raidtui.tui.widgets.table_line import Column
    from raidtui.tui.widgets.table_view import Rows
    from raidtui.watch.sampler import Sampler

    class Devices(Rows):
        """Rates and history of the devices in view, as the Run screen has them."""

        def __init__(self) -> None:
            self.keys: Sequence[str] = ()
            self.track = FrameTrack()

        def take(self, frame: Frame) -> None:
            self.track.take(frame.at_s, 0, frame)
            self.keys = list(self.track.now.devices)

        def cells(self, key: str) -> Sequence[str | Text]:
            found = self.track.now.rates(key)
            if found is None:
                return (key,)
            read, write = found.read, found.write
            return (
                key,
                f"{read.ios_per_s:.0f}",
                f"{read.bytes_per_s / 1e6:.1f}",
                number(read.await_ms),
                number(read.request_bytes, 1024),
                f"{write.ios_per_s:.0f}",
                f"{write.bytes_per_s / 1e6:.1f}",
                number(write.await_ms),
                number(write.request_bytes, 1024),
                number(found.queue_length),
                number(found.util_percent),
                bar(found.util_percent, 10),
                spark([use and use.util_percent for use in self.track.history(key, 20)], 20, top=100, style="accent"),
            )

    def number(value: float | None, unit: float = 1) -> str:
        return "–" if value is None else f"{value / unit:.1f}"

    class Table(Reporting):
        BINDINGS: ClassVar = [Binding("q", "quit", "Quit")]

        def __init__(self) -> None:
            super().__init__()
            self.devices = Devices()

        def compose(self) -> ComposeResult:
            titles = ("r/s", "rMB/s", "r_await", "rareq", "w/s", "wMB/s", "w_await", "wareq", "aqu-sz", "%util")
            yield LiveTable(
                [
                    Column("name", "Device", 16, flexible=True),
                    *(Column(title, title, 8, "right") for title in titles),
                    Column("bar", "busy", 10),
                    Column("history", "last 20 s", 20),
                ]
            )

        def on_mount(self) -> None:
            super().on_mount()
            Sampler(lambda frame: self.call_later(self.take, frame), interval_s=1.0).start()

        def take(self, frame: Frame) -> None:
            self.devices.take(frame)
            self.query_one(LiveTable).show(self.devices)

    Table().run()


def compare(devices: int, pairs: int, seconds: float, folder: Path) -> dict[str, dict[str, float]]:
    from tui_pty import btop_home, on_terminal

    tools = {
        "raidtui": ([sys.executable, __file__, "--child", "table"], {}),
        "btop": (["btop"], btop_home(folder)),
        "iostat": (["iostat", "-x", "1"], {}),
    }
    found: dict[str, dict[str, list[float]]] = {name: {"CPU": [], "bytes": [], "memory": []} for name in tools}
    keys: list[float] = []
    for pair in range(pairs):
        for name in list(tools) if pair % 2 == 0 else reversed(list(tools)):
            argv, environ = tools[name]
            with on_terminal(argv, environ) as tool:
                cpu, sent = tool.steady(SETTLE_S, seconds)
                found[name]["CPU"].append(cpu)
                found[name]["bytes"].append(sent)
                found[name]["memory"].append(tool.memory_mb())
                print(f"  {devices} devices, pair {pair + 1}: {name} {cpu:.3f} %, {sent:.0f} bytes/s", file=sys.stderr)
                if name == "raidtui":
                    keys.append(tool.key_latency_ms([b"\x1b[B"] * 15))
    medians = {name: {what: statistics.median(each) for what, each in by.items()} for name, by in found.items()}
    print(f"{devices} devices; medians of {pairs} alternating pairs, {seconds:g} s each")
    for name, by in medians.items():
        print(f"  {name:8} {by['CPU']:7.3f} % of one core  {by['bytes']:9.0f} bytes/s  {by['memory']:6.1f} MB")
    print(f"  raidtui answers a key in {statistics.median(keys):.1f} ms (at most 100)")
    return medians


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="24,1000", help="how many devices to compare at (24,1000)")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each run is measured")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return 0
    missing = [tool for tool in ("iostat", "btop") if shutil.which(tool) is None]
    if missing:
        print(f"not installed: {', '.join(missing)} (packages sysstat, btop)", file=sys.stderr)
        return 2
    if not options.inside:
        unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        return subprocess.run([*unshare, sys.executable, __file__, "--inside", *sys.argv[1:]]).returncode
    return measure(list(map(int, options.devices.split(","))), options.pairs, options.seconds)


def measure(counts: list[int], pairs: int, seconds: float) -> int:
    from sampler import Feeder
    from tui_pty import first_frame_cpu_s, judge

    kept = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for devices in counts:
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=True)
            feeder = Feeder(Path("/dev/shm"), devices)
            try:
                found = compare(devices, pairs, seconds, folder)
            finally:
                feeder.stop()
            for peer in ("btop", "iostat"):
                for what in ("CPU", "bytes", "memory"):
                    label = f"{what} ÷ {peer}"
                    ratio = found["raidtui"][what] / found[peer][what]
                    kept &= judge(label, ratio, BUDGETS.get((devices, label)))
        argv = [sys.executable, __file__, "--child"]
        table, empty = (first_frame_cpu_s([*argv, kind], folder / "report", 5) for kind in ("table", "empty"))
        print(f"first frame: {table:.3f} s of CPU, an empty Textual application {empty:.3f} s")
        kept &= judge("first frame ÷ empty Textual app", table / empty, FIRST_FRAME_BUDGET)
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
