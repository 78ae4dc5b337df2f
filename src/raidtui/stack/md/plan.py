"""md arrays: Linux software RAID (md(4)), built by mdadm through libblockdev."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from raidtui.model.convert import Operand
from raidtui.model.plan import Names
from raidtui.model.problem import fail
from raidtui.model.scenario import Policy
from raidtui.stack.layer import EVERY_WRITE, Draft, Part, Parts, Planned, PlannedTarget, Shape, WritePath
from raidtui.stack.md import describe, rules, size
from raidtui.stack.md.command import create_argv, node_path, stop_argv, zero_argv
from raidtui.stack.md.spec import PARITY, MdSpec, bitmap, chunk_bytes, consistency, layout

_SYNC_BYTES_S: Final = {True: 120e6, False: 500e6}
"""What an initial sync does in a second, roughly, by rotational."""
_METADATA_BYTES: Final = 4 << 20
"""More than superblock, bitmap, bad-block list and partial parity log of one member."""


def inputs(spec: MdSpec) -> Mapping[str, Operand]:
    given = {"on": spec.on, "journal": spec.journal, "spares": spec.spares}
    return {name: operand for name, operand in given.items() if operand is not None}


def write_path(spec: MdSpec) -> tuple[WritePath, ...]:
    """In both modes of the journal: data and parity are in it before they go to the members (raid5-cache.c)."""
    return (WritePath("journal", ("on",), EVERY_WRITE, large=True),) if spec.journal is not None else ()


def shape(spec: MdSpec, parts: Parts) -> Shape:
    """Raises ProblemError (`md-too-small`)."""
    members = len(parts["on"])
    return Shape(
        _size(spec, parts),
        describe.may_fail(spec, members),
        _write_penalty(spec, members),
        chunk_bytes(spec),
        rules.stripe_bytes(spec, members),
        spec.level in PARITY,
    )


def plan(spec: MdSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Raises ProblemError (`md-too-small`, `md-bitmap`) where the disks' sizes do not allow it."""
    size_bytes = _size(spec, parts)
    _check_bitmap_chunk(spec, parts)
    created = names.new("md")
    ref, path = f"md:{created.name}", node_path(created.name)
    skip = _can_skip_sync(spec, parts, policy)
    everything = tuple(part for name in ("on", "spares", "journal") for part in parts.get(name, ()))
    args = _arguments(spec, parts, created.name, created.uuid, size_bytes, skip)
    paths = {name: [part.path for part in parts.get(name, ())] for name in ("on", "spares", "journal")}
    journal = paths["journal"][0] if paths["journal"] else None
    undo = (stop_argv(path), *(zero_argv(part.path) for part in everything))
    drafts = [
        Draft(
            "md.create",
            f"Create {describe.describe(spec, {'on': len(parts['on'])})}",
            args,
            (create_argv(args, paths["on"], paths["spares"], journal),),
            undo,
            created,
            _METADATA_BYTES * len(everything),
            seconds=3.0,
        )
    ]
    if spec.level != "raid0" and not skip:
        written, seconds = _sync_cost(spec, parts)
        drafts.append(Draft("md.sync", "Wait for the initial sync", args, writes_bytes=written, seconds=seconds))
    drafts.append(Draft("md.verify", "Read the array back", args, seconds=0.5))
    offers = Part(
        ref,
        path,
        size_bytes,
        max(part.logical_sector_bytes for part in everything),
        tuple(dict.fromkeys(disk for part in everything for disk in part.disks)),
        discard=spec.level in ("raid0", "raid1", "raid10") and all(part.discard for part in parts["on"]),
        rotational=any(part.rotational for part in parts["on"]),
        stripe_bytes=rules.stripe_bytes(spec, len(parts["on"])),
        chunk_bytes=chunk_bytes(spec),
    )
    teardown = Draft("md.stop", "Stop the array and take its superblocks off", args, undo, seconds=3.0,
                     writes_bytes=_METADATA_BYTES * len(everything))  # fmt: skip
    target = PlannedTarget((ref,), (path,), size_bytes)
    return Planned(tuple(drafts), (teardown,), (target,), offers, needs_zero=skip)


def _arguments(
    spec: MdSpec, parts: Parts, name: str, uuid: str, size_bytes: int, assume_clean: bool
) -> dict[str, Any]:
    """Arguments of every md action: the whole array, so that each can be run, and undone, from its own step alone."""
    everything = [part for group in parts.values() for part in group]
    return {
        "name": name,
        "uuid": uuid,
        "ref": f"md:{name}",
        "level": spec.level,
        "members": [part.ref for part in parts["on"]],
        "spares": [part.ref for part in parts.get("spares", ())],
        "journal": parts["journal"][0].ref if "journal" in parts else None,
        "disks": list(dict.fromkeys(disk for part in everything for disk in part.disks)),
        "paths": {part.ref: part.path for part in everything if not part.ref.startswith("disk:")},
        "metadata": spec.metadata,
        "chunk_bytes": chunk_bytes(spec),
        "layout": layout(spec),
        "consistency": consistency(spec),
        "bitmap": bitmap(spec),
        "bitmap_chunk_bytes": spec.bitmap_chunk.bytes if spec.bitmap_chunk is not None else None,
        "size_bytes": size_bytes,
        "assume_clean": assume_clean,
    }


def _size(spec: MdSpec, parts: Parts) -> int:
    sizes = {name: [part.size_bytes for part in parts.get(name, ())] for name in ("on", "spares", "journal")}
    return size.array_bytes(spec, sizes["on"], sizes["spares"], sizes["journal"][0] if sizes["journal"] else None, "md")


def _can_skip_sync(spec: MdSpec, parts: Parts, policy: Policy) -> bool:
    """Only whole disks are ever proven zero; what another layer offers is not."""
    disks_only = all(part.ref.startswith("disk:") for part in parts["on"])
    return policy.initial_sync == "skip-if-zeroed" and spec.level != "raid0" and disks_only


def _check_bitmap_chunk(spec: MdSpec, parts: Parts) -> None:
    if spec.bitmap_chunk is None:
        return
    sectors = size.component_sectors(spec, [part.size_bytes for part in parts["on"]])
    if spec.bitmap_chunk.bytes < (least := size.bitmap_chunk_minimum(sectors)):
        raise fail("md-bitmap", f"a bitmap chunk of {spec.bitmap_chunk.text} is too small for disks of this size",
                   place="md.bitmap_chunk", remedy=f"At least {least >> 10}KiB.")  # fmt: skip


def _write_penalty(spec: MdSpec, members: int) -> float:
    """Data and parity; once more through a journal; a partial parity log adds one write."""
    if spec.level == "raid0":
        return 1.0
    if spec.level in ("raid1", "raid10"):
        return float(describe.may_fail(spec, members) + 1)
    writes = 1.0 + PARITY[spec.level]
    return writes * 2 if spec.journal is not None else writes + (consistency(spec) == "ppl")


def _sync_cost(spec: MdSpec, parts: Parts) -> tuple[int, float]:
    """Bytes written at most, and seconds roughly: members are read and written side by side."""
    each = 512 * size.component_sectors(spec, [part.size_bytes for part in parts["on"]])
    members = len(parts["on"])
    redundant = {"raid1": members - 1, "raid10": members * (1 - 1 / (describe.may_fail(spec, members) + 1))}
    written = int(each * redundant.get(spec.level, PARITY.get(spec.level, 0)))
    return written, each / _SYNC_BYTES_S[any(part.rotational for part in parts["on"])]
