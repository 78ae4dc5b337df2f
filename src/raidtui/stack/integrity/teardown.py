"""Closing of an integrity device, and erasing of its superblock, any number of times and after a crash too."""

from __future__ import annotations

import os

from raidtui.model.plan import Argv
from raidtui.stack import mapping
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.integrity import superblock
from raidtui.stack.integrity.spec import IntegrityDevice
from raidtui.stack.teardown import Device, erase_marks, open_for_writing, until_gone


def teardown(context: Context, integrity: IntegrityDevice) -> Outcome:
    """Close the device and erase its superblock; the tags go when the disks are made blank.

    Facts: `closed` (kernel names), `erased` and `missing` (references). Raises ProblemError (exit 6): `mapping-busy`,
    `left-behind`, `stuck`.
    """
    commands: list[Argv] = []
    closed: list[str] = []
    erased: list[str] = []
    missing: list[str] = []

    def is_ours(device: Device) -> bool:
        return superblock.read(device.path) == superblock.label(integrity)

    def erase(device: Device) -> None:
        fd = open_for_writing(context, device.ref, device.path)
        try:
            superblock.erase(fd)
        finally:
            os.close(fd)
        commands.append(("wipefs", "--all", "--types", "DM_integrity", device.path))

    def attempt() -> str:
        devices, missing[:] = mapping.present(context, integrity)
        left = mapping.close(context, integrity, devices, closed, commands)
        return left or erase_marks(context, devices, is_ours, erase, "its superblock", erased)

    until_gone(attempt, "the integrity device", integrity.name)
    context.built.pop(integrity.ref, None)
    facts = {"closed": closed, "erased": erased, "missing": missing}
    return Outcome("undone" if closed or erased else "nothing to do", facts, tuple(commands))
