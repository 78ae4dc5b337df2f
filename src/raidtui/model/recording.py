"""Simulated servers: recorded disks (the answer of `raidtui disks --json`, from any server), or a name and its traits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from raidtui.model.problem import Refusal, fail
from raidtui.model.protocol import DiskList

RECORDING: Final = Refusal(
    "recording",
    "No recording of disks",
    "`--on sim:FILE` takes the output of `raidtui disks --json`, from any server. The file is missing or something else. "
    "`--on sim:NAME` is a simulated server of its own; `+slow` and `+firmware` behind the name make it unlike others.",
    "raidtui --on root@HOST disks --json > disks.json; raidtui --on sim:disks.json",
)


_NAME: Final = re.compile(r"([a-z0-9][a-z0-9-]{0,30})((?:\+(?:slow|firmware))*)")


class Named(NamedTuple):
    """A simulated server with a name: its disks have serial numbers of their own."""

    name: str
    slow: bool = False
    """True if its disks do about half of the usual work."""
    firmware: bool = False
    """True if its disks have another firmware."""


def named(word: str) -> Named | None:
    """Return the simulated server `NAME[+slow][+firmware]`; None for a file, and for no name."""
    match = _NAME.fullmatch(word)
    if match is None or Path(word).is_file():
        return None
    traits = match[2].split("+")
    return Named(match[1], "slow" in traits, "firmware" in traits)


def read_recording(path: Path) -> DiskList:
    """Return recorded disks. Raises ProblemError (`recording`)."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=DiskList)
    except (OSError, msgspec.MsgspecError) as error:
        text = f"{path} is no recording of disks: {error}"
        raise fail(RECORDING, text, place=str(path), remedy=RECORDING.way_out) from None
