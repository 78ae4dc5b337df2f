"""Properties that a scenario may set, for forms: what each does, and the values that it may have.

Names and values are those of the server's ZFS where its module lists them; else those of OpenZFS 2.3.
Sources: zfsprops(7), zpoolprops(7), module/zcommon/zfs_prop.c and zpool_prop.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from raidtui.model.describe import Field
from raidtui.stack.zfs.notation import number
from raidtui.stack.zfs.properties import (
    MOST_BYTES,
    POWER,
    REFUSED,
    UNLISTED,
    Known,
    Where,
    known_properties,
    spelled,
    taken_values,
)


class _Usual(NamedTuple):
    help: str
    values: str
    """Values in the notation of `zfs get`."""
    of: str = "filesystem volume"


_SWITCH: Final = "on | off"
_CACHED: Final = "all | none | metadata"
_POOL: Final[Mapping[str, _Usual]] = MappingProxyType({
    "ashift": _Usual("Smallest write, as a power of two: 12 is 4KiB, 9 is 512B.", "<ashift, 9-16, or 0=default>"),
    "autotrim": _Usual("Discard blocks soon after they were freed.", _SWITCH),
    "failmode": _Usual("What happens to I/O once too many disks are gone.", "wait | continue | panic"),
    "autoexpand": _Usual("Grow with a disk that became larger.", _SWITCH),
    "compatibility": _Usual("Enable only features of these releases.", "<file[,file...]> | off | legacy"),
    "dedup_table_quota": _Usual("Limit of the deduplication tables on disk.", "<size> | none | auto"),
    "comment": _Usual("A text that is stored with the pool.", "<comment-string>"),
    "delegation": _Usual("Users without root may get rights on datasets.", _SWITCH),
    "listsnapshots": _Usual("`zfs list` shows snapshots too.", _SWITCH),
    "version": _Usual("Format on disk, 1 to 28: old pools without features.", "<version>"),
})  # fmt: skip
_DATASET: Final[Mapping[str, _Usual]] = MappingProxyType({
    "compression": _Usual(
        "Compress what is written.",
        "on | off | lzjb | gzip | gzip-[1-9] | zle | lz4 | zstd | zstd-[1-19] | zstd-fast | "
        "zstd-fast-[1-10,20,30,40,50,60,70,80,90,100,500,1000]",
    ),
    "recordsize": _Usual("Largest block of a file.", "512 to 1M, power of 2", "filesystem"),
    "volblocksize": _Usual("Block of the volume.", "512 to 128k, power of 2", "volume"),
    "sync": _Usual("What an fsync waits for; disabled loses seconds of writes.", "standard | always | disabled"),
    "logbias": _Usual("Synchronous writes: to the log devices, or past them.", "latency | throughput"),
    "primarycache": _Usual("What the ARC keeps in memory.", _CACHED),
    "secondarycache": _Usual("What the cache devices (L2ARC) keep.", _CACHED),
    "special_small_blocks": _Usual(
        "Blocks up to this size go to the special devices.", "zero or 512 to 1M, power of 2", "filesystem"),
    "direct": _Usual("What O_DIRECT does: past the ARC, ignored, or always.", "disabled | standard | always", "filesystem"),
    "checksum": _Usual(
        "Checksum of each block.", "on | off | fletcher2 | fletcher4 | sha256 | sha512 | skein | edonr | blake3"),
    "copies": _Usual("Copies of each block, beside the vdevs' redundancy.", "1 | 2 | 3"),
    "dedup": _Usual(
        "Store equal blocks once; the table costs memory and I/O.",
        "on | off | verify | sha256[,verify] | sha512[,verify] | skein[,verify] | edonr,verify | blake3[,verify]",
    ),
    "redundant_metadata": _Usual("How much metadata has an extra copy.", "all | most | some | none"),
    "prefetch": _Usual("What is read ahead.", "none | metadata | all"),
    "atime": _Usual("Record the time of each read.", _SWITCH, "filesystem"),
    "relatime": _Usual("Record a read's time once a day, or after a change.", _SWITCH, "filesystem"),
    "xattr": _Usual("Where extended attributes are: sa is in the inode.", "on | off | dir | sa", "filesystem"),
    "dnodesize": _Usual("Size of a file's inode.", "legacy | auto | 1k | 2k | 4k | 8k | 16k", "filesystem"),
    "acltype": _Usual("Access control lists.", "off | nfsv4 | posix", "filesystem"),
    "aclinherit": _Usual(
        "Entries of an access list that new files get.",
        "discard | noallow | restricted | passthrough | passthrough-x", "filesystem"),
    "aclmode": _Usual(
        "What chmod does to an access list.", "discard | groupmask | passthrough | restricted", "filesystem"),
    "volmode": _Usual("How the volume appears; dev shows no partitions.", "default | full | geom | dev | none"),
    "volthreading": _Usual("Handle the volume's requests in several threads.", _SWITCH, "volume"),
    "snapdev": _Usual("Show devices of the volume's snapshots.", "hidden | visible"),
    "snapdir": _Usual("Show the directory .zfs.", "hidden | visible", "filesystem"),
    "casesensitivity": _Usual("Compare file names with or without case.", "sensitive | insensitive | mixed", "filesystem"),
    "normalization": _Usual("Unicode form to compare names in.", "none | formC | formD | formKC | formKD", "filesystem"),
    "utf8only": _Usual("Refuse file names that are not UTF-8.", _SWITCH, "filesystem"),
    "longname": _Usual("Allow file names of up to 1023 bytes.", _SWITCH, "filesystem"),
    "nbmand": _Usual("Mandatory locks of SMB clients.", _SWITCH, "filesystem"),
    "vscan": _Usual("Scan for viruses; without effect on Linux.", _SWITCH, "filesystem"),
    "filesystem_limit": _Usual("Largest number of filesystems below.", "<count> | none", "filesystem"),
    "snapshot_limit": _Usual("Largest number of snapshots.", "<count> | none"),
    "version": _Usual("Format of the filesystem on disk.", "1 | 2 | 3 | 4 | 5 | current", "filesystem"),
    "context": _Usual("SELinux label of all files.", "<selinux context>"),
    "fscontext": _Usual("SELinux label of the filesystem.", "<selinux fscontext>"),
    "defcontext": _Usual("SELinux label of files without one.", "<selinux defcontext>"),
    "rootcontext": _Usual("SELinux label of the top directory.", "<selinux rootcontext>"),
})  # fmt: skip
_FEATURE: Final = "A feature of the pool's format on disk."


def pool_entries() -> tuple[Field, ...]:
    """Return the pool's properties, the most used first, and its features."""
    return _entries("pool")


def filesystem_entries() -> tuple[Field, ...]:
    """Return the properties of a dataset, the most used first."""
    return _entries("filesystem")


def volume_entries() -> tuple[Field, ...]:
    """Return the properties of a volume, the most used first."""
    return _entries("volume")


def _entries(where: Where) -> tuple[Field, ...]:
    usual = _POOL if where == "pool" else _DATASET
    known = known_properties("pool" if where == "pool" else "dataset") or {
        name: Known(True, one.values, "volume" in one.of, "filesystem" in one.of) for name, one in usual.items()
    }
    place = {name: number for number, name in enumerate(usual)}
    return (*(
        _entry(name, usual[name].help if name in usual else "", taken_values(known[name], MOST_BYTES))
        for name in sorted(known, key=lambda name: (place.get(name, len(place)), name))
        if name not in REFUSED and known[name].settable and _is_of(known[name], where)
    ), *([Field("feature@", "choice", _FEATURE, choices=("enabled", "disabled"))] if where == "pool" else []))  # fmt: skip


def _is_of(known: Known, where: Where) -> bool:
    return where == "pool" or (known.of_volumes if where == "volume" else known.of_filesystems)


def _entry(name: str, help: str, values: str) -> Field:
    """Return a property as a field: choices where ZFS lists all values, else the words among them as examples."""
    if name == "ashift":
        return Field(name, "integer", help, least=9, most=16, examples=("12", "9", "13"))
    if match := re.fullmatch(POWER, values):
        sizes = [*(["0"] if match[1] else []), *_powers(number(match[2]) or 512, number(match[3]) or 512)]
        return Field(name, "choice", help, choices=tuple(sizes))
    parts = [part.strip() for part in re.findall(r"(?:<[^>]*>|[^|<])+", values)]
    words = [word for part in parts if "<" not in part for word in spelled(part) if (name, word) != ("volmode", "none")]
    if words and not any("<" in part for part in parts):
        return Field(name, "choice", help, choices=(*words, *UNLISTED.get(name, ())))
    return Field(name, "text", help, examples=tuple(words))


def _powers(least: int, most: int) -> Iterator[str]:
    size = least
    while size <= most:
        kilo, mega = size >> 10, size >> 20
        yield f"{mega}M" if mega else f"{kilo}K" if kilo else str(size)
        size *= 2
