"""Partition tables as formats, and partitions as devices of blivet, over parted. Runs in the builder's process alone."""

from __future__ import annotations

import os

import parted
from blivet.devices import PartitionDevice
from blivet.errors import DiskLabelCommitError
from blivet.formats.disklabel import DiskLabel
from blivet.size import Size

from raidtui.stack import gpt
from raidtui.stack.builder.libraries import Node, tell
from raidtui.stack.partition.spec import DiskTable


class Label(DiskLabel):
    """A GPT with the planned GUIDs.

    parted decides what is in the table. The bytes are written by `gpt.write_table`, since parted has no call to choose
    GUIDs, and a table with random ones could not be recognized after a crash. The kernel is told once, by `tell_kernel`,
    since parted would run `udevadm settle` each time.
    """

    def __init__(self, table: DiskTable, path: str, *, exists: bool = False) -> None:
        self._table = table
        super().__init__(device=path, label_type="gpt", exists=exists)

    def commit(self) -> None:
        """Write the table as parted has it in memory."""
        try:
            self._write()
        except (OSError, ValueError) as error:
            raise DiskLabelCommitError(error) from error
        self.update_orig_parted_disk()

    def tell_kernel(self) -> None:
        """Have the kernel read the table."""
        fd = os.open(self.device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
        try:
            gpt.reread_partitions(fd)
        finally:
            os.close(fd)

    def _write(self) -> None:
        planned = self._table.table
        sector = int(self.sector_size)
        there = {one.number: (one.geometry.start * sector, one.geometry.length * sector) for one in self.partitions}
        entries = [gpt.Partition("", 0, 0)] * max(there, default=0)
        for number, (start, length) in there.items():
            entries[number - 1] = planned.partitions[number - 1]
            if (start, length) != entries[number - 1][1:3]:
                raise ValueError(f"partition {number} would be at byte {start} with {length} bytes")
        places = (f"{number}:{start}+{length}" for number, (start, length) in there.items())
        tell("DiskLabel.commit", self.device, planned.guid, *places)
        fd = os.open(self.device, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
        try:
            gpt.write_table(fd, self._table.size_bytes, sector, gpt.Table(planned.guid, tuple(entries)))
        finally:
            os.close(fd)


class Partition(PartitionDevice):
    """A partition at the planned place."""

    def __init__(self, disk: Node, label: Label, number: int, start: int, length: int) -> None:
        self._number = number
        super().__init__(f"part{number}", parents=[disk], size=Size(length))
        sector = int(label.sector_size)
        geometry = parted.Geometry(device=label.parted_device, start=start // sector, length=length // sector)
        self.disk = disk
        self._parted_partition = parted.Partition(disk=label.parted_disk, type=parted.PARTITION_NORMAL, geometry=geometry)

    def update_name(self) -> None:
        """Keep the name: the kernel's is read back by the runner."""

    def _wipe(self) -> None:
        """Wipe nothing: the disk was proven blank."""

    def _post_create(self) -> None:
        """Wipe nothing, and wait for nothing: the runner reads the partition back."""
        self.exists = True


def create(table: DiskTable, path: str) -> None:
    """Write a table, and add its partitions one by one."""
    node = Node(path)
    label = Label(table, path)
    node.format = label
    label.create()
    for number, part in enumerate(table.parts, 1):
        Partition(node, label, number, part.start, part.length).create()
    label.tell_kernel()


def remove(table: DiskTable, path: str) -> None:
    """Remove the partitions that the table has, the last first, and the table."""
    node = Node(path)
    label = Label(table, path, exists=True)
    node.format = label
    for one in sorted(label.partitions, key=lambda one: -int(one.number)):
        label.remove_partition(one)
        label.commit()
    tell("DiskLabel.destroy", path)
    label.destroy()
    label.tell_kernel()

