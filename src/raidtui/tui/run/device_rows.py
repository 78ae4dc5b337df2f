"""Rows of the devices of a run: columns, order below their arrays, values and states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from rich.text import Text

from raidtui.base.text import clean
from raidtui.model.event import CellStarted
from raidtui.model.frame import DeviceRates, Flow, Frames, Use
from raidtui.tui.run.shown_run import Moment
from raidtui.tui.run.tracks import FrameTrack
from raidtui.tui.widgets.glyphs import bar, bar_text, glyphs, spark_text
from raidtui.tui.widgets.table_line import Cell, Column
from raidtui.tui.widgets.table_view import Rows

DEVICE, ROLE, UTIL, HISTORY, TEMPERATURE = "device", "role", "util", "history", "celsius"
Figure = Callable[[DeviceRates], float | None]


class Choice(NamedTuple):
    """A column that can be shown."""

    column: Column
    figure: Figure | None = None
    """The value in a device's rates; None for a column that is not a plain number."""


def _number(key: str, title: str, help: str, figure: Figure) -> Choice:
    return Choice(Column(key, title, 7, "right", help), figure)


def _mb(flow: Flow | None) -> float | None:
    return None if flow is None else flow.bytes_per_s / 1e6


def _kb(flow: Flow | DeviceRates) -> float | None:
    return None if flow.request_bytes is None else flow.request_bytes / 1024


CHOICES: dict[str, Choice] = {
    choice.column.key: choice
    for choice in (
        Choice(Column(DEVICE, "Device", 14, "left", "Members stand below their array")),
        Choice(Column(ROLE, "Role", 7, "left", "What it is in the layout")),
        _number("r", "r/s", "Reads completed a second, after merging", lambda rates: rates.read.ios_per_s),
        _number("w", "w/s", "Writes completed a second, after merging", lambda rates: rates.write.ios_per_s),
        _number("rmb", "rMB/s", "10⁶ bytes read a second", lambda rates: _mb(rates.read)),
        _number("wmb", "wMB/s", "10⁶ bytes written a second", lambda rates: _mb(rates.write)),
        _number("r_await", "r_await", "Mean time of a read, queueing included, in ms; ! three times the siblings'",
                lambda rates: rates.read.await_ms),
        _number("w_await", "w_await", "Mean time of a write, queueing included, in ms; ! three times the siblings'",
                lambda rates: rates.write.await_ms),
        _number("areq", "areq-sz", "Mean size of a request in KiB", _kb),
        _number("aqu", "aqu-sz", "Mean number of requests waiting or served", lambda rates: rates.queue_length),
        Choice(Column(UTIL, "%util", 12, "left", "Share of the time with a request in flight; ! from 90 % on")),
        Choice(Column(HISTORY, "%util lately", 24, "left", "%util, one second a cell, the newest on the right")),
        _number("rrqm", "rrqm/s", "Reads merged a second", lambda rates: rates.read.merged_per_s),
        _number("wrqm", "wrqm/s", "Writes merged a second", lambda rates: rates.write.merged_per_s),
        _number("rareq", "rareq-sz", "Mean size of a read in KiB", lambda rates: _kb(rates.read)),
        _number("wareq", "wareq-sz", "Mean size of a write in KiB", lambda rates: _kb(rates.write)),
        _number("d", "d/s", "Discards a second", lambda rates: rates.discard.ios_per_s if rates.discard else None),
        _number("dmb", "dMB/s", "10⁶ bytes discarded a second", lambda rates: _mb(rates.discard)),
        _number("f", "f/s", "Flushes a second", lambda rates: rates.flushes_per_s),
        _number("f_await", "f_await", "Mean time of a flush in ms", lambda rates: rates.flush_await_ms),
        Choice(Column(TEMPERATURE, "°C", 4, "right", "Temperature, where the device tells it; ! at its own limit")),
    )
}  # fmt: skip
SMALL_CHOICE = (DEVICE, "r", "w", "rmb", "wmb", "r_await", "w_await", UTIL)
LARGE_CHOICE = (DEVICE, ROLE, "r", "w", "rmb", "wmb", "r_await", "w_await", "areq", "aqu", UTIL, HISTORY)


def number_text(value: float | None) -> str:
    """Return three or four significant digits, in at most seven cells."""
    if value is None:
        return glyphs().absent
    if value == 0:
        return "0"
    if value < 9.995:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    return f"{value:.0f}" if value < 999_999.5 else f"{value / 1e6:.2f}M"


_ODD_POINTS = 15.0
_ODD_SHARE = 0.35
_WORTH_COMPARING = 1e6


class Place(NamedTuple):
    """Position of a device in the list."""

    name: str
    role: str
    depth: int
    last: bool
    """True for the last device below its parent."""
    parent: str


SortKey = Callable[[str], tuple[float, str]]


def roots_and_children(cell: CellStarted) -> tuple[list[str], dict[str, list[str]]]:
    """Return the devices on which nothing stands, and the devices directly below each device."""
    names = list(cell.devices)
    children: dict[str, list[str]] = {}
    for name, parent in cell.parents.items():
        if parent in cell.devices and name in cell.devices:
            children.setdefault(parent, []).append(name)
    below = {name for names_below in children.values() for name in names_below}
    targets = [name for name in names if cell.devices[name] == "target"]
    if not children and len(targets) == 1:
        # Results and old journals do not say what stands on what, but there is only one way.
        return targets, {targets[0]: [name for name in names if name not in targets]}
    return [name for name in names if name not in below], children


def places(cell: CellStarted, sort: SortKey | None = None, wanted: Callable[[str, str], bool] | None = None) -> list[Place]:
    """Return the devices from the top of the layout down. Filtered devices stay only as parents of shown ones."""
    roots, children = roots_and_children(cell)
    seen: set[str] = set()
    found: list[Place] = []

    def add(names: Iterable[str], depth: int, parent: str) -> bool:
        ordered = [name for name in names if name not in seen]
        seen.update(ordered)
        if sort is not None:
            ordered.sort(key=sort)
        level: list[tuple[Place, list[Place]]] = []
        for name in ordered:
            place, at = Place(name, cell.devices.get(name, ""), depth, False, parent), len(found)
            kept = add(children.get(name, ()), depth + 1, name)
            below = found[at:]
            del found[at:]
            if kept or wanted is None or wanted(name, place.role):
                level.append((place, below))
        for index, (place, below) in enumerate(level):
            found.append(place._replace(last=index == len(level) - 1))
            found.extend(below)
        return bool(level)

    add(roots, 0, "")
    return found


def odd_ones(uses: Mapping[str, Use | None]) -> frozenset[str]:
    """Return members that do clearly more or less than the median one: a slow disk, or an uneven layout."""
    known = {name: use for name, use in uses.items() if use is not None}
    if len(known) < 2:
        return frozenset()
    odd: set[str] = set()
    utils = {name: use.util_percent for name, use in known.items() if use.util_percent is not None}
    if utils:
        middle = median(utils.values())
        apart = max(_ODD_POINTS, middle * _ODD_SHARE)
        odd |= {name for name, util in utils.items() if abs(util - middle) > apart}
    middle = median(use.bytes_per_s for use in known.values())
    most = max(use.bytes_per_s for use in known.values())
    if most >= _WORTH_COMPARING:
        odd |= {name for name, use in known.items() if abs(use.bytes_per_s - middle) > max(most, middle) * _ODD_SHARE}
    return frozenset(odd)


def late_ones(awaits: Mapping[str, float]) -> frozenset[str]:
    """Return members whose latency is an outlier: three times the median of at least three."""
    if len(awaits) < _FEWEST_SIBLINGS:
        return frozenset()
    middle = median(awaits.values())
    return frozenset(name for name, value in awaits.items() if value >= _LATE_TIMES * middle)


_BAR_WIDTH = 7
_NOT_A_DISK = ("loop", "ram", "zram", "sr", "fd")
_AWAITS = {"r_await": "r", "w_await": "w"}
"""Columns of latencies, and of the rates that they are means of."""
_LEAST_PER_S = 10.0
"""Operations per second from which on a device's latency is compared with its siblings'."""
FULL_PERCENT = 90.0
"""Utilisation from which on a device may be what limits."""
HOT_C = 70.0
"""Limit of a device that does not name its own."""
_LATE_TIMES = 3.0
"""So many times the median of the siblings, a member's latency is an outlier."""
_FEWEST_SIBLINGS = 3
_FIGURES = {column: choice.figure for column, choice in CHOICES.items() if choice.figure is not None}


def too_hot(frames: Frames, name: str) -> bool:
    """Return True if a device's temperature is at its own limit, or at 70 °C where it names none."""
    celsius = frames.temperatures_c.get(name)
    return celsius is not None and celsius >= frames.temperature_limits_c.get(name, HOT_C)


class DeviceRows(Rows):
    """`Rows` of a live table; `take` says which moment of which run it shows."""

    def __init__(self) -> None:
        self.columns: tuple[str, ...] = ()
        self.history_width = 0
        """Cells of the column with each device's past."""
        self.sort: str | None = None
        self.descending = True
        self.filter = ""
        self.every_device = False
        """True if devices without relation to the cell are listed, too."""
        self.keys: Sequence[str] = ()
        self._track = FrameTrack()
        self._moment: Moment | None = None
        self._places: dict[str, Place] = {}
        self._members: dict[str, list[str]] = {}
        self._ordered_by: object = None
        self._odd: dict[str, frozenset[str]] = {}
        self._odd_of: object = None
        self._rates: dict[str, DeviceRates | None] = {}
        self._late: dict[str, dict[str, frozenset[str]]] = {}
        """Members whose latency is an outlier, by column and parent."""
        self._cells: dict[str, list[str | Text | Cell]] = {}
        self._sparks: dict[str, tuple[int, str]] = {}
        """Number of the newest frame in a device's history, and the drawn history, by device."""
        self._sparks_of: object = None

    def take(self, track: FrameTrack, moment: Moment) -> None:
        """Show this moment, and forget values of another one."""
        self._track, self._moment = track, moment
        self._rates, self._cells, self._late = {}, {}, {}
        odd_of = (id(track), moment.at_s if moment.past else track.stretch)
        if odd_of != self._odd_of:
            self._odd, self._odd_of = {}, odd_of
        if (sparks_of := (id(track), self.history_width)) != self._sparks_of:
            self._sparks, self._sparks_of = {}, sparks_of
        self._order(moment)

    def cells(self, key: str) -> Sequence[str | Text | Cell]:
        if (known := self._cells.get(key)) is None:
            rates = self._rates_of(key)
            known = self._cells[key] = [
                number_text(figure(rates)) if rates is not None and figure is not None else self._cell(key, column, rates)
                for column, figure in zip(self.columns, map(_FIGURES.get, self.columns), strict=True)
            ]
            for column in self._late_of(key):
                if column in self.columns:
                    at = self.columns.index(column)
                    known[at] = Cell(f"{known[at]}!", "warn")
        return known

    def state(self, key: str) -> str:
        """Return the state of the row: lost, unlike its siblings, or no longer part of this cell."""
        if self._lost(key):
            return "alert"
        if self._moment is not None and key not in self._moment.frames.devices:
            return "dim"
        return "warn" if self._apart(key) else ""

    def _order(self, moment: Moment) -> None:
        """Order the rows anew if anything that their order depends on changed."""
        cell = moment.cell
        others = cell is None or self.every_device
        by = (cell, self.sort, self.descending, self.filter, self.every_device,
              tuple(moment.frames.devices) if others else None)  # fmt: skip
        if self.sort is None and by == self._ordered_by:
            return
        sort = self._value if self.sort is not None else None
        wanted = self._wanted if self.filter else None
        found = [] if cell is None else places(cell, sort, wanted)
        if others:
            listed = {place.name for place in found}
            rest = [name for name in moment.frames.devices if name not in listed and not name.startswith(_NOT_A_DISK)]
            rest = rest if wanted is None else [name for name in rest if wanted(name, "")]
            found += [Place(name, "", 0, False, "") for name in (rest if sort is None else sorted(rest, key=sort))]
        self._places = {place.name: place for place in found}
        self._members = {}
        for place in found:
            if place.parent and place.role == "member":
                self._members.setdefault(place.parent, []).append(place.name)
        self.keys = [place.name for place in found]
        self._ordered_by = by

    def _wanted(self, name: str, role: str) -> bool:
        return all(word in f"{name} {role}".lower() for word in self.filter.lower().split())

    def _value(self, name: str) -> tuple[float, str]:
        """Return the sort key of a device; devices without a value come last."""
        sign = -1.0 if self.descending else 1.0
        value = self._figure(name, self.sort or "")
        return (float("inf"), name) if value is None else (sign * value, name)

    def _figure(self, name: str, column: str) -> float | None:
        if column == TEMPERATURE:
            return self._moment.frames.temperatures_c.get(name) if self._moment else None
        rates = self._rates_of(name)
        if rates is None:
            return None
        if column in (UTIL, HISTORY):
            return rates.util_percent
        choice = CHOICES.get(column)
        return None if choice is None or choice.figure is None else choice.figure(rates)

    def _rates_of(self, name: str) -> DeviceRates | None:
        if name not in self._rates:
            self._rates[name] = self._moment.frames.rates(name) if self._moment else None
        return self._rates[name]

    def _cell(self, name: str, column: str, rates: DeviceRates | None) -> str | Text | Cell:
        if column in _FIGURES:
            return glyphs().absent
        if column == DEVICE:
            return self._name(name)
        if column == ROLE:
            return "gone" if self._lost(name) else clean(self._places[name].role, 20)
        if column == TEMPERATURE:
            celsius = self._figure(name, TEMPERATURE)
            if celsius is None or self._moment is None:
                return glyphs().absent
            return Cell(f"{celsius:.0f}!", "warn") if too_hot(self._moment.frames, name) else f"{celsius:.0f}"
        if column == HISTORY:
            return self._spark(name)
        if rates is None or rates.util_percent is None:
            return bar(None, _BAR_WIDTH)
        percent = rates.util_percent
        text = f"{bar_text(percent, _BAR_WIDTH)}{min(percent, 100):4.0f}"
        return Cell(f"{text}!", "warn") if percent >= FULL_PERCENT else Cell(text, "", ((0, _BAR_WIDTH, "accent"),))

    def _late_of(self, name: str) -> frozenset[str]:
        """Return the columns in which a member's latency is an outlier among its siblings."""
        place = self._places[name]
        members = self._members.get(place.parent, ())
        measured = self._moment is not None and self._moment.view.cell is not None
        if place.role != "member" or len(members) < _FEWEST_SIBLINGS or not measured:
            return frozenset()
        if place.parent not in self._late:
            self._late[place.parent] = {column: late_ones(self._awaits(members, column)) for column in _AWAITS}
        return frozenset(column for column, late in self._late[place.parent].items() if name in late)

    def _awaits(self, members: Iterable[str], column: str) -> dict[str, float]:
        """Return the latencies of the members that have done enough for a mean."""
        known = {name: self._figure(name, column) for name in members
                 if (self._figure(name, _AWAITS[column]) or 0) >= _LEAST_PER_S}  # fmt: skip
        return {name: value for name, value in known.items() if value is not None}

    def _name(self, name: str) -> str:
        place, known = self._places[name], glyphs()
        indent = "  " * (place.depth - 1) + (known.last_branch if place.last else known.branch) if place.depth else ""
        mark = f" {known.bad}" if self._lost(name) else f" {known.odd}" if self._apart(name) else ""
        return f"{indent}{clean(name, 60)}{mark}"

    def _spark(self, name: str) -> Cell:
        """Return the drawn history. While the newest moment is followed, only new frames are added to it."""
        moment, width = self._moment, self.history_width
        if moment is not None and moment.past:
            return Cell(spark_text(_utils(self._track.history(name, width, moment.at_s)), 100.0).rjust(width), "accent")
        newest = self._track.count
        drawn_to, text = self._sparks.get(name, (0, ""))
        if drawn_to < newest:
            new = self._track.history(name, min(width, newest - drawn_to))
            text = (text + spark_text(_utils(new), 100.0))[-width:].rjust(width)
            self._sparks[name] = (newest, text)
        return Cell(text, "accent")

    def _lost(self, name: str) -> bool:
        """Return True if a device of the running cell is missing."""
        moment = self._moment
        if moment is None or moment.view.cell is None or name not in moment.view.cell.devices or not moment.frames.devices:
            return False
        return name not in moment.frames.devices

    def _apart(self, name: str) -> bool:
        """Return True if a member does clearly more or less than its siblings."""
        place = self._places[name]
        if place.role != "member" or not place.parent or self._moment is None or self._moment.view.cell is None:
            return False
        if place.parent not in self._odd:
            until_s = self._moment.at_s if self._moment.past else None
            members = self._members.get(place.parent, ())
            self._odd[place.parent] = odd_ones({member: self._track.lately(member, until_s) for member in members})
        return name in self._odd[place.parent]


def _utils(uses: Iterable[Use | None]) -> Iterator[float | None]:
    return (None if use is None else use.util_percent for use in uses)
