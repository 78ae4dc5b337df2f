"""Null devices: what can stand on one, what a plan of one does, and that no disk is needed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from raidtui.engine.compose.reading import read_document
from raidtui.model.problem import ProblemError

NULL: dict[str, Any] = {"null": {"size": "10GiB"}}


def problems(layout: dict[str, Any]) -> dict[str, str]:
    document = {
        "schema": "raidtui.scenario/1", "name": "t", "roles": {"data": {"count": 1}, "fast": {"count": 1}},
        "layouts": {"own": {"disk": {"on": "@data"}}, "null": layout},
        "workloads": {"read": {"fio": {"rw": "randread", "bs": "4KiB", "size": "1GiB", "runtime": "10s"}}},
    }  # fmt: skip
    try:
        read_document(json.dumps(document))
    except ProblemError as error:
        return {problem.place: problem.code for problem in error.problems}
    return {}


def test_an_export_can_stand_on_one_and_so_can_a_workload():
    assert problems(NULL) == {}
    assert problems({"nvmeof": {"on": NULL}}) == {}
    assert problems({"iscsi": {"on": [NULL, NULL]}}) == {}


@pytest.mark.parametrize(
    "above",
    [{"md": {"level": "raid0", "on": [NULL, NULL]}}, {"lvm": {"on": NULL}}, {"luks": {"on": NULL}},
     {"zpool": {"vdevs": [{"stripe": NULL}], "volume": {"size": "80%"}}}, {"filesystem": {"type": "xfs", "on": NULL}},
     {"bcache": {"on": NULL, "cache": "@fast"}}],
    ids=lambda layer: next(iter(layer)),
)  # fmt: skip
def test_nothing_with_metadata_stands_on_one(above: dict[str, Any]):
    assert set(problems(above).values()) == {"kept-nothing"}


def test_sizes_are_whole_mebibytes_and_sectors_those_of_the_kernel():
    assert problems({"null": {"size": "1000B"}}) == {"$.layouts.null.null.size": "null-size"}
    assert problems({"null": {"size": "1GiB", "sector_size": "2KiB"}}) == {"$.layouts.null.null.sector_size": "null-size"}
