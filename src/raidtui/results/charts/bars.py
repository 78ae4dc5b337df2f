"""Chart of layouts side by side: for each workload the rate, and beside it the latency of the same layouts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from raidtui.base.text import clean, plural
from raidtui.model.measure import Latency
from raidtui.results.charts.drawing import Chart, Panel, Style, Tip, numbers, round_times, series_id, short
from raidtui.results.charts.figure import inches_of, width_beside
from raidtui.results.comparison import Comparison, Entry, Row
from raidtui.results.lines import MARKS, share_text, state_of, why
from raidtui.results.rates import SCALE, Unit, latency_text, rate_text, unit_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS = 60
_LETTERS, _SMALL = 7.5, 6.5
"""Sizes of letters in points: of one line of words in a row, and of several."""
_SPACE = 5
"""Points between what is drawn and its words."""
_LEAST_DECADES = math.log10(2)
"""Least width of an axis of latencies: small differences do not fill it."""
_TICK_GAP = 0.6
"""Inches between two times at an axis, at least."""


class _Bars(NamedTuple):
    """The layouts of one workload with their places in the comparison."""

    rows: Sequence[tuple[int, Row]]
    column: int
    """Number of the workload."""
    workload: str
    unit: Unit
    baseline: str

    @property
    def entries(self) -> Iterator[tuple[int, int, Row, Entry | None]]:
        """Yield line in the panel, place in the comparison, row and entry."""
        return ((line, place, row, row.entries[self.column]) for line, (place, row) in enumerate(self.rows))


def _panels(comparison: Comparison) -> list[Panel]:
    """Return a panel for each workload, and one of its latency. Of very many layouts the first ones are shown."""
    found = []
    for index, name, unit in comparison.columns():
        # A layout that could not be built has its place; one that was never to be measured so has none.
        known = [(place, row) for place, row in enumerate(comparison.rows) if row.entries[index] is not None or row.failed]
        left_out = len(known[_MOST_BARS:])
        bars = _Bars(known[:_MOST_BARS], index, name, unit, comparison.baseline)
        latencies = {place: _latencies(entry) for _, place, _, entry in bars.entries}
        if all(entry is None for _, _, _, entry in bars.entries):
            continue
        more = f" (and {left_out} more)" if left_out else ""
        most = max(map(len, latencies.values()))
        tails = any(one.p50_us or one.p99_us for of in latencies.values() for one in of.values())
        height = 0.75 + max(0.24, 0.12 * most) * len(bars.rows)
        about = "; ".join(f"{short(row.label)} {_words(row, index, unit)}" for _, row in bars.rows)
        title = f"{short(name, 40)}, {unit_words(unit)}{more}"
        found.append(Panel(title, partial(_draw_rates, bars), height, about, rows=True))
        if most:
            about = "; ".join(f"{short(row.label)} {_latency_words(latencies[place])}" for place, row in bars.rows)
            title = f"{short(name, 30)}, {'latency: dot p50, line to p99' if tails else 'mean latency'}"
            draw = partial(_draw_latencies, bars, latencies)
            found.append(Panel(title, draw, height, about, rows=True, beside=True))
    return found


def _draw_rates(bars: _Bars, axes: Axes, style: Style) -> list[Tip]:
    scale = SCALE[bars.unit]
    width = width_beside([short(row.label) for _, row in bars.rows])
    end = 0.0
    tips = []
    for line, place, row, entry in bars.entries:
        gid = series_id(place)
        middle = entry.typical * scale if entry is not None and entry.typical is not None else 0.0
        axes.barh(line, middle, height=0.66, color=style.colour(place), gid=gid)
        if entry is not None and entry.typical is not None:
            low, high = _interval(entry)
            if high > low:
                ends = [low * scale, high * scale]
                axes.plot(ends, [line, line], color=style.ink, linewidth=1.2, marker="|", markersize=5, gid=gid)
        words = _words(row, bars.column, bars.unit) + ("  baseline" if row.label == bars.baseline else "")
        right = max(middle, _reach(entry) * scale)
        end = max(end, right / _left_for_bar(words, _LETTERS, width))
        _write(axes, words, (right, line), _LETTERS, place, style)
        tips.append(Tip(middle, line, _rate_tip(row, bars), place))
    axes.set_xlim(0, end or 1.0)
    axes.locator_params(axis="x", nbins=5)
    numbers(axes.xaxis)
    _name_rows(bars, axes)
    return tips


def _rate_tip(row: Row, bars: _Bars) -> str:
    """Layout, workload, value, unit, interval, rounds and share of the baseline."""
    entry, unit = row.entries[bars.column], bars.unit
    head = f"{clean(row.label, 200)}, {clean(bars.workload, 200)}: "
    if entry is None or entry.typical is None:
        reason = why(row, bars.column)
        return f"{head}{state_of(row, bars.column)}" + (f", {clean(reason)}" if reason else "")
    low, high = _interval(entry)
    kind = "95 % interval" if _has_interval(entry) else "worst and best round"
    inside = f", {kind} {rate_text(low, unit)} to {rate_text(high, unit)}" if high > low else ""
    rounds = plural(entry.valid, "round") if entry.valid == entry.cells else f"{entry.valid} of {entry.cells} rounds valid"
    share = f", {share_text(entry)} of {clean(bars.baseline, 200)}" if entry.of_baseline is not None else ""
    return f"{head}{rate_text(entry.typical, unit)} {unit}{inside}, {rounds}{share}"


def _write(axes: Axes, words: str, at: tuple[float, float], letters: float, place: int, style: Style) -> None:
    """Write words right of what is drawn there."""
    axes.annotate(words, at, xytext=(_SPACE, 0), textcoords="offset points", va="center", fontsize=letters,
                  color=style.ink, gid=series_id(place))  # fmt: skip


def _left_for_bar(words: str, letters: float, width: float) -> float:
    """Return the share of the axes' width, in inches, that these words at the end of a bar leave for it."""
    return max(0.2, 1 - (inches_of(words, letters) + _SPACE / 72 + 0.05) / width)


def _name_rows(bars: _Bars, axes: Axes) -> None:
    axes.set_yticks(range(len(bars.rows)), [short(row.label) for _, row in bars.rows])
    axes.set_ylim(len(bars.rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _interval(entry: Entry) -> tuple[float, float]:
    """Return the 95 % interval if there are rounds enough for one, else the worst and the best round."""
    if _has_interval(entry):
        return entry.interval_low or 0.0, entry.interval_high or 0.0
    return entry.low or 0.0, entry.high or 0.0


def _has_interval(entry: Entry) -> bool:
    return entry.valid >= 3 and entry.interval_low is not None and entry.interval_high is not None


def _reach(entry: Entry | None) -> float:
    return max(entry.typical, _interval(entry)[1]) if entry is not None and entry.typical is not None else 0.0


def _words(row: Row, index: int, unit: Unit) -> str:
    entry = row.entries[index]
    if entry is None or entry.typical is None:
        return f"{MARKS[state_of(row, index)]} {state_of(row, index)}"
    return f"{rate_text(entry.typical, unit)}  {share_text(entry)}".rstrip()


def _latencies(entry: Entry | None) -> dict[str, Latency]:
    """Return the directions of which a time is known, over all valid rounds."""
    of = entry.latency if entry is not None else {}
    return {name: one for name, one in of.items() if any(_times(one))}


def _times(one: Latency) -> list[float]:
    """Return p50 and p99 in µs as far as known, else the mean."""
    return [us for us in (one.p50_us, one.p99_us) if us] or [us for us in (one.mean_us,) if us]


def _draw_latencies(bars: _Bars, latencies: dict[int, dict[str, Latency]], axes: Axes, style: Style) -> list[Tip]:
    """Draw a dot at p50 and a line to p99, directions below each other; where only the mean is known, a hollow diamond."""
    times = [us for of in latencies.values() for one in of.values() for us in _times(one)]
    high = math.log10(max(times))
    low = min(math.log10(min(times)), high - _LEAST_DECADES)
    low -= 0.06 * (high - low)
    width = width_beside([short(row.label) for _, row in bars.rows])
    end = high
    tips = []
    for line, place, row, entry in bars.entries:
        of = latencies[place]
        letters = _LETTERS if len(of) == 1 else _SMALL
        for number, (name, one) in enumerate(of.items()):
            y = line + ((number + 0.5) / len(of) - 0.5) * 0.84
            _draw_times(one, y, place, axes, style)
            words = _latency_words({name: one}, short_form=True, named=len(of) > 1)
            right = _times(one)[-1]
            end = max(end, low + (math.log10(right) - low) / _left_for_bar(words, letters, width))
            _write(axes, words, (right, y), letters, place, style)
        rounds = f" over {plural(entry.valid, 'round')}" if entry is not None and of else ""
        head = f"{clean(row.label, 200)}, {clean(bars.workload, 200)}: "
        tips.append(Tip(10**low, line, f"{head}{_latency_words(of)}{rounds}", place))
    axes.set_xscale("log")
    round_times(axes.xaxis, 10**low, 10**end, _TICK_GAP / width)
    _name_rows(bars, axes)
    return tips


def _draw_times(one: Latency, y: float, place: int, axes: Axes, style: Style) -> None:
    known, colour, gid = _times(one), style.colour(place), series_id(place)
    axes.plot(known, [y] * len(known), color=colour, linewidth=1.4, gid=gid)
    if one.p50_us:
        axes.plot([one.p50_us], [y], color=colour, marker="o", markersize=4.5, gid=gid)
    if one.p99_us:
        axes.plot([one.p99_us], [y], color=colour, marker="|", markersize=6, markeredgewidth=1.6, gid=gid)
    if not one.p50_us and not one.p99_us:
        axes.plot(known, [y], color=colour, marker="D", markersize=4, markerfacecolor=style.paper, gid=gid)


def _latency_words(of: dict[str, Latency], *, short_form: bool = False, named: bool = True) -> str:
    """`read p50 85 µs, p99 1.24 ms`, or short `85 µs / 1.24 ms`."""
    found = []
    for name, one in of.items():
        if one.p50_us or one.p99_us:
            middle, tail = latency_text(one.p50_us), latency_text(one.p99_us)
            words = f"{middle} / {tail}" if short_form else f"p50 {middle}, p99 {tail}"
        else:
            words = f"mean {latency_text(one.mean_us)}"
        found.append(f"{name} {words}" if named else words)
    return "; ".join(found) or "latency not known"


SIGNS: Final = (
    "the thin line on a bar: the 95 % confidence interval, from three valid rounds on; from the worst to the best round "
    "where there are fewer"
)
BARS: Final = Chart("bars", "Layouts side by side", _panels, signs=SIGNS, swept=False)
