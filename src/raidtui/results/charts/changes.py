"""Chart of old against new: the change of each layout under a workload, with its 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from raidtui.base.text import clean
from raidtui.results.charts.drawing import Chart, Panel, Style, Tip, in_parts, legend_height, short
from raidtui.results.comparison import NOT_TOLD, TOO_FEW, Comparison, Pair
from raidtui.results.old_new import change_text, ordered
from raidtui.results.rates import rate_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Look(NamedTuple):
    """Shape and colour of a verdict: the two are never told apart by colour alone."""

    mark: str
    colour: int
    filled: bool
    words: str


_LOOKS: Final = {
    "better": _Look("^", 2, True, "new is better"),
    "worse": _Look("v", 1, True, "new is worse"),
    NOT_TOLD: _Look("o", 7, False, NOT_TOLD),
    TOO_FEW: _Look("x", 7, True, TOO_FEW),
}


def _panels(comparison: Comparison) -> list[Panel]:
    """Return a panel for each workload with a change."""
    found = []
    for workload in comparison.workloads:
        pairs = ordered([pair for pair in comparison.pairs if pair.workload == workload])
        if all(pair.change is None for pair in pairs):
            continue
        for title, part in in_parts(f"{short(workload, 30)}: change", pairs):
            words = [f"{change_text(pair.change)} {pair.way or pair.verdict or pair.why}" for pair in part]
            about = "; ".join(f"{short(pair.layout)} {said}" for pair, said in zip(part, words, strict=True))
            kinds = len({pair.way or pair.verdict for pair in part if pair.change is not None})
            height = 0.85 + 0.24 * len(part) + legend_height(kinds)
            found.append(Panel(title, partial(_draw, part), height, about, f"change {workload}", rows=True))
    return found


def _draw(pairs: Sequence[Pair], axes: Axes, style: Style) -> list[Tip]:
    """Draw a dot with its interval for each pair, around a line at no change; only the name of one that has no change."""
    axes.axvline(0, color=style.ink, linewidth=1)
    named = set()
    for place, pair in enumerate(pairs):
        if pair.change is None:
            continue
        look = _LOOKS[pair.way or pair.verdict]
        colour = style.series[look.colour]
        if pair.low is not None and pair.high is not None and pair.verdict != TOO_FEW:
            ends = [pair.low * 100, pair.high * 100]
            axes.plot(ends, [place, place], color=colour, linewidth=1.6, marker="|", markersize=6)
        axes.plot([pair.change * 100], [place], linestyle="none", marker=look.mark, markersize=6, color=colour,
                  markerfacecolor=colour if look.filled else style.paper,
                  label="" if look.words in named else look.words)  # fmt: skip
        named.add(look.words)
    axes.set_yticks(range(len(pairs)), [_name(pair) for pair in pairs])
    axes.set_ylim(len(pairs) - 0.4, -0.6)
    axes.margins(x=0.12)
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:+g} %" if value else "0 %")
    axes.set_xlabel("new against old, with its 95 % interval")
    axes.grid(visible=False, axis="y")
    return [Tip(0.0, line, _tip_words(pair)) for line, pair in enumerate(pairs)]


def _tip_words(pair: Pair) -> str:
    """Layout, workload, change with its interval, rates, rounds and verdict of a pair."""
    head = f"{clean(pair.layout, 200)}, {clean(pair.workload, 200)}: "
    if pair.change is None:
        return f"{head}no change known, {clean(pair.why)}"
    inside = "" if pair.low is None or pair.high is None else \
        f", 95 % interval {pair.low * 100:+.1f} to {pair.high * 100:+.1f} %"  # fmt: skip
    rates = f"{rate_text(pair.old, pair.unit)} to {rate_text(pair.new, pair.unit)} {pair.unit}"
    rounds = f"{pair.old_rounds} and {pair.new_rounds} rounds"
    return f"{head}{change_text(pair.change)}{inside}, {rates}, {rounds}, {pair.way or pair.verdict}"


def _name(pair: Pair) -> str:
    return f"{short(pair.layout, 22)}  {'✗ no number' if pair.change is None else change_text(pair.change)}"


CHANGES: Final = Chart("changes", "Old against new", _panels)
