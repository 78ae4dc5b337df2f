"""Consent and lists say how much of a blank disk was read, and what may have been missed."""

from __future__ import annotations

import pytest

from raidtui.front.phrases import look_line, looks_line
from raidtui.model.disk import Look
from raidtui.model.plan import Options, Plan

MIB = 1 << 20


def plan(**looks: Look) -> Plan:
    return Plan("d", "t", {}, Options(), {}, (), (), ("S1", "S2"), 1.0, 0, looks=looks)


@pytest.mark.parametrize(
    ("look", "said"),
    [
        (Look(131, 17 * MIB, 118 * MIB), "blank at 131 places read; data in one piece of up to 118 MiB may be missed"),
        (Look(1, 64 * MIB, 0), "blank: all of it was read"),
        (Look(140, 90 * MIB, 0, 80 * MIB), "blank: all that the disk has allocated was read"),
        (Look(131, 17 * MIB, 0, 0), "blank: the disk has nothing allocated, and 131 places read agree"),
        (
            Look(300, 90 * MIB, 64 * MIB, 8192 * MIB),
            "blank at 300 places read of the 8.0 GiB that the disk has allocated; "
            "data in one piece of up to 64.0 MiB may be missed",
        ),
    ],
)
def test_a_look_in_words(look, said):
    assert look_line(look) == said


def test_consent_names_the_fewest_places_and_the_largest_piece_of_all_disks():
    text = looks_line(plan(S1=Look(131, 1, 64 * MIB), S2=Look(900, 1, 118 * MIB)))
    assert "At least 131 places of each disk" in text
    assert "up to 118 MiB may have been missed, and would be lost" in text


def test_consent_to_disks_that_were_read_whole_says_so():
    text = looks_line(plan(S1=Look(1, 1, 0), S2=Look(1, 1, 0)))
    assert text == "Everything that each disk may keep data in was read and is blank."


def test_a_plan_without_looks_says_nothing_of_them():
    assert looks_line(plan()) == ""
