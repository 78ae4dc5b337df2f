"""Layouts composed by hand: what can be built is planned, what cannot is refused before anybody is asked for consent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from composed import BUILDS, REFUSED, roles, scenario
from raidtui.engine.compose.binding import bind
from raidtui.engine.compose.planner import make_plan
from raidtui.engine.compose.reading import read_document
from raidtui.engine.explain import explain
from raidtui.model.disk import Disk
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import Problem, ProblemError

DISKS = [
    Disk(name, f"{name}n1", size, name, f"eui.{name}", "M", transport="nvme", rotational=False, discard=True,
         logical_sector_bytes=sector)
    for name, (size, sector) in roles().items()
]  # fmt: skip


def planned(name: str, of: dict[str, dict[str, Any]]) -> Plan:
    document = read_document(json.dumps(scenario([name], of))).scenario
    binding = bind(document.roles, {role: (role,) for role in document.roles}, DISKS)
    return make_plan(document, binding, Options(quick=True), token="abcdefgh", boot_id="b")


def refusals(name: str) -> tuple[Problem, ...]:
    try:
        planned(name, REFUSED)
    except ProblemError as error:
        return error.problems
    return ()


@pytest.mark.parametrize("name", BUILDS)
def test_what_can_be_built_is_planned(name: str) -> None:
    plan = planned(name, BUILDS)
    assert [cell.layout for cell in plan.cells] == [name]
    if "warns" in BUILDS[name]:
        assert any(text.startswith(BUILDS[name]["warns"]) for text in plan.warnings), plan.warnings


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_built_is_refused_with_its_reason_and_a_way_out(name: str) -> None:
    found = refusals(name)
    assert REFUSED[name]["code"] in {problem.code for problem in found}, found
    assert all(problem.message and problem.place and problem.exit == 2 for problem in found)
    assert all(problem.remedy or explain(problem.code) for problem in found)


def test_stacks_of_three_kinds_are_among_them() -> None:
    deep = [name for name, entry in BUILDS.items() if _depth(entry["layout"]) >= 3]
    assert len(deep) >= 8


def _depth(raw: Any) -> int:
    """Layers above each other."""
    kinds = {"md", "lvm", "zpool", "bcache", "filesystem", "disk"}
    if isinstance(raw, list):
        return max(map(_depth, raw), default=0)
    if not isinstance(raw, dict):
        return 0
    return max((_depth(value) + (key in kinds) for key, value in raw.items()), default=0)
