"""The screen Run marks devices and cores that are busy, disks that are hot, and members that are slow with `!`."""

from __future__ import annotations

import pytest

from raidtui.model.event import CellStarted, FrameTaken, Record
from raidtui.model.frame import Frame
from raidtui.tui.run.device_rows import DeviceRows, late_ones
from raidtui.tui.run.device_table import DeviceTable
from raidtui.tui.run.keys import HELP
from raidtui.tui.run.lines import machine_lines
from raidtui.tui.run.shown_run import Story
from raidtui.tui.widgets.table_line import Cell

MEMBERS = ("sda", "sdb", "sdc", "sdd")


def line_of(reads: int, ms: int, busy_ms: int) -> str:
    return f"{reads} 0 {8 * reads} {ms} 0 0 0 0 0 {busy_ms} {ms}"


def story(**newest: str) -> Story:
    cell = CellStarted("c", 1, 1, {"md0": "target", **dict.fromkeys(MEMBERS, "member")}, dict.fromkeys(MEMBERS, "md0"))
    before = {name: line_of(0, 0, 0) for name in ("md0", *MEMBERS)}
    after = {name: newest.get(name, line_of(100, 100, 500)) for name in before}
    frames = [Frame(0.0, 0.0, None, whole=True, devices=before),
              Frame(1.0, 1.0, 1.0, devices=after, temperatures_c={"sda": 66.0, "sdb": 66.0, "sdc": 71.0},
                    temperature_limits_c={"sda": 65.0, "sdb": 80.0})]  # fmt: skip
    found = Story()
    found.take([Record(1, 0.0, "", cell), *(Record(2 + n, float(n), "", FrameTaken(one)) for n, one in enumerate(frames))])
    return found


def cells(shown: Story, column: str) -> dict[str, object]:
    rows = DeviceRows()
    rows.columns = ("device", column)
    rows.take(shown.frames, shown.now())
    return {name: rows.cells(name)[1] for name in rows.keys}


def marked(shown: Story, column: str) -> list[str]:
    """The devices whose value has the sign; it has a colour as well."""
    found = cells(shown, column)
    texts = {name: cell.text if isinstance(cell, Cell) else str(cell) for name, cell in found.items()}
    signed = [name for name, text in texts.items() if text.endswith("!")]
    assert signed == [name for name, cell in found.items() if isinstance(cell, Cell) and cell.style == "warn"]
    return signed


def test_a_device_is_full_from_ninety_percent_on() -> None:
    assert marked(story(sda=line_of(100, 100, 900), sdb=line_of(100, 100, 890)), "util") == ["sda"]


def test_a_disk_is_hot_at_its_own_limit_and_at_seventy_degrees_if_it_names_none() -> None:
    shown = story()
    assert marked(shown, "celsius") == ["sda", "sdc"]
    said = "\n".join(line.plain for line in machine_lines(shown.now(), 80))
    assert "66! " in said
    assert "71! " in said


def test_a_member_that_takes_three_times_as_long_as_its_siblings_is_an_outlier() -> None:
    assert marked(story(sdc=line_of(100, 300, 500)), "r_await") == ["sdc"]
    assert marked(story(sdc=line_of(100, 290, 500)), "r_await") == []
    few = {name: line_of(2, 2, 5) for name in MEMBERS} | {"sdc": line_of(2, 300, 500)}
    assert marked(story(**few), "r_await") == [], "two operations are no mean"
    assert late_ones({"sda": 1.0, "sdb": 9.0}) == frozenset(), "two do not say which of them is the odd one"


def test_the_limits_of_a_moment_in_the_past_are_known() -> None:
    shown = story()
    shown.take([Record(9, 9.0, "", FrameTaken(Frame(9.0, 9.0, 8.0, temperatures_c={"sda": 50.0})))])
    rows = DeviceRows()
    rows.columns = ("device", "celsius")
    rows.take(shown.frames, shown.at(1.0))
    assert rows.cells("sda")[1] == Cell("66!", "warn")


@pytest.mark.parametrize("words", ["90 %", "70 °C", "three times", "`!`"])
def test_help_describes_the_signs(words: str) -> None:
    assert words in HELP
    assert words in DeviceTable.HELP

