"""Columns of the device table: iostat's names and meanings, and which of them are shown at first."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from raidtui.model.frame import DeviceRates, Flow
from raidtui.tui.widgets.glyphs import glyphs
from raidtui.tui.widgets.live_table import Column

DEVICE, ROLE, UTIL, HISTORY, TEMPERATURE = "device", "role", "util", "history", "celsius"

Figure = Callable[[DeviceRates], float | None]


class Choice(NamedTuple):
    """A column that can be shown."""

    column: Column
    figure: Figure | None = None
    """Columns of a device's rates that are plain numbers."""


def _number(key: str, title: str, help: str, figure: Figure) -> Choice:
    return Choice(Column(key, title, 7, "right", help), figure)


def _mb(flow: Flow | None) -> float | None:
    return None if flow is None else flow.bytes_per_s / 1e6


def _kb(flow: Flow) -> float | None:
    return None if flow.request_bytes is None else flow.request_bytes / 1024


def request_kb(rates: DeviceRates) -> float | None:
    """areq-sz: the mean size of reads and writes, in KiB."""
    ios = rates.read.ios_per_s + rates.write.ios_per_s
    return (rates.read.bytes_per_s + rates.write.bytes_per_s) / ios / 1024 if ios else None


CHOICES: dict[str, Choice] = {
    choice.column.key: choice
    for choice in (
        Choice(Column(DEVICE, "Device", 14, "left", "Members stand below their array")),
        Choice(Column(ROLE, "Role", 7, "left", "What it is in the layout")),
        _number("r", "r/s", "Reads completed a second, after merging", lambda rates: rates.read.ios_per_s),
        _number("w", "w/s", "Writes completed a second, after merging", lambda rates: rates.write.ios_per_s),
        _number("rmb", "rMB/s", "10⁶ bytes read a second", lambda rates: _mb(rates.read)),
        _number("wmb", "wMB/s", "10⁶ bytes written a second", lambda rates: _mb(rates.write)),
        _number("r_await", "r_await", "Mean time of a read, queueing included, in ms", lambda rates: rates.read.await_ms),
        _number("w_await", "w_await", "Mean time of a write, queueing included, in ms", lambda rates: rates.write.await_ms),
        _number("areq", "areq-sz", "Mean size of a request in KiB", request_kb),
        _number("aqu", "aqu-sz", "Mean number of requests waiting or served", lambda rates: rates.queue_length),
        Choice(Column(UTIL, "%util", 11, "left", "Share of the time with a request in flight")),
        Choice(Column(HISTORY, "%util lately", 24, "left", "%util, one second a cell, the newest on the right")),
        _number("rrqm", "rrqm/s", "Reads merged a second", lambda rates: rates.read.merged_per_s),
        _number("wrqm", "wrqm/s", "Writes merged a second", lambda rates: rates.write.merged_per_s),
        _number("rareq", "rareq-sz", "Mean size of a read in KiB", lambda rates: _kb(rates.read)),
        _number("wareq", "wareq-sz", "Mean size of a write in KiB", lambda rates: _kb(rates.write)),
        _number("d", "d/s", "Discards a second", lambda rates: rates.discard.ios_per_s if rates.discard else None),
        _number("dmb", "dMB/s", "10⁶ bytes discarded a second", lambda rates: _mb(rates.discard)),
        _number("f", "f/s", "Flushes a second", lambda rates: rates.flushes_per_s),
        _number("f_await", "f_await", "Mean time of a flush in ms", lambda rates: rates.flush_await_ms),
        Choice(Column(TEMPERATURE, "°C", 3, "right", "Temperature, where the device tells it")),
    )
}

SMALL_CHOICE = (DEVICE, "r", "w", "rmb", "wmb", "r_await", "w_await", UTIL)
LARGE_CHOICE = (DEVICE, ROLE, "r", "w", "rmb", "wmb", "r_await", "w_await", "areq", "aqu", UTIL, HISTORY)


def number_text(value: float | None) -> str:
    """Three or four digits that mean something, in at most seven cells."""
    if value is None:
        return glyphs().absent
    if value == 0:
        return "0"
    if value < 9.995:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    return f"{value:.0f}" if value < 999_999.5 else f"{value / 1e6:.2f}M"
