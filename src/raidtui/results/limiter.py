"""Limit of a cell, found by evidence in a fixed order: an earlier one would cause the later ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import mean, median
from typing import Final, NamedTuple

from raidtui.base.text import plural
from raidtui.model.links import Links
from raidtui.model.mark import of_weight
from raidtui.model.measure import Direction
from raidtui.model.network import NetworkUse, speed_text
from raidtui.model.result import Cell, DeviceUse
from raidtui.model.units import size_text
from raidtui.results.chain import network_share
from raidtui.results.rates import directions, iops_text, latency_text, mb_s_text, percent_text

BUSY_PERCENT: Final = 95.0
"""Share of the time, or of one core, that counts as full."""
SATURATED: Final = 0.9
"""Share of the bare disks' rate, or of a link's capacity, that counts as reached."""
_DILUTED: Final = 0.8
"""Devices are counted while a workload begins and ends, too: where they nearly agree with its own clock, that counts."""
_APART_PERCENT: Final = 10.0
"""Difference in utilisation that makes one device the one the others wait for."""
NOT_KNOWN: Final = "not known"
_MARKS: Final = {"cpu-bound": "kernel thread", "generator-bound": "generator-bound"}
"""Words for marks of weight `limit` whose code does not tell enough."""

_POLLING: Final = "--hipri"
"""Option of fio with which threads do not sleep while they wait."""


class Evidence(NamedTuple):
    """Known facts of one cell."""

    cell: Cell
    data: tuple[DeviceUse, ...]
    """The disks that keep the data."""
    aside: tuple[DeviceUse, ...]
    """Disks that writes pass: journals, logs, caches."""
    span_s: float
    """Time for which devices were counted, in seconds."""
    bare: Mapping[str, float]
    """Rates of the bare disks, all at once, in bytes per second, reads and writes together; empty if not measured."""
    links: Mapping[str, float]
    """Capacity of the disks' PCIe links in bytes per second."""
    rotating: frozenset[str]
    """Ids of the disks that rotate: busy all the time, they have nothing more to give."""
    cpus: int
    share: float | None = None
    """Reached share of the bare disks' rate, all at once, less the bytes written beside the data; None if unknown."""
    network: Mapping[str, float] | None = None
    """Bytes per second that interfaces carry in one direction, by name; None for a layout that is not exported."""
    measured: Links | None = None
    """The links to the hosts that load the layout, as they were before the first cell."""
    rdma: bool = False
    """True if the layout is exported over RDMA."""
    export: float | None = None
    """Reached share of what the same export gave over a device that keeps nothing; None if that was not measured."""

    def moved(self, use: DeviceUse) -> float:
        """Bytes per second, read and written together."""
        return (use.read_bytes + use.written_bytes) / self.span_s if self.span_s > 0 else 0.0


class Limiter(NamedTuple):
    """Limit in a few words, and its evidence."""

    words: str
    sentence: str


def limiter(evidence: Evidence) -> Limiter:
    """Return the limit that a mark of the engine names, else the first of these that the evidence shows."""
    if mark := next(of_weight(evidence.cell.marks, "limit"), None):
        return Limiter(_MARKS.get(mark.code, mark.code.replace("-", " ")), mark.sentence)
    for words, shows in _CHECKS:
        if sentence := shows(evidence):
            return Limiter(words, sentence)
    return Limiter(NOT_KNOWN, _nothing(evidence))


def _thread(evidence: Evidence) -> str:
    """One that had all of one core: what it does cannot be done by two."""
    name, percent = max(evidence.cell.threads.items(), key=lambda item: item[1], default=("", 0.0))
    return f"kernel thread {name} used {percent:.0f} % of one core" if percent >= BUSY_PERCENT else ""


def _one_device(evidence: Evidence) -> str:
    """Few are busy all the time and the rest waits for them: a journal, a cache, the slowest member."""
    known = [(use, use.mean_utilisation_percent) for use in (*evidence.aside, *evidence.data)]
    busy = [(use, percent) for use, percent in known if percent is not None and percent >= BUSY_PERCENT]
    rest = [percent for use, percent in known if percent is not None and percent < BUSY_PERCENT]
    if not busy or not rest or len(busy) > len(rest):
        return ""
    least = min(percent for _, percent in busy)
    if least - max(rest) < _APART_PERCENT:
        return ""
    names = ", ".join(f"{use.role} {use.disk}" for use, _ in busy)
    return f"{names} was busy {least:.0f} % of the time, the other disks at most {max(rest):.0f} %"


def _all_disks(evidence: Evidence) -> str:
    """Together they moved what they move bare; or they rotate, and were busy all the time."""
    known = [use for use in evidence.data if evidence.bare.get(use.disk)]
    if known and len(known) == len(evidence.data):
        share = sum(map(evidence.moved, known)) / sum(evidence.bare[use.disk] for use in known)
        own = evidence.share or 0.0
        if share >= SATURATED or (own >= SATURATED and share >= _DILUTED):
            clock = f"; by the workload's own clock, {percent_text(own)}" if share < SATURATED else ""
            return (
                f"{plural(len(known), 'disk')} moved {mb_s_text(sum(map(evidence.moved, known)))} MB/s, reads and writes "
                f"together: {percent_text(share)} of what they moved bare under the same workload{clock}"
            )
    busy = [use.mean_utilisation_percent or 0.0 for use in evidence.data]
    if busy and min(busy) >= BUSY_PERCENT and all(use.disk in evidence.rotating for use in evidence.data):
        return f"all {plural(len(busy), 'rotating disk')} were busy at least {min(busy):.0f} % of the time"
    return ""


def _link(evidence: Evidence) -> str:
    for use in (*evidence.aside, *evidence.data):
        carries = evidence.links.get(use.disk)
        way = max(use.read_bytes, use.written_bytes) / evidence.span_s if evidence.span_s > 0 else 0.0
        if carries and way >= SATURATED * carries:
            there = f"the PCIe link of {use.disk} carries {mb_s_text(carries)} MB/s in one direction"
            return f"{there}, and {mb_s_text(way)} MB/s went through it"
    return ""


def _network(evidence: Evidence) -> str:
    """A link at what it carried before, or the busier direction of the interface that is nearest to its speed, where the
    layout is exported."""
    if (reached := network_share(evidence.cell, evidence.measured, rdma=evidence.rdma)) and reached[0] >= SATURATED:
        return reached[1]
    shares = _network_shares(evidence)
    name = max(shares, key=shares.__getitem__, default="")
    if evidence.network is None or shares.get(name, 0.0) < SATURATED:
        return ""
    use, speed = evidence.cell.networks[name], evidence.network[name]
    way = "sent" if use.sent_bytes >= use.received_bytes else "received"
    when = " in the median second" if use.series else ""
    return (
        f"network interface {name} {way} {mb_s_text(shares[name] * speed)} MB/s{when}, {percent_text(shares[name])} of its "
        f"{speed_text(round(speed * 8 / 1e6))}"
    )


def _export(evidence: Evidence) -> str:
    """Nothing faster below would help: the export gave no more without disks."""
    if evidence.export is None or evidence.export < SATURATED:
        return ""
    return f"{percent_text(evidence.export)} of what the same export gave over a device that keeps nothing"


def _network_shares(evidence: Evidence) -> dict[str, float]:
    """Return the used share of each interface of known speed; nothing for a layout that is not exported."""
    speeds = evidence.network or {}
    return {name: _pace(use) / speeds[name] for name, use in evidence.cell.networks.items() if speeds.get(name)}


def _pace(use: NetworkUse) -> float:
    """Return the median rate of the busier direction: interfaces are counted while a workload begins and ends, too."""
    rates = use.series.get("sent_bytes_per_s" if use.sent_bytes >= use.received_bytes else "received_bytes_per_s", [])
    return median(known) if (known := [rate for rate in rates if rate is not None]) else use.busiest_bytes_per_s


def _generator(evidence: Evidence) -> str:
    """Every thread of the workload had all of its core, and the disks waited for them. Polling threads always have."""
    use = evidence.cell.host.workload if evidence.cell.host is not None else None
    least = use.least_thread_percent if use is not None else None
    polls = any(word.startswith(_POLLING) for word in evidence.cell.command)
    if use is None or least is None or least < BUSY_PERCENT or not evidence.data or polls:
        return ""
    busiest = _busiest((*evidence.aside, *evidence.data))
    if busiest >= BUSY_PERCENT:
        return ""
    threads = f"all {use.threads} threads" if use.threads > 1 else "the only thread"
    kernel = 100 * use.system_s / max(use.user_s + use.system_s, 0.001)
    return (
        f"{threads} of the workload used at least {min(least, 100):.0f} % of a core, {kernel:.0f} % of that in the kernel, "
        f"and the busiest disk was busy {busiest:.0f} % of the time"
    )


def _cpu(evidence: Evidence) -> str:
    used = evidence.cell.cpu_cores_used
    if used is None or not evidence.cpus or used < evidence.cpus * BUSY_PERCENT / 100:
        return ""
    return f"{used:.2f} of {plural(evidence.cpus, 'CPU core')} were busy, all processes together"


def _too_little_in_flight(evidence: Evidence) -> str:
    """Not even one operation for each disk (Little's law: rate × latency), and disks that are not busy."""
    found = in_flight(evidence.cell)
    disks = len(evidence.data)
    if not evidence.data or found is None or found > 1.05 * disks or _busiest(evidence.data) >= BUSY_PERCENT:
        return ""
    summary = evidence.cell.summary
    flows = directions(summary)
    iops = sum(one.iops for one in flows)
    moved = sum(one.bytes for one in flows) / sum(one.ios for one in flows)
    sync = summary.sync if summary is not None else None
    mean_us = sum(one.iops * (one.latency.mean_us or 0.0) for one in flows) / iops
    figures = f"{iops_text(iops)} IOPS × {latency_text(mean_us)}"
    what, waits = size_text(moved), ""
    if sync is not None:
        waits = ", and each write waits until it is durable"
        if sync.latency.mean_us is None:
            waits += "; flushes are not counted, as their time is not known"
        else:
            what += " and flushes"
            figures += f" + {iops_text(sync.iops)} flushes a second × {latency_text(sync.latency.mean_us)}"
    return (
        f"{found:.1f} operations of {what} were in flight on average ({figures}) for {plural(disks, 'disk')}{waits}"
    )


def in_flight(cell: Cell) -> float | None:
    """Operations at once on average: rate times mean latency of every direction, and of the flushes if it is known.

    None where a latency is not known.
    """
    flows = directions(cell.summary)
    if not flows:
        return None
    total = 0.0
    for flow in flows:
        if flow.latency.mean_us is None:
            return None
        total += flow.iops * flow.latency.mean_us / 1e6
    return total + _flushing(cell.summary.sync if cell.summary is not None else None)


def _flushing(sync: Direction | None) -> float:
    """Flushes at once on average. 0 where their latency is not known: fio does not time them with every ioengine."""
    return 0.0 if sync is None or sync.latency.mean_us is None else sync.iops * sync.latency.mean_us / 1e6


def _nothing(evidence: Evidence) -> str:
    """Return the examined evidence, with its figures."""
    said = []
    if evidence.data and any(use.mean_utilisation_percent is not None for use in evidence.data):
        said.append(f"the busiest disk was busy {_busiest(evidence.data):.0f} % of the time")
    if evidence.bare and evidence.data:
        shares = [evidence.moved(use) / evidence.bare[use.disk] for use in evidence.data if evidence.bare.get(use.disk)]
        said += [f"disks moved {percent_text(mean(shares))} of what they moved bare"] if shares else []
    if evidence.cell.cpu_cores_used is not None and evidence.cpus:
        said.append(f"{evidence.cell.cpu_cores_used:.2f} of {plural(evidence.cpus, 'CPU core')} were busy")
    for name, use in evidence.cell.networks.items() if evidence.network is not None else ():
        if use.noticeable:
            share = _network_shares(evidence).get(name)
            of = f", {percent_text(share)} of its speed" if share is not None else ""
            said.append(f"network interface {name} carried {mb_s_text(_pace(use))} MB/s{of}")
    if reached := network_share(evidence.cell, evidence.measured, rdma=evidence.rdma):
        said.append(reached[1])
    if (found := in_flight(evidence.cell)) is not None:
        said.append(f"{found:.1f} operations were in flight")
    return f"nothing was seen at its limit: {', '.join(said)}" if said else "nothing was seen of its devices"


def _busiest(uses: tuple[DeviceUse, ...]) -> float:
    return max((use.mean_utilisation_percent or 0.0 for use in uses), default=0.0)


_CHECKS: Final[tuple[tuple[str, Callable[[Evidence], str]], ...]] = (
    ("kernel thread", _thread),
    ("one device", _one_device),
    ("all disks", _all_disks),
    ("PCIe link", _link),
    ("network", _network),
    ("export", _export),
    ("generator-bound", _generator),
    ("CPU", _cpu),
    ("too little in flight", _too_little_in_flight),
)
