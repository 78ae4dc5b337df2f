"""Short names of properties and texts of sizes, as ZFS's tools write them."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

CALLED: Final = MappingProxyType({
    "compress": "compression", "recsize": "recordsize", "volblock": "volblocksize", "blocksize": "recordsize",
    "redund_md": "redundant_metadata", "replace": "autoreplace", "expand": "autoexpand",
})  # fmt: skip
"""Short names, as headings of `zfs list` have them → the property."""


def number(value: str | int) -> int | None:
    """Return the number of bytes that ZFS reads from a text: `16K`, `16KB` and `16KiB` are 16384; None for other texts.

    Source: str2shift and zfs_nicestrtonum in lib/libzfs/libzfs_util.c.
    """
    match = re.fullmatch(r"([0-9]+)(?:([KMGTP])(?:I?B)?|B)?", str(value).upper())
    return int(match[1]) << (10 * " KMGTP".index(match[2] or " ")) if match else None
