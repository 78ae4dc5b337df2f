"""Which headings are read as what, and which are named in a note and left out."""

import pytest

from raidtui.results.imports import Source
from raidtui.results.imports.document import read_table
from raidtui.results.imports.headings import read_heading
from raidtui.results.lint import lint


def read(text):
    return read_table(Source("t.csv", text.encode()))


@pytest.mark.parametrize(
    "heading",
    ["usable capacity %", "cache hit %", "read %", "% of reads", "iowait %", "fill %", "scaling efficiency (%)", "random %",
     "% full", "parity (%)", "Scrub %"],
)  # fmt: skip
def test_percentages_of_something_else_are_no_shares_and_are_named(heading):
    table = read(f"layout,{heading},workload,IOPS\na,100,4k read,402000\nb,50,4k read,399000\n")
    assert {f.metric for f in table.figures} == {"iops"}
    assert table.notes == (f"t.csv:1: {heading!r} is nothing that is compared here; it was not read.",)


@pytest.mark.parametrize(
    "heading",
    ["%", "% of a", "vs a", "relative", "Performance (%)", "% of baseline", "% of baseline (a)", "Performance vs a (%)",
     "a %", "IOPS, % of a", "read % of a", "rel. %", "share"],
)  # fmt: skip
def test_percentages_of_the_throughput_are_shares(heading):
    table = read(f'layout,workload,IOPS,"{heading}"\na,4k read,402000,100\nb,4k read,201000,75\n')
    assert table.notes == ()
    assert [(f.code, f.published) for f in lint(table)] == [("percent-mismatch", 75)]


@pytest.mark.parametrize(
    ("heading", "statistic"),
    [("p99 (us)", "p99"), ("lat p999 us", "p99.9"), ("p99.9, us", "p99.9"), ("99,9th percentile latency us", "p99.9"),
     ("p50 us", "p50"), ("latency (us)", "mean"), ("max latency us", "max"), ("Resp time (us)", "mean")],
)  # fmt: skip
def test_latencies_by_what_they_tell(heading, statistic):
    found = read_heading(heading)
    assert (found.metric, found.statistic, found.unit) == ("latency", statistic, "us")


@pytest.mark.parametrize("heading", ["p99.99 (us)", "p9999 us", "99.95th lat us", "p95", "lat p99.5 us"])
def test_percentiles_that_have_no_place_are_not_those_next_to_them(heading):
    text = f'layout,workload,IOPS,"{heading}"\na,4k read,402000,1200\n'
    table = read(text)
    assert [f.metric for f in table.figures] == ["iops"]
    assert table.notes == (f"t.csv:1: {heading!r} is nothing that is compared here; it was not read.",)
