"""Conditions of roles that no disk can meet are refused when the scenario is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from raidtui.engine.compose.reading import read_document
from raidtui.engine.explain import explain
from raidtui.model.problem import ProblemError


def read(where: dict[str, Any]) -> None:
    load = {"rw": "read", "bs": "4KiB", "runtime": "1s"}
    read_document(json.dumps({
        "schema": "raidtui.scenario/1", "name": "x", "roles": {"d": {"count": 1, "where": where}},
        "layouts": {"it": {"disk": {"on": "@d"}}}, "workloads": {"w": {"fio": load}},
    }))  # fmt: skip


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ({"min_size": "2TB", "max_size": "1TB"}, "max_size"),
        ({"kind": "nvme", "rotational": True}, "rotational"),
        ({"transport": "nvme", "rotational": True}, "rotational"),
        ({"kind": "hdd", "rotational": False}, "rotational"),
        ({"kind": "ssd", "transport": "nvme"}, "transport"),
        ({"kind": "nvme", "transport": "sata"}, "transport"),
        ({"logical_sector": "3KiB"}, "logical_sector"),
        ({"logical_sector": "256B"}, "logical_sector"),
    ],
)
def test_what_no_disk_can_be_is_refused(where: dict[str, Any], name: str) -> None:
    with pytest.raises(ProblemError) as caught:
        read(where)
    (problem,) = caught.value.problems
    assert (problem.code, problem.place) == ("role-impossible", f"$.roles.d.where.{name}")
    assert explain(problem.code)


@pytest.mark.parametrize(
    "where",
    [
        {"min_size": "1TB", "max_size": "1TB"}, {"kind": "nvme", "transport": "nvme", "rotational": False},
        {"kind": "hdd", "transport": "sas", "rotational": True}, {"logical_sector": "4096B"}, {"rotational": True},
    ],
)  # fmt: skip
def test_what_a_disk_can_be_is_taken(where: dict[str, Any]) -> None:
    read(where)
