"""Frames: one sample of every counter of every device at one moment, and the rates between two of them.

The kernel's counters are described in its Documentation/admin-guide/iostats.rst and Documentation/filesystems/proc.rst;
the rates mean what the columns of sysstat's `iostat -x` mean. A rate is a pure function of two samples; where there is
no earlier sample, or the counters began anew, it is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from raidtui.model.network import NetRates, net_rates, read_net_counters

SECTOR_BYTES = 512
"""Sector size of /proc/diskstats, independent of the device's block size."""


class Counters(msgspec.Struct, frozen=True, array_like=True):
    """One device's line of /proc/diskstats after its name: all count up since the device appeared, but `in_flight`."""

    reads: int
    reads_merged: int
    sectors_read: int
    ms_reading: int
    """Sum over the requests of the time each took; as all times here, kept by the kernel in 32 bits."""
    writes: int
    writes_merged: int
    sectors_written: int
    ms_writing: int
    in_flight: int
    ms_io: int
    """Time in which at least one request was in flight."""
    ms_io_weighted: int
    """Time × requests in flight."""
    discards: int | None = None
    """Since Linux 4.18; None before."""
    discards_merged: int | None = None
    sectors_discarded: int | None = None
    ms_discarding: int | None = None
    flushes: int | None = None
    """Since Linux 5.5; None before, and not kept for partitions."""
    ms_flushing: int | None = None


class CpuTimes(msgspec.Struct, frozen=True, array_like=True):
    """One core's line of /proc/stat, in USER_HZ ticks. Time of guests is inside `user` and `nice`."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int
    irq: int
    softirq: int
    steal: int = 0


class MdState(msgspec.Struct, frozen=True, omit_defaults=True):
    """State of an array in /sys/block/mdN/md, in the kernel's words. None: absent (raid0 never syncs), or removed."""

    array_state: str | None = None
    """`clean`, `active`, `write-pending`, `readonly`, `broken`, …"""
    action: str | None = None
    """`idle`, `resync`, `recover`, `check`, `repair`, `reshape` or `frozen`."""
    degraded: int | None = None
    """Members missing."""
    done_sectors: int | None = None
    """Progress of a running sync out of `total_sectors`, both of one member; None if no sync is running."""
    total_sectors: int | None = None


_CACHE_COUNTS = ("hits", "misses", "write_hits", "write_misses")


class CacheState(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """Counters of a kernel cache. Hits and misses count up since the cache appeared; sizes are current."""

    hits: int
    """Read hits; for bcache, which does not separate them, hits of reads and writes."""
    misses: int
    write_hits: int | None = None
    """None, as each of the following, for a cache that does not say."""
    write_misses: int | None = None
    size_bytes: int | None = None
    """Current content."""
    target_bytes: int | None = None
    """Current upper limit of the content."""
    dirty_bytes: int | None = None
    """Content that is not yet written to the backing disks."""

    def since(self, before: CacheState) -> CacheState:
        """Return the state with the hits and misses since an earlier one; with all of them if the counters were reset in
        between.
        """
        counts = {name: _between(getattr(before, name), getattr(self, name)) for name in _CACHE_COUNTS}
        anew = any(count is not None and count < 0 for count in counts.values())
        return self if anew else msgspec.structs.replace(self, **counts)

    @property
    def room_bytes(self) -> int | None:
        """Capacity of the cache, independent of its present content; None if the cache does not report it."""
        return self.target_bytes if self.target_bytes is not None else self.size_bytes

    @property
    def hit_percent(self) -> float | None:
        """Share of reads that were hits; None if nothing was read."""
        return 100 * self.hits / (self.hits + self.misses) if self.hits + self.misses else None


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """Changes of all counters since the previous frame: it contains only what changed.

    Counters are kept as the kernel printed them and become numbers where they are looked at, so that taking and
    journaling a frame of a thousand devices costs next to nothing. `Frames` puts the whole state together again.
    """

    at_s: float
    """CLOCK_MONOTONIC."""
    unix_s: float
    """Wall clock; compared with `at_s` it shows when the clock was set."""
    span_s: float | None = None
    """Since the frame before; None for the first one."""
    whole: bool = False
    """True if every device and core is in it, changed or not: a reader may begin here."""
    devices: dict[str, str] = {}
    """Lines of /proc/diskstats after the name (`read_counters`), by kernel name."""
    gone: tuple[str, ...] = ()
    """Devices and cores (`cpu3`) that were in the frame before and are no more."""
    cpus: dict[str, str] = {}
    """Lines of /proc/stat after the name (`read_cpu_times`), by `cpu0`, `cpu1`, …."""
    md: dict[str, MdState] = {}
    """The arrays that the sampler was told to watch, all of them every time."""
    temperatures_c: dict[str, float] = {}
    """Readings that are new since the frame before, by device."""
    temperature_limits_c: dict[str, float] = {}
    """Temperatures from which devices warn, by their own word; each is in one frame."""
    threads: dict[str, int] = {}
    """Milliseconds of CPU that kernel threads used while they were watched, summed by name (`md127_raid5`, `others`)."""
    caches: dict[str, CacheState] = {}
    """States of caches by `arc`, `l2arc` (of all ZFS pools together), and kernel names of cached devices; always complete.
    """
    networks: dict[str, str] = {}
    """Counters of network interfaces, loopback included, and RDMA ports by name; empty text for a gone one.
    """


_counters_decoder = msgspec.json.Decoder(Counters)
_cpu_decoder = msgspec.json.Decoder(CpuTimes)


def read_counters(text: str) -> Counters | None:
    """A device's numbers from a frame's text, or None where that is not a line of numbers."""
    try:
        return _counters_decoder.decode(f"[{text.replace(' ', ',')}]")
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return None


def read_cpu_times(text: str) -> CpuTimes | None:
    """A core's times from a frame's text, or None where that is not a line of numbers."""
    try:
        return _cpu_decoder.decode(f"[{text.replace(' ', ',')}]")
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return None


class Flow(msgspec.Struct, frozen=True):
    """One direction of one device between two samples. What is per request is None when there was no request."""

    ios_per_s: float
    """iostat's r/s, w/s, d/s: requests completed, after merging."""
    bytes_per_s: float
    """rkB/s, wkB/s, dkB/s × 1024."""
    merged_per_s: float
    """rrqm/s, wrqm/s, drqm/s."""
    merged_percent: float | None
    """%rrqm, …: of the requests before merging."""
    await_ms: float | None
    """r_await, …: mean time from queueing to completion."""
    request_bytes: float | None
    """rareq-sz, … × 1024: mean size after merging."""


class DeviceRates(msgspec.Struct, frozen=True):
    """Rates of one device between two samples. `discard` and the flush rates are None on kernels that do not count them."""

    read: Flow
    write: Flow
    discard: Flow | None
    flushes_per_s: float | None
    """f/s"""
    flush_await_ms: float | None
    """f_await"""
    queue_length: float | None
    """aqu-sz: mean number of requests waiting or being served."""
    util_percent: float | None
    """%util: share of the time with a request in flight. A device that serves many at once may have more to give at 100."""

    @property
    def request_bytes(self) -> float | None:
        """areq-sz × 1024: mean size of reads and writes."""
        ios = self.read.ios_per_s + self.write.ios_per_s
        return (self.read.bytes_per_s + self.write.bytes_per_s) / ios if ios else None


_COUNTS = (
    "reads", "reads_merged", "sectors_read", "writes", "writes_merged", "sectors_written",
    "discards", "discards_merged", "sectors_discarded", "flushes",
)  # fmt: skip


def rates(a: Counters, b: Counters, span_s: float) -> DeviceRates | None:
    """Return the rates between sample `a` and the later sample `b`, `span_s` seconds apart.

    None when a count went down: the counters began anew (another device of the same name), so nothing is known.
    """
    done = {name: _between(getattr(a, name), getattr(b, name)) for name in _COUNTS}
    if span_s <= 0 or any(count is not None and count < 0 for count in done.values()):
        return None
    flushes = done["flushes"]
    flush_ms, io_ms = ms_between(a.ms_flushing, b.ms_flushing), ms_between(a.ms_io, b.ms_io)
    weighted_ms = ms_between(a.ms_io_weighted, b.ms_io_weighted)
    return DeviceRates(
        _flow(b.reads - a.reads, b.reads_merged - a.reads_merged, b.sectors_read - a.sectors_read,
              ms_between(a.ms_reading, b.ms_reading), span_s),
        _flow(b.writes - a.writes, b.writes_merged - a.writes_merged, b.sectors_written - a.sectors_written,
              ms_between(a.ms_writing, b.ms_writing), span_s),
        _flow(done["discards"] or 0, done["discards_merged"] or 0, done["sectors_discarded"] or 0,
              ms_between(a.ms_discarding, b.ms_discarding), span_s) if done["discards"] is not None else None,
        flushes_per_s=None if flushes is None else flushes / span_s,
        flush_await_ms=flush_ms / flushes if flushes and flush_ms is not None else None,
        queue_length=None if weighted_ms is None else weighted_ms / (1000 * span_s),
        util_percent=None if io_ms is None else io_ms / (10 * span_s),
    )  # fmt: skip


class Use(NamedTuple):
    """Activity of a device between two samples: the two numbers of its drawn history."""

    util_percent: float | None
    bytes_per_s: float


IDLE = Use(0.0, 0.0)


def use_between(before: str, after: str, span_s: float) -> Use | None:
    """Return the activity between two lines of counters, for less CPU than `rates`; None if unreadable or reset."""
    a, b = before.split(), after.split()
    try:
        sectors = int(b[2]) + int(b[6]) - int(a[2]) - int(a[6])
        busy_ms = ms_between(int(a[9]), int(b[9]))
    except (ValueError, IndexError):
        return None
    if sectors < 0 or span_s <= 0:
        return None
    return Use(None if busy_ms is None else min(100.0, busy_ms / (10 * span_s)), sectors * SECTOR_BYTES / span_s)


def ms_between(a: int | None, b: int | None) -> int | None:
    """Milliseconds between two readings of a counter that wraps at 2³² (with 100 requests in flight, every 12 h).

    None when it went back by so much that it began anew rather than wrapped.
    """
    if a is None or b is None:
        return None
    if b < a < 1 << 32:
        b += 1 << 32
    return b - a if 0 <= b - a < 1 << 31 else None


def _between(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else b - a


def _flow(ios: int, merged: int, sectors: int, ms: int | None, span_s: float) -> Flow:
    return Flow(
        ios_per_s=ios / span_s,
        bytes_per_s=sectors * SECTOR_BYTES / span_s,
        merged_per_s=merged / span_s,
        merged_percent=100 * merged / (merged + ios) if merged + ios else None,
        await_ms=ms / ios if ios and ms is not None else None,
        request_bytes=sectors * SECTOR_BYTES / ios if ios else None,
    )


class CpuRates(msgspec.Struct, frozen=True):
    """Use of one core between two samples, in percent of the time."""

    user: float
    nice: float
    system: float
    idle: float
    iowait: float
    irq: float
    softirq: float
    steal: float

    @property
    def busy(self) -> float:
        """Share of the time that is neither idle nor waiting for I/O."""
        return 100 - self.idle - self.iowait


def cpu_rates(a: CpuTimes, b: CpuTimes) -> CpuRates | None:
    """Return the use of a core between two samples; None if a count went down or no tick passed.

    idle and iowait may go back a little on a running core (proc.rst says so): then nothing was idled, as in sysstat.
    """
    spent = [getattr(b, field) - getattr(a, field) for field in CpuTimes.__struct_fields__]
    spent[3], spent[4] = max(0, spent[3]), max(0, spent[4])
    if min(spent) < 0 or not (total := sum(spent)):
        return None
    return CpuRates(*(100 * ticks / total for ticks in spent))


class Frames:
    """The whole state, put together from frames in their order."""

    def __init__(self) -> None:
        self.at_s: float | None = None
        self.span_s: float | None = None
        self.md: Mapping[str, MdState] = {}
        self.temperatures_c: dict[str, float] = {}
        self.temperature_limits_c: dict[str, float] = {}
        self.devices: dict[str, str] = {}
        """Like `Frame.devices`, but complete."""
        self.cpus: dict[str, str] = {}
        self.threads: dict[str, int] = {}
        """Like `Frame.threads`, but complete."""
        self.networks: dict[str, str] = {}
        """Like `Frame.networks`, but complete, and without those that are gone."""
        self._networks_before: dict[str, str] = {}
        """`networks` one frame earlier."""
        self.caches: Mapping[str, CacheState] = {}
        self._caches_before: Mapping[str, CacheState] = {}
        self._threads_before: dict[str, int] | None = None
        """`threads` one frame earlier; None before the second frame."""
        self._before: dict[str, str] = {}
        """The text before this frame of what changed in it, devices and cores alike."""
        self._new: frozenset[str] = frozenset()

    def apply(self, frame: Frame) -> None:
        """Take the next frame. One without `span_s` begins anew; whole ones may be taken at any time."""
        if frame.span_s is None:
            self.devices, self.cpus, self.temperatures_c, self.threads = {}, {}, {}, {}
        self._threads_before = None if self.at_s is None or frame.span_s is None else self.threads
        self.threads = {**({} if frame.whole else self.threads), **frame.threads}
        known = self.devices | self.cpus
        changed = [*frame.devices, *frame.cpus]
        self._before = {name: known[name] for name in changed if name in known}
        self._new = frozenset(name for name in changed if name not in known)
        if frame.whole:
            self.devices, self.cpus = {}, {}
        self.devices.update(frame.devices)
        self.cpus.update(frame.cpus)
        for name in frame.gone:
            self.devices.pop(name, None)
            self.cpus.pop(name, None)
            self.temperatures_c.pop(name, None)
        self.temperatures_c.update(frame.temperatures_c)
        self.temperature_limits_c.update(frame.temperature_limits_c)
        self._networks_before = {} if frame.span_s is None else self.networks
        networks = {**({} if frame.whole else self._networks_before), **frame.networks}
        self.networks = {name: text for name, text in networks.items() if text} if frame.networks else networks
        self.at_s, self.span_s, self.md = frame.at_s, frame.span_s, frame.md
        self._caches_before, self.caches = {} if frame.span_s is None else self.caches, frame.caches

    def counters(self, name: str) -> Counters | None:
        """A device's counters now, or None where there is no such device."""
        text = self.devices.get(name)
        return None if text is None else read_counters(text)

    def rates(self, name: str) -> DeviceRates | None:
        """Return the rates of a device since the previous frame; None when it is seen for the first time."""
        after = self.counters(name)
        if after is None or self.span_s is None or name in self._new:
            return None
        before = read_counters(self._before[name]) if name in self._before else after
        return None if before is None else rates(before, after, self.span_s)

    def change(self, name: str) -> tuple[str, str] | None:
        """Return a device's counters before and after this frame; None if they did not change, or it is new."""
        before, after = self._before.get(name), self.devices.get(name)
        return None if before is None or after is None else (before, after)

    def cpu_rates(self, name: str) -> CpuRates | None:
        """Return the use of a core (`cpu0`) since the previous frame."""
        if name not in self._before or name not in self.cpus:
            return None
        before, after = read_cpu_times(self._before[name]), read_cpu_times(self.cpus[name])
        return None if before is None or after is None else cpu_rates(before, after)

    def thread_rates(self) -> dict[str, float]:
        """Kernel threads by name, in percent of one core since the frame before; empty for the first frame."""
        before, span_s = self._threads_before, self.span_s
        if before is None or not span_s:
            return {}
        return {name: max(0.0, (ms - before.get(name, 0)) / (10 * span_s)) for name, ms in self.threads.items()}

    def network_rates(self, name: str) -> NetRates | None:
        """Return the rates of an interface since the previous frame; None when it is seen for the first time."""
        before, after = self._networks_before.get(name), self.networks.get(name)
        if before is None or after is None or self.span_s is None:
            return None
        a, b = read_net_counters(before), read_net_counters(after)
        return None if a is None or b is None else net_rates(a, b, self.span_s)

    def hit_percent(self, cache: str) -> float | None:
        """Share of a cache's reads that it answered itself since the frame before; None where there were none."""
        before, after = self._caches_before.get(cache), self.caches.get(cache)
        return None if before is None or after is None else after.since(before).hit_percent

    def cores_used(self) -> float | None:
        """Cores that were busy since the frame before, in whole cores (1.5 is one and a half)."""
        each = [rate.busy / 100 for name in self.cpus if (rate := self.cpu_rates(name)) is not None]
        return sum(each) if each else None
