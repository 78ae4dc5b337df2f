"""Descriptions of layers, options and composed scenarios: forms are generated from them, and screens only draw them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from raidtui.model.disk import Disk
from raidtui.model.plan import Amplification, Argv, Options, TargetKind
from raidtui.model.problem import Problem

FieldType = Literal[
    "text", "choice", "switch", "integer", "number", "size", "extent", "duration", "devices", "list", "object"
]
"""`devices` takes roles and layers; `size` is `"64KiB"`, `extent` a size or a share (`"80%"`), `duration` `"60s"`."""


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
    """One option of a layer, a workload, a role or the policy."""

    name: str
    type: FieldType
    help: str = ""
    """One sentence or two, as the field's docstring has it."""
    required: bool = False
    default: Any = None
    """Default as a scenario would write it; None if it depends on other options (see `Setting`)."""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    unit: str = ""
    """`%`, `IOPS`, …; empty where the type says it or there is none."""
    pattern: str = ""
    examples: tuple[str, ...] = ()
    many: bool = False
    """A list of such values; for `object`: by name."""
    sweep: bool = False
    """One value, or a list of different ones: the workload is then a sweep."""
    fields: tuple[Field, ...] = ()
    """Fields of an `object`."""
    by_name: bool = False
    """Values by name, with `many`: `compression=lz4 copies=2`."""
    entries: tuple[Field, ...] = ()
    """Names that values by name may have, each with its values; one that ends in `@` is the beginning of names. Empty where
    any name is allowed.
    """


class Kind(msgspec.Struct, frozen=True, omit_defaults=True):
    """One kind of layer or workload engine, with every option it has."""

    kind: str
    """The word that names it in scenario files."""
    title: str
    help: str
    fields: tuple[Field, ...]
    offers: Literal["", "block", "directory"] = ""
    """Target that a layer offers to a layer above; empty for layers that can only be measured, and for workloads."""
    takes: tuple[TargetKind, ...] = ()
    """Targets that a workload can load; empty for layers."""


class Preset(msgspec.Struct, frozen=True, omit_defaults=True):
    """A workload under the name that the field has for it."""

    name: str
    """Key in a scenario: `rand-write-4k-t1q1-fsync`."""
    title: str
    """`T1Q1 4k randwrite fsync`"""
    kind: str
    options: dict[str, Any]


class Kinds(msgspec.Struct, frozen=True):
    """Answer to `describe`."""

    schema: str
    """`raidtui.kinds/1`"""
    layers: tuple[Kind, ...]
    workloads: tuple[Kind, ...]
    role: Kind
    host: Kind
    """A group of hosts."""
    policy: Kind
    presets: tuple[Preset, ...]


_Disks = Annotated[tuple[Disk, ...], Meta(max_length=10_000)]


class PreviewRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of `preview`: a scenario that may be unfinished, and the disks chosen so far."""

    document: str
    bind: dict[str, tuple[str, ...]] = {}
    options: Options = Options()
    there: Annotated[dict[str, _Disks], Meta(max_length=64)] = {}
    """Disks of other hosts as they were last seen, by host (`nodes-1`)."""


class Setting(msgspec.Struct, frozen=True, omit_defaults=True):
    """State of one field of a layer or workload, given all other fields."""

    field: str
    given: Any = None
    """Value in the scenario; None if it is left out."""
    value: str = ""
    """Effective value: the given one, or the default."""
    why: str = ""
    """Reason for the default."""
    refused: str = ""
    """Reason why the field cannot be set here; a form greys it out and shows this text."""
    refused_choices: dict[str, str] = {}
    """Choices that cannot be taken, each with the reason."""


class RoleView(msgspec.Struct, frozen=True, omit_defaults=True, tag="role"):
    """Disks of a role, as the bottom of a stack."""

    role: str
    count: int = 0
    disks: tuple[str, ...] = ()
    """Ids, where they were chosen."""
    size_bytes: int | None = None
    """Size of the smallest disk."""


class LayerView(msgspec.Struct, frozen=True, omit_defaults=True, tag="layer"):
    """One layer of a stack, with what it stands on."""

    kind: str
    place: str
    """`$.layouts.raid5.md.on.md`"""
    words: str
    """`raid5 of 4, chunk 64KiB`"""
    inputs: dict[str, tuple[LayerView | RoleView, ...]] = {}
    settings: tuple[Setting, ...] = ()
    size_bytes: int | None = None
    stripe_bytes: int | None = None
    """Full-stripe width: data of one stripe over all members."""
    problems: tuple[Problem, ...] = ()


class Ceiling(msgspec.Struct, frozen=True, omit_defaults=True):
    """Upper limit of the transfer rates by the disks' own data, independent of the layout."""

    source: str
    """Origin of the figures: `4 PCIe links`."""
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None


class LayoutView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One layout, as far as arithmetic tells before anything is built.

    What depends on the disks themselves is None or empty until they are chosen: sizes, ceiling, commands, `erases`.
    """

    name: str
    stack: LayerView | None = None
    problems: tuple[Problem, ...] = ()
    """Reasons why the layout cannot be built; empty if it can."""
    warnings: tuple[str, ...] = ()
    size_bytes: int | None = None
    """Usable capacity."""
    raw_bytes: int | None = None
    """Sum of the capacities of all its disks."""
    may_fail: int | None = None
    """Number of arbitrary disks that may fail without data loss."""
    may_fail_words: str = ""
    """The same in words: `any 1 of the 4 members; the journal: the array goes read-only, nothing is lost`."""
    fails: str = "disk"
    """Unit of `may_fail`: `disk`, or `failure domain` of a cluster."""
    write_penalty: float | None = None
    read_penalty: float | None = None
    """Device reads for one small random read: more than 1 where a block is spread over several disks."""
    small_write: Amplification | None = None
    """Bytes that the disks move for each byte of a random write of 4 KiB that cannot be compressed."""
    large_write: Amplification | None = None
    """The same for sequential writes of 1 MiB, 32 in flight."""
    data_disks: tuple[str, ...] = ()
    """Ids of the disks that keep the data: no journals, caches or spares."""
    stripe_bytes: int | None = None
    ceiling: Ceiling | None = None
    build: tuple[Argv, ...] = ()
    teardown: tuple[Argv, ...] = ()
    erases: tuple[str, ...] = ()
    on_each_of: tuple[str, ...] = ()
    """Hosts that each build the layout from disks of their own: sizes, ceiling and commands are those of one of them, the
    one with the least room; `erases` and `data_disks` have the disks of all. Empty for the storage server.
    """
    hosts_have: str = ""
    """Share of each host that it is exported to: `volumes of its own` or `a region of its own`."""


class HostedView(msgspec.Struct, frozen=True):
    """A workload that other hosts run."""

    layouts: tuple[str, ...]
    """Layouts that are loaded so."""
    command: Argv
    files: dict[str, str]
    """Text of the files that the command reads, by name."""


class WorkloadView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One workload, before it runs."""

    name: str
    words: str = ""
    """`randwrite 4KiB, 1 × 1, fsync 1, 60 s`"""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    command: Argv = ()
    """On layouts that the storage server loads itself."""
    seconds: float = 0.0
    hosted: tuple[HostedView, ...] = ()
    """On layouts that other hosts load."""


class Preview(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to `preview`."""

    schema: str
    """`raidtui.preview/1`"""
    layouts: tuple[LayoutView, ...] = ()
    workloads: tuple[WorkloadView, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Everything that stands between this scenario and a plan."""
    seconds: float | None = None
    """Duration of the whole run; None while there is no plan."""
    writes_bytes: int | None = None
    """At most; None where only the disks' speed bounds it, and while there is no plan."""
    erases: tuple[str, ...] = ()
    cells: int = 0
    ends_early: bool = False
    """Cells and seconds are the most: a ranking leaves out what it no longer needs."""
