"""Cells of a result: table rows, charts, and the account of each cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from raidtui.base.text import clean
from raidtui.model.measure import Direction, Sample
from raidtui.model.result import Cell, Result
from raidtui.results.accounting import accounts
from raidtui.results.extract import extract
from raidtui.results.lines import cell_words
from raidtui.results.rates import directions, label_of, latency_text, mb_s_text, rate, rate_text, ratio_text, unit_of
from raidtui.tui.results.pages import signs
from raidtui.tui.widgets.chart_picture import Series
from raidtui.tui.widgets.glyphs import glyphs, spark
from raidtui.tui.widgets.table_line import Column
from raidtui.tui.widgets.table_view import Rows

CELL_COLUMNS = (
    Column("mark", "", 1, help="✓: valid; ⚠: valid with a note; ✗: invalid"),
    Column("layout", "Layout", 10, help="Layout, and the disk where it is measured disk by disk", flexible=True),
    Column("workload", "Workload", 10, flexible=True),
    Column("round", "Rnd", 3, "right", "Round"),
    Column("rate", "Rate", 12, "right", "Operations or megabytes per second, all directions together"),
    Column("mean", "Mean", 9, "right", "Mean completion latency"),
    Column("p99", "p99", 9, "right", "99 of 100 operations were faster"),
    Column("amplification", "W.amp", 5, "right", "Bytes written to members, per byte that the workload wrote"),
    Column("cores", "Cores", 5, "right", "CPU cores used"),
)

DEVICE_COLUMNS = (
    Column("name", "Device", 8, help="Kernel name at the time of the run"),
    Column("role", "Role", 7, help="Role in the layout"),
    Column("disk", "Disk", 8, help="The disk's id", flexible=True),
    Column("read", "Read MB", 8, "right", "Read during the cell"),
    Column("written", "Write MB", 8, "right", "Written during the cell"),
    Column("r_await", "r_await", 8, "right", "Mean time of a read"),
    Column("w_await", "w_await", 8, "right", "Mean time of a write"),
    Column("util", "%util", 5, "right", "Mean utilisation"),
    Column("history", "History", 6, help="Utilisation at the end of the cell; a full block is 100 %"),
)


class CellRows(Rows):
    """Table rows of a result's cells, by cell id."""

    def __init__(self, result: Result | None) -> None:
        self._cells = {cell.id: cell for cell in result.cells} if result else {}
        self.keys = list(self._cells)

    def cells(self, key: str) -> Sequence[str | Text]:
        """Return the cells of one row; invalid cells show no numbers."""
        cell = self._cells[key]
        unit = unit_of([cell])
        moved = directions(cell.summary)
        tails = [d.latency.p99_us for d in moved if d.latency.p99_us is not None]
        mean = moved[0].latency.mean_us if len(moved) == 1 else None
        mark = Text(signs("✗"), "alert")
        if cell.valid:
            mark = Text(signs("⚠"), "warn") if cell.marks else Text(signs("✓"), "good")
        head: list[str | Text] = [mark, label_of(cell), cell.workload, str(cell.round)]
        if not cell.valid:
            return [*head, Text("invalid", "alert"), "", "", "", ""]
        return [
            *head, f"{rate_text(rate(cell, unit), unit)} {unit}", latency_text(mean),
            latency_text(max(tails, default=None)), ratio_text(cell.write_amplification),
            glyphs().absent if cell.cpu_cores_used is None else f"{cell.cpu_cores_used:.2f}",
        ]  # fmt: skip


class DeviceRows(Rows):
    """Table rows of a cell's devices: the target first, then its members."""

    def __init__(self, cell: Cell | None) -> None:
        self._devices = cell.devices if cell else {}
        self.keys = sorted(self._devices, key=lambda name: (self._devices[name].role != "target", name))

    def cells(self, key: str) -> Sequence[str | Text]:
        use = self._devices[key]
        return [
            key, use.role, use.disk or glyphs().absent, mb_s_text(use.read_bytes), mb_s_text(use.written_bytes),
            _await(use.mean_read_await_ms), _await(use.mean_write_await_ms),
            glyphs().absent if (busy := use.mean_utilisation_percent) is None else f"{busy:.0f}",
            spark(use.series.get("util_percent", ()), 6, top=100.0),
        ]  # fmt: skip


def _await(ms: float | None) -> str:
    return latency_text(None if ms is None else ms * 1000)


def latency_series(cell: Cell) -> list[Series]:
    """Return mean, p99 and, if known, longest completion latency in ms, of the slowest direction."""
    found = []
    for name, field in (("mean", "mean_us"), ("p99", "p99_us"), ("max", "max_us")):
        points = [(sample.at_s, _slowest(sample, field)) for sample in cell.samples]
        # The longest latency of an interval is known only where it was the longest so far: a few points make no line.
        if 2 * sum(value is not None for _, value in points) > len(points):
            found.append(Series(name, points))
    return found


def device_series(cell: Cell, name: str) -> list[Series]:
    """Return MB/s read and written by one device."""
    use = cell.devices.get(name)
    found = []
    for words, key in (("read", "read_bytes_per_s"), ("write", "written_bytes_per_s")):
        values = use.series.get(key, []) if use else []
        points = [(at, None if v is None else v / 1e6) for at, v in zip(cell.device_at_s, values, strict=False)]
        if points:
            found.append(Series(words, points))
    return found


def _by_direction(cell: Cell, value: Callable[[Direction], float]) -> list[Series]:
    """Return one line for each direction that moved data."""
    found = []
    for name in ("read", "write", "trim"):
        given: list[tuple[float, Direction | None]] = [(sample.at_s, getattr(sample, name)) for sample in cell.samples]
        if any(direction is not None for _, direction in given):
            found.append(Series(name, [(at, None if d is None else value(d)) for at, d in given]))
    return found


def _slowest(sample: Sample, field: str) -> float | None:
    values = [us / 1000 for direction in sample.moved if (us := getattr(direction.latency, field)) is not None]
    return max(values, default=None)


CHARTS: tuple[tuple[str, str, str, Callable[[Cell], list[Series]]], ...] = (
    ("rate", "Throughput", " MB/s", lambda cell: _by_direction(cell, lambda found: found.bytes_per_s / 1e6)),
    ("iops", "IOPS", "", lambda cell: _by_direction(cell, lambda found: found.iops)),
    ("latency", "Latency", " ms", latency_series),
)
"""Charts of a cell: id, title, unit, and the function that makes their lines."""


def account_words(result: Result) -> dict[str, str]:
    """Return the account of each valid cell by id, except for bare disks."""
    one, cells = extract(result), {cell.id: cell for cell in result.cells}
    names = ({name: name for name in one.layouts}, {name: name for name in one.workloads})
    return {
        id_: signs(clean(cell_words(found, unit_of([cells[id_]])), 4096))
        for found in accounts([one], names[:1], names[1:])
        for id_ in found.cells
    }
