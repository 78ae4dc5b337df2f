"""How a run is told in single lines: live numbers, verdicts, endings. Shared by every printer; pure."""

from __future__ import annotations

from raidtui.base.text import clean, plural
from raidtui.front.progress import RunView
from raidtui.model.event import RunFinished
from raidtui.model.measure import Direction, Sample
from raidtui.model.problem import Exit
from raidtui.model.result import Cell
from raidtui.results.compare import directions, rate, unit_of
from raidtui.results.numbers import iops_text, latency_text, mb_s_text, rate_text


def step_line(view: RunView) -> str:
    """What is being done, and for a measurement which cell of how many."""
    title = clean(view.step.title) if view.step else "starting"
    return f"{cell_count(view)}{title}"


def cell_count(view: RunView) -> str:
    return f"cell {view.cell.number} of {view.cell.of}: " if view.cell else ""


def sample_line(sample: Sample) -> str:
    """`12,345 IOPS, 50.6 MB/s, mean 1.30 ms, p99 4.20 ms`; a mix names both directions."""
    parts = [(name, d) for name, d in (("read", sample.read), ("write", sample.write), ("trim", sample.trim)) if d]
    if not parts:
        return "no I/O"
    if len(parts) == 1:
        return _direction(parts[0][1])
    return " · ".join(f"{name} {_direction(direction)}" for name, direction in parts)


def _direction(direction: Direction) -> str:
    latency = direction.latency
    parts = [f"{iops_text(direction.iops)} IOPS", f"{mb_s_text(direction.bytes_per_s)} MB/s"]
    if latency.mean_us is not None:
        parts.append(f"mean {latency_text(latency.mean_us)}")
    if latency.p99_us is not None:
        parts.append(f"p99 {latency_text(latency.p99_us)}")
    return ", ".join(parts)


def verdict_line(cell: Cell) -> str:
    """One finished cell: its number where it is valid, the reasons where it is not."""
    head = f"{'✓' if cell.valid else '✗'} {clean(cell.id)}: "
    if not cell.valid:
        return head + "INVALID: " + "; ".join(clean(reason) for reason in cell.reasons or ("no reason was given",))
    unit = unit_of([cell])
    parts = [f"{rate_text(rate(cell, unit), unit)} {unit}"]
    means = [d.latency.mean_us for d in directions(cell.summary) if d.latency.mean_us is not None]
    tails = [d.latency.p99_us for d in directions(cell.summary) if d.latency.p99_us is not None]
    if len(means) == 1:
        parts.append(f"mean {latency_text(means[0])}")
    if tails:
        parts.append(f"p99 {latency_text(max(tails))}")
    if cell.summary and cell.summary.sync and cell.summary.sync.latency.mean_us is not None:
        parts.append(f"sync {latency_text(cell.summary.sync.latency.mean_us)}")
    return head + ", ".join(parts)


_ENDINGS = {
    Exit.DONE: "done: every cell is valid",
    Exit.REFUSED: "refused: nothing was touched",
    Exit.BUILD_FAILED: "a layout could not be built; the disks are as they were found",
    Exit.INVALID: "measured, but not every cell is valid",
    Exit.LEFT_BEHIND: "something could not be taken down: `raidtui recover` undoes it",
    Exit.CANCELLED: "cancelled; the disks are as they were found",
}


def ending_line(view: RunView, finished: RunFinished) -> str:
    """How the run ended."""
    known = finished.exit in set(Exit)
    words = _ENDINGS.get(Exit(finished.exit)) if known else None
    invalid = sum(not cell.valid for cell in view.cells)
    cells = plural(len(view.cells), "cell") + (f", {invalid} invalid" if invalid else "")
    return f"run {clean(view.run)} {words or 'ended: ' + clean(finished.outcome)} ({cells})"
