"""What every layer offers. A layer is one module under `layers/` with one object named `LAYER`.

A layer has two halves. The planning half is pure: options, refusals, sizes, steps with the very commands that will run.
The doing half is its actions: each step names one, and everything that touches the machine happens in them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol

import msgspec

from raidtui.inventory import Signature
from raidtui.model.convert import Operand
from raidtui.model.plan import Argv, Created, Names, TargetKind
from raidtui.model.problem import Problem
from raidtui.model.scenario import Policy
from raidtui.stack.amplification import Share, Spread, Writes
from raidtui.stack.context import Context


class Part(NamedTuple):
    """One block device that a layer may stand on, as far as it is known when planning."""

    ref: str
    """`disk:ID` or `md:NAME`: what actions hand to `Context.path`."""
    path: str
    """The path as commands show it: `/dev/nvme3n1`, `/dev/md/rtabc0a`."""
    size_bytes: int
    logical_sector_bytes: int
    disks: tuple[str, ...]
    """Ids of the disks below."""
    discard: bool = False
    rotational: bool = False
    stripe_bytes: int | None = None
    """Full-stripe width of what is below, where there is one."""
    chunk_bytes: int | None = None
    """What lies in a row on one device of it, where it stripes."""


class Draft(NamedTuple):
    """A step before it has its place in a plan. Fields as in `model.plan.Step`."""

    action: str
    title: str
    args: dict[str, Any] = {}  # noqa: RUF012 - never written to
    commands: tuple[Argv, ...] = ()
    undo: tuple[Argv, ...] = ()
    creates: Created | None = None
    writes_bytes: int | None = 0
    seconds: float = 1.0


class PlannedTarget(NamedTuple):
    """What will be measured: one block device, several at once, or one directory."""

    refs: tuple[str, ...]
    paths: tuple[str, ...]
    size_bytes: int
    """Of the smallest of them: a workload's region is on each."""
    part: str = ""
    """Which disk, where a layout is measured disk by disk."""
    kind: TargetKind = "block"
    """A directory is a mount point in raidtui's own folder (`stack/mounts.py`); `size_bytes` is what files may fill."""
    sector_bytes: int | None = None
    """Of a directory: what direct I/O on its files comes in whole ones of, where it fails otherwise."""
    counted: Literal["exactly", "at least", "no"] = "exactly"
    """How the devices below count direct I/O: a filesystem adds its own, a compressing or caching one tells nothing."""


class Planned(NamedTuple):
    """What a layer adds to a plan."""

    build: tuple[Draft, ...]
    teardown: tuple[Draft, ...]
    targets: tuple[PlannedTarget, ...]
    offers: Part | None
    """The block device that a layer above may stand on; None where there is none to offer."""
    needs_zero: bool = False
    """True when its disks have to be proven zero before it is built."""
    before_cell: tuple[Draft, ...] = ()
    """What is done before each cell, after its region was written: caches are emptied where the policy says so."""


class Shape(NamedTuple):
    """What a layout is worth, by arithmetic alone."""

    size_bytes: int
    may_fail: int
    """How many disks may fail without loss, whichever they are."""
    write_penalty: float
    """Device writes for one small random write."""
    chunk_bytes: int | None = None
    """What lies in a row on one device; None where it does not stripe."""
    stripe_bytes: int | None = None
    """Data of one stripe over all devices."""
    reads_to_write: bool = False
    """True where a write of less than a full stripe has to read first what the parity is made of."""
    data_share: float | None = None
    """Of what is written to its devices, how much is data; None where that is its size by theirs."""
    buffered_under: float = 0.0
    """Bytes: direct I/O on its files in less than these goes through the page cache without a word; `inf`: all does."""


class Reading(NamedTuple):
    """How a workload reads, for layers that keep in memory what was read or written."""

    block_bytes: tuple[int, ...]
    """Every block size, of reads and writes alike; empty where that is not known."""
    direct: bool
    """Whether with O_DIRECT."""
    writes: bool
    """Whether it writes as well."""


EVERY_WRITE: Final = "every write"


class Passage(NamedTuple):
    """An input of a layer that writes go through before they are done, beside the devices that keep the data."""

    through: str
    """By its name among the inputs."""
    behind: tuple[str, ...]
    """Inputs that keep the data."""
    writes: str
    """Which writes, to begin or go on a sentence with: `every write`, `every synchronous write`."""
    large: bool
    """True where large ones in a row go through as well, so that they have its pace."""

    @property
    def bounds(self) -> bool:
        """True where no write gets past it."""
        return self.large and self.writes == EVERY_WRITE


class Layer(Protocol):
    """One storage construct."""

    kind: str
    """The word that names it in scenario files."""
    title: str
    spec: type[msgspec.Struct]
    """Its options: frozen, unknown fields forbidden, every field typed and with a docstring."""

    @property
    def offers(self) -> Literal["", "block", "directory"]:
        """What a layer above may stand on; empty for what can only be measured."""

    def inputs(self, spec: Any) -> Mapping[str, Operand]:
        """Where devices go in, by input name: `{"on": …, "journal": …}`."""

    def check(self, spec: Any, counts: Mapping[str, int], place: str) -> list[Problem]:
        """Why Linux would refuse this, given how many devices go into each input. Called when the scenario is read."""

    def words(self, spec: Any, counts: Mapping[str, int]) -> str:
        """What it is, short: `raid5 of 4, chunk 64KiB`."""

    def defaults(self, spec: Any, counts: Mapping[str, int]) -> Mapping[str, tuple[str, str]]:
        """By field: what it comes to where the scenario leaves it out, given all the others, and why."""

    def survives(self, spec: Any, counts: Mapping[str, int]) -> Mapping[str, tuple[int, str]]:
        """By input: how many of its devices may fail without loss, whichever they are; in words which, and what then."""

    def plan(self, spec: Any, parts: Mapping[str, tuple[Part, ...]], names: Names, policy: Policy) -> Planned: ...

    def shape(self, spec: Any, parts: Mapping[str, tuple[Part, ...]]) -> Shape: ...

    @property
    def actions(self) -> Mapping[str, Action]:
        """By the names that its drafts use: `{"md.create": …}`."""


def target_kind(layer: Layer, spec: Any) -> TargetKind:
    """What this layer is measured as: a directory where it offers one, unless it says otherwise in `measured_as(spec)`."""
    says = getattr(layer, "measured_as", None)
    found: TargetKind = says(spec) if says is not None else "directory" if layer.offers == "directory" else "block"
    return found


def placed(problem: Problem, kind: str, place: str) -> Problem:
    """Layers name places of sizes by their kind alone (`md.journal`): as in the whole document."""
    rest = problem.place.removeprefix(kind) if problem.place.startswith(kind) else ""
    return msgspec.structs.replace(problem, place=place + rest)


def reduces(layer: Layer, spec: Any) -> tuple[str, ...]:
    """How it makes less of what is written: `compresses`, `deduplicates`; layers that do say so in `reduces(spec)`."""
    says = getattr(layer, "reduces", None)
    found: tuple[str, ...] = says(spec) if says is not None else ()
    return found


def cautions(layer: Layer, spec: Any, below: Collection[str]) -> tuple[str, ...]:
    """What should be known of it on layers of these kinds, as sentences; layers say such in `cautions(spec, below)`."""
    says = getattr(layer, "cautions", None)
    found: tuple[str, ...] = says(spec, below) if says is not None else ()
    return found


def amplifies(layer: Layer, spec: Any, counts: Mapping[str, int], writes: Writes) -> Spread:
    """What a byte written to it comes to in each input; layers say so in `amplifies(spec, counts, writes)`."""
    says = getattr(layer, "amplifies", None)
    if says is None:
        unknown = {name: Share(None, None, writes) for name in layer.inputs(spec)}
        return Spread(unknown, f"a {layer.kind} does not say what it makes of a write")
    found: Spread = says(spec, counts, writes)
    return found


def passages(layer: Layer, spec: Any) -> tuple[Passage, ...]:
    """Its inputs that writes go through; layers that have such say so in `passages(spec)`."""
    says = getattr(layer, "passages", None)
    found: tuple[Passage, ...] = says(spec) if says is not None else ()
    return found


def memory_bytes(layer: Layer, spec: Any, reading: Reading) -> int | None:
    """Most memory in which it keeps what such a workload reads again; None: it keeps nothing of it.

    Layers that have a cache of their own say so in `memory_bytes(spec, reading)`. The kernel's page cache is not meant.
    """
    says = getattr(layer, "memory_bytes", None)
    found: int | None = says(spec, reading) if says is not None else None
    return found


class Outcome(NamedTuple):
    """What an action did. `result`: `created`, `already there`, `done`, `undone`, `nothing to do`."""

    result: str
    facts: dict[str, Any] = {}  # noqa: RUF012 - never written to
    """What was read back, as JSON data."""
    commands: tuple[Argv, ...] = ()
    """What was executed."""
    problems: tuple[Problem, ...] = ()
    """What of it could not be done, where the rest was worth doing: the step fails, but what is in `facts` holds."""


class Action:
    """One kind of step. `do` raises ProblemError when it fails; whatever it created is then still `undo`'s to find."""

    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        raise NotImplementedError

    def undo(self, context: Context, args: dict[str, Any]) -> Outcome:
        """Take away what `do` with these arguments may have made: by UUID, nothing else, any number of times."""
        return Outcome("nothing to do")

    def health(self, context: Context, args: dict[str, Any]) -> tuple[str, ...]:
        """Why numbers measured on what this step made would be wrong now. Asked before and after every cell."""
        return ()

    def members(self, context: Context, args: dict[str, Any]) -> Mapping[str, str]:
        """Kernel names of what this step made and stands on, and what each is: `{"md127": "target", "sda": "member"}`."""
        return {}

    def claims(self, args: dict[str, Any]) -> tuple[str, ...]:
        """What it changes of the whole server, in words: one run at a time holds each of these, as long as it runs."""
        return ()

    def relies_on(self, args: dict[str, Any]) -> tuple[str, ...]:
        """What of the whole server its numbers depend on, in the words of `claims`: no other run changes it meanwhile."""
        return ()

    def leaves(self, args: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
        """Signatures it may leave on disks: what recovery may wipe. (type, UUID), or (type, "", label).

        Those of a type named here that have neither UUID nor label count too, in a partition of a table that is named.
        """
        return ()


class Doing(Action):
    """A step that is one function: it waits, reads back or takes away, and makes nothing that it would have to undo."""

    def __init__(self, do: Callable[[Context, dict[str, Any]], Outcome]) -> None:
        self._do = do

    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        return self._do(context, args)


def leavings(done: Iterable[tuple[Action, dict[str, Any]]]) -> list[Signature]:
    """The signatures that actions with these arguments may leave on disks."""
    return [
        Signature(kind, uuid, "".join(label)) for action, args in done for kind, uuid, *label in action.leaves(args)
    ]
