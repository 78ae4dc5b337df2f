"""Live samples: what happened between two neighbouring cumulative reports.

fio reports every second, but a report waits for every job, and a job for its device: while a device hangs there is no
report, and the next sample spans the whole pause.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from raidtui.load.fio.report import Flow, Group, Spread
from raidtui.model.measure import Direction, Latency, Sample

# The last report comes some ms after the one before; so short a span says more about chance than about the disks.
MIN_SPAN_S: Final = 0.25


class Sampler:
    """Turns reports into samples. fio's counters start anew when its ramp time is over; so do the samples."""

    def __init__(self, ramp_s: float = 0.0) -> None:
        self.samples: list[Sample] = []
        """Samples of the measured part only."""
        self._ramp_s = ramp_s
        self._before: Group | None = None

    def feed(self, now: Group) -> Sample | None:
        """The sample that ends with this report; `at_s` is below 0 during the ramp time. None: too short to tell."""
        ramping = _ramping(now)
        before = self._before
        if before is not None and ((_ramping(before) and not ramping) or _began_anew(before, now)):
            before = None
            self.samples.clear()
        began_s = before.runtime_s if before is not None else 0.0
        span_s = now.runtime_s - began_s
        if span_s < MIN_SPAN_S:
            return None
        self._before = now
        sample = Sample(
            at_s=round(now.runtime_s - (self._ramp_s if ramping else 0.0), 3),
            span_s=round(span_s, 3),
            read=_between(before.read if before else None, now.read, span_s),
            write=_between(before.write if before else None, now.write, span_s),
        )
        if not ramping:
            self.samples.append(sample)
        return sample


def _ramping(group: Group) -> bool:
    """fio counts operations during its ramp time, but not their latencies."""
    return group.ios > 0 and not group.read.clat_ns.count and not group.write.clat_ns.count


def _began_anew(before: Group, now: Group) -> bool:
    return now.ios < before.ios or now.runtime_s < before.runtime_s


def _between(before: Flow | None, now: Flow, span_s: float) -> Direction | None:
    ios = now.ios - (before.ios if before else 0)
    if ios <= 0:
        return None
    size = now.bytes - (before.bytes if before else 0)
    latency = _latency_between(before.clat_ns if before else None, now.clat_ns)
    return Direction(ios, size, ios / span_s, size / span_s, span_s, latency)


def _latency_between(before: Spread | None, now: Spread) -> Latency:
    """Mean from the two sums, percentiles from the difference of the histograms.

    The largest is known only when it grew: then the new one happened in this span.
    """
    count = now.count - (before.count if before else 0)
    if count <= 0:
        return Latency()
    total_ns = now.mean_ns * now.count - (before.mean_ns * before.count if before else 0.0)
    earlier = before.bins if before else {}
    bins = ((ns, n - earlier.get(ns, 0)) for ns, n in now.bins.items())
    # A bin is named by its middle, which may lie above everything that was seen in it.
    p50, p99, p999 = _percentiles((50.0, 99.0, 99.9), sorted((min(ns, now.max_ns), n) for ns, n in bins if n > 0))
    grew = before is None or now.max_ns > before.max_ns
    return Latency(
        mean_us=max(0.0, total_ns / count / 1000),
        p50_us=p50,
        p99_us=p99,
        p999_us=p999,
        max_us=now.max_ns / 1000 if grew else None,
    )


def _percentiles(percents: Iterable[float], bins: Sequence[tuple[float, int]]) -> list[float | None]:
    """In µs, by fio's own rule: the first bin up to which at least that share of operations lies."""
    total = sum(n for _, n in bins)
    found: list[float | None] = []
    position, seen = -1, 0
    for percent in percents:
        while position + 1 < len(bins) and (seen < percent / 100 * total or position < 0):
            position += 1
            seen += bins[position][1]
        found.append(bins[position][0] / 1000 if bins else None)
    return found
