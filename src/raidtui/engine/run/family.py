"""Which device is what in a layout that was built, and what each is a member of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Family(NamedTuple):
    """By kernel name."""

    devices: dict[str, str]
    """`target`, `member`, `journal`, `spare`, …: what nothing of the layout stands on is a target."""
    parents: dict[str, str]
    """What it is a member of, where that is one device."""


def family_of(steps: Iterable[Mapping[str, str]]) -> Family:
    """From what each built step says of itself (`Action.members`), lowest first."""
    devices: dict[str, str] = {}
    parents: dict[str, str] = {}
    for members in steps:
        made = [name for name, what in members.items() if what == "target"]
        for name, what in members.items():
            if what == "target":
                devices.setdefault(name, what)
                continue
            # A disk that is measured by itself stays what it is; an array that another stands on becomes its member.
            devices[name] = what
            if len(made) == 1:
                parents[name] = made[0]
    return Family(devices, parents)
