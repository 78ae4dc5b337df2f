"""Tables of readmes and reports as they were found: no number is lost, no layout is made up, and planted errors are found.

In tests/data/imports/readmes, cut to a table or two each:

- chunk.md: fio by chunk size, block size and pattern (`--iodepth=8 --numjobs=1`), from a report on a filesystem.
- ext4.md: ext2 against ext4, and a table of latencies without a workload, from the readme of an operating system.
- shim.md: a kernel client against a shim, with a column `delta`, from a test report of a storage client.
- unixbench.md: github.com/yunionio/docs, content/zh/docs/onpremise/vminstance/tutorial/perf-test.md.
"""

from pathlib import Path

import pytest

from raidtui.foreign.documents import read_as_table
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source
from raidtui.model.problem import ProblemError

FOLDER = Path(__file__).parents[1] / "data" / "imports" / "readmes"


def text_of(name):
    return (FOLDER / name).read_text()


def read(text):
    return read_as_table(Source("t.md", text.encode()))


def findings(text):
    return [one.code for one in lint(read(text))]


def loaded(text):
    """The table with queue depth and jobs, which the report has in its command."""
    head, rule, *rows = text.splitlines()
    return "\n".join([f"{head} QD | jobs |", f"{rule}---|---|", *(f"{row} 8 | 1 |" for row in rows)]) + "\n"


def planted(text, column, change):
    """Yield the table with one number of a column changed, for each of its rows."""
    lines = text.splitlines()
    for at in range(2, len(lines)):
        cells = lines[at].split("|")
        for wrong in change(cells[column].strip()):
            changed = [*cells[:column], f" {wrong} ", *cells[column + 1 :]]
            yield "\n".join([*lines[:at], "|".join(changed), *lines[at + 1 :]]) + "\n"


@pytest.mark.parametrize("name", ["chunk.md", "ext4.md", "shim.md", "unixbench.md"])
def test_nothing_is_found_in_what_was_published(name):
    assert findings(text_of(name)) == []
    if name == "chunk.md":
        assert findings(loaded(text_of(name))) == []


def test_mean_ms_beside_operations_is_a_latency():
    figures = [(f.value, f.unit, f.statistic) for f in read(text_of("chunk.md")).figures if f.metric == "latency"]
    assert figures[:2] == [(5.037, "ms", "mean"), (6.586, "ms", "p99")]
    with pytest.raises(ProblemError, match=r"nothing says which unit 3\.2 has"):
        read("| Command | Mean [ms] |\n|---|---|\n| `ls` | 3.2 |\n")


def test_a_table_without_a_workload_does_not_keep_the_others_from_being_read():
    table = read(text_of("ext4.md"))
    assert len([f for f in table.figures if f.metric == "bandwidth"]) == 6
    assert "t.md:14: no column says what was measured; this table was not read." in table.notes


def test_a_column_of_percentages_beside_layouts_is_no_layout():
    table = read(text_of("unixbench.md"))
    assert list(table.layouts) == ["物理机", "虚拟机"]
    assert any("虚拟化开销" in note and "it was not read" in note for note in table.notes)


def test_a_column_without_numbers_does_not_hide_whose_the_changes_are():
    shares = [(f.layout, f.of, f.value) for f in read(text_of("shim.md")).figures if f.metric == "share"]
    assert shares[0] == ("shim (libaio)", "kernel (libaio)", 114.4)


@pytest.mark.parametrize(("right", "wrong"), [("+14.4 %", "+41.4 %"), ("354.8 kIOPS", "345.8 kIOPS"), ("−38.0", "−83.0")])
def test_a_wrong_change_is_found(right, wrong):
    assert findings(text_of("shim.md").replace(right, wrong)) == ["percent-mismatch"]


def test_a_wrong_unit_of_a_column_is_found():
    assert set(findings(text_of("chunk.md").replace("MiB/s", "MB/s"))) == {"unit-slip"}


def swapped(digits):
    """Neighbouring digits exchanged, where that is 2 % or more."""
    for at in range(len(digits) - 1):
        wrong = digits[:at] + digits[at + 1] + digits[at] + digits[at + 2 :]
        if wrong[0] != "0" and abs(int(wrong) / int(digits) - 1) >= 0.02:
            yield wrong


def times(factor, digits):
    return lambda number: [f"{float(number) * factor:.{digits}f}"]


@pytest.mark.parametrize(("column", "change", "count"), [
    pytest.param(4, swapped, 19, id="swapped digits"), pytest.param(5, times(1.048576, 1), 12, id="MB/s among MiB/s"),
    pytest.param(5, times(1.1, 1), 12, id="10 % off"), pytest.param(5, times(1000, 0), 12, id="a thousand times"),
    pytest.param(6, times(1.3, 3), 12, id="latency 30 % up"), pytest.param(6, times(10, 3), 12, id="latency ten times"),
])  # fmt: skip
def test_one_planted_error_is_found_wherever_it_stands(column, change, count):
    texts = list(planted(loaded(text_of("chunk.md")), column, change))
    assert (len(texts), [text for text in texts if not findings(text)]) == (count, [])
