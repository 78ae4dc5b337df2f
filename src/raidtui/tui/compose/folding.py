"""Groups of options that a form closes until they are wanted, with a line that says what is set in them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from raidtui.base.text import clean, plural
from raidtui.model.describe import Field
from raidtui.tui.compose.document import MISSING, Path
from raidtui.tui.compose.row import FormRow

_MORE: Final = "more options"
GROUPS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = MappingProxyType({
    "md": {_MORE: ("layout", "bitmap", "bitmap_chunk", "metadata")},
    "lvm": {_MORE: ("stripes", "mirrors", "stripe_size", "volumes", "allocation", "extent_size", "region_size",
                    "mirror_log")},
    "zpool": {
        "log, cache, special": ("log", "cache", "special", "dedup", "spares", "mirrored", "mirrored_per"),
        _MORE: ("volumes", "inherited", "trim", "initialize", "arc_max"),
    },
    "filesystem": {
        "geometry": ("geometry", "stripe_unit", "stripe_width", "log_size"),
        "xfs": ("allocation_groups", "reflink"),
        "ext4": ("journal", "journal_mode", "lazy_init"),
        "btrfs": ("data", "metadata", "node_size", "checksum", "compress", "compress_level", "compress_force",
                  "copy_on_write", "subvolume"),
        "f2fs": ("overprovision", "fsync_mode"),
        "mounting": ("atime", "discard"),
    },
    "bcache": {_MORE: ("block", "data_offset", "replacement", "sequential_cutoff", "congestion", "writeback_delay",
                       "discard")},
    "luks": {_MORE: ("sector_size", "no_read_workqueue", "no_write_workqueue", "discards")},
    "nvmeof": {_MORE: ("target", "queues", "queue_size", "in_capsule_data")},
    "iscsi": {_MORE: ("queue_depth", "session_commands", "immediate_data")},
    "rbd": {
        "cluster": ("conf", "user", "keyring"),
        "placement": ("failure_domain", "device_class", "root", "pg_num"),
        _MORE: ("object_size", "stripe_unit", "stripe_count", "features", "cache", "scrub", "map_options", "pool",
                "data_pool"),
    },
    "vitastor": {"cluster": ("config", "etcd"), "placement": ("failure_domain", "pg_num")},
    "fio": {
        "region and files": ("size", "offset", "offset_increment", "nrfiles", "filesize", "overwrite"),
        "mix and order": ("bssplit", "percentage_random", "randrepeat", "norandommap", "random_distribution"),
        "rates and latency": ("rate", "rate_iops", "thinktime", "latency_target", "latency_window", "latency_percentile"),
        "durability": ("fdatasync", "end_fsync", "sync"),
        "data": ("refill_buffers", "buffer_compress_percentage", "dedupe_percentage"),
        _MORE: ("ioengine", "ramp_time", "time_based", "why_buffered", "iodepth_batch_submit",
                "iodepth_batch_complete_min", "iodepth_batch_complete_max", "iodepth_low", "hipri", "fixedbufs",
                "registerfiles"),
    },
    "policy": {
        "state of disks and caches": ("prefill", "precondition", "initial_sync", "cooldown", "caches", "reset"),
        "more or fewer cells": ("noise_of", "ceilings", "only"),
    },
})  # fmt: skip
"""Options that most people leave alone, by kind and the title of their group; objects are groups by themselves."""


def grouped(kind: str, rows: Sequence[FormRow], path: Path) -> Iterator[FormRow]:
    """Yield the rows of a kind's options, those of a group together below its heading, at the place of the last one."""
    groups = {name: title for title, names in GROUPS.get(kind, {}).items() for name in names}
    held: dict[str, list[FormRow]] = {}
    left = {title: len(names) for title, names in GROUPS.get(kind, {}).items()}
    for row in rows:
        title = groups.get(row.field.name, "") if row.depth == 0 and not row.renames and row.path[:-1] == path else ""
        if not title:
            yield row
            continue
        held.setdefault(title, []).append(row._replace(depth=1))
        left[title] -= 1
        if left[title] == 0:
            yield from _group(title, held.pop(title), path)
    for title, kept in held.items():
        yield from _group(title, kept, path)


def _group(title: str, rows: Sequence[FormRow], path: Path) -> Iterator[FormRow]:
    heading = Field(title, "object", ", ".join(row.field.name for row in rows))
    yield FormRow(heading, (*path, f"({title})"), MISSING, heading=True, loose=True)
    yield from rows


def below(rows: Sequence[FormRow], number: int) -> Sequence[FormRow]:
    """Return the rows of the group whose heading is row `number`."""
    end = number + 1
    while end < len(rows) and rows[end].depth > rows[number].depth:
        end += 1
    return rows[number + 1 : end]


def folded(rows: Sequence[FormRow], opened: Collection[Path]) -> tuple[FormRow, ...]:
    """Return the rows without those of closed groups; a heading says what its group has."""
    found: list[FormRow] = []
    number = 0
    while number < len(rows):
        row, inside = rows[number], below(rows, number)
        number += 1
        if row.heading:
            is_open = row.path in opened
            summary, wrong = "" if is_open else _summary(row, inside), _wrong(row, inside, is_open)
            row = row._replace(is_open=is_open, summary=summary, wrong=wrong)
            number += 0 if is_open else len(inside)
        found.append(row)
    return tuple(found)


def holders(rows: Sequence[FormRow], path: Path) -> set[Path]:
    """Return the headings above the option at `path`."""
    return {
        row.path for number, row in enumerate(rows)
        if row.heading and any(one.path == path and not one.renames for one in below(rows, number))
    }  # fmt: skip


def _wrong(row: FormRow, inside: Sequence[FormRow], is_open: bool) -> str:
    """Return the heading's error: its own, or that of an option which is not seen."""
    hidden = () if is_open or (row.value is MISSING and not row.loose) else inside
    return row.wrong or next((f"{one.field.name}: {one.wrong}" for one in hidden if one.wrong), "")


def _summary(row: FormRow, inside: Sequence[FormRow]) -> str:
    options = [one for one in inside if not one.heading]
    given = [one for one in options if one.value is not MISSING]
    if row.field.name.endswith("]") and given:
        return clean(" ".join(one.shown for one in given if one.swaps or one.field.type == "devices")
                     + "".join(f", {one.field.name} {one.shown}" for one in given
                               if not one.swaps and one.field.type != "devices"), 200)  # fmt: skip
    many = plural(len(options), "option")
    if given:
        return clean(f"{many}, {len(given)} set: " + ", ".join(f"{one.field.name} {one.shown}" for one in given), 300)
    refused = [one.refused for one in options]
    if refused and all(refused):
        return clean(f"refused: {refused[0]}", 200)
    if row.value is not MISSING and not row.loose:
        return f"{many}, all at their defaults"
    return many if row.loose or row.field.name == "tuning" else f"left out; space adds it ({many})"
