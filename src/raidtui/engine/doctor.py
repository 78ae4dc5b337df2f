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
from raidtui.load.catalog import engines
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import Check, Checkup
from raidtui.model.tool import Tool
from raidtui.model.units import size_text
from raidtui.stack import blockdev

_MDADM: Final = Tool(name="mdadm", needed_for="md arrays", remedy="apt install mdadm")
_LVM: Final = Tool(
    name="lvm", needed_for="LVM volumes", remedy="apt install lvm2", version=("version",), at_least=(2, 3, 12)
)
"""LVM 2.3.12 is the first that can be kept to the devices of one group (--devices)."""
_ZPOOL: Final = Tool(
    name="zpool",
    needed_for="ZFS pools",
    remedy="apt install zfsutils-linux zfs-dkms",
    version=("version",),
    at_least=(2, 3),
)
"""ZFS 2.3 is the first that gives its state as JSON."""
_MIN_FREE_BYTES: Final = 256 << 20


def checkup() -> Checkup:
    """Return all checks, the basic ones first."""
    checks = (
        _root(), _python(), *(_tool(tool) for engine in engines().values() for tool in engine.tools),
        _tool(_MDADM), _md_modules(), _tool(_LVM), _vdo(), _libblockdev(), _bcache(), _tool(_ZPOOL), _filesystems(),
        _udev(), _systemd(), _space(),
    )  # fmt: skip
    return Checkup("raidtui.doctor/1", socket.gethostname(), checks)


def _root() -> Check:
    root = os.geteuid() == 0
    return Check("root", root, "yes" if root else "no", "looking into disks, building, measuring",
                 "" if root else "Run it with sudo, or name a server: --on root@HOST.")  # fmt: skip


def _python() -> Check:
    import sys

    return Check("engine's Python", True, f"{sys.executable} {sys.version.split()[0]}")


def _tool(tool: Tool) -> Check:
    version = tool_version(tool.version_argv)
    if tool.path is not None and tool.without:
        version = version or "of an unknown version"
    if version is None:
        found = f"not found: {tool.without}" if tool.without else "not found"
        return Check(tool.name, bool(tool.without), found, tool.needed_for, tool.remedy)
    numbers = tuple(map(int, re.findall(r"\d+", version.split("-")[0])))
    ok = not tool.at_least or numbers >= tool.at_least
    wanted = ".".join(map(str, tool.at_least))
    return Check(tool.name, ok, version, tool.needed_for, "" if ok else f"At least {wanted} is needed: {tool.remedy}")


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
