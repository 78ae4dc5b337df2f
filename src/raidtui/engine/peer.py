"""A peer: the part of a run that happens on another host, ordered by the run over ssh (`run/peers.py`).

It plans nothing. It has the planned steps of its host, a journal of its own, and undoes what it made when it is told to,
when the connection ends, or when it hears nothing for `LEASE_S`. If it is killed itself, `raidtui recover` on this host
reads its journal. Disks of its host it gets as a run does: the gate admits them before the first step, holds them to the
end, and they are made blank again.
"""

from __future__ import annotations

import os
import platform
import re
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Final

import msgspec

from raidtui import __version__, inventory
from raidtui.base.lines import LineReader
from raidtui.base.proc import ToolError, ToolTimeout, find_tool, run
from raidtui.engine.host_views import own_view
from raidtui.engine.machine import describe
from raidtui.engine.run import claims, links, runs, space
from raidtui.engine.run.held import recheck
from raidtui.engine.run.host_cores import HostWork, core_watch
from raidtui.engine.run.journal import Journal
from raidtui.engine.run.target import open_target, reserve
from raidtui.engine.step_args import CellRun, Prefill, Recheck, WorkloadRun, decode_args
from raidtui.gate import locks
from raidtui.gate.admit import admit
from raidtui.inventory.interfaces import link_of
from raidtui.load.fio.clients import Server
from raidtui.model.convert import encode
from raidtui.model.event import AnyEvent, DisksAdmitted, RunFinished, RunStarted, StepDone, StepFailed, StepStarted
from raidtui.model.hosts import LEASE_S, PEER_PROTOCOL, Answer, HostLoad, Order, PeerHello
from raidtui.model.plan import Plan, Step, own_disks
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, bug, fail
from raidtui.model.protocol import MAX_REQUEST_BYTES
from raidtui.stack import mounts
from raidtui.stack.action import BoundAction, Outcome, signatures_left
from raidtui.stack.blank import DisksToBlank, blank
from raidtui.stack.catalog import bind, builder_modules, require_libraries
from raidtui.stack.context import Context
from raidtui.stack.teardown import found_foreign_data
from raidtui.watch.host_load import LoadWatch, Moved, moved_by

PEER_ORDER: Final = Refusal(
    "peer-order",
    "A host was ordered to do what it cannot",
    "The run and its peer on another host do not understand each other. Nothing was done.",
    "This is a bug: please report it.",
)
PEER_ALONE: Final = Refusal(
    "peer-alone",
    "The host lost its run",
    "The connection to the storage server ended, or was silent for too long. The host undid its part of the run by itself.",
    "Look at the run on the storage server: `raidtui runs` there.",
)
HOST_TAKEN: Final = Refusal(
    "host-taken",
    "A host works for another run",
    "Two runs that load from the same host at the same time would measure each other.",
    "Wait until the other run has ended: `raidtui runs` on that host has its name.",
)
_FIO_ANSWERS_S: Final = 20.0
_CLAIM: Final = "load from this host"
_LAST_BLANK: Final = "end"
"""Step of the journal in which disks are made blank that no planned step did."""
_ORDERS: Final = msgspec.json.Decoder(Order)


def serve() -> int:
    """Serve one run on stdin and stdout, to its end."""
    os.umask(0o077)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the end of the ssh session is seen on stdin
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # Libraries print to descriptor 1 as they please; the orders' answers have a copy of it.
    out = os.dup(1)
    os.dup2(2, 1)
    return _Peer(sys.stdin.fileno(), out).serve()


def _hello() -> PeerHello:
    own, storage = "", ""
    if len(words := os.environ.get("SSH_CONNECTION", "").split()) == 4:
        storage, _, own, _ = words
    return PeerHello(
        PEER_PROTOCOL, __version__, socket.gethostname(), os.geteuid() == 0, inventory.boot_id(), inventory.machine_id(),
        platform.release(), own, storage, time.time(), link_of(own) if own else None, _fio_version(),
        *space.known(),
    )  # fmt: skip


def _fio_version() -> str:
    """Return the version of fio; empty if it is not installed or does not work."""
    fio = find_tool("fio")
    try:
        return run([fio, "--version"], timeout_s=_FIO_ANSWERS_S).text.strip().removeprefix("fio-") if fio else ""
    except ToolTimeout:
        return "of an unknown version"  # this host is slow now; a measurement has more patience
    except ToolError:
        return ""


class _Peer:
    def __init__(self, orders: int, out: int) -> None:
        self._out = out
        self._writing = threading.Lock()
        self._heard_s = time.monotonic()
        self._lines = LineReader(orders, lambda: time.monotonic() - self._heard_s > LEASE_S)
        self._part: _Part | None = None

    def serve(self) -> int:
        self._send(_hello())
        outcome, alone = Exit.DONE, True
        try:
            while (line := self._lines.next(MAX_REQUEST_BYTES)) is not None:
                self._heard_s = time.monotonic()
                order = _ORDERS.decode(line)
                if order.do == "end":
                    alone = False
                    break
                if order.do != "alive":
                    self._send(self._answer(order))
        finally:
            if self._part is not None:
                outcome = self._part.end(alone=alone)
        if not alone:
            problems = tuple(self._part.problems) if self._part is not None else ()
            self._send(Answer("undone", failed=outcome != Exit.DONE, problems=problems))
        return int(outcome)

    def _send(self, message: PeerHello | Answer | HostLoad) -> None:
        line = encode(message) + b"\n"
        # A write that fails: the orders end as well, then.
        with self._writing, suppress(OSError):
            while line:
                line = line[os.write(self._out, line) :]

    def _send_if_read(self, load: HostLoad) -> None:
        """Send live numbers, or drop them if the run does not read what was sent: nothing waits for them."""
        poll = select.poll()
        poll.register(self._out, select.POLLOUT)
        if not self._writing.locked() and poll.poll(0):
            self._send(load)

    def _answer(self, order: Order) -> Answer:
        try:
            if order.do == "begin":
                if self._part is not None or order.plan is None:
                    raise fail(PEER_ORDER, "a run has begun already, or has no plan", exit=Exit.BUG)
                self._part = _Part(order.run, order.host, order.plan, self._send_if_read)
                return Answer("done")
            if order.do == "look":
                return Answer("done", msgspec.to_builtins(own_view()))
            if self._part is None:
                raise fail(PEER_ORDER, f"{order.do} before the run began", exit=Exit.BUG)
            outcome = self._part.order(order)
            return Answer(outcome.result, outcome.facts, outcome.commands, outcome.problems)
        except ProblemError as error:
            return Answer(problems=error.problems, commands=error.commands, failed=True)
        except Exception as error:  # the boundary: the run gets it in words
            return Answer(problems=(bug(error, order.do),), failed=True)


class _Part:
    """The part of a run on this host."""

    def __init__(self, name: str, host: str, plan: Plan, say: Callable[[HostLoad], None]) -> None:
        """Begin it. `say` gets the live numbers, from another thread. Raises ProblemError if this host cannot do it."""
        if os.geteuid() != 0:
            raise fail(inventory.REASONS["not-root"], f"{host} needs root", exit=Exit.REFUSED)
        self._steps = {step.id: step for step in plan.steps}
        require_libraries({step.action for step in plan.steps})
        if not re.fullmatch(runs.RUN_PATTERN, name):
            raise fail(PEER_ORDER, f"{name[:40]!r} is no name of a run", exit=Exit.BUG)
        if problem := space.here(host):
            raise ProblemError(problem)
        try:
            locks.take(name, [_CLAIM])  # until this process ends
        except ProblemError as error:
            text = f"{host} works for another run: {error.problems[0].message}"
            raise fail(HOST_TAKEN, text, place=host, remedy=HOST_TAKEN.way_out, exit=Exit.REFUSED) from None
        self._host = host
        _, self._folder = runs.create(plan, name)
        lock = runs.own(self._folder)
        assert lock is not None, "the folder is new"
        self._lock = lock
        mounts.enter_own_namespace()
        reserve(max((len(_target(step).refs) for step in plan.steps if step.action in ("measure", "prefill")), default=1))
        self._journal = Journal(self._folder)
        self._journal.append(RunStarted(name, plan, describe(), os.getpid(), __version__))
        self._context = Context(name, self._folder, {}, lambda *_: None, threading.Event())
        self._made: list[BoundAction] = []
        self._loading = ExitStack()
        self._cores = core_watch()
        self._loaded: list[str] = []
        self._moved: Moved | None = None
        self._say = say
        self.problems: list[Problem] = []
        self._claims: list[locks.Lock] = []
        try:
            self._claims = claims.take(name, claims.claims_of(plan.steps), claims.relied_on(plan.steps))
            if modules := builder_modules({step.action for step in plan.steps}):
                self._context.builder.start(*modules)
            self._admit(plan)
        except ProblemError:
            self.end(alone=False)
            raise

    def _admit(self, plan: Plan) -> None:
        """Have the gate admit the disks of this host, after a search for data on them. Raises ProblemError."""
        disks = own_disks(plan.binding)
        if not disks:
            return
        evidence: dict[str, object] = {}
        admitted = admit(self._context.run, disks, evidence.update)
        permits = {permit.fingerprint.id: permit for permit in admitted}
        self._context = Context(self._context.run, self._folder, permits, lambda *_: None, threading.Event(),
                                builder=self._context.builder)  # fmt: skip
        self._context.ours = lambda: signatures_left(self._made)
        self._journal.append(DisksAdmitted(tuple(permits), evidence))

    def order(self, order: Order) -> Outcome:
        """Carry out an order. Raises ProblemError."""
        if order.do == "health":
            wrong = [text for action in self._made for text in action.health(self._context)]
            wrong += [f"disk {disk} was lost" for disk, permit in self._context.permits.items() if not permit.alive()]
            return Outcome("done", {"wrong": [self._full().message, *wrong] if self._journal.is_full() else wrong})
        if order.do == "unlisten":
            self._loading.close()
            return Outcome("done")
        if order.do in ("connect", "rate") and order.link is not None:
            return (links.connect_ms if order.do == "connect" else links.rate)(order.link)
        if order.do == "watch":
            self._moved = moved_by(self._loaded)
            self._cores.start(order.daemons)
            return Outcome("done")
        if order.do == "watched":
            cores, after = self._cores.stop(), moved_by(self._loaded)
            moved = after.since(self._moved) if after is not None and self._moved is not None else None
            return Outcome("done", msgspec.to_builtins(HostWork(cores, moved)))
        if (step := self._steps.get(order.step)) is None:
            raise fail(PEER_ORDER, f"there is no step {order.step[:20]!r} here", exit=Exit.BUG)
        if self._journal.is_full() and step.phase != "teardown":
            raise ProblemError(self._full())
        if order.key:
            self._context.keys[step.args["key"]] = order.key
        return self._listen(step) if order.do == "listen" else self._do(step)

    def _full(self) -> Problem:
        return space.ran_full(self._host, self._folder)

    def _note(self, event: AnyEvent, *, needed: bool = True) -> None:
        """Journal an event. Raises ProblemError (`no-space`, `journal-lost`) if it is needed and cannot be written."""
        try:
            self._journal.append(event)
        except OSError as error:
            lost = self._full() if error.errno in space.FULL else self._journal.lost()
            if needed and lost is not None:
                raise ProblemError(lost) from error

    def _listen(self, step: Step) -> Outcome:
        """Open the target of a cell, start a fio server that loads it, and tell live numbers from now on."""
        self._loading.close()
        self._loading = ExitStack()
        if step.erases:  # what is loaded may be a disk itself
            self._note(StepStarted(step.id, step.title, step.action, step.block, step.cell))
        target = self._loading.enter_context(open_target(_target(step), self._context))
        server = Server(self._folder, target.fds)
        self._loading.callback(server.end)
        self._cores = core_watch(server.pid)
        self._loaded = [device.name for device in target.devices]
        with suppress(OSError):
            self._loading.callback(LoadWatch(self._loaded, self._say).stop)
        return Outcome("done", {"socket": str(server.socket), "sizes_bytes": [one.size_bytes for one in target.devices]},
                       (server.argv,))  # fmt: skip

    def _do(self, step: Step) -> Outcome:
        """Journal, act, journal. Raises ProblemError. What is taken down is so without a journal, too."""
        if step.action in ("recheck", "release"):
            return recheck(decode_args(Recheck, step.args), self._context, self._context.permits, ())
        begun = StepStarted(step.id, step.title, step.action, step.block, creates=step.creates, args=step.args)
        needed = step.phase != "teardown"
        self._note(begun, needed=needed)
        began = time.monotonic()

        def took() -> float:
            return round(time.monotonic() - began, 3)

        action = bind(step.action, step.args)
        if step.phase == "build":
            self._made.append(action)
        try:
            outcome = self._context.attend(action.do)
        except ProblemError as error:
            self._note(StepFailed(step.id, error.problems[0], took(), error.commands), needed=False)
            raise
        except Exception as error:
            self._note(StepFailed(step.id, bug(error), took()), needed=False)
            raise
        finally:
            self._context.hold(self._context.permits)  # what a layer gave back
        if step.phase == "teardown":
            self._made = [other for other in self._made if other.args != action.args]
        done = StepDone(step.id, outcome.result, took(), outcome.commands, outcome.facts, outcome.problems)
        self._note(done, needed=needed)
        return outcome

    def end(self, *, alone: bool) -> Exit:
        """Undo what is left, close the journal, and return how it ended. `alone`: without an order."""
        try:
            self._loading.close()
            for action in reversed(self._made):
                if found_foreign_data(self.problems) and action.leaves():
                    continue  # foreign objects may be built on it
                try:
                    action.undo(self._context)
                except ProblemError as error:
                    self.problems += error.problems
            self._blank()
            if alone:
                self.problems.append(PEER_ALONE.problem("the connection to the run was lost", exit=Exit.INVALID))
            if (lost := self._journal.lost()) is not None:
                self.problems.append(lost)
            left = any(problem.exit == Exit.LEFT_BEHIND for problem in self.problems)
            outcome = Exit.LEFT_BEHIND if left else Exit.INVALID if alone else Exit.DONE
            self._note(RunFinished(int(outcome), outcome.words, tuple(self.problems)), needed=False)
        finally:
            self._context.builder.close()
            for permit in self._context.permits.values():
                permit.close()
            claims.release(self._claims)
            self._journal.close()
            runs.close(self._folder)
            os.close(self._lock)
        return outcome

    def _blank(self) -> None:
        """Make the disks blank that no step made so, unless something is left of what stood on them."""
        disks = tuple(f"disk:{disk}" for disk in self._context.permits)
        if not disks or self.problems:
            return
        self._context.hold(self._context.permits)
        blanks = DisksToBlank(disks, if_written=True)
        self._note(StepStarted(_LAST_BLANK, "Make the disks blank again", "disks.blank"), needed=False)
        began = time.monotonic()
        outcome = self._context.attend(lambda context: blank(context, blanks))
        self.problems += outcome.problems
        took_s = round(time.monotonic() - began, 3)
        self._note(StepDone(_LAST_BLANK, outcome.result, took_s, facts=outcome.facts), needed=False)


def _target(step: Step) -> WorkloadRun:
    """Return the arguments of a step that loads a target of this host. Raises ProblemError."""
    if step.action == "measure":
        return decode_args(CellRun, step.args, step.cell)
    if step.action == "prefill":
        return decode_args(Prefill, step.args, step.cell)
    raise fail(PEER_ORDER, f"{step.action} loads nothing", exit=Exit.BUG)
