"""LVM volumes: linear, striped and with redundancy (lvm(8), lvmraid(7)), each in a volume group of its own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from raidtui.model.convert import Operand
from raidtui.model.plan import Names
from raidtui.model.problem import Problem
from raidtui.model.scenario import Policy
from raidtui.stack.context import Context
from raidtui.stack.layer import Action, Draft, Outcome, Part, Planned, PlannedTarget, Shape
from raidtui.stack.lvm import build, command, dismantle, health, meaning, proof, rules, size, sync
from raidtui.stack.lvm.arguments import arguments
from raidtui.stack.lvm.spec import PARITY, REDUNDANT, LvmSpec, stripe_size_bytes

_SYNC_BYTES_S: Final = {True: 120e6, False: 200e6}
"""What an initial sync does in a second, roughly, by rotational; the kernel holds it at 200 MB/s."""
_METADATA_BYTES: Final = 4 << 20
"""More than label, metadata and bitmaps on one physical volume."""


class LvmLayer:
    """`{"lvm": {…}}`."""

    kind = "lvm"
    title = "LVM volume"
    spec = LvmSpec
    offers: Final = "block"

    def inputs(self, spec: LvmSpec) -> Mapping[str, Operand]:
        return {"on": spec.on}

    def check(self, spec: LvmSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
        return rules.check(spec, counts, place)

    def words(self, spec: LvmSpec, counts: Mapping[str, int]) -> str:
        return meaning.words(spec, counts.get("on", 0))

    def defaults(self, spec: LvmSpec, counts: Mapping[str, int]) -> Mapping[str, tuple[str, str]]:
        return meaning.defaults(spec, counts)

    def survives(self, spec: LvmSpec, counts: Mapping[str, int]) -> Mapping[str, tuple[int, str]]:
        return meaning.survives(spec, counts)

    def shape(self, spec: LvmSpec, parts: Mapping[str, tuple[Part, ...]]) -> Shape:
        """Raises ProblemError (`lvm-too-small`)."""
        args = arguments(spec, parts, "rtshape", Names("shape"), nosync=False)
        devices = len(parts["on"])
        stripe = stripe_size_bytes(spec)
        return Shape(
            args["volume"]["size_bytes"],
            meaning.may_fail(spec, devices),
            size.write_penalty(spec, devices),
            stripe,
            size.stripe_bytes(spec, devices, stripe),
            spec.type in PARITY,
        )

    def plan(self, spec: LvmSpec, parts: Mapping[str, tuple[Part, ...]], names: Names, policy: Policy) -> Planned:
        """Raises ProblemError (`lvm-too-small`, `lvm-sectors`) where the disks do not allow it."""
        created = names.new("lvm")
        skip = _can_skip_sync(spec, parts, policy)
        args = arguments(spec, parts, created.name, names, nosync=skip)
        everything = tuple(part for group in parts.values() for part in group)
        paths = [part.path for part in everything]
        undo = command.teardown_argvs(created.name, paths)
        written = _METADATA_BYTES * len(everything)
        group = tuple(command.pvcreate_argv(pv, path, paths) for pv, path in zip(args["pvs"], paths, strict=True))
        drafts = [
            Draft(
                "lvm.group",
                f"Make {len(everything)} physical volumes and a volume group",
                args,
                (*group, command.vgcreate_argv(args, paths)),
                undo,
                created,
                written,
                seconds=1.0 + 0.2 * len(everything),
            ),
            Draft(
                "lvm.volume",
                f"Create a volume, {meaning.words(spec, len(parts['on']))}",
                args,
                (command.volume_argv(args, [part.path for part in parts["on"]], paths),),
                undo,
                writes_bytes=written,
                seconds=3.0,
            ),
        ]
        if spec.type in REDUNDANT and not skip:
            sync_bytes, seconds = _sync_cost(args, everything)
            drafts.append(Draft("lvm.sync", "Wait for the initial sync", args, writes_bytes=sync_bytes, seconds=seconds))
        drafts.append(Draft("lvm.verify", "Read the volume back", args, seconds=1.0))
        teardown = Draft("lvm.remove", "Remove volume, group and labels", args, undo, seconds=4.0, writes_bytes=written)
        offers = _offers(spec, parts, args)
        target = PlannedTarget((offers.ref,), (offers.path,), offers.size_bytes)
        return Planned(tuple(drafts), (teardown,), (target,), offers, needs_zero=skip)

    @property
    def actions(self) -> Mapping[str, Action]:
        return _ACTIONS


class _Group(Action):
    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        return build.create_group(context, args)

    def undo(self, context: Context, args: dict[str, Any]) -> Outcome:
        return dismantle.dismantle(context, args)

    def leaves(self, args: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        return tuple(("LVM2_member", pv["uuid"]) for pv in args["pvs"])


class _Volume(Action):
    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        return build.create_volume(context, args)

    def health(self, context: Context, args: dict[str, Any]) -> tuple[str, ...]:
        return health.health(context, args)

    def members(self, context: Context, args: dict[str, Any]) -> Mapping[str, str]:
        return health.members(context, args)


class _Sync(Action):
    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        return sync.wait(context, args)


class _Verify(Action):
    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        return proof.verify(context, args)


class _Remove(Action):
    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        return dismantle.dismantle(context, args)


_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {
        "lvm.group": _Group(),
        "lvm.volume": _Volume(),
        "lvm.sync": _Sync(),
        "lvm.verify": _Verify(),
        "lvm.remove": _Remove(),
    }
)


def _can_skip_sync(spec: LvmSpec, parts: Mapping[str, tuple[Part, ...]], policy: Policy) -> bool:
    """Only whole disks are ever proven zero; and LVM leaves the sync of a raid6 out for nobody."""
    disks_only = all(part.ref.startswith("disk:") for part in parts["on"])
    return policy.initial_sync == "skip-if-zeroed" and spec.type in REDUNDANT - {"raid6"} and disks_only


def _sync_cost(args: dict[str, Any], parts: tuple[Part, ...]) -> tuple[int, float]:
    """Bytes written at most, and seconds roughly: images are read and written side by side."""
    volume = args["volume"]
    each = volume["size_bytes"] // volume["stripes"]
    redundant = volume["areas"] - volume["stripes"]
    return each * redundant, each / _SYNC_BYTES_S[any(part.rotational for part in parts)]


def _offers(spec: LvmSpec, parts: Mapping[str, tuple[Part, ...]], args: dict[str, Any]) -> Part:
    everything = tuple(part for group in parts.values() for part in group)
    return Part(
        args["ref"],
        command.volume_path(args["name"]),
        args["volume"]["size_bytes"],
        max(part.logical_sector_bytes for part in everything),
        tuple(dict.fromkeys(disk for part in everything for disk in part.disks)),
        discard=spec.type not in PARITY and all(part.discard for part in parts["on"]),
        rotational=any(part.rotational for part in parts["on"]),
        stripe_bytes=size.stripe_bytes(spec, len(parts["on"]), stripe_size_bytes(spec)),
    )


LAYER = LvmLayer()
