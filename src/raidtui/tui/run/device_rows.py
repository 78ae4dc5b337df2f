"""The device table's rows: figures are worked out only for rows that are in view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from raidtui.base.text import clean
from raidtui.model.frame import DeviceRates
from raidtui.tui.run.device_columns import CHOICES, DEVICE, HISTORY, ROLE, TEMPERATURE, UTIL, number_text
from raidtui.tui.run.device_tree import Place, odd_ones, places, plain_places
from raidtui.tui.run.frame_track import FrameTrack, Use
from raidtui.tui.run.signs import signs
from raidtui.tui.run.story import Moment
from raidtui.tui.widgets.cells import absent, bar, bar_text, spark_text
from raidtui.tui.widgets.table_line import Cell

_BAR_WIDTH = 7
_NOT_A_DISK = ("loop", "ram", "zram", "sr", "fd")
_FIGURES = {column: choice.figure for column, choice in CHOICES.items() if choice.figure is not None}


class DeviceRows:
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
        self._cells: dict[str, list[str | Text | Cell]] = {}
        self._sparks: dict[str, tuple[int, str]] = {}
        """Number of the newest frame in a device's history, and the drawn history, by device."""
        self._sparks_of: object = None

    def take(self, track: FrameTrack, moment: Moment) -> None:
        """Show this moment. What was worked out for another one is forgotten."""
        self._track, self._moment = track, moment
        self._rates, self._cells = {}, {}
        odd_of = (id(track), moment.at_s if moment.past else track.stretch)
        if odd_of != self._odd_of:
            self._odd, self._odd_of = {}, odd_of
        if (sparks_of := (id(track), self.history_width)) != self._sparks_of:
            self._sparks, self._sparks_of = {}, sparks_of
        self._order(moment)

    def cells(self, key: str) -> Sequence[str | Text | Cell]:
        """One device, in the order of the columns."""
        if (known := self._cells.get(key)) is None:
            rates = self._rates_of(key)
            known = self._cells[key] = [
                number_text(figure(rates)) if rates is not None and figure is not None else self._cell(key, column, rates)
                for column, figure in zip(self.columns, map(_FIGURES.get, self.columns), strict=True)
            ]
        return known

    def state(self, key: str) -> str:
        """Return the state of the row: lost, unlike its siblings, or no longer part of this cell."""
        if self._lost(key):
            return "alert"
        if self._moment is not None and key not in self._moment.frames.devices:
            return "dim"
        return "warn" if self._apart(key) else ""

    # Order.

    def _order(self, moment: Moment) -> None:
        """The rows anew, where what they are ordered by is not what it was."""
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
            found += plain_places(rest, sort, wanted)
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

    # Figures.

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
            return absent()
        if column == DEVICE:
            return self._name(name)
        if column == ROLE:
            return "gone" if self._lost(name) else clean(self._places[name].role, 20)
        if column == TEMPERATURE:
            celsius = self._figure(name, TEMPERATURE)
            return absent() if celsius is None else f"{celsius:.0f}"
        if column == HISTORY:
            return self._spark(name)
        if rates is None or rates.util_percent is None:
            return bar(None, _BAR_WIDTH)
        percent = rates.util_percent
        return Cell(f"{bar_text(percent, _BAR_WIDTH)}{min(percent, 100):4.0f}", "", ((0, _BAR_WIDTH, "accent"),))

    def _name(self, name: str) -> str:
        place, known = self._places[name], signs()
        indent = "  " * (place.depth - 1) + (known.last_branch if place.last else known.branch) if place.depth else ""
        mark = f" {known.bad}" if self._lost(name) else f" {known.odd}" if self._apart(name) else ""
        return f"{indent}{clean(name, 60)}{mark}"

    def _spark(self, name: str) -> Cell:
        """The device's past. Of one that is followed, only what is new is drawn."""
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

    # What is wrong.

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
