"""The frames of a run over its whole time: any moment of it, and each device's recent past, in bounded memory."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from raidtui.model.frame import IDLE, Frame, Frames, Use, use_between
from raidtui.tui.run.samples import thinned

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
            self._kept = thinned(self._kept, lambda kept: kept.frame.span_s or 0.0, _joined)

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
        threads=dict(state.threads),
    )


def _joined(a: Kept, b: Kept) -> Kept | None:
    """Return two frames as one; None if counters began anew or a device disappeared between them."""
    if a.frame.span_s is None or b.frame.span_s is None or a.frame.gone or b.frame.gone:
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
        threads=b.threads if b.whole else a.threads | b.threads,
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
