"""Integrity devices as mappings: read-back, comparison with the plan, and health while one is measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from raidtui.stack.integrity import superblock
from raidtui.stack.integrity.geometry import data_bytes
from raidtui.stack.integrity.plan import create_argvs
from raidtui.stack.integrity.spec import MODE_LETTERS, IntegrityDevice
from raidtui.stack.mapping import Kind, Table, read_table


def read(integrity: IntegrityDevice, path: str) -> dict[str, Any]:
    """Return superblock, mapping and failures as JSON data. Raises ProblemError."""
    return {
        **parse_table(read_table(integrity.name)),
        "superblock": superblock.read(path),
        "mismatches": mismatches(read_table(integrity.name, "status")),
    }


def parse_table(table: Table) -> dict[str, Any]:
    """Return mode, tag and options of a dm-integrity table (Documentation/admin-guide/device-mapper/dm-integrity.rst)."""
    _, _, tag_bytes, mode, _, *options = table.words
    given = {name: value for name, _, value in (option.partition(":") for option in options)}
    return {
        "target": table.target,
        "mode": next((name for name, letter in MODE_LETTERS.items() if letter == mode), mode),
        "tag": given.get("internal_hash"),
        "tag_bytes": int(tag_bytes),
        "sector_bytes": int(given.get("block_size", "512")),
        "journal_bytes": 512 * int(given.get("journal_sectors", "0")),
    }


def mismatches(status: Table) -> int:
    """Return the number of sectors whose tag did not match since the device was opened."""
    return int(status.words[0])


def asked(integrity: IntegrityDevice, below_bytes: int) -> dict[str, Any]:
    """Return what `read` has to find, and the size. `below_bytes`: the size of the device below."""
    return {
        "target": "integrity",
        "mode": integrity.mode,
        "tag": integrity.tag,
        "tag_bytes": integrity.tag_bytes,
        "sector_bytes": integrity.sector_bytes,
        "size_bytes": data_bytes(below_bytes, integrity.tag_bytes, integrity.sector_bytes),
        "superblock": superblock.label(integrity),
        "mismatches": 0,
    }


def wrong(integrity: IntegrityDevice) -> Iterator[str]:
    """Yield the reasons why numbers measured now would be wrong. Raises ProblemError."""
    mode = parse_table(read_table(integrity.name))["mode"]
    if mode != integrity.mode:
        yield f"the integrity device works in the mode {mode}, not {integrity.mode}"
    if failed := mismatches(read_table(integrity.name, "status")):
        yield f"{failed} sectors did not match their tags"


DEVICES: Final = Kind[IntegrityDevice](
    name="integrity",
    title="the integrity device",
    mark="its superblock",
    same_as=create_argvs,
    read=read,
    asked=asked,
    wrong=wrong,
    is_marked=lambda integrity, path: superblock.read(path) == superblock.label(integrity),
    erase=lambda _, fd: superblock.erase(fd),  # the tags go when the disks are made blank
)
