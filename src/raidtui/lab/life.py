"""Start, inspect and remove a lab. Every step may be interrupted and repeated."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from raidtui.base import proc
from raidtui.lab import qemu, ssh
from raidtui.lab.disks import DiskSpec, make_sparse, mixed, name_disks
from raidtui.lab.host import Say, require_packages, silent, timed
from raidtui.lab.image import BOOT_TIMEOUT_S, LAB_BOOT, accelerator, ensure_image, ensure_snapshot
from raidtui.lab.qemu import LAB_QEMU, Qmp, QmpError
from raidtui.lab.state import DEFAULT_CPUS, LabFiles, LabState
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.remote.start import code_message, link_script

LAB_STUCK: Final = Refusal(
    "lab.stuck",
    "The lab's machine cannot be killed",
    "Its QEMU process waits for a disk of this machine and ignores SIGKILL until the disk answers.",
    "Wait for this machine's own disks, then run `raidtui lab down` again.",
)
LAB_TOOL: Final = Refusal(
    "lab.tool",
    "A command of the lab failed",
    "A program that the lab uses failed or did not end in time; the message quotes it.",
    "Run `raidtui lab up` again: steps that succeeded are not repeated.",
)

_LOADED_TIMEOUT_S = 180.0
_SETTLE_TIMEOUT_S = 420.0  # fifty disks, emulated, on a machine that is busy with another lab


class DiskStatus(msgspec.Struct, frozen=True):
    """One disk of a lab."""

    serial: str
    kind: str
    size_bytes: int
    sector_bytes: int
    model: str
    plugged: bool


class LabStatus(msgspec.Struct):
    """Present state of a lab."""

    name: str
    running: bool
    accel: str
    cpus: int
    port: int | None
    pid: int | None
    disks: list[DiskStatus]
    folder: str


class Labs(msgspec.Struct, frozen=True):
    """Output of `raidtui lab status --json`."""

    schema: str
    labs: tuple[LabStatus, ...]


@contextmanager
def _as_problems() -> Iterator[None]:
    """Turn errors of programs and of QEMU into ProblemErrors."""
    try:
        yield
    except proc.ToolError as error:
        raise fail(LAB_TOOL, f"bringing the lab up failed: {error}", exit=Exit.BUILD_FAILED,
                   remedy="see the message; raidtui lab up tries again and goes on where it can") from error  # fmt: skip
    except QmpError as error:
        raise fail(LAB_QEMU, f"the lab's machine failed: {error}", exit=Exit.BUILD_FAILED,
                   remedy="raidtui lab up tries again") from error  # fmt: skip


@_as_problems()
def up(
    name: str, specs: Sequence[DiskSpec], say: Say = silent, *, cold: bool = False, cpus: int = DEFAULT_CPUS
) -> LabState:
    """Bring a lab up, and build its image first if necessary. A running lab is not changed.

    With `cold` the guest boots instead of being loaded from the snapshot. Raises ProblemError.
    """
    files = LabFiles(name)
    if not _is_up(files):
        # Before the lab's lock is taken: this may take minutes, and `down` shall not wait for it.
        require_packages(say)
        image = ensure_image(say)
        if not cold:
            ensure_snapshot(image, cpus, timed(say))
    with files.lock():
        state = files.load()
        if state is not None and _is_up(files):
            say(f"lab {name} is up already")
            return state
        if state is not None and state.ready:
            say(f"lab {name} had stopped; it boots again with the disks that it had")
            return restart(files, state)
        take_down(files)
        try:
            return _start_new(files, specs, timed(say), cold=cold, cpus=cpus)
        except BaseException:
            take_down(files)
            raise


@_as_problems()
def prepare(say: Say = silent, *, cpus: int = DEFAULT_CPUS) -> None:
    """Install packages, build the image and save a booted machine, as the first `up` does. Raises ProblemError."""
    require_packages(say)
    ensure_snapshot(ensure_image(say), cpus, timed(say))


def _is_up(files: LabFiles) -> bool:
    state = files.load()
    return state is not None and state.ready and bool(files.pids())


def _start_new(files: LabFiles, specs: Sequence[DiskSpec], say: Say, *, cold: bool, cpus: int) -> LabState:
    """Create the disks, start the machine, plug the disks in, and wait for its ssh server."""
    image = ensure_image(say)
    saved: Path | None = None
    accel = accelerator(image)
    if not cold:
        saved, accel = ensure_snapshot(image, cpus, say)
    files.create()
    disks = name_disks(files.name, specs)
    for disk in disks:
        make_sparse(files.folder / disk.file_name, disk.spec.size_bytes)
    order = mixed(disk.serial for disk in disks)
    state = LabState(files.name, str(image), accel, 0, disks, order, time.time(), cpus=cpus)
    qemu.make_overlay(files.overlay, saved / "disk.qcow2" if saved else image / "root.qcow2")
    state.port = qemu.start(files, image, accel, cpus, incoming=saved is not None)
    files.save(state)
    with Qmp(files.qmp) as qmp:
        if saved:
            qemu.load(qmp, saved / "memory")
        _plug_all(qmp, files, state, running=saved is not None)
    _enter(files, state, _LOADED_TIMEOUT_S if saved else BOOT_TIMEOUT_S)
    state.ready = True
    files.save(state)
    say(f"lab {files.name} is up")
    return state


def restart(files: LabFiles, state: LabState) -> LabState:
    """Boot a lab whose machine is off, with the disks that were plugged in. The caller holds the lab's lock."""
    files.create()
    ssh.close_master(files.ssh_config, files.ssh_master)
    state.plugged = mixed(sorted(state.plugged))
    state.port = qemu.start(files, Path(state.image), state.accel, state.cpus)
    files.save(state)
    try:
        with Qmp(files.qmp) as qmp:
            _plug_all(qmp, files, state, running=False)
        _enter(files, state, BOOT_TIMEOUT_S)
    except QmpError as error:
        raise fail(LAB_QEMU, f"the lab's machine failed: {error}", exit=Exit.BUILD_FAILED) from error
    return state


def down(name: str) -> bool:
    """Remove a lab: machine, connections, sockets, disks. Return False if there was none. Works on incomplete labs too."""
    files = LabFiles(name)
    # A lab that is being brought up is killed first: its `up` then fails, cleans up and releases the lock.
    there = files.exists()
    files.kill()
    with files.lock():
        take_down(files)
    return there


def take_down(files: LabFiles) -> None:
    """Remove everything of a lab. The caller holds its lock."""
    ssh.close_master(files.ssh_config, files.ssh_master)
    if not files.kill():
        raise fail(LAB_STUCK, f"the machine of lab {files.name} (pids {files.pids()}) cannot be killed",
                   exit=Exit.LEFT_BEHIND, remedy="wait for this machine's own disks, then raidtui lab down")  # fmt: skip
    files.remove()


def status(name: str) -> LabStatus | None:
    """Return the state of a lab; None if there is no such lab."""
    files = LabFiles(name)
    if not files.exists():
        return None
    state, pids = files.load(), files.pids()
    plugged = state.plugged if state and pids else []
    disks = [
        DiskStatus(disk.serial, disk.spec.kind, disk.spec.size_bytes, disk.spec.sector_bytes, disk.model,
                   disk.serial in plugged)
        for disk in (state.disks if state else [])
    ]  # fmt: skip
    running = bool(pids) and state is not None and state.ready
    return LabStatus(name, running, state.accel if state else "", state.cpus if state else 0, state.port if state else None,
                     pids[0] if pids else None, disks, str(files.folder))  # fmt: skip


def _plug_all(qmp: Qmp, files: LabFiles, state: LabState, *, running: bool) -> None:
    """Plug the lab's disks in and let the machine run. A guest from a snapshot runs first, so that it notices the disks."""
    by_serial = {disk.serial: disk for disk in state.disks}
    if running:
        qmp.command("cont")
    qemu.plug(qmp, files.folder, [by_serial[serial] for serial in state.plugged])
    if not running:
        qmp.command("cont")


def _enter(files: LabFiles, state: LabState, timeout_s: float) -> None:
    """Wait for the guest's ssh server, send the code, set time and machine id, and wait for its disks."""
    ssh.write_config(files.ssh_config, state.port, Path(state.image), files.ssh_master)
    if not ssh.wait_for_server(state.port, timeout_s):
        raise fail(LAB_BOOT, f"lab {state.name} did not answer within {timeout_s:.0f} s", exit=Exit.BUILD_FAILED,
                   remedy="raidtui lab up again")  # fmt: skip
    ssh.open_master(files.ssh_config, timeout_s=120)
    code = ssh.code()
    machine_id = hashlib.sha256(f"{state.name}\0{state.created}".encode()).hexdigest()[:32]
    script = f"""\
date -u -s @{time.time():.3f} >/dev/null
echo {machine_id} >/etc/machine-id
({link_script(code.version)}) || exit 1
tries=0
while [ "$(ls /sys/block | grep -cE '^(nvme|sd)')" -lt {len(state.plugged)} ]; do
    tries=$((tries + 1)); [ $tries -lt 600 ] || exit 9; sleep 0.1
done
udevadm settle -t 300
"""
    proc.run([*ssh.argv(files.ssh_config), script], timeout_s=_SETTLE_TIMEOUT_S,
             input_bytes=code_message(code, (), link=True))
