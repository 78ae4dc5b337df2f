"""Plain disks: the baseline that every campaign starts from. Nothing is built on them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec

from raidtui.base.text import plural
from raidtui.model.convert import Operand
from raidtui.model.plan import Names
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.model.scenario import Policy
from raidtui.stack.amplification import Spread, Writes, copies
from raidtui.stack.context import Context
from raidtui.stack.layer import Action, Draft, Outcome, Part, Planned, PlannedTarget, Shape
from raidtui.stack.tuning.spec import Tuning


class DiskSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Disks as they are: the baseline of everything that stands on them."""

    on: Operand
    """The disks to measure."""
    mode: Literal["each", "together"] = "each"
    """`each`: one after another, each its own target; `together`: all at once, one target."""
    tuning: Tuning | None = None
    """Kernel settings while the disks are measured."""


class DiskLayer:
    """`{"disk": {…}}`."""

    kind = "disk"
    title = "plain disks"
    spec = DiskSpec
    offers: Final = ""

    def inputs(self, spec: DiskSpec) -> Mapping[str, Operand]:
        return {"on": spec.on}

    def check(self, spec: DiskSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
        if counts.get("on", 0) >= 1:
            return []
        return [Problem("disk-none", "there is no disk to measure", f"{place}.on", "Name a role.", int(Exit.USAGE))]

    def words(self, spec: DiskSpec, counts: Mapping[str, int]) -> str:
        count = counts.get("on", 0)
        return plural(count, "disk") + (f", {spec.mode}" if count != 1 else "")

    def defaults(self, spec: DiskSpec, counts: Mapping[str, int]) -> Mapping[str, tuple[str, str]]:
        return {"mode": ("each", "one disk alone is what every layout is compared with")}

    def survives(self, spec: DiskSpec, counts: Mapping[str, int]) -> Mapping[str, tuple[int, str]]:
        return {"on": (0, "no disk: each one stands alone")}

    def amplifies(self, spec: DiskSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
        return Spread({"on": copies(1, writes)}, "nothing in between, 1")

    def shape(self, spec: DiskSpec, parts: Mapping[str, tuple[Part, ...]]) -> Shape:
        """Size: of all disks together; for `each`, of the smallest one."""
        sizes = [part.size_bytes for part in parts["on"]]
        return Shape(sum(sizes) if spec.mode == "together" else min(sizes), 0, 1.0)

    def plan(self, spec: DiskSpec, parts: Mapping[str, tuple[Part, ...]], names: Names, policy: Policy) -> Planned:
        on = parts["on"]
        args = {"refs": [part.ref for part in on]}
        ready = Draft("disk.ready", "Check that every disk answers", args, seconds=0.1)
        if spec.mode == "each":
            targets = tuple(
                PlannedTarget((part.ref,), (part.path,), part.size_bytes, part.ref.partition(":")[2]) for part in on
            )
        else:
            smallest = min(part.size_bytes for part in on)
            targets = (PlannedTarget(tuple(part.ref for part in on), tuple(part.path for part in on), smallest),)
        return Planned((ready,), (), targets, on[0] if len(on) == 1 else None)

    @property
    def actions(self) -> Mapping[str, Action]:
        return _ACTIONS


class _Ready(Action):
    def do(self, context: Context, args: dict[str, Any]) -> Outcome:
        """Raises ProblemError for a disk that is gone, or is another one now."""
        return Outcome("already there", {"devices": {ref: context.path(ref) for ref in args["refs"]}})

    def health(self, context: Context, args: dict[str, Any]) -> tuple[str, ...]:
        wrong = []
        for ref in args["refs"]:
            try:
                context.path(ref)
            except ProblemError as error:
                wrong.append(f"{ref.partition(':')[2]}: {error.problems[0].message}")
        return tuple(wrong)

    def members(self, context: Context, args: dict[str, Any]) -> Mapping[str, str]:
        return {_kernel_name(context.path(ref)): "target" for ref in args["refs"]}


def _kernel_name(path: str) -> str:
    name = Path(path).resolve().name
    if not Path(f"/sys/class/block/{name}").exists():
        raise fail("disk-gone", f"{path} is not there any more", place=path, exit=Exit.BUILD_FAILED)
    return name


_ACTIONS: Final[Mapping[str, Action]] = MappingProxyType({"disk.ready": _Ready()})

LAYER = DiskLayer()
