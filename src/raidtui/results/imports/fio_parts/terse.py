"""fio's terse reports, versions 2 to 5: one line a job, fields behind semicolons. They say no block size."""

from __future__ import annotations

import re
from typing import Final, Literal

from raidtui.results.imports.fio_parts.asked import own_name
from raidtui.results.imports.tables import Building, lines_of, stem, unreadable
from raidtui.results.published import read_number

_LINE: Final = re.compile(r"(?:2;[^;]*;\d+;\d+;|[345];fio-[^;]*;[^;]*;\d+;\d+;)(?:[^;]*;){80,}[^;]*")
_FIELDS: Final = {2: 41, 3: 41, 4: 41, 5: 47}
"""Fields of one direction, by version."""
_FIRST: Final = {2: 4, 3: 5, 4: 5, 5: 5}
_BANDWIDTH, _IOPS, _PERCENTILES, _MEAN = 1, 2, 12, 34
_NAMES: Final[tuple[tuple[float, Literal["p50", "p99", "p99.9"]], ...]] = ((50.0, "p50"), (99.0, "p99"), (99.9, "p99.9"))


def sniff(text: str) -> bool:
    return any(_LINE.fullmatch(line.strip()) for line in text.splitlines()[:200])


def add(making: Building, text: str, name: str) -> None:
    layout = making.layout(stem(name))
    for number, line in enumerate(lines_of(text, name), 1):
        if not _LINE.fullmatch(line.strip()):
            continue
        fields = line.strip().split(";")
        version = int(fields[0])
        job = own_name(making, layout, fields[1] if version == 2 else fields[2])
        for index, direction in enumerate(_directions(fields, version)):
            start = _FIRST[version] + index * _FIELDS[version]
            _direction(making, fields[start : start + _FIELDS[version]], (layout, job), direction, f"{name}:{number}")


def _directions(fields: list[str], version: int) -> tuple[Literal["read", "write", ""], ...]:
    """Of unified_rw_reporting there is but one for all, and behind it stands the share of the processor, in percent."""
    behind = fields[_FIRST[version] + _FIELDS[version]]
    return ("",) if behind.endswith("%") else ("read", "write")


def _direction(
    making: Building, fields: list[str], cell: tuple[str, str], direction: Literal["read", "write", ""], place: str
) -> None:
    try:
        iops, kib = float(fields[_IOPS]), float(fields[_BANDWIDTH])
        mean = float(fields[_MEAN])
    except (ValueError, IndexError):
        raise unreadable(place, f"fio's fields of {direction or 'all directions'} are not all numbers") from None
    if not iops and not kib:
        return
    making.add(*cell, "iops", read_number(fields[_IOPS]), "IOPS", place, fields[_IOPS], direction=direction)
    making.add(*cell, "bandwidth", read_number(fields[_BANDWIDTH]), "KiB/s", place, fields[_BANDWIDTH], direction=direction)
    if mean:
        text = fields[_MEAN]
        making.add(*cell, "latency", read_number(text), "us", place, text, direction=direction, statistic="mean")
    found = dict(part.split("%=", 1) for part in fields[_PERCENTILES : _PERCENTILES + 20] if "%=" in part)
    for share, statistic in _NAMES:
        if (us := found.get(f"{share:.6f}")) is not None:
            making.add(*cell, "latency", read_number(us), "us", place, us, direction=direction, statistic=statistic)
