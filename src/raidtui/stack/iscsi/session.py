"""The session with an export, by iscsiadm and sysfs: found by the target's name alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from raidtui.base import proc
from raidtui.base.files import read_int, read_text
from raidtui.base.text import clean
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.stack.calls import TOOL_FAILED
from raidtui.stack.iscsi.plan import login_argvs, logout_argvs
from raidtui.stack.iscsi.spec import IscsiExport
from raidtui.stack.nodes import SYS_BLOCK, users_of

SESSIONS: Final = Path("/sys/class/iscsi_session")
BUSY_PATIENCE_S: Final = 15.0
_NO_RECORDS: Final = 21
"""ISCSI_ERR_NO_OBJS_FOUND (iscsiadm(8))."""

MISSING: Final = Refusal(
    "iscsi-missing",
    "iSCSI is not there",
    "A module of the kernel's iSCSI target or initiator, or the program iscsiadm, is missing on this server.",
    "apt install open-iscsi python3-rtslib-fb, and the distribution's full kernel (linux-image-amd64).",
)
NOT_THERE: Final = Refusal(
    "iscsi-not-there",
    "The exported device does not appear",
    "The session was opened, and the kernel shows no block device for a logical unit.",
    "Look at the kernel's messages (dmesg), then run it again.",
)
BUSY: Final = Refusal(
    "iscsi-busy",
    "The exported device is in use",
    "The session cannot be closed because something uses a device that came over it. The message names the users.",
    "End that use. When the cause is gone, `raidtui recover` removes the rest; it may be run any number of times.",
)


def run(argv: Argv, *, may_fail: bool = False) -> Argv:
    """Run a command and return it. Raises ProblemError (`iscsi-missing`, `tool-failed`)."""
    path = proc.find_tool(argv[0])
    if path is None:
        raise fail(MISSING, f"{argv[0]} is not installed", remedy=MISSING.way_out, exit=Exit.REFUSED)
    ran = proc.run([path, *argv[1:]], check=False)
    if ran.code and not may_fail:
        said = clean(" ".join((ran.error_text or ran.text).split())[-400:])
        raise fail(TOOL_FAILED, f"{' '.join(argv[:3])}: {said}", place=argv[0], remedy="Look at dmesg.",
                   exit=Exit.BUILD_FAILED)  # fmt: skip
    return argv


def login(export: IscsiExport) -> Iterator[Argv]:
    """Make the initiator's records, log in, and yield each command that ran. Raises ProblemError."""
    for argv in login_argvs(export):
        yield run(argv)


def sessions(export: IscsiExport) -> list[Path]:
    """Return the folders of the sessions with the target."""
    return [path for path in sorted(SESSIONS.glob("session*")) if read_text(path / "targetname") == export.iqn]


def nodes(export: IscsiExport) -> dict[int, str]:
    """Return the kernel name of each logical unit's block device, by its number."""
    found: dict[int, str] = {}
    for session in sessions(export):
        for path in (session / "device").glob("target*/*:*:*:*/block/*"):
            found[int(path.parents[1].name.rpartition(":")[2])] = path.name
    return found


def the_nodes(export: IscsiExport) -> list[str]:
    """Return the kernel names in the order of the units. Raises ProblemError (`iscsi-not-there`)."""
    found = nodes(export)
    for lun, unit in enumerate(export.units):
        if lun not in found:
            raise fail(NOT_THERE, f"there is no block device of logical unit {lun}", place=unit.ref,
                       remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
    return [found[lun] for lun in range(len(export.units))]


def await_nodes(export: IscsiExport, limit_s: float) -> None:
    """Wait until every logical unit is a block device of some size. Raises ProblemError (`iscsi-not-there`)."""
    until = time.monotonic() + limit_s
    while len(found := nodes(export)) < len(export.units) or not all(map(size_bytes, found.values())):
        if time.monotonic() > until:
            the_nodes(export)
            return  # the size is compared when it is read back
        time.sleep(0.05)


def size_bytes(node: str) -> int:
    return 512 * (read_int(SYS_BLOCK / node / "size") or 0)


def read(export: IscsiExport) -> dict[str, Any]:
    """Return the session as sysfs shows it. Raises ProblemError (`iscsi-not-there`)."""
    found, devices = sessions(export), the_nodes(export)
    one = found[0] if found else SESSIONS / "none"
    return {
        "sessions": len(found),
        "state": read_text(one / "state"),
        "initiator": read_text(one / "initiatorname"),
        "immediate_data": read_text(one / "immediate_data"),
        "devices": devices,
        "states": [read_text(SYS_BLOCK / node / "device/state") for node in devices],
        "queue_depths": [read_int(SYS_BLOCK / node / "device/queue_depth") for node in devices],
        "host_commands": next(map(read_int, one.resolve().parents[2].glob("scsi_host/host*/can_queue")), None),
        "sizes_bytes": [size_bytes(node) for node in devices],
        "sectors_bytes": [read_int(SYS_BLOCK / node / "queue/logical_block_size") for node in devices],
    }


def asked(export: IscsiExport) -> dict[str, Any]:
    """Return the values that `read` has to find."""
    count = len(export.units)
    return {
        "sessions": 1,
        "state": "LOGGED_IN",
        "initiator": export.initiator,
        "immediate_data": str(int(export.immediate_data)),
        "states": count * ["running"],
        "queue_depths": count * [export.queue_depth],
        "sizes_bytes": [unit.size_bytes for unit in export.units],
        "sectors_bytes": [unit.sector_bytes for unit in export.units],
    }


def logout(export: IscsiExport) -> list[Argv]:
    """Close the session and remove the initiator's records: what exists of them. Return the commands.

    Waits while udev has a device open: the kernel would remove one that is in use. Raises ProblemError (`iscsi-busy`).
    """
    until = time.monotonic() + BUSY_PATIENCE_S
    while users := [user for node in nodes(export).values() for user in users_of(node)]:
        if time.monotonic() > until:
            raise fail(BUSY, f"the session cannot be closed: {'; '.join(users)}", place=export.name,
                       remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(0.3)
    out, forget, remove = logout_argvs(export)
    done = [run(out)] if sessions(export) else []
    with suppress(FileNotFoundError):
        if _has_record("node", export.iqn):
            done.append(run(forget, may_fail=True))
        if _has_record("iface", export.name):
            done.append(run(remove, may_fail=True))
    return done


def _has_record(mode: str, word: str) -> bool:
    iscsiadm = proc.find_tool("iscsiadm")
    ran = proc.run([iscsiadm, "-m", mode], check=False) if iscsiadm else None
    return ran is not None and any(word in line.split() or f" {word}" in line for line in ran.text.splitlines())


def exists(export: IscsiExport) -> bool:
    """Return True if a session or a record of the initiator exists."""
    return bool(sessions(export)) or _has_record("node", export.iqn) or _has_record("iface", export.name)


def link_of(path: str, node: str) -> str:
    """Return udev's path if it leads to this node, else the node's own; without udev there are no names."""
    return path if os.path.realpath(path) == f"/dev/{node}" else f"/dev/{node}"
