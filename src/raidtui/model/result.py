"""Result file of a run, schema `raidtui.result/1`. MB is 10⁶ bytes, MiB is 2²⁰."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.frame import CacheState
from raidtui.model.host import HostCores, HostUse
from raidtui.model.links import Links
from raidtui.model.mark import Mark, gravest_first, of_weight
from raidtui.model.measure import Sample, Summary
from raidtui.model.network import Interface, NetworkUse, RdmaPort
from raidtui.model.plan import Amplification, Argv, Host, Options
from raidtui.model.problem import Problem, Refusal
from raidtui.model.statistics.ranking import Told
from raidtui.model.sweep import Swept

INVALID_CELL: Final = Refusal(
    "invalid-cell",
    "A cell is not valid",
    "Something during the measurement makes the numbers wrong or doubtful.",
    "Solve what the reason names and run the cell again (--layout, --workload).",
)

RESULT_SCHEMA: Final = "raidtui.result/1"
NOT_PRECONDITIONED: Final = "not preconditioned"


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
    machine_id: str = ""
    """Hash of the server's /etc/machine-id, by which two results are known to be of one server; empty in older files."""
    simulated: bool = False
    """True if nothing was built or measured: disks, kernel and numbers are simulated."""
    networks: tuple[Interface, ...] = ()
    """Interfaces of network adapters, and those made of them; no loopback, no containers'. Empty in older files."""
    rdma: tuple[RdmaPort, ...] = ()


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
    reads_merged: int | None = None
    """Requests that became part of another one before they reached the device; None where that is not known."""
    writes_merged: int | None = None
    flushes: int | None = None
    """None on kernels before 5.5, which do not count them."""
    mean_flush_await_ms: float | None = None
    temperature_max_c: float | None = None
    series: dict[str, list[float | None]] = {}
    """One value per frame, at the cell's `device_at_s`: `read_bytes_per_s`, `util_percent`, `write_await_ms`, …"""


class HostPart(Summary, frozen=True, omit_defaults=True):
    """The part of one host that generated load."""

    cores: HostCores | None = None
    """CPU cores of the host during the cell."""


class Pass(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run of a workload of several on the same building."""

    at_s: float
    """Start in seconds since the start of the cell."""
    summary: Summary


class Tracked(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tracking variable over the window, as SNIA's specification looks at it."""

    average: float
    range_percent: float | None = None
    """Difference between the smallest and the largest value in percent of the average; None if the average is 0."""
    excursion_percent: float | None = None
    """Rise or fall of the fitted line over the window, in percent of the average; None where the average is 0."""
    steady: bool = False


class Steady(msgspec.Struct, frozen=True, omit_defaults=True):
    """A workload that was run again and again until it was steady. The cell's numbers are those of the window."""

    passes: tuple[Pass, ...]
    reached: int | None
    """The last pass of the first steady window, counted from 1; None where steady state was not reached."""
    window: tuple[int, int]
    """First and last pass of that window, or of the last one that there was."""
    variables: dict[str, Tracked] = {}
    """Variables by name: `write IOPS`, `read mean latency`."""


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """One layout × one workload × one round, measured. A cell without a valid mark is not a result."""

    id: str
    layout: str
    workload: str
    round: int
    valid: bool
    reasons: tuple[str, ...] = ()
    """Reasons why the cell is not valid: the sentences of its marks of weight `invalid`."""
    part: str = ""
    summary: Summary | None = None
    samples: tuple[Sample, ...] = ()
    devices: dict[str, DeviceUse] = {}
    """Use of the devices, by kernel name at that time; a disk's identity is in `disk`."""
    device_at_s: tuple[float, ...] = ()
    """Seconds since the cell began of every value in the devices' series."""
    cpu_cores_used: float | None = None
    """Mean number of busy cores of the whole server."""
    write_amplification: float | None = None
    """Bytes written to members ÷ bytes written by the workload."""
    threads: dict[str, float] = {}
    """The busiest threads of the kernel, each with its share of one CPU core in percent: `{"md127_raid5": 98.5}`."""
    expected_write_amplification: Amplification | None = None
    """Predicted write amplification; None if nothing is written, and in older files."""
    data_disks: tuple[str, ...] = ()
    """Ids of the disks that keep the layout's data: no journals, caches or spares. Empty in older files."""
    caches: dict[str, CacheState] = {}
    """The kernel's caches that were asked for something (`Frame.caches`): hits and misses of the cell, sizes at its end."""
    command: Argv = ()
    started: str = ""
    seconds: float = 0.0
    report: Any = None
    """The measuring tool's own report, unchanged."""
    marks: tuple[Mark, ...] = ()
    """Everything that must be known of its numbers, the gravest first; empty in files that are older than marks."""
    again: bool = False
    """Measured on the second building of a layout that is measured against itself: for the noise floor alone."""
    steady: Steady | None = None
    """Passes of a cell that is repeated until steady state. `summary` and `report` (a list) then belong to the window;
    samples, devices, CPU and write amplification to all passes.
    """
    host: HostUse | None = None
    """The server's processes and memory during the cell; None without psutil, and in older files."""
    networks: dict[str, NetworkUse] = {}
    """Network interfaces, loopback included, and RDMA ports that moved or lost anything, whoever used them."""
    sweep: Swept | None = None
    """Its place in a sweep; None for a workload that the scenario gives by itself, and in older files."""
    hosts: dict[str, HostPart] = {}
    """The part of each host that generated load, by `Host.ref`; empty if the storage server did. After several passes,
    the numbers of the last one."""
    cores: HostCores | None = None
    """CPU cores of the storage server, if other hosts generated the load, or daemons serve the layout."""
    serving: dict[str, HostCores] = {}
    """CPU cores of the other hosts that ran daemons of the layout and loaded nothing, by `Host.ref`."""
    daemons: dict[str, int] = {}
    """Number of daemons that were up in the layout's cluster, by kind, wherever they run; empty if not known."""


def marked(cell: Cell, marks: Iterable[Mark]) -> Cell:
    """The cell with these marks: valid where none of them is of weight `invalid`."""
    found = gravest_first(marks)
    reasons = tuple(dict.fromkeys(mark.sentence for mark in of_weight(found, "invalid")))
    return msgspec.structs.replace(cell, marks=found, valid=not reasons, reasons=reasons)


def marks_of(cell: Cell) -> tuple[Mark, ...]:
    """The cell's marks; of a file that is older than marks, its reasons as such."""
    return cell.marks or tuple(Mark(INVALID_CELL.code, reason) for reason in cell.reasons)


class Tuned(msgspec.Struct, frozen=True, omit_defaults=True):
    """One setting of the kernel, as the kernel writes it."""

    asked: str
    found: str
    """Before it was set."""
    set: str
    """Value read back after it was set: the kernel rounds some."""
    restored: str = ""
    """Value read back after it was restored; `gone with its device` if there was nothing left to restore."""


class Built(msgspec.Struct, frozen=True, omit_defaults=True):
    """One layout in one round: what was asked, and what the kernel says came of it."""

    layout: str
    round: int
    """The first that was measured on it."""
    status: Literal["built", "failed"]
    asked: Any = None
    read_back: dict[str, Any] = {}
    """Facts from kernel and tools, by the name that the layer got."""
    initial_sync: str = ""
    """`none needed`, `waited for 312 s`, `skipped: all members were proven zero (discard)`."""
    size_bytes: int | None = None
    tuning: dict[str, Tuned] = {}
    """Settings by their object: `SERIAL queue/scheduler`, `rtabc0a md/stripe_cache_size`, `zfs_txg_timeout`."""
    commands: tuple[Argv, ...] = ()
    """Executed, in order, build and teardown."""
    seconds: float = 0.0
    """Duration of the build, preconditioning and initial sync included."""
    taken_down: bool = False
    problem: Problem | None = None
    rounds: int = 1
    """Number of rounds that were measured on this build."""
    preconditioned: str = NOT_PRECONDITIONED
    """Preconditioning of its disks, and whether it meets SNIA's specification."""
    again: bool = False
    """The second building of a layout that is measured against itself."""
    hosts_have: str = ""
    """Share of each host that it is exported to: `volumes of its own` or `a region of its own`. Empty if the storage server
    loads it itself.
    """


class RankedLayout(msgspec.Struct, frozen=True, omit_defaults=True):
    """One layout's place under one workload."""

    layout: str
    place: int | None
    """1 is best; layouts that are not told apart may share one. None: too few of its cells are valid."""
    value: float | None
    """Geometric mean of its rounds, by the ranking's metric."""
    rounds: int
    """Valid ones."""


class Beyond(msgspec.Struct, frozen=True):
    """Two layouts that the rounds there were could not tell apart, seen beforehand from how far rounds scatter."""

    layouts: tuple[str, str]
    round: int
    """Round after which it was known."""


class Ranked(msgspec.Struct, frozen=True, omit_defaults=True):
    """State of a ranking for one workload."""

    workload: str
    question: Literal["best", "order"]
    confidence_percent: float
    close_enough_percent: float
    metric: Literal["IOPS", "MB/s", "µs per sync"]
    """Compared quantity; of µs per sync, less is better."""
    answered: bool
    """False: not known yet, or not to be told apart within the rounds that there are."""
    layouts: tuple[RankedLayout, ...]
    """Best first."""
    told: tuple[Told, ...]
    """Decided pairs, in the order of their decision."""
    rounds: int
    """Number of measured rounds."""
    most_rounds: int
    spent_s: float
    """Seconds of measuring, as planned, of the cells that were measured."""
    most_s: float
    """Planned seconds of measuring of all planned cells."""
    skipped: int = 0
    """Cells that were not needed."""
    beyond: tuple[Beyond, ...] = ()
    """Pairs of layouts that stay undecided."""


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
    ranking: tuple[Ranked, ...] = ()
    """Rankings by workload, if one was requested."""
    hosts: dict[str, tuple[Host, ...]] = {}
    """Hosts beside the storage server, by group."""
    links: Links | None = None
    """Their links, measured before the first cell; None without hosts."""


_Parts = msgspec.defstruct(
    "_Parts", [(field.name, msgspec.Raw) for field in msgspec.structs.fields(Result) if field.required]
)


def without_cells(data: bytes) -> bytes:
    """A result file without what was measured: all that a plan is made from. Anything else is returned as it is.

    Nothing of what is left out is read, so that a large file costs no more memory than it has bytes.
    """
    try:
        parts = msgspec.json.decode(data, type=_Parts)
        is_result = msgspec.json.decode(getattr(parts, "schema"), type=str) == RESULT_SCHEMA  # noqa: B009
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data
    return msgspec.json.encode(parts) if is_result else data
