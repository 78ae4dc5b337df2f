"""bcache: a fast device that caches a slow one, made by make-bcache and the files of sysfs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final

from raidtui.model.convert import Operand
from raidtui.model.plan import Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.bcache import describe
from raidtui.stack.bcache.command import create_argvs, detach_argv, node_path, remove_argvs, tune_argvs
from raidtui.stack.bcache.rules import BLOCK, LARGEST_BLOCK, LEAST_BUCKETS, TOO_SMALL
from raidtui.stack.bcache.spec import KIB, BcacheDevice, BcacheSpec, CacheSettings, Role
from raidtui.stack.layer import Draft, Part, Parts, Planned, PlannedTarget, Shape

_METADATA_BYTES: Final = 64 << 20
"""Upper limit of the bytes for superblocks, journal, and the priorities of the buckets of a new cache."""


def inputs(spec: BcacheSpec) -> Mapping[str, Operand]:
    return {"on": spec.on, "cache": spec.cache}


def shape(spec: BcacheSpec, parts: Parts) -> Shape:
    """Raises ProblemError (`bcache-too-small`, `bcache-block`)."""
    _refuse(spec, parts)
    below = _offers(spec, parts, "", "")
    return Shape(below.size_bytes, 0, describe.write_penalty(spec), below.chunk_bytes, below.stripe_bytes)


def plan(spec: BcacheSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Raises ProblemError (`bcache-too-small`, `bcache-block`)."""
    _refuse(spec, parts)
    created = names.new("bcache")
    cached = _cached_device(spec, parts, created.name, created.uuid)
    backing, cache = parts["on"][0], parts["cache"][0]
    undo = remove_argvs(cached, backing.path, cache.path)
    build_drafts = (
        Draft("bcache.create", f"Make superblocks of the planned UUIDs, register them: {describe.describe(spec, {})}",
              cached, create_argvs(cached, backing.path, cache.path), undo, created, _METADATA_BYTES, 3.0),
        Draft("bcache.tune", "Set how the cache works", cached, tune_argvs(cached), seconds=0.5),
        Draft("bcache.verify", "Read the cached device back", cached, seconds=0.5),
    )  # fmt: skip
    # What is dirty at the end depends on what was measured: at most the whole cache, at the pace of the backing device.
    dirty = min(cache.size_bytes, backing.size_bytes) if spec.mode == "writeback" else 0
    teardown = (
        Draft("bcache.detach", "Write dirty data back and take the cache off", cached, (detach_argv(cached),),
              writes_bytes=dirty, seconds=2.0),
        Draft("bcache.remove", "Stop the device and its set, and take the superblocks off", cached, undo,
              writes_bytes=_METADATA_BYTES, seconds=4.0),
    )  # fmt: skip
    offers = _offers(spec, parts, cached.ref, node_path(cached.devices[0].uuid))
    target = PlannedTarget((offers.ref,), (offers.path,), offers.size_bytes)
    return Planned(build_drafts, teardown, (target,), (offers,))


def _offers(spec: BcacheSpec, parts: Parts, ref: str, path: str) -> Part:
    """The device that a layer above may stand on. Stripes below are only stripes above where data begins with one."""
    backing, cache = parts["on"][0], parts["cache"][0]
    offset = spec.data_offset_bytes
    aligned = backing.stripe_bytes is not None and offset % backing.stripe_bytes == 0
    return Part(
        ref,
        path,
        backing.size_bytes - offset,
        _block(spec, parts),
        tuple(dict.fromkeys((*backing.disks, *cache.disks))),
        discard=backing.discard,
        rotational=backing.rotational,
        stripe_bytes=backing.stripe_bytes if aligned else None,
        chunk_bytes=backing.chunk_bytes if aligned else None,
    )


def _block(spec: BcacheSpec, parts: Parts) -> int:
    """Return the block of the new device; by default the larger logical sector of both devices."""
    sectors = [part.logical_sector_bytes for name in ("on", "cache") for part in parts[name]]
    return spec.block.bytes if spec.block is not None else max(sectors)


def _cached_device(spec: BcacheSpec, parts: Parts, name: str, set_uuid: str) -> BcacheDevice:
    roles = {"backing": parts["on"][0], "cache": parts["cache"][0]}
    return BcacheDevice(
        name=name,
        uuid=set_uuid,
        ref=f"bcache:{name}",
        devices=tuple(Role(part.ref, role, str(uuid.uuid5(uuid.UUID(set_uuid), role))) for role, part in roles.items()),
        disks=tuple(dict.fromkeys(disk for part in roles.values() for disk in part.disks)),
        paths={part.ref: part.path for part in roles.values() if not part.ref.startswith("disk:")},
        mode=spec.mode,
        bucket_bytes=spec.bucket_bytes,
        block_bytes=_block(spec, parts),
        data_offset_bytes=spec.data_offset.bytes if spec.data_offset is not None else None,
        replacement=spec.replacement,
        congestion=spec.congestion,
        discard=spec.discard,
        settings=CacheSettings(
            sequential_cutoff=spec.sequential_cutoff.bytes if spec.sequential_cutoff is not None else None,
            writeback_percent=spec.writeback_percent,
            writeback_delay=int(spec.writeback_delay.seconds) if spec.writeback_delay is not None else None,
        ),
        size_bytes=parts["on"][0].size_bytes - spec.data_offset_bytes,
    )


def _refuse(spec: BcacheSpec, parts: Parts) -> None:
    """Raise ProblemError if the sizes or sectors of the devices do not allow bcache."""
    backing, cache = parts["on"][0], parts["cache"][0]
    problems = []
    bucket, block = spec.bucket_bytes, _block(spec, parts)
    buckets = cache.size_bytes // bucket
    if buckets < LEAST_BUCKETS:
        text = f"the cache has room for {buckets} buckets of {bucket // KIB} KiB, and needs at least {LEAST_BUCKETS}"
        remedy = "Choose a smaller bucket or larger disk."
        problems.append(TOO_SMALL.problem(text, place="bcache.cache", remedy=remedy))
    if backing.size_bytes < 2 * spec.data_offset_bytes + block:
        text = "the backing device has no room behind its superblock"
        problems.append(TOO_SMALL.problem(text, place="bcache.on", remedy="Bind a larger disk."))
    sector = max(backing.logical_sector_bytes, cache.logical_sector_bytes)
    if block < sector or block > min(LARGEST_BLOCK, bucket):
        text = f"a block of {block} bytes is not between the devices' logical sectors of {sector} bytes and 4KiB"
        problems.append(BLOCK.problem(text, place="bcache.block", remedy="Leave block out, or bind other disks."))
    if problems:
        raise ProblemError(*problems)
