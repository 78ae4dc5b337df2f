"""Reports of CrystalDiskMark and KDiskMark as text: a row for each test, with MB/s, operations and latency.

CrystalDiskMark's MB are 10⁶ bytes. KDiskMark divides fio's KiB/s by 1000 and calls the result MB/s: 542.516 MB/s are
542,516 KiB/s, as its own operations beside them confirm.
"""

from __future__ import annotations

import re
from typing import Final

from raidtui.foreign.published import read_number
from raidtui.foreign.sources import Building, TableReader, lines_of, stem, unreadable
from raidtui.model.table import Asked, Pattern

_QUOTED: Final = re.compile(r"^[>\s]*(?:> ?)?")
_CRYSTAL: Final = re.compile(r"\s*CrystalDiskMark \d+\.\d+.*")
_K: Final = re.compile(r"\s*KDiskMark \([\d.]+\): https://.*")
_MB: Final = re.compile(r"\s*\* MB/s = 1,000,000 bytes/s.*")
_SECTION: Final = re.compile(r"\s*\[(Read|Write|Mix)\](?: Read (\d{1,3})%/Write (\d{1,3})%)?\s*")
_TEST: Final = re.compile(
    r"\s*(?P<access>SEQ|RND|Sequential|Random)\s*(?P<size>\d{1,6}) ?(?P<unit>[KM])i?B"
    r" \(Q= *(?P<depth>\d{1,6}), *T= *(?P<jobs>\d{1,6})\) ?:"
    r" *(?P<rate>\d{1,30}(?:\.\d{1,30})?) MB/s"
    r" \[ *(?P<iops>\d{1,30}(?:\.\d{1,30})?) IOPS\](?: *< *(?P<us>\d{1,30}(?:\.\d{1,30})?) us>)?\s*"
)
_BEGUN: Final = re.compile(r"\s*(?:SEQ|RND|Sequential|Random)\s+\d+ ?[KM].*")
_END: Final = re.compile(r"\s*(?:Date|OS) ?: .*")
_PATTERNS: Final[dict[str, Pattern]] = {"Read": "read", "Write": "write", "Mix": "mixed"}


def sniff(text: str) -> bool:
    lines = [_QUOTED.sub("", line) for line in text.splitlines()[:2000]]
    return any(map(_MB.fullmatch, lines)) and any(_CRYSTAL.fullmatch(line) or _K.fullmatch(line) for line in lines)


def add(making: Building, text: str, name: str) -> None:
    layout = making.layout(stem(name))
    lines = [_QUOTED.sub("", line) for line in lines_of(text, name)]
    kib = any(map(_K.fullmatch, lines))
    section, percent, ended = "", None, False
    counts: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        place = f"{name}:{number}"
        if (begun := _SECTION.fullmatch(line)) is not None:
            section, percent = begun[1], float(begun[2]) if begun[2] else None
        elif (test := _TEST.fullmatch(line)) is not None and section:
            counts[section] = counts.get(section, 0) + 1
            _test(making, layout, (section, percent), test, place, kib=kib)
        elif _BEGUN.fullmatch(line):
            raise unreadable(place, f"the line of a test is not whole: {line.strip()[:80]!r}", "The report may be cut off.")
        ended = ended or _END.fullmatch(line) is not None
    if len(set(counts.values())) > 1 or (not ended and len(counts) < 2):
        found = ", ".join(f"{n} tests of {word}" for word, n in counts.items()) or "no test"
        raise unreadable(name, f"the report is not whole: it has {found}", "Save the report again, as text.")
    if kib:
        making.note(f"{name}: KDiskMark's MB/s are 1000 KiB/s, and were read as such.")


def _test(making: Building, layout: str, section: tuple[str, float | None], test: re.Match[str], place: str, *, kib: bool
          ) -> None:  # fmt: skip
    word, percent = section
    random = test["access"] in ("RND", "Random")
    block = int(test["size"]) << (20 if test["unit"] == "M" else 10)
    label = f"{'rand' if random else 'seq'} {word.lower()} {test['size']}{test['unit']} q{test['depth']} t{test['jobs']}"
    asked = Asked(pattern=_PATTERNS[word], random=random, block_bytes=block, iodepth=int(test["depth"]),
                  numjobs=int(test["jobs"]), read_percent=percent)  # fmt: skip
    cell = layout, making.workload(label, asked)
    rate = test["rate"]
    if kib and (number := read_number(rate)) is not None:
        decimals = max(0, len(rate.partition(".")[2]) - 3)
        of_kib = number._replace(value=number.value * 1000, half_step=number.half_step * 1000)
        making.add(*cell, "bandwidth", of_kib, "KiB/s", place, f"{of_kib.value:.{decimals}f}")
    else:
        making.printed(cell, "bandwidth", rate, "MB/s", place)
    making.printed(cell, "iops", test["iops"], "IOPS", place)
    if test["us"]:
        making.printed(cell, "latency", test["us"], "us", place, statistic="mean")


CRYSTAL_DISK_MARK = TableReader("crystaldiskmark", "the text of CrystalDiskMark or KDiskMark, as a table", sniff, add)
