"""One name and another definition in two results: the option and both values are in the comparison."""

import msgspec
import pytest
from test_comparing import cell, result

from raidtui.results.compare import compare_many
from raidtui.results.formats import FORMATS

MD = {"level": "raid5", "on": "@data", "chunk": "64KiB"}
FIO = {"rw": "write", "bs": "4KiB"}


def made(run, layout, workload=FIO, rates=(100, 101, 99, 102)):
    one = result(*(cell("raid5", "w", rate, round=n) for n, rate in enumerate(rates, 1)), cell("disk", "w", 50))
    scenario = {"name": "t", "layouts": {"raid5": {"md": layout}, "disk": {"disk": {"on": "@data"}}},
                "workloads": {"w": {"fio": workload}}}  # fmt: skip
    return msgspec.structs.replace(one, run=f"20260131-120000-{run}", scenario=scenario)


OLD = made("aaaaaaaa", MD)
CHUNK = "layout raid5 is not the same in all results: md.chunk is 64KiB in result 1, 512KiB in result 2"


@pytest.mark.parametrize("baseline", ["", "raid5:1", "disk:1"])
def test_another_chunk_under_the_same_name_is_said_with_both_values(baseline):
    found = compare_many((OLD, made("bbbbbbbb", {**MD, "chunk": "512KiB"})), baseline)
    assert CHUNK in found.notes
    for name in ("table", "md", "html"):
        assert CHUNK in FORMATS[name].write(found).decode()


def test_it_differs_from_an_explicit_baseline_of_its_name_too():
    new = made("bbbbbbbb", {**MD, "chunk": "512KiB"})
    row = next(row for row in compare_many((OLD, new), "raid5:1").rows if row.label == "raid5:2")
    assert ("md.chunk", "512KiB", "64KiB") in row.confounders
    pair = next(pair for pair in compare_many((OLD, new)).pairs if pair.layout == "raid5")
    assert ("md.chunk", "512KiB", "64KiB") in pair.confounders


def test_another_level_under_the_same_name_is_said():
    found = compare_many((OLD, made("bbbbbbbb", {**MD, "level": "raid6"})), "raid5:1")
    assert "layout raid5 is not the same in all results: md.level is raid5 in result 1, raid6 in result 2" in found.notes


def test_another_data_pattern_under_the_same_name_is_said_with_both_values():
    found = compare_many((OLD, made("bbbbbbbb", MD, {**FIO, "buffer_pattern": "0xdeadbeef"})))
    assert ("workload w is not the same in all results: fio.buffer_pattern is not given in result 1, 0xdeadbeef in result 2"
            in found.notes)  # fmt: skip


def test_values_of_many_results_are_said_once_with_their_results():
    others = [made(f"{n:08d}", {**MD, "chunk": "512KiB"}) for n in range(3)]
    notes = compare_many((OLD, *others)).notes
    assert "layout raid5 is not the same in all results: md.chunk is 64KiB in result 1, 512KiB in results 2-4" in notes


def test_what_is_meant_to_differ_and_names_of_roles_are_not_said():
    new = made("bbbbbbbb", {**MD, "chunk": "512KiB", "on": "@disks"})
    notes = compare_many((OLD, new), meant=frozenset({"md.chunk"})).notes
    assert not [note for note in notes if "not the same" in note]
    assert not [note for note in compare_many((OLD, made("bbbbbbbb", MD))).notes if "not the same" in note]
