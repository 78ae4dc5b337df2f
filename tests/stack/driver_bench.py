"""Bench of the drivers that run in the lab's guest, as root: disks, permits and a context as a run has them.

A driver is sent to the guest together with this file (`lab_harness.start_driver`). Its standard input is a JSON list of
cases, each with a `do` (the name of a function of the driver) and its options; it prints one JSON line per case. One
process serves all cases, because starting Python under emulation takes longer than building a layer.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

sys.path.insert(0, "/opt/raidtui")

from raidtui.gate.admit import admit
from raidtui.gate.blank import make_blank
from raidtui.inventory import boot_id, scan
from raidtui.model.disk import fingerprint
from raidtui.model.plan import Names
from raidtui.model.problem import ProblemError
from raidtui.stack.action import BoundAction, Outcome, signatures_left
from raidtui.stack.catalog import all_actions
from raidtui.stack.context import Context
from raidtui.stack.layer import Draft, Part, Planned

ACTIONS = all_actions()
LONGEST_CASE_S = 900
Case = dict[str, Any]


def sh(line: str) -> str:
    done = subprocess.run(line, shell=True, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{line}: {done.stderr.strip()}"
    return done.stdout


def problem_of(work: Callable[[], object]) -> list[Any]:
    """Return code, message and exit of the problem that the work has to raise."""
    try:
        done = work()
    except ProblemError as error:
        found = error.problems[0]
        return [found.code, found.message, found.exit]
    return ["no problem", repr(done), 0]


@contextmanager
def instead(module: Any, name: str, value: Any) -> Iterator[None]:
    """Replace a value of a module meanwhile: a patience that is shorter for what is known to be in use."""
    usual = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, usual)


class Bench:
    """All disks of the guest, admitted once."""

    name: ClassVar[str]
    """Name of the layer, for the run and its folder."""

    def __init__(self) -> None:
        found = [disk for disk in scan() if disk.free]
        permits = self.sorted(admit(f"{self.name}-tests", [fingerprint(disk, boot_id()) for disk in found]))
        self.permits = {permit.disk.id: permit for permit in permits}
        self.reports: list[Any] = []
        self.cancelled = threading.Event()
        self.drafts: list[Draft] = []
        self.context = self.fresh_context()
        self.count = 0
        self.planned: Planned | None = None

    def sorted(self, permits: Iterable[Any]) -> Iterable[Any]:
        """Return the permits in the order in which disks are dealt."""
        return permits

    def fresh_context(self, *, permits: bool = True) -> Context:
        """Return the context of a new process: nothing built, nothing proven; without permits as recovery begins.

        Like a run, it knows that its disks may carry what it wrote, and any signature that was planned.
        """
        folder = Path(f"/run/raidtui-{self.name}-tests")
        (folder / "work").mkdir(parents=True, exist_ok=True)
        mine = self.permits if permits else {}
        context = Context(f"{self.name}-tests", folder, mine, self.report, self.cancelled)
        context.written |= self.permits.keys()
        context.ours = lambda: signatures_left(BoundAction(ACTIONS[draft.action], draft.args) for draft in self.drafts)
        return context

    def report(self, text: str, fraction: float | None) -> None:
        self.reports.append(text)

    def let_go(self) -> None:
        """Let others have the disks: what is done next is not done by a run."""
        for permit in self.permits.values():
            permit.let_go()

    def parts(self, ids: list[str]) -> tuple[Part, ...]:
        disks = [self.permits[name].disk for name in ids]
        return tuple(
            Part(f"disk:{d.id}", d.path, d.size_bytes, d.logical_sector_bytes, (d.id,), d.discard, bool(d.rotational))
            for d in disks
        )

    def deal(self, counts: dict[str, int], ids: Iterable[str] = ()) -> dict[str, tuple[Part, ...]]:
        """Deal disks to inputs, in order."""
        left = list(ids or self.permits)
        return {name: self.parts([left.pop(0) for _ in range(count)]) for name, count in counts.items() if count}

    def names(self) -> Names:
        self.count += 1
        return Names(f"{os.getpid():x}{self.count}")

    def keep(self, planned: Planned) -> Planned:
        """Remember a plan: its signatures are the run's, and a case that fails is taken down by it."""
        self.planned = planned
        self.drafts += planned.build
        return planned

    def prepare(self, planned: Planned) -> None:
        """Do what a run does before it builds."""

    def build(self, planned: Planned, until: str = "") -> dict[str, Any]:
        """Run the build steps; facts by action."""
        self.prepare(planned)
        facts: dict[str, Any] = {"commands": {}, "planned": {}, "took": {}}
        for draft in planned.build:
            began = time.monotonic()
            outcome = self.run(draft)
            facts[draft.action] = outcome.facts
            facts["commands"][draft.action] = outcome.commands
            facts["planned"][draft.action] = draft.commands
            facts["took"][draft.action] = round(time.monotonic() - began, 1)
            if draft.action == until:
                break
        return facts

    def make_blank(self, disks: Iterable[str]) -> None:
        """Make these disks blank, and remember the proof."""
        for disk in disks:
            self.context.zero_proof[disk] = make_blank(self.permits[disk])

    def run(self, draft: Draft) -> Outcome:
        return ACTIONS[draft.action].do(self.context, draft.args)

    def health(self, planned: Planned) -> list[str]:
        return [text for draft in planned.build for text in ACTIONS[draft.action].health(self.context, draft.args)]

    def alive(self) -> dict[str, str]:
        """Return the paths of the disks that were not pulled, by id."""
        return {name: permit.path() for name, permit in self.permits.items() if permit.alive()}

    def traces(self) -> dict[str, Any]:
        """Return everything of the layer that can be seen; empty where there is nothing."""
        raise NotImplementedError

    def leftovers(self) -> dict[str, Any]:
        return {what: value for what, value in self.traces().items() if value}

    def begin(self) -> None:
        """Begin a case."""
        self.planned = None

    def give_up(self) -> dict[str, Any]:
        """Take down what a failed case has built, and return what is left."""
        if self.planned is not None:
            self.run(self.planned.teardown[0])
        return {"left": self.leftovers()}


def wait_for_pull(bench: Bench, disk: str) -> None:
    """Have the host pull a disk out, between the files `ready` and `pulled`."""
    ready, pulled = (Path(f"/run/{bench.name}-{what}") for what in ("ready", "pulled"))
    ready.write_text(disk)
    while not pulled.exists():
        time.sleep(0.1)
    ready.unlink()
    pulled.unlink()


def blank(bench: Bench, case: Case) -> dict[str, Any]:
    """Make every disk that is left blank, for the host to look at."""
    left = [permit for permit in bench.permits.values() if permit.alive()]
    return {"disks": [permit.disk.id for permit in left], "proofs": [make_blank(permit) for permit in left]}


B = TypeVar("B", bound=Bench)


def drive(bench: B, *functions: Callable[[B, Case], dict[str, Any]]) -> None:
    """Run the cases of the standard input. One that goes wrong does not hide the others."""
    known: dict[str, Callable[[B, Case], dict[str, Any]]] = {one.__name__: one for one in (*functions, blank)}
    for case in json.load(sys.stdin):
        began = time.monotonic()
        signal.alarm(LONGEST_CASE_S)
        bench.begin()
        try:
            result = known[case["do"]](bench, case)
        except Exception as error:
            found = error.problems if isinstance(error, ProblemError) else ()
            result = {"problems": [[p.code, p.message, p.place, p.exit] for p in found] or traceback.format_exc()}
            result |= bench.give_up()
        result |= {"case": case["name"], "seconds": round(time.monotonic() - began, 1)}
        print(json.dumps(result, default=str), flush=True)
