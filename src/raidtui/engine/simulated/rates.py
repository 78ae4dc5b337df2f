"""Numbers of a simulated workload: what disks of a kind usually do, the layout's write amplification, and Little's law.

They have a plausible size and order, so that tables, charts and verdicts can be tried. They are measurements of nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from raidtui.load.engine import Pattern
from raidtui.model.disk import Disk
from raidtui.model.latency_bins import Bins, binned
from raidtui.model.measure import Direction, Latency, Sample, Summary
from raidtui.model.plan import Amplification

_MIXED_READS: Final = 0.7
"""Share of reads in a workload that reads and writes."""
_DEFAULT_BLOCK_BYTES: Final = 128 << 10
_SPREAD: Final = ((0.7, 0.2), (0.85, 0.4), (1.2, 0.3), (1.8, 0.085), (2.6, 0.013), (5.5, 0.0019), (11.0, 0.0001))
"""Shares of the operations by the latency that they took, in means."""


class _Speed(NamedTuple):
    """Rates of one disk."""

    read_iops: float
    write_iops: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_us: float
    write_us: float
    flush_us: float


_SPEEDS: Final = {
    "hdd": _Speed(180, 180, 230e6, 230e6, 5500, 5500, 9000),
    "ssd": _Speed(90e3, 40e3, 540e6, 480e6, 100, 60, 1200),
    "nvme": _Speed(700e3, 180e3, 6500e6, 3200e6, 80, 18, 40),
}


_OF_A_CLUSTER: Final = ("nvme", "nvme", "nvme")
"""Disks of a layout that is on no disk of the server."""


class Rates(NamedTuple):
    """Rates of a workload and of each data disk, per second."""

    reads: float
    writes: float
    block_bytes: int
    latency_us: float
    disk_reads: float
    disk_writes: float
    util_percent: float

    def scaled(self, factor: float) -> Rates:
        """Return the same workload, so many times as fast."""
        return self._replace(
            reads=self.reads * factor, writes=self.writes * factor, latency_us=self.latency_us / factor,
            disk_reads=self.disk_reads * factor, disk_writes=self.disk_writes * factor,
        )  # fmt: skip

    def summary(self, runtime_s: float, jobs: int) -> Summary:
        """Return the totals of a workload that ran so long at these rates."""
        return Summary(
            read=self._direction(self.reads, runtime_s),
            write=self._direction(self.writes, runtime_s),
            runtime_s=runtime_s,
            jobs=jobs,
        )

    def sample(self, at_s: float, span_s: float) -> Sample:
        """Return what happened in the `span_s` before `at_s`."""
        read, write = self._direction(self.reads, span_s), self._direction(self.writes, span_s)
        bins = {name: self._bins(one.ios) for name, one in (("read", read), ("write", write)) if one}
        return Sample(at_s, span_s, read, write, bins=bins)

    def _bins(self, ios: int) -> Bins:
        """Return operations whose percentiles are those of `_direction`."""
        return binned((round(self.latency_us * 1000 * times), round(ios * share)) for times, share in _SPREAD)

    def _direction(self, per_s: float, seconds: float) -> Direction | None:
        ios = round(per_s * seconds)
        if not ios:
            return None
        us = self.latency_us
        latency = Latency(us, us * 0.85, us * 2.6, us * 5.5, us * 11)
        return Direction(ios, ios * self.block_bytes, per_s, per_s * self.block_bytes, seconds, latency)


def rates(pattern: Pattern, disks: Sequence[Disk], amplification: Amplification | None) -> Rates:
    """Return the rates of a workload on a layout that keeps its data on these disks, the slowest of which counts.

    The disks share the work evenly. A written byte costs `amplification.low` bytes of writes and `read_low` of reads.
    """
    kinds = [disk.kind for disk in disks] or _OF_A_CLUSTER
    speed = min((_SPEEDS[kind] for kind in kinds), key=lambda one: one.write_iops)
    sizes = pattern.block_bytes or (_DEFAULT_BLOCK_BYTES,)
    block = sum(sizes) // len(sizes)
    depth = max(1, pattern.in_flight_bytes // block)
    share = _MIXED_READS if pattern.reads and pattern.writes else float(not pattern.writes)
    costs = amplification if pattern.writes else None
    written = (costs.low if costs and costs.low else 1.0) if pattern.writes else 0.0
    read = costs.read_low if costs else 0.0
    read_cap, write_cap = speed.read_bytes_per_s / block, speed.write_bytes_per_s / block
    if pattern.random:
        read_cap, write_cap = min(read_cap, speed.read_iops), min(write_cap, speed.write_iops)
    read_s, write_s = (share + (1 - share) * read) / read_cap, (1 - share) * written / write_cap
    write_us = speed.write_us + (speed.flush_us if pattern.syncs else 0) + (speed.read_us if read else 0)
    alone_us = share * speed.read_us + (1 - share) * write_us
    iops = min(len(kinds) / (read_s + write_s), depth / alone_us * 1e6)
    return Rates(
        reads=iops * share,
        writes=iops * (1 - share),
        block_bytes=block,
        latency_us=depth / iops * 1e6,
        disk_reads=iops * (share + (1 - share) * read) / len(kinds),
        disk_writes=iops * (1 - share) * written / len(kinds),
        util_percent=min(100.0, 100 * iops * (read_s + write_s) / len(kinds)),
    )
