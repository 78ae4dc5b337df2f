"""The text that fio prints, of versions 1 to 3. Before 3 it wrote KB and MB and meant 1024 and 1024² bytes.

Lines count without the spaces before them: forums and pages that show text take them away.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from raidtui.results.imports.fio_parts.asked import asked_of, own_name
from raidtui.results.imports.tables import Building, lines_of, stem
from raidtui.results.published import read_number

_HEAD: Final = re.compile(r"(\S.*?): \(g=\d+\): rw=(\w+), bs=(.*?), ioengine=(\w+), iodepth=(\d+)\s*")
_BLOCKS: Final = re.compile(r"\(([RWT])\) ([\d.]+[KMG]?i?B)-([\d.]+[KMG]?i?B)")
_OLD_BLOCKS: Final = re.compile(r"([\d.]+[KMG]?)-([\d.]+[KMG]?)/([\d.]+[KMG]?)-([\d.]+[KMG]?)(?:/.*)?")
_JOB: Final = re.compile(r"(\S.*?): \(groupid=\d+, jobs=(\d+)\): err=\s*\d+.*")
_FLOW: Final = re.compile(
    r"\s*(read|write|trim|mixed)\s*: IOPS=([\d.]+[kMG]?), BW=([\d.]+)([KMG]?i?B)/s \(([\d.]+)([kMG]?B)/s\).*"
)
_OLD_FLOW: Final = re.compile(
    r"\s*(read|write|trim|mixed)\s*: io=[\d.]+\s*[KMGT]?B, bw=([\d.]+)\s*([KMG]?B)/s, iops=([\d.]+[kKMG]?)\s*,.*"
)
_DIRECTION: Final = re.compile(r"\s*(read|write|trim|mixed)\s*: (?:IOPS|io)=.*")
"""Whatever else stands in it: fio counts nothing (`BW=0 (0)`) over all where it tells each direction as well."""
_STATUS: Final = re.compile(
    r"[\s>]*(READ|WRITE|TRIM|MIXED): bw=([\d.]+)([KMG]?i?B)/s \(([\d.]+)([kMG]?B)/s\),.* io=([\d.]+)([KMGT]?i?B) .*"
    r"run=(\d+)-(\d+)msec\s*"
)
_OLD_STATUS: Final = re.compile(
    r"[\s>]*(READ|WRITE|TRIM|MIXED): io=([\d.]+)([KMGT]?B), aggrb=([\d.]+)([KMG]?B)/s,.* maxt=\s*(\d+)\s*msec\s*"
)
_LATENCY: Final = re.compile(r"\s*lat \((nsec|usec|msec)\)\s*: ?min=\s*\S+\s*, max=\s*\S+\s*, avg=\s*([\d.]+)\s*,.*")
_PERCENTILES: Final = re.compile(r"\s*(\w+) percentiles \((nsec|usec|msec)\):")
_PERCENTILE: Final = re.compile(r"(\d+\.\d+)th=\[\s*(\d+)\]")
_TIMES: Final = {"nsec": "ns", "usec": "us", "msec": "ms"}
_OLD_UNITS: Final = {"B": "B/s", "KB": "KiB/s", "MB": "MiB/s", "GB": "GiB/s", "TB": "TiB/s"}
_STATISTICS: Final = {"50.00": "p50", "99.00": "p99", "99.90": "p99.9"}

Direction = Literal["read", "write", "trim", ""]
_DIRECTIONS: Final[dict[str, Direction]] = {"read": "read", "write": "write", "trim": "trim", "mixed": ""}
"""What fio counts over all of them (unified_rw_reporting) is of no direction."""


def sniff(text: str) -> bool:
    lines = text.splitlines()[:5000]
    return any(_JOB.fullmatch(line) or _STATUS.fullmatch(line) or _OLD_STATUS.fullmatch(line) for line in lines)


def add(making: Building, text: str, name: str) -> None:
    if not any(map(_JOB.fullmatch, text.splitlines())):
        _statuses(making, text, name)
        return
    layout = making.layout(stem(name))
    options: dict[str, dict[str, str]] = {}
    places: dict[str, str] = {}
    workload, unit = "", ""
    direction: Direction = ""
    for number, line in enumerate(lines_of(text, name), 1):
        place = f"{name}:{number}"
        if (head := _HEAD.fullmatch(line)) is not None:
            options[head.group(1)] = {"rw": head.group(2), "bs": _block(head.group(3)), "iodepth": head.group(5)}
            places[head.group(1)] = place
        elif (job := _JOB.fullmatch(line)) is not None:
            workload = own_name(making, layout, job.group(1))
            given = {"numjobs": job.group(2), **options.get(job.group(1), {})}
            making.workload(workload, asked_of(given, place=places.get(job.group(1), "")))
        elif not workload:
            continue
        elif (flow := _FLOW.fullmatch(line)) is not None:
            direction = _DIRECTIONS[flow.group(1)]
            _flow(making, (layout, workload), direction, place, flow)
        elif (old := _OLD_FLOW.fullmatch(line)) is not None:
            direction = _DIRECTIONS[old.group(1)]
            _old_flow(making, (layout, workload), direction, place, old)
        elif (begun := _DIRECTION.fullmatch(line)) is not None:
            direction = _DIRECTIONS[begun.group(1)]
        elif (mean := _LATENCY.fullmatch(line)) is not None:
            making.add(layout, workload, "latency", read_number(mean.group(2)), _TIMES[mean.group(1)], place, mean.group(2),
                       direction=direction, statistic="mean")  # fmt: skip
        elif (found := _PERCENTILES.fullmatch(line)) is not None:
            # Those of lat and of sync (fsync) are other times than those of the completion.
            unit = _TIMES[found.group(2)] if found.group(1) == "clat" else ""
        elif unit and line.lstrip().startswith("|"):
            for share, value in _PERCENTILE.findall(line):
                if share in _STATISTICS:
                    making.add(layout, workload, "latency", read_number(value), unit, place, value, direction=direction,
                               statistic=_STATISTICS[share])  # fmt: skip


def _statuses(making: Building, text: str, name: str) -> None:
    """The lines at the end of a report, where nothing else of it was kept: a number for each direction of a group."""
    layout, workload = making.layout(stem(name)), ""
    told: set[str] = set()
    for number, line in enumerate(lines_of(text, name), 1):
        place = f"{name}:{number}"
        new, old = _STATUS.fullmatch(line), _OLD_STATUS.fullmatch(line)
        match = new or old
        if match is None:
            told = set() if "Run status group" in line else told
            continue
        direction = _DIRECTIONS[match.group(1).lower()]
        if not told or direction in told:
            workload, told = making.workload(own_name(making, layout, "run status")), set()
        told.add(direction)
        cell = (layout, workload)
        if new is not None:
            _, binary, binary_unit, decimal, decimal_unit, amount, amount_unit, shortest, longest = new.groups()
            making.add(*cell, "bandwidth", read_number(decimal), f"{decimal_unit}/s", place, decimal, direction=direction)
            making.add(*cell, "bandwidth", read_number(binary), f"{binary_unit}/s", place, binary, direction=direction)
        else:
            _, amount, unit, rate, rate_unit, longest = match.groups()
            amount_unit, shortest = _OLD_UNITS[unit].removesuffix("/s"), longest
            making.add(*cell, "bandwidth", read_number(rate), _OLD_UNITS[rate_unit], place, rate, direction=direction)
        if shortest == longest:
            making.add(*cell, "amount", read_number(amount), amount_unit, place, amount, direction=direction)
            making.add(*cell, "time", read_number(longest), "ms", place, longest, direction=direction)


def _flow(making: Building, cell: tuple[str, str], direction: Direction, place: str, flow: re.Match[str]) -> None:
    _, iops, binary, binary_unit, decimal, decimal_unit = flow.groups()
    making.add(*cell, "iops", read_number(iops), "IOPS", place, iops, direction=direction)
    making.add(*cell, "bandwidth", read_number(decimal), f"{decimal_unit}/s", place, decimal, direction=direction)
    making.add(*cell, "bandwidth", read_number(binary), f"{binary_unit}/s", place, binary, direction=direction)


def _old_flow(making: Building, cell: tuple[str, str], direction: Direction, place: str, flow: re.Match[str]) -> None:
    _, rate, unit, iops = flow.groups()
    making.add(*cell, "iops", read_number(iops), "IOPS", place, iops, direction=direction)
    making.add(*cell, "bandwidth", read_number(rate), _OLD_UNITS[unit], place, rate, direction=direction)


def _block(text: str) -> str:
    """The block size of all directions; several behind commas where they differ."""
    sizes = {size for _, low, high in _BLOCKS.findall(text) for size in (low, high)}
    if not sizes and (old := _OLD_BLOCKS.fullmatch(text)) is not None:
        sizes = set(old.groups())
    found = {size.replace("iB", "").rstrip("B") for size in sizes}
    return ",".join(sorted(found))
