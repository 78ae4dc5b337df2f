"""Devices that this server exports over a storage protocol and connects to: what NVMe-oF and iSCSI have in common."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar
from uuid import UUID

from raidtui.base import proc
from raidtui.base.files import read_int
from raidtui.base.text import clean
from raidtui.inventory.udev import wait_for_udev
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.amplification import Spread, Writes, copies
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.layer import Counts, Parts, Shape
from raidtui.stack.nodes import SYS_BLOCK, devno, users_of
from raidtui.stack.read_back import Difference, mismatch
from raidtui.stack.teardown import until_gone

LOOPBACK: Final = "127.0.0.1"
"""The only address on which an export listens: it is for this server itself."""
NODE_TIMEOUT_S: Final = 30.0
BUSY_PATIENCE_S: Final = 15.0
_FIRST_PORT: Final = 61_000
"""TCP ports from here on are not given to outgoing connections by default (net.ipv4.ip_local_port_range)."""

MISSING: Final = Refusal(
    "export-missing",
    "The kernel cannot export devices",
    "A module of the target or of the initiator cannot be loaded, or configfs is not mounted.",
    "Install the distribution's full kernel (linux-image-amd64); `mount -t configfs none /sys/kernel/config`.",
)
NOT_THERE: Final = Refusal(
    "export-not-there",
    "The exported device does not appear",
    "The connection was made, and the kernel shows no block device for one of the exported devices.",
    "Look at the kernel's messages (dmesg), then run it again.",
)
BUSY: Final = Refusal(
    "export-busy",
    "The exported device is in use",
    "The connection cannot be ended because something uses a device that came over it. The message names the users.",
    "End that use. When the cause is gone, `raidtui recover` removes the rest; it may be run any number of times.",
)


class Exported(Protocol):
    """One exported device."""

    @property
    def ref(self) -> str: ...
    @property
    def on(self) -> str: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def sector_bytes(self) -> int: ...


class Planned(Protocol):
    """Arguments of a step that exports devices."""

    @property
    def name(self) -> str: ...
    @property
    def disks(self) -> tuple[str, ...]: ...
    @property
    def devices(self) -> Sequence[Exported]: ...


P = TypeVar("P", bound=Planned)


def port_of(uuid: str, taken: Collection[int] = ()) -> int:
    """Return the TCP port of an export with this UUID: none that other exports of the same address have."""
    count = 0x10000 - _FIRST_PORT
    ports = (_FIRST_PORT + (UUID(uuid).int + more) % count for more in range(count))
    return next(port for port in ports if port not in taken)


def tolerates_failures(spec: object, counts: Counts) -> Mapping[str, tuple[int, str]]:
    return {"on": (0, "no device: each one is exported alone")}


def amplifies(spec: object, counts: Counts, writes: Writes) -> Spread:
    return Spread({"on": copies(1, writes)}, "passed through, 1")


def devices(spec: object, counts: Counts) -> int:
    return counts.get("on", 0)


def shape(spec: object, parts: Parts) -> Shape:
    """Return the shape; the size is that of all devices together."""
    below = parts["on"]
    stripe, chunk = (below[0].stripe_bytes, below[0].chunk_bytes) if len(below) == 1 else (None, None)
    return Shape(sum(one.size_bytes for one in below), 0, 1.0, chunk, stripe, data_share=1.0)


def load_modules(modules: Iterable[str]) -> list[Argv]:
    """Load these kernel modules (`name parameter=…`); return the commands. Raises ProblemError (`export-missing`)."""
    modprobe = proc.find_tool("modprobe")
    commands: list[Argv] = []
    for module in modules:
        words = module.split()
        ran = proc.run([modprobe, *words], check=False) if modprobe else None
        if ran is None or ran.code:
            why = clean(ran.error_text.strip()) if ran is not None else "modprobe is not installed"
            raise fail(MISSING, f"the module {words[0]} cannot be loaded: {why}", remedy=MISSING.way_out, exit=Exit.REFUSED)
        commands.append(("modprobe", *words))
    return commands


def await_unused(
    nodes: Callable[[], Iterable[str | None]], place: str, waits: str = "the connection cannot be ended"
) -> None:
    """Wait until nothing uses these block devices: udev may look at one. Raises ProblemError (`export-busy`).

    `waits`: what cannot be done meanwhile, for the message.

    The kernel would remove one that is in use.
    """
    until = time.monotonic() + BUSY_PATIENCE_S
    while users := [user for node in nodes() if node is not None for user in users_of(node)]:
        if time.monotonic() > until:
            raise fail(BUSY, f"{waits}: {'; '.join(users)}", place=place,
                       remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(0.3)


def size_bytes(node: str) -> int:
    return 512 * (read_int(SYS_BLOCK / node / "size") or 0)


def _differences(asked: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the values that are not as asked, also inside of nested dictionaries. What was not asked may differ."""
    for what, value in asked.items():
        if isinstance(value, dict):
            yield from _differences(value, found[what])
        elif found[what] != value:
            yield Difference(what, value, found[what])


def checked(name: str, asked: Mapping[str, Any], found: dict[str, Any], more: Iterable[Difference] = ()) -> dict[str, Any]:
    """Return what was found if it is as asked. Raises ProblemError (`read-back`), also if there are `more` differences."""
    if wrong := [*_differences(asked, found), *more]:
        raise mismatch("the export", name, wrong, "This version of the kernel or of its tools made something else.")
    return found


def await_nodes(nodes: Callable[[], Sequence[str | None]], export: Planned) -> list[str]:
    """Wait until every device is there with a size; return their kernel names. Raises ProblemError (`export-not-there`)."""
    until = time.monotonic() + NODE_TIMEOUT_S
    while not all(node is not None and size_bytes(node) for node in nodes()):
        if time.monotonic() > until:
            break  # the size is compared when it is read back
        time.sleep(0.05)
    return the_nodes(nodes(), export)


def the_nodes(nodes: Sequence[str | None], export: Planned) -> list[str]:
    """Return the kernel names. Raises ProblemError (`export-not-there`) if one of the devices does not exist."""
    found = []
    for node, one in zip(nodes, export.devices, strict=True):
        if node is None:
            raise fail(NOT_THERE, f"there is no block device for {one.ref}", place=export.name,
                       remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
        found.append(node)
    return found


@dataclass(frozen=True, kw_only=True)
class Target(Generic[P]):
    """The end that exports devices of this server. The public methods are functions of actions."""

    make: Callable[[Context, P, Mapping[str, str]], Iterable[Argv]]
    """Export; yield the commands. The paths of the devices below are by reference. Raises ProblemError."""
    backing: Callable[[P], Sequence[str | None]]
    """Return the path of the device behind each exported one, as the target has it."""
    read: Callable[[P], dict[str, Any]]
    """Return the target as JSON data."""
    asked: Callable[[P], dict[str, Any]]
    """Return the values that `read` has to find."""
    remove: Callable[[Context, P], tuple[Iterable[Argv], str]]
    """Remove what exists of the export. Return the commands, and what is left, as a sentence."""

    def offer(self, context: Context, export: P) -> Outcome:
        """Export the devices to another host. Raises ProblemError; what was made of it until then is removed first."""
        commands = begin(context, export)
        try:
            commands += self.make(context, export, {one.on: context.path(one.on) for one in export.devices})
            facts = self.check(context, export)
        except ProblemError:
            with suppress(ProblemError):
                self.withdraw(context, export)
            raise
        return Outcome("created", facts, tuple(commands))

    def differences(self, context: Context, export: P) -> list[Difference]:
        """Return the devices behind the exported ones that are not those below."""
        return [
            Difference("device", context.path(one.on), path)
            for one, path in zip(export.devices, self.backing(export), strict=True)
            if path is None or os.path.realpath(path) != os.path.realpath(context.path(one.on))
        ]

    def check(self, context: Context, export: P) -> dict[str, Any]:
        """Return what is read back. Raises ProblemError (`read-back`) if it is not as asked."""
        found = bounded(lambda: self.read(export), "asking the target")
        return checked(export.name, self.asked(export), found, self.differences(context, export))

    def health(self, context: Context, export: P) -> tuple[str, ...]:
        """Return the reasons why numbers measured now would be wrong, one sentence each."""
        return problems_of(lambda: self.check(context, export))

    def members(self, context: Context, export: P) -> Mapping[str, str]:
        """Return the kernel names of the devices below."""
        below = (Path(os.path.realpath(context.path(one.on))).name for one in export.devices)
        return {node: "member" for node in below if devno(node) is not None}

    def withdraw(self, context: Context, export: P) -> Outcome:
        """Remove the export, which ends connections to it: any number of times. Raises ProblemError (exit 6)."""
        return undone(context, export, lambda: self.remove(context, export))


@dataclass(frozen=True, kw_only=True)
class Initiator(Generic[P]):
    """The end that connects to exported devices. The public methods are functions of actions."""

    connect: Callable[[Context, P], Iterable[Argv]]
    """Connect; yield the commands. Raises ProblemError."""
    is_connected: Callable[[P], bool]
    nodes: Callable[[P], Sequence[str | None]]
    """Return the kernel name of each connected device; None for one that does not exist."""
    device_path: Callable[[P, int], str]
    """Return the path under which udev shows a connected device, given its place."""
    word: str
    """Name of what `read` returns."""
    read: Callable[[P], dict[str, Any]]
    """Return the connection as JSON data."""
    asked: Callable[[P], dict[str, Any]]
    """Return the values that `read` has to find."""
    disconnect: Callable[[P], tuple[Sequence[Argv], str]]
    """Disconnect, if there is a connection. Return the commands, and what is left, as a sentence."""

    def join(self, context: Context, export: P) -> Outcome:
        """Connect to the export of another host. Raises ProblemError; a connection made until then is ended first."""
        context.stop_if_cancelled()
        if self.is_connected(export):
            return Outcome("already there", self.made(context, export, self.check(export)))
        try:
            commands = tuple(self.connect(context, export))
            await_nodes(lambda: self.nodes(export), export)
            facts = self.made(context, export, self.check(export))
        except ProblemError:
            with suppress(ProblemError):
                self.leave(context, export)
            raise
        return Outcome("created", facts, commands)

    def look(self, export: P) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what was asked for and what is found. Raises ProblemError (`export-not-there`)."""
        nodes = the_nodes(self.nodes(export), export)
        found = {
            self.word: bounded(lambda: self.read(export), "asking the initiator"),
            "devices": nodes,
            "sizes_bytes": [size_bytes(node) for node in nodes],
            "sectors_bytes": [read_int(SYS_BLOCK / node / "queue/logical_block_size") for node in nodes],
        }
        asked = {
            self.word: self.asked(export),
            "sizes_bytes": [one.size_bytes for one in export.devices],
            "sectors_bytes": [one.sector_bytes for one in export.devices],
        }
        return asked, found

    def check(self, export: P) -> dict[str, Any]:
        """Return what is read back. Raises ProblemError (`read-back`) if it is not as asked."""
        return checked(export.name, *self.look(export))

    def made(self, context: Context, export: P, facts: dict[str, Any]) -> dict[str, Any]:
        """Record the paths of the devices in the context, and return the facts with them."""
        nodes: list[str] = facts["devices"]
        wait_for_udev(nodes, NODE_TIMEOUT_S)
        for place, (one, node) in enumerate(zip(export.devices, nodes, strict=True)):
            link = self.device_path(export, place)
            # Without udev there are no names.
            context.built[one.ref] = link if os.path.realpath(link) == f"/dev/{node}" else f"/dev/{node}"
        return {**facts, "paths": [context.built[one.ref] for one in export.devices]}

    def health(self, context: Context, export: P) -> tuple[str, ...]:
        """Return the reasons why numbers measured now would be wrong, one sentence each."""
        return problems_of(lambda: self.check(export))

    def leave(self, context: Context, export: P) -> Outcome:
        """Disconnect: any number of times. Raises ProblemError (exit 6): `export-busy`, `left-behind`, `stuck`."""

        def end() -> tuple[Sequence[Argv], str]:
            await_unused(lambda: self.nodes(export), export.name)
            return self.disconnect(export)

        return undone(context, export, end)


@dataclass(frozen=True, kw_only=True)
class Kind(Generic[P]):
    """Both ends on this server. The public methods are functions of actions."""

    target: Target[P]
    initiator: Initiator[P]

    def create(self, context: Context, export: P) -> Outcome:
        """Export the devices and connect. Raises ProblemError; what was made of it until then is removed first."""
        paths = {one.on: context.path(one.on) for one in export.devices}
        if self.initiator.is_connected(export):
            return Outcome("already there", self._made(context, export))
        commands = begin(context, export)
        try:
            for argv in itertools.chain(self.target.make(context, export, paths), self.initiator.connect(context, export)):
                commands.append(argv)
                context.stop_if_cancelled()
            await_nodes(lambda: self.initiator.nodes(export), export)
            facts = self._made(context, export)
        except ProblemError:
            # The first problem is the one to report; the teardown of the block reports what this one could not remove.
            with suppress(ProblemError):
                self.teardown(context, export)
            raise
        return Outcome("created", facts, tuple(commands))

    def _made(self, context: Context, export: P) -> dict[str, Any]:
        facts = self.initiator.made(context, export, self._check(context, export))
        return {"devices": facts["devices"], "paths": facts["paths"]}

    def _check(self, context: Context, export: P) -> dict[str, Any]:
        """Return what is read back from both ends. Raises ProblemError (`read-back`) if it is not as asked."""
        found = bounded(lambda: self.target.read(export), "asking the target")
        asked, connection = self.initiator.look(export)
        wrong = self.target.differences(context, export)
        return checked(export.name, self.target.asked(export) | asked, found | connection, wrong)

    def verify(self, context: Context, export: P) -> Outcome:
        """Read both ends back; facts are what was read. Raises ProblemError (`read-back`)."""
        return Outcome("done", self._check(context, export))

    def health(self, context: Context, export: P) -> tuple[str, ...]:
        """Return the reasons why numbers measured now would be wrong, one sentence each."""
        return problems_of(lambda: self._check(context, export))

    def members(self, context: Context, export: P) -> Mapping[str, str]:
        """Return the kernel names of the connected devices and of those below. Raises ProblemError."""
        above = dict.fromkeys(the_nodes(self.initiator.nodes(export), export), "target")
        return above | dict(self.target.members(context, export))

    def teardown(self, context: Context, export: P) -> Outcome:
        """Disconnect and remove the export: any number of times, after a crash or a reboot too.

        Raises ProblemError (exit 6): `export-busy`, `left-behind`, `stuck`.
        """

        def end() -> tuple[Sequence[Argv], str]:
            await_unused(lambda: self.initiator.nodes(export), export.name)
            commands, left = self.initiator.disconnect(export)
            if left:
                return commands, left
            more, left = self.target.remove(context, export)
            return [*commands, *more], left

        return undone(context, export, end)


def begin(context: Context, export: Planned) -> list[Argv]:
    """Prepare to export: nothing is in the way, and the builder is loaded. Return an empty list of commands."""
    context.stop_if_cancelled()
    context.about_to_write(export.disks)
    context.builder.load()  # now: loading takes longer than the disks may be unheld
    return []


def problems_of(check: Callable[[], object]) -> tuple[str, ...]:
    """Return the reason why a check fails; empty if it does not."""
    try:
        check()
    except ProblemError as error:
        return (error.problems[0].message,)
    return ()


def undone(context: Context, export: Planned, end: Callable[[], tuple[Iterable[Argv], str]]) -> Outcome:
    """Call `end` until nothing is left, and forget the devices. Raises ProblemError (`left-behind`)."""
    commands: list[Argv] = []

    def attempt() -> str:
        done, left = end()
        commands.extend(done)
        return left

    until_gone(attempt, "the export", export.name)
    for one in export.devices:
        context.built.pop(one.ref, None)
    context.hold([disk for one in export.devices if (disk := context.disk_of(one.on)) is not None])
    return Outcome("undone" if commands else "nothing to do", {}, tuple(commands))
