"""Plain disks: the baseline that every layout is compared with. Nothing is built on them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from raidtui.base.text import plural
from raidtui.gate.permit import DISK_GONE
from raidtui.model.convert import Operand
from raidtui.model.plan import Names
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.scenario import Policy
from raidtui.stack.action import Action, Outcome
from raidtui.stack.amplification import Spread, Writes, copies
from raidtui.stack.context import Context
from raidtui.stack.layer import Counts, Draft, Layer, Parts, Planned, PlannedTarget, Shape, all_at_once, layers_below
from raidtui.stack.tuning.spec import Tuning

DISK_NONE: Final = Refusal(
    "disk-none",
    "No disk to measure",
    "A layout of plain disks measures the disks of its role.",
    'Name a role: {"disk": {"on": "@data"}}.',
)


DISK_PARTITIONS: Final = Refusal(
    "disk-partitions",
    "Partitions are no plain disks",
    "A layout of plain disks measures whole disks, each alone or all at once.",
    'Partitions are a layout of their own: {"partition": {"on": "@data", "use": "60%"}} measures them all at once.',
)


class DiskSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Plain disks, without anything on them: the baseline of all other layouts."""

    on: Operand
    """The disks to measure."""
    mode: Literal["each", "together"] = "each"
    """`each`: one disk after another, each its own target; `together`: all disks at once as one target."""
    tuning: Tuning | None = None
    """Kernel settings while the disks are measured."""


class Disks(msgspec.Struct, frozen=True):
    """Arguments of `disk.ready`."""

    refs: tuple[str, ...]


def inputs(spec: DiskSpec) -> dict[str, Operand]:
    return {"on": spec.on}


def check(spec: DiskSpec, counts: Counts, place: str) -> list[Problem]:
    if any(kind == "partition" for kind, _ in layers_below(spec.on.raw)):
        text = "partitions are no plain disks"
        return [DISK_PARTITIONS.problem(text, place=f"{place}.on", remedy=DISK_PARTITIONS.way_out)]
    if counts.get("on", 0) >= 1:
        return []
    return [DISK_NONE.problem("there is no disk to measure", place=f"{place}.on", remedy="Name a role.")]


def describe(spec: DiskSpec, counts: Counts) -> str:
    count = counts.get("on", 0)
    return plural(count, "disk") + (f", {spec.mode}" if count != 1 else "")


def defaults(spec: DiskSpec, counts: Counts) -> dict[str, tuple[str, str]]:
    return {"mode": ("each", "one disk alone is the baseline of every layout")}


def tolerates_failures(spec: DiskSpec, counts: Counts) -> dict[str, tuple[int, str]]:
    return {"on": (0, "no disk: each one stands alone")}


def amplifies(spec: DiskSpec, counts: Counts, writes: Writes) -> Spread:
    return Spread({"on": copies(1, writes)}, "nothing in between, 1")


def shape(spec: DiskSpec, parts: Parts) -> Shape:
    """Return the shape; the size is that of all disks together, or with `each` that of the smallest disk."""
    sizes = [part.size_bytes for part in parts["on"]]
    return Shape(sum(sizes) if spec.mode == "together" else min(sizes), 0, 1.0)


def plan(spec: DiskSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    on = parts["on"]
    ready = Draft("disk.ready", "Check that every disk answers", Disks(tuple(part.ref for part in on)), seconds=0.1)
    if spec.mode == "each":
        targets = tuple(
            PlannedTarget((part.ref,), (part.path,), part.size_bytes, part.ref.partition(":")[2]) for part in on
        )
    else:
        targets = (all_at_once(on),)
    return Planned((ready,), (), targets, on if len(on) == 1 else ())


def _ready(context: Context, disks: Disks) -> Outcome:
    """Raises ProblemError if a disk is gone, or another disk has taken its place."""
    return Outcome("already there", {"devices": {ref: context.path(ref) for ref in disks.refs}})


def _health(context: Context, disks: Disks) -> tuple[str, ...]:
    wrong = []
    for ref in disks.refs:
        try:
            context.path(ref)
        except ProblemError as error:
            wrong.append(f"{ref.partition(':')[2]}: {error.problems[0].message}")
    return tuple(wrong)


def _members(context: Context, disks: Disks) -> Mapping[str, str]:
    return {_kernel_name(context.path(ref)): "target" for ref in disks.refs}


def _kernel_name(path: str) -> str:
    name = Path(path).resolve().name
    if not Path(f"/sys/class/block/{name}").exists():
        raise fail(DISK_GONE, f"{path} does not exist any more", place=path, exit=Exit.BUILD_FAILED)
    return name


LAYER: Final = Layer(
    kind="disk",
    title="plain disks",
    spec=DiskSpec,
    offers="",
    inputs=inputs,
    check=check,
    describe=describe,
    defaults=defaults,
    tolerates_failures=tolerates_failures,
    plan=plan,
    shape=shape,
    amplifies=amplifies,
    also_called={"disks": "disk", "raw": "disk"},
    actions={"disk.ready": Action(args=Disks, do=_ready, health=_health, members=_members)},
)
