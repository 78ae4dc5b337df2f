"""Check what this server can build and measure, and name the missing tools with the way to install them."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
from pathlib import Path
from typing import Final

from raidtui.base.paths import state_folder
from raidtui.base.proc import ToolError, find_tool, run
from raidtui.engine.machine import tool_version
from raidtui.engine.run.launch import has_systemd
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import Check, Checkup
from raidtui.model.units import size_text
from raidtui.stack import blockdev

_MIN_FIO: Final = (3, 33)
_MIN_LVM: Final = (2, 3, 12)
"""The first that can be kept to the devices of one group (--devices)."""
_MIN_ZFS: Final = (2, 3)
"""The first that gives its state as JSON."""
_MIN_FREE_BYTES: Final = 256 << 20


def checkup() -> Checkup:
    """Return all checks, the basic ones first."""
    checks = (
        _root(), _python(), _tool("fio", ("fio", "--version"), "measuring", "apt install fio", _MIN_FIO),
        _tool("mdadm", ("mdadm", "--version"), "md arrays", "apt install mdadm"), _md_modules(),
        _tool("lvm", ("lvm", "version"), "LVM volumes", "apt install lvm2", _MIN_LVM), _vdo(), _libblockdev(),
        _bcache(),
        _tool("zpool", ("zpool", "version"), "ZFS pools", "apt install zfsutils-linux zfs-dkms", _MIN_ZFS),
        _filesystems(), _iozone(), _udev(), _systemd(), _space(),
    )  # fmt: skip
    return Checkup("raidtui.doctor/1", socket.gethostname(), checks)


def _root() -> Check:
    root = os.geteuid() == 0
    return Check("root", root, "yes" if root else "no", "looking into disks, building, measuring",
                 "" if root else "Run it with sudo, or name a server: --on root@HOST.")  # fmt: skip


def _python() -> Check:
    import sys

    return Check("engine's Python", True, f"{sys.executable} {sys.version.split()[0]}")


def _tool(
    name: str, argv: tuple[str, ...], needed_for: str, remedy: str, at_least: tuple[int, ...] = ()
) -> Check:
    version = tool_version(argv)
    if version is None:
        return Check(name, False, "not found", needed_for, remedy)
    numbers = tuple(map(int, re.findall(r"\d+", version.split("-")[0])))
    wanted = ".".join(map(str, at_least))
    ok = not at_least or numbers >= at_least
    return Check(name, ok, version, needed_for, "" if ok else f"At least {wanted} is needed: {remedy}")


def _libblockdev() -> Check:
    if importlib.util.find_spec("gi") is None:
        return Check("libblockdev", False, "not found; needs Debian 13 or Ubuntu 24.04", "md arrays, LVM volumes",
                     f"apt install {blockdev.PACKAGES} libblockdev-mdraid3 libblockdev-lvm3")  # fmt: skip
    for plugin, needed_for in (("mdraid", "md arrays"), ("lvm", "LVM volumes")):
        try:
            blockdev.load(plugin)
        except ProblemError as error:
            return Check("libblockdev", False, error.problems[0].message, needed_for, error.problems[0].remedy)
    return Check("libblockdev", True, "with its mdraid and lvm plugins", "md arrays, LVM volumes")


def _has_module(name: str) -> bool:
    """Return True if the kernel has this module: loaded, built in or loadable."""
    modprobe = find_tool("modprobe")
    try:
        return modprobe is not None and run((modprobe, "--dry-run", name), timeout_s=10, check=False).code == 0
    except ToolError:
        return False


def _vdo() -> Check:
    needed_for = "compression and deduplication in LVM"
    if not _has_module("dm-vdo"):
        return Check("VDO", False, "no module dm-vdo", needed_for, "Use a kernel from 6.9 on, which has it.")
    if find_tool("vdoformat") is None:
        return Check("VDO", False, "vdoformat not found", needed_for, "apt install vdo")
    return Check("VDO", True, "module and tools are there", needed_for)


def _bcache() -> Check:
    if not _has_module("bcache"):
        return Check("bcache", False, "no module bcache", "bcache",
                     "Install the distribution's full kernel (linux-image-amd64).")  # fmt: skip
    if find_tool("make-bcache") is None:
        return Check("bcache", False, "make-bcache not found", "bcache", "apt install bcache-tools")
    return Check("bcache", True, "module and tools are there", "bcache")


def _md_modules() -> Check:
    loaded = Path("/proc/mdstat").exists()
    if loaded:
        return Check("md driver", True, "loaded", "md arrays")
    found = _has_module("raid456")
    return Check("md driver", found, "available as a module" if found else "not in this kernel", "md arrays",
                 "" if found else "Install the distribution's full kernel (linux-image-amd64).")  # fmt: skip


def _filesystems() -> Check:
    """None of them is needed by those who measure block devices alone."""
    packages = {"xfs": "xfsprogs", "ext4": "e2fsprogs", "btrfs": "btrfs-progs", "f2fs": "f2fs-tools"}
    missing = [package for kind, package in packages.items() if find_tool(f"mkfs.{kind}") is None]
    found = [kind for kind, package in packages.items() if package not in missing]
    return Check("filesystems", bool(found), ", ".join(found) or "none", "files in directories",
                 f"apt install {' '.join(missing)}" if missing else "")  # fmt: skip


def _iozone() -> Check:
    """iozone is optional: fio runs its pattern if it is missing."""
    needed_for = "workloads of kind iozone"
    if find_tool("iozone") is None:
        return Check("iozone", True, "not found: fio does the same pattern instead", needed_for,
                     "apt install iozone3 (non-free)")  # fmt: skip
    return Check("iozone", True, tool_version(("iozone", "-v")) or "of an unknown version", needed_for)


def _udev() -> Check:
    ok = Path("/run/udev/data").is_dir()
    return Check("udev", ok, "running" if ok else "not running", "recognising disks",
                 "" if ok else "Start systemd-udevd.")  # fmt: skip


def _systemd() -> Check:
    found = has_systemd()
    return Check("systemd", True, "yes: runs are services of their own" if found else
                 "no: runs are sessions of their own", "runs that outlive the connection")  # fmt: skip


def _space() -> Check:
    try:
        folder = state_folder()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check("space for runs", False, str(error), "journals and results")
    ok = free >= _MIN_FREE_BYTES
    return Check("space for runs", ok, f"{size_text(free)} free in {folder}", "journals and results",
                 "" if ok else f"At least {size_text(_MIN_FREE_BYTES)} should be free.")  # fmt: skip
