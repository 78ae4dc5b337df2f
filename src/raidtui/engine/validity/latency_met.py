"""A search for the queue depth that keeps a latency found one."""

from __future__ import annotations

from collections.abc import Iterator

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark
from raidtui.model.measure import Summary

MISSED = Meaning(
    "latency-missed",
    "caution",
    "The latency that was asked for was not met",
    "The search went down to one operation at a time, and even alone too many of them took longer than latency_target: "
    "there is no queue depth that keeps it.",
    "Ask for a longer latency_target or a smaller latency_percentile.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
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


CHECK = Check(find, (MISSED,))
