"""The rate stayed where it was: no cliff of a cache, no throttling, no rebuild in the middle of the cell."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

from raidtui.engine.validity import cool
from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark
from raidtui.model.measure import Sample, in_bulk
from raidtui.model.result import Cell
from raidtui.model.statistics.change import lasting_change
from raidtui.watch.series import FULL

NEAR_S: Final = 5.0
"""Largest time between a change and its possible cause, in seconds."""
ENDING_SHARE: Final = 0.95

UNSTEADY = Meaning(
    "unsteady",
    "caution",
    "The rate changed for good in the middle",
    "One number is given for what were two: a cache that was full, a disk that became hot, an array that began to rebuild, "
    "flash that ran out of erased blocks. How long each part lasted decides about the mean.",
    "Look at the cell's seconds (`raidtui open`), find the cause, and measure each state by itself: longer, with ramp_time "
    "over the first part, or on disks in steady state.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    """Check workloads with a constant load: a search for a latency varies its queue depth on purpose."""
    summary, pattern = evidence.summary, evidence.pattern
    if summary is None or summary.queue_depth is not None or evidence.cancelled or (pattern and pattern.in_turns):
        return
    samples = _whole(_reported(evidence.cell))
    change = lasting_change([_iops(sample) for sample in samples])
    if change is None:
        return
    began = samples[change.at]
    at_s = max(0.0, began.at_s - began.span_s)
    what = f"from {_words(samples[: change.at])} to {_words(samples[change.at :])}"
    verb = "fell" if change.after < change.before else "rose"
    yield UNSTEADY.mark(f"the rate {verb} {what} at second {at_s:.0f}, and stayed there{_cause(evidence, at_s)}", at_s=at_s)


def _reported(cell: Cell) -> tuple[Sample, ...]:
    """Skip cells whose passes were repeated until they were steady: only the steady window is reported."""
    if cell.steady is None:
        return cell.samples
    first, _ = cell.steady.window
    began_s = cell.steady.passes[first - 1].at_s
    return tuple(sample for sample in cell.samples if sample.at_s > began_s)


def _whole(samples: tuple[Sample, ...]) -> list[Sample]:
    """Return the samples of the measured part that span about as much time as most."""
    measured = [sample for sample in samples if sample.at_s > 0]
    if not measured:
        return []
    usual_s = median(sample.span_s for sample in measured)
    # In the last one jobs come to their end.
    ending = measured[-1:] if measured[-1].span_s < ENDING_SHARE * usual_s else []
    return [sample for sample in measured if sample.span_s >= usual_s / 2 and sample not in ending]


def _iops(sample: Sample) -> float:
    return sum(flow.iops for flow in sample.moved)


def _words(samples: list[Sample]) -> str:
    flows = [flow for one in samples for flow in one.moved]
    moved, done = sum(flow.bytes for flow in flows), sum(flow.ios for flow in flows)
    if in_bulk(done, moved):
        rates = [sum(f.bytes_per_s for f in one.moved) for one in samples]
        return f"{median(rates) / 1e6:,.0f} MB/s"
    return f"{median(map(_iops, samples)):,.0f} IOPS"


def _cause(evidence: Evidence, at_s: float) -> str:
    for busy in evidence.busy:
        if busy.device in evidence.cell.devices and abs(busy.at_s - at_s) <= NEAR_S:
            return f": {busy.device} became full" if busy.action == FULL else f": {busy.device} began to {busy.action}"
    hot = next(iter(cool.find(evidence)), None)
    return f": {hot.sentence}" if hot is not None else ""


CHECK = Check(find, (UNSTEADY,), rank=60)
