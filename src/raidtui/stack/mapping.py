"""One device-mapper device over one device, as libcryptsetup makes it: found by name and UUID, checked, and closed."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from raidtui.base import proc
from raidtui.base.files import read_int, read_text
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.blockdev import CallFailed
from raidtui.stack.context import Context
from raidtui.stack.nodes import SYS_BLOCK, devno, is_suspended, users_of
from raidtui.stack.teardown import Device, device_at, split_present

BUSY_PATIENCE_S: Final = 15.0
_TEMPORARY: Final = "temporary-cryptsetup-"

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


def below(context: Context, planned: Planned) -> Device:
    """Return the device below. Raises ProblemError if it is missing or was replaced."""
    return device_at(planned.on, "member", context.path(planned.on))


def present(context: Context, planned: Planned) -> tuple[list[Device], list[str]]:
    """Return the device below if it still exists, else its reference as missing."""
    return split_present(context, [(planned.on, planned.on_path, partial(device_at, planned.on, "member"))])


def find(planned: Planned) -> str | None:
    """Return the kernel name of the mapping with the planned name and UUID."""
    for folder in SYS_BLOCK.glob("dm-*/dm"):
        if read_text(folder / "name") == planned.name and read_text(folder / "uuid") == planned.dm_uuid:
            return folder.parent.name
    return None


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
    """Return the names of the mappings that libcryptsetup made on the device below to format it, and did not remove.

    `devices`: the device below if it is present. Such a mapping keeps recovery from getting a permit for the disk; its
    name is random, and tells only its kind, so that the disk tells whose it is.
    """
    disk = planned.on.removeprefix("disk:")
    node = node_of(devices[0]) if devices else context.unmoved.get(disk, "")
    holders = SYS_BLOCK / node / "holders"
    found = [path / "dm" for path in (holders.iterdir() if node and holders.is_dir() else ())]
    named = [(read_text(path / "name") or "", read_text(path / "uuid") or "") for path in found]
    return [name for name, uuid in named if name.startswith(_TEMPORARY) and re.fullmatch(f"CRYPT-[A-Z0-9]+-{name}", uuid)]


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


def close(
    context: Context,
    planned: Planned,
    devices: Sequence[Device],
    closed: list[str],
    commands: list[Argv],
) -> str:
    """Close the mapping, and remove what an interrupted format left; return what still stands, or an empty text.

    `devices`: the device below if it is present. What a format left there may stand without any header yet; the kernel
    refuses to remove it while a process formats. Waits while udev has the mapping open. Raises ProblemError
    (`mapping-busy`) if something uses it.
    """
    until = time.monotonic() + BUSY_PATIENCE_S
    while node := find(planned):
        users = users_of(node)
        if not users:
            try:
                context.builder.call("luks.close", name=planned.name, path=planned.on_path)
            except CallFailed as error:
                users = [error.problems[0].message]
            if find(planned) is None:
                commands.append(("cryptsetup", "close", planned.name))
                closed.append(node)
                break
        if time.monotonic() > until:
            raise fail(BUSY, f"{mapper_path(planned.name)} cannot be closed: {'; '.join(users) or 'it stays'}",
                       place=mapper_path(planned.name), remedy="End that use, then: raidtui recover",
                       exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(0.3)
    for name in left_by_format(context, planned, devices):
        try:
            commands += context.builder.call("luks.remove_temporary", name=name).commands
            closed.append(name)
        except ProblemError as error:
            return f"{mapper_path(name)}: {error.problems[0].message}"
    return ""


def health(context: Context, planned: Planned) -> tuple[str, ...]:
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
