"""Network interfaces that moved noticeable data under each workload, and what they lost."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Final

from raidtui.base.text import clean, plural
from raidtui.model.network import NetTotals
from raidtui.results.comparison import Comparison, Entry
from raidtui.results.rates import NOTHING, mb_s_text

TITLE: Final = "Network"
HEADS: Final = ("layout", "workload", "interface", "received", "sent", "lost packets")
ABOUT: Final = (
    "interfaces of the server, RDMA ports (device/port) and the loopback (lo) that moved at least 1 MB/s one way, "
    "whoever used them; means of the valid rounds, lost packets of all of them"
)


def network_lines(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield a line in the order of `HEADS` for each layout, workload and interface."""
    for row in comparison.rows:
        for workload, entry in zip(comparison.workloads, row.entries, strict=True):
            for name, uses in _uses(entry) if entry is not None else ():
                received = mb_s_text(fmean(use.received_bytes_per_s for use in uses))
                sent = mb_s_text(fmean(use.sent_bytes_per_s for use in uses))
                yield clean(row.label), clean(workload), clean(name), f"{received} MB/s", f"{sent} MB/s", _lost(uses)


def _uses(entry: Entry) -> Iterator[tuple[str, list[NetTotals]]]:
    rounds = [point.networks for point in entry.points if point.valid]
    for name in dict.fromkeys(name for of in rounds for name in of):
        uses = [of[name] for of in rounds if name in of]
        if any(use.noticeable for use in uses):
            yield name, uses


def _lost(uses: list[NetTotals]) -> str:
    """Return `3 errors, 12 drops`; a dash if there were none."""
    errors, drops = sum(use.errors for use in uses), sum(use.drops for use in uses)
    return ", ".join(plural(count, what) for count, what in ((errors, "error"), (drops, "drop")) if count) or NOTHING


def busiest(networks: dict[str, NetTotals]) -> str:
    """Return the interface that moved most; empty if none moved noticeable data."""
    noticeable = {name: use.busiest_bytes_per_s for name, use in networks.items() if use.noticeable}
    return max(noticeable, key=noticeable.__getitem__, default="")
