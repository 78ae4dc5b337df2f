"""Freeing a disk of what is in nobody's way any more: what is on it, and what was done."""

from __future__ import annotations

from typing import Final

import msgspec

from raidtui.model.disk import Disk

FREE_SCHEMA: Final = "raidtui.free/1"


class FreeLook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of `free-look`."""

    disk: str
    """Id, serial or WWN."""


class FreePlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """A disk that could be freed, with everything that would be erased. Nothing was touched."""

    schema: str
    """`raidtui.free/1`"""
    disk: Disk
    """Its `reasons` are what would be erased."""
    digest: str
    """Digest of the disk and of what is on it: the consent is to this."""
    seconds: float
    """Estimated duration."""


class FreeRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of `free`."""

    disk: str
    digest: str
    """Same as in the `FreePlan` that was shown."""
    erase: str
    """The operator's consent: the disk named once more."""


class FreeProgress(msgspec.Struct, frozen=True):
    """Progress of freeing a disk."""

    text: str
    fraction: float


class Freed(msgspec.Struct, frozen=True):
    """A disk that is blank now."""

    schema: str
    """`raidtui.free/1`"""
    disk: str
    method: str
    """`discard` or `written zeroes`."""
    seconds: float
    saved: str
    """Folder on the server with the first and the last bytes of the disk as they were."""
