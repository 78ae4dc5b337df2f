"""LVM volumes: linear, striped and with redundancy (lvm(8), lvmraid(7)), each in a volume group of its own."""

from __future__ import annotations

from typing import Final, Literal

from raidtui.model.plan import Names
from raidtui.model.scenario import Policy
from raidtui.stack.layer import Draft, Part, Parts, Planned, PlannedTarget, Shape
from raidtui.stack.lvm import command, describe, fast, pool, size
from raidtui.stack.lvm.arguments import arguments
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.lvm.spec import IMAGED, INPUTS, PARITY, REDUNDANT, LvmSpec

_SYNC_BYTES_S: Final = {True: 120e6, False: 200e6}
"""What an initial sync does in a second, roughly, by rotational; the kernel holds it at 200 MB/s."""
_METADATA_BYTES: Final = 4 << 20
"""More than label, metadata and bitmaps on one physical volume."""
_CACHE_METADATA_BYTES: Final = 64 << 20
_POOL_METADATA_BYTES: Final = 512 << 20
_VDO_BLOCK: Final = 4096


def shape(spec: LvmSpec, parts: Parts) -> Shape:
    """Raises ProblemError (`lvm-too-small`)."""
    vg = arguments(spec, parts, "rtshape", Names("shape"), nosync=False)
    devices = len(parts["on"])
    chunk, stripe = size.stripes(spec, parts["on"])
    return Shape(
        vg.target_bytes,
        describe.may_fail(spec, devices) if _keeps_all(spec) else 0,
        size.write_penalty(spec, devices),
        chunk,
        stripe,
        spec.type in PARITY,
    )


def reduces(spec: LvmSpec) -> tuple[str, ...]:
    vdo = spec.vdo
    found = (("compresses", vdo.compression), ("deduplicates", vdo.deduplication)) if vdo is not None else ()
    return tuple(word for word, does in found if does)


def plan(spec: LvmSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Raises ProblemError (`lvm-too-small`, `lvm-sectors`) where the disks do not allow it."""
    created = names.new("lvm")
    skip = _can_skip_sync(spec, parts, policy)
    vg = arguments(spec, parts, created.name, names, nosync=skip)
    everything = _in_order(parts)
    paths = [part.path for part in everything]
    undo = command.teardown_argvs(created.name, paths)
    written = _METADATA_BYTES * len(everything)
    group = tuple(command.pvcreate_argv(pv, path, paths) for pv, path in zip(vg.pvs, paths, strict=True))
    drafts = [
        Draft(
            "lvm.group",
            f"Make {len(everything)} physical volumes and a volume group",
            vg,
            (*group, command.vgcreate_argv(vg, paths)),
            undo,
            created,
            written,
            seconds=1.0 + 0.2 * len(everything),
        ),
        Draft(
            "lvm.volume",
            f"Create a volume, {describe.describe(spec, {'on': len(parts['on'])})}",
            vg,
            (command.volume_argv(vg, [part.path for part in parts["on"]], paths),),
            undo,
            writes_bytes=written,
            seconds=3.0,
        ),
    ]
    if spec.type in REDUNDANT and not skip:
        sync_bytes, seconds = _sync_cost(vg, everything)
        drafts.append(Draft("lvm.sync", "Wait for the initial sync", vg, writes_bytes=sync_bytes, seconds=seconds))
    drafts += _on_top(vg, parts, paths)
    drafts.append(Draft("lvm.verify", "Read the volume back", vg, seconds=1.0))
    teardown = Draft("lvm.remove", "Remove volume, group and labels", vg, undo, seconds=4.0, writes_bytes=written)
    offers = _offers(spec, parts, vg)
    target = PlannedTarget((offers.ref,), (offers.path,), offers.size_bytes, counted=_counted(spec))
    return Planned(tuple(drafts), (teardown,), (target,), offers, needs_zero=skip)


def _counted(spec: LvmSpec) -> Literal["exactly", "at least"]:
    """A device of dm-raid counts most requests twice: device-mapper does, and md once more on the same device (md.c,
    md_account_bio). What stands on it has a device of its own, which counts once."""
    on_top = (spec.cache, spec.writecache, spec.vdo, spec.thin)
    return "at least" if spec.type in IMAGED - {"mirror"} and not any(on_top) else "exactly"


def _can_skip_sync(spec: LvmSpec, parts: Parts, policy: Policy) -> bool:
    """Only whole disks are ever proven zero; and LVM leaves the sync of a raid6 out for nobody."""
    disks_only = all(part.ref.startswith("disk:") for part in parts["on"])
    possible = spec.type in REDUNDANT - {"raid6"} and spec.integrity is None
    return policy.initial_sync == "skip-if-zeroed" and possible and disks_only


def _keeps_all(spec: LvmSpec) -> bool:
    """False where a cache holds what is nowhere else."""
    return spec.writecache is None and (spec.cache is None or spec.cache.mode != "writeback")


def _in_order(parts: Parts) -> tuple[Part, ...]:
    """Every device, in the order of `vg.pvs`."""
    return tuple(part for name in INPUTS for part in parts.get(name, ()))


def _on_top(vg: LvmGroup, parts: Parts, paths: list[str]) -> list[Draft]:
    """What is put on the volume once its images are in sync."""
    undo = command.teardown_argvs(vg.name, paths)
    drafts = []
    if (cache := vg.cache) is not None:
        on = [part.path for name, role in INPUTS.items() if role == "cache" for part in parts.get(name, ())]
        what = "writecache" if cache.kind == "writecache" else f"{cache.mode} cache"
        drafts.append(Draft("lvm.cache", f"Put a {what} in front of the volume", vg, fast.argvs(vg, cache, on, paths), undo,
                            writes_bytes=_CACHE_METADATA_BYTES + cache.metadata_bytes, seconds=4.0))  # fmt: skip
    if vg.has_pool:
        on = [part.path for part in parts["on"]]
        kind = " and a ".join(word for word, built in (("VDO", vg.vdo), ("thin", vg.thin)) if built is not None)
        drafts.append(Draft("lvm.pool", f"Make it the pool of a {kind} volume", vg, pool.argvs(vg, on, paths), undo,
                            writes_bytes=_POOL_METADATA_BYTES, seconds=8.0))  # fmt: skip
    return drafts


def _sync_cost(vg: LvmGroup, parts: tuple[Part, ...]) -> tuple[int, float]:
    """Bytes written at most, and seconds roughly: images are read and written side by side."""
    volume = vg.volume
    each = volume.size_bytes // volume.stripes
    redundant = volume.areas - volume.stripes
    return each * redundant, each / _SYNC_BYTES_S[any(part.rotational for part in parts)]


def _offers(spec: LvmSpec, parts: Parts, vg: LvmGroup) -> Part:
    everything = _in_order(parts)
    plain = vg.cache is None and not vg.has_pool and vg.integrity is None
    blocks = [layer.block_bytes for layer in (vg.cache, vg.integrity) if layer is not None]
    blocks.append(_VDO_BLOCK if spec.vdo is not None else 0)
    chunk, stripe = size.stripes(spec, parts["on"])
    sector = max(*(part.logical_sector_bytes for part in everything), *blocks)
    return Part(
        vg.ref,
        command.volume_path(vg.name),
        vg.target_bytes,
        sector,
        tuple(dict.fromkeys(disk for part in everything for disk in part.disks)),
        discard=plain and spec.type not in PARITY and all(part.discard for part in parts["on"]),
        rotational=any(part.rotational for part in parts["on"]),
        stripe_bytes=stripe,
        chunk_bytes=chunk,
    )
