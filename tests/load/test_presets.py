"""Workloads under the field's names, and the words that they can be said in."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from raidtui.engine.compose.reading import read_document
from raidtui.front.plan import with_workloads, workload_names
from raidtui.load.catalog import engines
from raidtui.load.fio.spec import FioSpec
from raidtui.model.convert import decode
from raidtui.model.problem import ProblemError
from raidtui.model.scenario_words import NAME_PATTERN
from raidtui.model.shorthand import is_shorthand, read_shorthand

PRESETS = {preset.name: preset for engine in engines().values() for preset in engine.presets}


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_honest_and_has_a_name_of_its_own(name: str) -> None:
    preset = PRESETS[name]
    engine = engines()[preset.kind]
    spec = decode(engine.spec, preset.options)
    assert engine.check(spec, "p") == []
    assert re.fullmatch(NAME_PATTERN, name)
    assert sum(name in [one.name for one in engine.presets] for engine in engines().values()) == 1


@pytest.mark.parametrize(
    "name", [name for name, preset in PRESETS.items() if is_shorthand(preset.title) and "sequential" not in preset.title]
)
def test_a_preset_that_is_named_in_the_fields_words_is_what_these_say(name: str) -> None:
    preset = PRESETS[name]
    if "of" in preset.title.split():
        return
    said = decode(FioSpec, read_shorthand(preset.title).options)
    assert said == decode(FioSpec, preset.options)


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("T1Q32 4k randread", "randread-4k-t1q32", {"rw": "randread", "bs": "4KiB", "iodepth": 32, "numjobs": 1}),
        ("t8q16 8K randrw 70/30 30s", "randrw-8k-t8q16-70-30", {"rwmixread": 70, "numjobs": 8, "runtime": "30s"}),
        ("T1Q1 randwrite 4k fsync", "randwrite-4k-t1q1-fsync", {"fsync": 1, "iodepth": 1}),
        ("T1Q1 8k write dsync 5m", "write-8k-t1q1-dsync", {"sync": "dsync", "runtime": "5m"}),
        ("T1Q8 64KiB randrw 20% 75/25", "randrw-64k-t1q8-random-20-75-25", {"percentage_random": 20, "rwmixread": 75}),
        ("T2Q4 1M read", "read-1m-t2q4", {"bs": "1MiB", "runtime": "60s", "direct": True}),
    ],
)
def test_words_say_a_workload(text: str, name: str, options: dict[str, Any]) -> None:
    said = read_shorthand(text)
    assert said.name == name
    assert {**said.options, **options} == said.options
    assert engines()["fio"].check(decode(FioSpec, said.options), "w") == []


@pytest.mark.parametrize(
    "text", ["T1Q1 4k", "T1Q1 randread", "T1Q1 4k randread exec", "T1Q1 4k randrw 70/40", "Q1T1 4k read"]
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ProblemError) as caught:
        read_shorthand(text)
    assert caught.value.problems[0].code == "shorthand"


def test_a_workload_that_is_said_joins_the_scenario() -> None:
    given: dict[str, Any] = {
        "schema": "raidtui.scenario/1", "name": "t", "roles": {"data": {"count": 1}},
        "layouts": {"disk": {"disk": {"on": "@data"}}},
        "workloads": {"w": {"fio": {"rw": "read", "bs": "1MiB", "runtime": "5s"}}},
    }  # fmt: skip
    text = json.dumps(given, indent=3)
    assert with_workloads(text, ["w"]) == text, "to the byte"
    words = ["w", "T1Q32 4k randread"]
    assert workload_names(words) == ("w", "randread-4k-t1q32")
    assert list(read_document(with_workloads(text, words)).scenario.workloads) == list(workload_names(words))
    given["layouts"]["all"] = {"disk": {"on": "@data", "mode": "together"}}
    given["workloads"]["x"] = given["workloads"]["w"]
    given["policy"] = {"only": {"disk": ["w"]}}
    policy = read_document(with_workloads(json.dumps(given), words)).scenario.policy
    met = [[policy.meets(layout, name) for name in ("w", "x", "randread-4k-t1q32")] for layout in ("disk", "all")]
    assert met == [[True, False, True], [False, True, True]]
    with pytest.raises(ProblemError):
        with_workloads("[]", words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rw": "randrw", "percentage_random": 20}, "20% random"),
        ({"rw": "read", "rate": "50MB"}, "at most 50MB/s each"),
        ({"rw": "randread", "rate_iops": 5000}, "at most 5000 IOPS each"),
        ({"rw": "randread", "random_distribution": "zoned:80/10:20/90"}, "zoned:80/10:20/90"),
        ({"rw": "write", "buffer_compress_percentage": 50}, "data 50% compressible, 0% copies"),
        ({"rw": "randread", "iodepth": 64, "latency_target": "1ms", "latency_window": "1s", "latency_percentile": 99.0},
         "depth that keeps 99% below 1ms"),
        ({"rw": "randread", "nrfiles": 64}, "64 files each"),
    ],
)  # fmt: skip
def test_what_shapes_a_workload_is_in_its_words(options: dict[str, Any], words: str) -> None:
    assert words in engines()["fio"].describe(decode(FioSpec, {"bs": "4KiB", "runtime": "5s", **options}))
