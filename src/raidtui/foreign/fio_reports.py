"""Reports of fio in all its formats: JSON (also json+ and several in one file), terse (versions 2 to 5), and text.

With --status-interval there are several reports of the same jobs; the last complete one counts (not in terse, where a job
cannot be told from another one of its name). Terse reports contain no block size.
fio's text before version 3 writes KB and MB for 1024 and 1024² bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from raidtui.foreign.labels import size_bytes, whole
from raidtui.foreign.published import read_number
from raidtui.foreign.sources import Building, TableReader, exact, lines_of, stem, unreadable
from raidtui.model.jsonio import read_json
from raidtui.model.table import MAX_TABLE_BYTES, RATE_UNITS, Asked, Pattern
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
    number = making.jobs.get((layout, name), 1)
    found = name if number == 1 else f"{name} #{number}"
    while (layout, found) in making.measured:
        number += 1
        found = f"{name} #{number}"
    making.jobs[layout, name] = number
    return found


def _whole(text: str | None) -> int | None:
    return whole(text or "") or None


_STRING_OR_BRACE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_KIB_PER_S: Final = 1024.0
_SAME: Final = 0.001
_DIRECTIONS: Final = {"read": "read", "write": "write", "trim": "trim", "mixed": ""}
"""Totals over all directions (unified_rw_reporting) have no direction."""
_PERCENTILES: Final = {"50.000000": "p50", "99.000000": "p99", "99.900000": "p99.9"}


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


def _direction(making: Building, flow: Any, direction: str, cell: tuple[str, str], place: str) -> None:
    if not isinstance(flow, dict) or not _number(flow.get("total_ios", flow.get("iops"))):
        return
    kib = _number(flow.get("bw"))
    bandwidth = _number(flow.get("bw_bytes"))
    if bandwidth is None and kib is not None:
        bandwidth = kib * _KIB_PER_S
    if (iops := _number(flow.get("iops"))) is not None:
        making.add(*cell, "iops", exact(iops), "IOPS", place, direction=direction)
    if bandwidth is not None:
        making.add(*cell, "bandwidth", exact(bandwidth), "B/s", place, direction=direction)
    if bandwidth and kib is not None and abs(kib * _KIB_PER_S - bandwidth) > max(_KIB_PER_S, bandwidth * _SAME):
        # As a rule this is the same number again, in KiB/s.
        making.add(*cell, "bandwidth", exact(kib), "KiB/s", place, direction=direction)
    for statistic, ns in _latencies(flow):
        making.add(*cell, "latency", exact(ns), "ns", place, direction=direction, statistic=statistic)


def _latencies(flow: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Return latencies in ns: the mean of the whole latency, percentiles of the completion latency. fio 2 counted µs."""
    for suffix, factor in (("_ns", 1.0), ("", 1000.0)):
        whole, completion = flow.get(f"lat{suffix}"), flow.get(f"clat{suffix}")
        if isinstance(whole, dict) and (mean := _number(whole.get("mean"))):
            yield "mean", mean * factor
        if isinstance(completion, dict):
            percentiles = completion.get("percentile")
            found = percentiles if isinstance(percentiles, dict) else {}
            for name, statistic in _PERCENTILES.items():
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
        # A line of unified_rw_reporting has one set of numbers for all directions, and the CPU share in percent behind it.
        first, width = _FIRST[version], _FIELDS[version]
        for index, direction in enumerate(("",) if fields[first + width].endswith("%") else ("read", "write")):
            start = first + index * width
            _terse_direction(making, fields[start : start + width], (layout, job), direction, f"{name}:{number}")


def _terse_direction(making: Building, fields: list[str], cell: tuple[str, str], direction: str, place: str) -> None:
    try:
        iops, kib, mean = (float(fields[index]) for index in (_IOPS, _BANDWIDTH, _MEAN))
    except (ValueError, IndexError):
        raise unreadable(place, f"fio's fields of {direction or 'all directions'} are not all numbers") from None
    if not iops and not kib:
        return
    making.printed(cell, "iops", fields[_IOPS], "IOPS", place, direction=direction)
    making.printed(cell, "bandwidth", fields[_BANDWIDTH], "KiB/s", place, direction=direction)
    if mean:
        making.printed(cell, "latency", fields[_MEAN], "us", place, direction=direction, statistic="mean")
    found = dict(part.split("%=", 1) for part in fields[_TERSE_PERCENTILES : _TERSE_PERCENTILES + 20] if "%=" in part)
    for share, statistic in _PERCENTILES.items():
        if (us := found.get(share)) is not None:
            making.printed(cell, "latency", us, "us", place, direction=direction, statistic=statistic)


_HEAD: Final = re.compile(r"(\S.*?): \(g=\d+\): rw=(\w+), bs=(.*?), ioengine=(\w+), iodepth=(\d+)\s*")
_BLOCKS: Final = re.compile(r"\(([RWT])\) ([\d.]+[KMG]?i?B)-([\d.]+[KMG]?i?B)")
_OLD_BLOCKS: Final = re.compile(r"([\d.]+[KMG]?)-([\d.]+[KMG]?)/([\d.]+[KMG]?)-([\d.]+[KMG]?)(?:/.*)?")
_JOB: Final = re.compile(r"(\S.*?): \(groupid=(\d+), jobs=(\d+)\): err=\s*\d+(?:: pid=(\d+))?.*")
_TWICE: Final = (
    r"(?P<rate>[\d.]+)(?P<rate_unit>[kKMGT]?i?(?:B|bit))/s \((?P<again>[\d.]+)(?P<again_unit>[kKMGT]?i?(?:B|bit))/s\)"
)
"""A rate in binary and decimal units, in the order that --kb_base chooses; in bits with --unit_base=1."""


class Line(NamedTuple):
    """A kind of line of fio's text, and the era of fio that prints it."""

    pattern: re.Pattern[str]
    before_3: bool = False
    """fio before version 3 wrote KB and MB for 1024 and 1024² bytes."""


class Rates(NamedTuple):
    """A line that was matched."""

    match: re.Match[str]
    before_3: bool

    def unit(self, unit: str) -> str:
        """Return a unit as it is meant."""
        return f"{unit[0]}iB" if self.before_3 and len(unit) > 1 else unit


_FLOWS: Final = (
    Line(re.compile(rf"\s*(?P<word>read|write|trim|mixed)\s*: IOPS=(?P<iops>[\d.]+[kMG]?), BW={_TWICE}.*")),
    Line(re.compile(r"\s*(?P<word>read|write|trim|mixed)\s*: io=[\d.]+\s*[KMGT]?B, "
               r"bw=(?P<rate>[\d.]+)\s*(?P<rate_unit>[KMG]?B)/s, iops=(?P<iops>[\d.]+[kKMG]?)\s*,.*"), before_3=True),
)  # fmt: skip
"""Rates of one direction of a job, of fio since version 3 and before it."""
_DIRECTION: Final = re.compile(r"\s*(read|write|trim|mixed)\s*: (?:IOPS|io)=.*")
"""Whatever else stands in it: fio counts nothing (`BW=0 (0)`) over all where it tells each direction as well."""
_STATUSES: Final = (
    Line(re.compile(rf"[\s>]*(?P<word>READ|WRITE|TRIM|MIXED): bw={_TWICE},.*"
               r" io=(?P<amount>[\d.]+)(?P<amount_unit>[kKMGT]?i?B) .*"
               r"run=(?P<shortest>\d+)-(?P<longest>\d+)msec\s*")),
    Line(re.compile(r"[\s>]*(?P<word>READ|WRITE|TRIM|MIXED): io=(?P<amount>[\d.]+)(?P<amount_unit>[KMGT]?B), "
               r"aggrb=(?P<rate>[\d.]+)(?P<rate_unit>[KMG]?B)/s,.* maxt=\s*(?P<longest>\d+)\s*msec\s*"), before_3=True),
)  # fmt: skip
"""Rates of one direction of a group, at the end of a report."""
_LATENCY: Final = re.compile(r"\s*lat \((nsec|usec|msec)\)\s*: ?min=\s*\S+\s*, max=\s*\S+\s*, avg=\s*([\d.]+)\s*,.*")
_TEXT_PERCENTILES: Final = re.compile(r"\s*(\w+) percentiles \((nsec|usec|msec)\):")
_PERCENTILE: Final = re.compile(r"(\d+\.\d+)th=\[\s*(\d+)\]")
_TIMES: Final = {"nsec": "ns", "usec": "us", "msec": "ms"}


def sniff_text(text: str) -> bool:
    return any(_JOB.fullmatch(line) or _match(_STATUSES, line) for line in text.splitlines()[:5000])


def add_text(making: Building, text: str, name: str) -> None:
    if not any(map(_JOB.fullmatch, text.splitlines())):
        _statuses(making, text, name)
        return
    layout = making.layout(stem(name))
    heads: dict[str, tuple[dict[str, str], str]] = {}
    processes: dict[tuple[str, ...], str] = {}
    workload, unit, direction = "", "", ""
    for number, line in enumerate(lines_of(text, name), 1):
        place, cell = f"{name}:{number}", (layout, workload)
        if (head := _HEAD.fullmatch(line)) is not None:
            job_name, rw, block, _, depth = head.groups()
            heads[job_name] = {"rw": rw, "bs": _block(block), "iodepth": depth}, place
        elif (job := _JOB.fullmatch(line)) is not None:
            job_name, group, jobs, pid = job.groups()
            earlier = processes.get((job_name, group, pid)) if pid else None
            if earlier is not None:  # of --status-interval: the same job, later
                making.figures = [one for one in making.figures if (one.layout, one.workload) != (layout, earlier)]
            workload = earlier or job_name_of(making, layout, job_name)
            if pid:
                processes[job_name, group, pid] = workload
            options, where = heads.get(job_name, ({}, ""))
            making.workload(workload, asked_of({"numjobs": jobs, **options}, place=where))
        elif not workload:
            continue
        elif (flow := _match(_FLOWS, line)) is not None:
            direction = _rates(making, cell, place, flow)
        elif (begun := _DIRECTION.fullmatch(line)) is not None:
            direction = _DIRECTIONS[begun.group(1)]
        elif (mean := _LATENCY.fullmatch(line)) is not None:
            time_unit = _TIMES[mean.group(1)]
            making.printed(cell, "latency", mean.group(2), time_unit, place, direction=direction, statistic="mean")
        elif (found := _TEXT_PERCENTILES.fullmatch(line)) is not None:
            # Those of lat and of sync (fsync) are other times than those of the completion.
            unit = _TIMES[found.group(2)] if found.group(1) == "clat" else ""
        elif unit and line.lstrip().startswith("|"):
            for share, value in _PERCENTILE.findall(line):
                if (statistic := _PERCENTILES.get(f"{float(share):.6f}")) is not None:
                    making.printed(cell, "latency", value, unit, place, direction=direction, statistic=statistic)


def _statuses(making: Building, text: str, name: str) -> None:
    """The lines at the end of a report, where nothing else of it was kept: a number for each direction of a group."""
    layout, workload = making.layout(stem(name)), ""
    told: set[str] = set()
    for number, line in enumerate(lines_of(text, name), 1):
        status = _match(_STATUSES, line)
        if status is None:
            told = set() if "Run status group" in line else told
            continue
        match = status.match
        place, direction = f"{name}:{number}", _DIRECTIONS[match["word"].lower()]
        if not told or direction in told:
            workload, told = making.workload(job_name_of(making, layout, "run status")), set()
        told.add(direction)
        _rates(making, (layout, workload), place, status)
        if match.groupdict().get("shortest", match["longest"]) == match["longest"]:
            amount, unit = match["amount"], status.unit(match["amount_unit"])
            making.printed((layout, workload), "amount", amount, unit, place, direction=direction)
            making.printed((layout, workload), "time", match["longest"], "ms", place, direction=direction)


def _match(lines: Sequence[Line], text: str) -> Rates | None:
    found = ((one.pattern.fullmatch(text), one.before_3) for one in lines)
    return next((Rates(match, before_3) for match, before_3 in found if match is not None), None)


def _rates(making: Building, cell: tuple[str, str], place: str, line: Rates) -> str:
    """Add the rates of one line, and return its direction."""
    said = line.match.groupdict()
    direction = _DIRECTIONS[said["word"].lower()]
    if "iops" in said:
        making.printed(cell, "iops", said["iops"], "IOPS", place, direction=direction)
    for name in ("again", "rate"):
        if name not in said:
            continue
        text, unit = said[name], line.unit(said[f"{name}_unit"])
        number = read_number(text)
        if number is not None and unit.endswith("bit") and f"{unit}/s" not in RATE_UNITS:
            number, unit = number._replace(value=number.value / 8), f"{unit.removesuffix('bit')}B"
            text = f"{number.value:.{len(text.partition('.')[2])}f}"
        making.add(*cell, "bandwidth", number, f"{unit}/s", place, text, direction=direction)
    return direction


def _block(text: str) -> str:
    """The block size of all directions; several behind commas where they differ."""
    sizes = {size for _, low, high in _BLOCKS.findall(text) for size in (low, high)}
    if not sizes and (old := _OLD_BLOCKS.fullmatch(text)) is not None:
        sizes = set(old.groups())
    found = {size.replace("iB", "").rstrip("B") for size in sizes}
    return ",".join(sorted(found))


_FORMATS = ((sniff_json, add_json), (sniff_terse, add_terse), (sniff_text, add_text))


def sniff_fio(head: str) -> bool:
    return any(sniff(head) for sniff, _ in _FORMATS)


def add_fio(making: Building, whole: str, name: str) -> None:
    add = next((add for sniff, add in _FORMATS if sniff(whole)), None)
    if add is not None:
        add(making, whole, name)


FIO = TableReader("fio", "a report of fio (JSON, terse or text), as a table", sniff_fio, add_fio)
