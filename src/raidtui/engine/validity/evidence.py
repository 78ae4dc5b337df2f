"""The observations around one cell: the input of all checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from raidtui.load.engine import Pattern
from raidtui.model.disk import Disk
from raidtui.model.mark import Mark
from raidtui.model.measure import Summary
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
    has_ramp: bool = False
    """The workload leaves out its first seconds: the devices count more than it says."""

    monotonic_s: float = 0.0
    """Length of the cell by the clock that stands still in a suspended machine."""
    boottime_s: float = 0.0
    """Duration by the clock that continues during suspend."""
    wall_s: float = 0.0
    """Duration by the wall clock."""

    pattern: Pattern | None = None
    region_bytes: int | None = None
    """Part of the target that the workload uses, in bytes."""
    layers: tuple[str, ...] = ()
    """Kinds of the layers of the layout, lowest first."""
    reduces: tuple[str, ...] = ()
    """How layers reduce written data: `compresses`, `deduplicates`."""
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
