"""Output of `zpool iostat`, also with -v, -l, -p and -H: every report is a round; the first of several is since the import.

Its K, M and G are 1024, 1024² and 1024³, of operations as of bytes. Without headings
(-H) the columns are those of the default, or of -l.
"""

from __future__ import annotations

import re
from typing import Final

from raidtui.foreign.published import Published, read_number
from raidtui.foreign.sources import Building, TableReader, lines_of, unreadable
from raidtui.model.table import Asked

_HEADING: Final = re.compile(r"(?:pool|vdev)\s+alloc\s+free\s+read\s+write\s+read\s+write((?:\s+(?:read|write|wait))*)\s*")
_RULE: Final = re.compile(r"-{2,}(?:\s+-+)+\s*")
_SIZE: Final = re.compile(r"(\d{1,30}(?:\.\d{1,30})?)([BKMGTPE]?)")
_TIME: Final = re.compile(r"(\d{1,30}(?:\.\d{1,30})?)(ns|us|ms|s)?")
_FACTORS: Final = {"": 1, "B": 1, **{letter: 1024 ** (power + 1) for power, letter in enumerate("KMGTPE")}}
_PLAIN, _LATENCIES = 7, 15
"""Columns without and with -l; scrub, trim and rebuild waits follow, by version."""
_BARE: Final = re.compile(r"\S+(?:\t(?:-|[\d.]+[BKMGTPE]?)){6}(?:\t(?:-|[\d.]+(?:[num]?s)?)){0,14}")
_NOT_SEEN: Final = ("mirror", "raidz", "draid", "logs", "cache", "special", "dedup", "spares")


def sniff(text: str) -> bool:
    lines = [line.rstrip() for line in text.splitlines()[:2000]]
    if any(_HEADING.fullmatch(line.strip()) for line in lines):
        return True
    said = [line for line in lines if line]
    return bool(said) and all(map(_BARE.fullmatch, said))


def add(making: Building, text: str, name: str) -> None:
    lines = [line.rstrip() for line in lines_of(text, name)]
    headed = any(_HEADING.fullmatch(line.strip()) for line in lines)
    exact = not any(re.search(r"\d[BKMGTPE](?:\s|$)", line) for line in lines)
    seen: dict[str, int] = {}
    columns = 0
    rows: list[tuple[str, list[str], int, int]] = []
    parents: list[str] = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if (heading := _HEADING.fullmatch(line.strip())) is not None:
            columns = _PLAIN + len(heading[1].split())
            continue
        if not words or _RULE.fullmatch(line.strip()) or (headed and not columns) or words[0] == "capacity":
            continue
        if len(words) < (columns or _PLAIN):
            if len(words) == 1 and words[0] in _NOT_SEEN:
                continue
            message = f"the row has {len(words)} columns, its heading {columns or _PLAIN}"
            raise unreadable(f"{name}:{number}", message, "The output may be cut off.")
        depth = (len(line) - len(line.lstrip())) // 2
        parents = [*parents[:depth], words[0]]
        device = " ".join(parents)
        seen[device] = seen.get(device, 0) + 1
        rows.append((device, words, seen[device], number))
    several = max(seen.values(), default=0) > 1
    if several:
        making.note(f"{name}: the first report is since the import of the pool and is left out; a run with -y has no such "
                    "report, and loses an interval here")  # fmt: skip
    for device, words, report, number in rows:
        if report > several:
            _row(making, device, words, report - several, f"{name}:{number}", exact=exact)


def _row(making: Building, device: str, words: list[str], report: int, place: str, *, exact: bool) -> None:
    cell = making.layout(device), making.workload("zpool iostat", Asked())
    for direction, at in (("read", 3), ("write", 4)):
        if (count := _scaled(words[at])) is not None:
            making.add(*cell, "iops", count, "IOPS", place, "", direction=direction, round=report)
        if (rate := _SIZE.fullmatch(words[at + 2])) is not None:
            making.printed(cell, "bandwidth", *_in_unit(rate[1], rate[2]), place, direction=direction, round=report)
        if len(words) >= _LATENCIES and (wait := _TIME.fullmatch(words[at + 4])) is not None:
            unit = wait[2] or "ns"
            if wait[2] or exact:
                making.printed(cell, "latency", wait[1], unit, place, direction=direction, statistic="mean", round=report)


def _in_unit(text: str, letter: str) -> tuple[str, str]:
    """Return number and unit of a rate; more than GiB/s are counted in these."""
    if letter in "TPE" and letter:
        return f"{float(text) * 1024 ** ('TPE'.index(letter) + 1):.0f}", "GiB/s"
    return text, f"{letter}iB/s" if letter not in ("", "B") else "B/s"


def _scaled(word: str) -> Published | None:
    """Return the number of `1.2M`; None for a dash."""
    match = _SIZE.fullmatch(word)
    number = read_number(match[1]) if match is not None else None
    if match is None or number is None:
        return None
    factor = _FACTORS[match[2]]
    return number._replace(value=number.value * factor, half_step=number.half_step * factor)


ZPOOL_IOSTAT = TableReader("zpool-iostat", "output of zpool iostat, as a table", sniff, add)
