"""Result text of HCIBench with vdbench (`*-res.txt`): one test of all its virtual machines together.

Its MB/s are the sum of vdbench's, which are 1024² bytes. Results with fio have other lines and are not read.
"""

from __future__ import annotations

import re
from typing import Final

from raidtui.foreign.labels import read_label
from raidtui.foreign.sources import Building, TableReader, lines_of, stem, unreadable
from raidtui.model.table import Asked, Metric

_BEGIN: Final = re.compile(r"Run Def:\s+(.*?)\s*")
_DATASTORE: Final = re.compile(r"Datastore:\s+(.*?)\s*")
_LINE: Final = re.compile(r"([A-Za-z0-9_%]+)\s*= (\d{1,30}(?:\.\d{1,30})?)(?: (IO/[sS]|MB/s|ms))?\s*")
_END: Final = re.compile(r"={20,}\s*")
_WANTED: Final[dict[str, tuple[Metric, str, str]]] = {
    "IOPS": ("iops", "IOPS", ""), "THROUGHPUT": ("bandwidth", "MiB/s", ""), "LATENCY": ("latency", "ms", ""),
    "R_LATENCY": ("latency", "ms", "read"), "W_LATENCY": ("latency", "ms", "write"),
}  # fmt: skip


def sniff(text: str) -> bool:
    lines = text.splitlines()[:2000]
    return any(map(_BEGIN.fullmatch, lines)) and any(re.match(r"THROUGHPUT\s*= [\d.]+ MB/s", line) for line in lines)


def add(making: Building, text: str, name: str) -> None:
    layout, run, machines, begun = stem(name), "", "", 0
    found: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(lines_of(text, name), 1):
        if (datastore := _DATASTORE.fullmatch(line)) is not None:
            layout = datastore[1] or layout
        elif (start := _BEGIN.fullmatch(line)) is not None:
            run, begun, found = start[1], number, {}
        elif begun and (match := _LINE.fullmatch(line)) is not None:
            machines = match[2] if match[1] == "VMs" else machines
            found[match[1]] = match[2], f"{name}:{number}"
        elif begun and _END.fullmatch(line):
            if missing := [word for word in _WANTED if word not in found]:
                raise unreadable(f"{name}:{begun}", f"the result has no {', '.join(missing)}", "The file may be cut off.")
            said = read_label(run)
            asked = Asked(pattern=said.pattern, block_bytes=said.block_bytes, read_percent=said.read_percent)
            key = making.workload(f"{run} {machines} VMs", asked)
            for word, (metric, unit, direction) in _WANTED.items():
                value, place = found[word]
                statistic = "mean" if metric == "latency" else ""
                if metric != "latency" or float(value):
                    making.printed((making.layout(layout), key), metric, value, unit, place, direction=direction,
                                   statistic=statistic)  # fmt: skip
            begun = 0
    if begun:
        raise unreadable(f"{name}:{begun}", "the result that begins here has no end", "The file may be cut off.")


HCIBENCH = TableReader("hcibench", "a result of HCIBench with vdbench, as a table", sniff, add)
