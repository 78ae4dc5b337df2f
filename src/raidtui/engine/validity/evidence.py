"""What was seen around one cell: all that checks may look at."""

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
"""How the devices' counters are held against what the workload says of itself (`stack.layer.PlannedTarget.counted`)."""


class Evidence(NamedTuple):
    """Facts of one cell. What could not be seen is None or empty."""

    cell: Cell
    """As it was measured: summary, samples, devices, caches, threads. No marks as yet."""
    whole: Summary | None = None
    """Of all passes together, where the cell's own summary is of the window alone."""
    said: tuple[Mark, ...] = ()
    """By layers and tools themselves: what is wrong with an array, why a target could not be opened."""
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
    """By the clock that goes on then."""
    wall_s: float = 0.0
    """By the wall clock."""

    pattern: Pattern | None = None
    region_bytes: int | None = None
    """How much of the target the workload reaches."""
    layers: tuple[str, ...] = ()
    """Kinds of the layers of the layout, lowest first."""
    reduces: tuple[str, ...] = ()
    """How they make less of what is written: `compresses`, `deduplicates`."""
    prefilled: bool = True
    """The region was written before it was measured."""
    caches: Literal["", "warm", "cold"] = ""
    """What the scenario says of caches; empty where it says nothing."""

    disks: Mapping[str, Disk] = {}
    """The run's disks, by id."""
    heat: tuple[Mapping[str, Heat], Mapping[str, Heat]] = ({}, {})
    """What disks said of their heat before and after, by kernel name."""
    busy: tuple[Busy, ...] = ()
    """What arrays and caches did beside the workload."""
    earlier: tuple[Cell, ...] = ()
    """What the run measured before."""
    memory_bytes: int = 0

    @property
    def summary(self) -> Summary | None:
        """Of all that was run: what devices and clocks are held against."""
        return self.whole or self.cell.summary

    @property
    def members(self) -> dict[str, DeviceUse]:
        """The disks of the layout by kernel name, whatever they are in it."""
        return {name: use for name, use in self.cell.devices.items() if use.disk in self.disks}

    @property
    def on_disks(self) -> bool:
        """Nothing stands between the workload and its disks."""
        return all(use.role == "target" for use in self.members.values())
