"""Several measurements of one workload as one: counts are summed, rates averaged, percentiles found anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final, NamedTuple

import msgspec

from raidtui.model.measure import Direction, Latency, Measured, Summary
from raidtui.model.statistics.samples import merged, percentiles

DIRECTIONS: Final = ("read", "write", "trim", "sync")
_SHARES: Final = (0.50, 0.99, 0.999)


class Part(NamedTuple):
    """The latency of one measurement in one direction."""

    latency: Latency
    ios: int | None
    """None where their number is not known."""
    bins: Mapping[int, int]
    """Operations by latency in ns; empty where the tool did not count them so."""


def pooled(runs: Sequence[Measured]) -> Summary:
    """Return the pooled report of several runs. Rates are averages over the runs, as in SNIA's measurement windows."""
    if len(runs) == 1:
        return runs[0].summary
    summaries = [run.summary for run in runs]
    return msgspec.structs.replace(
        summaries[-1],
        **{name: _direction(runs, name) for name in DIRECTIONS},
        cpu_user_percent=_mean([one.cpu_user_percent for one in summaries]),
        cpu_system_percent=_mean([one.cpu_system_percent for one in summaries]),
        runtime_s=sum(one.runtime_s for one in summaries),
        within_target_percent=_mean([one.within_target_percent for one in summaries]),
    )


def pooled_latency(parts: Sequence[Part]) -> Latency:
    """Percentiles from the merged histograms, or none where one of them is missing: they are never averaged.

    The mean is weighted by operations.
    """
    longest = max((us for one in parts if (us := one.latency.max_us) is not None), default=None)
    counts = merged(one.bins for one in parts) if all(one.bins for one in parts) else {}
    at = [None if ns is None else min(ns / 1000, longest or ns / 1000) for ns in percentiles(counts, _SHARES)]
    return Latency(_weighted(parts), at[0], at[1], at[2], longest)


def _direction(runs: Sequence[Measured], name: str) -> Direction | None:
    found: list[tuple[Direction, Mapping[int, int]]] = [
        (one, run.bins.get(name, {})) for run in runs if (one := getattr(run.summary, name)) is not None
    ]
    if not found:
        return None
    parts = [Part(one.latency, one.ios, bins) for one, bins in found if one.ios]
    return Direction(
        ios=sum(one.ios for one, _ in found),
        bytes=sum(one.bytes for one, _ in found),
        # A run in which nothing happened in this direction counts as one: its rate is 0.
        iops=sum(one.iops for one, _ in found) / len(runs),
        bytes_per_s=sum(one.bytes_per_s for one, _ in found) / len(runs),
        runtime_s=sum(one.runtime_s for one, _ in found),
        latency=pooled_latency(parts) if parts else Latency(),
    )


def _weighted(parts: Sequence[Part]) -> float | None:
    total, count = 0.0, 0
    for one in parts:
        if one.ios is None or one.latency.mean_us is None:
            return None
        total, count = total + one.latency.mean_us * one.ios, count + one.ios
    return total / count if count else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None
