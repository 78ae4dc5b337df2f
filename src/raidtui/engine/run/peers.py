"""The peers of a run on other hosts, as the run sees them: started over ssh, ordered step by step, told that it lives.

The transport is an argv, as everywhere: ssh, which becomes root there and brings raidtui's code along if it is not there
(`remote/`). fio's socket on the other host is forwarded over the same ssh.
"""

from __future__ import annotations

import math
import os
import pwd
import queue
import re
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from raidtui.base.lines import LineReader, LineTooLong
from raidtui.base.proc import CLEAN_ENV, PIPE, Child, ToolError, spawn
from raidtui.base.text import clean
from raidtui.engine.run import links, space
from raidtui.engine.run.host_cores import HostWork, counted, daemon_kinds
from raidtui.engine.run.host_part import part_of
from raidtui.engine.step_args import CellRun, WorkloadRun, decode_args
from raidtui.inventory.interfaces import link_of
from raidtui.load.engine import NO_FD, Target, TargetDevice
from raidtui.load.fio.clients import SOCKET, socket_of
from raidtui.model.convert import encode
from raidtui.model.hosts import ALIVE_EVERY_S, LEASE_S, LOAD_EVERY_S, PEER_PROTOCOL, Answer, HostLoad, Order, PeerHello
from raidtui.model.plan import Host, Plan, Step
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.protocol import MAX_MESSAGE_BYTES
from raidtui.remote.pack import Code, local_code
from raidtui.remote.start import answer_in, as_root, code_message, start_script, wanted_line
from raidtui.stack.action import Outcome

HOST_UNREACHABLE: Final = Refusal(
    "host-unreachable",
    "A host of the run cannot be reached",
    "The storage server could not start raidtui on the host over ssh. The message quotes ssh.",
    "Make `ssh root@HOST true` work from root's account on the storage server, without a question.",
)
HOST_LOST: Final = Refusal(
    "host-lost",
    "A host of the run was lost",
    "The connection from the storage server to the host ended in the middle of the run. The host undoes its part by itself "
    "after at most half a minute, unless it is down; after a restart nothing of it is left there.",
    "`raidtui --on HOST recover` shows whether anything is left there.",
)
HOST_NO_FIO: Final = Refusal(
    "host-no-fio",
    "A host has no fio",
    "Hosts load an export by fio's own server, which is not installed on one of them.",
    "Install it there: apt install fio, or `raidtui --on HOST prepare`.",
)
HOST_ADDRESS: Final = Refusal(
    "host-address",
    "Not a valid host",
    "A host is named by an ssh destination.",
    "Write --host GROUP=root@ADDRESS,root@ADDRESS.",
)
RUNS_THERE: Final = "/var/lib/raidtui/runs"
"""Folder of a root's runs on any host."""
_HELLO_S: Final = 120.0
_LAST_WORDS_S: Final = 1.0
_ANSWER_S: Final = 600.0
_SLOWER: Final = 10.0
"""A step on a host may take so many times as long as estimated."""
_ADDRESS: Final = re.compile(r"(?!-)[A-Za-z0-9_.@:%\[\]-]{1,200}")
_SSH: Final = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=10",
               "-o", "ServerAliveCountMax=3")  # fmt: skip
_LEAST_APART_S: Final = LOAD_EVERY_S / 2
"""Live numbers of a host that follow each other faster are dropped: it was stuck, and these are old."""
_GREETING: Final = msgspec.json.Decoder(PeerHello)
_MESSAGES: Final[msgspec.json.Decoder[Answer | HostLoad]] = msgspec.json.Decoder(Answer | HostLoad)


@cache
def _code() -> Code:
    return local_code()


def ssh_argv(address: str, forward: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the argv that starts a peer at an ssh destination. Raises ProblemError (`host-address`)."""
    if not _ADDRESS.fullmatch(address):
        raise fail(HOST_ADDRESS, f"{clean(address[:80])!r} is not an ssh destination", remedy=HOST_ADDRESS.way_out)
    destination = re.sub(r"\[([^\[\]]+)\]$", r"\1", address)  # ssh takes IPv6 without brackets
    return (*_SSH, *forward, "--", destination, as_root(start_script(_code().version, "peer")))


def forward_argv(here: Path, there: str) -> tuple[str, ...]:
    """Return ssh's options that make a unix socket of the other host reachable here."""
    return ("-o", "StreamLocalBindUnlink=yes", "-o", "ExitOnForwardFailure=yes", "-L", f"{here}:{there}")


class Peer:
    """The connection to one host. Orders may come from one thread at a time."""

    def __init__(
        self, name: str, argv: Sequence[str], address: str = "HOST", heard: Callable[[HostLoad], None] | None = None
    ) -> None:
        """Start it, and wait for its hello. `address` is for messages, `heard` gets live numbers from another thread.

        Raises ProblemError (`host-unreachable`).
        """
        self.name = name
        self.address = address
        self._noise = bytearray()
        self._writing = threading.Lock()
        self._heard = heard
        self._heard_s = 0.0
        self._answers: queue.Queue[Answer | None] = queue.Queue(1)
        """The answer to the order that was given; None when no other follows."""
        self.lost = False
        try:
            # ssh needs HOME for its config and keys: root's, whatever started the run.
            self._child: Child = spawn(argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=_environment())
        except ToolError as error:
            raise fail(HOST_UNREACHABLE, f"{name}: {error}", place=name, remedy=self._way_to_reach(),
                       exit=Exit.REFUSED) from None  # fmt: skip
        assert self._child.stdout is not None
        self._until_s = time.monotonic() + _HELLO_S
        self._lines = LineReader(self._child.stdout.fileno(), lambda: time.monotonic() > self._until_s)
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._errors.start()
        try:
            self.hello = self._greet()
        except BaseException:
            self.close()
            raise
        self._until_s = math.inf  # from now on it may be silent, and `ask` has a limit of its own
        self._reader = threading.Thread(target=self._read, name=f"peer {name}", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Read what the host says until it ends: answers for `ask`, live numbers for whoever listens."""
        with suppress(ValueError):  # msgspec's errors are ValueErrors: it is no peer any more
            while (line := self._next()) is not None:
                message = _MESSAGES.decode(line)
                if isinstance(message, Answer):
                    self._answers.put(message)
                elif (heard := self._heard) is not None and time.monotonic() - self._heard_s >= _LEAST_APART_S:
                    self._heard_s = time.monotonic()
                    with suppress(OSError):  # a journal that cannot be written is found by the run itself
                        heard(message)
        self._answers.put(None)

    def _greet(self) -> PeerHello:
        while (line := self._next()) is not None:
            text = line.decode("utf-8", "backslashreplace")
            if text.strip() == wanted_line(_code().version):
                self._write(code_message(_code(), ("peer",)))
                continue
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                hello = _GREETING.decode(line)
                if hello.protocol != PEER_PROTOCOL:
                    break
                return hello
            self._noise += line + b"\n"  # a login script's words
        said = self._said()
        answer = answer_in(said)
        why = answer.text if answer else _in_a_line(said[-400:]) or "no answer"
        raise fail(HOST_UNREACHABLE, f"raidtui could not be started on {self.name}: {why}", place=self.name,
                   remedy=self._way_to_reach(), exit=Exit.REFUSED)  # fmt: skip

    def _said(self) -> str:
        """Return what ssh or a login script printed; a connection that ended may have its last words still unread."""
        self._errors.join(_LAST_WORDS_S)
        return self._noise.decode("utf-8", "backslashreplace").strip()

    def _way_to_reach(self) -> str:
        return HOST_UNREACHABLE.way_out.replace("root@HOST", self.address)

    def _next(self) -> bytearray | None:
        try:
            return self._lines.next(MAX_MESSAGE_BYTES)
        except (OSError, LineTooLong, ValueError):
            return None

    def _read_errors(self) -> None:
        assert self._child.stderr is not None
        with suppress(OSError, ValueError):
            while data := self._child.stderr.read1(4096):  # type: ignore[attr-defined]
                self._noise = (self._noise + data)[-8192:]

    def _write(self, data: bytes) -> None:
        """Raises OSError if the peer does not read within the lease."""
        assert self._child.stdin is not None
        with self._writing:
            poll = select.poll()
            poll.register(self._child.stdin.fileno(), select.POLLOUT)
            if not poll.poll(1000 * LEASE_S):
                raise BrokenPipeError
            self._child.stdin.write(data)
            self._child.stdin.flush()

    def tell(self) -> None:
        """Tell the peer that the run lives."""
        with suppress(OSError, ValueError):
            self._write(encode(Order("alive")) + b"\n")

    def ask(self, order: Order, timeout_s: float = _ANSWER_S) -> Outcome:
        """Give an order and return its outcome. Raises ProblemError: what failed there, or `host-lost`."""
        if self.lost:
            raise self._gone()
        try:
            self._write(encode(order) + b"\n")
            answer = self._answers.get(timeout=timeout_s)
        except (OSError, ValueError, queue.Empty):
            raise self._gone() from None
        if answer is None:
            raise self._gone()
        if answer.failed:
            found = [self._named(problem) for problem in answer.problems]
            error = ProblemError(*(found or [HOST_LOST.problem(f"{self.name} failed without a reason")]))
            error.commands = answer.commands
            raise error
        return Outcome(answer.result, answer.facts, answer.commands, answer.problems)

    def _named(self, problem: Problem) -> Problem:
        """Return a problem of the host with its name in the message."""
        text = problem.message
        return problem if self.name in text else msgspec.structs.replace(problem, message=f"{self.name}: {text}")

    def _gone(self) -> ProblemError:
        self.lost = True
        said = _in_a_line(self._said()[-300:])
        return fail(HOST_LOST, f"{self.name} does not answer any more{f': {said}' if said else ''}", place=self.name,
                    remedy=HOST_LOST.way_out.replace("HOST", self.address), exit=Exit.LEFT_BEHIND)  # fmt: skip

    def close(self) -> None:
        """End the connection; a peer with a run undoes its part then. Nothing is heard of it any more."""
        self._heard = None
        with suppress(OSError, ValueError):
            assert self._child.stdin is not None
            self._child.stdin.close()
        if self._child.wait(5.0) is None:
            self._child.end()


def _in_a_line(said: str) -> str:
    """Return what ssh said in several lines, ended as a terminal wants them, as one."""
    return clean(" · ".join(filter(None, map(str.strip, said.splitlines()))))


def _environment() -> dict[str, str]:
    return {**CLEAN_ENV, "HOME": pwd.getpwuid(os.geteuid()).pw_dir}


def look_at(
    groups: Mapping[str, Sequence[str]], argv_of: Callable[[str], Sequence[str]] = ssh_argv
) -> dict[str, tuple[Host, ...]]:
    """Ask each of these ssh destinations, at the same time, what it is. Raises ProblemError with every one that fails."""
    names = [
        (group, f"{group}-{number}", address)
        for group, found in groups.items() for number, address in enumerate(found, 1)
    ]  # fmt: skip
    hosts: dict[str, list[Host]] = {group: [] for group in groups}
    problems: list[Problem] = []
    with ThreadPoolExecutor(8) as pool:
        asked = [(group, pool.submit(_look, ref, address, argv_of)) for group, ref, address in names]
        for group, found in asked:
            try:
                hosts[group].append(found.result())
            except ProblemError as error:
                problems += error.problems
    if problems:
        raise ProblemError(*problems)
    return {group: tuple(found) for group, found in hosts.items()}


def _look(ref: str, address: str, argv_of: Callable[[str], Sequence[str]]) -> Host:
    began_s = time.time()
    peer = Peer(ref, argv_of(address), address)
    try:
        hello, now_s = peer.hello, time.time()
        # The hello was written between these two moments, most likely near the second one.
        difference = hello.clock_s - now_s if hello.clock_s > now_s or hello.clock_s < began_s else 0.0
        if not hello.root:
            raise fail(HOST_UNREACHABLE, f"raidtui is not root on {address}", place=ref, remedy=HOST_UNREACHABLE.way_out,
                       exit=Exit.REFUSED)  # fmt: skip
        if not hello.fio:
            remedy = f"Install it: apt install fio, or raidtui --on {address} prepare"
            raise fail(HOST_NO_FIO, f"fio is not installed on {address}", place=ref, remedy=remedy, exit=Exit.REFUSED)
        if problem := space.too_little(f"{ref} ({address})", hello.folder, hello.free_bytes):
            raise ProblemError(problem)
        return Host(ref, address, hello.host, hello.machine_id, hello.boot_id, hello.kernel,
                    hello.own_address, hello.storage_address, hello.own_link,
                    link_of(hello.storage_address) if hello.storage_address else None, round(difference, 3))  # fmt: skip
    finally:
        peer.close()


class Peers:
    """All peers of one run."""

    def __init__(
        self, run: str, folder: Path, plan: Plan, argv_of: Callable[..., Sequence[str]] = ssh_argv,
        heard: Callable[[str, HostLoad], None] = lambda host, load: None
    ) -> None:  # fmt: skip
        """`heard` gets the live numbers of each host that loads a cell, from a thread for each."""
        self._run = run
        self._folder = folder
        self._plan = plan
        self._argv_of = argv_of
        self._heard = heard
        self._peers: dict[str, Peer] = {}
        self._stopped = threading.Event()

    def start(self) -> None:
        """Connect to every host, and give it its part of the plan. Raises ProblemError; the gate has not been asked yet."""
        hosts = [host for found in self._plan.hosts.values() for host in found]
        if not hosts:
            return
        # Before the last host has answered, the lease of the first one may be over.
        threading.Thread(target=self._tell, daemon=True).start()
        with ThreadPoolExecutor(8) as pool:
            for begun in [pool.submit(self._begin, host) for host in hosts]:
                begun.result()

    def _begin(self, host: Host) -> None:
        here, there = self._folder / "work" / socket_of(host.ref), f"{RUNS_THERE}/{self._run}/{SOCKET}"
        peer = Peer(host.ref, self._argv_of(host.address, forward_argv(here, there)), host.address,
                    lambda load: self._heard(host.ref, load))  # fmt: skip
        self._peers[host.ref] = peer
        if (peer.hello.machine_id, peer.hello.boot_id) != (host.machine_id, host.boot_id):
            raise fail(HOST_UNREACHABLE, f"{host.ref} is not the host that the plan was made with, or was restarted",
                       place=host.ref, remedy="Look at the plan again.", exit=Exit.REFUSED)  # fmt: skip
        peer.ask(Order("begin", self._run, host.ref, part_of(self._plan, host.ref)))

    def _tell(self) -> None:
        while not self._stopped.wait(ALIVE_EVERY_S):
            for peer in tuple(self._peers.values()):
                peer.tell()

    def do(self, step: Step, keys: dict[str, str]) -> Outcome:
        """Have a step done by its host, which gets the key that the step names (forgotten here), or by all: the links.

        Raises ProblemError.
        """
        if step.action == links.ACTION:
            hosts = [host for group in self._plan.hosts.values() for host in group]
            return links.measure(self._peers, hosts, decode_args(links.LinkArgs, step.args, step.id))
        key = keys.pop(step.args.get("key", ""), "")
        # Making disks blank may take hours; the host's connection ends if it dies.
        return self._peers[step.host].ask(Order("step", step=step.id, key=key), _ANSWER_S + _SLOWER * step.seconds)

    def _blanking_s(self, host: str) -> float:
        """Return the estimated time in which a host makes its disks blank."""
        return sum(step.seconds for step in self._plan.steps if step.host == host and step.action == "disks.blank")

    def health(self) -> tuple[str, ...]:
        """Return the reasons why numbers measured now would be wrong, as the hosts see them."""
        found: list[str] = []
        for peer in self._peers.values():
            try:
                found += [f"{peer.name}: {text}" for text in peer.ask(Order("health")).facts["wrong"]]
            except ProblemError as error:
                found += [problem.message for problem in error.problems]
        return tuple(found)

    @contextmanager
    def loading(self, step: Step, args: WorkloadRun) -> Iterator[Target]:
        """Have the hosts open their targets of a cell and start fio there; yield the target that they are together."""
        hosts = [one.host for one in args.on]
        devices: list[TargetDevice] = []
        try:
            for one in args.on:
                outcome = self._peers[one.host].ask(Order("listen", step=step.id))
                devices += [TargetDevice(NO_FD, f"{one.host}:{ref}", args.size_bytes) for ref in one.refs]
                here = self._folder / "work" / socket_of(one.host)
                if here.is_symlink() or not here.exists():  # nothing forwards it: the host is this machine
                    here.unlink(missing_ok=True)
                    here.symlink_to(outcome.facts["socket"])
            yield Target(tuple(devices), args.kind, args.on)
        finally:
            for host in hosts:
                with suppress(ProblemError):  # a lost host ends its fio itself
                    self._peers[host].ask(Order("unlisten"))

    def work(self, args: CellRun) -> AbstractContextManager[dict[str, HostWork]]:
        """Count the work of this host and of those that load the target, if hosts do; of all hosts, if daemons serve it."""
        kinds, loading = daemon_kinds(args.layers), {one.host for one in args.on}
        peers = {name: peer for name, peer in self._peers.items() if name in loading or (kinds and not peer.lost)}
        return counted(peers, kinds, loads=not args.on)

    def end(self) -> list[Problem]:
        """Have every host end its part, once, and return what went wrong there."""
        self._stopped.set()
        problems: list[Problem] = []
        peers, self._peers = self._peers, {}
        for peer in peers.values():
            if not peer.lost:
                try:
                    peer.ask(Order("end"), _ANSWER_S + _SLOWER * self._blanking_s(peer.name))
                except ProblemError as error:
                    problems += error.problems
            peer.close()
        return problems
