"""Recorded disks: the answer of `raidtui disks --json`, from any server."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from raidtui.model.problem import Refusal, fail
from raidtui.model.protocol import DiskList

RECORDING: Final = Refusal(
    "recording",
    "No recording of disks",
    "`--on sim:FILE` takes the output of `raidtui disks --json`, from any server. The file is missing or something else.",
    "raidtui --on root@HOST disks --json > disks.json; raidtui --on sim:disks.json",
)


def read_recording(path: Path) -> DiskList:
    """Return recorded disks. Raises ProblemError (`recording`)."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=DiskList)
    except (OSError, msgspec.MsgspecError) as error:
        text = f"{path} is no recording of disks: {error}"
        raise fail(RECORDING, text, place=str(path), remedy=RECORDING.way_out) from None
