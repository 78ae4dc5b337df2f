"""Filesystems: xfs, ext4, btrfs and f2fs, mounted as a directory that workloads fill with files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from raidtui.model.convert import Operand
from raidtui.model.plan import Names
from raidtui.model.scenario import Policy
from raidtui.stack import mounts
from raidtui.stack.fs import describe, fit, geometry
from raidtui.stack.fs.command import mkfs_argv, mount_options
from raidtui.stack.fs.spec import MIB, FilesystemSpec, block_bytes, profile
from raidtui.stack.layer import Draft, Part, Parts, Planned, PlannedTarget, Shape

_METADATA_BYTES: Final = 256 * MIB
_INODE_TABLE_SHARE: Final = 0.016
_INIT_BYTES_S: Final = 4e8


def inputs(spec: FilesystemSpec) -> Mapping[str, Operand]:
    return {"on": spec.on}


def shape(spec: FilesystemSpec, parts: Parts) -> Shape:
    """Raises ProblemError: `fs-too-small`, and what `fit.refuse` says."""
    on = parts["on"]
    found = geometry.stripes(spec, on[0])
    fit.refuse(spec, on, found)
    return Shape(
        geometry.room_bytes(spec, on),
        describe.may_fail(spec, len(on)),
        describe.write_penalty(spec, len(on)),
        stripe_bytes=found.width if found else None,
        buffered_under=geometry.buffered_under(spec),
    )


def reduces(spec: FilesystemSpec) -> tuple[str, ...]:
    return ("compresses",) if spec.compress is not None else ()


def plan(spec: FilesystemSpec, parts: Parts, names: Names, policy: Policy
) -> Planned:
    """Raises ProblemError: `fs-too-small`, and what `fit.refuse` says."""
    on = parts["on"]
    fit.refuse(spec, on, geometry.stripes(spec, on[0]))
    created = names.new("filesystem")
    args = _arguments(spec, on, created.name, created.uuid)
    paths = [part.path for part in on]
    undo = (mounts.unmount_argv(created.name),)
    written, seconds = _cost(spec, on)
    make = Draft("fs.make", f"Make {describe.describe(spec, {'on': len(on)})}{_stripes_in_words(spec, on)}", args,
                 (mkfs_argv(args, paths),), (), created, written, seconds)  # fmt: skip
    mount = Draft("fs.mount", f"Mount it on {mounts.point_of(created.name)}", args,
                  (mounts.mount_argv(spec.type, paths[0], created.name, mount_options(args)),), undo, created,
                  seconds=1.0)  # fmt: skip
    verify = Draft("fs.verify", "Read the filesystem back", args, seconds=1.0)
    teardown = Draft("fs.unmount", "Unmount it", args, undo, seconds=2.0)
    target = PlannedTarget(
        (args["ref"],), (mounts.point_of(created.name),), args["size_bytes"], kind="directory",
        sector_bytes=geometry.sector_bytes(spec, on), counted=_counted(spec),
    )  # fmt: skip
    return Planned((make, mount, verify), (teardown,), (target,), None)


def _arguments(spec: FilesystemSpec, on: tuple[Part, ...], name: str, uuid: str) -> dict[str, Any]:
    """Arguments of every action: the whole filesystem, so that each can be run, and undone, from its own step alone."""
    found = geometry.stripes(spec, on[0])
    btrfs = spec.type == "btrfs"
    return {
        "name": name,
        "uuid": uuid,
        "ref": f"dir:{name}",
        "type": spec.type,
        "devices": [part.ref for part in on],
        "paths": {part.ref: part.path for part in on},
        "disks": list(dict.fromkeys(disk for part in on for disk in part.disks)),
        "size_bytes": geometry.room_bytes(spec, on),
        "block_bytes": block_bytes(spec) if spec.type in ("xfs", "ext4") else None,
        "geometry": spec.geometry,
        "stripe_unit": found.unit if found else None,
        "stripe_width": found.width if found else None,
        "log_bytes": spec.log_size.bytes if spec.log_size is not None else None,
        "allocation_groups": spec.allocation_groups,
        "reflink": spec.reflink,
        "journal": spec.journal,
        "journal_mode": spec.journal_mode,
        "lazy_init": spec.lazy_init,
        "data": profile(spec, "data", len(on)) if btrfs else None,
        "metadata": profile(spec, "metadata", len(on)) if btrfs else None,
        "node_bytes": spec.node_size.bytes if spec.node_size is not None else None,
        "checksum": spec.checksum,
        "compress": spec.compress,
        "compress_level": spec.compress_level,
        "compress_force": spec.compress_force,
        "copy_on_write": spec.copy_on_write,
        "overprovision": spec.overprovision,
        "fsync_mode": spec.fsync_mode,
        "atime": spec.atime,
        "discard": spec.discard,
    }


def _stripes_in_words(spec: FilesystemSpec, on: tuple[Part, ...]) -> str:
    found = geometry.stripes(spec, on[0])
    if found is None:
        return ""
    return f", stripes of {found.width // found.unit} × {found.unit >> 10}KiB ({found.source})"


def _counted(spec: FilesystemSpec) -> Literal["at least", "no"]:
    """What is compressed reaches the devices as less than what was written."""
    return "no" if spec.compress is not None else "at least"


def _cost(spec: FilesystemSpec, on: tuple[Part, ...]) -> tuple[int, float]:
    """Bytes written at most by mkfs, and seconds roughly."""
    whole = sum(part.size_bytes for part in on)
    written = _METADATA_BYTES * len(on)
    if spec.type == "ext4":
        written += int(whole * _INODE_TABLE_SHARE)
    return written, 3.0 + written / _INIT_BYTES_S
