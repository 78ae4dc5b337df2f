"""Rows with the same layout and workload: rounds, parts of the configuration, or a question."""

import pytest

from raidtui.foreign.documents import read_table
from raidtui.foreign.sources import Source
from raidtui.model.problem import ProblemError


def read(text, *mapping):
    return read_table(Source("t.csv", text.encode(), mapping))


def numbers(table):
    return {(f.layout, f.workload, f.round): f.value for f in table.figures}


@pytest.mark.parametrize(
    "heading", ["kernel", "Kernel version", "fio version", "ядро", "Betriebssystem", "noyau", "内核", "host"]
)
def test_surroundings_that_differ_are_part_of_the_layout_even_if_they_look_like_numbers(heading):
    table = read(f"layout,test,{heading},IOPS\nraid0,rr 4k,6.1,100\nraid0,rr 4k,6.8,110\nraid5,rr 4k,6.1,90\n")
    assert numbers(table) == {("raid0 6.1", "rr 4k", 1): 100, ("raid0 6.8", "rr 4k", 1): 110, ("raid5 6.1", "rr 4k", 1): 90}


def test_surroundings_that_differ_between_layouts_are_said_and_those_that_do_not_are_not():
    text = "layout,test,kernel,IOPS\nraid0,rr 4k,6.1,100\nraid5,rr 4k,{},90\n"
    assert list(read(text.format("6.8")).layouts) == ["raid0 6.1", "raid5 6.8"]
    assert list(read(text.format("6.1")).layouts) == ["raid0", "raid5"]


@pytest.mark.parametrize(("text", "layouts"), [
    ("test,kernel,raid0 MB/s,raid5 MB/s\n1m read,6.1,100,80\n1m read,6.8,101,82\n",
     ["raid0 6.1", "raid5 6.1", "raid0 6.8", "raid5 6.8"]),
    ("test,zone,raid0 MB/s,raid5 MB/s\n1m read,outer,100,80\n1m read,inner,101,82\n",
     ["raid0 outer", "raid5 outer", "raid0 inner", "raid5 inner"]),
    ("layout,kernel,4k read IOPS,4k write IOPS\nraid0,6.1,100,80\nraid0,6.8,101,82\n", ["raid0 6.1", "raid0 6.8"]),
])  # fmt: skip
def test_rows_are_told_apart_beside_columns_of_layouts_too(text, layouts):
    table = read(text)
    assert list(table.layouts) == layouts
    assert {f.round for f in table.figures} == {1}


def test_a_kernel_is_no_layout_of_a_table_with_the_unit_in_the_corner():
    table = read("MB/s,kernel,raid0,raid5\n1m read,6.1,100,80\n1m read,6.8,101,82\n")
    assert numbers(table) == {
        ("raid0", "1m read 6.1", 1): 100, ("raid5", "1m read 6.1", 1): 80,
        ("raid0", "1m read 6.8", 1): 101, ("raid5", "1m read 6.8", 1): 82,
    }  # fmt: skip


def test_a_mode_is_part_of_the_workload():
    table = read("layout,test,mode,IOPS\nraid0,rr 4k,sync,100\nraid0,rr 4k,async,110\n")
    assert numbers(table) == {("raid0", "rr 4k sync", 1): 100, ("raid0", "rr 4k async", 1): 110}


@pytest.mark.parametrize(("heading", "one", "other"), [
    ("date", "2024-01-01", "2024-06-01"), ("Datum", "1.1.2024", "1.6.2024"), ("Дата", "01.01.2024", "01.06.2024"),
    ("timestamp", "2024-01-01 10:00", "2024-06-01 10:00"), ("recovery", "10", "20"), ("sunit", "64", "512"),
])  # fmt: skip
def test_a_column_that_may_be_anything_is_asked_for(heading, one, other):
    text = f"layout,test,{heading},IOPS\nraid0,rr 4k,{one},100\nraid0,rr 4k,{other},110\n"
    with pytest.raises(ProblemError) as refused:
        read(text)
    (problem,) = refused.value.problems
    assert (problem.code, problem.place) == ("table-unreadable", "t.csv:3")
    assert f"line 2 and another {heading!r}" in problem.message
    assert f"--map 'round={heading}'" in problem.remedy
    assert list(numbers(read(text, ("round", heading))).values()) == [100, 110]
    assert {key[:2] for key in numbers(read(text, ("round", heading)))} == {("raid0", "rr 4k")}
    layouts, workloads = (numbers(read(text, (role, heading))) for role in ("layout", "workload"))
    assert layouts == {(f"raid0 {one}", "rr 4k", 1): 100, (f"raid0 {other}", "rr 4k", 1): 110}
    assert workloads == {("raid0", f"rr 4k {one}", 1): 100, ("raid0", f"rr 4k {other}", 1): 110}


def test_ignored_by_a_mapping_is_rounds():
    text = "layout,test,date,IOPS\nraid0,rr 4k,2024-01-01,100\nraid0,rr 4k,2024-06-01,110\n"
    table = read(text, ("ignored", "date"))
    assert numbers(table) == {("raid0", "rr 4k", 1): 100, ("raid0", "rr 4k", 2): 110}
    assert "its rounds" in table.notes[0]


@pytest.mark.parametrize(("heading", "one", "other"), [
    ("Time (s)", "60.1", "60.2"), ("timestamp", "2024-01-01 10:00", "2024-01-01 11:00"), ("cpu load", "2", "3"),
    ("ctx switches", "100", "200"), ("IOPS std", "3", "4"),
])  # fmt: skip
def test_what_is_measured_beside_the_rates_differs_between_rounds(heading, one, other):
    table = read(f"layout,test,{heading},IOPS\nraid0,rr 4k,{one},100\nraid0,rr 4k,{other},110\n")
    assert numbers(table) == {("raid0", "rr 4k", 1): 100, ("raid0", "rr 4k", 2): 110}


def test_a_table_that_says_the_round_is_not_asked():
    table = read("layout,test,recovery,round,IOPS\nraid0,rr 4k,10,1,100\nraid0,rr 4k,20,2,110\n")
    assert [f.round for f in table.figures] == [1, 2]


def test_words_that_are_part_of_no_name_are_named():
    table = read("layout,test,location,IOPS\nraid0,rr 4k,berlin,100\nraid5,rr 4k,paris,110\n")
    assert table.notes == (
        "t.csv:1: 'location' differs between rows and was not read; --map layout=location makes it part of the layout.",
    )


def test_several_columns_may_be_the_layout():
    table = read("Setup,Kern,test,IOPS\nraid0,a,rr 4k,1\nraid0,b,rr 4k,3\n", ("layout", "Setup"), ("layout", "Kern"))
    assert list(table.layouts) == ["raid0 a", "raid0 b"]
