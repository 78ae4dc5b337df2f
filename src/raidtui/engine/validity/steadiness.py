"""Steadiness of a cell: its rate, its steady state, and the latency that was searched for."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

from raidtui.engine.run.passes import spread_words
from raidtui.engine.validity import hardware
from raidtui.engine.validity.evidence import Evidence, caution
from raidtui.model.mark import Mark
from raidtui.model.measure import Sample, Summary, in_bulk
from raidtui.model.result import Cell
from raidtui.model.statistics.steady import MAX_EXCURSION, MAX_RANGE, WINDOW, lasting_change
from raidtui.watch.series import FULL

NEAR_S: Final = 5.0
"""Largest time between a change and its possible cause, in seconds."""
ENDING_SHARE: Final = 0.95
UNSTEADY = caution(
    "unsteady",
    "The rate changed permanently during the cell",
    "One number is reported for two states: a cache filled up, a disk became hot, an array began to rebuild, flash "
    "ran out of erased blocks. The mean depends on the length of each part.",
    "Look at the cell's seconds (`raidtui open`), find the cause, and measure each state alone: for longer, with "
    "ramp_time over the first part, or on disks in steady state.",
)


def find_rate_changes(evidence: Evidence) -> Iterator[Mark]:
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
    hot = next(iter(hardware.find_heat(evidence)), None)
    return f": {hot.sentence}" if hot is not None else ""


NOT_STEADY = caution(
    "not-steady",
    "Steady state was not reached",
    "The policy asks for a steady state by SNIA's test specification, and over the last passes the workload still "
    "scattered or drifted by more: the result is their average, and a longer run may give another one.",
    "Lengthen the passes (`runtime`), precondition with 2x, keep the server free of other work, or write `steady: false`.",
)


def find_unsteady_window(evidence: Evidence) -> Iterator[Mark]:
    steady = evidence.cell.steady
    if steady is None or steady.reached is not None or evidence.cancelled or evidence.lost:
        return
    passes = len(steady.passes)
    if passes < WINDOW:
        yield NOT_STEADY.mark(f"steady state was not reached: only {passes} of at least {WINDOW} passes were run")
        return
    restless = [spread_words(name, one) for name, one in steady.variables.items() if not one.steady]
    yield NOT_STEADY.mark(
        f"steady state was not reached in {passes} passes (over the last {WINDOW} a range below {MAX_RANGE:.0%} and a line "
        f"below {MAX_EXCURSION:.0%} of the average are asked for): {'; '.join(restless)}"
    )


MISSED = caution(
    "latency-missed",
    "The requested latency was not reached",
    "The search went down to one operation at a time, and too many of them still took longer than latency_target: no "
    "queue depth keeps it.",
    "Ask for a longer latency_target or a smaller latency_percentile.",
)


def find_missed_latency(evidence: Evidence) -> Iterator[Mark]:
    summary = evidence.summary
    if summary is None or summary.latency_target_us is None or summary.within_target_percent is None:
        return
    wanted = summary.latency_percentile or 100.0
    if (summary.queue_depth or 0) <= 1 and summary.within_target_percent < wanted:
        yield MISSED.mark(_sentence(summary, wanted))


def _sentence(summary: Summary, wanted: float) -> str:
    return (
        f"only {summary.within_target_percent or 0:.4g} % of the operations took less than "
        f"{(summary.latency_target_us or 0) / 1000:g} ms, and {wanted:g} % should: even one at a time is too slow"
    )
