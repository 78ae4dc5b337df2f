"""The commands of the md layer: what libblockdev is asked for, and the very argv that comes of it.

libblockdev always adds `--run`, without which mdadm would ask questions on a terminal; the gate has found the disks free
before. This is the only place where `--run` is written, and no command of raidtui has `--force`.
"""

from __future__ import annotations

from typing import Any

from raidtui.model.plan import Argv
from raidtui.stack.md.spec import layout_option


def mdadm_uuid(uuid: str) -> str:
    """`a:b:c:d`, as mdadm writes UUIDs."""
    digits = uuid.replace("-", "").replace(":", "")
    return ":".join(digits[i : i + 8] for i in range(0, 32, 8))


def node_path(name: str) -> str:
    """Where udev shows an array of this name."""
    return f"/dev/md/{name}"


def create_extra(args: dict[str, Any], journal: str | None) -> dict[str, str]:
    """What `--create` is given beyond what libblockdev has parameters for."""
    extra = {}
    if args["layout"] is not None:
        extra["--layout"] = layout_option(args["layout"])
    if args["consistency"] is not None:
        extra["--consistency-policy"] = args["consistency"]
    if args["bitmap_chunk_bytes"] is not None:
        extra["--bitmap-chunk"] = f"{args['bitmap_chunk_bytes'] // 1024}K"
    if args["assume_clean"]:
        extra["--assume-clean"] = ""
    # With `any`, no host's name gets into the array's, so that udev shows it under exactly its name.
    extra["--homehost"] = "any"
    extra["--uuid"] = mdadm_uuid(args["uuid"])
    if journal is not None:
        extra["--write-journal"] = journal
    return extra


def create_argv(args: dict[str, Any], members: list[str], spares: list[str], journal: str | None) -> Argv:
    """What libblockdev executes for `md_create` (src/plugins/mdraid.c): its own options, devices, extra options."""
    argv = ["mdadm", "--create", node_path(args["name"]), "--run", f"--level={args['level']}"]
    argv.append(f"--raid-devices={len(members)}")
    if spares:
        argv.append(f"--spare-devices={len(spares)}")
    argv += [f"--metadata={args['metadata']}", f"--bitmap={args['bitmap']}"]
    if args["chunk_bytes"] is not None:
        argv.append(f"--chunk={args['chunk_bytes'] // 1024}")
    argv += [*members, *spares]
    for option, value in create_extra(args, journal).items():
        argv += [option, value] if value else [option]
    return tuple(argv)


def stop_argv(path: str) -> Argv:
    return ("mdadm", "--stop", path)


def zero_argv(path: str) -> Argv:
    return ("mdadm", "--zero-superblock", path)
