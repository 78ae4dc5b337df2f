"""The interface of a storage layer: one md array, LVM volume, ZFS pool, bcache device or filesystem of a layout.

A layer is a package of `stack/` whose `__init__.py` holds a `Layer` named `LAYER`. Its planning half is pure functions:
options, refusals, sizes, and steps with the commands that will run. Its doing half is its actions (`stack/action.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

import msgspec

from raidtui.model.convert import Operand
from raidtui.model.describe import Field
from raidtui.model.fields import fields_of
from raidtui.model.plan import Argv, Created, Host, Names, OnHost, TargetKind
from raidtui.model.problem import Problem, Refusal
from raidtui.model.scenario import Policy
from raidtui.model.tool import KernelModule, Tool
from raidtui.stack.action import Action
from raidtui.stack.amplification import Share, Spread, Writes
from raidtui.stack.context import Context

Spec = TypeVar("Spec", bound=msgspec.Struct)
Counts = Mapping[str, int]
"""Number of devices that go into each input, by the input's name."""


class Part(NamedTuple):
    """A block device below a layer, with what is known of it at planning time."""

    ref: str
    """`disk:ID` or `md:NAME`; actions pass it to `Context.path`."""
    path: str
    """Path for commands: `/dev/nvme3n1`, `/dev/md/rtabc0a`."""
    size_bytes: int
    logical_sector_bytes: int
    disks: tuple[str, ...]
    """Ids of the disks below."""
    discard: bool = False
    rotational: bool = False
    stripe_bytes: int | None = None
    """Full-stripe width; None if the device does not stripe."""
    chunk_bytes: int | None = None
    """Chunk size; None if the device does not stripe."""
    divided: bool = False
    """True for one of several volumes that a layer was divided into: a host can have it for its own."""


Parts = Mapping[str, tuple[Part, ...]]
"""Devices below a layer, by input."""


class NoArguments(msgspec.Struct, frozen=True):
    """Arguments of a step that has none."""


class Draft(NamedTuple):
    """A step that does not have its place in a plan yet. Fields as in `model.plan.Step`."""

    action: str
    title: str
    args: msgspec.Struct = NoArguments()
    commands: tuple[Argv, ...] = ()
    undo: tuple[Argv, ...] = ()
    creates: Created | None = None
    writes_bytes: int | None = 0
    seconds: float = 1.0
    host: str = ""
    files: Mapping[str, str] = MappingProxyType({})
    takes: tuple[str, ...] = ()

    def by(self, host: str) -> Draft:
        """Return this step as that of another host; empty for the storage server."""
        return self._replace(host=host, title=f"{host}: {self.title}") if host else self


class PlannedTarget(NamedTuple):
    """One target to measure: a block device, several block devices at once, or a directory."""

    refs: tuple[str, ...]
    paths: tuple[str, ...]
    size_bytes: int
    """Size of the smallest device: every device gets a region of the same size. For a directory, the space for files."""
    part: str = ""
    """Name of the disk if a layout is measured disk by disk."""
    kind: TargetKind = "block"
    """`directory`: a mount point in raidtui's own folder (`stack/mounts.py`)."""
    sector_bytes: int | None = None
    """Smallest unit of direct I/O on files of a directory, if larger than the devices' sectors, or on an image."""
    counted: Literal["exactly", "at least", "no"] = "exactly"
    """Relation of the devices' counters to direct I/O on the target.

    A filesystem adds I/O of its own (`at least`); a compressing or caching layer has no fixed relation (`no`).
    """
    on: tuple[OnHost, ...] = ()
    """Other hosts that load it, each a region of `size_bytes` of its own devices; `refs` and `paths` are those of the
    first host then."""
    one_client: bool = False
    """True for images that only one client may have open for writing; each job of a workload is one."""

    @property
    def regions(self) -> int:
        """Number of regions that are loaded: one on each device, of each host."""
        return len(self.refs) * max(1, len(self.on))


def all_at_once(parts: Sequence[Part]) -> PlannedTarget:
    """Return the target that these devices are together."""
    refs, paths = tuple(part.ref for part in parts), tuple(part.path for part in parts)
    return PlannedTarget(refs, paths, min(part.size_bytes for part in parts))


class Planned(NamedTuple):
    """The steps and targets that a layer adds to a plan."""

    build: tuple[Draft, ...]
    teardown: tuple[Draft, ...]
    targets: tuple[PlannedTarget, ...]
    offers: tuple[Part, ...] = ()
    """The block devices for the layer above: one, unless the layer has several (`Layer.devices`)."""
    needs_zero: bool = False
    """True if the disks have to be proven zero before the layer is built."""
    before_cell: tuple[Draft, ...] = ()
    """Steps before each cell, after its region was written: with cold caches, the ones that empty them."""
    filled: tuple[Draft, ...] = ()
    """Steps after the target was filled once for all cells; the cells themselves then fill nothing."""
    reset: tuple[Draft, ...] = ()
    """Steps before each cell that bring the target back to what was filled; a directory is empty again after them."""
    renewed: bool = False
    """True if the steps before a cell make the kernel create the target's device again."""


class Shared(NamedTuple, Generic[Spec]):
    """One of the layers that are planned together."""

    spec: Spec
    parts: Parts
    place: str


class Shape(NamedTuple):
    """Capacity, redundancy and geometry of a layout, computed from its options and disks."""

    size_bytes: int
    may_fail: int
    """Number of disks that may fail without data loss, whichever disks these are."""
    write_penalty: float
    """Device writes for one small random write."""
    chunk_bytes: int | None = None
    """Chunk size; None if the layer does not stripe."""
    stripe_bytes: int | None = None
    """Data of one full stripe over all devices."""
    reads_to_write: bool = False
    """True if a write of less than a full stripe first reads old data or parity."""
    data_share: float | None = None
    """Share of the written bytes that is data; None: the layer's size divided by the size of its devices."""
    read_penalty: float = 1.0
    """Device reads for one small random read."""
    buffered_under: float = 0.0
    """Direct I/O in smaller blocks than this many bytes silently uses the page cache; `inf`: all direct I/O does."""


class Reading(NamedTuple):
    """Access pattern of a workload, for layers that keep data in memory."""

    block_bytes: tuple[int, ...]
    """All block sizes of reads and writes; empty if unknown."""
    direct: bool
    """True with O_DIRECT."""
    writes: bool
    """True if the workload writes as well."""


EVERY_WRITE: Final = "every write"


class WritePath(NamedTuple):
    """An input that writes pass before they complete, in addition to the devices that keep the data."""

    through: str
    """Name of the input."""
    behind: tuple[str, ...]
    """Names of the inputs that keep the data."""
    writes: str
    """The writes, as the beginning of a sentence: `every write`, `every synchronous write`."""
    large: bool
    """True if large sequential writes pass it as well, so that they are limited by its speed."""

    @property
    def bounds(self) -> bool:
        """True if every write passes it."""
        return self.large and self.writes == EVERY_WRITE


class ModuleParameters(NamedTuple):
    """Parameters of a kernel module that scenarios may set for the whole server (`stack/tuning`)."""

    folder: Path
    """`/sys/module/NAME/parameters`"""
    claim: str
    """Name of the claim; one run at a time holds it."""
    make_ready: Callable[[Context], None]
    """Load the module. Raises ProblemError if other users of the server would be affected."""
    refuse: Callable[[Mapping[str, tuple[str | None, str]]], None]
    """Raise ProblemError for values that cannot be restored: (requested, present) by file."""


def _nothing(*_: Any) -> tuple[()]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Layer(Generic[Spec]):
    """One kind of storage layer. Functions with a default describe what most layers do not have."""

    kind: str
    """The layer's key in scenario files."""
    title: str
    spec: type[Spec]
    """Options: a frozen struct that forbids unknown fields; every field is typed and has a docstring."""
    offers: Literal["", "block", "directory"]
    """Kind of device for the layer above; empty if no layer can be built on it."""

    inputs: Callable[[Spec], Mapping[str, Operand]]
    """Return the operands by input: `{"on": …, "journal": …}`."""
    check: Callable[[Spec, Counts, str], list[Problem]]
    """Return the reasons why Linux would refuse these options (third argument: place in the scenario)."""
    describe: Callable[[Spec, Counts], str]
    """Return a short description: `raid5 of 4, chunk 64KiB`."""
    defaults: Callable[[Spec, Counts], Mapping[str, tuple[str, str]]]
    """Return, for each option that may be left out, its effective value and the reason."""
    tolerates_failures: Callable[[Spec, Counts], Mapping[str, tuple[int, str]]]
    """Return, by input, how many of its devices may fail without data loss, and a sentence about it."""
    plan: Callable[[Spec, Parts, Names, Policy], Planned]
    """Return the steps and targets. Raises ProblemError if the devices do not allow this layer."""
    shape: Callable[[Spec, Parts], Shape]
    """Return capacity, redundancy and geometry. Raises ProblemError if the devices do not allow this layer."""
    actions: Mapping[str, Action[Any]]
    """Actions by the names that the steps use: `{"md.create": …}`."""

    keeps_nothing: bool = False
    """True if what is written to its device is lost: only a layer that `exports` can stand on it."""
    exports: bool = False
    """True if it passes the devices below on over a protocol (`spec.transport`), and writes nothing of its own to them."""
    devices: Callable[[Spec, Counts], int] = lambda *_: 1
    """Return the number of block devices that it is for the layer above."""
    exported_to: Callable[[Spec], str] = lambda _: ""
    """Return the group of hosts that the layer's devices are on; empty for the storage server itself."""
    plan_on: Callable[[Spec, Parts, Names, Sequence[Host]], Planned] | None = None
    """Plan it with the devices on these hosts (`exported_to`). Raises ProblemError as `plan`."""
    lacking_here: Callable[[Spec, str], Iterable[Problem]] = _nothing
    """Return what this server lacks for these options (second argument: place), as the kernel shows it now. Not pure."""
    together: Callable[[Sequence[Shared[Spec]], Names, Policy], Sequence[Planned]] | None = None
    """Plan all layers of this kind in a layout at once, since they share disks: several may stand on the same role.

    The first result has the steps for all of them: they are done before everything else, and undone after it. Raises
    ProblemError with places in the scenario.
    """
    refuse_together: Callable[[Sequence[tuple[Spec, str]]], Iterable[Problem]] = _nothing
    """Return the reasons why these layers of a layout, with their places, cannot share disks."""
    measured_as: Callable[[Spec], TargetKind] | None = None
    """Return the kind of target, for layers that can be either. Default: a directory if the layer offers one."""
    reduces: Callable[[Spec], tuple[str, ...]] = _nothing
    """Return how the layer reduces written data: `compresses`, `deduplicates`."""
    cautions: Callable[[Spec, Collection[str]], tuple[str, ...]] = _nothing
    """Return warnings about this layer on top of layers of the given kinds, as sentences."""
    amplifies: Callable[[Spec, Counts, Writes], Spread] | None = None
    """Return the bytes written to each input for one byte written to the layer. Default: unknown."""
    write_path: Callable[[Spec], tuple[WritePath, ...]] = _nothing
    """Return the inputs that writes pass before they complete (journals, logs, caches)."""
    memory_bytes: Callable[[Spec, Reading], int | None] = lambda *_: None
    """Return the memory in which the layer caches what such a workload reads again, apart from the page cache."""
    memory_cache: str = ""
    """Cache in memory that answers its reads (`Frame.caches`), beside the page cache."""
    resets: tuple[str, ...] = ()
    """Ways in which what is measured can be brought back to an earlier state before each cell (`Policy.reset`)."""
    also_called: Mapping[str, str] = field(default_factory=dict)
    """Other names of the layer, with the text to write in a scenario instead."""
    replaces: Callable[[], Mapping[str, tuple[Refusal, str]]] = dict
    """Return the kinds of layers of older kernels that this layer replaces, with the refusal and the reason."""
    tools: tuple[Tool, ...] = ()
    """Programs that it needs beyond those of every system."""
    modules: tuple[KernelModule, ...] = ()
    """Kernel modules that it needs."""
    built_by_blivet: bool = False
    """True if blivet builds it, in the builder's process (`stack/builder/`)."""
    builder_modules: Mapping[str, str] = field(default_factory=dict)
    """Modules that `builder.py` of the layer imports beside blivet, each with the way to get it."""
    without_builder: Collection[str] = ()
    """Actions that need none of the builder's libraries, so that a host which does only these has no use for them."""
    threads: str = ""
    """Regular expression for the names of kernel threads that work for it."""
    daemons: Mapping[str, str] = field(default_factory=dict)
    """Kinds of the processes that do its work, by the name of their executable: {"ceph-osd": "osd"}. Their CPU, memory and
    bytes are counted on all hosts of a run, and they are no neighbours of a workload."""
    parameters: ModuleParameters | None = None
    """Kernel module whose parameters a scenario may set."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The options, in the order of the struct."""
        struct: type[msgspec.Struct] = self.spec
        return fields_of(struct)

    def target_kind(self, spec: Spec) -> TargetKind:
        """Return the kind of target that this layer is measured as."""
        if self.measured_as is not None:
            return self.measured_as(spec)
        return "directory" if self.offers == "directory" else "block"

    def spread(self, spec: Spec, counts: Counts, writes: Writes) -> Spread:
        """Return the write amplification by input; unknown shares if the layer does not declare it."""
        if self.amplifies is not None:
            return self.amplifies(spec, counts, writes)
        unknown = {name: Share(None, None, writes) for name in self.inputs(spec)}
        return Spread(unknown, f"the write amplification of a {self.kind} is unknown")


def placed(problem: Problem, kind: str, place: str) -> Problem:
    """Return the problem with its place in the whole scenario; layers name places by their kind (`md.journal`)."""
    rest = problem.place.removeprefix(kind) if problem.place.startswith(kind) else ""
    return msgspec.structs.replace(problem, place=place + rest)


def layers_below(raw: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield kind and options of every layer inside an operand as it was written (`Operand.raw`)."""
    if isinstance(raw, list):
        for one in raw:
            yield from layers_below(one)
    if isinstance(raw, dict):
        for kind, options in raw.items():
            if isinstance(options, dict):
                yield kind, options
            yield from layers_below(options)


def stands_on(raw: Any, kind: str) -> bool:
    """Return True if a layer of this kind is inside an operand as it was written."""
    return any(found == kind for found, _ in layers_below(raw))
