"""What dd says at its end, in any language: how much, how long, how fast; and the command, where the file shows it."""

from __future__ import annotations

import re
from typing import Final

from raidtui.model.table import Asked
from raidtui.results.imports.tables import Building, TableReader, lines_of, stem
from raidtui.results.labels import read_command
from raidtui.results.published import read_number

_WORD: Final = r"[^\W\d_]+"
_COPIED: Final = re.compile(
    rf"\s*(?:{_WORD} )?(\d+) ?{_WORD}(?: ?[(（][^()（）]*[)）] ?(?:{_WORD})?| {_WORD})(?: {_WORD})?[,，、] ?"
    r"([\d.,]+(?:e[-+]?\d+)?) ?(?:s(?:ec(?:onds)?)?|[сc秒])[,，、] ?([\d.,]+) ?([kKMG]?i?B)/[sсc秒]\s*"
)
"""`1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.1 s, 511 MB/s`."""
_TRANSFERRED: Final = re.compile(r"\s*(\d+) bytes transferred in ([\d.]+) secs? \((\d+) bytes/sec\)\s*")
_BUSYBOX: Final = re.compile(r".*\([\d.]+[kKMG]?B\) copied, [\d.]+ seconds, [\d.]+[kKMG]B/s\s*")
"""It puts no space before its units, and they are 1024, 1024² and 1024³ bytes."""
_RECORDS: Final = re.compile(r"\s*\d+\+\d+ .*")
_COMMAND: Final = re.compile(r"(?:^|[\s#$>+])(dd (?=\S*=).*)$")
_UNITS: Final = {"B": "B/s", "kB": "kB/s", "KB": "kB/s", "MB": "MB/s", "GB": "GB/s", "KiB": "KiB/s", "MiB": "MiB/s",
                 "GiB": "GiB/s"}  # fmt: skip


def sniff(text: str) -> bool:
    return any(_COPIED.fullmatch(line) or _TRANSFERRED.fullmatch(line) for line in text.splitlines()[:2000])


def add(making: Building, text: str, name: str) -> None:
    layout = making.layout(stem(name))
    command, command_place, count = "", "", 0
    lines = lines_of(text, name)
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
        making.add(layout, workload, "amount", read_number(match.group(1)), "B", place, match.group(1))
        # It groups no digits: a comma is the point of its language, also before three of them.
        seconds, rate = (text.replace(",", ".") for text in match.group(2, 3))
        making.add(layout, workload, "time", read_number(seconds), "s", place, seconds)
        if rate_unit:
            making.add(layout, workload, "bandwidth", read_number(rate), rate_unit, place, rate)
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


READER = TableReader("dd", "what dd says at its end, as a table", sniff, add)
