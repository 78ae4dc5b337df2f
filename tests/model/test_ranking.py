"""A ranking that is looked at after every round: hardly ever wrong, however often it is looked at, and soon clear."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raidtui.model.statistics.ranking import Asked, Standing, Values, spent_at, standing

EQUAL = dict.fromkeys(("a", "b", "c"), 1000.0)
STEPS = {"a": 1000.0, "b": 900.0, "c": 810.0, "d": 729.0}
"""Each 10 % behind the one before."""


def campaign(
    rng: random.Random, means: Mapping[str, float], noise: Mapping[str, float], asked: Asked, most: int
) -> tuple[Standing, int]:
    """Rounds until the question is answered, at most so many, and how many cells that took."""
    values: dict[str, dict[int, float | None]] = {name: {} for name in means}
    known = standing(values, asked)
    open_, cells = set(means), 0
    for round_ in range(1, most + 1):
        for name in sorted(open_):
            values[name][round_] = means[name] * math.exp(rng.gauss(0, noise[name]))
            cells += 1
        if round_ >= 2:
            known = standing(values, asked)
            open_ = set(known.open)
        if not open_:
            break
    return known, cells


def rounds_of(**values: list[float | None]) -> Values:
    return {name: dict(enumerate(of, 1)) for name, of in values.items()}


@pytest.mark.parametrize("question", ["best", "order"])
@pytest.mark.parametrize("noise", [{"a": 0.03, "b": 0.03, "c": 0.03}, {"a": 0.01, "b": 0.01, "c": 0.1}])
def test_layouts_that_are_equal_are_told_apart_in_at_most_one_campaign_of_twenty(noise, question):
    rng = random.Random(20260131)
    found = [campaign(rng, EQUAL, noise, Asked(question=question, close_enough=0.0), 8)[0] for _ in range(100)]
    assert sum(bool(known.told) for known in found) <= 5


@pytest.mark.parametrize("question", ["best", "order"])
def test_differences_of_ten_percent_are_found_at_three_percent_of_noise(question):
    rng = random.Random(7)
    found = [campaign(rng, STEPS, dict.fromkeys(STEPS, 0.03), Asked(question=question), 12) for _ in range(20)]
    for known, cells in found:
        assert known.answered
        assert [name for name, place in known.places.items() if place == 1] == ["a"]
        assert cells < 12 * len(STEPS)
        if question == "order":
            assert dict(known.places) == {"a": 1, "b": 2, "c": 3, "d": 4}


def test_no_more_error_is_spent_than_is_allowed_however_many_rounds_there_are():
    assert sum(map(spent_at, range(1, 10_000))) < 1
    assert spent_at(1) == 0


def test_what_is_told_to_be_worse_needs_no_more_rounds_for_best_but_for_order_it_may():
    values = rounds_of(fast=[1000.0, 1005.0, 995.0], near=[998.0, 1004.0, 1001.0], slow=[500.0, 502.0, 499.0],
                       slower=[497.0, 503.0, 500.0])  # fmt: skip
    best, order = (standing(values, Asked(question=question, close_enough=0.0)) for question in ("best", "order"))
    assert best.open == {"fast", "near"}
    assert order.open == {"fast", "near", "slow", "slower"}
    assert best.places["slow"] == best.places["slower"] == 3
    assert not best.answered


def test_layouts_that_are_surely_close_share_a_place_and_end_the_question():
    steady = [1000.0, 1001.0, 999.0, 1000.5]
    found = standing(rounds_of(a=steady, b=steady[::-1], c=[700.0, 701.0, 699.0, 700.0]), Asked(close_enough=0.05))
    assert found.answered
    assert dict(found.places) == {"a": 1, "b": 1, "c": 3}
    assert [(told.verdict, {told.better, told.worse}) for told in found.told if "c" not in (told.better, told.worse)] == [
        ("close", {"a", "b"})
    ]


def test_rounds_that_are_equal_to_the_last_digit_prove_no_tiny_difference():
    values = rounds_of(a=[1000.0] * 4, b=[1000.2] * 4)
    assert [told.verdict for told in standing(values, Asked(close_enough=0.05)).told] == ["close"]
    assert standing(values, Asked(close_enough=0.0)).told == ()


def test_a_layout_without_valid_rounds_is_given_up_and_holds_nobody_up():
    values = rounds_of(a=[1000.0, 1001.0], b=[500.0, 501.0], broken=[None, None])
    found = standing(values, Asked())
    assert found.answered
    assert found.out == {"broken"}
    assert dict(found.places) == {"a": 1, "b": 2}


def test_a_round_that_is_not_valid_only_takes_another_one():
    found = standing(rounds_of(a=[1000.0, None, 1001.0], b=[500.0, 501.0, 500.0]), Asked())
    assert found.answered
    assert [told.round for told in found.told] == [3]


def test_one_layout_alone_is_ranked_at_once():
    assert standing({"a": {1: 5.0}}, Asked()).answered
    assert standing({}, Asked()).places == {}


def test_more_workloads_ask_for_more_certainty():
    values = rounds_of(a=[1000.0, 1030.0, 1010.0], b=[880.0, 900.0, 870.0])
    assert standing(values, Asked(workloads=1)).told
    assert not standing(values, Asked(workloads=50)).told


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.none() | st.floats(1, 1e6), min_size=6, max_size=6), min_size=1, max_size=4))
def test_what_was_told_stays_told(rows):
    values = {f"l{number}": dict(enumerate(row, 1)) for number, row in enumerate(rows)}
    before: tuple[object, ...] = ()
    for last in range(1, 7):
        told = standing({name: {r: v for r, v in of.items() if r <= last} for name, of in values.items()}, Asked()).told
        assert told[: len(before)] == before
        assert all(one.ratio >= 1 for one in told)
        before = told


def test_a_pair_that_the_rounds_left_would_not_tell_apart_is_given_up():
    rng = random.Random(3)
    equal, near = dict.fromkeys("abcd", 1000.0), 0
    for _ in range(10):
        known, cells = campaign(rng, equal, dict.fromkeys(equal, 0.1), Asked(rounds=12), 12)
        assert not known.answered
        near += cells
    assert near < 10 * 12 * 4 / 2
    assert standing(rounds_of(a=[1.0, 1.3, 0.8], b=[1.1, 0.9, 1.2]), Asked()).beyond == {}


def test_giving_up_hardly_ever_costs_an_answer():
    rng = random.Random(5)
    found = [campaign(rng, STEPS, dict.fromkeys(STEPS, 0.03), Asked(rounds=12), 12)[0] for _ in range(20)]
    assert sum(known.answered for known in found) >= 19


def test_a_pair_that_was_given_up_is_judged_again_where_it_is_measured_on():
    wild = {"a": [1000.0, 1300.0, 800.0], "b": [1010.0, 1290.0, 820.0]}
    assert list(standing(rounds_of(**wild), Asked(rounds=5)).beyond.values()) == [3]
    apart = standing(rounds_of(a=wild["a"] + [1000.0] * 8, b=wild["b"] + [10.0] * 8), Asked(rounds=12))
    assert [told.better for told in apart.told] == ["a"]
    assert apart.answered
