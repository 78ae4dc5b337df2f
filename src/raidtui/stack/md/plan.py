"""Plans of md arrays: steps, sizes, and the commands that libblockdev will execute.

libblockdev always adds `--run`, without which mdadm would ask questions on a terminal; the gate has checked before that
the disks are free. No other module writes `--run`, and no command of raidtui has `--force`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.model.convert import Operand
from raidtui.model.plan import Argv, Names
from raidtui.model.problem import fail
from raidtui.model.scenario import Policy
from raidtui.stack import sync
from raidtui.stack.layer import Draft, Part, Parts, Planned, PlannedTarget, Shape
from raidtui.stack.md import describe, rules, size
from raidtui.stack.md.spec import PARITY, MdArray, MdSpec, bitmap, chunk_bytes, consistency, layout, layout_option

_SYNC_BYTES_S: Final = {True: 120e6, False: 500e6}
"""Estimated bytes per second of an initial sync, by rotational."""
_METADATA_BYTES: Final = 4 << 20
"""Upper bound for superblock, bitmap, bad-block list and partial parity log of one member."""


def inputs(spec: MdSpec) -> Mapping[str, Operand]:
    given = {"on": spec.on, "journal": spec.journal, "spares": spec.spares}
    return {name: operand for name, operand in given.items() if operand is not None}


def shape(spec: MdSpec, parts: Parts) -> Shape:
    """Return the shape. Raises ProblemError (`md-too-small`)."""
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
    """Return steps and target. Raises ProblemError (`md-too-small`, `md-bitmap`) if the disks are too small."""
    size_bytes = _size(spec, parts)
    _check_bitmap_chunk(spec, parts)
    created = names.new("md")
    ref, path = f"md:{created.name}", node_path(created.name)
    skip = _can_skip_sync(spec, parts, policy)
    everything = _in_order(parts)
    disks = tuple(dict.fromkeys(disk for part in everything for disk in part.disks))
    array = MdArray(
        name=created.name,
        uuid=created.uuid,
        ref=ref,
        level=spec.level,
        members=tuple(part.ref for part in parts["on"]),
        spares=tuple(part.ref for part in parts.get("spares", ())),
        journal=parts["journal"][0].ref if "journal" in parts else None,
        disks=disks,
        paths={part.ref: part.path for part in everything if not part.ref.startswith("disk:")},
        metadata=spec.metadata,
        chunk_bytes=chunk_bytes(spec),
        layout=layout(spec),
        consistency=consistency(spec),
        bitmap=bitmap(spec),
        bitmap_chunk_bytes=spec.bitmap_chunk.bytes if spec.bitmap_chunk is not None else None,
        size_bytes=size_bytes,
        assume_clean=skip,
    )
    undo = (stop_argv(path), *(zero_argv(part.path) for part in everything))
    title = f"Create {describe.describe(spec, {'on': len(parts['on'])})}"
    written = _METADATA_BYTES * len(everything)
    drafts = [Draft("md.create", title, array, (_planned_argv(array, parts),), undo, created, written, seconds=3.0)]
    if spec.level != "raid0" and not skip:
        sync_bytes, seconds = _sync_cost(spec, parts)
        title = sync.wait_title(parts["on"], policy)
        drafts.append(Draft("md.sync", title, array, writes_bytes=sync_bytes, seconds=seconds))
    drafts.append(Draft("md.verify", "Read the array back", array, seconds=0.5))
    stop = Draft("md.stop", "Stop the array and erase its superblocks", array, undo, writes_bytes=written, seconds=3.0)
    offers = Part(
        ref,
        path,
        size_bytes,
        max(part.logical_sector_bytes for part in everything),
        disks,
        discard=spec.level in ("raid0", "raid1", "raid10") and all(part.discard for part in parts["on"]),
        rotational=any(part.rotational for part in parts["on"]),
        stripe_bytes=rules.stripe_bytes(spec, len(parts["on"])),
        chunk_bytes=chunk_bytes(spec),
    )
    return Planned(tuple(drafts), (stop,), (PlannedTarget((ref,), (path,), size_bytes),), (offers,), needs_zero=skip)


def _in_order(parts: Parts) -> list[Part]:
    return [part for name in ("on", "spares", "journal") for part in parts.get(name, ())]


def _planned_argv(array: MdArray, parts: Parts) -> Argv:
    paths = {name: [part.path for part in parts.get(name, ())] for name in ("on", "spares", "journal")}
    return create_argv(array, paths["on"], paths["spares"], next(iter(paths["journal"]), None))


def _size(spec: MdSpec, parts: Parts) -> int:
    sizes = {name: [part.size_bytes for part in parts.get(name, ())] for name in ("on", "spares", "journal")}
    return size.array_bytes(spec, sizes["on"], sizes["spares"], next(iter(sizes["journal"]), None))


def _can_skip_sync(spec: MdSpec, parts: Parts, policy: Policy) -> bool:
    """Return True if the initial sync may be skipped."""
    return policy.initial_sync == "skip-if-zeroed" and spec.level != "raid0" and sync.are_disks(parts["on"])


def _check_bitmap_chunk(spec: MdSpec, parts: Parts) -> None:
    if spec.bitmap_chunk is None:
        return
    least = size.bitmap_chunk_minimum(size.component_sectors(spec, [part.size_bytes for part in parts["on"]]))
    if spec.bitmap_chunk.bytes < least:
        raise fail(rules.BITMAP, f"a bitmap chunk of {spec.bitmap_chunk.text} is too small for disks of this size",
                   place="md.bitmap_chunk", remedy=f"At least {least >> 10}KiB.")  # fmt: skip


def _write_penalty(spec: MdSpec, members: int) -> float:
    """Return the device writes for one small write; a journal doubles data and parity, a partial parity log adds one."""
    if spec.level not in PARITY:
        return float(describe.may_fail(spec, members) + 1)
    writes = 1.0 + PARITY[spec.level]
    return writes * 2 if spec.journal is not None else writes + (consistency(spec) == "ppl")


def _sync_cost(spec: MdSpec, parts: Parts) -> tuple[int, float]:
    """Return the most bytes written, and the estimated seconds; members are read and written in parallel."""
    each = size.SECTOR * size.component_sectors(spec, [part.size_bytes for part in parts["on"]])
    members = len(parts["on"])
    redundant = {"raid1": members - 1, "raid10": members * (1 - 1 / (describe.may_fail(spec, members) + 1))}
    written = int(each * redundant.get(spec.level, PARITY.get(spec.level, 0)))
    return written, each / _SYNC_BYTES_S[any(part.rotational for part in parts["on"])]


def mdadm_uuid(uuid: str) -> str:
    """Return the UUID as mdadm writes it: `a:b:c:d`."""
    digits = uuid.replace("-", "").replace(":", "")
    return ":".join(digits[i : i + 8] for i in range(0, 32, 8))


def node_path(name: str) -> str:
    """Return the path that udev gives an array of this name."""
    return f"/dev/md/{name}"


def create_extra(array: MdArray, journal: str | None) -> dict[str, str]:
    """Return the options of `--create` for which libblockdev has no parameters."""
    extra = {}
    if array.layout is not None:
        extra["--layout"] = layout_option(array.layout)
    if array.consistency is not None:
        extra["--consistency-policy"] = array.consistency
    if array.bitmap_chunk_bytes is not None:
        extra["--bitmap-chunk"] = f"{array.bitmap_chunk_bytes // 1024}K"
    if array.assume_clean:
        extra["--assume-clean"] = ""
    # With `any`, mdadm adds no host name to the array's name, so that udev's link has exactly this name.
    extra["--homehost"] = "any"
    extra["--uuid"] = mdadm_uuid(array.uuid)
    if journal is not None:
        extra["--write-journal"] = journal
    return extra


def create_argv(array: MdArray, members: list[str], spares: list[str], journal: str | None) -> Argv:
    """Return the command that libblockdev executes for `md_create` (src/plugins/mdraid.c)."""
    argv = ["mdadm", "--create", node_path(array.name), "--run", f"--level={array.level}"]
    argv.append(f"--raid-devices={len(members)}")
    if spares:
        argv.append(f"--spare-devices={len(spares)}")
    argv += [f"--metadata={array.metadata}", f"--bitmap={array.bitmap}"]
    if array.chunk_bytes is not None:
        argv.append(f"--chunk={array.chunk_bytes // 1024}")
    argv += [*members, *spares]
    for option, value in create_extra(array, journal).items():
        argv += [option, value] if value else [option]
    return tuple(argv)


def stop_argv(path: str) -> Argv:
    return ("mdadm", "--stop", path)


def zero_argv(path: str) -> Argv:
    return ("mdadm", "--zero-superblock", path)
