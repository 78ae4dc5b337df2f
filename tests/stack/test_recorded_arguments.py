"""Arguments of steps in journals of earlier versions are decoded, and nothing of them is lost or changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from raidtui.stack.catalog import bind

RECORDED = [json.loads(line) for line in Path(__file__).with_name("recorded_arguments.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("step", RECORDED, ids=lambda step: step["action"])
def test_recorded_arguments_keep_their_json(step: dict[str, Any]) -> None:
    bound = bind(step["action"], step["args"])
    encoded = json.loads(msgspec.json.encode(bound.args))
    assert {key: encoded[key] for key in step["args"]} == step["args"]


@pytest.mark.parametrize("step", RECORDED, ids=lambda step: step["action"])
def test_unknown_arguments_are_ignored(step: dict[str, Any]) -> None:
    assert bind(step["action"], {**step["args"], "added_later": 1}) == bind(step["action"], step["args"])
