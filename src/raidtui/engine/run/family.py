"""The devices of a built layout: the role of each, and the device that it is a member of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from raidtui.engine.step_args import common_args
from raidtui.model.plan import Step
from raidtui.stack.action import BoundAction
from raidtui.stack.context import Context


class Family(NamedTuple):
    """Devices by kernel name."""

    devices: dict[str, str]
    """Role of each device: `target` (nothing of the layout stands on it), `member`, `journal`, `spare`, …"""
    parents: dict[str, str]
    """The device that it is a member of, if that is a single one."""


def family_of(steps: Iterable[Mapping[str, str]]) -> Family:
    """Combine the members that each built step reports (`Action.members`), lowest layer first."""
    devices: dict[str, str] = {}
    parents: dict[str, str] = {}
    for members in steps:
        made = [name for name, role in members.items() if role == "target"]
        for name, role in members.items():
            if role == "target":
                devices.setdefault(name, role)
                continue
            # An array below another one becomes its member; a disk that is measured alone stays a target.
            devices[name] = role
            if len(made) == 1:
                parents[name] = made[0]
    return Family(devices, parents)


def family_of_step(step: Step, disks: Mapping[str, str], built: Sequence[BoundAction], context: Context) -> Family:
    """Return the devices of a step's layout. `disks`: kernel names of the run's disks by id."""
    args = common_args(step)
    measured = {disks[ref.removeprefix("disk:")]: "target" for ref in args.refs if ref.startswith("disk:")}
    # Disks that are measured one by one are independent of each other.
    layers = built if not args.part else []
    return family_of([measured, *(action.members(context) for action in layers)])
