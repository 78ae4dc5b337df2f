"""A number and its percentage in one cell, and what is said where a table cannot be read."""

import pytest

from raidtui.foreign.columns import column_mapping
from raidtui.foreign.documents import read_table
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source
from raidtui.model.problem import ProblemError


def read(text, name="t.md"):
    return read_table(Source(name, text.encode()))


def found(text):
    return [(f.code, f.published) for f in lint(read(text))]


def refused(text, name="t.md"):
    with pytest.raises(ProblemError) as caught:
        read(text, name)
    return caught.value.problems[0]


@pytest.mark.parametrize(
    "text",
    [
        "| Layout | 4k randread IOPS | 4k randwrite IOPS |\n|---|---|---|\n| a | 800000 (100%) | 600000 (100%) |\n"
        "| b | 700000 ({}%) | 56000 (9.3 %) |\n",
        "layout|test|IOPS (% of a)\na|randread 4k|800000 (100%)\nb|randread 4k|700000 ({}%)\n",
        "test|a|b\nrandread 4k (IOPS)|800000 (100%)|700000 ({}%)\n",
    ],
)
def test_a_percentage_behind_its_number_is_of_it(text):
    assert found(text.format("87.5")) == []
    assert found(text.format("82.5")) == [("percent-mismatch", 82.5)]


def test_a_spread_behind_its_number_is_no_share():
    text = "# baseline: a\nlayout|test|IOPS\na|4k read|800000 (2%)\nb|4k read|700000 (3%)\n"
    assert refused(text).message == "'800000 (2%)' is no number"


def test_a_markdown_table_is_refused_with_the_reason_of_its_reader():
    problem = refused("Results\n\n| Test | raid0 | raid5 |\n|---|---|---|\n| seq read 1M | 12411.3 | 10288.7 |\n")
    assert (problem.message, problem.place) == ("nothing says which unit 12411.3 has", "t.md:5")


def test_what_separates_cells_is_said():
    problem = refused("Layout  Test    IOPS\nraid0   read4k  402118\n", "t.txt")
    assert "between commas, semicolons, tabs or bars, not between spaces" in problem.remedy


def test_an_error_says_what_was_noted_before_it():
    message = refused("layout,workload,IOPS\nraid0,rr 4k,100000,7,8\nraid5,rr 4k\n", "t.csv").message
    assert message.startswith("no number was found. Noted before: t.csv:2: the row has 5 cells")


@pytest.mark.parametrize("word", ["bandwidth:furlongs=Speed", "latency:weeks=Wait", "iops:x=Ops", "layout:x=Setup"])
def test_a_unit_that_nobody_knows_is_refused_at_once(word):
    with pytest.raises(ProblemError, match="is not a unit of it"):
        column_mapping([word])


def test_units_of_mapped_columns():
    words = ["bandwidth:MiB/s=Speed", "latency:us=Wait", "iops:kIOPS=Ops", "share:raid0=Part", "layout=Setup"]
    mapping = column_mapping(words)
    assert mapping[2] == ("iops:kIOPS", "Ops")
    table = read_table(Source("t.csv", b"Setup,Ops\na,1.5\n", (("layout", "Setup"), ("iops:kIOPS", "Ops"))))
    assert [f.value for f in table.figures] == [1500]
