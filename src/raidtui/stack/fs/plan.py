"""Plans of filesystems, and the commands. No command overrides the refusals of a tool: the devices are blank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from raidtui.model.convert import Operand
from raidtui.model.plan import Argv, Names
from raidtui.model.scenario import Policy
from raidtui.stack import mounts
from raidtui.stack.fs import describe, fit, geometry
from raidtui.stack.fs.spec import MIB, Filesystem, FilesystemSpec, block_bytes, profile
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


def plan(spec: FilesystemSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Raises ProblemError: `fs-too-small`, and what `fit.refuse` says."""
    on = parts["on"]
    fit.refuse(spec, on, geometry.stripes(spec, on[0]))
    created = names.new("filesystem")
    fs = _filesystem(spec, on, created.name, created.uuid)
    paths = [part.path for part in on]
    undo = (mounts.unmount_argv(created.name),)
    written, seconds = _cost(spec, on)
    make = Draft("fs.make", f"Make {describe.describe(spec, {'on': len(on)})}{_stripes_in_words(spec, on)}", fs,
                 (mkfs_argv(fs, paths),), (), created, written, seconds)  # fmt: skip
    mount = Draft("fs.mount", f"Mount it on {mounts.point_of(created.name)}", fs,
                  (mounts.mount_argv(spec.type, paths[0], created.name, mount_options(fs)),), undo, created,
                  seconds=1.0)  # fmt: skip
    verify = Draft("fs.verify", "Read the filesystem back", fs, seconds=1.0)
    teardown = Draft("fs.unmount", "Unmount it", fs, undo, seconds=2.0)
    target = PlannedTarget(
        (fs.ref,), (mounts.point_of(created.name),), fs.size_bytes, kind="directory",
        sector_bytes=geometry.sector_bytes(spec, on), counted=_counted(spec),
    )  # fmt: skip
    return Planned((make, mount, verify), (teardown,), (target,), None)


def _filesystem(spec: FilesystemSpec, on: tuple[Part, ...], name: str, uuid: str) -> Filesystem:
    found = geometry.stripes(spec, on[0])
    btrfs = spec.type == "btrfs"
    return Filesystem(
        name=name,
        uuid=uuid,
        ref=f"dir:{name}",
        type=spec.type,
        devices=tuple(part.ref for part in on),
        paths={part.ref: part.path for part in on},
        disks=tuple(dict.fromkeys(disk for part in on for disk in part.disks)),
        size_bytes=geometry.room_bytes(spec, on),
        block_bytes=block_bytes(spec) if spec.type in ("xfs", "ext4") else None,
        geometry=spec.geometry,
        stripe_unit=found.unit if found else None,
        stripe_width=found.width if found else None,
        log_bytes=spec.log_size.bytes if spec.log_size is not None else None,
        allocation_groups=spec.allocation_groups,
        reflink=spec.reflink,
        journal=spec.journal,
        journal_mode=spec.journal_mode,
        lazy_init=spec.lazy_init,
        data=profile(spec, "data", len(on)) if btrfs else None,
        metadata=profile(spec, "metadata", len(on)) if btrfs else None,
        node_bytes=spec.node_size.bytes if spec.node_size is not None else None,
        checksum=spec.checksum,
        compress=spec.compress,
        compress_level=spec.compress_level,
        compress_force=spec.compress_force,
        copy_on_write=spec.copy_on_write,
        overprovision=spec.overprovision,
        fsync_mode=spec.fsync_mode,
        atime=spec.atime,
        discard=spec.discard,
    )


def _stripes_in_words(spec: FilesystemSpec, on: tuple[Part, ...]) -> str:
    found = geometry.stripes(spec, on[0])
    if found is None:
        return ""
    return f", stripes of {found.width // found.unit} × {found.unit >> 10}KiB ({found.source})"


def _counted(spec: FilesystemSpec) -> Literal["at least", "no"]:
    """Return `no` with compression, because the devices receive fewer bytes than were written."""
    return "no" if spec.compress is not None else "at least"


def _cost(spec: FilesystemSpec, on: tuple[Part, ...]) -> tuple[int, float]:
    """Bytes written at most by mkfs, and seconds roughly."""
    whole = sum(part.size_bytes for part in on)
    written = _METADATA_BYTES * len(on)
    if spec.type == "ext4":
        written += int(whole * _INODE_TABLE_SHARE)
    return written, 3.0 + written / _INIT_BYTES_S


def mkfs_argv(fs: Filesystem, paths: list[str]) -> Argv:
    """Discards are left to the blanking: what is not blank is refused by the tools themselves."""
    make = {"xfs": _xfs, "ext4": _ext4, "btrfs": _btrfs, "f2fs": _f2fs}[fs.type]
    return (*make(fs), *paths)


def _xfs(fs: Filesystem) -> list[str]:
    argv = ["mkfs.xfs", "-q", "-K", "-b", f"size={fs.block_bytes}"]
    meta = [f"uuid={fs.uuid}"]
    if fs.reflink is not None:
        meta.append(f"reflink={int(fs.reflink)}")
    argv += ["-m", ",".join(meta)]
    data = []
    if fs.stripe_unit is not None and fs.stripe_width is not None:
        data = [f"su={fs.stripe_unit}", f"sw={fs.stripe_width // fs.stripe_unit}"]
    elif fs.geometry == "none":
        data = ["noalign"]
    if fs.allocation_groups is not None:
        data.append(f"agcount={fs.allocation_groups}")
    if data:
        argv += ["-d", ",".join(data)]
    if fs.log_bytes is not None:
        argv += ["-l", f"size={fs.log_bytes}"]
    return argv


def _ext4(fs: Filesystem) -> list[str]:
    argv = ["mkfs.ext4", "-q", "-b", str(fs.block_bytes), "-U", fs.uuid]
    lazy = int(bool(fs.lazy_init))
    extended = ["nodiscard", f"lazy_itable_init={lazy}", f"lazy_journal_init={lazy}"]
    # mke2fs fits itself to what the kernel says of the device unless it is told; 0 tells it that there are no stripes.
    block = fs.block_bytes
    unit, width = fs.stripe_unit, fs.stripe_width
    if block is not None and unit is not None and width is not None:
        extended += [f"stride={unit // block}", f"stripe_width={width // block}"]
    elif fs.geometry == "none":
        extended += ["stride=0", "stripe_width=0"]
    argv += ["-E", ",".join(extended)]
    if fs.journal is False:
        argv += ["-O", "^has_journal"]
    if fs.log_bytes is not None:
        argv += ["-J", f"size={fs.log_bytes >> 20}"]
    return argv


def _btrfs(fs: Filesystem) -> list[str]:
    argv = ["mkfs.btrfs", "-q", "-K", "-U", fs.uuid, "-d", fs.data or "", "-m", fs.metadata or ""]
    if fs.node_bytes is not None:
        argv += ["-n", str(fs.node_bytes)]
    if fs.checksum is not None:
        argv += ["--csum", fs.checksum]
    return argv


def _f2fs(fs: Filesystem) -> list[str]:
    argv = ["mkfs.f2fs", "-q", "-t", "0", "-U", fs.uuid]
    if fs.overprovision is not None:
        argv += ["-o", str(fs.overprovision)]
    return argv


def mount_options(fs: Filesystem) -> tuple[str, ...]:
    """Everything that was asked, beside what every mount has."""
    found = [fs.atime]
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
