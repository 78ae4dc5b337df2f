"""Little's law: operations per second × mean latency is at most what was in flight."""

from raidtui.foreign.documents import read_table
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source

ROWS = """config,test,IOPS,{heading}
raid5,randread 4k {depth},25600,{first}
raid10,randread 4k {depth},51200,{second}
"""


def findings(first, second, depth="T8Q32", heading="mean latency (ms)"):
    text = ROWS.format(first=first, second=second, depth=depth, heading=heading)
    return [(f.code, f.published, f.computed) for f in lint(read_table(Source("x.csv", text.encode())))]


def test_latency_and_operations_that_need_more_in_flight_than_there_was():
    assert findings(10, 5) == []
    assert findings(10, 10) == [("latency-depth", 10, 5)]
    assert findings(10, 5000) == [("latency-depth", 5000, 5)]


def test_fewer_in_flight_than_allowed_is_no_contradiction():
    assert findings(1, 0.5) == []


def test_what_is_not_said_and_what_is_no_mean_is_not_judged():
    assert findings(10, 10, depth="") == []
    assert findings(10, 10, heading="p99 latency (ms)") == []


def test_rounding_and_ten_percent_are_forgiven():
    assert findings(10.9, 5.4) == []
