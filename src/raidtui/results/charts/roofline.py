"""Throughput by the size of an operation, under the roof that the bare disks and their links set."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from raidtui.results.charts.base import Chart, Panel, in_parts, legend, legend_height
from raidtui.results.charts.style import Style, short
from raidtui.results.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Dot(NamedTuple):
    """One layout under one workload."""

    row: int
    size_bytes: float
    """Of the mean operation."""
    bytes_per_s: float


def panels(comparison: Comparison) -> list[Panel]:
    """One panel, where something has both rates, and more where there are many layouts."""
    dots = _dots(comparison)
    if not dots:
        return []
    roof = _roof(comparison)
    found = []
    for title, rows in in_parts("Throughput by operation size", sorted({dot.row for dot in dots})):
        mine = [dot for dot in dots if dot.row in rows]
        about = f"throughput by operation size of {len(mine)} cells" + (" under the roof of the bare disks" if roof else "")
        found.append(Panel(title, _Roofline(comparison, mine, roof), 2.8 + legend_height(len(rows) + 1), about))
    return found


class _Roofline:
    def __init__(self, comparison: Comparison, dots: list[Dot], roof: Roof | None) -> None:
        self._comparison, self._dots, self._roof = comparison, dots, roof

    def __call__(self, axes: Axes, style: Style) -> None:
        for row in sorted({dot.row for dot in self._dots}):
            mine = [dot for dot in self._dots if dot.row == row]
            axes.plot([dot.size_bytes for dot in mine], [dot.bytes_per_s / 1e6 for dot in mine], linestyle="none",
                      marker=style.mark(row), markersize=5, color=style.colour(row),
                      label=short(self._comparison.rows[row].label))  # fmt: skip
        sizes = [dot.size_bytes for dot in self._dots]
        left, right = min(sizes) / 2, max(sizes) * 2
        if self._roof is not None:
            iops, bytes_per_s, words = self._roof
            knee = bytes_per_s / iops
            edge = sorted({left, min(max(knee, left), right), right})
            axes.plot(edge, [min(size * iops, bytes_per_s) / 1e6 for size in edge], color=style.ink, linewidth=1.1,
                      linestyle="--", label=words)  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlim(left, right)
        axes.xaxis.set_major_formatter(lambda value, _: _size(value))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
        axes.set_xlabel("bytes of the mean operation")
        axes.set_ylabel("MB/s")
        legend(axes)


def _dots(comparison: Comparison) -> list[Dot]:
    found = []
    for number, row in enumerate(comparison.rows):
        for entry in row.entries:
            valid = [p for p in entry.points if p.valid and p.iops and p.bytes_per_s] if entry is not None else []
            iops = sum(one.iops or 0.0 for one in valid) / len(valid) if valid else 0.0
            bytes_per_s = sum(one.bytes_per_s or 0.0 for one in valid) / len(valid) if valid else 0.0
            if iops and bytes_per_s:
                found.append(Dot(number, bytes_per_s / iops, bytes_per_s))
    return found


class Roof(NamedTuple):
    """Most operations and most bytes per second of bare disks."""

    iops: float
    bytes_per_s: float
    words: str


def _roof(comparison: Comparison) -> Roof | None:
    """What the disks gave all at once where that was measured; else each alone, added up. Of the first result that did."""
    return _together(comparison) or _added_up(comparison)


def _together(comparison: Comparison) -> Roof | None:
    rows = [row for row in comparison.rows if row.bare == "together"]
    first = min((row.source for row in rows), default=0)
    points = [
        point
        for row in rows
        if row.source == first
        for entry in row.entries
        for point in (entry.points if entry is not None else ())
        if point.valid
    ]
    iops = max((point.iops or 0.0 for point in points), default=0.0)
    moved = max((point.bytes_per_s or 0.0 for point in points), default=0.0)
    return Roof(iops, moved, "bare disks, all at once") if iops and moved else None


def _added_up(comparison: Comparison) -> Roof | None:
    disks: dict[tuple[int, str], tuple[float, float]] = {}
    for row in comparison.rows:
        for entry in row.entries:
            for point in entry.points if entry is not None else ():
                if point.valid and point.part:
                    key = (row.source, point.part)
                    iops, moved = disks.get(key, (0.0, 0.0))
                    disks[key] = max(iops, point.iops or 0.0), max(moved, point.bytes_per_s or 0.0)
    first = min((source for source, _ in disks), default=0)
    found = [both for (source, _), both in disks.items() if source == first]
    iops, moved = sum(one for one, _ in found), sum(one for _, one in found)
    return Roof(iops, moved, "bare disks, added up") if iops and moved else None


def _size(value: float) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:g} {unit}" if value / size < 1024 else f"{value / size:.0f} {unit}"
    return f"{value:g} B"


CHART = Chart("roofline", "Under the roof of the bare disks", panels)
