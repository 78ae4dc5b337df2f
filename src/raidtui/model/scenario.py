"""A scenario: roles, layouts, workloads and policy. Names no device, runs no code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Generic, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from raidtui.model.disk import Disk
from raidtui.model.hosts import HostGroup
from raidtui.model.problem import Problem
from raidtui.model.scenario_words import NAME_PATTERN, NAME_WORDS
from raidtui.model.sweep import Swept
from raidtui.model.units import Duration, Size

AMOUNT_PATTERN: Final = r"^(none|(?!0(\.0+)?x)[0-9](\.[0-9]{1,2})?x)(?!\n)$"
"""A multiple of a disk's capacity, below ten."""
MAX_LAYOUTS: Final = 200
T = TypeVar("T")
_AMOUNT: Final = 'It is "none", or how often, up to 9.99 times, with an x.'
Name = Annotated[str, Meta(pattern=NAME_PATTERN, description=NAME_WORDS)]


class Where(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Conditions that the disks of a role must meet, all of those that are given."""

    transport: Literal["nvme", "sata", "sas", "scsi", "virtio", "usb"] | None = None
    """Interface of the disks."""
    kind: Literal["nvme", "ssd", "hdd"] | None = None
    """NVMe, other flash, or rotating disks."""
    rotational: bool | None = None
    """True for rotating disks, false for flash."""
    min_size: Annotated[Size, Meta(examples=["1TB", "960GB"])] | None = None
    """Not smaller than this."""
    max_size: Annotated[Size, Meta(examples=["2TB", "4TB"])] | None = None
    """Not larger than this."""
    model: Annotated[str, Meta(max_length=80)] | None = None
    """Part of the model's name, in any case."""
    logical_sector: Annotated[Size, Meta(examples=["4096B", "512B"])] | None = None
    """Size of the sectors that they are addressed in."""

    def mismatch(self, disk: Disk) -> str | None:
        """Return the reason why `disk` does not meet the conditions, or None if it does."""
        if self.transport is not None and disk.transport != self.transport:
            return f"its transport is {disk.transport or 'unknown'}, not {self.transport}"
        if self.kind is not None and disk.kind != self.kind:
            return f"it is of kind {disk.kind}, not {self.kind}"
        if self.rotational is not None and disk.rotational != self.rotational:
            return "it is rotational" if disk.rotational else "it is not rotational"
        if self.min_size is not None and disk.size_bytes < self.min_size.bytes:
            return f"it is smaller than {self.min_size.text}"
        if self.max_size is not None and disk.size_bytes > self.max_size.bytes:
            return f"it is larger than {self.max_size.text}"
        if self.model is not None and self.model.casefold() not in disk.model.casefold():
            return f"its model is not {self.model!r}"
        if self.logical_sector is not None and disk.logical_sector_bytes != self.logical_sector.bytes:
            return f"its logical sectors are {disk.logical_sector_bytes} bytes"
        return None

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Conditions that no disk can meet: which, and why."""
        if self.min_size is not None and self.max_size is not None and self.min_size.bytes > self.max_size.bytes:
            yield "max_size", f"no disk is at least {self.min_size.text} and at most {self.max_size.text}"
        if self.kind is not None and self.transport is not None and (self.kind == "nvme") != (self.transport == "nvme"):
            yield "transport", f"no disk of kind {self.kind} is attached by {self.transport}"
        kind = "nvme" if self.transport == "nvme" else self.kind
        if kind is not None and self.rotational is not None and self.rotational != (kind == "hdd"):
            yield "rotational", f"disks of kind {kind} {'do not rotate' if self.rotational else 'rotate'}"
        sector = self.logical_sector.bytes if self.logical_sector is not None else 512
        if sector < 512 or sector & (sector - 1):
            yield "logical_sector", f"no disk has sectors of {sector} bytes: they are a power of two from 512 on"


class Role(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A name that stands for `count` disks which are like `where`."""

    count: Annotated[int, Meta(ge=1, le=1024)]
    """Number of disks."""
    where: Where = Where()
    """Conditions that each disk must meet."""
    host: Name | None = None
    """Group of hosts of which each has so many disks, on which a layout of its own is built. Default: the storage server,
    which is the first group."""


class Ranking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question that a campaign answers with as few rounds as it takes; the policy's `rounds` are the most."""

    question: Literal["best", "order"] = "best"
    """`best`: what is told to be worse than another layout is not measured again; `order`: every two are told apart."""
    confidence: Annotated[float, Meta(ge=50, le=99.99, extra={"unit": "%"})] = 95
    """Confidence of the whole answer: of all layouts, workloads and rounds together."""
    close_enough: Annotated[float, Meta(ge=0, le=50, extra={"unit": "%"})] = 5
    """Layouts that surely differ by less than this need not be told apart."""
    slice: Duration = msgspec.field(default_factory=lambda: Duration("5s"))
    """Longest measuring time of a cell, in place of the workload's own runtime.

    Long enough for what is to be compared: what only shows after a minute is not seen in seconds.
    """


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Rules by which the whole matrix is run."""

    rounds: Annotated[int, Meta(ge=1, le=100)] = 1
    """Number of times that every layout is measured with every workload; with a ranking, the largest number."""
    ranking: Ranking | None = None
    """Question to be answered: rounds end as soon as it is, and cells that no longer matter are left out."""
    order: Literal["interleaved", "random", "grouped"] = "interleaved"
    """`interleaved`: every layout is built anew in every round, in the scenario's order.

    `random`: the same with layouts and workloads shuffled in every round; the plan shows how. `grouped`: a layout is built
    once and measured in all rounds, so that what one building is like by chance is in all of them.
    """
    noise_of: Name | None = None
    """A layout that is built and measured twice in every round: how far the two are apart is the noise floor."""
    prefill: bool = True
    """Write the region before it is read, so that reads never hit unwritten blocks. Files always are."""
    precondition: Annotated[str, Meta(pattern=AMOUNT_PATTERN, description=_AMOUNT, examples=["2x", "1x", "0.5x"])] = "none"
    """Number of times that each disk is written over, sequentially and after a discard, before every building: `2x` its
    capacity is what SNIA's test specification asks for. `none`: disks are as blanking left them.
    """
    steady: bool = False
    """Run each workload again and again on the same building, up to 25 times, until the last five runs are steady as
    SNIA's test specification has it; their average is what is reported.
    """
    initial_sync: Literal["wait", "skip-if-zeroed"] = "wait"
    """`skip-if-zeroed`: no initial sync where all members are whole disks, which were proven to be zero."""
    cooldown: Duration = msgspec.field(default_factory=lambda: Duration("0s"))
    """Idle time before each cell."""
    caches: Literal["warm", "cold"] = "warm"
    """`cold`: before each cell a ZFS pool is exported and imported, which empties its ARC; `warm`: it stays as it is.

    Where this is left out, caches stay as they are too, and a cell that they answered is marked (`cached-reads`).
    """
    reset: Literal["none", "rollback", "rewind"] = "none"
    """`rollback`: a ZFS volume is filled once, and rolled back to that state before each cell, so that all workloads and
    rounds on one building meet the identical volume. The workload that reads the largest region decides how much is filled.
    A dataset is rolled back to how it was made, empty, and files are laid out for each cell.

    `rewind`: the same of the whole pool, by a checkpoint: before each cell the pool is exported, and imported as it was
    then, so that free space is where it was too. It takes some seconds, and room for what cells overwrite: a volume that is
    filled has at most half of the pool's room.

    With `none`, each cell finds what the cells before it left, and fills what it reads.
    """
    ceilings: bool = False
    """Measure the bare disks of every layout's data too, each alone and all at once, with every workload that the layout
    meets: the rates of a layout are then compared with those of its disks in the same run. Of exported layouts the export
    is measured alone too, over a device that keeps nothing, and the links to other hosts."""
    only: Annotated[dict[Name, Annotated[tuple[Name, ...], Meta(min_length=1)]], Meta(max_length=MAX_LAYOUTS)] = {}
    """Layouts that are measured with these workloads alone; workloads named here are for such layouts alone.

    Every other layout is measured with every other workload.
    """

    @property
    def precondition_times(self) -> float:
        """0 where disks are not preconditioned."""
        return 0.0 if self.precondition == "none" else float(self.precondition.removesuffix("x"))

    def meets(self, layout: str, workload: str) -> bool:
        """Return True if this layout is measured with this workload."""
        if layout in self.only:
            return workload in self.only[layout]
        return not any(workload in workloads for workloads in self.only.values())


class RoleRef(NamedTuple):
    """Disks of a role, as an input of a layer."""

    role: str


class Node(NamedTuple):
    """One layer of a layout: its kind, its options, and what it stands on, by input name."""

    kind: str
    spec: Any
    """Options; None if they cannot be read."""
    inputs: Mapping[str, tuple[RoleRef | Node, ...]]
    """The readable devices of each input."""
    place: str
    given: Any = None
    """Options as the scenario writes them."""
    problems: tuple[Problem, ...] = ()
    """Everything wrong with this layer itself."""
    sound: bool = True
    """False if the options, or a device of an input, cannot be read."""

    def walk(self) -> Iterator[Node]:
        """This layer and every layer below it, lowest first."""
        for sources in self.inputs.values():
            for source in sources:
                if isinstance(source, Node):
                    yield from source.walk()
        yield self

    def own_roles(self) -> Iterator[str]:
        """Return the roles that this layer itself stands on, as often as they are mentioned."""
        return (one.role for sources in self.inputs.values() for one in sources if isinstance(one, RoleRef))

    def roles(self) -> tuple[str, ...]:
        """Return the roles below, each once, in the order in which they are first mentioned."""
        return tuple(dict.fromkeys(self._mentioned()))

    def _mentioned(self) -> Iterator[str]:
        for sources in self.inputs.values():
            for source in sources:
                if isinstance(source, Node):
                    yield from source._mentioned()
                else:
                    yield source.role


class Load(NamedTuple):
    """A workload: its engine and its options."""

    kind: str
    spec: Any
    """Options; None if they cannot be read."""
    place: str
    given: Any = None
    """Options as the scenario writes them; those of a sweep still have its lists."""
    sweep: Swept | None = None
    """Its place in a sweep; None for a workload that is given by itself."""


class Entry(NamedTuple, Generic[T]):
    """One layout or workload as far as it can be read, with everything that is wrong with it."""

    value: T | None
    """None if not even its kind is known."""
    problems: tuple[Problem, ...]


class Scenario(NamedTuple):
    """A scenario that was read and found whole. `given` is the file as it was."""

    name: str
    title: str
    why: str
    roles: Mapping[str, Role]
    layouts: Mapping[str, Node]
    workloads: Mapping[str, Load]
    policy: Policy
    given: Mapping[str, Any]
    hosts: Mapping[str, HostGroup] = MappingProxyType({})
    """Hosts by group; the first group is the storage server. Empty if it is the only host."""
