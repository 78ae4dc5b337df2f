"""Start, inspect and remove a lab. Every step may be interrupted and repeated."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from raidtui.base import proc
from raidtui.lab import links, qemu, ssh
from raidtui.lab.disks import DiskSpec, checked, make_sparse, mixed, name_disks
from raidtui.lab.flavours import LAB_FLAVOUR, PLAIN, Flavour, flavour_of
from raidtui.lab.host import Say, require_packages, silent, timed
from raidtui.lab.image import BOOT_TIMEOUT_S, LAB_BOOT, SETTLE_TIMEOUT_S, accelerator, ensure_image, ensure_snapshot
from raidtui.lab.links import LinkSpec
from raidtui.lab.qemu import LAB_QEMU, Qmp, QmpError
from raidtui.lab.ssh import LAB_DOWN
from raidtui.lab.state import DEFAULT_CPUS, LAB_NAME, MAX_CLIENTS, LabFiles, LabState
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
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
_LOADED_FIRST_TIMEOUT_S = 75.0
"""Under emulation, about one loaded machine in fifty never answers: it is loaded anew, once."""
_SETTLE_TIMEOUT_S = 420.0  # fifty disks, emulated, on a machine that is busy with another lab


class DiskStatus(msgspec.Struct, frozen=True):
    """One disk of a lab."""

    serial: str
    kind: str
    size_bytes: int
    sector_bytes: int
    model: str
    plugged: bool


class HostStatus(msgspec.Struct):
    """Present state of a client."""

    name: str
    running: bool
    port: int | None
    pid: int | None
    address: str
    """Its address on the link to the storage server."""
    cut: bool
    """The link is cut."""
    disks: list[DiskStatus]


class LabStatus(msgspec.Struct, omit_defaults=True):
    """Present state of a lab."""

    name: str
    running: bool
    accel: str
    cpus: int
    port: int | None
    pid: int | None
    disks: list[DiskStatus]
    folder: str
    link: str = ""
    """Properties of its links, as `--link` takes them."""
    hosts: list[HostStatus] = []
    """Its clients."""
    flavour: str = ""
    """Argument of `--with`; empty for a plain lab."""


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
    name: str, specs: Sequence[DiskSpec], say: Say = silent, *, cold: bool = False, cpus: int = DEFAULT_CPUS,
    hosts: int = 1, link: LinkSpec | None = None, flavour: Flavour = PLAIN,
) -> LabState:  # fmt: skip
    """Bring a lab up, and build its image first if necessary. A running lab is not changed; its dead hosts boot again.

    With `cold` the guests boot instead of being loaded from the snapshot. `hosts` counts the storage server, which gets the
    disks, and its clients. Raises ProblemError.
    """
    files = _whole_lab(name)
    checked(specs, hosts - 1)
    if flavour.name and hosts > 1:
        raise fail(LAB_FLAVOUR, f"a lab{flavour.suffix} is one machine, without clients", place="--with", exit=Exit.REFUSED,
                   remedy="leave out --hosts")  # fmt: skip
    if not _is_up(files):
        # Before the lab's lock is taken: this may take minutes, and `down` shall not wait for it.
        require_packages(say)
        image = ensure_image(say, flavour)
        if not cold:
            ensure_snapshot(image, cpus, timed(say), flavour)
    with files.lock():
        state = files.load()
        if state is not None and state.ready:
            if flavour.name not in ("", state.flavour):
                raise fail(LAB_FLAVOUR, f"lab {name} is up already, without {flavour.name}", place="--with",
                           exit=Exit.REFUSED, remedy=f"raidtui lab down {name}, or another name")  # fmt: skip
            dead = [(host, its) for host, its in _hosts(files) if not host.pids()]
            for host, its in dead:
                say(f"{host.title} had stopped; it boots again with the disks that it had")
                restart(host, its)
            if not dead:
                say(f"lab {name} is up already")
            return files.load() or state
        take_down(files)
        wanted = (link or LinkSpec()) if hosts > 1 else None
        start = partial(_start_new, files, specs, timed(say), cold=cold, cpus=cpus, clients=hosts - 1, link=wanted,
                        flavour=flavour)  # fmt: skip
        try:
            if cold:
                return start(BOOT_TIMEOUT_S)
            try:
                return start(_LOADED_FIRST_TIMEOUT_S)
            except ProblemError as error:
                if error.problems[0].code != LAB_BOOT.code or not files.lab_pids():
                    raise
                say(f"{error.problems[0].message}; it is loaded anew")
                take_down(files)
                return start(_LOADED_TIMEOUT_S)
        except BaseException:
            take_down(files)
            raise


@_as_problems()
def prepare(say: Say = silent, *, cpus: int = DEFAULT_CPUS, flavour: Flavour = PLAIN) -> None:
    """Install packages, build the image and save a booted machine, as the first `up` does. Raises ProblemError."""
    require_packages(say)
    ensure_snapshot(ensure_image(say, flavour), cpus, timed(say), flavour)


def _whole_lab(name: str) -> LabFiles:
    """Return the files of a lab. Raises ProblemError (`lab.name`) for the name of one of its hosts."""
    files = LabFiles(name)
    if files.host:
        raise fail(LAB_NAME, f"{name!r} is one host; a lab comes up and goes down as a whole", remedy=f"write {files.lab}")
    return files


def _hosts(files: LabFiles) -> list[tuple[LabFiles, LabState]]:
    """Return the hosts of a lab that have a saved state; the storage server is the last."""
    state = files.load()
    found = [*files.clients(state.clients if state else 0), files]
    return [(host, its) for host in found if (its := host.load()) is not None]


def _is_up(files: LabFiles) -> bool:
    state = files.load()
    return state is not None and state.ready and all(host.pids() for host, _ in _hosts(files))


def _start_new(
    files: LabFiles, specs: Sequence[DiskSpec], say: Say, answer_s: float, *, cold: bool, cpus: int, clients: int,
    link: LinkSpec | None, flavour: Flavour,
) -> LabState:  # fmt: skip
    """Start the machines, and wait for their ssh servers. The storage server is ready when all hosts are.

    Raises ProblemError (`lab.boot`) if one does not answer within `answer_s`.
    """
    image = ensure_image(say, flavour)
    saved: Path | None = None
    accel = accelerator(image)
    if not cold:
        saved, accel = ensure_snapshot(image, cpus, say, flavour)
    for host in (files, *files.clients(clients)):
        state = LabState(host.name, str(image), accel, 0, [], [], time.time(), cpus=cpus, link=link,
                         flavour=flavour.name)  # fmt: skip
        if host is files:
            state.disks, state.clients = name_disks(files.name, specs), clients
        _start_host(host, state, saved)
    _write_configs(files)
    for host, state in _hosts(files):
        _enter(host, state, answer_s)
        state.ready = True
        host.save(state)
        if clients:
            say(f"{host.host or 'the storage server'} is up")
    say(f"lab {files.name} is up")
    return state


def _start_host(files: LabFiles, state: LabState, saved: Path | None) -> None:
    """Create the disks, start the machine, and plug disks and links in."""
    image = Path(state.image)
    files.create()
    for disk in state.disks:
        make_sparse(files.folder / disk.file_name, disk.spec.size_bytes)
    state.plugged = mixed(disk.serial for disk in state.disks)
    qemu.make_overlay(files.overlay, saved / "disk.qcow2" if saved else image / "root.qcow2")
    state.port = qemu.start(files, image, state.accel, state.cpus, incoming=saved is not None)
    files.save(state)
    with Qmp(files.qmp) as qmp:
        if saved:
            qemu.load(qmp, saved / "memory")
        _plug_all(qmp, files, state, running=saved is not None)


def restart(files: LabFiles, state: LabState) -> LabState:
    """Boot a host whose machine is off, with the disks that were plugged in. The caller holds the lab's lock."""
    files.create()
    ssh.close_master(files.ssh_config, files.ssh_master)
    state.plugged = mixed(sorted(state.plugged))
    state.port = qemu.start(files, Path(state.image), state.accel, state.cpus)
    files.save(state)
    _write_configs(files.server())
    try:
        with Qmp(files.qmp) as qmp:
            _plug_all(qmp, files, state, running=False)
        for client in files.clients(state.clients):
            if client.pids():
                with Qmp(client.qmp) as qmp:
                    qemu.connect_link(qmp, client.number, files.lab_sockets)
        _enter(files, state, BOOT_TIMEOUT_S)
    except QmpError as error:
        raise fail(LAB_QEMU, f"the lab's machine failed: {error}", exit=Exit.BUILD_FAILED) from error
    return state


def down(name: str) -> bool:
    """Remove a lab: machines, connections, sockets, disks. Return False if there was none. Works on incomplete labs too."""
    files = _whole_lab(name)
    # A lab that is being brought up is killed first: its `up` then fails, cleans up and releases the lock.
    there = files.exists()
    files.kill_lab()
    with files.lock():
        take_down(files)
    return there


def take_down(files: LabFiles) -> None:
    """Remove everything of a lab. The caller holds its lock."""
    for host in (files, *files.clients(MAX_CLIENTS)):
        ssh.close_master(host.ssh_config, host.ssh_master)
    if not files.kill_lab():
        raise fail(LAB_STUCK, f"the machine of lab {files.name} (pids {files.lab_pids()}) cannot be killed",
                   exit=Exit.LEFT_BEHIND, remedy="wait for this machine's own disks, then raidtui lab down")  # fmt: skip
    files.remove()


def status(name: str) -> LabStatus | None:
    """Return the state of a lab; None if there is no such lab."""
    files = LabFiles(name)
    if not files.exists():
        return None
    state, pids = files.load(), files.pids()
    running = bool(pids) and state is not None and state.ready
    accel, cpus, port = (state.accel, state.cpus, state.port) if state else ("", 0, None)
    found = LabStatus(name, running, accel, cpus, port, pids[0] if pids else None, _disks(state, pids), str(files.folder))
    if state is not None:
        found.flavour = state.flavour
    if state is not None and state.clients:
        found.link = str(state.link)
        found.hosts = [_host_status(host, state) for host in files.clients(state.clients)]
    return found


def _host_status(files: LabFiles, server: LabState) -> HostStatus:
    state, pids, number = files.load(), files.pids(), files.number
    running = bool(pids) and state is not None and state.ready
    return HostStatus(files.host, running, state.port if state else None, pids[0] if pids else None,
                      links.ends(number)[0].address, number in server.cut, _disks(state, pids))  # fmt: skip


def _disks(state: LabState | None, pids: list[int]) -> list[DiskStatus]:
    plugged = state.plugged if state and pids else []
    return [
        DiskStatus(disk.serial, disk.spec.kind, disk.spec.size_bytes, disk.spec.sector_bytes, disk.model,
                   disk.serial in plugged)
        for disk in (state.disks if state else [])
    ]  # fmt: skip


def set_link(files: LabFiles, number: int, *, up: bool) -> None:
    """Cut or restore the link to a client at both ends. A host that is off finds it so when it starts."""
    state = files.load()
    if state is None or not 1 <= number <= state.clients:
        raise fail(LAB_DOWN, f"lab {files.name} has no client c{number}", remedy="raidtui lab status lists its hosts")
    for host in (files, files.clients(number)[-1]):
        if host.pids():
            with Qmp(host.qmp) as qmp:
                qemu.set_link(qmp, number, up=up)
    state.cut = sorted({*state.cut, number}) if not up else [other for other in state.cut if other != number]
    files.save(state)


def links_of(files: LabFiles, state: LabState) -> list[links.End]:
    """Return the ends of links at a host."""
    return links.ends(files.number, state.clients)


def _write_configs(files: LabFiles) -> None:
    """Write the ssh configurations of all hosts of a lab; the storage server's has all of them."""
    for host, state in _hosts(files):
        ssh.write_config(host.ssh_config, state.port, Path(state.image), host.ssh_master, host.clients(state.clients))


def _plug_all(qmp: Qmp, files: LabFiles, state: LabState, *, running: bool) -> None:
    """Plug disks and links in and let the machine run. A guest from a snapshot runs first, so that it notices them."""
    by_serial = {disk.serial: disk for disk in state.disks}
    if running:
        qmp.command("cont")
    qemu.plug(qmp, files.folder, [by_serial[serial] for serial in state.plugged])
    if found := links_of(files, state):
        server = files.server().load()
        for end in found:
            qemu.plug_link(qmp, end, files.lab_sockets)
            if server is not None and end.number in server.cut:
                qemu.set_link(qmp, end.number, up=False)
    if not running:
        qmp.command("cont")


def _enter(files: LabFiles, state: LabState, timeout_s: float) -> None:
    """Wait for the guest's ssh server, send the code, set time, machine id and links, and wait for its disks.

    A client gets the code when it is first asked for it.
    """
    if not ssh.wait_for_server(state.port, timeout_s, files.pids):
        why = f"did not answer within {timeout_s:.0f} s" if files.pids() else "ended while it started"
        raise fail(LAB_BOOT, f"{files.title} {why}", exit=Exit.BUILD_FAILED, remedy="raidtui lab up again")
    ssh.open_master(files.ssh_config, timeout_s=120)
    code = None if files.host else ssh.code()
    machine_id = hashlib.sha256(f"{state.name}\0{state.created}".encode()).hexdigest()[:32]
    script = f"""\
date -u -s @{time.time():.3f} >/dev/null
echo {machine_id} >/etc/machine-id
{f"({link_script(code.version)}) || exit 1" if code else ""}
tries=0
while [ "$(ls /sys/block | grep -cE '^(nvme|sd)')" -lt {len(state.plugged)} ]; do
    tries=$((tries + 1)); [ $tries -lt 600 ] || exit 9; sleep 0.1
done
udevadm settle -t 300
"""
    if state.link is not None:
        script += links.identity_script(links_of(files, state), state.link, files.host, machine_id)
    proc.run([*ssh.argv(files.ssh_config), script], timeout_s=_SETTLE_TIMEOUT_S,
             input_bytes=code_message(code, (), link=True) if code else b"")
    if settle := flavour_of(state.flavour).settle:
        proc.run([*ssh.argv(files.ssh_config), settle], timeout_s=SETTLE_TIMEOUT_S)
