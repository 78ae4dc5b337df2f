"""Roles: names that stand for disks, and what such a disk must be like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.convert import decode
from raidtui.model.disk import Disk
from raidtui.model.problem import Problem, ProblemError, Refusal
from raidtui.model.units import Size

ROLE_IMPOSSIBLE: Final = Refusal(
    "role-impossible",
    "A role that no disk can fit",
    "The conditions of the role contradict each other.",
    "Remove one of the conditions.",
)


class Where(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Conditions that the disks of a role must meet, all of those that are given."""

    transport: Literal["nvme", "sata", "sas", "scsi", "virtio", "usb"] | None = None
    """Interface of the disks."""
    kind: Literal["nvme", "ssd", "hdd"] | None = None
    """NVMe, other flash, or rotating disks."""
    rotational: bool | None = None
    """True for rotating disks, false for flash."""
    min_size: Annotated[Size, Meta(examples=["1TB", "960GB"])] | None = None
    """Not smaller than this."""
    max_size: Annotated[Size, Meta(examples=["2TB", "4TB"])] | None = None
    """Not larger than this."""
    model: Annotated[str, Meta(max_length=80)] | None = None
    """Part of the model's name, in any case."""
    logical_sector: Annotated[Size, Meta(examples=["4096B", "512B"])] | None = None
    """Size of the sectors that they are addressed in."""

    def mismatch(self, disk: Disk) -> str | None:
        """Return the reason why `disk` does not meet the conditions, or None if it does."""
        if self.transport is not None and disk.transport != self.transport:
            return f"its transport is {disk.transport or 'unknown'}, not {self.transport}"
        if self.kind is not None and disk.kind != self.kind:
            return f"it is of kind {disk.kind}, not {self.kind}"
        if self.rotational is not None and disk.rotational != self.rotational:
            return "it is rotational" if disk.rotational else "it is not rotational"
        if self.min_size is not None and disk.size_bytes < self.min_size.bytes:
            return f"it is smaller than {self.min_size.text}"
        if self.max_size is not None and disk.size_bytes > self.max_size.bytes:
            return f"it is larger than {self.max_size.text}"
        if self.model is not None and self.model.casefold() not in disk.model.casefold():
            return f"its model is not {self.model!r}"
        if self.logical_sector is not None and disk.logical_sector_bytes != self.logical_sector.bytes:
            return f"its logical sectors are {disk.logical_sector_bytes} bytes"
        return None

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Conditions that no disk can meet: which, and why."""
        if self.min_size is not None and self.max_size is not None and self.min_size.bytes > self.max_size.bytes:
            yield "max_size", f"no disk is at least {self.min_size.text} and at most {self.max_size.text}"
        if self.kind is not None and self.transport is not None and (self.kind == "nvme") != (self.transport == "nvme"):
            yield "transport", f"no disk of kind {self.kind} is attached by {self.transport}"
        kind = "nvme" if self.transport == "nvme" else self.kind
        if kind is not None and self.rotational is not None and self.rotational != (kind == "hdd"):
            yield "rotational", f"disks of kind {kind} {'do not rotate' if self.rotational else 'rotate'}"
        sector = self.logical_sector.bytes if self.logical_sector is not None else 512
        if sector < 512 or sector & (sector - 1):
            yield "logical_sector", f"no disk has sectors of {sector} bytes: they are a power of two from 512 on"


class Role(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A name that stands for `count` disks which are like `where`."""

    count: Annotated[int, Meta(ge=1, le=1024)]
    """Number of disks."""
    where: Where = Where()
    """Conditions that each disk must meet."""


def read_role(value: Any, place: str) -> Role:
    """Raises ProblemError, also (`role-impossible`) for conditions that no disk can meet."""
    role = decode(Role, value, place)
    remedy = "Take it out, or the condition that it contradicts."
    if wrong := [
        Problem(ROLE_IMPOSSIBLE.code, text, f"{place}.where.{name}", remedy, exit=2)
        for name, text in role.where.contradictions()
    ]:
        raise ProblemError(*wrong)
    return role
