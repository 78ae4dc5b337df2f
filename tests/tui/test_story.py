"""The fold behind the screen Run: any moment of a run, in any portions, in bounded memory."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import records, until

from raidtui.engine.run.tally import Tally
from raidtui.model.event import CellDone, CellStarted, FrameTaken, Noted, Record, Skipped, StepProgressed, WorkloadSampled
from raidtui.model.frame import Frame, Frames, Use
from raidtui.model.measure import Direction, Latency, Sample
from raidtui.tui.run.device_rows import DeviceRows, odd_ones, places
from raidtui.tui.run.feed import records_of
from raidtui.tui.run.lines import LogText, machine_lines
from raidtui.tui.run.panes import matrix_lines, squares
from raidtui.tui.run.shown_run import StepLog, Story
from raidtui.tui.run.tracks import FrameTrack, SampleTrack

END_S = records()[-1].at_s


def told(some) -> Story:
    story = Story()
    story.take(some)
    return story


def frames_state(frames: Frames) -> object:
    return frames.at_s, frames.span_s, frames.devices, frames.cpus, frames.md, frames.temperatures_c


def shown(moment) -> object:
    rows = DeviceRows()
    return moment.view, frames_state(moment.frames), moment.cell, rows.keys


WHOLE = told(records())


@settings(max_examples=60, deadline=None)
@given(st.floats(0, END_S + 5))
def test_the_playhead_shows_what_a_viewer_saw_at_that_moment(at_s):
    then = told(until(at_s))
    moment, seen = WHOLE.at(at_s), then.now()
    assert moment.view == seen.view
    assert frames_state(moment.frames) == frames_state(seen.frames)
    assert moment.cell == seen.cell
    for name in seen.frames.devices:
        assert moment.frames.rates(name) == seen.frames.rates(name)
        assert WHOLE.frames.history(name, 30, at_s) == then.frames.history(name, 30)
    lines = [line.plain for line in LogText(WHOLE.log_at(moment), moment.at_s, 80)]
    assert lines == [line.plain for line in LogText(then.log_at(seen), seen.at_s, 80)]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 200), min_size=1, max_size=40))
def test_portions_of_any_size_come_to_the_same(sizes):
    story, position = Story(), 0
    for size in itertools.cycle(sizes):
        if position >= len(records()):
            break
        # Each portion begins with what the one before ended with, as after a connection that came back.
        story.take(records()[max(0, position - 3) : position + size])
        position += size
    assert shown(story.now()) == shown(WHOLE.now())
    assert story.samples.lines == WHOLE.samples.lines
    names = list(story.now().frames.devices)
    assert [story.frames.history(name, 60) for name in names] == [WHOLE.frames.history(name, 60) for name in names]


def test_a_record_that_was_seen_changes_nothing():
    story = told(until(60))
    before = shown(story.now())
    assert not story.take(until(60))
    assert shown(story.now()) == before


def test_members_stand_below_their_array():
    started = [record.event for record in records() if isinstance(record.event, CellStarted)]
    assert [(place.name, place.depth) for place in places(started[0])] == [(next(iter(started[0].devices)), 0)]
    listed = places(started[-1])
    assert listed[0].role == "target"
    assert sorted(place.role for place in listed[1:]) == ["journal", "member", "member", "member", "member"]
    assert all(place.depth == 1 and place.parent == listed[0].name for place in listed[1:])
    assert [place.last for place in listed[1:]] == [False] * 4 + [True]


def test_what_stands_on_what_is_taken_from_the_engine():
    cell = CellStarted("c", 1, 1, {"md1": "target", "md2": "member", "a": "member", "b": "member", "c": "member"},
                       parents={"md2": "md1", "a": "md2", "b": "md2", "c": "md1"})  # fmt: skip
    assert [(place.name, place.depth) for place in places(cell)] == [("md1", 0), ("md2", 1), ("a", 2), ("b", 2), ("c", 1)]
    kept = places(cell, wanted=lambda name, role: name == "b")
    assert [place.name for place in kept] == ["md1", "md2", "b"]
    up = places(cell, sort=lambda name: (-ord(name[0]), name))
    assert [place.name for place in up] == ["md1", "md2", "b", "a", "c"]


@pytest.mark.parametrize(
    ("utils", "odd"),
    [
        ([50, 52, 49, 51], []),
        ([50, 98, 49, 51], [1]),
        ([99, 99, 12, 98], [2]),
        ([5, 9, 4, 3], []),
        ([50], []),
    ],
)
def test_a_member_that_is_apart_from_its_siblings_is_marked(utils, odd):
    uses = {str(number): Use(float(util), util * 1e5) for number, util in enumerate(utils)}
    assert odd_ones(uses) == {str(number) for number in odd}
    assert odd_ones({**uses, "unknown": None}) == odd_ones(uses)


def test_the_matrix_has_one_sign_for_each_planned_cell():
    for at_s in (0.0, 30.0, 200.0, END_S):
        view = WHOLE.at(at_s).view
        if view.plan is None:
            continue
        found = squares(view)
        assert sum(len(square.signs) for square in found.values()) == len(view.plan.cells)
        for width in (34, 40, 80, 200):
            assert all(line.cell_len <= width for line in matrix_lines(found, width))
    assert all(sign == "valid" for square in squares(WHOLE.view).values() for sign in square.signs)


def test_long_runs_are_thinned_out_and_keep_their_sums():
    track, plain = FrameTrack(most=100), Frames()
    for number in range(1000):
        text = " ".join(str(number * 10 * (field + 1)) for field in range(17))
        loopback = f"{number * 4000} 1 0 0 {number * 4000} 1 0 0"
        frame = Frame(number, number, None if number == 0 else 1.0, whole=number % 97 == 0,
                      devices={"a": text, "idle": "0 " * 17}, networks={"lo": loopback}) if number % 97 == 0 else Frame(
                      number, number, 1.0, devices={"a": text}, networks={"lo": loopback})  # fmt: skip
        track.take(float(number), number + 1, frame)
        plain.apply(frame)
        assert len(track._kept) <= 101
    assert track.now.rates("a") == plain.rates("a")
    for at_s in (200.0, 400.0, 700.0, 999.0):
        then, _, _ = track.at(at_s)
        rates = then.rates("a")
        assert rates is not None
        assert rates.read.ios_per_s == pytest.approx(10.0)
        assert then.devices["idle"]
        loopback_rates = then.network_rates("lo")
        assert loopback_rates is not None
        assert loopback_rates.sent_bytes_per_s == pytest.approx(4000)


def test_thinned_samples_keep_means_and_tails():
    track = SampleTrack(most=50)
    for number in range(500):
        latency = Latency(100.0, p99_us=200.0, max_us=float(number))
        sample = Sample(number, 1.0, read=Direction(10, 40960, 10.0, 40960.0, 1.0, latency))
        track.take(float(number), number + 1, WorkloadSampled("c", sample))
    assert len(track.lines["read_iops"]) <= 51
    assert {value for _, value in track.lines["read_iops"]} == {10.0}
    assert {value for _, value in track.lines["mean_us"]} == {100.0}
    assert track.lines["max_us"][-1][1] == 499.0
    assert track.count == 500


def test_the_parts_of_a_cell_that_only_its_file_needs_are_not_kept():
    assert all(not cell.samples and not cell.devices and cell.report is None for cell in WHOLE.view.cells)


def test_the_machine_is_told_in_lines_that_fit():
    for at_s in range(0, int(END_S), 7):
        for width in (60, 120):
            assert all(line.cell_len <= width for line in machine_lines(WHOLE.at(at_s), width))


def test_a_result_alone_is_shown_as_its_journal_would_be():
    tally = Tally()
    for record in records():
        tally.add(record)
    result = tally.result()
    made = records_of(result)
    assert [record.seq for record in made] == list(range(1, len(made) + 1))
    story = told(made)
    assert story.view.title == WHOLE.view.title
    assert [cell.id for cell in story.view.cells] == [cell.id for cell in WHOLE.view.cells]
    assert story.view.finished is not None
    assert story.view.finished.exit == 0
    assert squares(story.view).keys() == squares(WHOLE.view).keys()
    last = result.cells[-1]
    done = next(record.at_s for record in made if isinstance(record.event, CellDone) and record.event.cell.id == last.id)
    frames = story.at(done).frames
    for name, use in last.devices.items():
        rates = frames.rates(name)
        assert rates is not None
        assert rates.read.ios_per_s == pytest.approx(use.series["reads_per_s"][-1] or 0.0, abs=2)
        assert rates.write.bytes_per_s == pytest.approx(use.series["written_bytes_per_s"][-1] or 0.0, rel=0.02, abs=2000)
        assert rates.util_percent == pytest.approx(use.series["util_percent"][-1] or 0.0, abs=1)


def test_what_went_wrong_is_told_whole_however_narrow_the_pane_is():
    log, reason = StepLog(), "disk S1 was lost while it was measured, and " * 8
    log.take(1.0, Record(1, 1.0, "", Noted(reason, "warning")), WHOLE.view)
    log.take(2.0, Record(2, 2.0, "", Noted("after it")), WHOLE.view)
    lines = [line.plain for line in LogText(log.lines, 5.0, 60)]
    assert " ".join(line[11:].strip() for line in lines[:-1]) == reason.strip()
    assert lines[-1].endswith("after it")
    assert all(len(line) <= 60 for line in lines)


def test_reports_of_steps_are_thinned_out_too():
    first = records()[:3]
    story = told(first)
    last = first[-1].seq
    for number in range(10_000):
        story.take([Record(last + 1 + number, 10.0 + number, "", StepProgressed("s", f"{number}", 0.5))])
    assert story.at(10_005.0).view.step_text == "9995"
    assert len(story._reports) <= 4001


def test_frames_of_a_device_that_went_are_gaps():
    track = FrameTrack()
    track.take(0.0, 1, Frame(0, 0, None, devices={"a": "0 " * 17}))
    track.take(1.0, 2, Frame(1, 1, 1.0, devices={"a": "0 0 8 0 0 0 0 0 0 500 0 0 0 0 0 0 0"}))
    track.take(2.0, 3, Frame(2, 2, 1.0))
    track.take(3.0, 4, Frame(3, 3, 1.0, gone=("a",)))
    assert track.history("a", 10) == [None, Use(50.0, 4096.0), Use(0.0, 0.0), None]
    assert any(isinstance(record.event, FrameTaken) for record in records())


def test_cells_that_are_left_out_have_a_sign_and_a_line_of_their_own():
    first = next(index for index, record in enumerate(records()) if isinstance(record.event, CellDone))
    story = told(records()[: first + 1])
    planned = story.view.plan.cells
    left = tuple(cell.id for cell in planned if cell.id not in {cell.id for cell in story.view.cells})
    last = records()[first]
    story.take([Record(last.seq + 1, last.at_s, last.wall, Skipped(left, "what was asked of it is known at 95 %"))])
    now = story.now()
    found = [sign for square in squares(now.view).values() for sign in square.signs]
    assert found.count("skipped") == len(left) == len(planned) - 1
    lines = [line.plain for line in matrix_lines(squares(now.view), 60)]
    assert any("–" in line for line in lines)
    assert "not needed: what was asked of it is known at 95 %" in story.log_at(now)[-1].text
    assert squares(story.at(last.at_s - 0.5).view) != squares(now.view)
