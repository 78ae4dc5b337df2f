"""A workload that is run again and again on one building until it is steady (SNIA PTS 2.0.2). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from raidtui.model.mark import Coded
from raidtui.model.measure import Measured, Summary, pooled
from raidtui.model.result import Pass, Steady, Tracked
from raidtui.model.statistics.steady import MOST_ROUNDS, WINDOW, Steadiness, Window, steadiness

MOST_PASSES: Final = MOST_ROUNDS
QUICK_PASSES: Final = WINDOW
"""Number of passes of a rehearsal, the least that can show a trend."""


class Passes:
    """Takes what each pass measured. `most` is 1 where nothing is repeated."""

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._runs: list[Measured] = []
        self._at_s: list[float] = []

    def add(self, measured: Measured, at_s: float) -> None:
        """The next pass, which began so many seconds after the cell."""
        self._runs.append(measured)
        self._at_s.append(max(0.0, at_s))

    @property
    def number(self) -> int:
        """Number of the next pass, counted from 1."""
        return len(self._runs) + 1

    @property
    def ended(self) -> bool:
        """True once the passes are steady, the most are done, or one met a problem."""
        if not self._runs:
            return False
        return len(self._runs) >= self._most or bool(self._runs[-1].problems) or self._found.reached

    @property
    def whole(self) -> Measured | None:
        """All passes as one, for comparison with the devices' counters. None before the first pass."""
        if len(self._runs) < 2:
            return self._runs[0] if self._runs else None
        samples = (
            replace(sample, at_s=round(sample.at_s + began_s, 3))
            for run, began_s in zip(self._runs, self._at_s, strict=True)
            for sample in run.samples
        )
        problems = (_of_pass(number, each) for number, run in enumerate(self._runs, 1) for each in run.problems)
        return replace(
            self._runs[-1], summary=pooled(self._runs), samples=tuple(samples), problems=tuple(problems), raw=None
        )

    @property
    def summary(self) -> Summary | None:
        """Return the reported summary: that of the steady window, if passes were repeated."""
        return pooled(self._window) if self._runs else None

    def report(self) -> Any:
        """The tool's own report; of several passes a list of the window's."""
        raws = [run.raw for run in self._window if run.raw]
        if self._most == 1:
            return msgspec.json.decode(raws[0]) if raws else None
        return [msgspec.json.decode(raw) for raw in raws]

    def steady(self) -> Steady | None:
        """The verdict, where steady state was asked for."""
        if self._most == 1 or not self._runs:
            return None
        found, last = self._found, len(self._runs)
        passes = tuple(Pass(round(at_s, 3), run.summary) for at_s, run in zip(self._at_s, self._runs, strict=True))
        window = (max(1, last - WINDOW + 1), last)
        return Steady(passes, found.round, window, {name: _tracked(one) for name, one in found.windows.items()})

    def words(self) -> str:
        """Return the progress in words: the next pass, and the variable that is least steady."""
        about = f"pass {self.number} of at most {self._most}"
        restless = [(name, one) for name, one in self._found.windows.items() if not one.steady]
        if self.number <= WINDOW or not restless:
            return about
        name, one = max(restless, key=lambda item: item[1].range / item[1].average if item[1].average else 0.0)
        return f"{about}: {spread_words(name, _tracked(one))}"

    @property
    def _window(self) -> Sequence[Measured]:
        return self._runs[-WINDOW:]

    @property
    def _found(self) -> Steadiness:
        return steadiness(tracking([run.summary for run in self._runs]), self._most)


def tracking(summaries: Sequence[Summary]) -> dict[str, list[float]]:
    """SNIA's tracking variables by name, a value for each pass: of reads and of writes, as the workload has them."""
    found: dict[str, list[float]] = {}
    for name in ("read", "write"):
        flows = [getattr(one, name) for one in summaries]
        if not any(flows):
            continue
        found[f"{name} IOPS"] = [flow.iops if flow else 0.0 for flow in flows]
        found[f"{name} bandwidth"] = [flow.bytes_per_s if flow else 0.0 for flow in flows]
        means = [flow.latency.mean_us if flow else 0.0 for flow in flows]
        if None not in means:
            found[f"{name} mean latency"] = means
    return found


def spread_words(name: str, one: Tracked) -> str:
    """`write IOPS: range 31.0 %, line 14.2 %`"""
    if one.range_percent is None or one.excursion_percent is None:
        return f"{name}: nothing was done"
    return f"{name}: range {one.range_percent:.1f} %, line {one.excursion_percent:.1f} %"


def _of_pass(number: int, problem: str) -> str:
    """Return the problem with the code of its mark, if it has one."""
    sentence = f"pass {number}: {problem}"
    return Coded(problem.code, sentence) if isinstance(problem, Coded) else sentence


def _tracked(window: Window) -> Tracked:
    average = window.average
    shares = [round(100 * value / average, 3) if average > 0 else None for value in (window.range, window.excursion)]
    return Tracked(average, shares[0], shares[1], window.steady)
