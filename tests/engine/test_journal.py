"""The journal survives crashes, and its readers see whole records only."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.engine.run.journal import JOURNAL_NAME, Journal, read_journal, read_lasting
from raidtui.engine.run.launch import follow
from raidtui.model.event import FrameTaken, Noted, RunFinished, StepProgressed, WorkloadSampled
from raidtui.model.frame import Frame
from raidtui.model.measure import Sample
from raidtui.model.problem import ProblemError


def write(folder: Path, *events) -> None:
    journal = Journal(folder)
    for event in events:
        journal.append(event)
    journal.close()


def test_records_are_numbered_without_a_gap_across_writers(tmp_path: Path) -> None:
    write(tmp_path, Noted("a"), Noted("b"))
    write(tmp_path, Noted("c"))
    records = list(read_journal(tmp_path))
    assert [record.seq for record in records] == [1, 2, 3]
    assert [record.event.text for record in records] == ["a", "b", "c"]
    assert records[0].at_s <= records[1].at_s <= records[2].at_s


@given(cut=st.integers(0, 400))
def test_a_torn_last_line_is_no_record_and_is_cut_off(tmp_path_factory, cut: int) -> None:
    folder = tmp_path_factory.mktemp("run")
    write(folder, Noted("first"), Noted("second"), Noted("third"))
    path = folder / JOURNAL_NAME
    data = path.read_bytes()
    path.write_bytes(data[: min(cut, len(data))])
    whole = [record.event.text for record in read_journal(folder)]
    assert whole == ["first", "second", "third"][: len(whole)]
    write(folder, Noted("after"))
    assert [record.event.text for record in read_journal(folder)] == [*whole, "after"]
    assert [record.seq for record in read_journal(folder)] == list(range(1, len(whole) + 2))


def test_live_numbers_are_passed_over_without_being_parsed(tmp_path: Path) -> None:
    live = [FrameTaken(Frame(1.0, 2.0)), WorkloadSampled("c", Sample(1.0, 1.0)), StepProgressed("001", "x", 0.5)]
    write(tmp_path, *live, Noted("lasting"), *live)
    assert [record.event for record in read_lasting(tmp_path)] == [Noted("lasting")]
    assert len(list(read_journal(tmp_path))) == 7


def test_the_reserve_is_given_back(tmp_path: Path) -> None:
    write(tmp_path, Noted("a"))
    assert [file.name for file in tmp_path.iterdir()] == [JOURNAL_NAME]


def test_follow_hands_on_what_comes_after_a_number_and_ends_with_the_run(tmp_path: Path) -> None:
    write(tmp_path, Noted("a"), Noted("b"), RunFinished(0, "done"))
    lines = [bytes(raw) for raw in follow(tmp_path, 1, lambda: False)]
    assert len(lines) == 2
    assert all(b"\n" not in line for line in lines)


def test_follow_says_when_the_runner_is_gone(tmp_path: Path) -> None:
    write(tmp_path, Noted("a"))
    with pytest.raises(ProblemError) as caught:
        list(follow(tmp_path, 0, lambda: False))
    assert caught.value.problems[0].code == "run-interrupted"


def test_a_full_file_system_leaves_room_for_the_teardown(tmp_path: Path, monkeypatch) -> None:
    journal = Journal(tmp_path)
    journal.append(Noted("before"))
    real = Journal._write_all
    full = [True]

    def write_all(self, line) -> None:
        if full:
            full.clear()
            raise OSError(28, "No space left on device")
        real(self, line)

    monkeypatch.setattr(Journal, "_write_all", write_all)
    journal.append(Noted("after"))
    journal.append(FrameTaken(Frame(1.0, 2.0)))
    assert journal.ran_out_of_space
    assert not (tmp_path / "reserve").exists()
    assert [record.event for record in read_journal(tmp_path)] == [Noted("before"), Noted("after")]
    assert [record.seq for record in read_journal(tmp_path)] == [1, 2]
    journal.close()
