"""Findings of one kind: one sentence that says how many there are, of how many, and where all of them are."""

import pytest

from raidtui.foreign.documents import read_table
from raidtui.foreign.lint import grouped, lint
from raidtui.foreign.sources import Source

HEAD = "layout,workload,IOPS,MB/s\n"
MIB = "are MiB/s (2²⁰ bytes), not MB/s (10⁶ bytes)."


def row(layout, workload, iops, mb_s):
    return f"{layout},{workload},{iops},{mb_s:.2f}\n"


def right(layout, workload, iops):
    return row(layout, workload, iops, iops * 4096 / 1e6)


def slipped(layout, workload, iops):
    return row(layout, workload, iops, iops / 256)


def sentences(text):
    return [group.sentence for group in grouped(lint(read_table(Source("x.csv", text.encode()))))]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([slipped("a", "read 4k", 51700), slipped("b", "read 4k", 53400)], f"All 2 numbers in MB/s {MIB}"),
        (
            [slipped("a", "read 4k", 51700), slipped("b", "read 4k", 53400), right("a", "write 4k", 30100)],
            f"All 2 numbers in MB/s of read 4k {MIB}",
        ),
        (
            [slipped("a", "read 4k", 51700), right("b", "read 4k", 53400), slipped("a", "write 4k", 30100)],
            f"All 2 numbers in MB/s of a {MIB}",
        ),
        (
            [slipped("a", "read 4k", 51700), right("b", "read 4k", 53400), right("a", "write 4k", 30100),
             slipped("b", "write 4k", 41100)],
            f"2 of 4 numbers in MB/s {MIB}",
        ),
    ],
)  # fmt: skip
def test_a_unit_slip_says_whose_numbers_all_slipped(rows, sentence):
    assert sentences(HEAD + "".join(rows)) == [sentence]


def test_a_single_finding_keeps_its_own_sentence():
    (group,) = grouped(lint(read_table(Source("x.csv", (HEAD + slipped("a", "read 4k", 51700)).encode()))))
    assert group.sentence == group.findings[0].sentence
    assert group.sentence.endswith("201.95 MB/s: it is MiB/s (2²⁰ bytes), not MB/s (10⁶ bytes).")


def test_no_finding_is_lost_or_told_twice():
    rows = [slipped("a", "read 4k", 51700), row("b", "read 4k", 53400, 7.0), slipped("c", "read 4k", 30100)]
    found = lint(read_table(Source("x.csv", (HEAD + "".join(rows)).encode())))
    groups = grouped(found)
    assert sorted(finding.where for group in groups for finding in group.findings) == sorted(one.where for one in found)
    assert {group.code for group in groups} == {"unit-slip", "iops-bandwidth"}


def test_findings_of_other_kinds_are_counted():
    text = "layout,workload,MB/s,%\na,w,100,100\nb,w,50,70\nc,w,30,60\n"
    assert sentences(text) == ["2 percentages of a do not follow from the numbers."]
