"""Charts of disk throughput during build and sync; marks of cells and legends of a chart."""

from __future__ import annotations

from rich.text import Text

from raidtui.model.event import CellStarted, DevicesBuilt, FrameTaken, Record, StepStarted
from raidtui.model.frame import Frame, Frames, MdState
from raidtui.tui.run.device_rows import places
from raidtui.tui.run.disk_track import DiskTrack, disks_of, moved_by
from raidtui.tui.run.lines import machine_lines
from raidtui.tui.run.shown_run import Story
from raidtui.tui.widgets.chart_picture import Look, Series, picture

ARRAY = {"md127": "target", "sda": "member", "sdb": "member"}
PARENTS = {"sda": "md127", "sdb": "md127"}
IDLE = " ".join(["0"] * 17)
BUSY = "100 0 800 9 50 0 1600 9 0 9 9 0 0 0 0 0 0"


def frame(at_s: float, *busy: str, **more: object) -> Frame:
    lines = {name: BUSY if name in busy else IDLE for name in ("md127", "sda", "sdb", "sdz")}
    return Frame(at_s, at_s, None if at_s == 0 else 1.0, devices=lines, **more)  # type: ignore[arg-type]


def test_only_what_is_at_the_bottom_of_a_layout_counts() -> None:
    assert list(disks_of(CellStarted("c", 1, 1, ARRAY, PARENTS))) == ["sda", "sdb"]
    assert list(disks_of(CellStarted("c", 1, 1, ARRAY))) == ["sda", "sdb"], "an older record has no parents"
    assert list(disks_of(CellStarted("c", 1, 1, {"sda": "target", "sdb": "target"}))) == ["sda", "sdb"]
    frames = Frames()
    frames.apply(frame(0.0))
    assert moved_by(frames, ["sda"]) is None
    frames.apply(frame(1.0, "sda", "sdb", "sdz", "md127"))
    assert moved_by(frames, disks_of(CellStarted("c", 1, 1, ARRAY, PARENTS))) == (200.0, 100.0, 819200.0, 1638400.0)


def test_the_line_ends_where_a_workload_tells_its_own() -> None:
    track, frames = DiskTrack(most=8), Frames()
    for second in range(3):
        frames.apply(frame(float(second), *(["sda"] if second == 1 else [])))
        track.take(float(second), frames, CellStarted("c", 1, 1, ARRAY, PARENTS))
    track.pause()
    track.pause()
    assert track.lines["read_iops"] == [(1.0, 100.0), (1.0, None)], "counters that began anew are no rate"
    for second in range(40):
        frames.apply(frame(3.0 + second))
        track.take(3.0 + second, frames, None)
    assert len(track.lines["read_iops"]) <= 8


def test_devices_stand_below_their_array_before_anything_is_measured() -> None:
    story = Story()
    story.take([
        Record(1, 0.0, "", StepStarted("s1", "create the array", "md.create", "raid5#1")),
        Record(2, 1.0, "", DevicesBuilt(ARRAY, PARENTS)),
        Record(3, 2.0, "", FrameTaken(frame(0.0))),
        Record(4, 3.0, "", FrameTaken(frame(1.0, "sda"))),
        Record(5, 4.0, "", CellStarted("raid5/w#1", 1, 1, ARRAY, PARENTS)),
    ])  # fmt: skip
    building = story.at(3.5)
    assert building.cell is not None
    assert [(place.name, place.depth) for place in places(building.cell)] == [("md127", 0), ("sda", 1), ("sdb", 1)]
    assert story.cell_edges() == [4.0], "a layout that is built is no cell"
    assert story.disks.lines["read_iops"] == [(3.0, 100.0)]


def machine(state: MdState, *, measured: bool) -> Text:
    story = Story()
    cell = CellStarted("raid5/w#1", 1, 1, ARRAY, PARENTS)
    began = [cell, StepStarted("s2", "measure", "measure", cell=cell.cell)] if measured else [DevicesBuilt(ARRAY, PARENTS)]
    events = [StepStarted("s1", "sync", "md.sync", "raid5#1"), *began, FrameTaken(frame(0.0, md={"md127": state}))]
    story.take([Record(number, float(number), "", event) for number, event in enumerate(events, 1)])
    return machine_lines(story.now(), 80)[1]


def alerts(line: Text) -> list[str]:
    return [line.plain[span.start : span.end].strip() for span in line.spans if span.style == "alert"]


def test_an_array_that_is_built_says_how_far_it_is_and_misses_nothing() -> None:
    line = machine(MdState("clean", "recover", 1, 42, 100), measured=False)
    assert line.plain.startswith("md127    building, 42 % █")
    assert not alerts(line)
    line = machine(MdState("clean", "idle", 1), measured=False)
    assert line.plain == "md127    building, waits for its sync"
    assert not alerts(line)


def test_an_array_that_is_measured_says_what_keeps_it_busy_and_what_it_misses() -> None:
    line = machine(MdState("clean", "recover", 1, 50, 100), measured=True)
    assert line.plain.startswith("md127    recover, 1 not in sync yet, 50 % █")
    assert alerts(machine(MdState("clean", "idle", 1), measured=True)) == ["✗ 1 missing"]
    assert alerts(machine(MdState("clean", "check", 1, 50, 100), measured=True)) == ["✗ 1 missing"]


def test_a_chart_names_what_is_in_its_window_and_marks_where_cells_begin() -> None:
    early, late = Series("read", [(1.0, 5.0), (2.0, 6.0)]), Series("write", [(11.0, 7.0), (12.0, 8.0)], 4)
    rows = picture([early, late], Look("IOPS"), 46, 6, (10.0, 20.0), marks=[1.0, 15.0])
    assert "read" not in rows[0].text
    assert "write 8" in rows[0].text
    column = 6 + int(0.5 * 39)
    assert [row.text[column] for row in rows[1:5]] == ["┊"] * 4
    crowded = picture([early, late], Look("IOPS"), 46, 6, (10.0, 20.0), marks=[10 + n / 4 for n in range(1, 40)])
    assert not any("┊" in row.text for row in crowded), "too many say nothing"
