"""Tables that hold percentages and no rates: compared where all are of one layout, and it is said."""

from pathlib import Path

import msgspec
import pytest
from test_comparing import cell, result

from raidtui.foreign.documents import read_table
from raidtui.foreign.imported import aligned, extract_of
from raidtui.foreign.lint import lint
from raidtui.foreign.sources import Source
from raidtui.model.table import Table
from raidtui.results.compare import compare_many
from raidtui.results.extract import extract
from raidtui.results.formats import FORMATS

PUBLISHED = Path(__file__).parent.parent.parent / "scenarios" / "published"


def read(text, name="t.csv"):
    return read_table(Source(name, text.encode(), ()))


def shares(comparison, index=0):
    return {row.label: entry and (entry.median, entry.of_baseline) for row in comparison.rows
            for entry in [row.entries[index]]}  # fmt: skip


def test_percentages_alone_are_compared_and_it_is_said_whose_they_are():
    table = msgspec.json.decode((PUBLISHED / "zpool-performances.json").read_bytes(), type=Table)
    found = compare_many([extract_of(table)])
    assert (found.units, found.baseline) == (("%", "%"), "Simple")
    assert shares(found)["Raid-Z"] == (78, 0.78)
    assert "this result: random-read, random-write: percentages of Simple alone, no rates" in found.notes
    other = compare_many([extract_of(table)], "Mirror")
    assert shares(other, 1)["Simple"] == (100, pytest.approx(100 / 81))


@pytest.mark.parametrize("name", ["table", "md", "csv", "json", "html", "xlsx"])
def test_every_format_has_them(name):
    table = msgspec.json.decode((PUBLISHED / "zpool-performances.json").read_bytes(), type=Table)
    data = FORMATS[name].write(compare_many([extract_of(table)]))
    assert name == "xlsx" or b"709" in data


def test_rates_count_where_there_are_some():
    table = read("layout,test,IOPS,% of a\na,rand read 4k qd=1,1000,100%\nb,rand read 4k qd=1,500,50%\n")
    found = compare_many([extract_of(table)])
    assert found.units == ("IOPS",)
    assert not any("percentages" in note for note in found.notes)


def test_percentages_of_different_layouts_are_left_out_and_it_is_said():
    table = msgspec.json.decode((PUBLISHED / "zpool-performances.json").read_bytes(), type=Table)
    figures = tuple(msgspec.structs.replace(one, of="Mirror") if one.layout == "Raid-Z" else one for one in table.figures)
    found = compare_many([extract_of(msgspec.structs.replace(table, figures=figures))])
    assert found.workloads == ()
    assert any("percentages of different layouts (Simple, Mirror); they were not compared" in note for note in found.notes)
    unknown = tuple(msgspec.structs.replace(one, of="") for one in table.figures)
    found = compare_many([extract_of(msgspec.structs.replace(table, figures=unknown))])
    assert any("nothing says of which layout" in note for note in found.notes)


def test_percentages_never_stand_in_the_column_of_a_rate_or_of_another_tables_percentages():
    one = read("%,a,b\nrandom read 4k qd=32 jobs=1,100%,50%\nrandom write 4k qd=32 jobs=1,100%,60%\n", "one.csv")
    two = read("%,c,d\nrandom read 4k qd=32 jobs=1,100%,70%\nrandom write 4k qd=32 jobs=1,100%,80%\n", "two.csv")
    rates = read("IOPS,e\nrandom read 4k qd=32 jobs=1,1000\n", "three.csv")
    scenario = {"name": "s", "layouts": {}, "workloads": {"w": {"fio": {"rw": "randread", "bs": "4KiB", "iodepth": 32}}}}
    run = extract(msgspec.structs.replace(result(cell("f", "w", 900)), scenario=scenario))
    found = compare_many(aligned([run, *map(extract_of, (one, two, rates))], {1: one, 2: two, 3: rates}))
    by_unit = {}
    for index, unit in enumerate(found.units):
        by_unit.setdefault(unit, []).append({row.label for row in found.rows if row.entries[index] is not None})
    assert by_unit == {"IOPS": [{"f", "e"}], "%": [{"a", "b"}, {"a", "b"}, {"c", "d"}, {"c", "d"}]}


def test_they_are_still_held_against_numbers_by_lint():
    table = read("layout,test,IOPS,% of a\na,rand read 4k qd=1,1000,100%\nb,rand read 4k qd=1,500,60%\n")
    assert [one.code for one in lint(table)] == ["percent-mismatch"]
