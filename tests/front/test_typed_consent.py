"""Texts that must be typed before disks are erased."""

from __future__ import annotations

import string
import sys
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

import made

from raidtui.front.plan import LEAST_CHARACTERS, consented, lines_to_type, matches
from raidtui.model.disk import Fingerprint

SERIALS = st.text(string.ascii_uppercase[:4] + "01 -", min_size=1, max_size=9).filter(lambda text: text == text.strip())
ANY_ID = st.text(min_size=1, max_size=12)


def plan_of(*ids: str, model: str = "", digest: str = "1f3a" * 16):
    """A plan that erases these disks: each of a model of its own, unless one is given."""
    disks = tuple(
        Fingerprint(id_, id_, f"eui.{number:016x}", model or f"M{number}", 1 << 40, 512, number, "boot")
        for number, id_ in enumerate(ids)
    )
    return made.plan(binding={"data": disks}, erases=tuple(ids), digest=digest)


def expected(plan):
    return [line.expected for line in lines_to_type(plan)]


def test_the_last_four_characters_of_each_disk_are_typed():
    lines = lines_to_type(plan_of("S64GNE0R100001", "S64GNE0R100002"))
    assert [(line.expected, line.name) for line in lines] == [("0001", "S64GNE0R100001"), ("0002", "S64GNE0R100002")]
    assert consented(lines, ["0001", " 0002 "]) == ("S64GNE0R100001", "S64GNE0R100002")


def test_nothing_else_consents():
    lines = lines_to_type(plan_of("S64GNE0R100001", "S64GNE0R100002"))
    short = [[], ["", ""], ["0001"], ["0001", ""], ["yes", "yes"]]
    for typed in [*short, ["0002", "0001"], ["0001", "0001"], ["0001", "0002", ""]]:
        assert consented(lines, typed) is None


def test_disks_that_end_alike_are_told_apart_by_more_characters():
    assert expected(plan_of("AAAA1234", "AAAB1234", "AAAC9999")) == ["A1234", "B1234", "9999"]
    assert expected(plan_of("1234", "X1234")) == ["1234", "X1234"]


def test_one_code_stands_for_more_than_four_disks_alike():
    ids = [f"S{number}" for number in range(5)]
    (line,) = lines_to_type(plan_of(*ids, model="SAMSUNG"))
    assert (len(line.expected), len(line.disks), line.name) == (6, 5, "")
    assert consented([line], [line.expected]) == tuple(ids)
    assert len(lines_to_type(plan_of(*ids[:4], model="SAMSUNG"))) == 4
    assert len(lines_to_type(plan_of(*ids))) == 5


def test_another_plan_or_another_disk_has_another_code():
    ids = [f"S{number}" for number in range(6)]
    codes = {
        *expected(plan_of(*ids, model="M")),
        *expected(plan_of(*ids[:5], model="M")),
        *expected(plan_of(*ids, model="M", digest="0" * 64)),
    }
    assert len(codes) == 3


def test_a_disk_whose_name_cannot_be_typed_has_a_code_or_its_wwn():
    hostile = lines_to_type(plan_of("EVIL\x1b[31m\u202e"))
    assert hostile[0].expected == "0000"
    assert hostile[0].name == "eui.0000000000000000"
    assert len(lines_to_type(plan_of("Größe"))[0].expected) == 6


def test_a_plan_that_erases_nothing_asks_for_nothing():
    assert lines_to_type(made.plan(erases=())) == ()
    assert consented((), ()) == ()


@given(st.lists(SERIALS, min_size=1, max_size=8, unique=True), st.booleans())
def test_every_disk_is_in_one_line_and_no_two_lines_expect_the_same(ids, alike):
    lines = lines_to_type(plan_of(*ids, model="M" if alike else ""))
    assert sorted(disk.id for line in lines for disk in line.disks) == sorted(ids)
    assert len({line.expected for line in lines}) == len(lines)
    for line in lines:
        assert not line.name or (line.name.endswith(line.expected) and line.expected == line.expected.strip())
        assert len(line.expected) >= min(LEAST_CHARACTERS, len(line.name) or LEAST_CHARACTERS)
    assert consented(lines, [line.expected for line in lines]) is not None


@given(st.lists(ANY_ID, min_size=1, max_size=6, unique=True))
def test_whatever_disks_call_themselves_each_can_be_consented_to_and_told_apart(ids):
    lines = lines_to_type(plan_of(*ids))
    assert len({line.expected for line in lines}) == len(lines) == len(ids)
    assert all(line.expected.isascii() and line.expected.isprintable() and line.expected.strip() for line in lines)
    assert set(consented(lines, [line.expected for line in lines]) or ()) == set(ids)


@given(st.lists(SERIALS, min_size=1, max_size=5, unique=True), st.data())
def test_one_line_that_does_not_match_is_no_consent(ids, data):
    lines = lines_to_type(plan_of(*ids))
    typed = [line.expected for line in lines]
    at = data.draw(st.integers(0, len(lines) - 1))
    other = data.draw(st.text(max_size=12))
    assume(not matches(lines[at], other))
    typed[at] = other
    assert consented(lines, typed) is None
