"""CSV of the Phoronix Test Suite and openbenchmarking.org (`result-file-to-csv`), which is recognised to be refused.

It has a column for each system and a row for each test, and says of a test only whether more or less is better: one test of
fio gives two rows of the same name, in MB/s and in IOPS. Source: `result_file_to_csv` in pts_result_file_output.php.
"""

from __future__ import annotations

import re
from typing import NoReturn

from raidtui.foreign.sources import Building, TableReader, unreadable

_ROW = re.compile(r'"[^"]+",(?:HIB|LIB)?(?:,[-\d.]*)+')
_SYSTEMS = re.compile(r' ,(?:,"[^"]*")+')


def sniff(text: str) -> bool:
    lines = text.splitlines()[:400]
    return any(map(_SYSTEMS.fullmatch, lines)) and any(map(_ROW.fullmatch, lines))


def add(making: Building, text: str, name: str) -> NoReturn:
    raise unreadable(
        name,
        "a CSV of the Phoronix Test Suite has no units: MB/s and IOPS of one test are rows of the same name",
        "Write a CSV with the rows that matter, and the unit in each heading: layout, 4k randread IOPS, …",
    )


OPENBENCHMARKING = TableReader("openbenchmarking", "a CSV of the Phoronix Test Suite: refused, it has no units", sniff, add,
                               refuses=True)  # fmt: skip
