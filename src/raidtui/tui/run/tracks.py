"""Samples and frames of a run over its whole time: points of charts, and any moment of it, in bounded memory."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import msgspec

from raidtui.model.event import WorkloadSampled
from raidtui.model.frame import IDLE, Frame, Frames, Use, use_between
from raidtui.model.hosts import HostLoad
from raidtui.model.measure import Sample

T = TypeVar("T")
_FREED = 8
"""At least so many parts of the whole are freed at once: thinning out is rare."""


def thinned(items: list[T], span_s: Callable[[T], float], joined: Callable[[T, T], T | None]) -> list[T]:
    """Return the items with neighbours of the older half joined, the shortest first. `joined` may refuse a pair (None)."""
    half = len(items) // 2
    older, newer = items[:half], items[half:]
    goal = half - len(items) // _FREED
    longest_s = 2 * min(map(span_s, older), default=0.0) or 1.0
    total_s = sum(map(span_s, older))
    while len(older) > goal and longest_s <= 2 * total_s:
        older = _pairs(older, span_s, joined, longest_s, len(older) - goal)
        longest_s *= 2
    return [*(older if len(older) <= goal else older[len(older) - goal :]), *newer]


def _pairs(
    items: list[T], span_s: Callable[[T], float], joined: Callable[[T, T], T | None], longest_s: float, most: int
) -> list[T]:
    """Join neighbours that together are at most `longest_s` long, at most `most` times, from the oldest on."""
    found: list[T] = []
    index = 0
    while index < len(items):
        item = items[index]
        index += 1
        if most and index < len(items) and span_s(item) + span_s(items[index]) <= longest_s * 1.2:
            both = joined(item, items[index])
            if both is not None:
                item = both
                index += 1
                most -= 1
        found.append(item)
    return found


MOST_SAMPLES = 14_400
"""Above that, neighbours in the older half become one."""


_RATES = ("read_iops", "write_iops", "read_bytes_per_s", "write_bytes_per_s", "mean_us")
_TAILS = ("p99_us", "max_us")
FIGURES = (*_RATES, *_TAILS)


class Point(NamedTuple):
    """One sample as the charts draw it."""

    at_s: float
    """Second of the run."""
    seq: int
    cell: str
    span_s: float
    values: tuple[float | None, ...]
    """Values of `FIGURES`; None in a direction without I/O."""
    prefill: bool
    sample: Sample
    """The last one, in a point that stands for several."""


Line = list[tuple[float, float | None]]
"""Second of the run and value; None between two cells, where a chart's line ends."""


class SampleTrack:
    """Samples of a run as points of charts, taken in order."""

    def __init__(self, most: int = MOST_SAMPLES) -> None:
        self._most = most
        self._points: list[Point] = []
        self.count = 0
        """Number of samples taken."""
        self.lines: dict[str, Line] = {figure: [] for figure in FIGURES}
        """Series of the charts, by the name of a point's figure."""

    def take(self, at_s: float, seq: int, event: WorkloadSampled) -> None:
        self.count += 1
        self._points.append(_point(at_s, seq, event))
        if len(self._points) > self._most:
            self._points = thinned(self._points, lambda point: point.span_s, _joined_points)
            self.lines = {figure: [] for figure in FIGURES}
            for index in range(len(self._points)):
                self._draw(index)
        else:
            self._draw(len(self._points) - 1)

    def pause(self) -> None:
        """End the lines: nothing is measured any more."""
        for line in self.lines.values():
            if line and line[-1][1] is not None:
                line.append((line[-1][0], None))

    def latest(self, at_s: float) -> Point | None:
        """Return the last sample at or before a second of the run."""
        index = bisect_right(self._points, at_s, key=lambda point: point.at_s)
        return self._points[index - 1] if index else None

    def _draw(self, index: int) -> None:
        point = self._points[index]
        before = self._points[index - 1] if index else None
        parted = before is not None and (before.cell != point.cell or before.prefill != point.prefill)
        for value, line in zip(point.values, self.lines.values(), strict=True):
            if before is not None and parted:
                line.append((before.at_s, None))
            if value is not None or (line and line[-1][1] is not None):
                line.append((point.at_s, value))


def _point(at_s: float, seq: int, event: WorkloadSampled) -> Point:
    sample = event.sample
    written = [direction for direction in (sample.write, sample.trim) if direction is not None]
    means = [(d.latency.mean_us, d.iops) for d in sample.moved if d.latency.mean_us is not None]
    weight = sum(iops for _, iops in means)
    values = (
        sample.read.iops if sample.read else None,
        sum(d.iops for d in written) if written else None,
        sample.read.bytes_per_s if sample.read else None,
        sum(d.bytes_per_s for d in written) if written else None,
        sum(mean * iops for mean, iops in means) / weight if weight else None,
        _worst(d.latency.p99_us for d in sample.moved),
        _worst(d.latency.max_us for d in sample.moved),
    )
    return Point(at_s, seq, event.cell, sample.span_s, values, event.prefill, sample)


def _worst(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _joined_points(a: Point, b: Point) -> Point | None:
    """Return two points of one cell as one, with the mean of rates and the worst of tails; None for two cells."""
    if a.cell != b.cell or a.prefill != b.prefill:
        return None
    span_s = a.span_s + b.span_s

    def mean(x: float | None, y: float | None) -> float | None:
        if x is None or y is None or span_s <= 0:
            return y if x is None else x
        return (x * a.span_s + y * b.span_s) / span_s

    pairs = list(zip(a.values, b.values, strict=True))
    rates, tails = pairs[: len(_RATES)], pairs[len(_RATES) :]
    return b._replace(span_s=span_s, values=(*(mean(x, y) for x, y in rates), *map(_worst, tails)))


MOST_LOADS = 7200
"""Above that, the oldest quarter of a host's goes."""
_LATE_S = 5.0
"""After so long the last word of a host is no longer its present activity."""


class HostTrack:
    """Activity of each host that loads a cell, taken in order."""

    def __init__(self, most: int = MOST_LOADS) -> None:
        self._most = most
        self._loads: dict[str, list[tuple[float, HostLoad]]] = {}
        self.count = 0
        """Number of loads taken."""

    def take(self, at_s: float, host: str, load: HostLoad) -> None:
        self.count += 1
        loads = self._loads.setdefault(host, [])
        loads.append((at_s, load))
        if len(loads) > self._most:
            del loads[: self._most // 4]

    def at(self, host: str, at_s: float) -> HostLoad | None:
        """Return the activity at a second of the run; None while it tells nothing."""
        return found[-1] if (found := self.until(host, at_s, 1)) else None

    def until(self, host: str, at_s: float, count: int) -> list[HostLoad]:
        """Return the latest `count` before a second of the run, oldest first; empty if the newest is long ago."""
        loads = self._loads.get(host, [])
        last = bisect_right(loads, at_s, key=lambda one: one[0])
        late = not last or at_s - loads[last - 1][0] > _LATE_S
        return [] if late else [load for _, load in loads[max(0, last - count) : last]]


MOST_FRAMES = 7200
"""Above that, neighbours of the older half become one: what is long ago is kept in less detail."""
WHOLE_EVERY = 30
"""Most frames that have to be joined to know a moment."""
HISTORY = 120
"""Frames of a device's recent past."""
STRETCH = 5
"""Frames over which members of an array are compared."""


class Kept(NamedTuple):
    """One frame of the track, with its second of the run and the number of its record."""

    at_s: float
    seq: int
    frame: Frame


Uses = list[Use | None]
_Stretch = tuple[dict[str, str], dict[str, str], float]
"""Counters of all devices at the beginning and end of a few frames, and the seconds between."""


class _Recent:
    """A device's history as far as it was read."""

    __slots__ = ("read_to", "text", "uses")

    def __init__(self) -> None:
        self.read_to = 0
        """Number of the newest frame that was read, counted from 1."""
        self.text: str | None = None
        """Its counters after that frame."""
        self.uses: deque[Use | None] = deque(maxlen=HISTORY)


class FrameTrack:
    """Takes frames in order. A device's activity is computed only when it is asked for."""

    def __init__(self, most: int = MOST_FRAMES) -> None:
        self.now = Frames()
        self._most = most
        self._kept: list[Kept] = []
        self.count = 0
        """Number of frames taken."""
        self._since_whole = 0
        self._recent: dict[str, _Recent] = {}
        self.stretch = 0
        """Counts up whenever `lately` has news: every few frames."""
        self._stretch_s = 0.0
        self._lately: _Stretch = ({}, {}, 0.0)
        self._past: _Stretch = ({}, {}, 0.0)
        self._past_index = -1

    def take(self, at_s: float, seq: int, frame: Frame) -> None:
        self.now.apply(frame)
        self.count += 1
        self._stretch_s = self._stretch_s + frame.span_s if frame.span_s is not None else 0.0
        if self.count % STRETCH == 0:
            self._lately = (self._lately[1], dict(self.now.devices), self._stretch_s)
            self._stretch_s = 0.0
            self.stretch += 1
        self._since_whole = 0 if _begins(frame) else self._since_whole + 1
        if self._since_whole >= WHOLE_EVERY or frame.whole:
            # A whole frame of the sampler has every counter, but only those temperatures that are new.
            frame = _completed(frame, self.now)
            self._since_whole = 0
        self._kept.append(Kept(at_s, seq, frame))
        if len(self._kept) > self._most:
            self._past_index = -1
            self._kept = thinned(self._kept, lambda kept: kept.frame.span_s or 0.0, _joined_frames)

    def at(self, at_s: float) -> tuple[Frames, float, int]:
        """Return the state at a second of the run, and second and number of its record (0: there is none)."""
        last = self._index(at_s)
        state = Frames()
        for kept in self._kept[self._beginning(last) : last + 1]:
            state.apply(kept.frame)
        return (state, self._kept[last].at_s, self._kept[last].seq) if last >= 0 else (state, 0.0, 0)

    def history(self, name: str, count: int, until_s: float | None = None) -> Uses:
        """Return a device's activity in the last `count` frames (at most `HISTORY`), oldest first; None if unknown."""
        if until_s is not None:
            last = self._index(until_s)
            first = self._beginning(last - count)
            return [use for use, _ in _uses(name, None, (kept.frame for kept in self._kept[first : last + 1]))][-count:]
        recent = self._recent.setdefault(name, _Recent())
        self._catch_up(name, recent)
        uses = recent.uses
        return list(uses) if len(uses) <= count else [uses[index] for index in range(len(uses) - count, len(uses))]

    def lately(self, name: str, until_s: float | None = None) -> Use | None:
        """Return a device's activity over the latest few frames together, or over those before a second of the run."""
        before, after, span_s = self._lately if until_s is None else self._lately_at(until_s)
        was, now = before.get(name), after.get(name)
        if was is None or now is None:
            return None
        return IDLE if was is now else use_between(was, now, span_s)

    def _lately_at(self, until_s: float) -> _Stretch:
        last = self._index(until_s)
        if last != self._past_index and last >= STRETCH:
            first_s, last_s = self._kept[last - STRETCH].at_s, self._kept[last].at_s
            self._past = (self.at(first_s)[0].devices, self.at(last_s)[0].devices, last_s - first_s)
        elif last < STRETCH:
            self._past = ({}, {}, 0.0)
        self._past_index = last
        return self._past

    def _catch_up(self, name: str, recent: _Recent) -> None:
        missing = self.count - recent.read_to
        if not missing:
            return
        last = len(self._kept) - 1
        if recent.read_to == 0 or missing > HISTORY:
            recent.text = None
            first = self._beginning(last - HISTORY)
        else:
            first = last - missing + 1
        for use, text in _uses(name, recent.text, (kept.frame for kept in self._kept[first:])):
            recent.uses.append(use)
            recent.text = text
        recent.read_to = self.count

    def _index(self, at_s: float) -> int:
        """Return the index of the last frame at or before a second of the run; -1 if there is none."""
        return bisect_right(self._kept, at_s, key=lambda kept: kept.at_s) - 1

    def _beginning(self, index: int) -> int:
        """Return the nearest frame before this one from which the whole state can be joined."""
        first = max(0, index - 1)
        while first > 0 and not _begins(self._kept[first].frame):
            first -= 1
        return first


def _begins(frame: Frame) -> bool:
    return frame.whole or frame.span_s is None


def _completed(frame: Frame, state: Frames) -> Frame:
    """Return the frame with every device in it; `state` is the state after it."""
    return msgspec.structs.replace(
        frame,
        whole=True,
        devices=dict(state.devices),
        cpus=dict(state.cpus),
        temperatures_c=dict(state.temperatures_c),
        temperature_limits_c=dict(state.temperature_limits_c),
        threads=dict(state.threads),
        networks=dict(state.networks),
    )


def _joined_frames(a: Kept, b: Kept) -> Kept | None:
    """Return two frames as one; None if counters began anew or a device or interface disappeared between them."""
    if a.frame.span_s is None or b.frame.span_s is None or a.frame.gone or b.frame.gone:
        return None
    if "" in a.frame.networks.values() or "" in b.frame.networks.values():
        return None
    return b._replace(frame=_sum(a.frame, b.frame))


def _sum(a: Frame, b: Frame) -> Frame:
    """Return one frame that spans both. Counters only count up, so the later values stand."""
    return msgspec.structs.replace(
        b,
        span_s=(a.span_s or 0.0) + (b.span_s or 0.0),
        whole=a.whole or b.whole,
        devices=b.devices if b.whole else a.devices | b.devices,
        cpus=b.cpus if b.whole else a.cpus | b.cpus,
        temperatures_c=a.temperatures_c | b.temperatures_c,
        temperature_limits_c=a.temperature_limits_c | b.temperature_limits_c,
        threads=b.threads if b.whole else a.threads | b.threads,
        networks=b.networks if b.whole else a.networks | b.networks,
    )


def _uses(name: str, text: str | None, frames: Iterable[Frame]) -> Iterator[tuple[Use | None, str | None]]:
    """Yield a device's activity in each frame and its counters' text after it; `text` is that before the first."""
    for frame in frames:
        if frame.span_s is None or name in frame.gone:
            text = frame.devices.get(name)
            yield None, text
            continue
        after = frame.devices.get(name, None if frame.whole else text)
        if after is None or text is None:
            yield None, after
        elif after is text:
            yield IDLE, text
        else:
            yield use_between(text, after, frame.span_s), after
        text = after
