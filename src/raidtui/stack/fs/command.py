"""The commands of the filesystem layer. None has a word that overrides a tool's own refusal: the devices are blank."""

from __future__ import annotations

from typing import Any

from raidtui.model.plan import Argv


def mkfs_argv(args: dict[str, Any], paths: list[str]) -> Argv:
    """Discards are left to the blanking: what is not blank is refused by the tools themselves."""
    make = {"xfs": _xfs, "ext4": _ext4, "btrfs": _btrfs, "f2fs": _f2fs}[args["type"]]
    return (*make(args), *paths)


def _xfs(args: dict[str, Any]) -> list[str]:
    argv = ["mkfs.xfs", "-q", "-K", "-b", f"size={args['block_bytes']}"]
    meta = [f"uuid={args['uuid']}"]
    if args["reflink"] is not None:
        meta.append(f"reflink={int(args['reflink'])}")
    argv += ["-m", ",".join(meta)]
    data = []
    if args["stripe_unit"] is not None:
        data = [f"su={args['stripe_unit']}", f"sw={args['stripe_width'] // args['stripe_unit']}"]
    elif args["geometry"] == "none":
        data = ["noalign"]
    if args["allocation_groups"] is not None:
        data.append(f"agcount={args['allocation_groups']}")
    if data:
        argv += ["-d", ",".join(data)]
    if args["log_bytes"] is not None:
        argv += ["-l", f"size={args['log_bytes']}"]
    return argv


def _ext4(args: dict[str, Any]) -> list[str]:
    argv = ["mkfs.ext4", "-q", "-b", str(args["block_bytes"]), "-U", args["uuid"]]
    lazy = int(bool(args["lazy_init"]))
    extended = ["nodiscard", f"lazy_itable_init={lazy}", f"lazy_journal_init={lazy}"]
    # mke2fs fits itself to what the kernel says of the device unless it is told; 0 tells it that there are no stripes.
    block = args["block_bytes"]
    unit, width = args["stripe_unit"], args["stripe_width"]
    if unit is not None:
        extended += [f"stride={unit // block}", f"stripe_width={width // block}"]
    elif args["geometry"] == "none":
        extended += ["stride=0", "stripe_width=0"]
    argv += ["-E", ",".join(extended)]
    if args["journal"] is False:
        argv += ["-O", "^has_journal"]
    if args["log_bytes"] is not None:
        argv += ["-J", f"size={args['log_bytes'] >> 20}"]
    return argv


def _btrfs(args: dict[str, Any]) -> list[str]:
    argv = ["mkfs.btrfs", "-q", "-K", "-U", args["uuid"], "-d", args["data"], "-m", args["metadata"]]
    if args["node_bytes"] is not None:
        argv += ["-n", str(args["node_bytes"])]
    if args["checksum"] is not None:
        argv += ["--csum", args["checksum"]]
    return argv


def _f2fs(args: dict[str, Any]) -> list[str]:
    argv = ["mkfs.f2fs", "-q", "-t", "0", "-U", args["uuid"]]
    if args["overprovision"] is not None:
        argv += ["-o", str(args["overprovision"])]
    return argv


def mount_options(args: dict[str, Any]) -> tuple[str, ...]:
    """Everything that was asked, beside what every mount has."""
    found = [args["atime"]]
    if args["discard"] != "none":
        found.append("discard=async" if args["discard"] == "async" else "discard")
    elif args["type"] in ("btrfs", "f2fs"):
        # Both begin to discard by themselves on devices that take it.
        found.append("nodiscard")
    if args["journal_mode"] is not None:
        found.append(f"data={args['journal_mode']}")
    if args["type"] == "ext4" and not args["lazy_init"]:
        found.append("noinit_itable")
    if args["compress"] is not None:
        level = f":{args['compress_level']}" if args["compress_level"] else ""
        found.append(f"{'compress-force' if args['compress_force'] else 'compress'}={args['compress']}{level}")
    if args["copy_on_write"] is False:
        found.append("nodatacow")
    if args["fsync_mode"] is not None:
        found.append(f"fsync_mode={args['fsync_mode']}")
    if args["type"] == "xfs" and args["geometry"] == "none":
        found.append("noalign")
    return tuple(found)
