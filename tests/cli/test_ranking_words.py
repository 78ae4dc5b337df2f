"""Text of rankings, and the cell counts of a run with skipped cells."""

from __future__ import annotations

import made
import msgspec
import pytest

from raidtui.cli.printers import drawn, line_of
from raidtui.cli.report import show_rankings
from raidtui.cli.screen import console
from raidtui.front.phrases import ranking_line
from raidtui.front.progress import RunView, advance, fraction
from raidtui.model.event import CellStarted, Record, Skipped
from raidtui.model.result import Ranked, RankedLayout
from raidtui.model.statistics.ranking import Told

RANKED = Ranked(
    "rand-write-4k", "best", 95, 5, "IOPS", True,
    (RankedLayout("raid0", 1, 9012.0, 3), RankedLayout("raid10", 1, 8990.0, 3), RankedLayout("raid5", 3, 2500.0, 2),
     RankedLayout("broken", None, None, 0)),
    (Told("raid0", "raid5", "apart", 2, 3.6), Told("raid0", "raid10", "close", 3, 1.002)),
    3, 12, 77.0, 336.0, 37,
)  # fmt: skip


def after(event) -> RunView:
    """The recorded run before its second cell, and then this."""
    view = RunView()
    before = [record for record in made.records() if record.at_s <= 14.5]
    for record in before:
        view = advance(view, record)
    return advance(view, Record(len(before) + 1, 14.6, "", event))


def test_the_answer_is_one_line():
    assert ranking_line(RANKED) == (
        "rand-write-4k: raid0, raid10 share the first place (within 5 %) at 95 %, "
        "after 3 of 12 rounds and 1 min 17 s of 5 min 36 s of measuring"
    )
    alone = msgspec.structs.replace(RANKED, layouts=RANKED.layouts[:1])
    assert "raid0 is best at 95 %" in ranking_line(alone)
    assert "the order is known at 95 %, and raid0 is best" in ranking_line(msgspec.structs.replace(alone, question="order"))
    assert "not all told apart at 95 %" in ranking_line(msgspec.structs.replace(RANKED, answered=False))
    nobody = msgspec.structs.replace(RANKED, answered=False, layouts=RANKED.layouts[3:])
    assert "nothing can be ranked, since too few cells of every layout are valid" in ranking_line(nobody)


def test_the_table_has_places_and_since_when_they_are_known(capsys):
    show_rankings((RANKED,), console(width=100))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line.strip()][2:] == [
        ["PLACE", "LAYOUT", "IOPS", "ROUNDS", "BETTER", "THAN"],
        ["1", "raid0", "9,012", "3", "raid5", "(3.60×,", "round", "2)"],
        ["1", "raid10", "8,990", "3"],
        ["3", "raid5", "2,500", "2"],
        ["–", "broken", "–", "0"],
        ["raid0", "and", "raid10:", "within", "5", "%", "of", "each", "other,", "round", "3"],
    ]


@pytest.mark.parametrize(("metric", "shown"), [("MB/s", "812"), ("µs per sync", "812 µs")])
def test_the_number_has_the_unit_of_its_workload(metric, shown, capsys):
    one = msgspec.structs.replace(RANKED, metric=metric, layouts=(RankedLayout("raid0", 1, 812.0, 3),))
    show_rankings((one,), console(width=100))
    assert f" {shown} " in capsys.readouterr().out


def test_a_cell_that_is_left_out_says_why_and_counts_as_none():
    event = Skipped(("raid1/seq-1m#1",), "what was asked of seq-1m is known at 95 %")
    view = after(event)
    assert line_of(view, Record(13, 14.6, "", event)) == (
        "raid1/seq-1m#1: not needed: what was asked of seq-1m is known at 95 %"
    )
    assert view.skipped == {"raid1/seq-1m#1"}
    page = console(width=100)
    with page.capture() as caught:
        page.print(drawn(view, 14.6))
    assert "1 of 1 cells" in caught.get()


def test_the_time_of_what_is_left_out_is_no_longer_planned():
    view = after(Skipped(("raid1/seq-1m#1",), "known"))
    going_on = after(CellStarted("raid1/seq-1m#1", 2, 2, {}))
    assert view.before_s[-1] == going_on.before_s[-1] - 10
    assert fraction(view, 14.6) > fraction(going_on, 14.6)
    assert after(Skipped((), "known", "raid1#1")).before_s[-1] == 2 + 0
