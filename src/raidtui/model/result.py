"""What a run leaves: the result file, schema `raidtui.result/1`. MB is 10⁶ bytes, MiB is 2²⁰."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.frame import CacheState
from raidtui.model.measure import Sample, Summary
from raidtui.model.plan import Argv, Options
from raidtui.model.problem import Problem

RESULT_SCHEMA: Final = "raidtui.result/1"


class Machine(msgspec.Struct, frozen=True, omit_defaults=True):
    """The server as it was at the start of the run."""

    host: str
    kernel: str
    distribution: str = ""
    cpu_model: str = ""
    cpus: int = 0
    memory_bytes: int = 0
    numa_nodes: int = 1
    governor: str | None = None
    mitigations: dict[str, str] = {}
    tools: dict[str, str] = {}
    """Versions of the tools and libraries that were used: `{"fio": "3.39", "mdadm": "4.4"}`."""


class DeviceUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """One block device during one cell: sums over the cell, rates as iostat means them."""

    role: str
    """`target`, `member`, `journal`, …"""
    disk: str = ""
    """The disk's id where it is one."""
    read_bytes: int = 0
    written_bytes: int = 0
    reads: int = 0
    writes: int = 0
    mean_utilisation_percent: float | None = None
    max_utilisation_percent: float | None = None
    mean_read_await_ms: float | None = None
    mean_write_await_ms: float | None = None
    series: dict[str, list[float | None]] = {}
    """One value per frame, at the cell's `device_at_s`: `read_bytes_per_s`, `util_percent`, `write_await_ms`, …"""


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """One layout × one workload × one round, measured. A cell without a valid mark is not a result."""

    id: str
    layout: str
    workload: str
    round: int
    valid: bool
    reasons: tuple[str, ...] = ()
    """Why it is not valid."""
    part: str = ""
    summary: Summary | None = None
    samples: tuple[Sample, ...] = ()
    devices: dict[str, DeviceUse] = {}
    """By kernel name at that time; a disk's identity is in `disk`."""
    device_at_s: tuple[float, ...] = ()
    """Seconds since the cell began of every value in the devices' series."""
    cpu_cores_used: float | None = None
    write_amplification: float | None = None
    """Bytes written to members ÷ bytes written by the workload."""
    caches: dict[str, CacheState] = {}
    """The kernel's caches that were asked for something (`Frame.caches`): hits and misses of the cell, sizes at its end."""
    command: Argv = ()
    started: str = ""
    seconds: float = 0.0
    report: Any = None
    """The measuring tool's own report, unchanged."""


class Tuned(msgspec.Struct, frozen=True, omit_defaults=True):
    """One setting of the kernel, as the kernel writes it."""

    asked: str
    found: str
    """Before it was set."""
    set: str
    """As it was read back: the kernel rounds some."""
    restored: str = ""
    """As it was read back after it was put back; `gone with its device` where there was nothing left to put back."""


class Built(msgspec.Struct, frozen=True, omit_defaults=True):
    """One layout in one round: what was asked, and what the kernel says came of it."""

    layout: str
    round: int
    status: Literal["built", "failed"]
    asked: Any = None
    read_back: dict[str, Any] = {}
    """By the name that the layer got: what the kernel and the tools say of it."""
    initial_sync: str = ""
    """`none needed`, `waited for 312 s`, `skipped: all members were proven zero (discard)`."""
    size_bytes: int | None = None
    tuning: dict[str, Tuned] = {}
    """By what was set: `SERIAL queue/scheduler`, `rtabc0a md/stripe_cache_size`, `zfs_txg_timeout`."""
    commands: tuple[Argv, ...] = ()
    """Executed, in order, build and teardown."""
    seconds: float = 0.0
    """How long the building took, initial sync included."""
    taken_down: bool = False
    problem: Problem | None = None


class Result(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One run, whole. Written anew after every cell."""

    schema: Literal["raidtui.result/1"]
    version: str
    run: str
    plan_digest: str
    rehearsal: bool
    """True when it was run with --quick: good for trying, not for comparing."""
    complete: bool
    started: str
    finished: str | None
    exit: int | None
    outcome: str
    scenario: dict[str, Any]
    options: Options
    binding: dict[str, tuple[Fingerprint, ...]]
    machine: Machine
    disks: tuple[Disk, ...]
    layouts: tuple[Built, ...] = ()
    cells: tuple[Cell, ...] = ()
    problems: tuple[Problem, ...] = ()
