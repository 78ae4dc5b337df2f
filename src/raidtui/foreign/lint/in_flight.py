"""Check of latency × operations against the operations in flight: Little's law (Little 1961, doi:10.1287/opre.9.3.383)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.foreign.labels import read_label
from raidtui.foreign.lint.figures import base, by_cell, factor, found, number, of_metric, rounded, shown
from raidtui.model import findings
from raidtui.model.table import Finding, Table

_SLACK: Final = 0.1
"""Averages of a ramp, and latencies that begin before an operation is in flight, make up to some percent."""

_KIND: Final = "latencies need more operations in flight than their workload had"


def check_in_flight(table: Table) -> Iterator[Finding]:
    """`latency-depth`, one for each mean latency that more operations than were in flight would need.

    Only the upper bound is checked: a generator may keep fewer operations in flight than it was allowed to.
    """
    for key, figures in by_cell(table).items():
        most = in_flight(table, key.workload)
        for iops in of_metric(figures, "iops") if most else ():
            for latency in (f for f in of_metric(figures, "latency") if f.statistic == "mean" and f.place == iops.place):
                if base(latency).low * base(iops).low > most * (1 + _SLACK):
                    largest = most / base(iops).middle / factor(latency.unit)
                    sentence = (
                        f"{shown(iops)} with {most:,} in flight take at most {number(largest)} {latency.unit} each, "
                        f"not {shown(latency)}."
                    )
                    yield found(findings.LATENCY_DEPTH, table, latency, sentence, rounded(largest), _KIND)


def in_flight(table: Table, workload: str) -> int:
    """Return queue depth × jobs of a workload, by its fields or else its label; 0 unless both are known."""
    asked = table.workloads[workload]
    label = read_label(asked.label or workload)
    return (asked.iodepth or label.iodepth or 0) * (asked.numjobs or label.numjobs or 0)
