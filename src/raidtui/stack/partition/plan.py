"""Plans of partitions: refusals, sizes, and the steps that write and erase the tables of a whole layout.

A table is written once, before anything stands on the disk, with all partitions that the layout has on it.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from raidtui.base.text import plural
from raidtui.model.convert import Operand
from raidtui.model.plan import Argv, Names
from raidtui.model.problem import Problem, ProblemError, Refusal
from raidtui.model.scenario import Policy
from raidtui.model.units import size_text
from raidtui.stack import gpt
from raidtui.stack.amplification import Spread, Writes, copies
from raidtui.stack.gpt import MIB
from raidtui.stack.layer import Counts, Draft, Part, Parts, Planned, Shape, Shared, all_at_once, layers_below
from raidtui.stack.partition.spec import DiskTable, Partitions, PartitionSpec, PlannedPart, part_path
from raidtui.stack.tuning.spec import TUNING_TWICE

_MOST_PARTS: Final = 128

PARTITION_DISKS: Final = Refusal(
    "partition-disks",
    "Only disks are partitioned",
    "A partition is a part of each disk of a role. Layers are not partitioned; LVM divides them.",
    'Name roles: {"partition": {"on": "@fast", "use": "10%"}}.',
)
PARTITION_SHARES: Final = Refusal(
    "partition-shares",
    "The partitions are larger than their disk",
    "The partitions that a layout has on one disk share its room, which is all but 2 MiB.",
    "Lower the shares or sizes (`use`) of the partitions on this role, so that their sum is at most 100 %.",
)
PARTITION_SMALL: Final = Refusal(
    "partition-too-small",
    "The partition is too small",
    "A partition has whole MiB, one at least.",
    "Ask for a larger share or size, or bind a larger disk.",
)


def inputs(spec: PartitionSpec) -> Mapping[str, Operand]:
    return {"on": spec.on}


def check(spec: PartitionSpec, counts: Counts, place: str) -> list[Problem]:
    problems = []
    for kind, _ in layers_below(spec.on.raw):
        text = f"a partition stands on disks; here is a {kind}"
        problems.append(PARTITION_DISKS.problem(text, place=f"{place}.on", remedy=PARTITION_DISKS.way_out))
    if spec.use.bytes is not None and spec.use.bytes < MIB:
        text = f"{spec.use.text} is less than 1 MiB"
        problems.append(PARTITION_SMALL.problem(text, place=f"{place}.use", remedy=PARTITION_SMALL.way_out))
    return problems


def refuse_together(found: Sequence[tuple[PartitionSpec, str]]) -> Iterator[Problem]:
    """Yield problems of roles of which more than 100 % are used, as far as shares tell it."""
    used: dict[str, list[tuple[PartitionSpec, str]]] = defaultdict(list)
    for spec, place in found:
        for role in _roles(spec.on.raw):
            used[role].append((spec, place))
    for role, ones in used.items():
        total = round(sum(spec.use.percent or 0.0 for spec, _ in ones), 6)
        sizes = [spec.use.text for spec, _ in ones if spec.use.bytes]
        if len(tuned := [place for spec, place in ones if spec.tuning is not None]) > 1:
            text = f"the disks of {role} are tuned by {tuned[0]} already"
            yield TUNING_TWICE.problem(text, place=f"{tuned[1]}.tuning", remedy="Tune them in one place.")
        if total > 100 or (total == 100 and sizes) or len(ones) > _MOST_PARTS:
            text = f"{plural(len(ones), 'partition')} use {' and '.join([f'{total:g} %', *sizes])} of each disk of {role}"
            yield PARTITION_SHARES.problem(text, place=f"{ones[-1][1]}.use", remedy=PARTITION_SHARES.way_out)


def _roles(raw: Any) -> Iterator[str]:
    for one in raw if isinstance(raw, list) else [raw]:
        if isinstance(one, str):
            yield one


def describe(spec: PartitionSpec, counts: Counts) -> str:
    """Return a short description: `60% of each of 4 disks`."""
    count = counts.get("on", 0)
    return f"{spec.use.text} of " + (f"each of {plural(count, 'disk')}" if count != 1 else "1 disk")


def defaults(spec: PartitionSpec, counts: Counts) -> Mapping[str, tuple[str, str]]:
    return {"use": ("100%", "the whole disk")}


def tolerates_failures(spec: PartitionSpec, counts: Counts) -> Mapping[str, tuple[int, str]]:
    return {"on": (0, "")}


def amplifies(spec: PartitionSpec, counts: Counts, writes: Writes) -> Spread:
    return Spread({"on": copies(1, writes)}, "a part of the disk, 1")


def devices(spec: PartitionSpec, counts: Counts) -> int:
    return counts.get("on", 0)


def length_bytes(spec: PartitionSpec, disk: Part) -> int:
    """Return the length of the partition on a disk."""
    return spec.use.of(gpt.room_bytes(disk.size_bytes)) // MIB * MIB


def shape(spec: PartitionSpec, parts: Parts) -> Shape:
    """Return the shape; the size is that of all partitions together."""
    return Shape(sum(length_bytes(spec, disk) for disk in parts["on"]), 0, 1.0, data_share=1.0)


def plan(spec: PartitionSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Return the plan of partitions that are alone on their disks. Raises ProblemError."""
    return plan_together([Shared(spec, parts, "partition")], names, policy)[0]


def plan_together(shared: Sequence[Shared[PartitionSpec]], names: Names, policy: Policy) -> list[Planned]:
    """Return the plans of all partitions of a layout. Raises ProblemError (`partition-shares`, `partition-too-small`)."""
    created = names.new("partition")
    namespace = uuid.UUID(created.uuid)
    disks: dict[str, Part] = {}
    tables: dict[str, list[PlannedPart]] = {}
    offers: list[list[Part]] = []
    problems: dict[Problem, None] = {}
    for one in shared:
        offers.append([])
        for disk in one.parts["on"]:
            (id_,) = disk.disks
            disks[id_] = disk
            parts = tables.setdefault(id_, [])
            start = parts[-1].start + parts[-1].length if parts else gpt.FIRST_BYTE
            length = length_bytes(one.spec, disk)
            problems |= dict.fromkeys(_misfits(one, disk, start, length))
            guid = str(uuid.uuid5(namespace, f"part {len(parts) + 1} of {id_}"))
            ref = f"partition:{created.name}-{len(tables)}p{len(parts) + 1}" if not parts else _next_ref(parts[-1].ref)
            parts.append(PlannedPart(ref, guid, start, length))
            offers[-1].append(disk._replace(ref=ref, path=part_path(guid), size_bytes=length))
    if problems:
        raise ProblemError(*problems)
    made = Partitions(
        name=created.name,
        uuid=created.uuid,
        disks=tuple(disks),
        tables=tuple(
            DiskTable(id_, str(uuid.uuid5(namespace, f"disk {id_}")), disks[id_].size_bytes, tuple(parts),
                      _has_rest(disks[id_], parts) and disks[id_].discard)
            for id_, parts in tables.items()
        ),
    )  # fmt: skip
    paths = {id_: disk.path for id_, disk in disks.items()}
    undo = remove_argvs(made, paths)
    steps = (
        Draft("partition.create", _title(made, disks), made, create_argvs(made, paths), undo, created,
              len(made.tables) * 2 * MIB, 2.0 + 0.5 * len(made.tables)),
        Draft("partition.verify", "Read the partitions back", made, seconds=1.0),
    )  # fmt: skip
    remove = Draft("partition.remove", f"Remove the partitions of {plural(len(disks), 'disk')}", made, undo,
                   writes_bytes=len(made.tables) * 2 * MIB, seconds=1.0 + 0.5 * len(made.tables))  # fmt: skip
    planned = [Planned((), (), (all_at_once(found),), tuple(found)) for found in offers]
    planned[0] = planned[0]._replace(build=steps, teardown=(remove,))
    return planned


def _next_ref(ref: str) -> str:
    before, _, number = ref.rpartition("p")
    return f"{before}p{int(number) + 1}"


def _misfits(one: Shared[PartitionSpec], disk: Part, start: int, length: int) -> Iterator[Problem]:
    name, place = disk.ref.partition(":")[2], f"{one.place}.use"
    left = max(0, gpt.FIRST_BYTE + gpt.room_bytes(disk.size_bytes) - start)
    if length < MIB:
        text = f"{one.spec.use.text} of disk {name} is less than 1 MiB"
        yield PARTITION_SMALL.problem(text, place=place, remedy=PARTITION_SMALL.way_out)
    elif length > left:
        text = f"a partition of {size_text(length)} does not fit on disk {name}: there is room for {size_text(left)}"
        yield PARTITION_SHARES.problem(text, place=place, remedy=PARTITION_SHARES.way_out)


def _has_rest(disk: Part, parts: Sequence[PlannedPart]) -> bool:
    return parts[-1].start + parts[-1].length < gpt.FIRST_BYTE + gpt.room_bytes(disk.size_bytes)


def _title(made: Partitions, disks: Mapping[str, Part]) -> str:
    """Return `Partition 2 disks: 100 MiB + 300 MiB; discard the rest`."""
    sizes = dict.fromkeys(" + ".join(size_text(one.length) for one in table.parts) for table in made.tables)
    text = f"Partition {plural(len(disks), 'disk')}: {' or '.join(sizes)}"
    rest = [table for table in made.tables if _has_rest(disks[table.disk], table.parts)]
    if not rest:
        return text
    if all(table.discard for table in rest):
        return f"{text}; discard the rest"
    return f"{text}; the rest stays as it is on disks that cannot discard"


def create_argvs(made: Partitions, paths: Mapping[str, str]) -> tuple[Argv, ...]:
    """Return the commands for what is done: blkdiscard's for the rest, and sgdisk's for what blivet does by parted."""
    argvs: list[Argv] = []
    for table in made.tables:
        path = paths[table.disk]
        if table.discard:
            argvs.append(discard_argv(table, path))
        options = [f"--disk-guid={table.guid}"]
        for number, part in enumerate(table.parts, 1):
            options.append(f"--new={number}:{part.start >> 10}K:+{part.length >> 10}K")
            options.append(f"--partition-guid={number}:{part.guid}")
        argvs.append(("sgdisk", *options, path))
    return tuple(argvs)


def discard_argv(table: DiskTable, path: str) -> Argv:
    """Return the command for the discard of what no partition uses."""
    offset, length = rest_of(table)
    return ("blkdiscard", "--offset", str(offset), "--length", str(length), path)


def remove_argvs(made: Partitions, paths: Mapping[str, str]) -> tuple[Argv, ...]:
    """Return sgdisk's commands for the removal."""
    return tuple(("sgdisk", "--zap-all", paths[table.disk]) for table in made.tables)


def rest_of(table: DiskTable) -> tuple[int, int]:
    """Return offset and length of what lies after the last partition, before the backup of the table."""
    return table.end, gpt.FIRST_BYTE + gpt.room_bytes(table.size_bytes) - table.end
