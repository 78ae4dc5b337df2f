"""Properties of ZFS that stand where an option is expected: where they belong, and what people call them.

Only for a better answer: which properties there are, the server's ZFS says (`properties`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

CALLED: Final = MappingProxyType({
    "compress": "compression", "recsize": "recordsize", "volblock": "volblocksize", "blocksize": "recordsize",
    "redund_md": "redundant_metadata", "trim": "autotrim", "replace": "autoreplace", "expand": "autoexpand",
})  # fmt: skip
"""Short names, as headings of `zfs list` have them → the property."""
_OF_POOL: Final = frozenset({"ashift", "autoexpand", "autotrim", "comment", "compatibility", "failmode", "version"})
_OF_CHILD: Final = frozenset({
    "atime", "checksum", "compression", "copies", "dedup", "direct", "dnodesize", "logbias", "prefetch", "primarycache",
    "recordsize", "redundant_metadata", "relatime", "secondarycache", "snapdev", "special_small_blocks", "sync",
    "volblocksize", "xattr",
})  # fmt: skip


def of_pool(key: str) -> str:
    """For a key of the zpool itself; empty for what is no property."""
    name = CALLED.get(key, key)
    if name in _OF_POOL or name.startswith("feature@"):
        return f'It is a property of the pool: "properties": {{"{name}": …}}.'
    if name in _OF_CHILD:
        where = 'the "properties" of volume or dataset, or into "inherited"'
        return f'It is a property of what is measured: write "{name}" into {where}.'
    return ""


def of_child(key: str) -> str:
    """For a key of the volume or the dataset."""
    name = CALLED.get(key, key)
    if name in _OF_CHILD:
        return f'It is a property: "properties": {{"{name}": …}}.'
    return f'It is a property of the pool: write "{name}" into the "properties" of the zpool.' if name in _OF_POOL else ""
