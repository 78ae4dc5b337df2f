"""What iostat prints of devices: every report is a round. Its kB and MB are 1024 and 1024² bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from raidtui.model.jsonio import read_json
from raidtui.model.table import MAX_TABLE_BYTES, Metric
from raidtui.results.imports.tables import Building, TableReader, exact, lines_of
from raidtui.results.places import named
from raidtui.results.published import read_number


class Column(NamedTuple):
    metric: Metric
    unit: str
    direction: str = ""
    statistic: str = ""
    of_the_unit: float = 1.0
    """What one of the printed unit is in the one it is stored in."""


_COLUMNS: Final[Mapping[str, Column]] = {
    "r/s": Column("iops", "IOPS", "read"), "w/s": Column("iops", "IOPS", "write"), "d/s": Column("iops", "IOPS", "trim"),
    "rkb/s": Column("bandwidth", "KiB/s", "read"), "wkb/s": Column("bandwidth", "KiB/s", "write"),
    "dkb/s": Column("bandwidth", "KiB/s", "trim"), "rmb/s": Column("bandwidth", "MiB/s", "read"),
    "wmb/s": Column("bandwidth", "MiB/s", "write"), "dmb/s": Column("bandwidth", "MiB/s", "trim"),
    "rrqm/s": Column("merges", "IOPS", "read"), "wrqm/s": Column("merges", "IOPS", "write"),
    "drqm/s": Column("merges", "IOPS", "trim"), "avgrq-sz": Column("request-size", "sectors"),
    "areq-sz": Column("request-size", "KiB"), "rareq-sz": Column("request-size", "KiB", "read"),
    "wareq-sz": Column("request-size", "KiB", "write"), "dareq-sz": Column("request-size", "KiB", "trim"),
    "avgqu-sz": Column("depth", "operations"), "aqu-sz": Column("depth", "operations"),
    "await": Column("latency", "ms", "", "mean"), "r_await": Column("latency", "ms", "read", "mean"),
    "w_await": Column("latency", "ms", "write", "mean"), "d_await": Column("latency", "ms", "trim", "mean"),
    "svctm": Column("service-time", "ms"), "%util": Column("utilisation", "%"), "util": Column("utilisation", "%"),
    "tps": Column("iops", "IOPS"), "kb_read/s": Column("bandwidth", "KiB/s", "read"),
    "kb_wrtn/s": Column("bandwidth", "KiB/s", "write"), "mb_read/s": Column("bandwidth", "MiB/s", "read"),
    "mb_wrtn/s": Column("bandwidth", "MiB/s", "write"), "kb_dscd/s": Column("bandwidth", "KiB/s", "trim"),
    "mb_dscd/s": Column("bandwidth", "MiB/s", "trim"), "kb/s": Column("bandwidth", "KiB/s"),
    "mb/s": Column("bandwidth", "MiB/s"), "rqm/s": Column("merges", "IOPS"),
    # Sectors and blocks of 512 bytes, of iostat before 12 where nobody asked for kB.
    "rsec/s": Column("bandwidth", "KiB/s", "read", "", 0.5), "wsec/s": Column("bandwidth", "KiB/s", "write", "", 0.5),
    "blk_read/s": Column("bandwidth", "KiB/s", "read", "", 0.5),
    "blk_wrtn/s": Column("bandwidth", "KiB/s", "write", "", 0.5),
}  # fmt: skip
_WORKLOAD: Final = "iostat"
_HEADING: Final = re.compile(r"Device:?\s+.*(?:tps|r/s|rrqm/s).*")


def sniff(text: str) -> bool:
    return '"sysstat"' in text[:400] or any(_HEADING.fullmatch(line.strip()) for line in text.splitlines()[:2000])


def add(making: Building, text: str, name: str) -> None:
    if text.lstrip().startswith("{"):
        _json(making, text, name)
        return
    columns: list[str] = []
    report = 0
    for number, line in enumerate(lines_of(text, name), 1):
        words = line.split()
        if _HEADING.fullmatch(line.strip()):
            columns, report = words[1:], report + 1
        elif not words:
            columns = []
        elif columns and len(words) == len(columns) + 1:
            for column, word in zip(columns, words[1:], strict=True):
                _figure(making, words[0], column, word, report, f"{name}:{number}")


def _figure(making: Building, device: str, heading: str, word: str, report: int, place: str) -> None:
    column, number = _COLUMNS.get(heading.lower()), read_number(word)
    if column is None or number is None:
        return
    if column.of_the_unit != 1.0:
        value = number.value * column.of_the_unit
        number, word = number._replace(value=value), f"{value:.{len(word.partition('.')[2])}f}"
    making.add(device, _WORKLOAD, column.metric, number, column.unit, place, word, round=report,
               direction=column.direction, statistic=column.statistic)  # fmt: skip


def _json(making: Building, text: str, name: str) -> None:
    with named(name):
        value = read_json(text.encode(), max_bytes=MAX_TABLE_BYTES)
    report = 0
    for host in _list(_get(_get(value, "sysstat"), "hosts")):
        making.head.setdefault("host", str(_get(host, "nodename") or ""))
        for one in _list(_get(host, "statistics")):
            report += 1
            for index, disk in enumerate(_list(_get(one, "disk"))):
                place = f"{name}: report {report}, disk[{index}]"
                for heading, found in disk.items() if isinstance(disk, dict) else ():
                    column = _COLUMNS.get(heading.lower())
                    if column is not None and isinstance(found, (int, float)):
                        device = str(_get(disk, "disk_device"))
                        making.add(device, _WORKLOAD, column.metric, exact(float(found)), column.unit, place, round=report,
                                   direction=column.direction, statistic=column.statistic)  # fmt: skip


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


READER = TableReader("iostat", "reports of iostat, as a table", sniff, add)
