"""The interface of a workload engine: a module or package of `load/` with an object `ENGINE`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from raidtui.model.describe import Preset
from raidtui.model.measure import Measured, Sample
from raidtui.model.plan import OnHost, TargetKind
from raidtui.model.problem import Problem, Refusal
from raidtui.model.tool import Tool

FIRST_TARGET_FD: Final = 100
"""Number of the first descriptor of a target in the runner: fixed, so that a plan shows the argv that will run."""

NO_FD: Final = -1
"""In place of the descriptor of what this process does not open: an image, or a device of another host."""

Found = tuple[Refusal, str, str]
"""A problem of an option: its refusal, the name of the option, the message."""


def problems_at(found: Iterable[Found], place: str) -> list[Problem]:
    """Return problems with the place of their option in the scenario."""
    return [refusal.problem(text, place=f"{place}.{option}", remedy=refusal.way_out) for refusal, option, text in found]


class TargetDevice(NamedTuple):
    """One part of a target: an open block device, an open folder, or an image, which the tool opens itself.

    The runner owns `fd`; devices are open for read and write.
    """

    fd: int
    """`NO_FD` for an image."""
    name: str
    """Kernel name of a device, path of a folder, address of an image (`model.image`)."""
    size_bytes: int


class Hosted(NamedTuple):
    """A load that other hosts generate, as this one starts it."""

    command: tuple[str, ...]
    files: dict[str, str]
    """Text of the files that it reads, by name in its folder."""


class Target(NamedTuple):
    """The target of a workload: a folder for files, or one or several block devices or images at once.

    What it is made of is known by `kind` alone; a tool takes it by `paths`, and inherits `fds`.
    """

    devices: tuple[TargetDevice, ...]
    kind: TargetKind = "block"
    on: tuple[OnHost, ...] = ()
    """Hosts that load it; `devices` are those of all of them then, without descriptors here."""

    @property
    def size_bytes(self) -> int:
        """Size of the smallest device."""
        return min(device.size_bytes for device in self.devices)

    @property
    def fds(self) -> tuple[int, ...]:
        """Descriptors that the tool inherits: none of images, nor of what other hosts load."""
        return tuple(device.fd for device in self.devices if device.fd != NO_FD)

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths for the tool's command: of the open descriptors, or the addresses of images."""
        if self.kind == "image":
            return tuple(device.name for device in self.devices)
        return tuple(f"/proc/self/fd/{device.fd}" for device in self.devices)


class Estimate(NamedTuple):
    """Expected duration and writes of a workload."""

    seconds: float
    max_written_bytes: int | None
    """Upper bound; None if only the speed of the disks limits it."""


class Pattern(NamedTuple):
    """The I/O pattern of a workload."""

    block_bytes: tuple[int, ...]
    """All block sizes; empty if unknown."""
    writes: bool
    random: bool
    in_flight_bytes: int
    """Upper bound of the bytes in flight, per device of the target."""
    whole_sectors: bool
    """True if I/O that is not whole sectors fails, as with O_DIRECT."""
    begins_bytes: tuple[int, ...] = ()
    """Offsets at which the jobs begin on each device, if given in bytes."""
    compressible_percent: int = 0
    """Compressibility of the written data."""
    copies_percent: int = 0
    """Share of written blocks that are copies of other blocks."""
    in_turns: bool = False
    """True if the workload has phases with different rates, one after another."""
    wholly_random: bool = False
    """True if no operation deliberately follows another, so that the kernel can merge none."""
    streams: int = 1
    """Number of jobs on one device; sequential I/O is sequential within each job."""
    syncs: bool = False
    """True if it flushes again and again while it writes, not only at the end."""
    reducible: bool = True
    """True if compression or deduplication may reduce the written data."""
    polls: bool = False
    """True if its jobs never sleep while they wait, so that each uses a whole core at any rate."""
    paced: bool = False
    """True if it pauses between operations, so that less is in flight than allowed."""
    reported_whole: bool = True
    """True if its report covers all bytes that it writes."""
    cached: bool = False
    """True if the page cache may answer reads and delay or merge writes."""
    reads: bool = False
    ramp: bool = False
    """True if it does not report its first seconds, so that devices count more than it reports."""

    def under_sector(self, sector_bytes: int) -> str:
        """Return the block size or offset that is not a multiple of the sector and would fail; empty if none."""
        if not self.whole_sectors:
            return ""
        for what, sizes in (("blocks of {} bytes", self.block_bytes), ("an offset of {} bytes", self.begins_bytes)):
            if wrong := [size for size in sizes if size % sector_bytes]:
                return what.format(wrong[0])
        return ""


class Engine(Protocol):
    """One tool that generates load. Engines inherit from it; methods with a body describe what most of them do not have."""

    kind: str
    """The engine's key in scenario files."""
    title: str
    spec: type[msgspec.Struct]
    """Options: a frozen struct that forbids unknown fields; every field is typed and has a docstring."""

    from_hosts: bool = False
    """True if other hosts than the storage server can generate the load (`Target.on`)."""
    takes: tuple[TargetKind, ...]
    """Kinds of targets that it can load, the usual one first."""
    tools: tuple[Tool, ...] = ()
    """Programs that it needs beyond those of every system."""
    presets: tuple[Preset, ...] = ()
    """Well-known workloads by name. Each passes `check`."""

    def check(self, spec: Any, place: str) -> list[Problem]:
        """Return the reasons why these options would give misleading numbers on any target."""
        return []

    def check_target(self, spec: Any, place: str, size_bytes: int, *, kind: TargetKind = "block") -> list[Problem]:
        """Return the reasons why these options do not fit a target of this kind and size."""

    def check_reduced(self, spec: Any, place: str, how: tuple[str, ...]) -> list[Problem]:
        """Return the reasons why these options mislead on a layout that `compresses` or `deduplicates`."""
        return []

    def describe(self, spec: Any) -> str:
        """Return a short description: `randwrite 4KiB, T1Q1, fsync 1, 60s`."""

    def defaults(self, spec: Any) -> Mapping[str, tuple[str, str]]:
        """Return, for each option that may be left out, its effective value and the reason."""

    def pattern(self, spec: Any) -> Pattern: ...

    def stated(self, spec: Any) -> Any:
        """Return the options with the data's compressibility stated explicitly, for layouts that reduce data."""
        return spec

    def quick(self, spec: Any, size_bytes: int, *, kind: TargetKind = "block") -> Any:
        """Return the options for a rehearsal: at most 3 s, and at most 256 MiB to read."""

    def sliced(self, spec: Any, seconds: float) -> Any:
        """Return the options with at most this runtime, for engines whose runtime can be set."""
        return spec

    def reads(self, spec: Any) -> bool:
        """Return True if the region has to be written beforehand."""

    def region_bytes(self, spec: Any, size_bytes: int, *, kind: TargetKind = "block") -> int:
        """Return the end of the region on a device of this size; for a directory, the size of all files."""

    def estimate(self, spec: Any, size_bytes: int, *, kind: TargetKind = "block") -> Estimate: ...

    def command(
        self, spec: Any, paths: tuple[str, ...], *, size_bytes: int | None = None, kind: TargetKind = "block"
    ) -> tuple[str, ...]:
        """Return the argv for targets at these paths, as a plan shows it.

        Without the target's size, shares of the target stay shares.
        """

    def prefill_command(
        self, spec: Any, paths: tuple[str, ...], *, size_bytes: int, kind: TargetKind = "block"
    ) -> tuple[str, ...]:
        """Return the argv that fills the region with incompressible data, so that reads hit written blocks."""
        raise RuntimeError(f"{self.kind} writes its files itself")

    def hosted(
        self, spec: Any, on: Sequence[OnHost], *, size_bytes: int, kind: TargetKind = "block", fill: bool = False
    ) -> Hosted:
        """Return what makes these hosts generate the load, or with `fill` write its region beforehand."""
        raise RuntimeError(f"{self.kind} loads from no other host")

    def run(
        self, spec: Any, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        """Run the workload to its end, or until `stop` is set.

        Raises ProblemError if it could not run at all, or (code `stuck`) if it cannot be ended. All other reasons to
        distrust the numbers are in the `problems` of the answer.
        """

    def prefill(
        self, spec: Any, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        """Write the region of this workload once, by `prefill_command`."""
        raise RuntimeError(f"{self.kind} writes its files itself")


def rehearsal(engine: Engine, spec: Any, size_bytes: int, kind: TargetKind) -> Any:
    """Return the `quick` options if the workload fits its device or image; otherwise the options, to be refused later.

    Files are made smaller until they fit: a rehearsal may use smaller disks than the run.
    """
    if kind != "directory" and engine.check_target(spec, "", size_bytes, kind=kind):
        return spec
    return engine.quick(spec, size_bytes, kind=kind)
