"""Pools and volumes as ZFS reports them: by `zpool` and `zfs`, as JSON where they have it, and by the volumes' nodes."""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from raidtui.base import proc
from raidtui.base.files import read_int, read_text
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.stack.calls import MISSING_LIBRARY, TOOL_FAILED, CallFailed, stuck
from raidtui.stack.nodes import running

KSTAT: Final = Path("/proc/spl/kstat/zfs")
PACKAGES: Final = "zfsutils-linux zfs-dkms"
VOLUMES: Final = Path("/dev/zvol")
"""Folder in which udev shows volumes, by pool and name."""
_BLKZNAME: Final = 0x8100127D
"""_IOR(0x12, 125, char[256]): the name of the volume behind a zd node (zfs/sys/fs/zfs.h)."""
_SECTIONS: Final = {"logs": "log", "l2cache": "cache", "special": "special", "dedup": "dedup", "spares": "spare"}

TOO_OLD: Final = Refusal(
    "zfs-too-old",
    "ZFS is too old",
    "raidtui reads pools as JSON, which OpenZFS provides since 2.3. Older versions also ignore O_DIRECT on the files "
    "of a dataset, so that the numbers would be those of memory. Debian 13 and Ubuntu 25.04 have 2.3; Debian 12 has "
    "2.1, and 2.3 in its backports; Ubuntu 24.04 has 2.2.",
    "Install a newer OpenZFS. On Debian 12: apt install -t bookworm-backports zfsutils-linux zfs-dkms",
)


class Activity(NamedTuple):
    """An initialize or trim of one device (zpool-wait(8))."""

    state: str = ""
    """`ACTIVE`, `COMPLETE`, `SUSPENDED`, `CANCELED`; `UNINITIALIZED` or `UNTRIMMED` if there was none."""
    done_bytes: int = 0
    total_bytes: int = 0
    errors: int = 0
    supported: bool = True
    """False if the device does not accept discards."""


class Leaf(NamedTuple):
    """One device of a pool as the pool sees it."""

    path: str
    role: str
    state: str
    """`ONLINE`, `AVAIL`, `FAULTED`, `REMOVED`, …"""
    errors: int
    initialize: Activity = Activity()
    trim: Activity = Activity()

    @property
    def busy(self) -> str:
        """`initialize` or `trim` while that runs."""
        found = {"initialize": self.initialize, "trim": self.trim}
        return next((name for name, activity in found.items() if activity.state == "ACTIVE"), "")

    @property
    def devno(self) -> int | None:
        """Device number at the path now; None if the path does not exist."""
        try:
            return Path(self.path).stat().st_rdev
        except OSError:
            return None


class Top(NamedTuple):
    """One top-level vdev, or one device that stands alone."""

    role: str
    name: str
    """`raidz1-0`, or the device's path."""
    state: str
    leaves: tuple[Leaf, ...]


class Pool(NamedTuple):
    """An imported pool."""

    name: str
    guid: str
    state: str
    tops: tuple[Top, ...]
    scan: str
    """Running operation over all data: `scrub`, `resilver`; empty if there is none."""
    error_count: int

    @property
    def leaves(self) -> Iterator[Leaf]:
        for top in self.tops:
            yield from top.leaves


def call(argv: Argv, *, check: bool = True) -> proc.Finished:
    """Run a tool. Raises CallFailed with its own words (`tool-failed`), or when nothing moves any more (`stuck`)."""
    path = proc.find_tool(argv[0])
    if path is None:
        raise fail(MISSING_LIBRARY, f"there is no {argv[0]} command", remedy=f"apt install {PACKAGES}", exit=Exit.REFUSED)
    try:
        return proc.run((path, *argv[1:]), check=check)
    except proc.ToolStuck as error:
        raise CallFailed(stuck(proc.name_of(argv), error), (argv,)) from error
    except proc.ToolError as error:
        said = error.finished.error_text or error.finished.text.strip() if error.finished else error.reason
        text = f"{argv[0]} {argv[1]} failed: {clean(said)}"
        raise CallFailed(TOOL_FAILED.problem(text, exit=Exit.BUILD_FAILED), (argv,)) from error


def state(name: str) -> str | None:
    """The health of the imported pool of this name in one word, or None where there is none.

    Asked of the kernel: it answers also while every ZFS command hangs.
    """
    text = read_text(KSTAT / name / "state")
    return clean(text.strip()) if text else None


def find(name: str) -> Pool | None:
    """The imported pool of this name with everything in it, or None. Not to be asked of a suspended one: it may hang."""
    if state(name) is None:
        return None
    ran = call(("zpool", "status", "-jPitp", "--json-int", name), check=False)
    if ran.code and "no such pool" in ran.error_text:
        return None
    if ran.code:
        old = "invalid option" in ran.error_text
        remedy = "OpenZFS 2.3 or newer is needed." if old else "Look at dmesg."
        raise fail(TOO_OLD if old else TOOL_FAILED, f"zpool status -j failed: {clean(ran.error_text)}", place=name,
                   remedy=remedy, exit=Exit.BUILD_FAILED)  # fmt: skip
    return parse_status(json.loads(ran.out), name)


def parse_status(answer: dict[str, Any], name: str) -> Pool | None:
    """A pool out of the answer of `zpool status -j`."""
    found = answer.get("pools", {}).get(name)
    if found is None:
        return None
    tops = [top for root in found.get("vdevs", {}).values() for top in _tops(root.get("vdevs", {}), "member")]
    for section, role in _SECTIONS.items():
        tops += _tops(found.get(section, {}), role)
    scan = found.get("scan_stats", {})
    running = str(scan.get("function", "scan")).lower() if scan.get("state") == "SCANNING" else ""
    return Pool(name, str(found["pool_guid"]), str(found["state"]), tuple(tops), running, int(found.get("error_count", 0)))


def _tops(vdevs: dict[str, Any], role: str) -> list[Top]:
    return [
        Top(role, str(vdev["name"]), str(vdev.get("state", "")), tuple(_leaves(vdev, role)))
        for vdev in vdevs.values()
        if vdev.get("vdev_type") not in ("dspare", "hole", "indirect")
    ]


def _leaves(vdev: dict[str, Any], role: str) -> Iterator[Leaf]:
    if "vdevs" in vdev:
        for child in vdev["vdevs"].values():
            yield from _leaves(child, role)
        return
    errors = sum(int(vdev.get(f"{kind}_errors", 0)) for kind in ("read", "write", "checksum"))
    path = str(vdev.get("path", vdev["name"]))
    initialize, trim = _activity(vdev, "init", "initialize"), _activity(vdev, "trim", "trim")
    yield Leaf(path, role, str(vdev.get("state", "")), errors, initialize, trim)


def _activity(vdev: dict[str, Any], word: str, verb: str) -> Activity:
    done = int(vdev.get({"init": "initialized"}.get(word, "trimmed"), 0))
    total, errors = (int(vdev.get(name, 0)) for name in (f"to_{verb}", f"{word}_errors"))
    return Activity(str(vdev.get(f"{word}_state", "")), done, total, errors, not vdev.get(f"{word}_notsup"))


def properties(name: str) -> dict[str, str]:
    """Return all properties of a pool."""
    return _table(call(("zpool", "get", "-Hp", "-o", "property,value", "all", name)).text)


def dataset_properties(name: str) -> dict[str, str] | None:
    """Return all properties of a dataset; None if it does not exist."""
    ran = call(("zfs", "get", "-Hp", "-o", "property,value", "all", name), check=False)
    if ran.code and "does not exist" in ran.error_text:
        return None
    if ran.code:
        raise fail(TOOL_FAILED, f"zfs get failed: {clean(ran.error_text)}", place=name, exit=Exit.BUILD_FAILED)
    return _table(ran.text)


def _table(text: str) -> dict[str, str]:
    rows = (line.split("\t") for line in text.splitlines())
    return {row[0]: clean(row[1]) for row in rows if len(row) == 2}


def volume_node(dataset: str, wait_s: float = 0.0) -> str | None:
    """The kernel name of a volume's device (`zd16`), asked of the device itself; None where it is not there in time.

    A volume that udev says is another is not opened: where its pool is sick, that would never end.
    """
    until = time.monotonic() + wait_s
    while True:
        links = {str(path.relative_to(VOLUMES)) for path in VOLUMES.rglob("*") if path.is_symlink()}
        others = {linked_node(link) for link in links - {dataset}} - {linked_node(dataset)}
        for path in sorted(Path("/sys/block").glob("zd*")):
            if path.name not in others and _volume_name(path.name) == dataset:
                return path.name
        if time.monotonic() >= until:
            return None
        time.sleep(0.05)


def linked_node(dataset: str) -> str | None:
    """Return the same as `volume_node` by udev's link. It opens nothing, and answers even if the pool does not."""
    try:
        return (VOLUMES / dataset).readlink().name
    except OSError:
        return None


def _volume_name(kernel_name: str) -> str | None:
    try:
        fd = os.open(f"/dev/{kernel_name}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return fcntl.ioctl(fd, _BLKZNAME, bytes(256)).split(b"\0", 1)[0].decode("utf-8", "backslashreplace")
    except OSError:
        return None
    finally:
        os.close(fd)


def device_bytes(kernel_name: str) -> int | None:
    """The size of a block device."""
    sectors = read_int(Path("/sys/block") / kernel_name / "size")
    return None if sectors is None else sectors * 512


def makers(name: str) -> list[int]:
    """Processes of zpool, zfs or mount that still work on a pool of this name."""
    found = running("zpool", "zfs", "mount", "mount.zfs")
    return [pid for pid, argv in found if any(word.partition("/")[0] == name for word in argv[1:])]


OLDEST: Final = (2, 3)
MODULE_VERSION: Final = Path("/sys/module/zfs/version")


def module_version() -> str | None:
    """Return the version of the loaded module (`2.3.9-0+deb13u1`); None if it is not loaded."""
    text = read_text(MODULE_VERSION)
    return clean(text, 80) if text else None


def tools_version() -> str | None:
    """Return the version of `zpool` and `zfs`; the call loads the module."""
    said = call(("zpool", "version"), check=False).text
    match = re.search(r"^zfs-(\d\S*)$", said, re.MULTILINE)
    return clean(match.group(1), 80) if match else None


def require_new_enough(found: str | None) -> None:
    """Raise ProblemError (`zfs-too-old`) for a version that is known, and too old."""
    match = re.match(r"(\d+)\.(\d+)", found or "")
    if match and (int(match[1]), int(match[2])) < OLDEST:
        raise fail(TOO_OLD, f"this is OpenZFS {found}, and raidtui needs 2.3 or newer", place="zpool",
                   remedy="Debian 13 and Ubuntu 25.04 have it; on Debian 12: apt install -t bookworm-backports "
                          "zfsutils-linux zfs-dkms", exit=Exit.REFUSED)  # fmt: skip
