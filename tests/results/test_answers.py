"""Which layout is best for which workload, how sure that is, and where it is said."""

import io
import json
import random
import re
import zipfile

import msgspec
import pytest
from test_comparing import cell, result
from test_verdicts import rounds, with_layouts

from raidtui.model.problem import Problem
from raidtui.model.result import Built, Machine
from raidtui.results.compare import compare, compare_many
from raidtui.results.extract import Extract, Point
from raidtui.results.formats import FORMATS
from raidtui.results.verdicts import answer_lines


def three(**factors):
    return result(*(one for n, (name, factor) in enumerate(factors.items()) for one in rounds(name, n, factor=factor)),
                  order=tuple(factors))  # fmt: skip


def published(**rates):
    """A table: one number of each layout."""
    points = tuple(Point(name, name, "w", 1, iops=float(rate)) for name, rate in rates.items())
    return Extract("table", points, layouts={name: {} for name in rates}, workloads={"w": "w"}, imported=True)


def test_the_best_is_named_with_how_far_it_is_ahead_and_that_it_is_told_apart_from_all():
    found = compare(three(a=1, b=1.2, c=0.9))
    (one,) = found.verdicts
    assert (one.best, one.sure, one.second, one.beaten) == (("b",), "told apart", "a", ("a", "c"))
    assert one.low < one.ahead < one.high
    assert 0.17 < one.ahead < 0.23
    assert one.p < 0.05
    said = r"b is best for w: \d+ % above a \(\d+ to \d+ %\), told apart from all 2 others"
    assert re.fullmatch(said, *answer_lines(found))


def test_layouts_that_are_alike_are_all_named():
    found = compare(three(a=1, b=1, c=0.5))
    (one,) = found.verdicts
    assert (set(one.best), one.sure, one.beaten) == ({"a", "b"}, "not told apart", ("c",))
    assert " cannot be told apart for w: " in answer_lines(found)[0]
    assert answer_lines(found)[0].endswith(f"{one.best[0]} is told apart from 1 other")


def test_the_best_of_many_alike_layouts_is_hardly_ever_called_best():
    called = 0
    for seed in range(40):
        draw = random.Random(seed)
        cells = [cell(f"l{n}", "w", 1000 * draw.lognormvariate(0, 0.02), round=r) for n in range(12) for r in range(1, 6)]
        (one,) = compare(result(*cells, order=[f"l{n}" for n in range(12)])).verdicts
        called += bool(one.beaten)
    assert called <= 4


def test_three_rounds_give_no_verdict_and_that_is_said_once():
    cells = [one for n, name in enumerate("abc") for one in rounds(name, n, count=3, factor=1 + n)]
    found = compare(result(*cells, order="abc"))
    (one,) = found.verdicts
    assert (one.best, one.sure, one.unjudged, one.rounds) == (("c",), "too few rounds", ("b", "a"), 3)
    said = answer_lines(found)
    assert said[0].startswith("c has the highest number for w: ")
    assert said[1] == "too few rounds for a verdict: four of each are enough, if all are above 0"
    assert len(said) == 2


def test_a_table_without_rounds_says_once_that_it_has_none():
    found = compare_many([published(a=100, b=120, c=90)])
    assert answer_lines(found) == ["b has the highest number for w: 20 % above a",
                                   "one number of each, no rounds: no intervals, so no verdict"]  # fmt: skip


def test_what_is_not_valid_or_missing_and_what_else_differs_is_named():
    failed = Built("d", 1, "failed", problem=Problem("tool-failed", "refused", exit=4))
    lost = [cell("c", "w", 9000, round=n, reasons=["lost"]) for n in range(1, 6)]
    one = result(*rounds("a", 1), *rounds("b", 2, factor=0.5), *lost, order=("a", "b", "c", "d"), layouts=[failed])
    (verdict,) = compare(one).verdicts
    assert (verdict.invalid, verdict.missing, verdict.confounders) == (("c",), ("d",), ())
    other = msgspec.structs.replace(three(e=2), run="r2", machine=Machine("h", "6.13"), started="2026-05-01T00:00:00Z")
    one = msgspec.structs.replace(one, started="2026-04-01T00:00:00Z")
    found = compare_many([one, other])
    assert found.verdicts[0].confounders == ("kernel", "date")
    assert answer_lines(found)[1:] == [
        "no valid number: c", "not built or not measured: d",
        "differs beside the layouts, and may be the cause: kernel, date",
    ]  # fmt: skip


def test_a_layout_is_not_missing_under_workloads_of_another_scenario():
    other = result(*rounds("c", 3, workload="v"), *rounds("d", 4, workload="v"), order=("c", "d"), loads=("v",))
    found = compare_many([three(a=1, b=2), msgspec.structs.replace(other, run="r2")])
    assert [one.missing for one in found.verdicts] == [(), ()]
    cells = [*rounds("a", 1), *rounds("b", 2), *rounds("b", 3, workload="v")]
    assert [one.missing for one in compare(result(*cells, loads=("w", "v"))).verdicts] == [(), ("a",)]


def test_facts_that_both_share_against_the_baseline_confound_nothing():
    old = msgspec.structs.replace(three(a=1), started="")
    new = msgspec.structs.replace(three(b=3, c=2), run="r2", machine=Machine("h", "6.13"))
    alone = result(*rounds("b", 1, factor=3), *rounds("c", 2, factor=2), *rounds("b", 3, workload="v"),
                   *rounds("c", 4, workload="v"), order=("b", "c"), loads=("w", "v"))  # fmt: skip
    alone = msgspec.structs.replace(alone, run="r2", machine=Machine("h", "6.13"))
    assert compare_many([old, new]).verdicts[0].confounders == ("kernel",)
    by_workload = {one.workload: one.confounders for one in compare_many([old, alone]).verdicts}
    assert by_workload == {"w": ("kernel",), "v": ()}


def test_bare_disks_are_no_rivals_of_layouts():
    disks = {"S": {"disk": {"on": "@data:all"}}, "each": {"disk": {"on": "@data:each"}}}
    one = with_layouts(three(a=1, b=0.5, S=4), a={"md": {"level": "raid5", "on": "@data"}},
                       b={"md": {"level": "raid6", "on": "@data"}}, S=disks["S"])  # fmt: skip
    found = compare(one)
    assert next(row.bare for row in found.rows if row.label == "S")
    assert found.verdicts[0].best == ("a",)


def test_a_difference_no_larger_than_the_noise_floor_makes_no_best():
    same = {"md": {"level": "raid5", "on": "@data"}}
    cells = [*rounds("a", 1), *rounds("again", 2, factor=1.06), *rounds("b", 3, factor=1.09)]
    found = compare(with_layouts(result(*cells, order=("a", "again", "b")), a=same, again=same,
                                 b={"md": {"level": "raid6", "on": "@data"}}))  # fmt: skip
    assert found.verdicts[0].sure == "not told apart"
    assert "again" in found.verdicts[0].best


def test_of_many_workloads_the_answer_is_short_and_begins_with_a_summary():
    loads = [f"w{n}" for n in range(30)]
    cells = [one for n, load in enumerate(loads) for name, factor in (("a", 1), ("b", 2 if n % 3 else 0.5))
             for one in rounds(name, f"{name}{n}", factor=factor, workload=load)]  # fmt: skip
    said = answer_lines(compare(result(*cells, loads=loads)))
    assert said[0] == "of 30 workloads: best are b for 20, a for 10"
    assert said[-1] == "and 25 more workloads"
    assert len(said) == 7
    assert len(answer_lines(compare(result(*cells, loads=loads)), 2)) == 3


def test_one_layout_alone_needs_no_answer():
    found = compare(three(a=1))
    assert found.verdicts[0].sure == "alone"
    assert answer_lines(found) == []


@pytest.mark.parametrize("name", ["table", "md", "html"])
def test_the_answer_stands_before_the_table(name):
    found = compare(three(a=1, b=1.2, c=0.9))
    written = re.sub(r"\\(.)", r"\1", FORMATS[name].write(found).decode())
    where = written.index(answer_lines(found)[0])
    assert where < written.index({"table": "LAYOUT", "md": "| Layout |", "html": '<table class="sortable">'}[name])


def test_the_answer_is_data_in_json_and_a_sheet_of_the_workbook():
    found = compare(three(a=1, b=1.2, c=0.9))
    (one,) = json.loads(FORMATS["json"].write(found))["verdicts"]
    assert (one["best"], one["sure"], one["second"], one["beaten"]) == (["b"], "told apart", "a", ["a", "c"])
    book = zipfile.ZipFile(io.BytesIO(FORMATS["xlsx"].write(found)))
    assert '"Which one"' in book.read("xl/workbook.xml").decode()
    assert answer_lines(found)[0] in book.read("xl/sharedStrings.xml").decode()


def test_the_first_line_names_the_layouts_that_are_among_the_best_of_every_workload():
    def told(first, second):
        cells = [*rounds("a", 1, workload="v", factor=first), *rounds("b", 2, workload="v"),
                 *rounds("a", 3, workload="w", factor=second), *rounds("b", 4, workload="w")]  # fmt: skip
        return answer_lines(compare(result(*cells, order=("a", "b"), loads=("v", "w"))))[0]

    assert told(2, 2) == "a: the best for both workloads"
    assert told(2, 1) == "a: the best, or not told apart from it, for both workloads"
    assert told(2, 0.5) == "no layout is among the best for both workloads"
