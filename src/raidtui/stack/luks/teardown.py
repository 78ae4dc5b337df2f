"""Closing of an encrypted volume, and overwriting of its header and key slots.

It may be run at any time and any number of times, after a crash too: the key is lost then, and not needed.
"""

from __future__ import annotations

import os

from raidtui.model.plan import Argv
from raidtui.stack import mapping
from raidtui.stack.action import Outcome
from raidtui.stack.blockdev import bounded
from raidtui.stack.context import Context
from raidtui.stack.luks.header import is_zero, overwrite, read_headers
from raidtui.stack.luks.spec import LuksVolume
from raidtui.stack.teardown import Device, erase_marks, open_for_writing, until_gone


def teardown(context: Context, volume: LuksVolume) -> Outcome:
    """Close the volume, write zeroes over header and key slots, and read them back.

    Facts: `closed` (kernel names), `erased` and `missing` (references). Raises ProblemError (exit 6): `mapping-busy`,
    `left-behind`, `stuck`.
    """
    commands: list[Argv] = []
    closed: list[str] = []
    erased: list[str] = []
    missing: list[str] = []

    def is_ours(device: Device) -> bool:
        # Until the planned UUID is written, the label, which is unique as well, names the volume.
        return any(one.uuid == volume.uuid or one.label == volume.name for one in read_headers(device.path))

    def erase(device: Device) -> None:
        fd = open_for_writing(context, device.ref, device.path)
        try:
            bounded(lambda: overwrite(fd, volume.offset_bytes), f"overwriting {device.path}", to_the_end=True)
        finally:
            os.close(fd)
        if not bounded(lambda: is_zero(device.path, volume.offset_bytes), f"reading {device.path}"):
            raise OSError("the key slots do not read as zeroes")
        commands.append(("blkdiscard", "--zeroout", "--length", str(volume.offset_bytes), device.path))

    def attempt() -> str:
        devices, missing[:] = mapping.present(context, volume)
        left = mapping.close(context, volume, devices, closed, commands)
        return left or erase_marks(context, devices, is_ours, erase, "its header", erased)

    until_gone(attempt, "the encrypted volume", volume.name)
    context.built.pop(volume.ref, None)
    facts = {"closed": closed, "erased": erased, "missing": missing}
    return Outcome("undone" if closed or erased else "nothing to do", facts, tuple(commands))
