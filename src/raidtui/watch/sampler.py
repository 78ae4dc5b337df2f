"""The one sampler: counters of all devices and interfaces, times of all cores, sync of the watched arrays."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from raidtui.base.files import read_int, read_text
from raidtui.model.frame import Frame, MdState
from raidtui.watch.caches import Caches
from raidtui.watch.network import Network
from raidtui.watch.table import cpu_table, disk_table
from raidtui.watch.temperature import Thermometer
from raidtui.watch.threads import Threads

Sink = Callable[[Frame], None]


class FrameSource(Protocol):
    """Source of a run's frames: `Sampler`, or a simulated one."""

    def watch_md(self, names: Iterable[str]) -> None:
        """Watch these arrays, and no others, from the next frame on."""

    def start(self) -> None:
        """Send a frame now, and from then on regularly."""

    def stop(self) -> Frame:
        """Send a last frame."""

    def tick(self, *, whole: bool = False) -> Frame:
        """Send a frame now. With `whole`, a reader may begin with it."""


STOP_GRACE_S = 5.0


class Sampler:
    """Takes frames: by `tick` whenever asked, and once per interval in a thread of its own between `start` and `stop`.

    The first frame is whole. Ticks keep to a fixed grid of the monotonic clock, so that they do not drift; ticks that
    were missed (a suspended machine) are left out, not made up for: `span_s` says how long a frame really covers.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        interval_s: float = 1.0,
        md: Iterable[str] = (),
        thermometer: Thermometer | None = None,
        threads: Threads | None = None,
        caches: Caches | None = None,
        procfs: Path = Path("/proc"),
        sys_block: Path = Path("/sys/block"),
        infiniband: Path = Path("/sys/class/infiniband"),
    ) -> None:
        """`sink` gets every frame, in order, in the thread that took it; it must not ask for one itself.

        Raises OSError when a table cannot be opened.
        """
        self._sink = sink
        self._interval_s = interval_s
        self._md = tuple(md)
        self._thermometer = thermometer
        self._threads = threads
        self._caches = caches
        self._sys_block = sys_block
        self._disks = disk_table(procfs / "diskstats")
        try:
            self._cpus = cpu_table(procfs / "stat")
        except OSError:
            self._disks.close()
            raise
        self._network = Network(procfs, infiniband)
        self._last_s: float | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.failure: Exception | None = None
        """Error that ended the thread: a table that could not be read, or the sink's own error."""

    def watch_md(self, names: Iterable[str]) -> None:
        """Watch the md arrays among these devices, and no others, from the next frame on."""
        self._md = tuple(name for name in names if name.startswith("md"))
        for each in (self._threads, self._caches):
            if each:
                each.list_soon()

    def tick(self, *, whole: bool = False) -> Frame:
        """Take a frame now and give it to the sink. With `whole`, a reader may begin with it. Raises OSError."""
        with self._lock:
            at_s = time.monotonic()
            disks = self._disks.read(whole=whole)
            cpus = self._cpus.read(whole=whole)
            cpus.rows.pop("cpu", None)
            frame = Frame(
                at_s=at_s,
                unix_s=time.time(),
                span_s=None if self._last_s is None else at_s - self._last_s,
                whole=whole or self._last_s is None,
                devices=disks.rows,
                gone=disks.gone + cpus.gone,
                cpus=cpus.rows,
                md={name: md_state(name, self._sys_block) for name in self._md},
                temperatures_c=self._thermometer.news() if self._thermometer else {},
                temperature_limits_c=self._thermometer.new_limits() if self._thermometer else {},
                threads=self._threads.news(whole=whole) if self._threads else {},
                caches=self._caches.read() if self._caches else {},
                networks=self._network.news(whole=whole or self._last_s is None),
            )
            self._last_s = at_s
            self._sink(frame)
            return frame

    def start(self) -> None:
        """Take a frame now, and from then on one per interval."""
        self.tick()
        if self._thermometer:
            self._thermometer.start()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._thread.start()

    def stop(self) -> Frame:
        """Stop the thread, take a last frame and close the tables.

        Raises what ended the thread earlier, if anything did, and TimeoutError when it is stuck in the kernel or the sink.
        """
        self._stopped.set()
        if self._thermometer:
            self._thermometer.stop()
        if self._thread:
            self._thread.join(STOP_GRACE_S)
            if self._thread.is_alive():  # its tables stay open: it may yet read from them
                raise TimeoutError(f"the sampler did not stop within {STOP_GRACE_S:g} s")
        try:
            if self.failure is not None:
                raise self.failure
            return self.tick()
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the tables without another frame."""
        for table in (self._disks, self._cpus, self._network):
            table.close()
        if self._threads:
            self._threads.close()

    def _run(self) -> None:
        next_s = time.monotonic()
        try:
            while True:
                next_s = next_tick(next_s, time.monotonic(), self._interval_s)
                if self._stopped.wait(next_s - time.monotonic()):
                    return
                self.tick()
        except Exception as error:  # the thread's boundary: `stop` raises it again
            self.failure = error


def next_tick(last_s: float, now_s: float, interval_s: float) -> float:
    """The next moment of the grid through `last_s` that is still to come."""
    return last_s + interval_s * (int(max(0.0, now_s - last_s) / interval_s) + 1)


def md_state(name: str, sys_block: Path = Path("/sys/block")) -> MdState:
    """The state of array `name` (`md127`) now; all None when there is no such array (any more)."""
    folder = f"{sys_block}/{name}/md"
    array_state = read_text(f"{folder}/array_state")
    if array_state is None:
        return MdState()
    action = read_text(f"{folder}/sync_action")
    done, total = None, None
    if action not in (None, "idle", "frozen"):
        done, total = _progress(read_text(f"{folder}/sync_completed"))
    return MdState(array_state, action, read_int(f"{folder}/degraded"), done, total)


def _progress(text: str | None) -> tuple[int, int] | tuple[None, None]:
    """`1234 / 5678` in sectors; `none` and `delayed` when nothing runs (yet)."""
    done, slash, total = (text or "").partition("/")
    try:
        return (int(done), int(total)) if slash else (None, None)
    except ValueError:
        return None, None
