"""Starting QEMU for one lab's files, cold or from a snapshot, and plugging disks in and out."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from raidtui.base import proc
from raidtui.lab import qemu
from raidtui.lab.disks import LabDisk
from raidtui.lab.qmp import Qmp, QmpError
from raidtui.lab.state import LabFiles
from raidtui.model.problem import Exit, fail

Fails = Literal["", "read", "write"]

_PORT_TRIES = 5
_LOAD_TIMEOUT_S = 120.0
_UNPLUG_TIMEOUT_S = 30.0


def make_overlay(path: Path, backing: Path) -> None:
    """A new root disk whose unwritten parts are those of `backing`."""
    tool = proc.find_tool("qemu-img")
    if tool is None:
        raise fail("lab.tool-missing", "qemu-img is not installed", remedy="apt-get install qemu-utils")
    path.unlink(missing_ok=True)
    argv = [tool, "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(backing), str(path)]
    proc.run(argv, timeout_s=60)


def start(files: LabFiles, image: Path, accel: str, cpus: int, *, incoming: bool = False) -> int:
    """Start QEMU, paused. Returns the loopback port of the guest's sshd. With `incoming` it waits for `load`."""
    files.qmp.unlink(missing_ok=True)
    files.pid_file.unlink(missing_ok=True)
    for attempt in range(1, _PORT_TRIES + 1):
        port = _free_port()
        argv = [
            *qemu.machine_argv(accel, cpus),
            *qemu.own_argv(files.overlay, port, files.qmp, files.pid_file, files.serial_log),
            *qemu.boot_argv(image / "vmlinuz", image / "initrd"),
            "-S",
            *(["-incoming", "defer"] if incoming else []),
        ]  # fmt: skip
        try:
            proc.run(argv, timeout_s=60, cwd="/")
        except proc.ToolError as error:
            # Somebody else may take the port between our look and QEMU's start.
            if "host forwarding" in error.reason and attempt < _PORT_TRIES:
                continue
            raise fail("lab.qemu", f"QEMU does not start: {error.reason}", exit=Exit.BUILD_FAILED) from error
        return port
    raise AssertionError("unreachable")


def load(qmp: Qmp, state_file: Path) -> None:
    """Load a saved machine into one that was started with `incoming`. It stays paused."""
    qmp.command("migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}])
    qmp.command("migrate-incoming", uri=f"exec:exec cat {shlex.quote(str(state_file))}")
    _await_migration(qmp, "the saved machine cannot be loaded")


def save(qmp: Qmp, state_file: Path) -> None:
    """Pause the machine and write its memory and devices to `state_file`."""
    qmp.command("stop")
    qmp.command("migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}])
    unlimited: dict[str, Any] = {"max-bandwidth": 1 << 36}
    qmp.command("migrate-set-parameters", **unlimited)
    qmp.command("migrate", uri=f"exec:exec cat > {shlex.quote(str(state_file))}")
    _await_migration(qmp, "the machine cannot be saved")


def _await_migration(qmp: Qmp, trouble: str) -> None:
    """Until QEMU says that all is in or out. Raises QmpError with `trouble` when it says that it failed."""
    while True:
        status = qmp.wait_event("MIGRATION", _LOAD_TIMEOUT_S)["data"]["status"]
        if status == "completed":
            return
        if status == "failed":
            raise QmpError(trouble)


def plug(qmp: Qmp, folder: Path, disks: Sequence[LabDisk], fails: Fails = "") -> None:
    """Put disks into the machine, in this order."""
    for disk in disks:
        qmp.command("blockdev-add", **qemu.block_node(disk, folder, fails))
        try:
            qmp.command("device_add", **qemu.device(disk))
        except QmpError:
            _drop_node(qmp, disk)
            raise


def unplug(qmp: Qmp, disk: LabDisk) -> None:
    """Pull a disk out and wait until the guest has let go of it."""
    qmp.command("device_del", id=disk.node)
    qmp.wait_event("DEVICE_DELETED", _UNPLUG_TIMEOUT_S, device=disk.node)
    _drop_node(qmp, disk)


def _drop_node(qmp: Qmp, disk: LabDisk) -> None:
    arguments: dict[str, Any] = {"node-name": disk.node}
    qmp.command("blockdev-del", **arguments)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
