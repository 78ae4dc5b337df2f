"""One device-mapper device over one device, as libcryptsetup makes it: created, checked, closed, and its header erased.

`Kind` has the actions that encrypted volumes and integrity devices share. Calls of the library are recorded like commands
(`bd_crypto_luks_open DEVICE NAME`); the fact `same_as` has the commands of cryptsetup(8) that do the same.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from raidtui.base import proc
from raidtui.base.files import read_int, read_text
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.builder.seen import Expected, Seen
from raidtui.stack.calls import CallFailed, bounded
from raidtui.stack.context import Context
from raidtui.stack.nodes import SYS_BLOCK, devno, is_suspended, users_of
from raidtui.stack.read_back import Difference, mismatch
from raidtui.stack.teardown import Device, device_at, erase_marks, lend, open_for_writing, split_present, until_gone

BUSY_PATIENCE_S: Final = 15.0
SECTORS: Final = (512, 1024, 2048, 4096)
"""Sectors that dm-crypt and dm-integrity know, in bytes."""
_HALF_MADE: Final = re.compile(r"CRYPT-[A-Z0-9]+-(temporary-cryptsetup-[\w-]+)")
"""UUID of a mapping that libcryptsetup makes while it formats, with its random name."""

NAME_TAKEN: Final = Refusal(
    "mapping-name-taken",
    "The name of the mapping is taken",
    "A device-mapper device with the planned name exists already. It does not belong to this run and was not touched.",
    "Run it again: every plan has new names.",
)
NOT_THERE: Final = Refusal(
    "mapping-not-there",
    "The mapping does not exist",
    "No device-mapper device has the name and the UUID that the plan chose.",
    "Look at the kernel's messages (dmesg), then run it again.",
)
BUSY: Final = Refusal(
    "mapping-busy",
    "The mapping is in use",
    "An encrypted volume or integrity device cannot be closed because something uses it. The message names the users.",
    "End that use. When the cause is gone, `raidtui recover` removes the rest; it may be run any number of times.",
)


class Planned(Protocol):
    """Arguments of a step that makes a mapping."""

    @property
    def name(self) -> str: ...
    @property
    def dm_uuid(self) -> str: ...
    @property
    def ref(self) -> str: ...
    @property
    def on(self) -> str: ...
    @property
    def on_path(self) -> str: ...
    @property
    def disks(self) -> tuple[str, ...]: ...


P = TypeVar("P", bound=Planned)


class Table(NamedTuple):
    """The single line of a device-mapper table or status: sectors, target and its words."""

    sectors: int
    target: str
    words: tuple[str, ...]


def node_of(device: Device) -> str:
    """Return the kernel name of a device."""
    return Path(os.path.realpath(device.path)).name


def mapper_path(name: str) -> str:
    return f"/dev/mapper/{name}"


def present(context: Context, planned: Planned) -> tuple[list[Device], list[str]]:
    """Return the device below if it still exists, else its reference as missing."""
    return split_present(context, [(planned.on, planned.on_path, partial(device_at, planned.on, "member"))])


def find(planned: Planned) -> str | None:
    """Return the kernel name of the mapping with the planned name and UUID."""
    nodes = (folder.name for folder in SYS_BLOCK.glob("dm-*"))
    return next((node for node in nodes if _identity(node) == (planned.name, planned.dm_uuid)), None)


def _identity(node: str) -> tuple[str | None, str | None]:
    return read_text(SYS_BLOCK / node / "dm/name"), read_text(SYS_BLOCK / node / "dm/uuid")


def the_mapping(planned: Planned) -> str:
    """Return the kernel name. Raises ProblemError (`mapping-not-there`)."""
    if (node := find(planned)) is None:
        raise fail(NOT_THERE, f"there is no device {planned.name} with the UUID {planned.dm_uuid}", place=planned.name,
                   remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
    return node


def refuse_taken_name(name: str) -> None:
    """Raise ProblemError (`mapping-name-taken`) if a device-mapper device has this name."""
    names = (read_text(path) for path in SYS_BLOCK.glob("dm-*/dm/name"))
    if os.path.lexists(mapper_path(name)) or name in names:
        raise fail(NAME_TAKEN, f"{mapper_path(name)} exists already and does not belong to this run",
                   place=mapper_path(name), remedy="Replay again: every plan has new names.",
                   exit=Exit.REFUSED)  # fmt: skip


def left_by_format(context: Context, planned: Planned, devices: Sequence[Device]) -> list[str]:
    """Return the kernel names of the mappings that libcryptsetup made on the device below to format it, and did not remove.

    `devices`: the device below if it is present. Such a mapping keeps recovery from getting a permit for the disk; its
    name is random and tells only its kind, so that the disk tells whose it is.
    """
    node = node_of(devices[0]) if devices else context.unmoved.get(planned.on.removeprefix("disk:"), "")
    holders = SYS_BLOCK / node / "holders"
    found = {path.name: _identity(path.name) for path in (holders.iterdir() if node and holders.is_dir() else ())}
    return [one for one, (name, uuid) in found.items() if (made := _HALF_MADE.fullmatch(uuid or "")) and made[1] == name]


def stands_on(node: str) -> set[int]:
    """Return the device numbers of what a mapping stands on."""
    return {number for path in (SYS_BLOCK / node / "slaves").iterdir() if (number := devno(path.name)) is not None}


def size_bytes(node: str) -> int:
    return 512 * (read_int(SYS_BLOCK / node / "size") or 0)


def read_table(name: str, what: str = "table") -> Table:
    """Return the `table` or `status` of a mapping; dmsetup never prints keys of a table. Raises ProblemError."""
    dmsetup = proc.find_tool("dmsetup")
    ran = proc.run([dmsetup, what, name], check=False) if dmsetup else None
    lines = ran.text.splitlines() if ran is not None and ran.code == 0 else []
    words = lines[0].split() if len(lines) == 1 else []
    if len(words) < 3:
        raise fail(NOT_THERE, f"dmsetup {what} {name} does not describe one mapping", place=name,
                   remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
    return Table(int(words[1]), words[2], tuple(words[3:]))


def close(context: Context, node: str, function: str) -> tuple[Argv, ...]:
    """Close a mapping by this function of the builder, and return what was called. The kernel closes none that is in use.

    Waits while udev or a process that is just ending has it open. Raises ProblemError (`mapping-busy`).
    """
    until = time.monotonic() + BUSY_PATIENCE_S
    name, uuid = _identity(node)
    commands: tuple[Argv, ...] = ()
    users: list[str] = []
    while name and _identity(node) == (name, uuid):
        if time.monotonic() > until:
            by = "; ".join(users) or "it stays"
            raise fail(BUSY, f"{mapper_path(name)} cannot be closed: {by}", place=mapper_path(name),
                       remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        if not (users := users_of(node)):
            try:
                commands = context.builder.call(function, name=name).commands
            except CallFailed as error:
                commands, users = error.commands, [error.problems[0].message]
        if users:
            time.sleep(0.3)
    return commands


@dataclass(frozen=True, kw_only=True)
class Kind(Generic[P]):
    """A layer whose objects are mappings. The public methods are the functions of its actions."""

    name: str
    """Name of the layer, with the builder's functions `NAME.create` and `NAME.open`."""
    title: str
    """`the encrypted volume`"""
    mark: str
    """`its header`"""
    same_as: Callable[[P, str], tuple[Argv, ...]]
    """Return the commands that do what the builder's two functions do on the device with this path."""
    read: Callable[[P, str], dict[str, Any]]
    """Read the mapping, and the header on the device with this path, as JSON data. Raises OSError, ProblemError."""
    asked: Callable[[P, int], dict[str, Any]]
    """Return the values of `read` and the `size_bytes` that were asked for, given the size of the device below."""
    wrong: Callable[[P], Iterable[str]]
    """Return the reasons why numbers measured now would be wrong, beside those of every mapping. Raises ProblemError."""
    is_marked: Callable[[P, str], bool]
    """Return True if the device with this path has the header of this object. Raises OSError, ProblemError."""
    erase: Callable[[P, int], None]
    """Erase the header from the device that this descriptor has open for writing. Raises OSError."""

    def create(self, context: Context, planned: P) -> Outcome:
        """Write the header, open the mapping, and check it. Raises ProblemError; one that differs is removed first."""
        context.stop_if_cancelled()
        device = _below(context, planned)
        if find(planned):
            return Outcome("already there", self._made(context, planned, device))
        refuse_taken_name(planned.name)
        context.about_to_write(planned.disks)
        context.builder.load()  # now: loading takes longer than the disk may be unheld
        calls: list[Argv] = []
        try:
            with lend(context, planned.on):
                for function in ("create", "open"):
                    calls += context.builder.call(f"{self.name}.{function}", planned=planned, path=device.path).commands
            facts = self._made(context, planned, device)
        except ProblemError:
            # The first problem is the one to report; the teardown of the block reports what this one could not remove.
            with suppress(ProblemError):
                self.teardown(context, planned)
            raise
        return Outcome("created", {**facts, "same_as": self.same_as(planned, device.path)}, tuple(calls))

    def _made(self, context: Context, planned: P, device: Device) -> dict[str, Any]:
        """Check the mapping, record its path in the context, and return the facts. Raises ProblemError (`read-back`)."""
        self._check(planned, device)
        path = context.built[planned.ref] = mapper_path(planned.name)
        return {"kernel_name": the_mapping(planned), "dm_uuid": planned.dm_uuid, "path": path}

    def _check(self, planned: P, device: Device) -> dict[str, Any]:
        """Return what is read back. Raises ProblemError (`read-back`) if it is not as asked."""
        node = the_mapping(planned)
        found = {**self.read(planned, device.path), "size_bytes": size_bytes(node)}
        asked = self.asked(planned, size_bytes(node_of(device)))
        wrong = [Difference(what, value, found[what]) for what, value in asked.items() if found[what] != value]
        if stands_on(node) != {device.devno}:
            wrong.append(Difference("device", device.path, "another one"))
        if wrong:
            remedy = "This version of the kernel or of libcryptsetup made something else."
            raise mismatch(self.title, planned.name, wrong, remedy)
        return found

    def verify(self, context: Context, planned: P) -> Outcome:
        """Read the mapping back; facts are what was read. Raises ProblemError (`read-back`)."""
        return Outcome("done", self._check(planned, _below(context, planned)))

    def expect(self, context: Context, planned: P) -> tuple[Expected, ...]:
        """Return the mapping as blivet should see it. Raises ProblemError."""
        below = (node_of(_below(context, planned)),)
        return (Expected(Seen(f"{self.name}/dm-crypt", the_mapping(planned), parents=below)),)

    def health(self, context: Context, planned: P) -> tuple[str, ...]:
        """Return the reasons why numbers measured now would be wrong, one sentence each."""
        try:
            return (*_health(context, planned), *self.wrong(planned))
        except ProblemError as error:
            return (error.problems[0].message,)

    def teardown(self, context: Context, planned: P) -> Outcome:
        """Close the mapping and what an interrupted format left, and erase the header: any number of times, after a crash
        too.

        Facts: `closed` (kernel names), `erased` and `missing` (references). Raises ProblemError (exit 6): `mapping-busy`,
        `left-behind`, `stuck`.
        """
        commands: list[Argv] = []
        closed: list[str] = []
        erased: list[str] = []
        missing: list[str] = []

        def erase(device: Device) -> None:
            fd = open_for_writing(context, device.ref, device.path)
            try:
                bounded(lambda: self.erase(planned, fd), f"overwriting {device.path}", to_the_end=True)
            finally:
                os.close(fd)

        def attempt() -> str:
            devices, missing[:] = present(context, planned)
            # libcryptsetup does not know a mapping whose maker was killed before its table came into force.
            standing = [(node, "luks.close" if size_bytes(node) else "luks.remove")] if (node := find(planned)) else []
            half_made = [(node, "luks.remove") for node in left_by_format(context, planned, devices)]
            for node, function in standing + half_made:
                commands.extend(close(context, node, function))
                closed.append(node)
            return erase_marks(context, devices, lambda one: self.is_marked(planned, one.path), erase, self.mark, erased)

        until_gone(attempt, self.title, planned.name)
        context.built.pop(planned.ref, None)
        facts = {"closed": closed, "erased": erased, "missing": missing}
        return Outcome("undone" if closed or erased else "nothing to do", facts, tuple(commands))


def _below(context: Context, planned: Planned) -> Device:
    """Return the device below. Raises ProblemError if it is missing or was replaced."""
    return device_at(planned.on, "member", context.path(planned.on))


def _health(context: Context, planned: Planned) -> tuple[str, ...]:
    """Return the reasons why numbers measured on a mapping would be wrong."""
    devices, missing = present(context, planned)
    wrong = [f"{ref.partition(':')[2]} does not exist any more" for ref in missing]
    node = the_mapping(planned)
    if is_suspended(node):
        wrong.append("the mapping is suspended")
    if not missing and stands_on(node) != {devices[0].devno}:
        wrong.append("the mapping is on another device")
    return tuple(wrong)


def members(context: Context, planned: Planned) -> Mapping[str, str]:
    """Return the kernel names of the mapping and the device below. Raises ProblemError (`mapping-not-there`)."""
    node = the_mapping(planned)
    devices, _ = present(context, planned)
    return {node: "target"} | {node_of(device): "member" for device in devices}
