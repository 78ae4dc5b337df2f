"""What a fio job was asked to do, by its options; and a name for each of several jobs of one name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.model.table import Asked, Pattern
from raidtui.results.imports.tables import Building
from raidtui.results.labels import size_bytes

_SAID: Final = (
    "rw", "bs", "blocksize", "bsrange", "blocksize_range", "bssplit", "iodepth", "numjobs", "fsync", "fdatasync",
    "rwmixread", "percentage_random",
)  # fmt: skip
_MIXED: Final = ("rw", "readwrite", "randrw")


def asked_of(options: Mapping[str, str], label: str = "", place: str = "") -> Asked:
    """From options under fio's own names; what is not there is unknown, except where fio's default says it."""
    rw = options.get("rw", options.get("readwrite", "")).partition(":")[0].partition(",")[0]
    pattern: Pattern | None = None
    if rw:
        pattern = "mixed" if rw in _MIXED else "write" if "write" in rw else "read" if "read" in rw else None
    mixed_sizes = bool({"bssplit", "bsrange", "blocksize_range"} & set(options))
    block = options.get("bs", options.get("blocksize", ""))
    sizes = {part for part in block.split(",") if part}
    said = [f"--{name}={value}" for name in _SAID if (value := options.get(name)) and " " not in value]
    return Asked(
        command=" ".join(("fio", *said)) if rw else "", place=place[:400] if rw else "", label=label, pattern=pattern,
        random=rw.startswith("rand") if rw else None,
        block_bytes=size_bytes(sizes.pop()) or None if len(sizes) == 1 and not mixed_sizes else None,
        iodepth=_whole(options.get("iodepth")), numjobs=_whole(options.get("numjobs")),
        fsync=max(filter(None, (_whole(options.get(name)) for name in ("fsync", "fdatasync"))), default=None),
        read_percent=_whole(options.get("rwmixread")) if pattern == "mixed" else None,
    )  # fmt: skip


def own_name(making: Building, layout: str, name: str) -> str:
    """`name`, or `name #2` where this layout has a workload of that name already."""
    taken = {figure.workload for figure in making.figures if figure.layout == layout}
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name} #{number}"
    return found


def _whole(text: str | None) -> int | None:
    number = int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0
    return number or None
