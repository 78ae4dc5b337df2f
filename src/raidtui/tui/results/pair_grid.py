"""Rows of old against new: each layout under a workload with its change, interval and verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from raidtui.base.text import shortened
from raidtui.results.comparison import NOT_TOLD, TOO_FEW, Comparison, Pair
from raidtui.results.old_new import cells_of, legend, ordered
from raidtui.tui.results.pages import BAD, MUTED, WARN, Sheet
from raidtui.tui.widgets.glyphs import glyphs
from raidtui.tui.widgets.table_line import Column
from raidtui.tui.widgets.table_view import Rows

LOOKS = {"better": "good", "worse": "alert", NOT_TOLD: "dim", TOO_FEW: "dim"}
_LEAST, _MOST = 10, 40
"""Width of a name in cells."""
_LEAST_PICTURE, _MOST_PICTURE = 15, 41


class PairGrid(Rows):
    """The pairs, the best first, for a table `width` cells wide.

    Narrow tables leave out rounds and p, wide ones draw each change as a dot on its interval.
    """

    def __init__(self, comparison: Comparison, width: int) -> None:
        self.pairs = ordered(comparison.pairs)
        self.keys = [str(number) for number in range(len(self.pairs))]
        cells = [cells_of(pair) for pair in self.pairs]
        wide = [max((len(one[place]) for one in cells), default=0) for place in range(9)]
        wide = [max(room, least) for room, least in zip(wide, (6, 8, 3, 3, 6, 4, 1, 1, 7), strict=True)]
        wide[8] = len(NOT_TOLD)
        spare = width - sum(room + 1 for room in wide[2:]) - 2
        self._long = spare >= 2 * _LEAST
        if not self._long:
            spare += wide[6] + wide[7] + 2
        first = max(_LEAST, min(_MOST, wide[0], max(spare // 2, spare - wide[1] - 1)))
        second = max(_LEAST, min(_MOST, wide[1], spare - first))
        self._names = first, second
        left = spare - first - second - 1
        self._picture = min(left, _MOST_PICTURE) // 2 * 2 - 1 if left > _LEAST_PICTURE else 0
        ends = [abs(end) for pair in self.pairs for end in (pair.change, pair.low, pair.high) if end is not None]
        self._reach = max(ends, default=0.0) or 1.0
        self.columns = tuple(self._columns(wide))
        self.width = sum(column.width + 1 for column in self.columns) + 1

    def cells(self, key: str) -> Sequence[str | Text]:
        pair = self.pairs[int(key)]
        layout, workload, old, new, change, inside, rounds, p, verdict = cells_of(pair)
        look = LOOKS.get(pair.way or pair.verdict, "warn")
        shown: list[str | Text] = [*self._shown(layout, workload), old, new,
                                   Text(change, look), inside]  # fmt: skip
        if self._picture:
            shown.append(Text(picture(pair, self._picture, self._reach), look))
        if self._long:
            shown += [rounds, p]
        return [*shown, Text("no number" if pair.change is None else verdict, look)]

    @property
    def has_picture(self) -> bool:
        return self._picture > 0

    def pair(self, key: str | None) -> Pair | None:
        """Return the pair of a row; None if there is no such row."""
        return self.pairs[int(key)] if key is not None and key in self.keys else None

    def _shown(self, *names: str) -> list[str]:
        """Return the names as far as they fit; the whole ones stand below the table."""
        drawn = [shortened(name, room) for name, room in zip(names, self._names, strict=True)]
        return [name.replace("…", glyphs().ellipsis) for name in drawn]

    def _columns(self, wide: Sequence[int]) -> list[Column]:
        found = [
            Column("layout", "Layout", self._names[0]), Column("workload", "Workload", self._names[1]),
            Column("old", "Old", wide[2], "right"), Column("new", "New", wide[3], "right"),
            Column("change", "Change", wide[4], "right", "New against old, by the geometric means of the rounds"),
            Column("inside", "95 %", wide[5], "right", "Where the change lies with 95 % confidence"),
        ]  # fmt: skip
        if self._picture:
            found.append(Column("picture", f"{'less':<{self._picture // 2}}0{'more':>{self._picture // 2}}", self._picture,
                                help="The change on its interval; the middle is no change"))  # fmt: skip
        if self._long:
            found += [Column("rounds", "n", wide[6], "right", "Valid rounds of old and new"),
                      Column("p", "p", wide[7], "right", "Welch on logarithms, after Holm over all rows")]  # fmt: skip
        return [*found, Column("verdict", "Verdict", wide[8])]


def picture(pair: Pair, width: int, reach: float) -> str:
    """Return `   ├──●──┤│` in `width` cells from -`reach` to +`reach`; blank without a change."""
    line = [" "] * width
    drawn = glyphs()
    middle = width // 2

    def place(value: float) -> int:
        return max(0, min(width - 1, middle + round(value / reach * middle)))

    if pair.change is None:
        return "".join(line)
    line[middle] = drawn.vertical
    if pair.low is not None and pair.high is not None and pair.verdict != TOO_FEW:
        for at in range(place(pair.low), place(pair.high) + 1):
            line[at] = drawn.horizontal
    line[place(pair.change)] = drawn.selected
    return "".join(line)


def pair_notes(sheet: Sheet, comparison: Comparison, grid: PairGrid, key: str | None) -> None:
    """Write the whole names of a pair with its rounds, then the legend and the notes on both results."""
    pair, drawn = grid.pair(key), glyphs()
    if pair is not None:
        names = f"{pair.layout} under {pair.workload}"
        counted = f"{pair.old_rounds} valid rounds of old, {pair.new_rounds} of new"
        p = "" if pair.p is None else f", p {pair.p:.2g}"
        if pair.change is None:
            sheet.para(f"{names}: {pair.why}", mark="✗", style=BAD)
        else:
            sheet.para(f"{names}: {pair.way or pair.verdict}; {counted}{p}")
    dots = f"; {drawn.selected}: the change on its 95 % interval; {drawn.vertical}: no change" if grid.has_picture else ""
    for line in [*legend(comparison), f"the colour of a change says the same as its verdict{dots}"]:
        sheet.para(line, style=MUTED)
    for note in comparison.notes:
        sheet.para(note, mark="⚠", style=WARN)
