"""Options of partitions, and the arguments of their steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.problem import Problem
from raidtui.model.units import Extent
from raidtui.stack.gpt import Partition, Table
from raidtui.stack.tuning.spec import TUNING_NO_DEVICE, Tuning


class PartitionTuning(Tuning, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Kernel settings of the disks of partitions, which have no queues of their own; restored after the run."""

    def problems(self, spec: Any, place: str) -> Iterator[Problem]:
        yield from super().problems(spec, place)
        if self.device is not None:
            text = "a partition has no queue of its own: it has that of its disk"
            yield TUNING_NO_DEVICE.problem(text, place=f"{place}.device", remedy='Tune the disks: "disks".')


class PartitionSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One partition (GPT) of each disk of a role. Several on one role share its disks, in their order in the layout."""

    on: Operand
    """The disks: roles, no layers."""
    use: Annotated[Extent, Meta(examples=["60%", "100GiB"])] = msgspec.field(default_factory=lambda: Extent("100%"))
    """Share of each disk, or a size, down to whole MiB; 100% is all but 2 MiB. What no partition uses is discarded."""
    tuning: PartitionTuning | None = None
    """Kernel settings of the disks while the partitions are used."""


class PlannedPart(msgspec.Struct, frozen=True):
    """A partition."""

    ref: str
    """`partition:NAME-DISKpNUMBER`"""
    guid: str
    """Its PARTUUID."""
    start: int
    """First byte."""
    length: int
    """Length in bytes."""


class DiskTable(msgspec.Struct, frozen=True):
    """The partition table of one disk."""

    disk: str
    """Id of the disk."""
    guid: str
    size_bytes: int
    parts: tuple[PlannedPart, ...]
    """The partitions, from number 1 on."""
    discard: bool
    """True if what no partition uses is discarded."""

    @property
    def ref(self) -> str:
        return f"disk:{self.disk}"

    @property
    def table(self) -> Table:
        return Table(self.guid, tuple(Partition(one.guid, one.start, one.length) for one in self.parts))

    @property
    def end(self) -> int:
        """First byte after the last partition."""
        return self.parts[-1].start + self.parts[-1].length


class Partitions(msgspec.Struct, frozen=True):
    """Arguments of all partition steps: the tables of all disks of a layout that are partitioned."""

    name: str
    uuid: str
    disks: tuple[str, ...]
    """Ids of the disks."""
    tables: tuple[DiskTable, ...]


def part_path(guid: str) -> str:
    """Return the path of a partition, known before it exists."""
    return f"/dev/disk/by-partuuid/{guid}"
