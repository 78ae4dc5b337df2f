"""Encrypted volumes as mappings: read-back, comparison with the plan, and health while one is measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from raidtui.stack.luks.header import Header, overwrite, read_headers
from raidtui.stack.luks.plan import create_argvs
from raidtui.stack.luks.spec import LuksVolume
from raidtui.stack.mapping import Kind, Table, read_table


def read(volume: LuksVolume, path: str) -> dict[str, Any]:
    """Return header and mapping as JSON data, without the key. Raises ProblemError."""
    return {**parse_table(read_table(volume.name)), "headers": [one._asdict() for one in read_headers(path)]}


def parse_table(table: Table) -> dict[str, Any]:
    """Return cipher, size of the key and options of a dm-crypt table without keys (Documentation/…/dm-crypt.rst)."""
    cipher, key, _, _, offset, *options = table.words
    # A key in the kernel's keyring is `:64:logon:…`, any other one is printed as zeroes.
    key_bytes = int(key.split(":")[1]) if key.startswith(":") else len(key) // 2
    flags = options[1:]
    sector = next((int(flag.partition(":")[2]) for flag in flags if flag.startswith("sector_size:")), 512)
    return {
        "target": table.target,
        "cipher": cipher,
        "key_bits": 8 * key_bytes,
        "sector_bytes": sector,
        "offset_bytes": 512 * int(offset),
        "flags": sorted(flag for flag in flags if ":" not in flag),
    }


def asked(volume: LuksVolume, below_bytes: int) -> dict[str, Any]:
    """Return what `read` has to find, and the size. `below_bytes`: the size of the device below."""
    return {
        "target": "crypt",
        "cipher": volume.cipher,
        "key_bits": volume.key_bits,
        "sector_bytes": volume.sector_bytes,
        "offset_bytes": volume.offset_bytes,
        "flags": sorted(volume.flags),
        "size_bytes": below_bytes - volume.offset_bytes,
        "headers": 2 * [Header(volume.uuid, volume.name)._asdict()],
    }


def wrong(volume: LuksVolume) -> Iterator[str]:
    """Yield the reasons why numbers measured now would be wrong. Raises ProblemError."""
    flags = parse_table(read_table(volume.name))["flags"]
    if flags != sorted(volume.flags):
        yield f"the flags of the volume are {', '.join(flags) or 'none'}"


def is_marked(volume: LuksVolume, path: str) -> bool:
    """Return True if the device has a header of this volume: by its label until the planned UUID is written."""
    return any(one.uuid == volume.uuid or one.label == volume.name for one in read_headers(path))


VOLUMES: Final = Kind[LuksVolume](
    name="luks",
    title="the encrypted volume",
    mark="its header",
    same_as=create_argvs,
    read=read,
    asked=asked,
    wrong=wrong,
    is_marked=is_marked,
    erase=lambda volume, fd: overwrite(fd, volume.offset_bytes),
)
