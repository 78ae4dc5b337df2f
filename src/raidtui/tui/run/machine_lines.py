"""Other activity of the server: cores, kernel threads, arrays, temperatures. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from raidtui.base.text import clean
from raidtui.model.frame import Frames, MdState
from raidtui.model.units import size_text
from raidtui.tui.run.signs import signs
from raidtui.tui.run.story import Moment
from raidtui.tui.widgets.cells import bar, spark

_CORE_WIDTH = 24
_MOST_BARS = 16
"""Cores above that are drawn one cell each."""
_MOST_THREADS = 8
_BUSY_PERCENT = 0.05
_HOT_C = 70.0


def machine_lines(moment: Moment, width: int) -> list[Text]:
    """Arrays first: what they say decides whether a number is one."""
    frames = moment.frames
    parts = [
        _arrays(frames, width),
        _caches(frames, width),
        _cores(frames, width),
        _temperatures(moment, width),
        _threads(frames, width),
    ]
    lines: list[Text] = []
    for part in map(list, parts):
        if part and lines:
            lines.append(Text())
        lines += part
    return lines


def _arrays(frames: Frames, width: int) -> Iterator[Text]:
    if not frames.md:
        return
    yield Text("Arrays", style="strong")
    for name, state in frames.md.items():
        yield _array(name, state, width)


def _array(name: str, state: MdState, width: int) -> Text:
    line = Text(no_wrap=True)
    line.append(f"{clean(name, 20):<8} ")
    at_work = state.action not in (None, "idle")
    if not at_work:
        line.append(clean(state.array_state or "gone", 20)).append("  ")
    if state.degraded:
        line.append(f"{signs().bad} {state.degraded} missing  ", "alert")
    if at_work:
        line.append(f"{clean(state.action, 20)}", "warn")
        if state.done_sectors is not None and state.total_sectors:
            share = 100 * state.done_sectors / state.total_sectors
            line.append(f" {share:.1f} % ", "warn")
            line.append_text(bar(share, max(4, min(20, width - len(line))), "warn"))
    return line


def _caches(frames: Frames, width: int) -> Iterator[Text]:
    """Return hits of a cache since the previous frame, and its fill level."""
    # ZFS has its ARC as soon as its module is loaded, whether or not a pool is there.
    asked = {name: state for name, state in frames.caches.items() if name != "arc" or state.hits + state.misses}
    if not asked:
        return
    yield Text.assemble(("Caches", "strong"), ("  reads found", "dim"))
    for name, state in asked.items():
        hits = frames.hit_percent(name)
        line = Text(f"{clean(name, 20):<8} ", no_wrap=True).append("   no reads" if hits is None else f"{hits:9.1f} %")
        for size, words in ((state.size_bytes, ""), (state.target_bytes, "of "), (state.dirty_bytes, "dirty ")):
            if size is not None:
                line.append(f"  {words}{size_text(size)}", "dim" if words != "dirty " or not size else "warn")
        line.truncate(max(0, width))
        yield line


def _cores(frames: Frames, width: int) -> Iterator[Text]:
    busy = {name: rates.busy for name in frames.cpus if (rates := frames.cpu_rates(name)) is not None}
    if not busy:
        return
    head = Text.assemble(("CPU", "strong"), no_wrap=True)
    head.append(f"  {sum(busy.values()) / 100:.1f} of {len(frames.cpus)} cores busy", "dim")
    yield head
    if len(busy) > _MOST_BARS:
        levels = list(busy.values())
        for first in range(0, len(levels), width):
            yield spark(levels[first : first + width], min(width, len(levels) - first), top=100.0, style="accent")
        return
    columns = max(1, min(len(busy), width // _CORE_WIDTH))
    each = width // columns
    names = sorted(busy, key=lambda name: (len(name), name))
    rows = -(-len(names) // columns)
    for row in range(rows):
        line = Text(no_wrap=True)
        for name in names[row::rows]:
            line.append(f"{clean(name, 6).removeprefix('cpu'):>3} ")
            line.append_text(bar(busy[name], max(4, min(30, each - 10)), "accent"))
            line.append(f"{busy[name]:4.0f}  ")
        yield line


def _threads(frames: Frames, width: int) -> Iterator[Text]:
    """Last, since there are more of them in one second than in the next."""
    known = frames.thread_rates()
    if not known:
        return
    yield Text.assemble(("Kernel threads", "strong"), ("  % of a core", "dim"))
    busy = sorted(((percent, name) for name, percent in known.items() if percent >= _BUSY_PERCENT), reverse=True)
    if not busy:
        yield Text("all idle", style="dim")
    name_width = max(8, min(24, width - 20))
    for percent, name in busy[:_MOST_THREADS]:
        line = Text(f"{clean(name, name_width):<{name_width}} ", no_wrap=True)
        line.append_text(bar(percent, max(4, min(20, width - name_width - 8)), "accent"))
        yield line.append(f"{percent:6.1f}")


def _temperatures(moment: Moment, width: int) -> Iterator[Text]:
    of = moment.cell.devices if moment.cell else moment.frames.temperatures_c
    known = {name: celsius for name, celsius in moment.frames.temperatures_c.items() if name in of}
    if not known:
        return
    yield Text.assemble(("Temperatures", "strong"), (f"  {signs().degree}", "dim"))
    each = max(len(clean(name, 20)) for name in known) + 6
    columns = max(1, width // each)
    hottest = sorted(known, key=lambda name: (-known[name], name))
    for first in range(0, len(hottest), columns):
        line = Text(no_wrap=True)
        for name in hottest[first : first + columns]:
            line.append(f"{clean(name, 20):<{each - 6}}", "dim").append(f"{known[name]:4.0f}  ", _heat(known[name]))
        yield line


def _heat(celsius: float) -> str:
    return "warn" if celsius >= _HOT_C else ""
