"""Query all disks at once, without waiting without limit for a disk that does not answer."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from raidtui.base.files import lock_file
from raidtui.base.text import clean
from raidtui.inventory import ioctl
from raidtui.inventory.blocks import Node
from raidtui.inventory.content import content_reasons, open_node, read_content
from raidtui.inventory.hardware import read_celsius, temperature_sensors
from raidtui.inventory.reasons import reason, unchecked
from raidtui.inventory.sampling import Content
from raidtui.model.disk import Disk, Reason

DEADLINE_S = 15.0
_FLOCK_PATIENCE_S = 5.0
_FLOCK_PAUSE_S = 0.1
_ASKED_FOR_RESERVATIONS = ("sas", "scsi", "fc", "iscsi")
"""Transports that take SCSI commands. Reservations of NVMe namespaces are not looked at (`reasons.py`: `reservation`)."""


class Probe(NamedTuple):
    """Answers of one disk. `errors` names the questions that failed."""

    content: Content = Content()
    exclusive: str = ""
    """`free`, `busy`, `locked`, or empty where it was not tried."""
    reservations: tuple[str, ...] = ()
    temperature_c: float | None = None
    wear_percent: float | None = None
    errors: Mapping[str, str] = {}


_pending: dict[tuple[str, int | None], threading.Thread] = {}
"""Disks that still owe an answer, so that looking again does not pile up stuck threads."""


def probe_disk(
    disk: Disk, nodes: Sequence[Node], *, exclusively: bool, look_s: float = 0.0, first: int | None = None
) -> Probe:
    """Ask one disk. May block for as long as the disk does not answer.

    A disk that seems blank is searched for data for `look_s` seconds more; `first` is where data was found before.
    """
    errors: dict[str, str] = {}
    content, exclusive = Content(), ""
    keys: tuple[str, ...] = ()
    temperature: float | None = None
    wear: float | None = None
    try:
        content = read_content(nodes, seconds=look_s, first=first, allocated=ioctl.scsi_allocated)
    except (OSError, ValueError) as error:
        errors["content"] = clean(str(error))
    try:
        if exclusively:
            exclusive = try_exclusive(nodes[0])
    except OSError as error:
        errors["exclusive access"] = clean(str(error))
    with suppress(OSError):
        sensors = temperature_sensors(Path(nodes[0].folder))
        temperature = next((found for path in sensors if (found := read_celsius(path)) is not None), None)
    try:
        fd = open_node(nodes[0])
    except OSError as error:
        errors["that it can be opened"] = clean(str(error))
        return Probe(content, exclusive, keys, temperature, wear, errors)
    try:
        if disk.transport == "nvme":
            with suppress(OSError):  # an emulated or old controller need not have a SMART log
                smart_c, wear = ioctl.nvme_health(fd)
                temperature = smart_c if temperature is None else temperature
        elif disk.transport in _ASKED_FOR_RESERVATIONS:
            keys = ioctl.scsi_reservation_keys(fd)
    except OSError as error:
        errors["reservations"] = clean(str(error))
    finally:
        os.close(fd)
    return Probe(content, exclusive, keys, temperature, wear, errors)


def try_exclusive(node: Node, patience_s: float = _FLOCK_PATIENCE_S) -> str:
    """Try exclusive access and the lock of a disk: `free`, `busy` or `locked`.

    udev holds a lock while it looks at a disk, which it does longer on a busy server. The disk is not kept from others
    while it is waited for.
    """
    until = time.monotonic() + patience_s
    while True:
        try:
            fd = open_node(node, os.O_EXCL)
        except OSError as error:
            if error.errno == errno.EBUSY:
                return "busy"
            raise
        try:
            if lock_file(fd):
                return "free"
        finally:
            os.close(fd)
        if time.monotonic() >= until:
            return "locked"
        time.sleep(_FLOCK_PAUSE_S)


def probe_all(
    jobs: Mapping[tuple[str, int | None], Callable[[], Probe]], deadline_s: float = DEADLINE_S
) -> dict[tuple[str, int | None], Probe | None]:
    """Run the jobs at once, each keyed by its disk's (name, diskseq).

    None for a disk that still owes its answer when none has come from any disk for `deadline_s`.
    """
    answers: dict[tuple[str, int | None], Probe | None] = {}

    def work(key: tuple[str, int | None], job: Callable[[], Probe]) -> None:
        try:
            answers[key] = job()
        except Exception as error:  # the boundary of the thread: an unknown answer, never a lost one
            answers[key] = Probe(errors={"the disk": clean(str(error) or type(error).__name__)})

    started = {}
    for key, job in jobs.items():
        if (stuck := _pending.get(key)) is not None and stuck.is_alive():
            continue
        # A daemon thread, because one that hangs in the kernel cannot be waited for at exit either.
        thread = threading.Thread(target=work, args=(key, job), name=f"probe-{key[0]}", daemon=True)
        started[key] = _pending[key] = thread
        thread.start()
    # As long as some disk answers, the others are only slow: a hundred disks share one bus and this process's one core.
    waiting = dict(started)
    until = time.monotonic() + deadline_s
    while waiting and time.monotonic() < until:
        next(iter(waiting.values())).join(0.05)
        done = [key for key, thread in waiting.items() if not thread.is_alive()]
        for key in done:
            del waiting[key]
            _pending.pop(key, None)
        if done:
            until = time.monotonic() + deadline_s
    return {key: answers.get(key) for key in jobs}


def probe_reasons(disk: str, probe: Probe | None, *, in_use: bool) -> Iterator[Reason]:
    """Yield the reasons that come from a disk's answers. `in_use`: a better reason than `busy` is known."""
    if probe is None:
        yield reason("no-answer", "did not answer within the time allowed")
        return
    for what, why in probe.errors.items():
        yield unchecked(what, why)
    if "content" not in probe.errors and "the disk" not in probe.errors:
        yield from content_reasons(disk, probe.content)
    if probe.exclusive == "busy" and not in_use:
        yield reason("busy", "the kernel refuses exclusive access", f"lsblk /dev/{disk}; fuser -v /dev/{disk}")
    if probe.exclusive == "locked":
        yield reason("locked", "a program holds a lock (flock) on it", "lslocks")
    if probe.reservations:
        text = f"persistent reservation keys are registered: {', '.join(probe.reservations[:4])}"
        yield reason("reservation", text, f"sg_persist --in -k /dev/{disk}")
