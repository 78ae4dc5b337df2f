"""Runs in the guest: kills a runner before or after a chosen journal record, recovers, and says what was left.

    python3 -I kill_driver.py SCENARIO BINDING.json POINTS [HOSTS.json LEFT]

POINTS: `3:before,3:after,…`; or by the first step of an action, `lvm.cache:after`, and by a command that it runs,
`lvm.cache:lvconvert`; before it calls a function of the builder, `luks.create:call=luks.open`; or once there is a
device-mapper device of such a name, `integrity.create:sees=temporary-`, also with the builder that made it, so that it is
left: `integrity.create:leaves=temporary-`; or once there is a kernel thread of such a name,
`zpool.initialize:thread=vdev_initialize`; or once a path exists,
`nvmeof.export:path=/sys/kernel/config/nvmet/ports/*`. `every:2/3` is the second third of these: after
every record, and before those that end what was done since the one before; nothing happens between others.
HOSTS are the other hosts of the run, and LEFT a shell line that prints what a run left on one: they have a minute to undo
their part by themselves. One JSON line per point on stdout.
"""

from __future__ import annotations

import glob
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, "/opt/raidtui")

from raidtui import inventory
from raidtui.base.attention import descendants
from raidtui.engine.methods import _plan
from raidtui.engine.run import runs
from raidtui.engine.run.journal import Journal
from raidtui.engine.run.recover import recover
from raidtui.engine.run.runner import Runner
from raidtui.model.event import LIVE, CellStarted, StepStarted
from raidtui.model.plan import Options
from raidtui.model.protocol import PlanRequest
from raidtui.stack.builder.process import Builder

STARTS = (StepStarted, CellStarted)
ALONE_WITHIN_S = 60


def arm(where: str, when: str) -> None:
    """Have this process killed by SIGKILL before or after it journals record `where` (live numbers do not count)."""
    if when.startswith("call="):
        die_before_call(when.removeprefix("call="))
        return
    original = Journal.append
    seen = 0
    awaited = False

    def append(self, event):
        nonlocal seen, awaited
        if isinstance(event, LIVE):
            return original(self, event)
        seen += 1
        here = str(seen) == where or getattr(event, "action", "") == where
        if awaited or (here and when == "before"):
            os.kill(os.getpid(), signal.SIGKILL)
        record = original(self, event)
        if here and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        if here and when != "before":
            awaited = True  # a command that was too fast to be seen: then at the next record
            threading.Thread(target=die_with, args=(when,), daemon=True).start()
        return record

    Journal.append = append


def die_before_call(function: str) -> None:
    """Kill this process when it is about to call this function of the builder."""
    original = Builder.call

    def call(self, name, **args):
        if name == function:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, name, **args)

    Builder.call = call


def die_with(word: str) -> None:
    """Kill this process as soon as a command with this word among its arguments runs, or a mapping is there (`sees=`,
    `leaves=`), or a kernel thread (`thread=`), or a path (`path=`)."""
    what, _, name = word.partition("=")
    while what == "path":
        if glob.glob(name):
            os.kill(os.getpid(), signal.SIGKILL)
    while what == "thread":
        for path in Path("/proc").glob("[0-9]*/comm"):
            with suppress(OSError):
                if path.read_text().strip() == name:
                    time.sleep(2)  # it works by now
                    os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
    while what in ("sees", "leaves"):
        for path in Path("/sys/block").glob("dm-*/dm/name"):
            with suppress(OSError):
                if path.read_text().startswith(name):
                    for child in descendants(os.getpid()) if what == "leaves" else ():
                        os.kill(child, signal.SIGKILL)
                    os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
    while True:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if word.encode() in path.read_bytes().split(b"\0")[1:2]:
                    os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)


def start(request: PlanRequest) -> os.PathLike:
    plan, _ = _plan(request, "")
    return runs.create(plan)[1]


def child(work) -> int:
    """Run `work` in a process of its own; its wait status."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = int(work() or 0)
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def events(folder) -> list:
    from raidtui.engine.run.journal import read_journal

    return [record.event for record in read_journal(folder) if not isinstance(record.event, LIVE)]


def every(found: list) -> list[tuple[str, str]]:
    """Each journal that a crash can leave, and each end of what happens between two records."""
    points = []
    for number, (before, _) in enumerate(itertools.pairwise([None, *found]), 1):
        if before is None or isinstance(before, STARTS):
            points.append((str(number), "before"))
        points.append((str(number), "after"))
    return points


def arrays() -> list[str]:
    """Arrays, LVM volumes, cached devices, and ZFS pools and volumes."""
    pools = [path.name for path in Path("/proc/spl/kstat/zfs").glob("*/") if path.is_dir()]
    return pools + [name for name in os.listdir("/sys/block") if name.startswith(("md", "dm-", "zd", "bcache"))]


def left_on(hosts: dict[str, tuple[str, ...]], left: str) -> list[str]:
    """Wait until the hosts have undone their part of a run by themselves, and return what they have not."""
    found, until = [], time.monotonic() + ALONE_WITHIN_S
    while True:
        for address in (address for group in hosts.values() for address in group):
            said = subprocess.run(["ssh", address, left], capture_output=True, text=True, check=False)
            found += [f"{address}: {line}" for line in (said.stdout + said.stderr).splitlines()]
        if not found or time.monotonic() > until:
            return found
        found.clear()
        time.sleep(1)


def main() -> None:
    scenario, binding, points, *others = sys.argv[1:6]
    bind = {role: tuple(ids) for role, ids in json.loads(binding).items()}
    hosts = {group: tuple(found) for group, found in json.loads(others[0]).items()} if others else {}
    request = PlanRequest(Path(scenario).read_text(), bind, Options(quick=True), hosts)
    which, _, part = points.partition(":")
    if which == "every":
        folder = start(request)
        status = child(lambda: Runner(folder).run())
        nth, _, of = part.partition("/")
        wanted = every(events(folder))[int(nth) - 1 :: int(of)]
        print(json.dumps({"points": len(wanted), "exit": os.waitstatus_to_exitcode(status)}), flush=True)
    else:
        wanted = [(where, when) for where, _, when in (point.partition(":") for point in points.split(","))]
    for where, when in wanted:
        folder = start(request)

        def work(folder=folder, where=where, when=when):
            arm(where, when)
            return Runner(folder).run()

        status = child(work)
        began = time.monotonic()
        first = next(iter(recover(folder.name)))
        seconds = time.monotonic() - began
        size = (folder / "journal.jsonl").stat().st_size if (folder / "journal.jsonl").exists() else 0
        again = next(iter(recover(folder.name)))
        size_again = (folder / "journal.jsonl").stat().st_size if size else 0
        wanted_ids = {disk for ids in bind.values() for disk in ids}
        busy = {
            disk.id: [reason.message for reason in disk.reasons]
            for disk in inventory.scan(held=runs.held_disks())
            if disk.id in wanted_ids and not disk.free
        }
        print(
            json.dumps(
                {
                    "point": f"{where}:{when}",
                    "killed": os.waitstatus_to_exitcode(status) == -signal.SIGKILL,
                    "recover_exit": first.exit,
                    "problems": [p.message for p in first.problems],
                    "actions": list(first.actions),
                    "seconds": round(seconds, 1),
                    "again": [again.exit, list(again.actions), size == size_again],
                    "busy": busy,
                    "arrays": arrays(),
                    "left_on_hosts": left_on(hosts, *others[1:]) if hosts else [],
                    "state": runs.info(folder).state,
                }
            ),
            flush=True,
        )


main()
