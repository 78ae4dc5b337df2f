"""Assumed rates of one disk, by kind, each with its source; estimates are made from these alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from raidtui.base.text import clean
from raidtui.model.problem import Refusal, fail
from raidtui.model.units import Size

ASSUME: Final = Refusal(
    "assume",
    "--assume is not valid",
    "--assume has the form KIND.RATE=VALUE. Kinds are hdd, ssd and nvme. Rates are read and write (bytes per second, with "
    "a unit), read_iops and write_iops (operations of 4 KiB per second).",
    "For example: --assume hdd.read=280MB,hdd.read_iops=150",
)


class Speed(msgspec.Struct, frozen=True):
    """Rates of one disk."""

    read_bytes_per_s: float
    write_bytes_per_s: float
    read_iops: float
    """Random reads of 4 KiB, with many in flight."""
    write_iops: float
    source: str
    """Origin of the numbers."""


ASSUMED: Final[Mapping[str, Speed]] = {
    "hdd": Speed(
        250e6, 250e6, 120, 120,
        "7200 turns a minute: one random operation a turn with a full queue, 2 MB on an outer track",
    ),
    "ssd": Speed(
        550e6, 520e6, 90e3, 30e3,
        "SATA 6 Gb/s carries 600 MB/s (8b/10b), commands take a part of it; operations are a guess for read-mostly flash",
    ),
    "nvme": Speed(
        6500e6, 3500e6, 900e3, 200e3,
        "Samsung PM9A3 (U.2, PCIe 4.0 x4), highest rates as announced: heise.de/-4720224",
    ),
}  # fmt: skip
_FIELDS: Final = {
    "read": "read_bytes_per_s", "write": "write_bytes_per_s", "read_iops": "read_iops", "write_iops": "write_iops",
}  # fmt: skip
_OPERATOR: Final = "given with --assume"


def assumed(words: Sequence[str]) -> dict[str, Speed]:
    """Return the rates by kind, with the changes of `--assume`. Raises ProblemError (`assume`)."""
    speeds = dict(ASSUMED)
    for word in (part.strip() for given in words for part in given.split(",")):
        if not word:
            continue
        match = re.fullmatch(r"(hdd|ssd|nvme)\.(read|write|read_iops|write_iops)=(\S+)", word)
        if match is None:
            raise fail(ASSUME, f"{clean(word, 80)!r} is not KIND.RATE=VALUE", place="--assume", remedy=ASSUME.way_out)
        kind, name, value = match.groups()
        source = speeds[kind].source
        source = source if _OPERATOR in source else f"{source}; {_OPERATOR}: "
        source += f"{'' if source.endswith(': ') else ', '}{name}"
        changes = {_FIELDS[name]: _number(name, value), "source": source}
        speeds[kind] = msgspec.structs.replace(speeds[kind], **changes)
    return speeds


def _number(name: str, value: str) -> float:
    try:
        found = float(value) if name.endswith("iops") else float(Size(value).bytes)
    except ValueError as error:
        raise fail(ASSUME, f"{clean(value, 40)!r}: {error}", place="--assume", remedy=ASSUME.way_out) from None
    if not 0 < found < 1e15:
        raise fail(ASSUME, f"{clean(value, 40)!r} is no rate", place="--assume", remedy=ASSUME.way_out)
    return found
