"""Creation of an encrypted volume, read-back, and its health while it is measured."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from raidtui.model.plan import Argv
from raidtui.model.problem import ProblemError
from raidtui.stack import mapping
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.luks.header import Header, read_headers
from raidtui.stack.luks.plan import create_argvs
from raidtui.stack.luks.spec import LuksVolume
from raidtui.stack.luks.teardown import teardown
from raidtui.stack.mapping import Table
from raidtui.stack.read_back import Difference, mismatch
from raidtui.stack.teardown import Device, lend

REMEDY: Final = "This version of the kernel or of libcryptsetup made something else."


def create(context: Context, volume: LuksVolume) -> Outcome:
    """Write the header, open the volume, and check it. Raises ProblemError; a volume that differs is removed first."""
    context.stop_if_cancelled()
    device = mapping.below(context, volume)
    if mapping.find(volume):
        return Outcome("already there", _checked(context, volume, device))
    mapping.refuse_taken_name(volume.name)
    context.about_to_write(volume.disks)
    context.builder.load()  # now: loading takes longer than the disk may be unheld
    try:
        with lend(context, volume.on):
            context.builder.call("luks.create", volume=volume, path=device.path)
            context.builder.call("luks.open", volume=volume, path=device.path)
        facts = _checked(context, volume, device)
    except ProblemError:
        # The first problem is the one to report; the teardown of the block reports what this one could not remove.
        with suppress(ProblemError):
            teardown(context, volume)
        raise
    return Outcome("created", facts, _commands(volume, device))


def _commands(volume: LuksVolume, device: Device) -> tuple[Argv, ...]:
    swap = {volume.on_path: device.path}
    return tuple(tuple(swap.get(word, word) for word in argv) for argv in create_argvs(volume))


def _checked(context: Context, volume: LuksVolume, device: Device) -> dict[str, Any]:
    """Record the path of the volume in the context, and return the facts. Raises ProblemError (`read-back`)."""
    node = mapping.the_mapping(volume)
    if wrong := differences(volume, device, read_back(volume, node, device)):
        raise mismatch("the encrypted volume", volume.name, wrong, REMEDY)
    path = context.built[volume.ref] = mapping.mapper_path(volume.name)
    return {"kernel_name": node, "uuid": volume.uuid, "path": path}


def read_back(volume: LuksVolume, node: str, device: Device) -> dict[str, Any]:
    """Return header and mapping as JSON data, without the key. Raises ProblemError."""
    return {**parse_table(mapping.read_table(volume.name)), "size_bytes": mapping.size_bytes(node),
            "headers": [one._asdict() for one in read_headers(device.path)]}  # fmt: skip


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


def differences(volume: LuksVolume, device: Device, found: dict[str, Any]) -> list[Difference]:
    """Compare `found` (from `read_back`) with the requested volume."""
    asked = {
        "target": "crypt",
        "cipher": volume.cipher,
        "key_bits": volume.key_bits,
        "sector_bytes": volume.sector_bytes,
        "offset_bytes": volume.offset_bytes,
        "flags": sorted(volume.flags),
        "size_bytes": mapping.size_bytes(mapping.node_of(device)) - volume.offset_bytes,
        "headers": 2 * [Header(volume.uuid, volume.name)._asdict()],
    }
    return [Difference(what, value, found[what]) for what, value in asked.items() if found[what] != value]


def verify(context: Context, volume: LuksVolume) -> Outcome:
    """Read the volume back; facts are what was read. Raises ProblemError (`read-back`)."""
    device, node = mapping.below(context, volume), mapping.the_mapping(volume)
    found = read_back(volume, node, device)
    wrong = differences(volume, device, found)
    if mapping.stands_on(node) != {device.devno}:
        wrong.append(Difference("device", device.path, "another one"))
    if wrong:
        raise mismatch("the encrypted volume", volume.name, wrong, REMEDY)
    return Outcome("done", found)


def health(context: Context, volume: LuksVolume) -> tuple[str, ...]:
    """Return the reasons why numbers measured now would be wrong, one sentence each."""
    try:
        found = parse_table(mapping.read_table(volume.name))
        wrong = mapping.health(context, volume)
    except ProblemError as error:
        return (error.problems[0].message,)
    if found["flags"] != sorted(volume.flags):
        wrong = (*wrong, f"the flags of the volume are {', '.join(found['flags']) or 'none'}")
    return wrong
