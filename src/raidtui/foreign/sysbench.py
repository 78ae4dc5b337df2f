"""Output of `sysbench fileio run`, versions 0.4 to 1.1. Its MiB are 2²⁰ bytes; so are the Mb of 0.4.

A test of 1.1 ends with the sum of its latencies, one of older versions with its execution times.
"""

from __future__ import annotations

import re
from typing import Final

from raidtui.foreign.labels import size_bytes
from raidtui.foreign.sources import Building, TableReader, lines_of, stem, unreadable
from raidtui.model.problem import ProblemError
from raidtui.model.table import Asked, Pattern

_MODES: Final[dict[str, tuple[str, Pattern, bool]]] = {
    "sequential write (creation)": ("seqwr", "write", False), "sequential rewrite": ("seqrewr", "write", False),
    "sequential read": ("seqrd", "read", False), "random read": ("rndrd", "read", True),
    "random write": ("rndwr", "write", True), "random r/w": ("rndrw", "mixed", True),
}  # fmt: skip
_MODE: Final = re.compile(rf"\s*Doing ({'|'.join(map(re.escape, _MODES))}) test\s*")
_FACTS: Final = {
    "threads": re.compile(r"\s*Number of threads: (\d{1,9})\s*"),
    "block": re.compile(r"\s*Block size (\d+[KM]?)i?b?B?\s*", re.I),
    "ratio": re.compile(r"\s*Read/Write ratio for combined random IO test: (\d{1,30}(?:\.\d{1,30})?)\s*"),
    "fsync": re.compile(r"\s*Periodic FSYNC enabled, calling fsync\(\) each (\d{1,9}) requests\.\s*"),
}  # fmt: skip
_NUMBER: Final = r"(\d{1,30}(?:\.\d{1,30})?)"
_RATES: Final = {
    "read iops": re.compile(rf"\s*reads/s:\s+{_NUMBER}\s*"), "write iops": re.compile(rf"\s*writes/s:\s+{_NUMBER}\s*"),
    "fsyncs": re.compile(rf"\s*fsyncs/s:\s+{_NUMBER}\s*"), "read bandwidth": re.compile(rf"\s*read, MiB/s:\s+{_NUMBER}\s*"),
    "write bandwidth": re.compile(rf"\s*written, MiB/s:\s+{_NUMBER}\s*"),
    "latency": re.compile(rf"\s*avg:\s+{_NUMBER}(?:ms)?\s*"),
}  # fmt: skip
_NEWER_RATE: Final = re.compile(rf"\s*(read|write): +IOPS={_NUMBER} {_NUMBER} MiB/s \({_NUMBER} MB/s\)\s*")
_NEWER_FSYNCS: Final = re.compile(rf"\s*fsync: IOPS={_NUMBER}\s*")
_SUM: Final = re.compile(rf"\s*sum:\s+{_NUMBER}\s*")
_OLDER_RATE: Final = re.compile(r"\s*Read .*Total transferred .*\((\d{1,30}(?:\.\d{1,30})?)([KMG])b/sec\)\s*")
_OLDER_OPERATIONS: Final = re.compile(r"\s*(\d{1,30}(?:\.\d{1,30})?) Requests/sec executed\s*")


def sniff(text: str) -> bool:
    return any(map(_MODE.fullmatch, text.splitlines()[:2000])) and "Number of threads:" in text


def add(making: Building, text: str, name: str) -> None:
    layout = making.layout(stem(name))
    run: dict[str, tuple[str, str]] = {}
    options: dict[str, str] = {}
    begun, newer = 0, False
    for number, line in enumerate(lines_of(text, name), 1):
        place = f"{name}:{number}"
        if _FACTS["threads"].fullmatch(line):
            if begun:
                raise _cut(name, begun)
            run, options = {}, {}
        for word, pattern in _FACTS.items():
            if (match := pattern.fullmatch(line)) is not None:
                options[word] = match[1]
        if (mode := _MODE.fullmatch(line)) is not None:
            if begun:
                raise _cut(name, begun)
            options["mode"], begun, newer = mode[1], number, False
        if begun:
            _collect(run, line, place)
        newer = newer or _NEWER_FSYNCS.fullmatch(line) is not None
        if begun and (line.lstrip().startswith("execution time (avg/stddev):") or (newer and _SUM.fullmatch(line))):
            _finish(making, layout, options, run, f"{name}:{begun}")
            begun = 0
    if begun:
        raise _cut(name, begun)


def _cut(name: str, line: int) -> ProblemError:
    message = "the test that begins here has no end: 'Threads fairness' (in 1.1 the sum of latencies) is missing"
    return unreadable(f"{name}:{line}", message, "Run it again.")


def _collect(run: dict[str, tuple[str, str]], line: str, place: str) -> None:
    for word, pattern in _RATES.items():
        if (match := pattern.fullmatch(line)) is not None:
            run.setdefault(word, (match[1], place))
    if (rate := _NEWER_RATE.fullmatch(line)) is not None:
        run[f"{rate[1]} iops"], run[f"{rate[1]} bandwidth"] = (rate[2], place), (rate[3], place)
    if (fsyncs := _NEWER_FSYNCS.fullmatch(line)) is not None:
        run["fsyncs"] = fsyncs[1], place
    if (older := _OLDER_RATE.fullmatch(line)) is not None:
        run[f"all bandwidth {older[2]}iB/s"] = older[1], place
    if (operations := _OLDER_OPERATIONS.fullmatch(line)) is not None:
        run["all iops"] = operations[1], place


def _finish(
    making: Building, layout: str, options: dict[str, str], run: dict[str, tuple[str, str]], place: str
) -> None:
    short, pattern, random = _MODES[options["mode"]]
    block, threads, fsync = options.get("block", ""), options.get("threads", "1"), options.get("fsync", "")
    ratio = float(options.get("ratio", "1.5"))
    label = f"sysbench {short} {block} {threads} threads{f' fsync {fsync}' if fsync and pattern != 'read' else ''}"
    asked = Asked(
        pattern=pattern, random=random, block_bytes=size_bytes(block), numjobs=int(threads), iodepth=1,
        read_percent=round(100 * ratio / (1 + ratio), 2) if pattern == "mixed" else None,
        fsync=int(fsync) if fsync and pattern != "read" else None, place=place,
    )  # fmt: skip
    cell = layout, making.workload(label, asked)
    for word, (text, where) in run.items():
        direction, _, rest = word.partition(" ")
        metric, _, unit = rest.partition(" ")
        if metric in ("iops", "bandwidth") and float(text):
            told = direction if direction in ("read", "write") else ""
            making.printed(cell, "iops" if metric == "iops" else "bandwidth", text,
                           "IOPS" if metric == "iops" else unit or "MiB/s", where, direction=told)  # fmt: skip
    flushes = float(run.get("fsyncs", ("0", ""))[0])
    if "latency" in run and not flushes:
        making.printed(cell, "latency", run["latency"][0], "ms", run["latency"][1], statistic="mean")
    elif flushes:
        making.note(f"{place}: sysbench's latency is over operations and fsyncs together; it was not read.")


SYSBENCH = TableReader("sysbench", "output of sysbench fileio run, as a table", sniff, add)
