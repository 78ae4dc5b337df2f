"""Numbers that others measured, as they were published or printed: schema `raidtui.table/1`.

A table holds figures and labels, nothing that raidtui measured itself, and every figure says where it is from. MB is 10⁶
bytes, MiB is 2²⁰.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

TABLE_SCHEMA: Final = "raidtui.table/1"
MAX_TABLE_BYTES: Final = 64 << 20
MAX_FIGURES: Final = 200_000
LARGEST: Final = 1e18
"""No figure is larger, whatever its unit."""

Label = Annotated[str, Meta(max_length=400)]
Text = Annotated[str, Meta(max_length=4000)]
Key = Annotated[str, Meta(min_length=1, max_length=400)]

Metric = Literal[
    "bandwidth", "iops", "latency", "share", "utilisation", "cpu", "amount", "time", "request-size", "depth", "merges",
    "service-time",
]  # fmt: skip
"""`share` is a percentage of another layout's figure; `amount` and `time` are what a rate was counted from."""

RATE_UNITS: Final = MappingProxyType({
    "B/s": 1, "kB/s": 10**3, "MB/s": 10**6, "GB/s": 10**9, "KiB/s": 1 << 10, "MiB/s": 1 << 20, "GiB/s": 1 << 30,
    "Mbit/s": 125_000, "Gbit/s": 125_000_000,
})  # fmt: skip
"""Bytes per second of each unit."""
SIZE_UNITS: Final = MappingProxyType({
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
    "TiB": 1 << 40, "sectors": 512,
})  # fmt: skip
TIME_UNITS: Final = MappingProxyType({"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0})

Unit = Literal[
    "IOPS", "B/s", "kB/s", "MB/s", "GB/s", "KiB/s", "MiB/s", "GiB/s", "Mbit/s", "Gbit/s",
    "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "sectors", "ns", "us", "ms", "s", "%", "cores", "operations",
]  # fmt: skip

UNITS_OF: Final[Mapping[Metric, frozenset[str]]] = MappingProxyType({
    "bandwidth": frozenset(RATE_UNITS), "iops": frozenset({"IOPS"}), "latency": frozenset(TIME_UNITS),
    "share": frozenset({"%"}), "utilisation": frozenset({"%"}), "cpu": frozenset({"%", "cores"}),
    "amount": frozenset({*SIZE_UNITS, "operations"}), "time": frozenset(TIME_UNITS), "request-size": frozenset(SIZE_UNITS),
    "depth": frozenset({"operations"}), "merges": frozenset({"IOPS"}), "service-time": frozenset(TIME_UNITS),
})  # fmt: skip
"""Allowed units of each metric."""

Pattern = Literal["read", "write", "mixed"]


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Description of a workload by its source. Unstated properties are None."""

    label: Label = ""
    """Published name; empty if it is the key."""
    pattern: Pattern | None = None
    random: bool | None = None
    block_bytes: Annotated[int, Meta(ge=1, le=1 << 40)] | None = None
    """Bytes that one operation moves."""
    iodepth: Annotated[int, Meta(ge=1)] | None = None
    numjobs: Annotated[int, Meta(ge=1)] | None = None
    fsync: Annotated[int, Meta(ge=0)] | None = None
    """fsync after every so many writes; 0 never."""
    read_percent: Annotated[float, Meta(ge=0, le=100)] | None = None
    random_percent: Annotated[float, Meta(ge=0, le=100)] | None = None
    command: Text = ""
    """Command, or the source's definition of the workload, verbatim. Never executed."""
    place: Label = ""
    """Place of the command in the source."""


class Subject(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Measured object: a layout, or one disk."""

    label: Label = ""
    """Published name; empty if it is the key."""
    like: Label = ""
    """Equal for disks (or other things) that should perform alike: their model and how they are attached."""
    command: Text = ""
    """Commands that built it, verbatim. Never executed."""
    place: Label = ""


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One number."""

    layout: Key
    """A key of `layouts`."""
    workload: Key
    """A key of `workloads`."""
    metric: Metric
    value: float
    unit: Unit
    text: Annotated[str, Meta(max_length=60)] = ""
    """The number as it was published: its digits say how exact it is."""
    place: Label = ""
    """File and line of the number."""
    direction: Literal["", "read", "write", "trim"] = ""
    """Direction, for a number of one direction of a mix."""
    of: Label = ""
    """For a share: the layout that is 100 %."""
    statistic: Literal["", "mean", "p50", "p99", "p99.9", "max"] = ""
    """For a latency."""
    rough: bool = False
    """Published as about so much."""
    round: Annotated[int, Meta(ge=1)] = 1


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A sentence of the source that says how far apart two layouts are at most."""

    sentence: Label
    within_percent: Annotated[float, Meta(ge=0, le=1000)]
    pairs: tuple[tuple[Key, Key], ...]
    """Layouts that are compared: each second with its first."""
    place: Label = ""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Figures of one source."""

    schema: Literal["raidtui.table/1"]
    name: Key
    title: Label = ""
    source: Label = ""
    """Publication, or the tool that printed the numbers."""
    kind: Literal["published", "printed"] = "published"
    """Copied by people, or read from what a tool printed."""
    date: Label = ""
    host: Label = ""
    notes: tuple[Text, ...] = ()
    captions: dict[Label, Label] = {}
    """Tables of the source: the place at which each begins, and its caption or number."""
    layouts: dict[Key, Subject] = {}
    workloads: dict[Key, Asked] = {}
    figures: Annotated[tuple[Figure, ...], Meta(max_length=MAX_FIGURES)] = ()
    claims: tuple[Claim, ...] = ()


class Finding(msgspec.Struct, frozen=True):
    """Something that contradicts itself. `code` is stable and known to `raidtui explain`."""

    code: str
    where: str
    """Layout, workload and place in the source."""
    sentence: str
    published: float | str
    """Published value, in its unit."""
    computed: float | str
    """Value that follows from the other figures, in the same unit."""
    kind: str = ""
    """Statement about all findings of its kind, in the plural: `labels say another queue depth than their commands`."""
    evidence: str = ""
    """The part of the sentence that is about this finding alone; empty if that is the whole sentence."""
    among: int = 0
    """Number of figures that were looked at for this kind, contradicted or not; 0 if they are not counted."""


class FindingGroup(msgspec.Struct, frozen=True):
    """All findings of one file, code and kind."""

    file: str
    code: str
    sentence: str
    where: tuple[str, ...]
    """Layout, workload and place of each, in the order of the file."""


class Findings(msgspec.Struct, frozen=True):
    """Output of `raidtui lint --json`."""

    schema: str
    """`raidtui.findings/1`"""
    findings: tuple[Finding, ...]
    groups: tuple[FindingGroup, ...]
    """The same findings, those of one kind together."""
