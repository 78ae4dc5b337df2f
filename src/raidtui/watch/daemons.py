"""Daemons that serve a layout, by psutil: CPU, memory and bytes of each kind on this host during a cell.

They are found by their executable: a daemon may call itself what it likes.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from raidtui.model.host import DaemonUse


class Seen(NamedTuple):
    """Counters of one daemon at one look. Bytes are None where the kernel does not tell them."""

    kind: str
    at_s: float
    user_s: float
    system_s: float
    memory_bytes: int
    read_bytes: int | None = None
    written_bytes: int | None = None


Look = Mapping[tuple[int, float], Seen]
"""Daemons by process id and start."""


def look(kinds: Mapping[str, str]) -> Look:
    """Return the daemons that run on this host. `kinds`: by name of the executable. Without psutil none is seen."""
    if not kinds or importlib.util.find_spec("psutil") is None:
        return {}
    psutil = importlib.import_module("psutil")
    found = {}
    for pid in psutil.pids():
        try:
            process = psutil.Process(pid)
            if (kind := kind_of(process.exe(), kinds)) is not None:
                found[pid, process.create_time()] = _seen(psutil, process, kind)
        except (psutil.Error, OSError, RuntimeError):
            continue  # it has ended, or is not ours to look at
    return found


def kind_of(executable: str, kinds: Mapping[str, str]) -> str | None:
    """Return the kind of a process, given the path of its executable; None if it serves nothing."""
    return kinds.get(PurePath(executable.removesuffix(" (deleted)")).name)


def _seen(psutil: Any, process: Any, kind: str) -> Seen:
    with process.oneshot():
        at_s, cpu, memory = time.monotonic(), process.cpu_times(), process.memory_info()
    try:
        io = process.io_counters()
    except (psutil.Error, OSError):
        return Seen(kind, at_s, cpu.user, cpu.system, memory.rss)
    return Seen(kind, at_s, cpu.user, cpu.system, memory.rss, io.read_bytes, io.write_bytes)


def used(before: Look, after: Look) -> dict[str, DaemonUse]:
    """Return what the daemons of each kind used between two looks; those that ended meanwhile are not counted."""
    kinds = sorted({one.kind for one in after.values()})
    return {kind: _sum((before.get(key), now) for key, now in after.items() if now.kind == kind) for kind in kinds}


def _sum(pairs: Iterable[tuple[Seen | None, Seen]]) -> DaemonUse:
    processes, user, system, memory = 0, 0.0, 0.0, 0
    read: int | None = 0
    written: int | None = 0
    for then, now in pairs:
        processes += 1
        memory += now.memory_bytes
        read, written = _more(read, then, now, "read_bytes"), _more(written, then, now, "written_bytes")
        if then is not None and now.at_s > then.at_s:
            user += (now.user_s - then.user_s) / (now.at_s - then.at_s)
            system += (now.system_s - then.system_s) / (now.at_s - then.at_s)
    return DaemonUse(processes, round(user, 4), round(system, 4), memory, read, written)


def _more(total: int | None, then: Seen | None, now: Seen, name: str) -> int | None:
    """Add what one daemon moved; None if that of any is not known."""
    last = getattr(now, name)
    first = getattr(then, name) if then is not None else 0
    return None if total is None or last is None or first is None else total + last - first
