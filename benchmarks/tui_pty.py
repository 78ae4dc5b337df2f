"""A tool on a terminal of its own: its CPU, memory, what it sends, and how fast it answers a key."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

COLUMNS, LINES = 200, 60
TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}


class OnTerminal:
    """A process on a terminal of 200 × 60 whose output is read and counted, as fast as it comes."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str] | None = None) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            argv,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, **TERMINAL, **(environ or {})},
        )
        os.close(theirs)
        self.sent_bytes = 0
        self.everything = b""
        """The last million bytes of what it sent."""
        self._wait_for_output = threading.Event()
        threading.Thread(target=self._drain, daemon=True).start()

    def cpu_s(self) -> float:
        """CPU seconds of all its threads."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(path.read_text().split()[0]) for path in tasks) / 1e9

    def memory_mb(self) -> float:
        """Resident memory."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1000
        return 0.0

    def steady(self, settle_s: float, seconds: float) -> tuple[float, float]:
        """CPU in percent of one core, and bytes a second sent, over `seconds` after it settled."""
        time.sleep(settle_s)
        cpu_s, sent, began = self.cpu_s(), self.sent_bytes, time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - began
        if self.process.poll() is not None:
            raise SystemExit(f"{self.process.args} ended by itself: {self.everything[-2000:].decode(errors='replace')}")
        return 100 * (self.cpu_s() - cpu_s) / took, (self.sent_bytes - sent) / took

    def key_latency_ms(self, keys: Sequence[bytes], pause_s: float = 0.137) -> float:
        """Median time from a key to the first byte sent after it. The pause is no part of a second: every phase is met."""
        found = []
        for key in keys:
            time.sleep(pause_s)
            self._wait_for_output.clear()
            began = time.perf_counter()
            os.write(self._ours, key)
            if self._wait_for_output.wait(1.0):
                found.append(time.perf_counter() - began)
        return 1000 * statistics.median(found) if found else float("nan")

    def end(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()

    def _drain(self) -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while True:
                select.select([self._ours], [], [])
                data = os.read(self._ours, 1 << 16)
                if not data:
                    break
                self._wait_for_output.set()
                self.sent_bytes += len(data)
                self.everything = (self.everything + data)[-1_000_000:]
        os.close(self._ours)


def judge(what: str, ratio: float, budget: float | None) -> bool:
    """Print a ratio, and whether it is within its budget."""
    verdict = "" if budget is None else f"   at most {budget:g}: {'kept' if ratio <= budget else 'MISSED'}"
    print(f"  raidtui: {what:34} {ratio:6.3f}{verdict}")
    return budget is None or ratio <= budget


@contextlib.contextmanager
def on_terminal(argv: Sequence[str], environ: Mapping[str, str] | None = None) -> Iterator[OnTerminal]:
    """The tool, ended afterwards."""
    tool = OnTerminal(argv, environ)
    try:
        yield tool
    finally:
        tool.end()


def btop_home(folder: Path, update_ms: int = 1000) -> dict[str, str]:
    """Environment for btop with everything on, once a second."""
    settings = folder / "btop" / "btop.conf"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"update_ms = {update_ms}\nshow_disks = True\nshow_io_stat = True\nuse_fstab = False\n")
    return {"XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}


def first_frame_cpu_s(argv: Sequence[str], report: Path, times: int) -> float:
    """Median CPU seconds of a program until it has drawn itself once. It writes that into the file it is told of."""
    found = []
    for _ in range(times):
        report.unlink(missing_ok=True)
        with on_terminal(argv, {"FIRST_FRAME_REPORT": str(report)}):
            found.append(await_report(report, argv))
    return statistics.median(found)


def await_report(report: Path, argv: Sequence[str]) -> float:
    """CPU seconds of a program until it had drawn itself, as it wrote them into the file that it was told of."""
    deadline = time.monotonic() + 60
    while not (report.exists() and report.read_text()):
        if time.monotonic() > deadline:
            raise SystemExit(f"{' '.join(argv)} drew nothing")
        time.sleep(0.02)
    return float(report.read_text())
