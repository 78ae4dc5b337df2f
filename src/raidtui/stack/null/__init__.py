"""Devices that keep nothing (null_blk): exported, one shows what the protocol and the network alone carry.

The kernel takes every write and answers every read at once, without memory behind it. Source:
Documentation/block/null_blk.rst, drivers/block/null_blk/main.c.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.plan import Argv, Names
from raidtui.model.problem import Exit, Problem, Refusal, fail
from raidtui.model.scenario import Policy
from raidtui.model.tool import KernelModule
from raidtui.model.units import Size, size_text
from raidtui.stack.action import Action, Outcome
from raidtui.stack.amplification import Spread, Writes
from raidtui.stack.configfs import CONFIGFS, Change, word
from raidtui.stack.context import Context
from raidtui.stack.exports import await_unused, load_modules, problems_of, size_bytes
from raidtui.stack.layer import Counts, Draft, Layer, Part, Parts, Planned, PlannedTarget, Shape
from raidtui.stack.nodes import SYS_BLOCK
from raidtui.stack.read_back import Difference, mismatch
from raidtui.stack.teardown import until_gone

NULLB: Final = CONFIGFS / "nullb"
_MODULE: Final = "null_blk nr_devices=0"
"""Without devices of its own: by default the module makes one."""
MIB: Final = 1 << 20
_SECTORS: Final = (512, 4096)
_DEPTH: Final = 1024
"""Commands of each queue: more than an export sends at once."""

REFUSED: Final = Refusal(
    "null-refused",
    "The kernel makes no null device",
    "A write into configfs failed; the message names the file.",
    "Look at the kernel's messages (dmesg).",
)
SIZE: Final = Refusal(
    "null-size",
    "Invalid size of a null device",
    "A null device has a whole number of MiB, and sectors of 512 bytes or 4 KiB.",
    'Write "size": "100GiB".',
)


class NullSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A device that keeps nothing (null_blk): an export of it shows what the protocol and the network alone carry."""

    size: Annotated[Size, Meta(examples=["100GiB", "1TiB"])]
    """Size of the device, a whole number of MiB. It takes no memory."""
    sector_size: Annotated[Size, Meta(examples=["512B", "4KiB"])] | None = None
    """Logical sector: 512B or 4KiB. Default: 512B."""


class NullDevice(msgspec.Struct, frozen=True):
    """Arguments of all steps: the whole device."""

    name: str
    size_bytes: int
    sector_bytes: int

    @property
    def ref(self) -> str:
        return f"null:{self.name}"

    @property
    def folder(self) -> Path:
        return NULLB / self.name


def inputs(spec: NullSpec) -> Mapping[str, Operand]:
    return {}


def check(spec: NullSpec, counts: Counts, place: str) -> list[Problem]:
    problems = []
    if spec.size.bytes < MIB or spec.size.bytes % MIB:
        text = f"{spec.size.text} is no whole number of MiB"
        problems.append(SIZE.problem(text, place=f"{place}.size", remedy=SIZE.way_out))
    if _sector(spec) not in _SECTORS:
        text = f"sectors of {_sector(spec)} bytes are not possible"
        problems.append(SIZE.problem(text, place=f"{place}.sector_size", remedy="512B or 4KiB."))
    return problems


def _sector(spec: NullSpec) -> int:
    return spec.sector_size.bytes if spec.sector_size is not None else _SECTORS[0]


def describe(spec: NullSpec, counts: Counts) -> str:
    return f"keeps nothing, {spec.size.text}"


def defaults(spec: NullSpec, counts: Counts) -> Mapping[str, tuple[str, str]]:
    return {"sector_size": ("512B", "the kernel's default")}


def tolerates_failures(spec: NullSpec, counts: Counts) -> Mapping[str, tuple[int, str]]:
    return {}


def amplifies(spec: NullSpec, counts: Counts, writes: Writes) -> Spread:
    return Spread({}, "written nowhere, 0")


def shape(spec: NullSpec, parts: Parts) -> Shape:
    return Shape(spec.size.bytes, 0, 1.0, data_share=1.0)


def plan(spec: NullSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    created = names.new("null")
    device = NullDevice(created.name, spec.size.bytes, _sector(spec))
    path, undo = f"/dev/{device.name}", (("rmdir", str(device.folder)),)
    commands = (("modprobe", *_MODULE.split()), *(change.argv for change in _changes(device)))
    title = f"Make a device of {size_text(device.size_bytes)} that keeps nothing"
    make = Draft("null.create", title, device, commands, undo, created)
    remove = Draft("null.remove", "Remove the device that keeps nothing", device, undo)
    target = PlannedTarget((device.ref,), (path,), device.size_bytes)
    part = Part(device.ref, path, device.size_bytes, device.sector_bytes, ())
    return Planned((make,), (remove,), (target,), (part,))


def _changes(device: NullDevice, queues: str = "$(nproc)") -> Iterator[Change]:
    yield Change("mkdir", device.folder)
    for name, value in _asked(device).items():
        yield Change("write", device.folder / name, value)
    yield Change("write", device.folder / "submit_queues", queues)
    yield Change("write", device.folder / "power", "1")


def _asked(device: NullDevice) -> dict[str, str]:
    """Return the values of the device's files."""
    return {
        "size": str(device.size_bytes // MIB),
        "blocksize": str(device.sector_bytes),
        "memory_backed": "0",
        "hw_queue_depth": str(_DEPTH),
    }


def node_of(device: NullDevice) -> str | None:
    """Return the kernel name: the folder's since Linux 6.0, `nullbN` before; None if there is no device."""
    for name in (device.name, f"nullb{word(device.folder / 'index')}"):
        if device.folder.is_dir() and (SYS_BLOCK / name).exists():
            return name
    return None


def _create(context: Context, device: NullDevice) -> Outcome:
    """Raises ProblemError (`export-missing`, `null-refused`, `read-back`); what was made until then is removed."""
    context.stop_if_cancelled()
    if node_of(device) is not None:
        return Outcome("already there", _checked(context, device))
    commands = load_modules([_MODULE])
    try:
        queues = str(len(os.sched_getaffinity(0)))
        for change, shown in zip(_changes(device, queues), _changes(device), strict=True):
            try:
                change.make()
            except OSError as error:
                text = f"{change.path}: {error.strerror}" + (f" ({change.value})" if change.value else "")
                raise fail(REFUSED, text, place=device.name, remedy=REFUSED.way_out, exit=Exit.BUILD_FAILED) from error
            commands.append(shown.argv)
        return Outcome("created", _checked(context, device), tuple(commands))
    except BaseException:
        with suppress(Exception):
            _remove(context, device)
        raise


def _checked(context: Context, device: NullDevice) -> dict[str, Any]:
    """Return what is read back, and record the path. Raises ProblemError (`read-back`)."""
    node = node_of(device)
    asked = {**_asked(device), "size_bytes": device.size_bytes}
    found: dict[str, Any] = {name: word(device.folder / name) for name in _asked(device)}
    found |= {"size_bytes": size_bytes(node) if node is not None else 0}
    if wrong := [Difference(name, value, found[name]) for name, value in asked.items() if found[name] != value]:
        raise mismatch("the null device", device.name, wrong, "This version of the kernel made something else.")
    context.built[device.ref] = f"/dev/{node}"
    return {**found, "devices": [node], "paths": [f"/dev/{node}"]}


def _remove(context: Context, device: NullDevice) -> Outcome:
    """Remove the device: any number of times. Raises ProblemError (exit 6): `export-busy`, `left-behind`."""
    commands: list[Argv] = []

    def attempt() -> str:
        if not device.folder.is_dir():
            return ""
        await_unused(lambda: [node_of(device)], device.name, "the null device cannot be removed")
        try:
            device.folder.rmdir()
        except OSError as error:
            return f"{device.folder}: {error.strerror}"
        commands.append(("rmdir", str(device.folder)))
        return ""

    until_gone(attempt, "the null device", device.name)
    context.built.pop(device.ref, None)
    return Outcome("undone" if commands else "nothing to do", {}, tuple(commands))


def _health(context: Context, device: NullDevice) -> tuple[str, ...]:
    return problems_of(lambda: _checked(context, device))


def _members(context: Context, device: NullDevice) -> Mapping[str, str]:
    node = node_of(device)
    return {node: "member"} if node is not None else {}


LAYER: Final = Layer(
    kind="null",
    title="null device",
    spec=NullSpec,
    offers="block",
    inputs=inputs,
    check=check,
    describe=describe,
    defaults=defaults,
    tolerates_failures=tolerates_failures,
    plan=plan,
    shape=shape,
    amplifies=amplifies,
    keeps_nothing=True,
    modules=(
        KernelModule(name="null_blk", module="null_blk", needed_for="what an export carries without disks",
                     remedy="Install the distribution's full kernel (linux-image-amd64).",
                     only_for="null devices, and `ceilings` of exports"),
    ),
    also_called=dict.fromkeys(("nullb", "null_blk", "ram", "ramdisk", "brd"), "null"),
    actions={
        "null.create": Action(args=NullDevice, do=_create, undo=_remove, health=_health, members=_members),
        "null.remove": Action(args=NullDevice, do=_remove),
    },
)  # fmt: skip
