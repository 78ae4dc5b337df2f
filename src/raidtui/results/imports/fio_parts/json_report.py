"""fio's JSON and json+ reports. With --status-interval there are several; the last whole one counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from raidtui.model.jsonio import read_json
from raidtui.model.table import MAX_TABLE_BYTES
from raidtui.results.imports.fio_parts.asked import asked_of, own_name
from raidtui.results.imports.tables import Building, exact, stem, unreadable
from raidtui.results.places import named

_STRING_OR_BRACE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_KIB_PER_S: Final = 1024.0
_SAME: Final = 0.001
_DIRECTIONS: Final[Mapping[str, Literal["read", "write", "trim", ""]]] = {
    "read": "read", "write": "write", "trim": "trim", "mixed": "",
}  # fmt: skip
"""What it counts over all of them (unified_rw_reporting) is of no direction."""
_PERCENTILES: Final[tuple[tuple[str, Literal["p50", "p99", "p99.9"]], ...]] = (
    ("50.000000", "p50"), ("99.000000", "p99"), ("99.900000", "p99.9"),
)  # fmt: skip


def sniff(text: str) -> bool:
    start = text.find("{")
    return start >= 0 and '"fio version"' in text[start : start + 4000]


def add(making: Building, text: str, name: str) -> None:
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
        workload = own_name(making, layout, str(job.get("jobname", index)))
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
    """In ns: the mean of the whole latency, percentiles of the completion latency. fio 2 counted µs."""
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
