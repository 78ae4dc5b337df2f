"""ZFS pools with one volume (zpoolconcepts(7)), built by `zpool` and `zfs`."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from raidtui.base.text import plural
from raidtui.model.convert import Operand
from raidtui.model.plan import Names
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.model.scenario import Policy
from raidtui.model.units import size_text
from raidtui.stack.context import Context
from raidtui.stack.layer import Action, Doing, Draft, Outcome, Part, Planned, PlannedTarget, Shape
from raidtui.stack.zfs import arc, build, dismantle, health, meaning, proof, rules, size
from raidtui.stack.zfs import spec as options
from raidtui.stack.zfs.command import (
    create_argv,
    dataset,
    destroy_argv,
    destroy_volume_argv,
    link_path,
    part_path,
    vdev_words,
    volume_argv,
)
from raidtui.stack.zfs.properties import check_known
from raidtui.stack.zfs.spec import Group, ZpoolSpec

_METADATA_BYTES: Final = 64 << 20
"""More than a fresh pool writes to one device: labels, partition table, its own metadata."""
_PARTITIONED: Final = ("disk:", "md:")
"""Devices that can have partitions; the pool takes others as they are."""


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

    def shape(self, spec: ZpoolSpec, parts: Mapping[str, tuple[Part, ...]]) -> Shape:
        """Raises ProblemError (`zpool-too-small`)."""
        found, block = _groups(spec, parts), options.block_bytes(spec)
        return Shape(
            _volume_bytes(spec, parts),
            meaning.may_fail(found),
            meaning.write_penalty(found, block, options.ashift(spec), options.copies(spec)),
        )

    def plan(self, spec: ZpoolSpec, parts: Mapping[str, tuple[Part, ...]], names: Names, policy: Policy) -> Planned:
        """Raises ProblemError: `zpool-too-small`, `zpool-on-zpool`, and what this server's ZFS does not know."""
        devices = _devices(spec, parts)
        _refuse(spec, devices)
        volume_bytes = _volume_bytes(spec, parts)
        created = names.new("zpool")
        args = _arguments(spec, parts, created.name, created.uuid, volume_bytes)
        undo = (destroy_volume_argv(dataset(args)), destroy_argv(created.name))
        written = _METADATA_BYTES * len(devices)
        words = meaning.words(spec, _counts(spec, parts))
        path = link_path(dataset(args))
        paths = [part_path(entry["path"]) if entry["disk_guid"] else entry["path"] for entry in args["devices"]]
        drafts = [
            Draft("zpool.create", f"Partition {plural(len(devices), 'disk')} and create {words}", args,
                  (create_argv(args, paths),), undo[1:], created, written, 3.0 + 0.2 * len(devices)),
            Draft("zpool.volume", f"Create a volume of {size_text(volume_bytes)}", args, (volume_argv(args),),
                  undo[:1], created, _METADATA_BYTES, 2.0),
            Draft("zpool.verify", "Read pool and volume back", args, seconds=1.0),
        ]  # fmt: skip
        teardown = Draft("zpool.destroy", "Destroy the pool and take its labels and partitions off", args, undo,
                         writes_bytes=written, seconds=3.0)  # fmt: skip
        teardowns = [teardown]
        if spec.arc_max is not None:
            changed = names.new("arc")
            limit = {"arc_max": spec.arc_max.bytes, "uuid": changed.uuid}
            title = f"Limit the ARC to {spec.arc_max.text}"
            drafts.insert(0, Draft("zpool.arc", title, limit, creates=changed, seconds=0.5))
            teardowns.append(Draft("zpool.arc-back", "Give the ARC back its limit", limit, seconds=0.5))
        offers = Part(
            args["ref"],
            path,
            volume_bytes,
            512,
            tuple(dict.fromkeys(disk for part in devices for disk in part.disks)),
            discard=True,
            rotational=any(part.rotational for part in devices),
        )
        target = PlannedTarget((args["ref"],), (path,), volume_bytes)
        return Planned(tuple(drafts), tuple(teardowns), (target,), offers)

    @property
    def actions(self) -> Mapping[str, Action]:
        return _ACTIONS


class _Create(Action):
    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        return build.create(context, args)

    def undo(self, context: Context, args: dict[str, Any]) -> Outcome:
        return dismantle.dismantle(context, args)

    def health(self, context: Context, args: dict[str, Any]) -> tuple[str, ...]:
        return health.health(context, args)

    def members(self, context: Context, args: dict[str, Any]) -> Mapping[str, str]:
        return health.members(context, args)

    def leaves(self, args: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
        tables = tuple(("gpt", entry["disk_guid"]) for entry in args["devices"] if entry["disk_guid"])
        return (*tables, ("zfs_member", "", args["name"]))


class _Arc(Action):
    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        return arc.limit(context, args)

    def undo(self, context: Context, args: dict[str, Any]) -> Outcome:
        return arc.put_back(context, args)


_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {
        "zpool.arc": _Arc(),
        "zpool.create": _Create(),
        "zpool.volume": Doing(build.create_volume),
        "zpool.verify": Doing(proof.verify),
        "zpool.destroy": Doing(dismantle.dismantle),
        "zpool.arc-back": Doing(arc.put_back),
    }
)


def _counts(spec: ZpoolSpec, parts: Mapping[str, tuple[Part, ...]]) -> dict[str, int]:
    return {name: len(parts.get(name, ())) for name in options.operands(spec)}


def _groups(spec: ZpoolSpec, parts: Mapping[str, tuple[Part, ...]]) -> list[Group]:
    return options.groups(spec, _counts(spec, parts))


def _devices(spec: ZpoolSpec, parts: Mapping[str, tuple[Part, ...]]) -> list[Part]:
    """In the order that groups count them."""
    return [part for name in options.operands(spec) for part in parts.get(name, ())]


def _leaf_bytes(found: list[Group], devices: list[Part]) -> list[int]:
    """What the pool gets of every device: within a vdev the same of each, because zpool refuses unequal ones."""
    room = [
        size.part_bytes(part.size_bytes) if part.ref.startswith(_PARTITIONED) else part.size_bytes for part in devices
    ]
    for group in found:
        least = min(room[device] for device in group.devices)
        for device in group.devices:
            room[device] = least
    return room


def _volume_bytes(spec: ZpoolSpec, parts: Mapping[str, tuple[Part, ...]]) -> int:
    """The volume's size in whole blocks; a share is of what fits when every block is written."""
    found, block = _groups(spec, parts), options.block_bytes(spec)
    leaves = _leaf_bytes(found, _devices(spec, parts))
    if min(leaves) < size.SMALLEST_BYTES:
        raise fail("zpool-too-small", "a pool takes devices of 64 MiB or more", place="zpool",
                   remedy="Bind larger disks.", exit=Exit.USAGE)  # fmt: skip
    room = size.volume_room(found, leaves, options.ashift(spec), block, options.copies(spec))
    wanted = spec.volume.size.of(room) // block * block
    if wanted < block:
        raise fail("zpool-too-small", "there is no room for a volume", place="zpool.volume.size",
                   remedy="Bind larger disks, or ask for a larger share.", exit=Exit.USAGE)  # fmt: skip
    if wanted > room and not spec.volume.sparse:
        text = f"a volume of {spec.volume.size.text} does not fit: there is room for {size_text(room)}"
        raise fail("zpool-too-small", text, place="zpool.volume.size",
                   remedy='Ask for less, or for a sparse one: "sparse": true.', exit=Exit.USAGE)  # fmt: skip
    return wanted


def _refuse(spec: ZpoolSpec, devices: list[Part]) -> None:
    """What only shows once disks, layers below and the server's ZFS are known."""
    if any(part.ref.startswith("zpool:") for part in devices):
        raise fail("zpool-on-zpool", "a pool on a volume of another pool can hang the machine", place="zpool",
                   remedy="Put it on disks, or on another kind of layer.", exit=Exit.USAGE)  # fmt: skip
    problems = [
        *check_known(spec.properties, "pool", "zpool.properties"),
        *check_known(spec.inherited, "root", "zpool.inherited"),
        *check_known(spec.volume.properties, "volume", "zpool.volume.properties"),
    ]
    if problems:
        raise ProblemError(*problems)


def _arguments(
    spec: ZpoolSpec, parts: Mapping[str, tuple[Part, ...]], name: str, pool_uuid: str, volume_bytes: int
) -> dict[str, Any]:
    """Arguments of every action: the whole pool, so that each can be run, and undone, from its own step alone."""
    found, devices = _groups(spec, parts), _devices(spec, parts)
    room = _leaf_bytes(found, devices)
    roles = {device: group.role for group in found for device in group.devices}
    namespace = uuid.UUID(pool_uuid)
    return {
        "name": name,
        "uuid": pool_uuid,
        "ref": f"zpool:{name}",
        "devices": [
            {
                "ref": part.ref,
                "path": part.path,
                "role": roles[place],
                "disk_guid": str(uuid.uuid5(namespace, f"disk {place}")) if part.ref.startswith(_PARTITIONED) else "",
                "part_guid": str(uuid.uuid5(namespace, f"part {place}")),
                "start": size.PART_START_BYTES,
                "length": room[place],
            }
            for place, part in enumerate(devices)
        ],
        "disks": list(dict.fromkeys(disk for part in devices for disk in part.disks)),
        "groups": [{"role": group.role, "word": group.word, "devices": list(group.devices)} for group in found],
        "words": vdev_words(found),
        "properties": options.pool_properties(spec),
        "inherited": options.root_properties(spec),
        "volume": options.volume_properties(spec),
        "size_bytes": volume_bytes,
        "sparse": spec.volume.sparse,
    }


LAYER = ZpoolLayer()
