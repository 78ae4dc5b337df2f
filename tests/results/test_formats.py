"""Several results in one comparison, and what every format makes of it, byte for byte.

`RAIDTUI_WRITE_GOLDEN=1 pytest tests/results/test_formats.py` writes the files anew; look at the difference.
"""

import csv
import gzip
import io
import json
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from test_comparing import cell, result

from raidtui.model.problem import Problem
from raidtui.model.result import Built, Machine
from raidtui.results.compare import compare, compare_many
from raidtui.results.extract import Extract, Point
from raidtui.results.formats import FORMATS
from raidtui.results.formats.text import table_lines
from raidtui.results.lines import state_of, why
from raidtui.results.load import read_result

GOLDEN = Path(__file__).with_name("golden")
REAL = Path(__file__).parent.parent / "data" / "results"


def real(number):
    return read_result(gzip.decompress((REAL / f"quick-{number}.result.json.gz").read_bytes()))


def changed(one, **fields):
    return msgspec.structs.replace(one, **fields)


def two():
    failed = Built("b", 1, "failed", problem=Problem("tool-failed", "mdadm refused: a | b", exit=4))
    first = result(
        *(cell("a", "w", rate, round=n) for n, rate in enumerate((9000, 9100, 9500), 1)),
        *(cell("a", "bulk", rate, block=1 << 20, round=n) for n, rate in enumerate((2600, 2700), 1)),
        layouts=[failed], loads=("w", "bulk"),
    )  # fmt: skip
    second = result(
        cell("a", "w", 4500), cell("a", "bulk", 1300, block=1 << 20, reasons=["the array resynced"]),
        cell("c", "w", 10), cell("c", "w", 12, round=2, reasons=["a disk was lost", "=1+1"]),
        order=("a", "c"), loads=("w", "bulk"),
    )  # fmt: skip
    return first, changed(second, machine=Machine("other", "6.13"), run="20260201-120000-zzzz9999")


PLAIN = ("table", "csv", "json", "md")
"""Formats whose every byte is kept; the others are made with libraries and looked at in test_snapshots.py."""


@pytest.mark.parametrize("name", PLAIN)
def test_a_format_gives_the_bytes_it_gave(name):
    found = FORMATS[name].write(compare_many(two()))
    golden = GOLDEN / f"two{FORMATS[name].suffix}"
    if os.environ.get("RAIDTUI_WRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_bytes(found)
    assert found == golden.read_bytes()


@pytest.mark.parametrize("name", ["table", "md"])
def test_two_results_that_are_no_pair_give_the_table_they_gave(name):
    first, second = two()
    other = changed(second, scenario={**second.scenario, "name": "other"})
    found = FORMATS[name].write(compare_many((first, other)))
    golden = GOLDEN / f"beside{FORMATS[name].suffix}"
    if os.environ.get("RAIDTUI_WRITE_GOLDEN"):
        golden.write_bytes(found)
    assert found == golden.read_bytes()


def test_few_layouts_under_many_workloads_are_columns_where_rows_do_not_fit():
    loads = [f"rand-write-{n}k-q32" for n in range(4, 12)]
    cells = [cell(name, load, 1000 + n, round=r) for name in "ab" for load in loads for n, r in ((0, 1), (5, 2))]
    found = compare(result(*cells, loads=loads))
    table = [line.words for line in table_lines(found, 80) if not line.sentence]
    assert [line.split()[0] for line in table] == ["WORKLOAD", *loads, "geomean"]
    assert table[0].split() == ["WORKLOAD", "a", "b"]
    assert all(cell_len(line) <= 80 for line in table)
    assert next(line.words for line in table_lines(found, 400) if not line.sentence).split()[:2] == ["LAYOUT", loads[0]]
    written = FORMATS["md"].write(found).decode()
    assert "| Workload | **a** | b |\n|:---|---:|---:|\n| rand-write-4k-q32 IOPS | 1,002 " in written
    few = compare(result(*(cell(name, load, 5) for name in "ab" for load in loads[:2]), loads=loads[:2]))
    assert "| Layout | rand-write-4k-q32 IOPS |" in FORMATS["md"].write(few).decode()


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_can_write_a_comparison_of_nothing(name):
    assert FORMATS[name].write(compare(result()))


def test_a_layout_that_two_results_have_is_told_apart_by_the_results_number():
    assert [row.label for row in compare_many(two()).rows] == ["a:1", "b", "a:2", "c"]


def called(name, factor=1.0, workload="w"):
    """A table of somebody else's, in which a layout has this name: five rounds."""
    rates = [1000 * factor * (1 + n / 100) for n in range(5)]
    points = tuple(Point(str(n), name, workload, n, iops=rate) for n, rate in enumerate(rates, 1))
    return Extract("table", points, layouts={name: {}}, workloads={workload: "table"}, imported=True)


def test_no_two_rows_and_no_two_columns_have_one_name():
    table, other, again = called("raid5:2"), called("raid5", 0.5), called("raid5", 0.9)
    found = compare_many([again, other, table, called("w", workload="w:1")])
    labels = [row.label for row in found.rows]
    assert labels == ["raid5:1", "raid5:2:2", "raid5:2", "w"]
    shares = [row.entries[0] for row in found.rows[1:3]]
    assert all(one.share_low < one.of_baseline < one.share_high for one in shares)
    assert found.workloads == ("w", "w:1")
    parts = compare_many([result(cell("disk", "w", 1, part="S1"), order=("disk",)), called("disk S1")])
    assert [row.label for row in parts.rows] == ["disk S1", "disk S1:2"]
    one, other = called("x"), msgspec.structs.replace(called("y"), workloads={"w": "another"})
    assert compare_many([one, other, called("z", workload="w:2")]).workloads == ("w:1", "w:2:2", "w:2")


def test_a_workload_is_one_column_where_it_was_the_same_workload():
    assert compare_many(two()).workloads == ("w", "bulk")


def test_workloads_of_one_name_that_differ_are_two_columns():
    one, other = result(cell("a", "w", 1)), result(cell("b", "w", 1))
    other.scenario["workloads"]["w"] = {"fio": {"bs": "8KiB"}}
    found = compare_many([one, other])
    assert found.workloads == ("w:1", "w:2")
    assert found.rows[1].entries[0] is None
    assert found.rows[1].entries[1].of_baseline is None


def test_a_rehearsal_is_never_set_against_a_measurement():
    found = compare_many([result(cell("a", "w", 1)), changed(result(cell("b", "w", 1)), rehearsal=True, run="other")])
    assert found.workloads == ("w:1", "w:2")
    assert found.notes == (
        "result 2 is a rehearsal (--quick): good for trying, not for comparing",
        "w:1 and w:2: of one name, but not the same workload, or not run the same way",
    )


def test_a_run_that_is_given_twice_is_said_to_be():
    one = result(cell("a", "w", 1))
    found = compare_many([one, changed(one, run="other"), one])
    assert found.notes == ("results 1, 3 are one and the same run: 20260131-120000-abcd1234",)


def test_a_cell_that_is_there_twice_is_said_to_be():
    found = compare(result(cell("a", "w", 1), cell("a", "w", 1), cell("b", "w", 1)))
    assert found.notes == ("in this result some cells are there more than once: there were fewer rounds than are counted",)


def test_a_baseline_without_a_valid_number_is_said_to_be_one():
    found = compare(result(cell("a", "w", 1), cell("b", "w", 2, reasons=["lost"])), "b")
    assert found.notes == ("b has no valid number above 0 in IOPS: nothing can be said in percent of it",)


def test_what_makes_results_unlike_each_other_is_said():
    assert compare_many(two()).notes == (
        "measured on different servers: h; other", "measured under different kernels: 6.12; 6.13",
    )  # fmt: skip


def test_shares_refer_to_the_baseline_across_results():
    found = compare_many(two(), "a:2")
    assert found.rows[0].entries[0].of_baseline == pytest.approx((9000 * 9100 * 9500) ** (1 / 3) / 4500)
    assert found.rows[0].entries[1].of_baseline is None  # the baseline's own cell is not valid


def test_every_number_of_a_result_is_in_a_comparison_with_itself():
    one = real(1)
    alone, twice = compare(one), compare_many([one, one])
    assert [r.entries for r in twice.rows[: len(alone.rows)]] == [r.entries for r in alone.rows]
    halves = twice.rows[: len(alone.rows)], twice.rows[len(alone.rows) :]
    assert [[e.median for e in r.entries] for r in halves[0]] == [[e.median for e in r.entries] for r in halves[1]]


def test_real_results_of_one_scenario_share_their_workloads():
    found = compare_many([real(1), real(2)])
    assert found.workloads == ("fsync-write-4k-t1q1", "seq-write-1m-q8")
    assert {"raid5:1", "raid5:2"} <= {row.label for row in found.rows}
    assert found.notes == ()


def test_an_invalid_cell_has_a_mark_and_no_percentage():
    found = compare_many(two())
    row, index = next((row, n) for row in found.rows for n in range(len(row.entries)) if state_of(row, n) == "invalid")
    bad = row.entries[index]
    assert (row.label, found.workloads[index], bad.median, bad.of_baseline) == ("a:2", "bulk", None, None)
    assert why(row, index) == "the array resynced"


def test_a_number_of_the_other_rate_is_not_called_invalid():
    ours = (Point("1", "a", "w", iops=5.0), Point("2", "c", "w", iops=6.0))
    iops_alone = Extract("t", ours, layouts={"a": {}, "c": {}}, workloads={"w": "w"}, imported=True)
    theirs = (Point("1", "b", "w", bytes_per_s=4e6),)
    bytes_alone = msgspec.structs.replace(iops_alone, points=theirs, layouts={"b": {}})
    comparison = compare_many([iops_alone, bytes_alone])
    row = next(row for row in comparison.rows if row.label == "b")
    found = row.entries[0]
    assert (state_of(row, 0), found.median, found.of_baseline, found.valid) == ("other rate", None, None, 1)
    for name in ("table", "md", "html"):
        text = FORMATS[name].write(comparison).decode()
        assert "other rate" in text
        assert "invalid" not in text
    assert FORMATS["xlsx"].write(comparison)


def test_csv_is_read_back_and_runs_no_formula():
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"].write(compare_many(two())).decode())))
    assert [row["iops_per_s"] for row in rows if (row["layout"], row["workload"]) == ("a:1", "w")] == [
        "9000",
        "9100",
        "9500",
    ]
    assert not any(value[:1] in ("=", "+", "-", "@") for row in rows for value in row.values())
    lost = next(row for row in rows if row["layout"] == "b")
    assert (lost["state"], lost["iops_per_s"], lost["reasons"]) == ("not built", "", "mdadm refused: a | b")


def test_csv_has_one_line_for_each_cell_and_units_in_its_header():
    comparison = compare_many([real(1), real(2)])
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"].write(comparison).decode())))
    assert len(rows) == len(real(1).cells) + len(real(2).cells)
    assert {"iops_per_s", "throughput_MB_per_s", "write_p99_us", "duration_s"} <= set(rows[0])
    assert {row["run"] for row in rows} == {real(1).run, real(2).run}
    assert all(row["command"].startswith("/usr/bin/fio ") and row["cell"] for row in rows)


def test_json_has_every_cell_with_its_run_and_its_command():
    document = json.loads(FORMATS["json"].write(compare_many([real(1), real(2)])))
    assert len(document["cells"]) == len(real(1).cells) + len(real(2).cells)
    assert document["cells"][0]["run"] == real(1).run
    assert document["cells"][0]["command"].startswith("/usr/bin/fio ")
    assert document["rows"][0]["entries"][0]["points"] == []


def test_json_is_plain_ascii_and_read_back():
    text = FORMATS["json"].write(compare_many(two())).decode()
    assert text.isascii()
    assert json.loads(text)["schema"] == "raidtui.comparison/1"


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_name_and_no_reason_breaks_a_format(title, reason):
    one = result(cell("a", "w", 5, reasons=[reason]), cell("b", "w", 7), cell("b", "w", 8, part=title))
    for made in map(FORMATS.get, PLAIN):
        text = made.write(compare(one)).decode()
        assert not {char for char in text if ord(char) < 32 and char not in "\n\r"}
    table = FORMATS["md"].write(compare(one)).decode().splitlines()
    assert len({line.replace("\\|", "").count("|") for line in table if line.startswith("|")}) == 1


def test_wide_letters_and_long_names_keep_columns_in_line():
    long = "L" * 300
    named = [*map(called, ("存储阵列五", "re\u0301sume\u0301", f"{long}1", f"{long}2", "a"))]
    head, *rows = [line.words for line in table_lines(compare_many(named), 120) if not line.sentence]
    assert {cell_len(line) for line in (head, *rows)} == {cell_len(head)}
    assert cell_len(head) < 120
    assert len({row.split()[0] for row in rows}) == 5


def test_names_leave_room_for_numbers_and_are_never_taken_for_marks():
    wide = compare(result(*(cell(name, "w", 5) for name in ("L" * 50, "[2]", "⚠ mind")), order=("L" * 50, "[2]", "⚠ mind")))
    table = [line for line in table_lines(wide, 60) if not line.sentence]
    assert all(cell_len(line.words) <= 60 for line in table)
    assert [line.words.split()[0] for line in table][2:] == ["[2]", "⚠"]


@given(st.integers(20, 200))
def test_a_table_is_no_wider_than_it_has_to_be(width):
    found = table_lines(compare(two()[0]), width)
    assert all(len(line.words) <= max(width, 40) for line in found if not line.sentence)
