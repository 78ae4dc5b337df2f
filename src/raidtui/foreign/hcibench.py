"""Result text of HCIBench (`*-res.txt`): a test by vdbench, or jobs of fio, of all its virtual machines together.

MB/s of vdbench are 1024² bytes. Those of fio are cut to whole ones of 1000 × 1024 or 1024² bytes: 26,833.38 operations of
4 KiB were 107.00 MB/s. They are not read. Source: parseFioResult.rb and parseVdbResult.rb of HCIBench.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from raidtui.foreign.labels import read_label
from raidtui.foreign.sources import Building, TableReader, lines_of, stem, unreadable
from raidtui.model.table import Asked, Metric

_BEGIN: Final = re.compile(r"Run Def:\s+(.*?)\s*")
_JOB: Final = re.compile(r"JOB_NAME\s*= (.*?)\s*")
_DATASTORE: Final = re.compile(r"Datastore:\s+(.*?)\s*")
_LINE: Final = re.compile(r"([A-Za-z0-9_%]+)\s*= (\d{1,30}(?:\.\d{1,30})?)(?: (IO/[sS]|MB/s|ms))?\s*")
_END: Final = re.compile(r"={20,}\s*")
_WANTED: Final[dict[str, tuple[Metric, str, str]]] = {
    "IOPS": ("iops", "IOPS", ""), "THROUGHPUT": ("bandwidth", "MiB/s", ""), "LATENCY": ("latency", "ms", ""),
    "R_LATENCY": ("latency", "ms", "read"), "W_LATENCY": ("latency", "ms", "write"),
}  # fmt: skip


_OF_FIO: Final = tuple(word for word in _WANTED if word not in ("LATENCY", "THROUGHPUT"))


def sniff(text: str) -> bool:
    lines = text.splitlines()[:2000]
    begins = any(_BEGIN.fullmatch(line) or _JOB.fullmatch(line) for line in lines)
    return begins and any(re.match(r"THROUGHPUT\s*= [\d.]+ MB/s", line) for line in lines)


def add(making: Building, text: str, name: str) -> None:
    layout, run, machines, begun, wanted = stem(name), "", "", 0, tuple(_WANTED)
    found: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(lines_of(text, name), 1):
        if (datastore := _DATASTORE.fullmatch(line)) is not None:
            layout = datastore[1] or layout
        elif (start := _BEGIN.fullmatch(line) or _JOB.fullmatch(line)) is not None:
            run, begun, found = start[1], number, {}
            wanted = _OF_FIO if start.re is _JOB else tuple(_WANTED)
        elif begun and (match := _LINE.fullmatch(line)) is not None:
            machines = match[2] if match[1] == "VMs" else machines
            found[match[1]] = match[2], f"{name}:{number}"
        elif begun and _END.fullmatch(line):
            if missing := [word for word in wanted if word not in found]:
                raise unreadable(f"{name}:{begun}", f"the result has no {', '.join(missing)}", "The file may be cut off.")
            _finish(making, layout, f"{run} {machines} VMs", {word: found[word] for word in wanted})
            begun = 0
    if begun:
        raise unreadable(f"{name}:{begun}", "the result that begins here has no end", "The file may be cut off.")
    if wanted == _OF_FIO:
        making.note(f"{name}: HCIBench cuts THROUGHPUT of fio to whole MB/s of 1000 × 1024 or 1024² bytes; not read.")


def _finish(making: Building, layout: str, run: str, found: Mapping[str, tuple[str, str]]) -> None:
    said = read_label(run)
    asked = Asked(pattern=said.pattern, block_bytes=said.block_bytes, read_percent=said.read_percent)
    layout = making.layout(layout)
    times = making.jobs[layout, run] = making.jobs.get((layout, run), 0) + 1
    if times > 1:  # one text of several results: of what they differ, it does not say
        run = f"{run} #{times}"
    key = making.workload(run, asked)
    for word, (value, place) in found.items():
        metric, unit, direction = _WANTED[word]
        if metric != "latency" or float(value):
            making.printed((layout, key), metric, value, unit, place, direction=direction,
                           statistic="mean" if metric == "latency" else "")  # fmt: skip


HCIBENCH = TableReader("hcibench", "a result of HCIBench with vdbench or fio, as a table", sniff, add)
