"""Arguments of the engine's own steps. Plans and journals hold them as JSON; they are decoded once, where a step begins.

The arguments of a layer's steps are defined in the layer's package (`stack/`).
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

from raidtui.engine.validity.evidence import Counted
from raidtui.model.plan import OnHost, Step, TargetKind
from raidtui.model.problem import Exit, fail
from raidtui.stack.action import STEP_ARGUMENTS

Args = TypeVar("Args", bound=msgspec.Struct)


class Recheck(msgspec.Struct, frozen=True):
    """Check disks before a layout is built on them, or at the end of the run (no disks: all that were written to)."""

    disks: tuple[str, ...] = ()


class Cooldown(msgspec.Struct, frozen=True):
    """Rest before a cell."""

    seconds: float


class Precondition(msgspec.Struct, frozen=True):
    """Write disks before a layout is built on them."""

    refs: tuple[str, ...]
    kind: TargetKind
    amount: str
    """The policy's text, such as `2x`."""
    times: float
    """Amount as a multiple of the capacity."""
    size_bytes: int
    """Size of the largest disk."""
    most_bytes: int | None
    """Limit of a rehearsal."""


class WorkloadRun(msgspec.Struct, frozen=True):
    """Run a workload engine on a target."""

    refs: tuple[str, ...]
    engine: str
    size_bytes: int
    kind: TargetKind
    spec: dict[str, Any]
    """Options of the workload, as a scenario has them: the engine decodes them."""
    on: tuple[OnHost, ...] = ()
    """Hosts that load the target, each its own devices and region; empty for the storage server."""


class Prefill(WorkloadRun, frozen=True):
    """Write the region of a workload before it is read."""

    region_bytes: int = 0


class CellRun(WorkloadRun, frozen=True):
    """Measure one cell."""

    part: str = ""
    """The disk, if a layout is measured disk by disk."""
    counted: Counted = "exactly"
    laid_out: bool = True
    """True if the region was written by a prefill."""
    layers: tuple[str, ...] = ()
    """Kinds of the layout's layers."""
    reduces: tuple[str, ...] = ()
    caches: Literal["", "warm", "cold"] = ""
    """The policy's choice; empty if the scenario does not state it."""
    region_bytes: int | None = None
    """Size of the region on all devices together."""
    passes: int | msgspec.UnsetType = msgspec.UNSET
    """Largest number of passes until the numbers are steady; unset: one pass that is not repeated."""


class CommonArgs(msgspec.Struct, frozen=True):
    """Arguments that steps of several kinds have; missing ones are empty."""

    name: str = ""
    uuid: str | None = None
    refs: tuple[str, ...] = ()
    disks: tuple[str, ...] = ()
    part: str = ""


def decode_args(kind: type[Args], args: dict[str, Any], step: str = "") -> Args:
    """Return the arguments of a step. Raises ProblemError (`step-arguments`)."""
    try:
        return msgspec.convert(args, kind)
    except msgspec.ValidationError as error:
        raise fail(STEP_ARGUMENTS, str(error), place=step, exit=Exit.BUILD_FAILED) from None


def common_args(step: Step | Any) -> CommonArgs:
    """Return the common arguments of a planned or journaled step. Raises ProblemError (`step-arguments`)."""
    return decode_args(CommonArgs, step.args)
