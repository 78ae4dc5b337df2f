"""The fold over a run's records, and the lines made from it."""

import io

import made
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import HOSTILE
from rich.console import Console

from raidtui.cli import report
from raidtui.cli.printers import PlainPrinter, drawn
from raidtui.cli.report import _cells
from raidtui.cli.screen import console
from raidtui.front.phrases import host_line, sample_line, verdict_line
from raidtui.front.progress import RunView, advance, done_s, fraction, left_s
from raidtui.model.event import (
    CancelAsked,
    CellStarted,
    HostSampled,
    Noted,
    Record,
    RunFinished,
    RunStarted,
    StepDone,
    StepProgressed,
    StepStarted,
)
from raidtui.model.hosts import HostLoad
from raidtui.model.mark import Mark
from raidtui.model.measure import Direction, Latency, Sample
from raidtui.model.result import Built, marked
from raidtui.results.compare import compare
from raidtui.results.extract import point


def view_after(count, records=None):
    view = RunView()
    for record in (records or made.records())[:count]:
        view = advance(view, record)
    return view


def test_nothing_is_known_before_the_first_record():
    assert fraction(RunView(), 0.0) == 0.0
    assert left_s(RunView(), 0.0) is None


def test_the_share_done_follows_the_plan_and_ends_at_one():
    shares = [fraction(view_after(n), made.records()[n - 1].at_s) for n in range(1, 23)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert left_s(view_after(22), 28.1) == 0.0


def test_a_steps_own_word_on_its_progress_counts():
    view = view_after(6)  # step 2 of 3 s, half done, after one of 2 s, of 30 s
    assert fraction(view, 3.9) == pytest.approx(3.5 / 30)


def test_a_silent_step_advances_with_the_time_but_never_ends_by_itself():
    view = view_after(9)  # step 3 of 10 s began at 4.1 s, after 5 planned seconds
    assert fraction(view, 9.1) == pytest.approx(10 / 30)
    assert fraction(view, 1000.0) == pytest.approx(14.9 / 30)


def test_time_left_is_scaled_by_the_pace_so_far():
    records = made.records()
    slow = [Record(r.seq, r.at_s * 2, r.wall, r.event) for r in records]
    assert left_s(view_after(15, slow), 29.0) == pytest.approx(15 * 29 / 15)


def test_live_numbers_end_with_their_step_and_cells_are_kept():
    assert view_after(11).sample is not None
    assert view_after(11).cell.number == 1
    after = view_after(15)
    assert after.sample is None
    assert after.cell is None
    assert [cell.id for cell in after.cells] == ["raid1/sync-4k#1"]


def test_a_record_seen_twice_changes_nothing():
    view = view_after(12)
    assert advance(view, made.records()[3]) is view


@given(st.permutations(made.records()))
def test_no_order_of_records_breaks_the_fold(records):
    view = RunView()
    for number, record in enumerate(records, 1):
        view = advance(view, Record(number, record.at_s, record.wall, record.event))
        assert 0.0 <= fraction(view, view.at_s) <= 1.0
        assert (left_s(view, view.at_s) or 0.0) >= 0.0


def test_a_mix_names_both_directions():
    read = Direction(700, 700 * 4096, 700.0, 700 * 4096.0, 1.0, Latency(90.0))
    sample = Sample(1.0, 1.0, read=read, write=Direction(300, 300 * 4096, 300.0, 300 * 4096.0, 1.0, Latency(1500.0)))
    assert sample_line(sample) == "read 700 IOPS, 2.9 MB/s, mean 90 µs · write 300 IOPS, 1.2 MB/s, mean 1.50 ms"
    assert sample_line(Sample(1.0, 1.0)) == "no I/O"


def test_an_invalid_cell_never_shows_a_number():
    words = verdict_line(made.cell("raid1", "seq-1m", 2600.0, reasons=("a member was lost",)))
    assert words == "✗ raid1/seq-1m#1: INVALID: a member was lost"


def test_marks_are_told_by_their_codes():
    hot, lost = Mark("hot-disk", "disk S1 reached 90 °C", "caution"), Mark("disk-lost", "disk S2 was lost")
    good = marked(made.cell("raid1", "sync-4k", 6000.0), (hot,))
    assert verdict_line(good).endswith(" ⚠ hot-disk")
    bad = marked(good, (hot, lost))
    assert verdict_line(bad) == "✗ raid1/sync-4k#1: INVALID: disk S2 was lost [disk-lost]"


def test_show_says_what_must_be_known_of_a_cell():
    hot = Mark("hot-disk", "disk S1 reached 90 °C", "caution")
    result = made.result(marked(made.cell("raid1", "sync-4k", 6000.0), (hot,)))
    out = Console(file=io.StringIO(), width=100)
    report.show_result(result, compare(result), out)
    (line,) = (line for line in out.file.getvalue().splitlines() if "[hot-disk]" in line and "#1" in line)
    assert line.strip() == "⚠ raid1/sync-4k#1: disk S1 reached 90 °C [hot-disk]"


def test_show_says_once_what_is_the_same_in_every_round():
    facts = {"md": {"level": "raid1", "chunk": 64}}
    first = Built("raid1", 1, "built", read_back=facts, taken_down=True)
    second = msgspec.structs.replace(first, round=2, read_back={"md": {"level": "raid1", "chunk": 128}})
    out = Console(file=io.StringIO(), width=100)
    result = made.result(layouts=(first, second))
    report.show_result(result, compare(result), out)
    text = out.file.getvalue()
    assert text.count("disks not preconditioned") == 1
    assert text.index("round 2") < text.index("chunk 128") < text.index("in each round:") < text.index("disks not")
    assert text.count("read back") == 2


def hostile_records():
    plan = made.plan(scenario={**made.SCENARIO, "title": HOSTILE, "name": HOSTILE})
    return [
        Record(1, 0.0, "", RunStarted(HOSTILE, plan, made.MACHINE, 1, "0")),
        Record(2, 0.1, "", StepStarted("s2", HOSTILE, "md.create")),
        Record(3, 0.2, "", CellStarted(HOSTILE, 1, 2, {})),
        Record(4, 0.3, "", StepProgressed("s2", HOSTILE, 0.5)),
        Record(5, 0.4, "", Noted(HOSTILE, HOSTILE)),
    ]


def test_hostile_strings_are_escaped_in_every_display(capsys):
    view, plain = RunView(), PlainPrinter()
    out = console(width=200)
    for record in hostile_records():
        view = advance(view, record)
        plain.shown(view, record)
        out.print(drawn(view, 1.0))
    said = capsys.readouterr()
    assert not set("\x1b\x7f\x9b\u202e") & set(said.out + said.err)
    assert "[/dev/sda]" in said.out
    assert "[/dev/sda]" in said.err


def test_the_drawing_fits_80_columns_and_shows_cell_numbers_and_time(capsys):
    console(width=80).print(drawn(view_after(11), 6.0))
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines] == [
        "One disk against a mirror",
        "cell 1 of 2: raid1/sync-4k#1: measure",
        "━━━━━━━━━━                                    23 %  0 of 2 cells  6 s, 23 s left",
        "6,000 IOPS, 24.6 MB/s, mean 160 µs, p99 480 µs",
    ]


def searched(*reasons: str):
    cell = made.cell("raid1", "seq-1m", 2600.0, reasons=reasons)
    return msgspec.structs.replace(cell, summary=msgspec.structs.replace(cell.summary, queue_depth=12))


def test_the_queue_depth_that_a_search_found_is_said():
    assert verdict_line(searched()).endswith(", queue depth 12")
    assert "queue depth" not in verdict_line(searched("a member was lost"))
    assert "queue depth" not in verdict_line(made.cell("raid1", "seq-1m", 2600.0))
    out = Console(record=True, width=100)
    _cells(made.result(searched(), searched("a member was lost")), out)
    shown = out.export_text()
    assert shown.count("the search for the latency ended at queue depth 12 of each job") == 1
    assert point(searched()).queue_depth == 12


LOAD = HostLoad(1.0, ("nvme1n1",), 12345.0, 0.0, 50.6e6, 0.0, 80.0, 1.24, 4, {"eth1": (50.6e6, 0.1e6)})


def with_hosts(*at_s: float):
    """The first cell of the run, with the activity of a host at these seconds."""
    begun = made.records()[:10]
    return begun + [Record(len(begun) + n, s, "", HostSampled("clients-1", LOAD)) for n, s in enumerate(at_s, 1)]


def test_each_host_has_a_line_while_it_loads_a_cell(capsys):
    words = host_line("clients-1", LOAD)
    assert words == "clients-1: read 12,345 IOPS, 50.6 MB/s; CPU 1.2 of 4 cores; network in 50.6, out 0.1 MB/s"
    view = view_after(99, with_hosts(5.0))
    assert view.hosts == {"clients-1": LOAD}
    console(width=200).print(drawn(view, 6.0))
    assert words in capsys.readouterr().out
    done = advance(view, Record(99, 7.0, "", StepDone("s3", "done", 3.0)))
    assert done.hosts == {}
    assert advance(done, Record(100, 7.1, "", HostSampled("clients-1", LOAD))).hosts == {}, "it came late"


def test_plain_lines_of_a_host_are_ten_seconds_apart(capsys):
    printer, view = PlainPrinter(), RunView()
    for record in with_hosts(*range(5, 40)):
        view = advance(view, record)
        printer.shown(view, record)
    said = [line for line in capsys.readouterr().err.splitlines() if "clients-1" in line]
    assert [line.split("]")[0] for line in said] == ["[  0:15", "[  0:25", "[  0:35"]


def test_a_cancelled_run_stays_where_it_was_and_has_no_end_ahead():
    records = [*made.records()[:12], Record(13, 6.0, "", CancelAsked("you"))]
    view = view_after(99, records)
    share = fraction(view, 6.0)
    assert 0 < share < 0.5
    assert left_s(view, 6.0) is None
    records += [Record(14, 7.0, "", StepStarted("s5", "stop raid1", "md.remove", "raid1#1")),
                Record(15, 8.0, "", StepDone("s5", "undone", 1.0)), Record(16, 8.1, "", RunFinished(130, "cancelled"))]
    assert fraction(view_after(99, records), 9.0) == share


def test_a_sync_is_at_its_own_pace_and_what_follows_at_that_of_the_run():
    records = [*made.records()[:5], Record(6, 101.2, "", StepProgressed("s2", "initial sync", 0.25))]
    view = view_after(99, records)  # 100 s of a step planned with 3 s; 25 s of the plan follow
    assert left_s(view, 101.2) == pytest.approx(300 + 25)
    assert left_s(view_after(6), 3.9) == pytest.approx(26.5), "a fraction of a few seconds tells nothing yet"


def test_a_simulated_run_does_not_claim_to_need_the_time_of_a_real_one():
    records = [msgspec.structs.replace(record, at_s=record.at_s / 50) for record in made.records()[:15]]
    started = records[0].event
    machine = msgspec.structs.replace(started.machine, simulated=True)
    records[0] = msgspec.structs.replace(records[0], event=msgspec.structs.replace(started, machine=machine))
    view = view_after(99, records)
    done, at_s = done_s(view, view.at_s), view.at_s
    assert left_s(view, at_s) == pytest.approx((view.before_s[-1] - done) * at_s / done)
    assert left_s(view_after(2, records), 0.1) is None, "nothing tells yet how fast it is"


def test_a_run_that_failed_stays_where_it_was():
    records = [*made.records()[:12], Record(13, 6.0, "", RunFinished(4, "build failed"))]
    assert 0 < fraction(view_after(99, records), 9.0) < 0.5
    assert left_s(view_after(99, records), 9.0) is None
