"""Packets that network interfaces lost or spoiled during a cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.base.text import plural
from raidtui.engine.validity.evidence import Evidence, caution
from raidtui.model.mark import Mark
from raidtui.model.network import NetTotals

DROPS_PER_S: Final = 1.0
"""More than what a network's own chatter causes: packets of protocols that the server has not count as dropped, too
(`rx_dropped` in the kernel's include/uapi/linux/if_link.h).
"""
LOSSY: Final = caution(
    "network-errors",
    "A network interface lost packets",
    "An interface that moved at least 1 MB/s during the measurement had packets with errors, or dropped more than one a "
    "second. A lost packet is sent again after a wait: if the workload's data passed this interface, as that of an "
    "exported layout does, its rate is lower and its latency higher than with a sound network. The counters do not tell "
    "whose packets were lost.",
    "Errors: look at cable, transceiver and switch port (`ethtool -S`). Drops: larger rings (`ethtool -G`), flow control, "
    "more receive queues. Then run the cell again (--layout, --workload).",
)


def find_lost_packets(evidence: Evidence) -> Iterator[Mark]:
    for name, use in evidence.cell.networks.items():
        if use.noticeable and (use.errors or use.drops > DROPS_PER_S * use.known_s):
            yield LOSSY.mark(f"network interface {name}: {_lost(use)}", about=name)


def _lost(use: NetTotals) -> str:
    """Return `of 1000 packets received 12 with errors, 3 dropped`."""
    ways = (
        ("received", use.received_packets, use.received_errors, use.received_drops),
        ("sent", use.sent_packets, use.sent_errors, use.sent_drops),
    )
    said = []
    for way, packets, errors, drops in ways:
        found = [f"{count} {words}" for count, words in ((errors, "with errors"), (drops, "dropped")) if count]
        said += [f"of {plural(packets, 'packet')} {way} {', '.join(found)}"] if found else []
    return "; ".join(said)
