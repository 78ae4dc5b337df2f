"""In which order layouts are built and measured: shuffled by the plan's digest, and one of them built twice."""

from __future__ import annotations

from collections import Counter

import pytest
from test_planning import SCENARIO, plan

from raidtui.engine.compose.ordering import blocks_of, shuffled
from raidtui.model.plan import Options, block_name, block_parts
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy

LAYOUTS = ("a", "b", "c", "d", "e")


def ordered(seed: str = "seed", **policy) -> list[str]:
    return [block.name for block in blocks_of(LAYOUTS, Policy(**policy), seed)]


def with_policy(token: str = "abcdefgh", **changes):
    return plan(token=token, policy={**SCENARIO["policy"], **changes})


def test_every_round_has_every_layout_once_in_an_order_of_its_own() -> None:
    names = ordered(rounds=8, order="random")
    rounds = [[block_parts(name)[0] for name in names[start : start + 5]] for start in range(0, 40, 5)]
    assert all(sorted(one) == list(LAYOUTS) for one in rounds)
    assert len({tuple(one) for one in rounds}) > 4


def test_no_layout_is_first_more_often_than_chance_allows() -> None:
    firsts = Counter(shuffled(LAYOUTS, str(seed))[0] for seed in range(2000))
    assert set(firsts) == set(LAYOUTS)
    assert max(firsts.values()) < 2000 / 5 * 1.25


def test_a_seed_has_one_order_and_another_seed_another() -> None:
    assert ordered(rounds=3, order="random") == ordered(rounds=3, order="random")
    assert ordered(rounds=3, order="random") != ordered("other", rounds=3, order="random")


def test_the_plan_is_shuffled_by_its_digest_and_not_by_its_token() -> None:
    one, other = with_policy("aaaaaaaa", order="random"), with_policy("bbbbbbbb", order="random")
    assert [cell.id for cell in one.cells] == [cell.id for cell in other.cells]
    assert {cell.id for cell in one.cells} == {cell.id for cell in plan().cells}
    assert [cell.id for cell in one.cells] != [cell.id for cell in plan().cells]


def test_workloads_are_shuffled_within_a_building() -> None:
    cells = with_policy(order="random", rounds=20).cells
    of_raid5 = [cell.workload for cell in cells if cell.layout == "raid5"]
    firsts = Counter(of_raid5[::2])
    assert set(firsts) == {"w", "r"}
    assert all(set(of_raid5[at : at + 2]) == {"w", "r"} for at in range(0, 40, 2))


@pytest.mark.parametrize("order", ["interleaved", "random", "grouped"])
def test_the_layout_that_is_measured_against_itself_is_built_twice_and_apart(order: str) -> None:
    for layout in LAYOUTS:
        names = ordered(rounds=3, order=order, noise_of=layout)
        size = len(LAYOUTS) + 1
        for start in range(0, len(names), size):
            cycle = [block_parts(name) for name in names[start : start + size]]
            first, second = cycle.index((layout, cycle[0][1], False)), cycle.index((layout, cycle[0][1], True))
            assert abs(first - second) > 1
        assert len(names) == size * (1 if order == "grouped" else 3)


def test_both_buildings_are_built_and_taken_down_by_themselves() -> None:
    made = with_policy(noise_of="raid5")
    again = [cell for cell in made.cells if cell.again]
    assert [cell.id for cell in again] == [f"raid5/{load}/{n}/again" for n in (1, 2) for load in ("w", "r")]
    assert len({cell.id for cell in made.cells}) == len(made.cells)
    built = [step for step in made.steps if step.action == "md.create" and step.block.startswith("raid5#")]
    assert [step.block for step in built] == ["raid5#1", "raid5#1 again", "raid5#2", "raid5#2 again"]
    assert len({step.creates.uuid for step in built if step.creates}) == 4
    for block in {step.block for step in built}:
        assert [s.action for s in made.steps if s.block == block][-1] == "disks.blank"


def test_a_layout_that_was_not_chosen_is_not_measured_against_itself() -> None:
    made = plan(Options(layouts=("each",)), policy={**SCENARIO["policy"], "noise_of": "raid5"})
    assert not any(cell.again for cell in made.cells)


def test_a_layout_that_is_not_there_is_refused_by_its_place() -> None:
    with pytest.raises(ProblemError) as caught:
        with_policy(noise_of="raid7")
    assert [(p.code, p.place) for p in caught.value.problems] == [("unknown-name", "$.policy.noise_of")]


def test_a_buildings_name_says_what_it_is() -> None:
    for parts in (("raid5", 1, False), ("raid5", 12, True), ("a+b.c", 2, True)):
        assert block_parts(block_name(parts[0], parts[1], again=parts[2])) == parts
