"""Cells that were run until they were steady: what is shown of them, drawn, noted, and merged."""

import msgspec
import pytest
from test_comparing import cell, result

from raidtui.model.convert import encode
from raidtui.model.mark import Mark
from raidtui.model.measure import Direction, Latency, Summary
from raidtui.model.result import Built, Pass, Steady, Tracked
from raidtui.results.charts import courses
from raidtui.results.charts.sheet import panel_svgs
from raidtui.results.compare import compare, compare_many
from raidtui.results.extract import extract, point
from raidtui.results.formats.text import table_lines
from raidtui.results.library import lean_extract
from raidtui.results.load import read_result
from raidtui.results.rates import bins, convergence_lines, merged_latency

RATES = (4000.0, 2000.0, 228.90, 240.21, 240.60, 240.71, 240.71)


def steady(rates=RATES, reached: int | None = len(RATES)) -> Steady:
    runs = tuple(
        Pass(61.0 * number, Summary(write=Direction(int(rate * 60), int(rate * 60) * 4096, rate, rate * 4096, 60.0)))
        for number, rate in enumerate(rates)
    )
    tracked = Tracked(238.226, 4.957, 4.057, reached is not None)
    return Steady(runs, reached, (len(rates) - 4, len(rates)), {"write IOPS": tracked})


def with_steady(one, found=None, **fields):
    return msgspec.structs.replace(one, steady=found or steady(), **fields)


def report(counts: dict[int, int]) -> dict:
    return {"fio version": "fio-3.39", "global options": {"bs": "4k"}, "jobs": [{"write": {"clat_ns": {"bins": counts}}}]}


def test_the_verdict_the_variables_and_every_pass_are_said() -> None:
    assert list(convergence_lines(with_steady(cell("a", "w", 238.2)), "IOPS")) == [
        "steady at pass 7, reported: passes 3 to 7 of 7",
        "write IOPS 238: range 5.0 %, line 4.1 % of the average",
        "IOPS by pass: 4,000 2,000 [229 240 241 241 241]",
    ]
    assert not list(convergence_lines(cell("a", "w", 238.2), "IOPS"))


def test_what_never_was_steady_is_said_and_noted() -> None:
    restless = with_steady(cell("a", "w", 238.2), steady(reached=None))
    lines = list(convergence_lines(restless, "IOPS"))
    assert lines[0].startswith("NOT steady")
    assert "not steady" in lines[1]
    mark = Mark("not-steady", "steady state was not reached in 7 passes", "caution")
    comparison = compare(result(msgspec.structs.replace(restless, marks=(mark,)), with_steady(cell("b", "w", 240.0))))
    assert any("steady state was not reached" in line.words for line in table_lines(comparison, 200))


def test_an_index_knows_it_too() -> None:
    one = result(with_steady(cell("a", "w", 238.2), steady(reached=None), report=[report({1000: 3})]), cell("b", "w", 1))
    lean, _ = lean_extract(encode(one))
    assert [found.id for found in lean.points] == ["a/w#1", "b/w#1"]
    assert lean.points[0].facts == extract(one).points[0].facts


def test_such_a_result_is_read_back_as_it_was_written() -> None:
    one = result(with_steady(cell("a", "w", 238.2)))
    assert read_result(encode(one), "r.json").cells[0].steady == steady()


def test_a_window_has_one_histogram() -> None:
    one = point(with_steady(cell("a", "w", 238.2), report=[report({1000: 3}), report({1000: 1, 2000: 4})]))
    assert bins([one], "write") == [{1000: 4, 2000: 4}]
    broken = point(with_steady(cell("a", "w", 238.2), report=[report({1000: 3}), report({})]))
    assert bins([broken], "write") == []


def test_percentiles_over_rounds_come_from_all_passes_of_all_windows() -> None:
    latency = Latency(1.5, p50_us=1.0, p99_us=2.0, max_us=2.5)
    rounds = []
    for number, counts in enumerate(({1000: 300}, {1000: 150, 2000: 350}), 1):
        flow = Direction(400, 400 * 4096, 100.0, 409600.0, 4.0, latency)
        made = with_steady(cell("a", "w", 100, round=number), report=[report(counts), report({3000: 1})])
        rounds.append(point(msgspec.structs.replace(made, summary=Summary(write=flow))))
    assert merged_latency(rounds)["write"].p50_us == pytest.approx(1.0)
    assert merged_latency(rounds)["write"].p99_us == pytest.approx(2.0)


def test_every_cell_is_a_line_with_its_window() -> None:
    pytest.importorskip("matplotlib")
    cells = [with_steady(cell("a", "w", 238.2, round=n)) for n in (1, 2)]
    again = with_steady(cell("a", "w", 240.0), steady(reached=None), again=True, id="a/w/1/again")
    comparison = compare(result(*cells, again, cell("b", "w", 1)))
    (panel,) = courses.passes_panels(comparison)
    assert panel.about == "a 1, steady at 7; a 2, steady at 7; a again 1, not steady"
    assert "steady at 7" in next(panel_svgs([panel], 1))
    assert courses.passes_panels(compare(result(cell("a", "w", 1)))) == []


def test_many_cells_have_several_panels() -> None:
    comparison = compare(result(*(with_steady(cell("a", "w", 238.2, round=n)) for n in range(1, 14))))
    assert len(courses.passes_panels(comparison)) == 2


def test_disks_in_different_states_are_told_apart() -> None:
    made = Built("a", 1, "built", preconditioned="preconditioned 2x sequential (SNIA PTS 2.0.2)")
    one, other = result(cell("a", "w", 1), layouts=(made,)), result(cell("a", "w", 2), layouts=(Built("a", 1, "built"),))
    notes = compare_many((one, other)).notes
    assert "disks of result 1: preconditioned 2x sequential (SNIA PTS 2.0.2)" in notes
    assert any(note.startswith("measured on disks in different states") for note in notes)
    lean, _ = lean_extract(encode(one))
    assert lean.facts["preconditioning"] == extract(one).facts["preconditioning"]


def test_a_sync_whose_latency_is_not_reported_has_no_histogram() -> None:
    """fio prints one with libaio, too, where it does not time syncs."""
    printed = {"jobs": [{"sync": {"lat_ns": {"bins": {"1000": 3}}}}]}
    for latency, found in ((Latency(1.0), [{1000: 3}]), (Latency(), [])):
        summary = Summary(sync=Direction(3, 0, 3.0, 0.0, 1.0, latency))
        one = point(msgspec.structs.replace(cell("a", "w", 100), report=printed, summary=summary))
        assert bins([one], "sync") == found
