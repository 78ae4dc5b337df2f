"""Account of each cell: the ceiling of its bare disks, the share that was reached, extra bytes, and the limit.

Pure, over the extracts of one result or several: bare disks count for every layout on the same disks, same workload.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

import msgspec

from raidtui.model.disk import link_bytes_per_s
from raidtui.model.plan import Amplification
from raidtui.model.result import Cell, DeviceUse
from raidtui.results.chain import Chain, chain, middle
from raidtui.results.extract import Extract, Point
from raidtui.results.facts import EXPORTS
from raidtui.results.limiter import Evidence, limiter
from raidtui.results.rates import directions

_TOLERATED = 1.02
_KEEPS_DATA = frozenset({"member", "backing", "target"})
"""Role of a disk if a file does not tell which disks keep the data."""


class Rate(msgspec.Struct, frozen=True, gc=False):
    """Operations and bytes per second."""

    iops: float
    bytes_per_s: float

    def times(self, factor: float) -> Rate:
        return Rate(self.iops * factor, self.bytes_per_s * factor)


class Account(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One valid cell, or the medians over the rounds of one layout under one workload."""

    row: str
    """The layout as the comparison names it."""
    workload: str
    source: int
    """Number of the result, counted from 1."""
    reached: Rate
    limiter: str
    """Limit of the cell, in a few words."""
    why: str
    """Evidence of the limit, in a sentence."""
    cells: tuple[str, ...] = ()
    """Ids of the cells."""
    solo: Rate | None = None
    """Sum of the rates of its bare disks, each measured alone; None if that was not measured."""
    together: Rate | None = None
    """Rate of its bare disks, all at once; for a single disk the same."""
    link_bytes_per_s: float | None = None
    """Capacity of its disks' PCIe links in one direction; None if one of them is unknown."""
    bound: Rate | None = None
    """The ceiling as far as the layout can use it: what has to be written beside the data taken off. All at once where
    that was measured, else each alone."""
    share: float | None = None
    """Share of `bound` that was reached. It exceeds 1 if a layout turns its writes into a pattern that suits the disks
    better.
    """
    expected: Amplification | None = None
    observed: float | None = None
    """Bytes written to disks for each byte that the workload wrote."""
    chain: Chain | None = None
    """Shares of the way to the hosts that loaded the layout; None if the storage server did."""


class _Bare:
    """Rates of bare disks, by workload."""

    def __init__(self, extracts: Sequence[Extract]) -> None:
        self._solo: dict[tuple[object, str], list[Rate]] = {}
        self._together: dict[tuple[object, frozenset[str]], list[Rate]] = {}
        self._moved: dict[tuple[object, frozenset[str]], list[dict[str, float]]] = {}
        for one in extracts:
            for point in one.points if _is_whole(one) else ():
                if point.layout in one.bare and (cell := _whole(point)) is not None:
                    self._take(one, point, cell)

    def _take(self, one: Extract, point: Point, cell: Cell) -> None:
        load, reached = _load(one, point), _rate(point)
        uses, _ = _uses(cell)
        disks = frozenset(use.disk for use in uses)
        if reached is None or not disks:
            return
        if len(disks) == 1:
            self._solo.setdefault((load, uses[0].disk), []).append(reached)
        else:
            self._together.setdefault((load, disks), []).append(reached)
        span_s = _span_s(cell)
        moved = {use.disk: (use.read_bytes + use.written_bytes) / span_s for use in uses} if span_s > 0 else {}
        self._moved.setdefault((load, disks), []).append(moved)

    def solo(self, load: object, disks: frozenset[str]) -> Rate | None:
        """Sum of the median rates of the disks measured alone."""
        found = [self._solo.get((load, disk)) for disk in disks]
        known = [_middle(rates) for rates in found if rates]
        if not known or len(known) < len(found):
            return None
        return Rate(sum(rate.iops for rate in known), sum(rate.bytes_per_s for rate in known))

    def together(self, load: object, disks: frozenset[str]) -> Rate | None:
        """All at once, the median over the rounds; of a single disk what it gave alone."""
        rates = self._together.get((load, disks))
        return _middle(rates) if rates else self.solo(load, disks) if len(disks) == 1 else None

    def moved(self, load: object, disks: frozenset[str]) -> dict[str, float]:
        """Bytes per second of each, all at once."""
        rounds = self._moved.get((load, disks), [])
        found = {disk: [one[disk] for one in rounds if disk in one] for disk in disks}
        return {disk: median(values) for disk, values in found.items() if values}


def accounts(
    extracts: Sequence[Extract], layouts: Sequence[Mapping[str, str]], loads: Sequence[Mapping[str, str]]
) -> tuple[Account, ...]:
    """Return the accounts of all valid cells of layouts that are kept whole with their devices.

    `layouts` and `loads`: for each extract, what they are called here.
    """
    bare, found = _Bare(extracts), []
    for number, one in enumerate(extracts, 1):
        if not _is_whole(one):
            continue
        links = _links(one)
        for point in one.points:
            cell = _whole(point)
            if cell is None or point.layout in one.bare or _rate(point) is None:
                continue
            names = layouts[number - 1][point.layout], loads[number - 1][point.workload]
            found.append(_account(one, number, point, cell, bare, links, names))
    return tuple(found)


def _account(
    one: Extract, number: int, point: Point, cell: Cell, bare: _Bare, links: Mapping[str, float], names: tuple[str, str]
) -> Account:
    data, aside = _uses(cell)
    ids, load, reached = frozenset(use.disk for use in data), _load(one, point), _rate(point)
    assert reached is not None, "cells without a rate have no account"
    disks = [disk for disk in one.disks if disk.id in ids]
    solo, together = bare.solo(load, ids), bare.together(load, ids)
    taken = _taken(cell)
    ceiling = together or solo
    bound = ceiling.times(1 / taken) if ceiling is not None and taken else None
    rotating = frozenset(disk.id for disk in one.disks if disk.rotational)
    share = reached.bytes_per_s / bound.bytes_per_s if bound is not None and bound.bytes_per_s else None
    rdma = is_rdma(one.layouts.get(point.layout, {}))
    alone = _of(one, point, reached, one.exports.get(point.layout))
    found = limiter(Evidence(
        cell, data, aside, _span_s(cell), bare.moved(load, ids), links, rotating, one.cpus, share if together else None,
        one.network_speeds if is_exported(one.layouts.get(point.layout, {})) else None, one.links, rdma, alone,
    ))  # fmt: skip
    return Account(
        *names, number, reached, found.words, found.sentence, (cell.id,), solo, together,
        link_bytes_per_s(disks) if ids and ids <= links.keys() else None,
        bound, share,
        cell.expected_write_amplification, cell.write_amplification,
        chain(cell, one.links, share, _of(one, point, reached, one.local.get(point.layout)), alone, rdma=rdma),
    )  # fmt: skip


def _of(one: Extract, point: Point, reached: Rate, layout: str | None) -> float | None:
    """Return the share of what another layout of the same result gave under the same workload."""
    alike = [other for other in one.points if (other.layout, other.workload) == (layout, point.workload) and other.valid]
    rates = [rate for other in alike if (rate := _rate(other)) is not None]
    return reached.bytes_per_s / _middle(rates).bytes_per_s if rates else None


def is_exported(layout: Mapping[str, str]) -> bool:
    """Return True if a layer of the layout exports its devices; `layout`: its options by place (`nvmeof.transport`)."""
    return any(EXPORTS & set(re.split(r"[.\[]", place)) for place in layout)


def is_rdma(layout: Mapping[str, str]) -> bool:
    """Return True if it exports its devices over RDMA."""
    return any(layout.get(f"{kind}.transport", "") in ("rdma", "iser") for kind in EXPORTS)


def _taken(cell: Cell) -> float | None:
    """Bytes that the disks of the data have to move at least for each byte of the workload.

    Reads that come before writes are not counted, nor is what journals, logs and caches take: that is on other disks. What
    only a cache has taken as yet counts once all the same: the disks of the data are to keep it.
    """
    summary = cell.summary
    moved = sum(one.bytes for one in directions(summary))
    written = summary.written_bytes if summary else 0
    if not written or not moved:
        return 1.0
    expected = cell.expected_write_amplification
    if expected is None or expected.low is None:
        return None
    return 1 + written / moved * (max(1.0, expected.low - expected.low_beside) - 1)


def _links(one: Extract) -> dict[str, float]:
    """Return the capacity of each disk's PCIe link. A link through which more went than it carries is ignored, as those of
    virtual machines.
    """
    seen: dict[str, float] = {}
    for point in one.points:
        for use in point.cell.devices.values() if point.cell is not None else ():
            span_s = _span_s(point.cell) if point.cell is not None else 0.0
            if use.disk and span_s > 0:
                seen[use.disk] = max(seen.get(use.disk, 0.0), use.read_bytes / span_s, use.written_bytes / span_s)
    found = {disk.id: carries for disk in one.disks if (carries := link_bytes_per_s((disk,))) is not None}
    return {disk: carries for disk, carries in found.items() if seen.get(disk, 0.0) <= carries * _TOLERATED}


def _uses(cell: Cell) -> tuple[tuple[DeviceUse, ...], tuple[DeviceUse, ...]]:
    """Return the disks that keep the data, and the other disks."""
    disks = [use for use in cell.devices.values() if use.disk]
    if cell.data_disks:
        keeps = [use.disk in cell.data_disks for use in disks]
    else:
        keeps = [use.role in _KEEPS_DATA for use in disks]
    sides = list(zip(disks, keeps, strict=True))
    return tuple(use for use, kept in sides if kept), tuple(use for use, kept in sides if not kept)


def _span_s(cell: Cell) -> float:
    return cell.device_at_s[-1] if cell.device_at_s else cell.seconds


def _is_whole(one: Extract) -> bool:
    """Thousands of results are compared without their cells: then there is nothing to look at."""
    return bool(one.points) and one.points[0].cell is not None


def _whole(point: Point) -> Cell | None:
    """A valid cell of which is known what its devices did. A second building of a layout is there for the noise alone."""
    return point.cell if point.valid and not point.again and point.cell is not None and point.cell.devices else None


def _rate(point: Point) -> Rate | None:
    return Rate(point.iops, point.bytes_per_s) if point.iops and point.bytes_per_s else None


def _load(one: Extract, point: Point) -> object:
    """Equal for the same workload, run the same way."""
    return point.workload, one.workloads.get(point.workload, "")


def _middle(rates: Sequence[Rate]) -> Rate:
    return Rate(median(rate.iops for rate in rates), median(rate.bytes_per_s for rate in rates))


def over_rounds(found: Iterable[Account]) -> Iterator[Account]:
    """One for each layout under each workload: medians over its cells, and the limiter that most of them had."""
    groups: dict[tuple[int, str, str], list[Account]] = {}
    for one in found:
        groups.setdefault((one.source, one.row, one.workload), []).append(one)
    for alike in groups.values():
        common = Counter(one.limiter for one in alike).most_common(1)[0][0]
        first = next(one for one in alike if one.limiter == common)
        shares = [one.share for one in alike if one.share is not None]
        observed = [one.observed for one in alike if one.observed is not None]
        yield msgspec.structs.replace(
            first,
            reached=_middle([one.reached for one in alike]),
            share=median(shares) if shares else None,
            observed=median(observed) if observed else None,
            cells=tuple(cell for one in alike for cell in one.cells),
            chain=middle([one.chain for one in alike if one.chain is not None]),
            why=first.why + _elsewhere(alike, common),
        )


def _elsewhere(alike: Sequence[Account], common: str) -> str:
    others = Counter(one.limiter for one in alike if one.limiter != common)
    named = ", ".join(f"{words} in {count}" for words, count in others.items())
    return f" (of {len(alike)} rounds: {named})" if named else ""
