"""What does not have its form is refused in words, with an example, and never with a regular expression."""

from __future__ import annotations

from typing import Any

import pytest

from raidtui.load.fio.options import FioSpec
from raidtui.model.convert import decode
from raidtui.model.problem import Problem, ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.md.spec import MdSpec
from raidtui.stack.zfs.spec import ZpoolSpec

FIO = {"rw": "read", "runtime": "1s"}
POOL: dict[str, Any] = {"vdevs": [{"stripe": "@d"}]}


def refused(type_: type, value: Any) -> Problem:
    with pytest.raises(ProblemError) as caught:
        decode(type_, value)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("type_", "value", "place", "wrong", "way_out"),
    [
        (MdSpec, {"level": "raid10", "on": "@d", "layout": "n2"}, "$.layout", "n2", "Did you mean near2?"),
        (MdSpec, {"level": "raid5", "on": "@d", "layout": "ls"}, "$.layout", "ls", "Did you mean left-symmetric?"),
        (MdSpec, {"level": "raid5", "on": "@d", "layout": "x"}, "$.layout", "x", '"near2" or "far2"'),
        (Policy, {"precondition": "2"}, "$.precondition", "2", '"2x" or "1x"'),
        (Policy, {"noise_of": "A"}, "$.noise_of", "A", "lower-case letters"),
        (FioSpec, {**FIO, "bssplit": "4k/60"}, "$.bssplit", "4k/60", '"4KiB/60:64KiB/40"'),
        (FioSpec, {**FIO, "random_distribution": "zipf"}, "$.random_distribution", "zipf", '"zipf:1.2"'),
        (ZpoolSpec, {**POOL, "properties": {"comment": "ok", "a:b": "c"}}, "$.properties", "a:b", '"compression"'),
        (ZpoolSpec, {**POOL, "dataset": {"properties": {"atime": "off", "sync": "/x"}}}, "$.dataset.properties[...]",
         "/x", "without blanks"),
    ],
)  # fmt: skip
def test_a_form_that_is_not_met_is_said_in_words(
    type_: type, value: Any, place: str, wrong: str, way_out: str
) -> None:
    problem = refused(type_, value)
    assert problem.place == place
    assert repr(wrong) in problem.message
    assert way_out in problem.remedy
    assert "^" not in problem.message + problem.remedy
