"""A campaign that was asked for a ranking: which of its cells are still needed, and what is known so far.

A fold over what became of the cells, so that the runner decides by the very thing that the result says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log
from statistics import fmean
from typing import Final, Literal

from raidtui.engine.validity.incidents import CANCELLED
from raidtui.model.convert import decode
from raidtui.model.measure import Summary, in_bulk
from raidtui.model.plan import CellPlan, Plan
from raidtui.model.result import Beyond, Cell, Ranked, RankedLayout
from raidtui.model.scenario import Policy
from raidtui.model.statistics.ranking import FIRST_LOOK, Asked, Standing, standing

Metric = Literal["IOPS", "MB/s", "µs per sync"]

_WORDS: Final = 3


class Rankings:
    """Rankings of all workloads of a plan. Without a question in the policy, every cell is needed."""

    def __init__(self, plan: Plan) -> None:
        self._asked = decode(Policy, plan.scenario.get("policy", {}), "$.policy").ranking
        self._plan = plan
        self._planned: dict[str, list[CellPlan]] = {}
        """The cells that are compared: not bare disks that were added, nor second buildings."""
        for cell in plan.cells if self._asked else ():
            if cell.layout not in plan.ceilings and not cell.again:
                self._planned.setdefault(cell.workload, []).append(cell)
        self._done: dict[str, Cell] = {}
        self._failed: set[str] = set()
        self._skipped: set[str] = set()
        self._known: dict[tuple[str, int], Standing] = {}

    @property
    def skipped(self) -> int:
        """Number of cells that were not needed."""
        return len(self._skipped)

    def done(self, cell: Cell) -> None:
        """Note a measured cell, valid or not. A cancelled one says nothing about its layout."""
        if not any(mark.code == CANCELLED.code for mark in cell.marks):
            self._done[cell.id] = cell

    def failed(self, cells: Iterable[str]) -> None:
        """Note that the layout of these cells could not be built."""
        self._failed.update(cells)

    def skip(self, cells: Iterable[str]) -> None:
        """Note that these cells were not needed."""
        self._skipped.update(cells)

    def not_needed(self, cell: CellPlan) -> str:
        """Return the reason why this cell is not needed; empty if it is."""
        if self._asked is None or cell.workload not in self._planned:
            return ""
        rounds = self._complete(cell.workload)
        known = self._standing(cell.workload, rounds)
        if rounds < FIRST_LOOK or cell.layout in known.open:
            return ""
        sure = f"at {self._asked.confidence:g} %"
        if known.answered:
            return f"what was asked of {cell.workload} is known {sure}"
        if not known.places:
            return f"too few cells of any layout are valid for {cell.workload}"
        if not known.open:
            return f"the rounds that are left would tell nothing more of {cell.workload} {sure}"
        if cell.layout in self._plan.ceilings:
            return ""
        if cell.layout in known.out:
            return f"too few cells of {cell.layout} are valid for {cell.workload}"
        if self._asked.question == "best" and known.places[cell.layout] > 1:
            better = next(told.better for told in known.told if told.worse == cell.layout and told.verdict == "apart")
            return f"{better} is better for {cell.workload} {sure}"
        if any(cell.layout in pair for pair in known.beyond):
            return f"the rounds that are left would tell nothing more of {cell.layout} for {cell.workload} {sure}"
        return f"told apart from all others for {cell.workload}, or close enough, {sure}"

    def block_not_needed(self, cells: Sequence[CellPlan]) -> str:
        """Return the reasons why no cell of a block is needed; empty if any of them is."""
        reasons = [self.not_needed(cell) for cell in cells]
        if not all(reasons):
            return ""
        found = list(dict.fromkeys(reasons))
        return "; ".join(found[:_WORDS]) + ("; …" if found[_WORDS:] else "")

    def ranked(self) -> tuple[Ranked, ...]:
        """Return the ranking of each workload, in the order of the plan."""
        return tuple(self._ranked(workload) for workload in self._planned)

    def _ranked(self, workload: str) -> Ranked:
        asked, planned = self._asked, self._planned[workload]
        assert asked is not None, "there are no workloads to rank without a question"
        rounds = self._complete(workload)
        known, metric = self._standing(workload, rounds), self._metric(workload)
        values = self._values(workload, rounds)
        ids = {cell.id for cell in planned}
        seconds = {step.cell: step.seconds for step in self._plan.steps if step.action == "measure" and step.cell in ids}
        names = [*known.places, *(name for name in values if name not in known.places)]
        return Ranked(
            workload=workload,
            question=asked.question,
            confidence_percent=asked.confidence,
            close_enough_percent=asked.close_enough,
            metric=metric,
            answered=rounds >= FIRST_LOOK and known.answered,
            layouts=tuple(_layout(name, known, values[name], metric) for name in names),
            told=known.told,
            rounds=min(rounds, max((cell.round for cell in planned if cell.id in self._done), default=0)),
            most_rounds=self._most(workload),
            spent_s=round(sum(planned_s for cell, planned_s in seconds.items() if cell in self._done), 3),
            most_s=round(sum(seconds.values()), 3),
            skipped=len(ids & self._skipped),
            beyond=tuple(Beyond(pair, round_) for pair, round_ in known.beyond.items()),
        )

    def _standing(self, workload: str, rounds: int) -> Standing:
        asked = self._asked
        assert asked is not None, "there is nothing to rank without a question"
        if (workload, rounds) not in self._known:
            question = Asked(asked.confidence / 100, asked.question, asked.close_enough / 100, len(self._planned),
                             self._most(workload))  # fmt: skip
            self._known[workload, rounds] = standing(self._values(workload, rounds), question)
        return self._known[workload, rounds]

    def _complete(self, workload: str) -> int:
        """The last round of which every cell, and every cell before, is settled."""
        settled = self._done.keys() | self._failed | self._skipped
        open_ = [cell.round for cell in self._planned[workload] if cell.id not in settled]
        return min(open_) - 1 if open_ else self._most(workload)

    def _most(self, workload: str) -> int:
        return max(cell.round for cell in self._planned[workload])

    def _values(self, workload: str, rounds: int) -> dict[str, dict[int, float | None]]:
        """Return values up to this round by layout and round, more is better; the typical disk if measured disk by disk."""
        metric = self._metric(workload)
        parts: dict[str, dict[int, list[float | None]]] = {}
        for cell in self._planned[workload]:
            of_layout = parts.setdefault(cell.layout, {})
            if cell.round <= rounds and cell.id not in self._skipped:
                of_layout.setdefault(cell.round, []).append(_value(self._done.get(cell.id), metric))
        return {name: {round_: _typical(found) for round_, found in of.items()} for name, of in parts.items()}

    def _metric(self, workload: str) -> Metric:
        done = (self._done.get(cell.id) for cell in self._planned[workload])
        return metric_of([cell.summary for cell in done if cell is not None and cell.valid and cell.summary])


def metric_of(summaries: Sequence[Summary]) -> Metric:
    """Return the values by which layouts are ranked under one workload.

    Where every run of it waited for durability (fsync and the like), the mean time that took; else bytes per second where a
    mean operation has at least 256 KiB, and operations per second where it is smaller.
    """
    if summaries and all(_sync_us(summary) for summary in summaries):
        return "µs per sync"
    moved = [direction for summary in summaries for direction in summary.moved]
    ios = sum(direction.ios for direction in moved)
    return "MB/s" if in_bulk(ios, sum(direction.bytes for direction in moved)) else "IOPS"


def merit(summary: Summary, metric: Metric) -> float:
    """A cell's number, more is better: operations, bytes or syncs per second; 0 where nothing was done."""
    if metric == "µs per sync":
        mean_us = _sync_us(summary)
        return 1e6 / mean_us if mean_us else 0.0
    return sum(d.bytes_per_s if metric == "MB/s" else d.iops for d in summary.moved)


def _sync_us(summary: Summary) -> float | None:
    return summary.sync.latency.mean_us if summary.sync is not None and summary.sync.ios else None


def _value(cell: Cell | None, metric: Metric) -> float | None:
    if cell is None or not cell.valid or cell.summary is None:
        return None
    return merit(cell.summary, metric) or None


def _typical(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return exp(fmean(map(log, known))) if len(known) == len(parts) else None


def _layout(name: str, known: Standing, values: Mapping[int, float | None], metric: Metric) -> RankedLayout:
    typical = _typical(valid) if (valid := [value for value in values.values() if value is not None]) else None
    if typical is not None and metric != "IOPS":
        typical = typical / 1e6 if metric == "MB/s" else 1e6 / typical
    shown = float(f"{typical:.6g}") if typical is not None else None
    return RankedLayout(name, known.places.get(name), shown, len(valid))
