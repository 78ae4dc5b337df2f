"""Recorded disks as the disks of a simulated server."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from raidtui import inventory
from raidtui.engine.host_views import HOSTS_SCHEMA
from raidtui.engine.run import runs
from raidtui.engine.run.journal import Journal
from raidtui.engine.run.recover import Report
from raidtui.engine.server import Server
from raidtui.inventory import Change
from raidtui.inventory.reasons import reason
from raidtui.model.disk import Disk
from raidtui.model.event import RecoverFinished
from raidtui.model.host_view import HostList, HostView
from raidtui.model.network import Interface
from raidtui.model.plan import Host
from raidtui.model.protocol import RecoveredDisk, RecoveredRun
from raidtui.model.recording import Named, named, read_recording
from raidtui.model.smart import SMART_SCHEMA, Smart

RECORDED_DISKS: Final = Path(__file__).with_name("disks.json")
"""Answer of `raidtui disks --json` in a lab with disks of three kinds."""

_NO_KERNEL: Final = "none (simulated)"
_TICK_S: Final = 1.0
"""Longest pause between two answers of `watch`, in seconds."""


class Recorded(NamedTuple):
    """Host and disks of a simulated server."""

    host: str
    disks: tuple[Disk, ...]
    machine_id: str
    slow: bool = False


def recorded(word: str) -> Recorded:
    """Return the simulated server of a word: a file of recorded disks, a name (`model/recording.py`), or nothing.

    Raises ProblemError (`recording`).
    """
    own = named(word)
    found = read_recording(RECORDED_DISKS if own is not None or not word else Path(word))
    host = found.host if own is None else own.name
    disks = found.disks if own is None else tuple(_own(disk, own) for disk in found.disks)
    machine_id = hashlib.sha256(f"simulated {own.name if own else word}".encode()).hexdigest()[:32]
    return Recorded(f"simulated {host}", disks, machine_id, own is not None and own.slow)


def _own(disk: Disk, server: Named) -> Disk:
    """Return the disk with an identity that no other simulated server has."""
    serial = f"{disk.serial}-{server.name}"
    firmware = f"{disk.firmware}-other" if server.firmware and disk.firmware else disk.firmware
    wwid = disk.wwid and f"{disk.wwid}-{server.name}"
    return msgspec.structs.replace(disk, id=serial, serial=serial, wwid=wwid, firmware=firmware)


def simulated_server(word: str) -> Server:
    """Return the simulated server of a word (see `recorded`). Raises ProblemError (`recording`)."""
    found = recorded(word)

    def scan(held: Mapping[str, str]) -> tuple[Disk, ...]:
        return tuple(_with_holder(disk, held) for disk in found.disks)

    return Server(
        host=found.host,
        has_root=True,
        scan=scan,
        search=lambda disks, _: disks,
        watch=_watch,
        recover=_recover,
        look_at=_look_at,
        see_hosts=partial(_see_hosts, found.disks),
        disks_on=lambda hosts: {host.ref: found.disks for host in hosts},
        clusters=lambda: (),
        read_smart=lambda disk: Smart(SMART_SCHEMA, disk.id, "the disk is recorded, not real"),
        runner=("runner", "--simulate", word),
        simulated=True,
        machine_id=found.machine_id,
        boot_id=str(uuid.uuid5(uuid.NAMESPACE_OID, found.machine_id + inventory.boot_id())),
    )


def _look_at(groups: Mapping[str, Sequence[str]]) -> dict[str, tuple[Host, ...]]:
    """Return a simulated host for each address."""
    names = enumerate(((group, at, address) for group, found in groups.items() for at, address in enumerate(found, 1)), 1)
    hosts = [
        (group, Host(f"{group}-{at}", address, f"simulated-{address}", address, address, _NO_KERNEL,
                     f"192.0.2.{2 * number}", f"192.0.2.{2 * number + 1}"))
        for number, (group, at, address) in names
    ]  # fmt: skip
    return {group: tuple(host for other, host in hosts if other == group) for group in groups}


def _see_hosts(
    disks: tuple[Disk, ...], storage: HostView, groups: Mapping[str, Sequence[str]]
) -> Generator[HostView, None, HostList]:
    """Tell of hosts with one interface each, and the recorded disks."""
    storage = HostView(ref=storage.ref, host=storage.host, kernel=_NO_KERNEL, disks=storage.disks)
    network = (Interface("eth0", driver="simulated", up=True, speed_mbit_s=25_000, mtu=9000),)
    views = tuple(
        HostView(ref=host.ref, address=host.address, host=host.host, kernel=host.kernel, fio="simulated",
                 own_address=host.own_address, networks=network, disks=disks)
        for group in _look_at(groups).values() for host in group
    )  # fmt: skip
    yield from (storage, *views)
    return HostList(HOSTS_SCHEMA, (storage, *views))


def _with_holder(disk: Disk, held: Mapping[str, str]) -> Disk:
    if disk.id not in held:
        return disk
    run = held[disk.id]
    held_by = reason("held", f"held by run {run}", f"raidtui attach {run}")
    return msgspec.structs.replace(disk, reasons=(*disk.reasons, held_by))


def _watch(standing: Callable[[], object], _: Callable[[], bool]) -> Generator[tuple[Change, ...], bool | None]:
    """Yield the begin and the end of simulated runs, which hold disks; nothing else ever changes."""
    seen = standing()
    yield ()
    while True:
        time.sleep(_TICK_S)
        before, seen = seen, standing()
        yield () if seen == before else (Change("use", "runs"),)


def _recover(run_name: str, without: Collection[str] = (), report: Report = lambda _: None) -> Iterator[RecoveredRun]:
    """Close simulated runs whose runner died: there is nothing to take down."""
    for folder in [runs.folder_of(run_name)] if run_name else runs.all_folders():
        story = runs.story_of(folder)
        if runs.state_of(folder, story) == "interrupted":
            journal = Journal(folder)
            journal.append(RecoverFinished(0, (), story.owed))
            journal.close()
            runs.close(folder)
            yield RecoveredRun(folder.name, 0, (), (), tuple(RecoveredDisk(disk, "blank") for disk in story.owed))
