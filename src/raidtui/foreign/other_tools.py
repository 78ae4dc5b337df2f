"""Output of dd, iostat, iozone and pg_test_fsync as tables.

dd: its summary in any language, and the command if the file contains it. iostat: every report is a round, but for the first
of several, which counts since boot; its kB and MB are 1024 and 1024² bytes. iozone: a row for each file and record size, a
column for each test; its kB are 1024 bytes. pg_test_fsync: operations per second of every way to make a write durable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from raidtui.foreign.labels import read_command
from raidtui.foreign.published import read_number
from raidtui.foreign.sources import Building, TableReader, exact, lines_of, stem
from raidtui.model.jsonio import read_json
from raidtui.model.table import MAX_TABLE_BYTES, Asked, Metric, Pattern
from raidtui.results.load import named

_WORD: Final = r"[^\W\d_]+"
_COPIED: Final = re.compile(
    rf"\s*(?:{_WORD} )?(\d+) ?{_WORD}(?: ?[(（][^()（）]*[)）] ?(?:{_WORD})?| {_WORD})(?: {_WORD})?[,，、] ?"
    r"([\d.,]+(?:e[-+]?\d+)?) ?(?:s(?:ec(?:onds)?)?|[сc秒])[,，、] ?([\d.,]+) ?([kKMG]?i?B)/[sсc秒]\s*"
)
"""`1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.1 s, 511 MB/s`."""
_TRANSFERRED: Final = re.compile(r"\s*(\d+) bytes transferred in ([\d.]+) secs? \((\d+) bytes/sec\)\s*")
_BUSYBOX: Final = re.compile(r".*\([\d.]+[kKMG]?B\) copied, [\d.]+ seconds, [\d.]+[kKMG]B/s\s*")
"""BusyBox writes no space before its units; they are 1024, 1024² and 1024³ bytes."""
_RECORDS: Final = re.compile(r"\s*\d+\+\d+ .*")
_COMMAND: Final = re.compile(r"(?:^|[\s#$>+])(dd (?=\S*=).*)$")
_NO_BREAK: Final = str.maketrans("\u00a0\u202f", "  ")
"""French and others have spaces in numbers and before units that do not break; the copied text is read with plain ones."""
_UNITS: Final = {"B": "B/s", "kB": "kB/s", "KB": "kB/s", "MB": "MB/s", "GB": "GB/s", "KiB": "KiB/s", "MiB": "MiB/s",
                 "GiB": "GiB/s"}  # fmt: skip


def sniff_dd(text: str) -> bool:
    lines = text.translate(_NO_BREAK).splitlines()[:2000]
    return any(_COPIED.fullmatch(line) or _TRANSFERRED.fullmatch(line) for line in lines)


def add_dd(making: Building, text: str, name: str) -> None:
    layout = making.layout(stem(name))
    command, command_place, count = "", "", 0
    lines = lines_of(text.translate(_NO_BREAK), name)
    on_the_way = _on_the_way(lines)
    for number, line in enumerate(lines, 1):
        place = f"{name}:{number}"
        if (shown := _COMMAND.search(line)) is not None:
            command, command_place = shown.group(1).strip(), place
        match = _COPIED.fullmatch(line) or _TRANSFERRED.fullmatch(line)
        if match is None or number - 1 in on_the_way:
            continue
        count += 1
        rate_unit = "B/s" if match.re is _TRANSFERRED else _UNITS.get(match.group(4), "")
        if _BUSYBOX.fullmatch(line):
            rate_unit = f"{match.group(4)[0].upper()}iB/s"
        done = read_command(command) if command else None
        asked = Asked(
            pattern=done.pattern if done else None, random=False, block_bytes=done.block_bytes if done else None,
            command=command[:4000], place=command_place,
        )  # fmt: skip
        workload = making.workload(f"dd {count}" if count > 1 else "dd", asked)
        making.printed((layout, workload), "amount", match.group(1), "B", place)
        # It groups no digits: a comma is the point of its language, also before three of them.
        seconds, rate = (text.replace(",", ".") for text in match.group(2, 3))
        making.printed((layout, workload), "time", seconds, "s", place)
        if rate_unit:
            making.printed((layout, workload), "bandwidth", rate, rate_unit, place)
        command = ""


def _on_the_way(lines: list[str]) -> set[int]:
    """Lines of status=progress: records are counted behind them, and not before them."""
    found: set[int] = set()
    waiting: set[int] = set()
    counted = False
    for index, line in enumerate(lines):
        if _COMMAND.search(line):
            waiting, counted = set(), False
        elif _COPIED.fullmatch(line) or _TRANSFERRED.fullmatch(line):
            waiting = set() if counted else waiting | {index}
            counted = False
        elif _RECORDS.fullmatch(line):
            counted = True
            found |= waiting
        elif line.strip():
            waiting = set()  # what stood before other words was the end of a run
    return found


DD = TableReader("dd", "what dd says at its end, as a table", sniff_dd, add_dd)


class Column(NamedTuple):
    metric: Metric
    unit: str
    direction: str = ""
    statistic: str = ""
    of_the_unit: float = 1.0
    """Factor from the printed unit to the stored one."""


_OF_A_DIRECTION: Final[tuple[tuple[str, Metric, str, str], ...]] = (
    ("{}/s", "iops", "IOPS", ""), ("{}kb/s", "bandwidth", "KiB/s", ""), ("{}mb/s", "bandwidth", "MiB/s", ""),
    ("{}rqm/s", "merges", "IOPS", ""), ("{}areq-sz", "request-size", "KiB", ""), ("{}_await", "latency", "ms", "mean"),
)  # fmt: skip
"""Headings behind the letter of a direction, with metric, unit and statistic."""
_COLUMNS: Final[Mapping[str, Column]] = {
    **{heading.format(letter): Column(metric, unit, direction, statistic)
       for letter, direction in (("r", "read"), ("w", "write"), ("d", "trim"))
       for heading, metric, unit, statistic in _OF_A_DIRECTION},
    **{f"{letter}b_{word}/s": Column("bandwidth", unit, direction)
       for word, direction in (("read", "read"), ("wrtn", "write"), ("dscd", "trim"))
       for letter, unit in (("k", "KiB/s"), ("m", "MiB/s"))},
    # Sectors and blocks of 512 bytes, of iostat before 12 without -k.
    **{heading: Column("bandwidth", "KiB/s", direction, of_the_unit=0.5)
       for direction, headings in (("read", ("rsec/s", "blk_read/s")), ("write", ("wsec/s", "blk_wrtn/s")))
       for heading in headings},
    "tps": Column("iops", "IOPS"), "kb/s": Column("bandwidth", "KiB/s"), "mb/s": Column("bandwidth", "MiB/s"),
    "rqm/s": Column("merges", "IOPS"), "await": Column("latency", "ms", "", "mean"), "svctm": Column("service-time", "ms"),
    "avgrq-sz": Column("request-size", "sectors"), "areq-sz": Column("request-size", "KiB"),
    "avgqu-sz": Column("depth", "operations"), "aqu-sz": Column("depth", "operations"),
    "%util": Column("utilisation", "%"), "util": Column("utilisation", "%"),
}  # fmt: skip
_WORKLOAD: Final = "iostat"
_BANNER: Final = re.compile(r"Linux \S+ \(")
"""The first line of iostat's output."""
_HEADING: Final = re.compile(r"Device:?\s+.*(?:tps|r/s|rrqm/s).*|(?:tps|[rwdf]/s|%util|aqu-sz)\s.*\sDevice")
"""With -h the name of the device stands behind its numbers, and those of -x in several tables."""
_FIRST_OF_REPORT: Final = re.compile(r"Device.*|(?:tps|r/s)\s.*")
_HUMAN: Final = re.compile(r"([\d.,]+)([kMGTP%])")
_HUMAN_UNITS: Final = {"k": "KiB", "M": "MiB", "G": "GiB", "T": "TiB"}
"""Units of -h, whatever the heading says. A rate above GiB/s is not counted in TiB/s here."""


def sniff_iostat(text: str) -> bool:
    return '"sysstat"' in text[:400] or any(_HEADING.fullmatch(line.strip()) for line in text.splitlines()[:2000])


def add_iostat(making: Building, text: str, name: str) -> None:
    if text.lstrip().startswith("{"):
        _json(making, text, name)
        return
    columns: list[str] = []
    behind = False
    lines = lines_of(text, name)
    several = sum(_begins_report(line) for line in lines) > 1
    report = 0
    if several and any(_BANNER.match(line) for line in lines):
        _note_since_boot(making, name)
        report = -1
    for number, line in enumerate(lines, 1):
        words = line.split()
        if _HEADING.fullmatch(line.strip()):
            behind = words[-1] == "Device"
            columns, report = words[:-1] if behind else words[1:], report + _begins_report(line)
        elif not words:
            columns = []
        elif columns and report > 0 and len(words) == len(columns) + 1:
            device, values = (words[-1], words[:-1]) if behind else (words[0], words[1:])
            for column, word in zip(columns, values, strict=True):
                _figure(making, device, column, word, report, f"{name}:{number}")


def _begins_report(line: str) -> bool:
    return _HEADING.fullmatch(line.strip()) is not None and _FIRST_OF_REPORT.fullmatch(line.strip()) is not None


def _note_since_boot(making: Building, name: str) -> None:
    """Note that the first report is left out."""
    making.note(f"{name}: the first report counts since boot and is left out; a run with -y has no such report, and loses "
                "an interval here")  # fmt: skip


def _figure(making: Building, device: str, heading: str, word: str, report: int, place: str) -> None:
    column, human = _COLUMNS.get(heading.lower()), _HUMAN.fullmatch(word)
    number = read_number(human[1] if human is not None else word)
    if column is None or number is None:
        return
    if human is not None:
        word = human[1].replace(",", ".")
        unit = f"{_HUMAN_UNITS.get(human[2], '')}{'/s' if column.unit.endswith('/s') else ''}"
        if unit == "TiB/s":
            number, word, unit = number._replace(value=number.value * 1024), "", "GiB/s"
        column = column._replace(unit=column.unit if human[2] == "%" else unit)
    if column.of_the_unit != 1.0:
        value = number.value * column.of_the_unit
        number, word = number._replace(value=value), f"{value:.{len(word.partition('.')[2])}f}"
    making.add(device, _WORKLOAD, column.metric, number, column.unit, place, word, round=report,
               direction=column.direction, statistic=column.statistic)  # fmt: skip


def _json(making: Building, text: str, name: str) -> None:
    with named(name):
        value = read_json(text.encode(), max_bytes=MAX_TABLE_BYTES)
    for host in _list(_get(_get(value, "sysstat"), "hosts")):
        making.head.setdefault("host", str(_get(host, "nodename") or ""))
        reports = _list(_get(host, "statistics"))
        several = len(reports) > 1
        if several:
            _note_since_boot(making, name)
        for number, one in list(enumerate(reports, 1))[several:]:
            report = number - several
            for index, disk in enumerate(_list(_get(one, "disk"))):
                place = f"{name}: report {number}, disk[{index}]"
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


IOSTAT = TableReader("iostat", "reports of iostat, as a table", sniff_iostat, add_iostat)
_TESTS: Final[tuple[tuple[str, Pattern, bool], ...]] = (
    ("write", "write", False), ("rewrite", "write", False), ("read", "read", False), ("reread", "read", False),
    ("random read", "read", True), ("random write", "write", True), ("backward read", "read", False),
    ("record rewrite", "write", False), ("stride read", "read", False), ("fwrite", "write", False),
    ("frewrite", "write", False), ("fread", "read", False), ("freread", "read", False),
)  # fmt: skip
"""The columns behind size and record length, in iozone's own order."""
_IOZONE_HEADING: Final = re.compile(r"\s*(?:kB|KB)\s+reclen\s+write\s+rewrite\b.*")
_ROW: Final = re.compile(r"\s*\d+\s+\d+(?:\s+\d+)+\s*")
_IOZONE_COMMAND: Final = re.compile(r"\s*Command line used:\s*(.*)")
_NEAR: Final = 2
_METRICS: Final[dict[str, tuple[Metric, str]]] = {"IOPS": ("iops", ""), "us": ("latency", "mean")}
"""Metrics by the unit that -O and -N select."""


def sniff_iozone(text: str) -> bool:
    return any(_IOZONE_HEADING.fullmatch(line) for line in text.splitlines()[:2000])


def add_iozone(making: Building, text: str, name: str) -> None:
    layout = making.layout(stem(name))
    ends: list[int] = []
    command, unit = Asked(), "KiB/s"
    for number, line in enumerate(lines_of(text, name), 1):
        if (shown := _IOZONE_COMMAND.fullmatch(line)) is not None:
            command = Asked(command=shown.group(1).strip()[:4000], place=f"{name}:{number}")
        elif "operations per second" in line.lower():
            unit = "IOPS"
        elif "microseconds per operation" in line.lower():
            unit = "us"
        elif _IOZONE_HEADING.fullmatch(line):
            ends = [match.end() for match in re.finditer(r"\S+", line)]
        elif ends and _ROW.fullmatch(line):
            _row(making, layout, line, ends, unit, command, f"{name}:{number}")


def _row(making: Building, layout: str, line: str, ends: list[int], unit: str, shown: Asked, place: str) -> None:
    cells = list(re.finditer(r"\d+", line))
    size_kib, record_kib = int(cells[0].group()), int(cells[1].group())
    values = cells[2:]
    in_order = len(values) == len(ends) - 2
    for index, cell in enumerate(values):
        # Columns of tests that were not run are blank: the number stands where its heading ends.
        column = index if in_order else min(range(2, len(ends)), key=lambda i: abs(ends[i] - cell.end())) - 2
        if column >= len(_TESTS) or (not in_order and abs(ends[column + 2] - cell.end()) > _NEAR):
            continue
        test, pattern, random = _TESTS[column]
        block = record_kib * 1024 or None
        workload = making.workload(
            f"{test} {record_kib} KiB of {size_kib} KiB",
            msgspec.structs.replace(shown, pattern=pattern, random=random, block_bytes=block, iodepth=1),
        )
        metric, statistic = _METRICS.get(unit, ("bandwidth", ""))
        making.printed((layout, workload), metric, cell.group(), unit, place, statistic=statistic)


IOZONE = TableReader("iozone", "iozone's table, as a table", sniff_iozone, add_iozone)
_SECTIONS: Final = (
    ("Compare file sync methods using one", "one write", 1),
    ("Compare file sync methods using two", "two writes", 2),
    ("Compare open_sync with different", "open_sync", 0),
    ("Test if fsync on non-write", "other descriptor", 1),
    ("Non-", "not durable", 1),
)
"""Headings of the sections, their names here, and the number of 8 kB writes of an operation; 0 if the row gives it."""
_PG_TEST_FSYNC_ROW: Final = re.compile(r"\s*(\S.*?)\s+([\d.]+)\s+ops/sec\s+([\d.]+)\s+usecs/op\s*")
_WRITES: Final = re.compile(r"(\d+)\s*\*\s*(\d+)kB")
_BLOCK_BYTES: Final = 8192


def sniff_pg_test_fsync(text: str) -> bool:
    return "ops/sec" in text and "usecs/op" in text and "sync methods" in text


def add_pg_test_fsync(making: Building, text: str, name: str) -> None:
    section, writes = "", 1
    layout = making.layout(stem(name))
    for number, line in enumerate(lines_of(text, name), 1):
        for beginning, title, count in _SECTIONS:
            if line.startswith(beginning):
                section, writes = title, count
        if (match := _PG_TEST_FSYNC_ROW.fullmatch(line)) is None or not section:
            continue
        row, operations, us = match.groups()
        sizes = _WRITES.search(row)
        moved = int(sizes.group(1)) * int(sizes.group(2)) * 1024 if sizes else writes * _BLOCK_BYTES
        label = f"{section}: {' '.join(row.split())}"
        workload = making.workload(label, Asked(pattern="write", block_bytes=moved, iodepth=1, command="pg_test_fsync"))
        place = f"{name}:{number}"
        making.printed((layout, workload), "iops", operations, "IOPS", place)
        making.printed((layout, workload), "latency", us, "us", place, statistic="mean")


PG_TEST_FSYNC = TableReader("pg_test_fsync", "output of pg_test_fsync, as a table", sniff_pg_test_fsync, add_pg_test_fsync)
