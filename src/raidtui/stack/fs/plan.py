"""Plans of filesystems, and the commands. No command overrides the refusals of a tool: the devices are blank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import UNSET

from raidtui.model.convert import Operand
from raidtui.model.plan import Argv, Created, Names
from raidtui.model.scenario import Policy
from raidtui.stack import mounts
from raidtui.stack.fs import describe, geometry
from raidtui.stack.fs.spec import MIB, Filesystem, FilesystemSpec
from raidtui.stack.layer import Draft, Part, Parts, Planned, PlannedTarget, Shape

_METADATA_BYTES: Final = 256 * MIB
_INODE_TABLE_SHARE: Final = 0.016
_INIT_BYTES_S: Final = 4e8


def inputs(spec: FilesystemSpec) -> Mapping[str, Operand]:
    return {"on": spec.on}


def shape(spec: FilesystemSpec, parts: Parts) -> Shape:
    """Raises ProblemError: `fs-too-small`, and what `geometry.refuse` says."""
    on = parts["on"]
    found = geometry.stripes(spec, on[0])
    geometry.refuse(spec, on, found)
    return Shape(
        geometry.room_bytes(spec, on),
        describe.may_fail(spec, len(on)),
        describe.write_penalty(spec, len(on)),
        stripe_bytes=found.width if found else None,
        buffered_under=geometry.buffered_under(spec),
    )


def reduces(spec: FilesystemSpec) -> tuple[str, ...]:
    return ("compresses",) if spec.compress is not None else ()


def plan(spec: FilesystemSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Raises ProblemError: `fs-too-small`, and what `geometry.refuse` says."""
    on = parts["on"]
    found = geometry.stripes(spec, on[0])
    geometry.refuse(spec, on, found)
    created = names.new("filesystem")
    fs = _filesystem(spec, on, found, created)
    paths, point, undo = [part.path for part in on], mounts.point_of(fs.name), (mounts.unmount_argv(fs.name),)
    written = _METADATA_BYTES * len(on)
    if spec.type == "ext4":
        written += int(sum(part.size_bytes for part in on) * _INODE_TABLE_SHARE)
    words = describe.describe(spec, {"on": len(on)})
    if found is not None:
        words += f", stripes of {found.width // found.unit} × {found.unit >> 10}KiB ({found.source})"
    make = Draft("fs.make", f"Make {words}", fs, (mkfs_argv(fs, paths),), (), created, written,
                 3.0 + written / _INIT_BYTES_S)  # fmt: skip
    build = [make]
    if spec.subvolume is not None:
        commands = (top_argv(fs, paths[0]), subvolume_argv(fs), mounts.unmount_argv(fs.name))
        build.append(Draft("fs.subvolume", f"Make the subvolume {spec.subvolume} in it", fs, commands, undo, created,
                           MIB, seconds=2.0))  # fmt: skip
    mount_argv = mounts.mount_argv(fs.type, paths[0], fs.name, mount_options(fs))
    what = f"the subvolume {spec.subvolume}" if spec.subvolume is not None else "it"
    mount = Draft("fs.mount", f"Mount {what} on {point}", fs, (mount_argv,), undo, created, seconds=1.0)
    verify = Draft("fs.verify", "Read the filesystem back", fs, seconds=1.0)
    teardown = Draft("fs.unmount", "Unmount it", fs, undo, seconds=2.0)
    # btrfs and f2fs buffer I/O in other sizes than theirs. With compression the devices receive less than was written.
    sector = max(part.logical_sector_bytes for part in on) if spec.type in ("xfs", "ext4") else None
    counted: Literal["at least", "no"] = "no" if spec.compress is not None else "at least"
    target = PlannedTarget((fs.ref,), (point,), fs.size_bytes, kind="directory", sector_bytes=sector, counted=counted)
    return Planned((*build, mount, verify), (teardown,), (target,))


_AS_GIVEN: Final = (
    "type", "geometry", "allocation_groups", "reflink", "journal", "journal_mode", "lazy_init", "checksum", "compress",
    "compress_level", "compress_force", "copy_on_write", "overprovision", "fsync_mode", "atime", "discard",
)  # fmt: skip
"""Options that a filesystem has as the scenario gives them."""


def _filesystem(spec: FilesystemSpec, on: tuple[Part, ...], stripes: geometry.Stripes | None, made: Created) -> Filesystem:
    btrfs = spec.type == "btrfs"
    return Filesystem(
        name=made.name,
        uuid=made.uuid,
        ref=f"dir:{made.name}",
        devices=tuple(part.ref for part in on),
        paths={part.ref: part.path for part in on},
        disks=tuple(dict.fromkeys(disk for part in on for disk in part.disks)),
        size_bytes=geometry.room_bytes(spec, on),
        block_bytes=spec.block_bytes if spec.type in ("xfs", "ext4") else None,
        stripe_unit=stripes.unit if stripes else None,
        stripe_width=stripes.width if stripes else None,
        log_bytes=spec.log_size.bytes if spec.log_size is not None else None,
        data=spec.profile("data", len(on)) if btrfs else None,
        metadata=spec.profile("metadata", len(on)) if btrfs else None,
        node_bytes=spec.node_size.bytes if spec.node_size is not None else None,
        subvolume=spec.subvolume if spec.subvolume is not None else UNSET,
        **{name: getattr(spec, name) for name in _AS_GIVEN},
    )


def mkfs_argv(fs: Filesystem, paths: list[str]) -> Argv:
    """Discards are left to the blanking: what is not blank is refused by the tools themselves."""
    make = {"xfs": _xfs, "ext4": _ext4, "btrfs": _btrfs, "f2fs": _f2fs}[fs.type]
    return (*make(fs), *paths)


def _xfs(fs: Filesystem) -> list[str]:
    meta, data = [f"uuid={fs.uuid}"], []
    if fs.reflink is not None:
        meta.append(f"reflink={int(fs.reflink)}")
    if fs.stripe_unit is not None and fs.stripe_width is not None:
        data = [f"su={fs.stripe_unit}", f"sw={fs.stripe_width // fs.stripe_unit}"]
    elif fs.geometry == "none":
        data = ["noalign"]
    if fs.allocation_groups is not None:
        data.append(f"agcount={fs.allocation_groups}")
    log = ["-l", f"size={fs.log_bytes}"] if fs.log_bytes is not None else []
    of_data = ["-d", ",".join(data)] if data else []
    return ["mkfs.xfs", "-q", "-K", "-b", f"size={fs.block_bytes}", "-m", ",".join(meta), *of_data, *log]


def _ext4(fs: Filesystem) -> list[str]:
    lazy = int(bool(fs.lazy_init))
    extended = ["nodiscard", f"lazy_itable_init={lazy}", f"lazy_journal_init={lazy}"]
    # mke2fs fits itself to what the kernel says of the device unless it is told; 0 tells it that there are no stripes.
    if fs.block_bytes is not None and fs.stripe_unit is not None and fs.stripe_width is not None:
        stride, width = fs.stripe_unit // fs.block_bytes, fs.stripe_width // fs.block_bytes
        extended += [f"stride={stride}", f"stripe_width={width}"]
    elif fs.geometry == "none":
        extended += ["stride=0", "stripe_width=0"]
    without = ["-O", "^has_journal"] if fs.journal is False else []
    log = ["-J", f"size={fs.log_bytes >> 20}"] if fs.log_bytes is not None else []
    return ["mkfs.ext4", "-q", "-b", str(fs.block_bytes), "-U", fs.uuid, "-E", ",".join(extended), *without, *log]


def _btrfs(fs: Filesystem) -> list[str]:
    nodes = ["-n", str(fs.node_bytes)] if fs.node_bytes is not None else []
    checksum = ["--csum", fs.checksum] if fs.checksum is not None else []
    return ["mkfs.btrfs", "-q", "-K", "-U", fs.uuid, "-d", fs.data or "", "-m", fs.metadata or "", *nodes, *checksum]


def _f2fs(fs: Filesystem) -> list[str]:
    overprovision = ["-o", str(fs.overprovision)] if fs.overprovision is not None else []
    return ["mkfs.f2fs", "-q", "-t", "0", "-U", fs.uuid, *overprovision]


def top_argv(fs: Filesystem, path: str) -> Argv:
    """Return the command that mounts the top level of a btrfs filesystem, to make the subvolume in it."""
    return mounts.mount_argv(fs.type, path, fs.name, ("subvol=/", "nodiscard"))


def subvolume_argv(fs: Filesystem) -> Argv:
    """Return libblockdev's command that makes the subvolume in the mounted top level."""
    return ("btrfs", "subvol", "create", f"{mounts.point_of(fs.name)}/{fs.subvolume}")


def mount_options(fs: Filesystem) -> tuple[str, ...]:
    """Everything that was asked, beside what every mount has."""
    found = [fs.atime]
    if fs.subvolume is not UNSET:
        found.append(f"subvol=/{fs.subvolume}")  # as the kernel shows it
    if fs.discard != "none":
        found.append("discard=async" if fs.discard == "async" else "discard")
    elif fs.type in ("btrfs", "f2fs"):
        # Both begin to discard by themselves on devices that take it.
        found.append("nodiscard")
    if fs.journal_mode is not None:
        found.append(f"data={fs.journal_mode}")
    if fs.type == "ext4" and not fs.lazy_init:
        found.append("noinit_itable")
    if fs.compress is not None:
        level = f":{fs.compress_level}" if fs.compress_level else ""
        found.append(f"{'compress-force' if fs.compress_force else 'compress'}={fs.compress}{level}")
    if fs.copy_on_write is False:
        found.append("nodatacow")
    if fs.fsync_mode is not None:
        found.append(f"fsync_mode={fs.fsync_mode}")
    if fs.type == "xfs" and fs.geometry == "none":
        found.append("noalign")
    return tuple(found)
