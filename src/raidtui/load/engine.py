"""What every workload engine offers. An engine is one module under `engines/` with one object named `ENGINE`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol

import msgspec

from raidtui.model.describe import Preset
from raidtui.model.measure import Measured, Sample
from raidtui.model.plan import TargetKind
from raidtui.model.problem import Problem

FIRST_TARGET_FD: Final = 100
"""Targets are open in the runner under these numbers, so that a plan can show the very argv that will run."""


class TargetDevice(NamedTuple):
    """One open block device of a target, or its open folder. `fd` stays the runner's; a device's reads and writes."""

    fd: int
    name: str
    size_bytes: int


class Target(NamedTuple):
    """What a workload runs on: one block device, several at once, or one folder that it may fill with files."""

    devices: tuple[TargetDevice, ...]
    kind: TargetKind = "block"

    @property
    def size_bytes(self) -> int:
        """Size of the smallest device: what a region must fit into."""
        return min(device.size_bytes for device in self.devices)


class Estimate(NamedTuple):
    """What a workload will take, before it runs."""

    seconds: float
    max_written_bytes: int | None
    """Upper bound of what it writes, or None where only the disks' speed bounds it."""


class Pattern(NamedTuple):
    """How a workload's operations look to the devices below."""

    block_bytes: tuple[int, ...]
    """Every block size it uses, in bytes; empty where that is not known."""
    writes: bool
    random: bool
    in_flight_bytes: int
    """At most at once, per device of the target."""
    whole_sectors: bool
    """True where an operation that is not whole sectors fails, as with O_DIRECT."""
    begins_bytes: tuple[int, ...] = ()
    """Where on each device its jobs begin, as far as that is said in bytes."""
    compressible_percent: int = 0
    """How far what it writes can be compressed."""
    copies_percent: int = 0
    """Share of written blocks that are copies of others."""
    in_turns: bool = False
    """It does one thing after the other, each at a rate of its own."""
    wholly_random: bool = False
    """No operation follows another one on purpose: the kernel has nothing to merge."""
    streams: int = 1
    """Jobs side by side on one device: what is sequential is so within each of them."""
    syncs: bool = False
    """Durability is asked for again and again while it writes, not only at its end."""
    reducible: bool = True
    """Compression or deduplication might make less of what it writes."""
    paced: bool = False
    """It waits between operations: less is in flight than it may have."""
    reported_whole: bool = True
    """What it reports is all that it writes."""
    cached: bool = False
    """The page cache may answer its reads, and keep its writes back or write several as one."""
    reads: bool = False

    def under_sector(self, sector_bytes: int) -> str:
        """What of it is not whole sectors and would fail, in words; empty where nothing is."""
        if not self.whole_sectors:
            return ""
        for what, sizes in (("blocks of {} bytes", self.block_bytes), ("an offset of {} bytes", self.begins_bytes)):
            if wrong := [size for size in sizes if size % sector_bytes]:
                return what.format(wrong[0])
        return ""


class Engine(Protocol):
    """One way of loading a target."""

    kind: str
    """The word that names it in scenario files."""
    title: str
    spec: type[msgspec.Struct]
    """Its options: frozen, unknown fields forbidden, every field typed and with a docstring."""

    @property
    def takes(self) -> Literal["block", "directory", "both"]:
        """What it can load; where it takes both, `kind` tells which it is."""

    def check(self, spec: Any, place: str) -> list[Problem]:
        """Why these options cannot be honest on any target. Empty: they can."""

    @property
    def presets(self) -> tuple[Preset, ...]:
        """Workloads that the field has a name for. Each passes `check`."""

    def words(self, spec: Any) -> str:
        """What it does, short: `randwrite 4KiB, T1Q1, fsync 1, 60s`."""

    def defaults(self, spec: Any) -> Mapping[str, tuple[str, str]]:
        """By field: what it comes to where the scenario leaves it out, given all the others, and why."""

    def pattern(self, spec: Any) -> Pattern: ...

    def check_target(self, spec: Any, place: str, size_bytes: int, *, kind: TargetKind = "block") -> list[Problem]:
        """Why they cannot be honest on a target of this kind and size."""

    def stated(self, spec: Any) -> Any:
        """The same with what its data is like said outright, for layouts that compress or deduplicate."""

    def check_reduced(self, spec: Any, place: str, how: tuple[str, ...]) -> list[Problem]:
        """Why it cannot be honest on a layout that does so (`compresses`, `deduplicates`)."""

    def quick(self, spec: Any, size_bytes: int, *, kind: TargetKind = "block") -> Any:
        """The same workload as a rehearsal on a target of this size: at most 3 s, reading at most 256 MiB of it."""

    def sliced(self, spec: Any, seconds: float) -> Any:
        """The same for at most so long, where it runs for as long as it is told; others stay as they are."""

    def reads(self, spec: Any) -> bool:
        """True when it works on what is there, so that the region has to be written before."""

    def region_bytes(self, spec: Any, size_bytes: int, *, kind: TargetKind = "block") -> int:
        """How far into a target of this size it reaches; of a directory, how much its files fill."""

    def estimate(self, spec: Any, size_bytes: int, *, kind: TargetKind = "block") -> Estimate: ...

    def command(
        self, spec: Any, paths: tuple[str, ...], *, size_bytes: int | None = None, kind: TargetKind = "block"
    ) -> tuple[str, ...]:
        """The argv for targets at these paths; what a plan shows.

        With the target's size the exact one; before a target exists, shares of it stay shares.
        """

    def prefill_command(
        self, spec: Any, paths: tuple[str, ...], *, size_bytes: int, kind: TargetKind = "block"
    ) -> tuple[str, ...]:
        """The argv that writes incompressible data over the region, so that reads never hit unwritten blocks."""

    def run(
        self,
        spec: Any,
        target: Target,
        *,
        folder: Path,
        live: Callable[[Sample], None],
        stop: threading.Event,
    ) -> Measured:
        """Run it to its end, or end it when `stop` is set.

        Raises ProblemError when it could not be run at all, or (code `stuck`) when it cannot be ended. Whatever else is
        wrong with the numbers is in the answer's `problems`.
        """

    def prefill(
        self,
        spec: Any,
        target: Target,
        *,
        folder: Path,
        live: Callable[[Sample], None],
        stop: threading.Event,
    ) -> Measured:
        """Write the region of this workload once, as `prefill_command` says."""


def rehearsal(engine: Engine, spec: Any, size_bytes: int, kind: TargetKind) -> Any:
    """`quick` of what fits its block device; what does not stays as it is, to be refused as in earnest.

    Files are made smaller until they fit: a rehearsal may be on smaller disks than the run.
    """
    if kind == "block" and engine.check_target(spec, "", size_bytes, kind=kind):
        return spec
    return engine.quick(spec, size_bytes, kind=kind)
