"""The distribution of latency on the screen Run: from the tool while it runs, else from the kernel's counters."""

from __future__ import annotations

from raidtui.model.event import CellDone, CellStarted, FrameTaken, Record, StepStarted, WorkloadSampled
from raidtui.model.frame import Frame
from raidtui.model.measure import Sample
from raidtui.model.result import Cell
from raidtui.tui.run.latency_pane import edge_text, latency_lines
from raidtui.tui.run.shown_run import Story

CELL = "raid5/randread#1"
BEGUN = [
    Record(1, 0.0, "", CellStarted(CELL, 1, 1, {"md127": "target", "sda": "member"}, {"sda": "md127"})),
    Record(2, 0.0, "", StepStarted("s1", "measure", "measure", cell=CELL)),
]


def sampled(seq: int, at_s: float, bins: dict[int, int], **more: object) -> Record:
    sample = Sample(at_s, 1.0, bins={"read": bins} if bins else {})
    return Record(seq, 10 + at_s, "", WorkloadSampled(CELL, sample, **more))  # type: ignore[arg-type]


def counted(seq: int, at_s: float, reads: int, ms: int) -> Record:
    lines = {"md127": f"{reads} 0 {8 * reads} {ms} 0 0 0 0 0 0 0", "sda": "0 0 0 0 0 0 0 0 0 0 0"}
    return Record(seq, 10 + at_s, "", FrameTaken(Frame(at_s, at_s, 1.0 if at_s else None, whole=True, devices=lines)))


def shown(*records: Record, width: int = 44) -> list[str]:
    story = Story()
    story.take([*BEGUN, *records])
    lines = latency_lines(story.latency, story.now(), width)
    assert all(line.cell_len <= width for line in lines)
    return [line.plain.rstrip() for line in lines]


def test_every_second_adds_what_fio_counted_in_it_and_outliers_have_a_sign() -> None:
    lines = shown(sampled(3, -1.0, {10**9: 7}), sampled(4, 1.0, {70_000: 900, 100_000: 90}),
                  sampled(5, 2.0, {70_000: 9, 1_000_000: 1}), width=60)  # fmt: skip
    assert lines[0] == CELL
    assert lines[1] == "fio, every second: completion latency of each operation"
    assert "Read  1000 operations" in lines
    assert [line.split()[0:2] for line in lines if "µs" in line or "ms" in line] == [
        ["70", "µs"], ["100", "µs"], ["150", "µs"], ["200", "µs"], ["300", "µs"], ["500", "µs"], ["700", "µs"], ["1", "ms"],
    ]  # fmt: skip
    assert lines[-8].split()[-4:] == ["90.9", "%", "90.0", "%"]
    assert lines[-1].split()[:3] == ["1", "ms", "!"]
    assert not any("!" in line for line in lines[:-1])


def test_what_fills_the_layout_is_not_the_cells() -> None:
    assert shown(sampled(3, 1.0, {70_000: 900}, prefill=True)) == ["no latency was measured yet"]


def test_a_tool_that_tells_nothing_leaves_the_means_of_the_measured_device_and_that_is_said() -> None:
    lines = shown(counted(3, 0.0, 0, 0), counted(4, 1.0, 100, 20), counted(5, 2.0, 200, 40), width=120)
    assert lines[1] == (
        "kernel's counters of md127: mean latency of each second, not of each operation (the tool tells none yet)"
    )
    assert lines[3] == "Read  2 seconds"
    assert lines[4].split()[:2] == ["200", "µs"]
    told = shown(counted(3, 0.0, 0, 0), counted(4, 1.0, 100, 20), sampled(5, 2.0, {70_000: 4}), width=120)
    assert told[1].startswith("fio, every second")


def test_at_the_end_of_a_cell_the_report_stands() -> None:
    report = {"jobs": [{"read": {"clat_ns": {"bins": {"71168": 60, "103936": 40}}}}]}
    done = Cell(CELL, "raid5", "randread", 1, True, report=report)
    lines = shown(sampled(3, 1.0, {70_000: 50}), Record(4, 12.0, "", CellDone(done)), width=70)
    assert lines[1] == "fio's report: completion latency of each operation of the cell"
    assert lines[3] == "Read  100 operations"
    assert [line.split()[-2] for line in lines[4:]] == ["60.0", "40.0"]
    assert "last s" not in " ".join(lines)


def test_edges_have_their_unit() -> None:
    assert [edge_text(ns) for ns in (0, 70, 1500, 150_000, 1_500_000, 2 * 10**9)] == [
        "0 ns", "70 ns", "1.5 µs", "150 µs", "1.5 ms", "2 s"]  # fmt: skip


def test_the_fastest_percent_shares_a_line_so_that_the_bulk_is_in_view() -> None:
    lines = shown(sampled(3, 1.0, {5_000: 2, 10_000: 2, 70_000: 990, 100_000: 6}))
    assert [line.split()[:2] for line in lines if "µs" in line] == [["<70", "µs"], ["70", "µs"], ["100", "µs"]]
    assert next(line for line in lines if "<70" in line).split()[-4:] == ["0.4", "%", "0.4", "%"]
