"""Old against new: pairs by layout and workload, their order, words, and the condition of `--fail-if`."""

import csv
import io
import json
import re

import msgspec
import pytest
from rich.cells import cell_len
from test_comparing import cell, result

from raidtui.model.mark import Mark
from raidtui.model.problem import ProblemError
from raidtui.results.charts import CHARTS
from raidtui.results.charts.sheet import panel_svgs
from raidtui.results.compare import compare_many
from raidtui.results.formats import FORMATS
from raidtui.results.old_new import failing, lines, ordered, parse_condition, verdict_lines, warning


def of(run, **rates):
    cells = [cell(name, "w", rate, round=n) for name, values in rates.items() for n, rate in enumerate(values, 1)]
    return msgspec.structs.replace(result(*cells, order=tuple(rates)), run=f"20260131-120000-{run}")


OLD = of("aaaaaaaa", up=(100, 101, 99, 102, 100), down=(500, 501, 502, 499, 503), same=(7, 8, 7, 8, 9), gone=(5, 5))
NEW = of("bbbbbbbb", up=(150, 151, 149, 150, 152), down=(400, 401, 402, 399, 403), same=(8, 7, 8, 9, 7))


def test_layouts_are_paired_by_name_and_the_best_stands_first():
    pairs = ordered(compare_many((OLD, NEW)).pairs)
    assert [(pair.layout, pair.verdict) for pair in pairs] == [
        ("up", "different"), ("down", "different"), ("same", "not told apart"), ("gone", ""),
    ]  # fmt: skip
    assert pairs[1].change == pytest.approx(-0.2, abs=0.002)
    assert pairs[1].low < pairs[1].change < pairs[1].high
    assert (pairs[1].old_rounds, pairs[1].new_rounds, pairs[3].why) == (5, 5, "new was not measured")


def test_swapped_results_give_the_opposite():
    there = {pair.layout: pair for pair in compare_many((OLD, NEW)).pairs}
    for back in compare_many((NEW, OLD)).pairs:
        if back.change is not None:
            assert (1 + back.change) * (1 + there[back.layout].change) == pytest.approx(1)
            assert back.p == there[back.layout].p


def test_nothing_is_paired_for_other_scenarios_one_run_three_results_or_a_chosen_baseline():
    other = msgspec.structs.replace(NEW, scenario={**NEW.scenario, "name": "other"})
    for found in (compare_many((OLD, other)), compare_many((OLD, OLD)), compare_many((OLD, NEW, NEW)),
                  compare_many((OLD, NEW), "up:1")):  # fmt: skip
        assert found.pairs == ()


def test_the_answer_is_in_words_and_in_every_text_format():
    found = compare_many((OLD, NEW))
    assert next(verdict_lines(found)) == "new is better in 1, worse in 1 and not told apart in 1 of 4 pairs"
    written = FORMATS["table"].write(found).decode().splitlines()
    assert written[0] == next(verdict_lines(found))
    assert written[written.index("") + 1].startswith("LAYOUT ")
    assert "| down | w IOPS | 501 | 401 | -20 % |" in FORMATS["md"].write(found).decode()
    assert len(json.loads(FORMATS["json"].write(found))["pairs"]) == 4


def test_a_pair_is_better_or_worse_only_where_it_is_told_apart():
    ways = {pair.layout: pair.way for pair in compare_many((OLD, NEW)).pairs}
    assert ways == {"up": "better", "down": "worse", "same": "", "gone": ""}


def test_every_cell_in_csv_has_the_verdict_of_its_pair():
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"].write(compare_many((OLD, NEW))).decode())))
    of_down = [row for row in rows if row["layout"] in ("down:1", "down:2")]
    assert len(of_down) == 10
    assert {row["old_new_verdict"] for row in of_down} == {"worse"}
    low, ratio, high = (float(of_down[0][f"new_per_old{end}"]) for end in ("_low", "", "_high"))
    assert low < ratio < high
    assert 0.79 < ratio < 0.81
    assert next(row for row in rows if row["layout"].startswith("gone"))["old_new_verdict"] == "new was not measured"
    alone = csv.DictReader(io.StringIO(FORMATS["csv"].write(compare_many((OLD,))).decode()))
    assert {row["new_per_old"] for row in alone} == {""}


def test_the_page_has_the_pairs_with_links_to_their_cells():
    page = FORMATS["html"].write(compare_many((OLD, NEW))).decode()
    section = page[page.index('<section id="old-new">') :].partition("</section>")[0]
    assert "new is better in 1, worse in 1" in section
    assert '<span class="down">worse</span>' in section
    assert '<span class="up">better</span>' in section
    links = set(re.findall(r'href="#(cell-[0-9-]+)"', section))
    assert len(links) == 7
    assert links <= set(re.findall(r'id="(cell-[0-9-]+)"', page))
    assert 'id="old-new"' not in FORMATS["html"].write(compare_many((OLD,))).decode()


def test_the_chart_of_changes_has_a_line_for_each_pair_and_words_for_who_cannot_see_it():
    panel = CHARTS["changes"].panels(compare_many((OLD, NEW)))[0]
    assert "up +50 % better; down -20 % worse" in panel.about
    drawn = next(panel_svgs([panel], 1))
    for words in ("new is better", "new is worse", "not told apart", "down  -20 %", "✗ no number", "95 % interval"):
        assert f"{words}</text>" in drawn
    assert CHARTS["changes"].panels(compare_many((OLD,))) == []


def test_a_condition_is_met_by_what_is_surely_worse_or_has_lost_its_number():
    pairs = compare_many((OLD, NEW)).pairs
    assert failing(pairs, 0.05) == ["down under w is worse: -20 %", "gone under w lost its number: new was not measured"]
    assert len(failing(pairs, 0.25)) == 1


@pytest.mark.parametrize("words", ["", "worse", "worse > 5", "worse < 5 %", "better > 5%", "worse > -5%", "worse > 5 % x"])
def test_a_condition_that_is_not_understood_is_refused(words):
    assert parse_condition("worse>5%") == 0.05
    with pytest.raises(ProblemError, match="--fail-if"):
        parse_condition(words)


LONG = "raidz2-recordsize-128k-compression-lz4-atime-off-primarycache-metadata"


def long_names(count=5):
    rates = {LONG: 300_000, f"{LONG}-2": 2_000_000, "raid10": 1_500_000}
    runs = [of(run, **{name: [rate * (1 + n / 500) * (1 + shift) for n in range(count)] for name, rate in rates.items()})
            for run, shift in (("aaaaaaaa", 0), ("bbbbbbbb", 0.3))]  # fmt: skip
    return compare_many(runs)


def test_long_names_make_no_table_wider_than_80_columns_and_are_whole_in_its_legend():
    shown = lines(long_names())
    assert all(cell_len(line.words) <= 80 for line in shown)
    assert f"[1] {LONG}" in [line.words for line in shown]
    assert f"[2] {LONG}-2" in [line.words for line in shown]
    rows = [line.words for line in shown if "better" in line.words]
    assert [row.split()[0] for row in rows if "raid10" in row] == ["raid10"]
    cut = next(row for row in rows if "[1]" in row).split()[0]
    head, _, tail = cut.partition("…")
    assert LONG.startswith(head)
    assert LONG.endswith(tail)
    assert head.endswith("-")
    assert LONG.removesuffix(tail).endswith("-")


def test_short_names_have_one_line_for_each_pair():
    shown = lines(compare_many((OLD, NEW)))
    assert [line.words.split()[0] for line in shown] == ["LAYOUT", "up", "down", "same", "gone"]
    assert [line.head for line in shown] == [True, False, False, False, False]
    assert shown[-1].words.endswith("no number")


def test_pairs_of_three_rounds_say_once_that_they_have_no_verdict():
    found = long_names(count=3)
    for name in ("table", "md", "html"):
        assert FORMATS[name].write(found).decode().count("too few rounds for a verdict") - (name != "table") == 1
    assert not any("too few" in line.words for line in lines(found))
    assert warning(found.pairs).startswith("3 of 3 pairs can never fail --fail-if: too few rounds")
    assert warning(compare_many((OLD, NEW)).pairs) == ""


def loads(run, rates, note=""):
    """A result with five rounds of each layout under each workload; every cell has a note."""
    marks = (Mark("simulated", note, "caution"),) if note else ()
    cells = [msgspec.structs.replace(cell(layout, load, rate + n, round=n), marks=marks)
             for (layout, load), rate in rates.items() for n in range(1, 6)]  # fmt: skip
    names = tuple(dict.fromkeys(load for _, load in rates))
    made = result(*cells, order=tuple(dict.fromkeys(layout for layout, _ in rates)), loads=names)
    return msgspec.structs.replace(made, run=f"20260131-120000-{run}")


def test_the_answer_names_each_layout_once_with_its_changes_and_what_is_noted_at_every_number():
    old = loads("aaaaaaaa", {(layout, load): 5000 for layout in ("a", "b") for load in "vw"}, "made up")
    new = loads("bbbbbbbb", {("a", "v"): 4000, ("a", "w"): 3000, ("b", "v"): 5000, ("b", "w"): 6000}, "made up")
    assert list(verdict_lines(compare_many((old, new)))) == [
        "new is better in 1, worse in 2 and not told apart in 1 of 4 pairs",
        "better: b under w (+20 %)",
        "worse: a under both workloads (-40 to -20 %)",
        "not told apart: +0.0 %",
        "⚠ every number: made up [simulated]",
    ]
    other = loads("bbbbbbbb", {("a", "v"): 4000, ("b", "w"): 6000}, "made up slowly")
    said = list(verdict_lines(compare_many((old, other))))
    assert said[-2:] == ["⚠ every number of result 1: made up [simulated]",
                         "⚠ every number of result 2: made up slowly [simulated]"]  # fmt: skip
    written = FORMATS["table"].write(compare_many((old, new))).decode()
    assert written.count("made up") == 1


def test_many_layouts_that_only_one_result_has_are_named_once_below_the_table():
    here, there = ({(f"{name}{number}", load): 100 for number in range(4) for load in "vw"} for name in "xy")
    both = {("a", load): 100 for load in "vw"}
    found = compare_many((loads("aaaaaaaa", here | both), loads("bbbbbbbb", there | both)))
    assert [line.words.split()[0] for line in lines(found)] == ["LAYOUT", "a", "a"]
    written = FORMATS["table"].write(found).decode()
    assert "✗ x0, x1, x2, x3: new was not measured" in written
    assert "16 pairs without a number on one side" in written
