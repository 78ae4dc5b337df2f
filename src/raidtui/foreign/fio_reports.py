"""Reports of fio in all its formats: JSON (also json+ and several in one file), terse (versions 2 to 5), and text.

With --status-interval there are several JSON reports; the last complete one counts. Terse reports contain no block size.
fio's text before version 3 writes KB and MB for 1024 and 1024² bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from raidtui.foreign.labels import size_bytes
from raidtui.foreign.published import read_number
from raidtui.foreign.sources import Building, TableReader, exact, lines_of, stem, unreadable
from raidtui.model.jsonio import read_json
from raidtui.model.table import MAX_TABLE_BYTES, Asked, Pattern
from raidtui.results.load import named

_SAID: Final = (
    "rw", "bs", "blocksize", "bsrange", "blocksize_range", "bssplit", "iodepth", "numjobs", "fsync", "fdatasync",
    "rwmixread", "percentage_random",
)  # fmt: skip
_MIXED: Final = ("rw", "readwrite", "randrw")


def asked_of(options: Mapping[str, str], label: str = "", place: str = "") -> Asked:
    """Return the requested options by fio's names; missing ones are unknown, except if fio's default applies."""
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


def job_name_of(making: Building, layout: str, name: str) -> str:
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


_STRING_OR_BRACE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_KIB_PER_S: Final = 1024.0
_SAME: Final = 0.001
_DIRECTIONS: Final[Mapping[str, Literal["read", "write", "trim", ""]]] = {
    "read": "read", "write": "write", "trim": "trim", "mixed": "",
}  # fmt: skip
"""Totals over all directions (unified_rw_reporting) have no direction."""
_PERCENTILES: Final[tuple[tuple[str, Literal["p50", "p99", "p99.9"]], ...]] = (
    ("50.000000", "p50"), ("99.000000", "p99"), ("99.900000", "p99.9"),
)  # fmt: skip


def sniff_json(text: str) -> bool:
    start = text.find("{")
    return start >= 0 and '"fio version"' in text[start : start + 4000]


def add_json(making: Building, text: str, name: str) -> None:
    with named(name):
        report = read_json(_last_object(text, name).encode(), max_bytes=MAX_TABLE_BYTES)
    every = _options(report, "global options")
    key = "jobs" if isinstance(report.get("jobs"), list) else "client_stats"
    jobs = [job for job in _list(report.get(key)) if isinstance(job, dict)]
    making.head.setdefault("source", str(report.get("fio version", "fio")))
    making.head.setdefault("date", str(report.get("time", "")))
    for index, job in enumerate(jobs):
        if job.get("jobname") == "All clients":
            continue
        options = {**every, **_options(job, "job options")}
        layout = making.layout(str(options.get("filename") or options.get("directory") or stem(name))[:200])
        if making.several:
            layout = making.layout(f"{stem(name)} {layout}" if layout != stem(name) else layout)
        workload = job_name_of(making, layout, str(job.get("jobname", index)))
        place = f"{name}: $.{key}[{index}]"
        making.workload(workload, asked_of(options, place=place))
        for word, direction in _DIRECTIONS.items():
            _direction(making, job.get(word), direction, (layout, workload), f"{place}.{word}")


def _direction(
    making: Building, flow: Any, direction: Literal["read", "write", "trim", ""], cell: tuple[str, str], place: str
) -> None:
    if not isinstance(flow, dict) or not _number(flow.get("total_ios", flow.get("iops"))):
        return
    bandwidth = _number(flow.get("bw_bytes"))
    if bandwidth is None and (kib := _number(flow.get("bw"))) is not None:
        bandwidth = kib * _KIB_PER_S
    for metric, value, unit in (("iops", _number(flow.get("iops")), "IOPS"), ("bandwidth", bandwidth, "B/s")):
        if value is not None:
            making.add(*cell, metric, exact(value), unit, place, direction=direction)  # type: ignore[arg-type]
    rounded = _number(flow.get("bw"))
    if bandwidth and rounded is not None and abs(rounded * _KIB_PER_S - bandwidth) > max(_KIB_PER_S, bandwidth * _SAME):
        # As a rule this is the same number again, in KiB/s.
        making.add(*cell, "bandwidth", exact(rounded), "KiB/s", place, direction=direction)
    for statistic, ns in _latencies(flow):
        making.add(*cell, "latency", exact(ns), "ns", place, direction=direction, statistic=statistic)


def _latencies(flow: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Return latencies in ns: the mean of the whole latency, percentiles of the completion latency. fio 2 counted µs."""
    for suffix, factor in (("_ns", 1.0), ("", 1000.0)):
        whole, completion = flow.get(f"lat{suffix}"), flow.get(f"clat{suffix}")
        if isinstance(whole, dict) and (mean := _number(whole.get("mean"))):
            yield "mean", mean * factor
        if isinstance(completion, dict):
            found = completion.get("percentile")
            found = found if isinstance(found, dict) else {}
            for name, statistic in _PERCENTILES:
                if (value := _number(found.get(name))) is not None:
                    yield statistic, value * factor
            if largest := _number(completion.get("max")):  # 0 where no time was taken (gtod_reduce)
                yield "max", largest * factor
            return


def _last_object(text: str, name: str) -> str:
    """fio may print words before it, and reports after one another without a comma."""
    depth, start, last = 0, 0, ""
    for match in _STRING_OR_BRACE.finditer(text, text.find("{")):
        mark = match.group()
        if mark == "{":
            if depth == 0:
                start = match.start()
            depth += 1
        elif mark == "}" and depth:
            depth -= 1
            if depth == 0 and re.search(r'"(?:jobs|client_stats)"', found := text[start : match.end()]):
                last = found
    if not last:
        raise unreadable(name, "no whole report of fio was found")
    return last


def _options(section: Mapping[str, Any], key: str) -> dict[str, str]:
    found = section.get(key)
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_LINE: Final = re.compile(r"(?:2;[^;]*;\d+;\d+;|[345];fio-[^;]*;[^;]*;\d+;\d+;)(?:[^;]*;){80,}[^;]*")
_FIELDS: Final = {2: 41, 3: 41, 4: 41, 5: 47}
"""Fields of one direction, by version."""
_FIRST: Final = {2: 4, 3: 5, 4: 5, 5: 5}
_BANDWIDTH, _IOPS, _TERSE_PERCENTILES, _MEAN = 1, 2, 12, 34
_NAMES: Final[tuple[tuple[float, Literal["p50", "p99", "p99.9"]], ...]] = ((50.0, "p50"), (99.0, "p99"), (99.9, "p99.9"))


def sniff_terse(text: str) -> bool:
    return any(_LINE.fullmatch(line.strip()) for line in text.splitlines()[:200])


def add_terse(making: Building, text: str, name: str) -> None:
    layout = making.layout(stem(name))
    for number, line in enumerate(lines_of(text, name), 1):
        if not _LINE.fullmatch(line.strip()):
            continue
        fields = line.strip().split(";")
        version = int(fields[0])
        job = job_name_of(making, layout, fields[1] if version == 2 else fields[2])
        for index, direction in enumerate(_directions(fields, version)):
            start = _FIRST[version] + index * _FIELDS[version]
            _terse_direction(making, fields[start : start + _FIELDS[version]], (layout, job), direction, f"{name}:{number}")


def _directions(fields: list[str], version: int) -> tuple[Literal["read", "write", ""], ...]:
    """Read a unified_rw_reporting line: one set of numbers for all directions, followed by the CPU share in percent."""
    behind = fields[_FIRST[version] + _FIELDS[version]]
    return ("",) if behind.endswith("%") else ("read", "write")


def _terse_direction(
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
    found = dict(part.split("%=", 1) for part in fields[_TERSE_PERCENTILES : _TERSE_PERCENTILES + 20] if "%=" in part)
    for share, statistic in _NAMES:
        if (us := found.get(f"{share:.6f}")) is not None:
            making.add(*cell, "latency", read_number(us), "us", place, us, direction=direction, statistic=statistic)


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
_TEXT_PERCENTILES: Final = re.compile(r"\s*(\w+) percentiles \((nsec|usec|msec)\):")
_PERCENTILE: Final = re.compile(r"(\d+\.\d+)th=\[\s*(\d+)\]")
_TIMES: Final = {"nsec": "ns", "usec": "us", "msec": "ms"}
_OLD_UNITS: Final = {"B": "B/s", "KB": "KiB/s", "MB": "MiB/s", "GB": "GiB/s", "TB": "TiB/s"}
_STATISTICS: Final = {"50.00": "p50", "99.00": "p99", "99.90": "p99.9"}
Direction = Literal["read", "write", "trim", ""]
_TEXT_DIRECTIONS: Final[dict[str, Direction]] = {"read": "read", "write": "write", "trim": "trim", "mixed": ""}
"""Totals over all directions (unified_rw_reporting) have no direction."""


def sniff_text(text: str) -> bool:
    lines = text.splitlines()[:5000]
    return any(_JOB.fullmatch(line) or _STATUS.fullmatch(line) or _OLD_STATUS.fullmatch(line) for line in lines)


def add_text(making: Building, text: str, name: str) -> None:
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
            workload = job_name_of(making, layout, job.group(1))
            given = {"numjobs": job.group(2), **options.get(job.group(1), {})}
            making.workload(workload, asked_of(given, place=places.get(job.group(1), "")))
        elif not workload:
            continue
        elif (flow := _FLOW.fullmatch(line)) is not None:
            direction = _TEXT_DIRECTIONS[flow.group(1)]
            _flow(making, (layout, workload), direction, place, flow)
        elif (old := _OLD_FLOW.fullmatch(line)) is not None:
            direction = _TEXT_DIRECTIONS[old.group(1)]
            _old_flow(making, (layout, workload), direction, place, old)
        elif (begun := _DIRECTION.fullmatch(line)) is not None:
            direction = _TEXT_DIRECTIONS[begun.group(1)]
        elif (mean := _LATENCY.fullmatch(line)) is not None:
            making.add(layout, workload, "latency", read_number(mean.group(2)), _TIMES[mean.group(1)], place, mean.group(2),
                       direction=direction, statistic="mean")  # fmt: skip
        elif (found := _TEXT_PERCENTILES.fullmatch(line)) is not None:
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
        direction = _TEXT_DIRECTIONS[match.group(1).lower()]
        if not told or direction in told:
            workload, told = making.workload(job_name_of(making, layout, "run status")), set()
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


_FORMATS = ((sniff_json, add_json), (sniff_terse, add_terse), (sniff_text, add_text))


def sniff_fio(head: str) -> bool:
    """Return True if the head of a file looks like a report of fio."""
    return any(sniff(head) for sniff, _ in _FORMATS)


def add_fio(making: Building, whole: str, name: str) -> None:
    """Add all numbers of a report to the table."""
    for sniff, add in _FORMATS:
        if sniff(whole):
            add(making, whole, name)
            return


FIO = TableReader("fio", "a report of fio (JSON, terse or text), as a table", sniff_fio, add_fio)
