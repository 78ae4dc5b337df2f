"""What must be known of valid cells goes with their numbers into every comparison."""

from __future__ import annotations

import csv
import io
import json

import msgspec
from test_comparing import cell, result

from raidtui.model.mark import Mark
from raidtui.model.result import marked
from raidtui.results.compare import compare
from raidtui.results.comparison import Noted, without_cells
from raidtui.results.formats import FORMATS

HOT, SLOW = Mark("hot-disk", "disk S1 reached 90 °C", "caution"), Mark("cpu-bound", "md127_raid5 was busy", "limit")
LOST = Mark("disk-lost", "disk S2 was lost")


def found():
    cells = (
        marked(cell("a", "w", 100), (HOT, SLOW)), marked(cell("a", "w", 102, round=2), (HOT,)),
        marked(cell("a", "w", 104, round=3), (HOT, LOST)), cell("b", "w", 50),
    )  # fmt: skip
    return compare(result(*cells))


def test_marks_of_valid_cells_are_counted_by_code() -> None:
    a, b = (row.entries[0] for row in found().rows)
    assert a.marks == (Noted("hot-disk", HOT.sentence, "caution", 2), Noted("cpu-bound", SLOW.sentence, "limit", 1))
    assert (a.valid, a.cells, a.reasons) == (2, 3, (LOST.sentence,))
    assert b.marks == ()
    assert msgspec.to_builtins(without_cells(found()))["rows"][0]["entries"][0]["marks"][0]["code"] == "hot-disk"


def test_every_format_shows_them() -> None:
    said = "disk S1 reached 90 °C [hot-disk] (2 cells); md127_raid5 was busy [cpu-bound]"
    table = FORMATS["table"].write(found()).decode()
    assert f"[2] {said}" in table
    assert said in FORMATS["md"].write(found()).decode().replace("\\", "")
    page = FORMATS["html"].write(found()).decode()
    assert said in page
    lines = list(csv.DictReader(io.StringIO(FORMATS["csv"].write(found()).decode())))
    assert [line["marks"] for line in lines] == ["hot-disk cpu-bound", "hot-disk", "disk-lost hot-disk", ""]
    assert "hot-disk" in json.dumps(json.loads(FORMATS["json"].write(found())))
