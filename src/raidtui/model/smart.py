"""SMART data of one disk. Answer to the request `smart`."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

SMART_SCHEMA: Final = "raidtui.smart/1"


class SmartRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of `smart`."""

    disk: Annotated[str, Meta(max_length=300)]
    """Id, serial or WWN."""


class Smart(msgspec.Struct, frozen=True, omit_defaults=True):
    """The disk's own account of its condition. Unknown values are None, never 0."""

    schema: str
    """`raidtui.smart/1`"""
    disk: str
    """Id of the disk."""
    problem: str = ""
    """Reason why nothing was read."""
    passed: bool | None = None
    """Verdict of the disk: False if it expects to fail."""
    power_on_hours: int | None = None
    wear_percent: float | None = None
    """Share of the rated endurance that is used up."""
    spare_percent: float | None = None
    """Share of the spare blocks that is left (NVMe)."""
    media_errors: int | None = None
    """Reads and writes that the disk could not correct in its life."""
    reallocated: int | None = None
    """Sectors that were replaced by spare ones."""
    pending: int | None = None
    """Sectors that wait to be replaced."""
    self_test: str = ""
    """Latest self-test, or the one under way, with its result."""
    self_test_failed: bool = False
