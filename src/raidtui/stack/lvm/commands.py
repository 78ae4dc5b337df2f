"""Commands of LVM: their argv, and how they are run.

Every command sees the devices of its own group and no others (`--devices`), keeps no copies of metadata in /etc, and starts
no daemon. Each known question of LVM gets its own answer; `--yes` is never used. A command without progress is given up.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.stack.calls import MISSING_LIBRARY, TOOL_FAILED, CallFailed, stuck
from raidtui.stack.lvm.group import LvmGroup, PhysicalVolume

CONFIG: Final = (
    'activation{monitoring=0}backup{backup=0}backup{archive=0}devices{scan_lvs=1}devices{hints="none"}'
    "global{use_lvmpolld=0}log{silent=0}"
)
"""No spaces: libblockdev logs a command as one line."""
VOLUME: Final = "volume"
"""Name of the volume that is measured, or on which the layer above stands."""
POOL: Final = "pool"
"""Name of the volume with the data if another volume is served from it."""
THIN: Final = "thin"
"""Name of VDO's volume if it is the pool of a thin volume."""
UNSEEN: Final = {"--activate": "n", "--zero": "n", "--wipesignatures": "n"}
"""Options of a volume that is never active by itself: its content is erased when it becomes a cache or metadata."""


def volume_path(group: str, volume: str = VOLUME) -> str:
    """Return the path under which udev shows a volume."""
    return f"/dev/{group}/{volume}"


def lvm_uuid(uuid: str) -> str:
    """Return a UUID in LVM's notation: 32 characters in groups of 6-4-4-4-4-4-6."""
    digits = uuid.replace("-", "")
    cuts = (0, 6, 10, 14, 18, 22, 26, 32)
    return "-".join(digits[a:b] for a, b in pairwise(cuts))


def limits(paths: Sequence[str]) -> dict[str, str]:
    """Return the options that limit a command to these devices."""
    return {"--devices": ",".join(paths), "--config": CONFIG}


def flat(options: dict[str, str]) -> tuple[str, ...]:
    return tuple(word for name, value in options.items() for word in ((name, value) if value else (name,)))


def pv_extra(pv: PhysicalVolume, paths: Sequence[str]) -> dict[str, str]:
    return {"--uuid": pv.uuid, "--norestorefile": "", **limits(paths)}


def pvcreate_argv(pv: PhysicalVolume, path: str, paths: Sequence[str]) -> Argv:
    """Return the command that libblockdev executes for `lvm_pvcreate` (src/plugins/lvm.c)."""
    return ("lvm", "pvcreate", path, f"--dataalignment={pv.align_bytes >> 10}K", *flat(pv_extra(pv, paths)))


def vg_extra(paths: Sequence[str]) -> dict[str, str]:
    return {"--setautoactivation": "n", **limits(paths)}


def vgcreate_argv(vg: LvmGroup, paths: Sequence[str]) -> Argv:
    """Return the command that libblockdev executes for `lvm_vgcreate`."""
    return ("lvm", "vgcreate", "-s", f"{vg.extent_bytes >> 10}K", vg.name, *paths, *flat(vg_extra(paths)))


def volume_extra(vg: LvmGroup, paths: Sequence[str]) -> dict[str, str]:
    """Return the options of the volume with the data."""
    volume = vg.volume
    extra = {"--type": volume.type, "--alloc": volume.allocation}
    if volume.stripe_bytes is not None:
        extra |= {"--stripes": str(volume.stripes), "--stripesize": f"{volume.stripe_bytes >> 10}K"}
    if volume.copies > 1:
        extra["--mirrors"] = str(volume.copies - 1)
    if volume.region_bytes is not None:
        extra["--regionsize"] = f"{volume.region_bytes >> 10}K"
    if volume.nosync:
        extra["--nosync"] = ""
    if volume.mirror_log is not None:
        extra["--mirrorlog"] = volume.mirror_log
    if (integrity := vg.integrity) is not None:
        extra |= {"--raidintegrity": "y", "--raidintegritymode": integrity.mode,
                  "--raidintegrityblocksize": str(integrity.block_bytes)}  # fmt: skip
    return {**extra, **limits(paths)}


def lvcreate_argv(name: str, size_bytes: int, group: str, on: Sequence[str], extra: dict[str, str]) -> Argv:
    """Return a command that creates a volume; not by libblockdev, which answers yes to every question of LVM."""
    return ("lvm", "lvcreate", "--name", name, "--size", f"{size_bytes >> 10}K", group, *on, *flat(extra))


def volume_argvs(vg: LvmGroup, on: Sequence[str], paths: Sequence[str]) -> tuple[Argv, ...]:
    """Return the commands that create the volumes with the data, in the order of their names."""
    size_bytes, extra = vg.volume.size_bytes, volume_extra(vg, paths)
    return tuple(lvcreate_argv(name, size_bytes, vg.name, on, extra) for name in vg.names)


def activate_argv(group: str, state: str, paths: Sequence[str]) -> Argv:
    """Return the command that activates (`y`) or deactivates (`n`) all volumes of the group."""
    return ("lvm", "vgchange", "--activate", state, group, *flat(limits(paths)))


def teardown_argvs(group: str, paths: Sequence[str]) -> tuple[Argv, ...]:
    """Return the commands that deactivate and remove volumes, group and labels."""
    common = flat(limits(paths))
    return (
        activate_argv(group, "n", paths),
        ("lvm", "lvremove", group, *common),
        ("lvm", "vgremove", group, *common),
        ("lvm", "pvremove", *paths, *common),
    )


Rows = list[dict[str, Any]]


def run_command(argv: Argv, *, answer: str | None = None) -> Argv:
    """Run one command (`("lvm", "vgremove", …)`, `("dmsetup", …)`) and return it as it is journaled.

    `answer`: answers to the questions that this command is known to ask; at any other question LVM finds no input and takes
    that for no.
    Raises CallFailed (`tool-failed`, `stuck`) or ProblemError (`missing-library`).
    """
    path = _tool_path(argv[0])
    try:
        given = None if answer is None else f"{answer}\n".encode()
        proc.run([path, *argv[1:]], input_bytes=given)
    except proc.ToolStuck as error:
        raise CallFailed(stuck(proc.name_of(argv), error), (argv,)) from error
    except proc.ToolError as error:
        said = error.finished.error_text if error.finished is not None else error.reason
        text = f"{' '.join(argv[:2])} failed: {clean(_last_lines(said))}"
        raise CallFailed(TOOL_FAILED.problem(text, exit=Exit.BUILD_FAILED), (argv,)) from error
    return argv


def read_output(argv: Argv) -> str:
    """Return the output of a command that only reads. Raises ProblemError (`tool-failed`, `missing-library`)."""
    try:
        return proc.run([_tool_path(argv[0]), *argv[1:]]).text
    except proc.ToolError as error:
        raise fail(TOOL_FAILED, f"{argv[0]} failed: {clean(error.reason)}", exit=Exit.BUILD_FAILED) from error


def read_report(what: str, fields: Sequence[str], paths: Sequence[str], *more: str) -> Rows:
    """Return rows of `pvs`, `vgs` or `lvs` over these devices alone: by full field names, sizes in bytes, all as text.

    A group that misses devices is reported all the same. Raises ProblemError (`tool-failed`).
    """
    argv = [_tool_path("lvm"), what, "--reportformat", "json", "--units", "b", "--nosuffix", "-o", ",".join(fields)]
    argv += [*flat(limits(paths)), *more]
    try:
        ran = proc.run(argv, check=False)
    except proc.ToolError as error:
        raise fail(TOOL_FAILED, f"{what} failed: {clean(error.reason)}", exit=Exit.BUILD_FAILED) from error
    try:
        rows: Rows = json.loads(ran.out)["report"][0][what.removesuffix("s")]
    except (ValueError, LookupError, TypeError) as error:
        text = f"{what} did not print a JSON report: {clean(_last_lines(ran.error_text))}"
        raise fail(TOOL_FAILED, text, exit=Exit.BUILD_FAILED) from error
    return rows


def _tool_path(name: str) -> str:
    path = proc.find_tool(name)
    if path is None:
        package = {"lvm": "lvm2"}.get(name, name)
        raise fail(MISSING_LIBRARY, f"{name} is not installed", remedy=f"apt install {package}", exit=Exit.REFUSED)
    return path


def _last_lines(text: str) -> str:
    """Return LVM's error text without its warnings: those about destroyed content are expected from a conversion."""
    lines = [line.strip() for line in text.splitlines()]
    wrong = [line for line in lines if not line.startswith(("WARNING:", "THIS WILL DESTROY CONTENT"))]
    return " ".join(wrong or lines)[-400:]
