"""Evidence of a cell, and the interface of a check: a pure function from the evidence to marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

from raidtui.load.engine import Pattern
from raidtui.model.disk import Disk
from raidtui.model.mark import Mark, Weight
from raidtui.model.measure import Summary
from raidtui.model.problem import Refusal
from raidtui.model.result import Cell, DeviceUse
from raidtui.watch.series import Busy
from raidtui.watch.temperature import Heat

Counted = Literal["exactly", "at least", "no"]
"""Relation of the devices' counters to the workload's report (`stack.layer.PlannedTarget.counted`)."""


class Evidence(NamedTuple):
    """Facts of one cell. What could not be seen is None or empty."""

    cell: Cell
    """The measured cell: summary, samples, devices, caches, threads; without marks."""
    whole: Summary | None = None
    """Summary of all passes together; the cell's own summary is that of the steady window."""
    said: tuple[Mark, ...] = ()
    """Reports of layers and tools: an array is degraded, a target could not be opened."""
    lost: tuple[str, ...] = ()
    """Disks that went away, by id."""
    cancelled: bool = False
    out_of_space: bool = False
    """The journal's file system was full for a while."""

    target_read_bytes: int | None = None
    """Counted by the target's own devices, None where it could not be read."""
    target_written_bytes: int | None = None
    counted: Counted = "exactly"

    monotonic_s: float = 0.0
    """Length of the cell by the clock that stands still in a suspended machine."""
    boottime_s: float = 0.0
    """Duration by the clock that continues during suspend."""
    wall_s: float = 0.0
    """Duration by the wall clock."""

    pattern: Pattern | None = None
    region_bytes: int | None = None
    """Part of the target that the workload uses, in bytes."""
    memory_cache: str = ""
    """Cache in memory that a layer keeps (`Layer.memory_cache`); empty if none does."""
    reduces: tuple[str, ...] = ()
    """Ways in which layers reduce written data: `compresses`, `deduplicates`."""
    prefilled: bool = True
    """The region was written before it was measured."""
    caches: Literal["", "warm", "cold"] = ""
    """The scenario's choice for caches; empty if it has none."""

    disks: Mapping[str, Disk] = {}
    """The run's disks, by id."""
    heat: tuple[Mapping[str, Heat], Mapping[str, Heat]] = ({}, {})
    """Temperatures of the disks before and after, by kernel name."""
    busy: tuple[Busy, ...] = ()
    """Activity of arrays and caches besides the workload."""
    earlier: tuple[Cell, ...] = ()
    """Cells that the run has measured before."""
    memory_bytes: int = 0

    @property
    def summary(self) -> Summary | None:
        """Summary of everything that ran, for comparison with devices and clocks."""
        return self.whole or self.cell.summary

    @property
    def members(self) -> dict[str, DeviceUse]:
        """The disks of the layout by kernel name, whatever they are in it."""
        return {name: use for name, use in self.cell.devices.items() if use.disk in self.disks}

    @property
    def on_disks(self) -> bool:
        """True if no layer is between the workload and its disks."""
        return all(use.role == "target" for use in self.members.values())


class MarkKind(NamedTuple):
    """Kind of mark that a check sets on a cell."""

    weight: Weight
    refusal: Refusal
    """Code and explanation; its `why` tells why the number is misleading."""

    @property
    def code(self) -> str:
        return self.refusal.code

    def mark(self, sentence: str, *, about: str = "", at_s: float | None = None) -> Mark:
        """Return a mark with the figures of one cell in `sentence`."""
        return Mark(self.code, sentence, self.weight, about, at_s)


def invalid(code: str, title: str, why: str, way_out: str) -> MarkKind:
    """Define a mark of cells whose numbers cannot be used."""
    return MarkKind("invalid", Refusal(code, title, why, way_out))


def caution(code: str, title: str, why: str, way_out: str) -> MarkKind:
    """Define a mark of cells whose numbers hold only under a condition."""
    return MarkKind("caution", Refusal(code, title, why, way_out))


def limit(code: str, title: str, why: str, way_out: str) -> MarkKind:
    """Define a mark that names the component which limits a cell."""
    return MarkKind("limit", Refusal(code, title, why, way_out))


class Check(NamedTuple):
    """One check, made of every cell."""

    name: str
    find: Callable[[Evidence], Iterable[Mark]]
    """Pure; yields nothing if the evidence does not suffice."""
    kinds: tuple[MarkKind, ...]
    """Kinds of marks that it may set."""
