"""The published JSON Schemas say what the reader says."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from raidtui.engine.compose.reading import read_document
from raidtui.engine.compose.schema import schema
from raidtui.model.problem import ProblemError

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.json"))


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    made = schema("scenario")
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(json.loads(json.dumps(made)))


def test_the_schema_of_results_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(json.dumps(schema("result"))))


def test_of_other_things_there_is_no_schema() -> None:
    with pytest.raises(ProblemError):
        schema("disks")


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_shipped_scenarios_are_valid_to_both(path: Path, validator: Any) -> None:
    validator.validate(json.loads(path.read_text()))
    assert read_document(path.read_text()).scenario.name == path.stem


CHANGES = {
    "unknown key": lambda s: s.update(hook="id"),
    "unknown layer": lambda s: s["layouts"].update(x={"shell": {}}),
    "two kinds": lambda s: s["layouts"].update(x={"md": {"level": "raid0", "on": "@data"}, "disk": {"on": "@data"}}),
    "device path": lambda s: s["layouts"].update(x={"md": {"level": "raid0", "on": "/dev/sda"}}),
    "bad name": lambda s: s["layouts"].update({"../x": {"md": {"level": "raid0", "on": "@data"}}}),
    "unitless size": lambda s: next(iter(s["workloads"].values()))["fio"].update(bs="4096"),
    "code": lambda s: next(iter(s["workloads"].values()))["fio"].update(exec_prerun="id"),
    "no layouts": lambda s: s.update(layouts={}),
    "count": lambda s: s["roles"]["data"].update(count=0),
    "schema": lambda s: s.update(schema="raidtui.scenario/9"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_both_refuse(change: Any, validator: Any) -> None:
    value = copy.deepcopy(json.loads(SCENARIOS[0].read_text()))
    change(value)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(value)
    with pytest.raises(ProblemError):
        read_document(json.dumps(value))
