"""ZFS pools with one volume or one filesystem in them (zpoolconcepts(7)), built by `zpool` and `zfs`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

from raidtui.base.text import plural
from raidtui.model.convert import Operand
from raidtui.model.plan import Created, Names, TargetKind
from raidtui.model.problem import Problem
from raidtui.model.scenario import Policy
from raidtui.model.units import size_text
from raidtui.stack.amplification import Spread, Writes
from raidtui.stack.context import Context
from raidtui.stack.layer import Action, Doing, Draft, Outcome, Part, Passage, Planned, PlannedTarget, Reading, Shape
from raidtui.stack.zfs import (
    amplification,
    arc,
    build,
    cold,
    dismantle,
    health,
    meaning,
    mounting,
    planning,
    proof,
    rules,
    size,
)
from raidtui.stack.zfs import spec as options
from raidtui.stack.zfs.command import (
    cold_argvs,
    create_argv,
    filesystem_argv,
    has_volume,
    mount_argv,
    undo_argvs,
    volume_argv,
)
from raidtui.stack.zfs.spec import ZpoolSpec
from raidtui.stack.zfs.tuning import CLAIM

_METADATA_BYTES: Final = 64 << 20
"""More than a fresh pool writes to one device: labels, partition table, its own metadata."""


class ZpoolLayer:
    """`{"zpool": {…}}`."""

    kind = "zpool"
    title = "ZFS pool"
    spec = ZpoolSpec
    offers: Final = "block"

    def inputs(self, spec: ZpoolSpec) -> Mapping[str, Operand]:
        return options.operands(spec)

    def check(self, spec: ZpoolSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
        return rules.check(spec, counts, place)

    def words(self, spec: ZpoolSpec, counts: Mapping[str, int]) -> str:
        return meaning.words(spec, counts)

    def defaults(self, spec: ZpoolSpec, counts: Mapping[str, int]) -> Mapping[str, tuple[str, str]]:
        return meaning.defaults(spec)

    def survives(self, spec: ZpoolSpec, counts: Mapping[str, int]) -> Mapping[str, tuple[int, str]]:
        return meaning.survives(spec, counts)

    def reduces(self, spec: ZpoolSpec) -> tuple[str, ...]:
        """ZFS compresses unless it is told not to, and deduplicates where it is told to."""
        words = (("compression", "on", "compresses"), ("dedup", "off", "deduplicates"))
        return tuple(word for name, default, word in words if options.in_force(spec, name, default) != "off")

    def passages(self, spec: ZpoolSpec) -> tuple[Passage, ...]:
        return meaning.passages(spec)

    def memory_bytes(self, spec: ZpoolSpec, reading: Reading) -> int | None:
        """The ARC's limit, while the pool stands."""
        return arc.most_bytes(spec) if arc.keeps(spec, reading) else None

    def cautions(self, spec: ZpoolSpec, below: Collection[str]) -> tuple[str, ...]:
        """ZFS takes any block device, but some of what it is for it can only do on disks of its own."""
        return tuple(
            f"ZFS stands on {kind}: what its checksums find wrong it cannot repair from the copies and parity down there."
            for kind in sorted({"md", "lvm"} & set(below))
        )

    def measured_as(self, spec: ZpoolSpec) -> TargetKind:
        return "block" if spec.dataset is None else "directory"

    def amplifies(self, spec: ZpoolSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
        return amplification.amplifies(spec, counts, writes)

    def shape(self, spec: ZpoolSpec, parts: Mapping[str, tuple[Part, ...]]) -> Shape:
        """Raises ProblemError (`zpool-too-small`)."""
        found, block = planning.groups_of(spec, parts), options.block_bytes(spec)
        return Shape(
            planning.size_bytes(spec, parts),
            meaning.may_fail(found),
            meaning.write_penalty(found, block, options.ashift(spec), options.copies(spec)),
            data_share=size.data_share(found, block, options.ashift(spec)) / options.copies(spec),
        )

    def plan(self, spec: ZpoolSpec, parts: Mapping[str, tuple[Part, ...]], names: Names, policy: Policy) -> Planned:
        """Raises ProblemError: `zpool-too-small`, `zpool-property`, and what this server's ZFS does not know."""
        devices = planning.devices_of(spec, parts)
        planning.refuse(spec, devices)
        planning.refuse_unequal(spec, parts)
        created = names.new("zpool")
        args = planning.arguments(spec, parts, created.name, created.uuid)
        undo, paths = undo_argvs(args), planning.planned_paths(args)
        written = _METADATA_BYTES * len(devices)
        words = meaning.words(spec, planning.counts_of(spec, parts))
        create = Draft("zpool.create", f"Partition {plural(len(devices), 'disk')} and create {words}", args,
                       (create_argv(args, paths),), undo[-1:], created, written, 3.0 + 0.2 * len(devices))  # fmt: skip
        verify = Draft("zpool.verify", "Read pool and properties back", args, seconds=1.0)
        teardown = Draft("zpool.destroy", "Destroy the pool and take its labels and partitions off", args, undo,
                         writes_bytes=written, seconds=3.0)  # fmt: skip
        cold = Draft("zpool.cold", "Export and import the pool, which empties the ARC of it", args,
                     cold_argvs(args, paths), seconds=3.0)  # fmt: skip
        build, teardowns = [create, *_measured(args, created), verify], [teardown]
        if spec.arc_max is not None:
            changed = names.new("arc")
            limit = {"arc_max": spec.arc_max.bytes, "uuid": changed.uuid}
            title = f"Limit the ARC to {spec.arc_max.text}"
            build.insert(0, Draft("zpool.arc", title, limit, creates=changed, seconds=0.5))
            teardowns.append(Draft("zpool.arc-back", "Give the ARC back its limit", limit, seconds=0.5))
        return Planned(
            tuple(build),
            tuple(teardowns),
            (_target(args),),
            _offer(args, devices) if has_volume(args) else None,
            before_cell=(cold,) if policy.caches == "cold" else (),
        )

    @property
    def actions(self) -> Mapping[str, Action]:
        return _ACTIONS


def _measured(args: dict[str, Any], created: Created) -> list[Draft]:
    """The steps that make what is measured in the pool."""
    undo = undo_argvs(args)
    if has_volume(args):
        title = f"Create a volume of {size_text(args['size_bytes'])}"
        return [Draft("zpool.volume", title, args, (volume_argv(args),), undo[:1], created, _METADATA_BYTES, 2.0)]
    title = f"Mount it on {planning.target_path(args)}"
    return [
        Draft("zpool.dataset", "Create a filesystem in it", args, (filesystem_argv(args),), undo[1:2], created,
              _METADATA_BYTES, 2.0),
        Draft("zpool.mount", title, args, (mount_argv(args),), undo[:1], created, seconds=1.0),
    ]  # fmt: skip


def _target(args: dict[str, Any]) -> PlannedTarget:
    where, size_bytes = (args["ref"],), args["size_bytes"]
    if has_volume(args):
        return PlannedTarget(where, (planning.target_path(args),), size_bytes)
    # It compresses unless told not to, and it caches: devices' counters say nothing of what a workload does.
    return PlannedTarget(where, (planning.target_path(args),), size_bytes, kind="directory", counted="no")


def _offer(args: dict[str, Any], devices: list[Part]) -> Part:
    return Part(
        args["ref"],
        planning.target_path(args),
        args["size_bytes"],
        512,
        tuple(args["disks"]),
        discard=True,
        rotational=any(part.rotational for part in devices),
    )


class _Create(Action):
    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        return build.create(context, args)

    def undo(self, context: Context, args: dict[str, Any]) -> Outcome:
        return dismantle.dismantle(context, args)

    def health(self, context: Context, args: dict[str, Any]) -> tuple[str, ...]:
        return health.health(context, args)

    def members(self, context: Context, args: dict[str, Any]) -> Mapping[str, str]:
        return health.members(context, args)

    def relies_on(self, args: dict[str, Any]) -> tuple[str, ...]:
        """They hold for every pool of the server."""
        return (CLAIM,)

    def leaves(self, args: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
        tables = tuple(("gpt", entry["disk_guid"]) for entry in args["devices"] if entry["disk_guid"])
        return (*tables, ("zfs_member", "", args["name"]))


class _Arc(Action):
    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        return arc.limit(context, args)

    def undo(self, context: Context, args: dict[str, Any]) -> Outcome:
        return arc.put_back(context, args)

    def claims(self, args: dict[str, Any]) -> tuple[str, ...]:
        return (CLAIM,)


_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {
        "zpool.arc": _Arc(),
        "zpool.create": _Create(),
        "zpool.volume": Doing(build.create_volume),
        "zpool.dataset": Doing(build.create_filesystem),
        "zpool.mount": Doing(mounting.mount),
        "zpool.verify": Doing(proof.verify),
        "zpool.cold": Doing(cold.make_cold),
        "zpool.destroy": Doing(dismantle.dismantle),
        "zpool.arc-back": Doing(arc.put_back),
    }
)


LAYER = ZpoolLayer()
