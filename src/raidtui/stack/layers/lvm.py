"""LVM volumes: linear, striped and with redundancy (lvm(8), lvmraid(7)), each in a volume group of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from raidtui.model.convert import Operand
from raidtui.model.plan import Names
from raidtui.model.problem import Problem
from raidtui.model.scenario import Policy
from raidtui.stack.amplification import Spread, Writes
from raidtui.stack.context import Context
from raidtui.stack.layer import Action, Doing, Draft, Outcome, Part, Passage, Planned, PlannedTarget, Shape
from raidtui.stack.lvm import (
    amplification,
    build,
    command,
    dismantle,
    fast,
    health,
    meaning,
    names,
    pool,
    rules,
    size,
    sync,
    verify,
)
from raidtui.stack.lvm.arguments import arguments, target_bytes
from raidtui.stack.lvm.spec import IMAGED, INPUTS, PARITY, REDUNDANT, LvmSpec, inputs

_SYNC_BYTES_S: Final = {True: 120e6, False: 200e6}
"""What an initial sync does in a second, roughly, by rotational; the kernel holds it at 200 MB/s."""
_METADATA_BYTES: Final = 4 << 20
"""More than label, metadata and bitmaps on one physical volume."""
_CACHE_METADATA_BYTES: Final = 64 << 20
_POOL_METADATA_BYTES: Final = 512 << 20
_VDO_BLOCK: Final = 4096


class LvmLayer:
    """`{"lvm": {…}}`."""

    kind = "lvm"
    title = "LVM volume"
    spec = LvmSpec
    offers: Final = "block"

    def inputs(self, spec: LvmSpec) -> Mapping[str, Operand]:
        return inputs(spec)

    def check(self, spec: LvmSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
        return rules.check(spec, counts, place)

    def words(self, spec: LvmSpec, counts: Mapping[str, int]) -> str:
        return meaning.words(spec, counts.get("on", 0))

    def defaults(self, spec: LvmSpec, counts: Mapping[str, int]) -> Mapping[str, tuple[str, str]]:
        return meaning.defaults(spec, counts)

    def survives(self, spec: LvmSpec, counts: Mapping[str, int]) -> Mapping[str, tuple[int, str]]:
        return meaning.survives(spec, counts)

    def amplifies(self, spec: LvmSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
        return amplification.amplifies(spec, counts.get("on", 0), writes)

    def shape(self, spec: LvmSpec, parts: Mapping[str, tuple[Part, ...]]) -> Shape:
        """Raises ProblemError (`lvm-too-small`)."""
        args = arguments(spec, parts, "rtshape", Names("shape"), nosync=False)
        devices = len(parts["on"])
        chunk, stripe = size.stripes(spec, parts["on"])
        return Shape(
            target_bytes(args),
            meaning.may_fail(spec, devices) if _keeps_all(spec) else 0,
            size.write_penalty(spec, devices),
            chunk,
            stripe,
            spec.type in PARITY,
        )

    def cautions(self, spec: LvmSpec, below: Collection[str]) -> tuple[str, ...]:
        return meaning.cautions(spec)

    def passages(self, spec: LvmSpec) -> tuple[Passage, ...]:
        return meaning.passages(spec)

    def reduces(self, spec: LvmSpec) -> tuple[str, ...]:
        vdo = spec.vdo
        found = (("compresses", vdo.compression), ("deduplicates", vdo.deduplication)) if vdo is not None else ()
        return tuple(word for word, does in found if does)

    def plan(self, spec: LvmSpec, parts: Mapping[str, tuple[Part, ...]], names: Names, policy: Policy) -> Planned:
        """Raises ProblemError (`lvm-too-small`, `lvm-sectors`) where the disks do not allow it."""
        created = names.new("lvm")
        skip = _can_skip_sync(spec, parts, policy)
        args = arguments(spec, parts, created.name, names, nosync=skip)
        everything = _in_order(parts)
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
        drafts += _on_top(args, parts, paths)
        drafts.append(Draft("lvm.verify", "Read the volume back", args, seconds=1.0))
        teardown = Draft("lvm.remove", "Remove volume, group and labels", args, undo, seconds=4.0, writes_bytes=written)
        offers = _offers(spec, parts, args)
        target = PlannedTarget((offers.ref,), (offers.path,), offers.size_bytes, counted=_counted(spec))
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

    def members(self, context: Context, args: dict[str, Any]) -> Mapping[str, str]:
        return health.members(context, args)


class _Volume(Action):
    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        return build.create_volume(context, args)

    def health(self, context: Context, args: dict[str, Any]) -> tuple[str, ...]:
        return health.health(context, args)

    def members(self, context: Context, args: dict[str, Any]) -> Mapping[str, str]:
        return health.members(context, args)


_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {
        "lvm.group": _Group(),
        "lvm.volume": _Volume(),
        "lvm.sync": Doing(sync.wait),
        "lvm.cache": Doing(build.attach_cache),
        "lvm.pool": Doing(build.make_pool),
        "lvm.verify": Doing(verify.verify),
        "lvm.remove": Doing(dismantle.dismantle),
    }
)


def _counted(spec: LvmSpec) -> Literal["exactly", "at least"]:
    """A device of dm-raid counts most requests twice: device-mapper does, and md once more on the same device (md.c,
    md_account_bio). What stands on it has a device of its own, which counts once."""
    on_top = (spec.cache, spec.writecache, spec.vdo, spec.thin)
    return "at least" if spec.type in IMAGED - {"mirror"} and not any(on_top) else "exactly"


def _can_skip_sync(spec: LvmSpec, parts: Mapping[str, tuple[Part, ...]], policy: Policy) -> bool:
    """Only whole disks are ever proven zero; and LVM leaves the sync of a raid6 out for nobody."""
    disks_only = all(part.ref.startswith("disk:") for part in parts["on"])
    possible = spec.type in REDUNDANT - {"raid6"} and spec.integrity is None
    return policy.initial_sync == "skip-if-zeroed" and possible and disks_only


def _keeps_all(spec: LvmSpec) -> bool:
    """False where a cache holds what is nowhere else."""
    return spec.writecache is None and (spec.cache is None or spec.cache.mode != "writeback")


def _in_order(parts: Mapping[str, tuple[Part, ...]]) -> tuple[Part, ...]:
    """Every device, in the order of `args["pvs"]`."""
    return tuple(part for name in INPUTS for part in parts.get(name, ()))


def _on_top(args: dict[str, Any], parts: Mapping[str, tuple[Part, ...]], paths: list[str]) -> list[Draft]:
    """What is put on the volume once its images are in sync."""
    undo = command.teardown_argvs(args["name"], paths)
    drafts = []
    if (cache := args["cache"]) is not None:
        on = [part.path for name, role in INPUTS.items() if role == "cache" for part in parts.get(name, ())]
        what = "writecache" if cache["kind"] == "writecache" else f"{cache['mode']} cache"
        drafts.append(Draft("lvm.cache", f"Put a {what} in front of the volume", args, fast.argvs(args, on, paths), undo,
                            writes_bytes=_CACHE_METADATA_BYTES + cache["metadata_bytes"], seconds=4.0))  # fmt: skip
    if names.has_pool(args):
        on = [part.path for part in parts["on"]]
        kind = " and a ".join(word for name, word in (("vdo", "VDO"), ("thin", "thin")) if args[name] is not None)
        drafts.append(Draft("lvm.pool", f"Make it the pool of a {kind} volume", args, pool.argvs(args, on, paths), undo,
                            writes_bytes=_POOL_METADATA_BYTES, seconds=8.0))  # fmt: skip
    return drafts


def _sync_cost(args: dict[str, Any], parts: tuple[Part, ...]) -> tuple[int, float]:
    """Bytes written at most, and seconds roughly: images are read and written side by side."""
    volume = args["volume"]
    each = volume["size_bytes"] // volume["stripes"]
    redundant = volume["areas"] - volume["stripes"]
    return each * redundant, each / _SYNC_BYTES_S[any(part.rotational for part in parts)]


def _offers(spec: LvmSpec, parts: Mapping[str, tuple[Part, ...]], args: dict[str, Any]) -> Part:
    everything = _in_order(parts)
    plain = args["cache"] is None and not names.has_pool(args) and args["integrity"] is None
    blocks = [(args[name] or {}).get("block_bytes", 0) for name in ("cache", "integrity")]
    blocks.append(_VDO_BLOCK if spec.vdo is not None else 0)
    chunk, stripe = size.stripes(spec, parts["on"])
    sector = max(*(part.logical_sector_bytes for part in everything), *blocks)
    return Part(
        args["ref"],
        command.volume_path(args["name"]),
        target_bytes(args),
        sector,
        tuple(dict.fromkeys(disk for part in everything for disk in part.disks)),
        discard=plain and spec.type not in PARITY and all(part.discard for part in parts["on"]),
        rotational=any(part.rotational for part in parts["on"]),
        stripe_bytes=stripe,
        chunk_bytes=chunk,
    )


LAYER = LvmLayer()
