"""Creation of an integrity device, read-back, and its health while it is measured."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from raidtui.model.plan import Argv
from raidtui.model.problem import ProblemError
from raidtui.stack import mapping
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.integrity import superblock
from raidtui.stack.integrity.geometry import data_bytes
from raidtui.stack.integrity.plan import create_argvs
from raidtui.stack.integrity.spec import MODE_LETTERS, IntegrityDevice
from raidtui.stack.integrity.teardown import teardown
from raidtui.stack.mapping import Table
from raidtui.stack.read_back import Difference, mismatch
from raidtui.stack.teardown import Device, lend

REMEDY: Final = "This version of the kernel or of libcryptsetup made something else."


def create(context: Context, integrity: IntegrityDevice) -> Outcome:
    """Write superblock and tags, open the device, and check it. Raises ProblemError; one that differs is removed first."""
    context.stop_if_cancelled()
    device = mapping.below(context, integrity)
    if mapping.find(integrity):
        return Outcome("already there", _checked(context, integrity, device))
    mapping.refuse_taken_name(integrity.name)
    context.about_to_write(integrity.disks)
    context.builder.load()  # now: loading takes longer than the disk may be unheld
    try:
        with lend(context, integrity.on):
            context.builder.call("integrity.create", device=integrity, path=device.path)
            context.builder.call("integrity.open", device=integrity, path=device.path)
        facts = _checked(context, integrity, device)
    except ProblemError:
        # The first problem is the one to report; the teardown of the block reports what this one could not remove.
        with suppress(ProblemError):
            teardown(context, integrity)
        raise
    return Outcome("created", facts, _commands(integrity, device))


def _commands(integrity: IntegrityDevice, device: Device) -> tuple[Argv, ...]:
    swap = {integrity.on_path: device.path}
    return tuple(tuple(swap.get(word, word) for word in argv) for argv in create_argvs(integrity))


def _checked(context: Context, integrity: IntegrityDevice, device: Device) -> dict[str, Any]:
    """Record the path of the device in the context, and return the facts. Raises ProblemError (`read-back`)."""
    node = mapping.the_mapping(integrity)
    if wrong := differences(integrity, device, read_back(integrity, node, device)):
        raise mismatch("the integrity device", integrity.name, wrong, REMEDY)
    path = context.built[integrity.ref] = mapping.mapper_path(integrity.name)
    return {"kernel_name": node, "path": path}


def read_back(integrity: IntegrityDevice, node: str, device: Device) -> dict[str, Any]:
    """Return superblock, mapping and failures as JSON data. Raises ProblemError."""
    return {
        **parse_table(mapping.read_table(integrity.name)),
        "size_bytes": mapping.size_bytes(node),
        "superblock": superblock.read(device.path),
        "mismatches": mismatches(mapping.read_table(integrity.name, "status")),
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


def differences(integrity: IntegrityDevice, device: Device, found: dict[str, Any]) -> list[Difference]:
    """Compare `found` (from `read_back`) with the requested device."""
    asked = {
        "target": "integrity",
        "mode": integrity.mode,
        "tag": integrity.tag,
        "tag_bytes": integrity.tag_bytes,
        "sector_bytes": integrity.sector_bytes,
        "size_bytes": data_bytes(mapping.size_bytes(mapping.node_of(device)), integrity.tag_bytes, integrity.sector_bytes),
        "superblock": superblock.label(integrity),
        "mismatches": 0,
    }
    return [Difference(what, value, found[what]) for what, value in asked.items() if found[what] != value]


def verify(context: Context, integrity: IntegrityDevice) -> Outcome:
    """Read the device back; facts are what was read. Raises ProblemError (`read-back`)."""
    device, node = mapping.below(context, integrity), mapping.the_mapping(integrity)
    found = read_back(integrity, node, device)
    wrong = differences(integrity, device, found)
    if mapping.stands_on(node) != {device.devno}:
        wrong.append(Difference("device", device.path, "another one"))
    if wrong:
        raise mismatch("the integrity device", integrity.name, wrong, REMEDY)
    return Outcome("done", found)


def health(context: Context, integrity: IntegrityDevice) -> tuple[str, ...]:
    """Return the reasons why numbers measured now would be wrong, one sentence each."""
    try:
        wrong = mapping.health(context, integrity)
        mode = parse_table(mapping.read_table(integrity.name))["mode"]
        failed = mismatches(mapping.read_table(integrity.name, "status"))
    except ProblemError as error:
        return (error.problems[0].message,)
    if mode != integrity.mode:
        wrong = (*wrong, f"the integrity device works in the mode {mode}, not {integrity.mode}")
    if failed:
        wrong = (*wrong, f"{failed} sectors did not match their tags")
    return wrong
