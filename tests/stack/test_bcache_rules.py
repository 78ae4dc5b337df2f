"""What bcache refuses is refused when the scenario is read, with its place and a way out; all else can be planned."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from bcache_cases import ONE_EACH, PLACE, array, disk, parts, plan, spec_of
from hypothesis import given
from hypothesis import strategies as st

from raidtui.engine.compose.reading import read_document
from raidtui.engine.compose.schema import describe
from raidtui.engine.explain import explain
from raidtui.model.plan import Names
from raidtui.model.problem import REFUSALS, ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.bcache import LAYER
from raidtui.stack.bcache.rules import has_module
from raidtui.stack.layer import Part

REFUSED: list[tuple[str, dict[str, Any], dict[str, int], str]] = [
    ("bcache-devices", {}, {"on": 2, "cache": 1}, "on"),
    ("bcache-devices", {}, {"on": 1, "cache": 2}, "cache"),
    ("bcache-devices", {}, {"on": 1}, "cache"),
    ("bcache-bucket", {"bucket": "48KiB"}, ONE_EACH, "bucket"),
    ("bcache-bucket", {"bucket": "2KiB"}, ONE_EACH, "bucket"),
    ("bcache-bucket", {"bucket": "32MiB"}, ONE_EACH, "bucket"),
    ("bcache-block", {"block": "8KiB"}, ONE_EACH, "block"),
    ("bcache-block", {"block": "3KiB"}, ONE_EACH, "block"),
    ("bcache-data-offset", {"data_offset": "4KiB"}, ONE_EACH, "data_offset"),
    ("bcache-data-offset", {"data_offset": "10KiB"}, ONE_EACH, "data_offset"),
    ("bcache-sequential-cutoff", {"sequential_cutoff": "4GiB"}, ONE_EACH, "sequential_cutoff"),
    ("bcache-writeback", {"writeback_percent": 20}, ONE_EACH, "writeback_percent"),
    ("bcache-writeback", {"mode": "writearound", "writeback_delay": "10s"}, ONE_EACH, "writeback_delay"),
    ("bcache-writeback-delay", {"mode": "writeback", "writeback_delay": "500ms"}, ONE_EACH, "writeback_delay"),
    ("bcache-writeback-delay", {"mode": "writeback", "writeback_delay": "2d"}, ONE_EACH, "writeback_delay"),
]


@pytest.mark.parametrize(("code", "options", "counts", "where"), REFUSED)
def test_what_bcache_refuses_is_refused_at_reading(
    code: str, options: dict[str, Any], counts: dict[str, int], where: str
) -> None:
    problems = LAYER.check(spec_of(**options), counts, PLACE)
    found = [p for p in problems if p.code == code and p.place == f"{PLACE}.{where}"]
    assert found, problems
    assert all(p.remedy and p.exit == 2 and p.code in REFUSALS for p in problems)


UNFIT: list[tuple[str, dict[str, Any], Part, Part]] = [
    ("bcache-too-small", {}, disk("slow"), disk("fast", 256 << 20)),
    ("bcache-too-small", {"data_offset": "1MiB"}, disk("slow", 1 << 20), disk("fast")),
    ("bcache-block", {"block": "512B"}, disk("slow", sector=4096), disk("fast")),
]


BCACHE: dict[str, Any] = {"bcache": {"on": "@a", "cache": "@b"}}
DEEP: dict[str, Any] = {"md": {"level": "raid1", "on": ["@c", {"lvm": {"on": BCACHE}}]}}


@pytest.mark.parametrize("below", [BCACHE, [BCACHE], DEEP])
@pytest.mark.parametrize("name", ["on", "cache"])
def test_bcache_stands_on_no_bcache_however_deep(below: Any, name: str) -> None:
    (problem,) = LAYER.check(spec_of(**{name: below}), ONE_EACH, PLACE)
    assert (problem.code, problem.place) == ("bcache-on-bcache", f"{PLACE}.{name}")


@pytest.mark.parametrize(("code", "options", "on", "cache"), UNFIT)
def test_what_does_not_fit_the_devices_is_refused_when_they_are_known(
    code: str, options: dict[str, Any], on: Part, cache: Part
) -> None:
    for work in (lambda: plan(on, cache, **options), lambda: LAYER.shape(spec_of(**options), parts(on, cache))):
        with pytest.raises(ProblemError) as caught:
            work()
        assert [p.code for p in caught.value.problems] == [code]
        assert all(p.remedy and p.exit == 2 and p.code in REFUSALS for p in caught.value.problems)


def test_a_cache_of_exactly_enough_buckets_is_enough() -> None:
    assert plan(cache=disk("fast", 513 * (512 << 10)))
    assert plan(cache=disk("fast", 513 * (16 << 10)), bucket="16KiB")


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["writethrough", "writeback", "writearound", "none"]),
        "bucket": st.sampled_from(["4KiB", "64KiB", "512KiB", "16MiB", "3MiB", "1B"]),
        "block": st.sampled_from(["512B", "1KiB", "4KiB", "16KiB"]),
        "data_offset": st.sampled_from(["8KiB", "1MiB", "512B", "3GiB"]),
        "replacement": st.sampled_from(["lru", "fifo", "random"]),
        "sequential_cutoff": st.sampled_from(["0B", "4MiB", "1B", "8GiB"]),
        "congestion": st.sampled_from(["default", "off"]),
        "writeback_percent": st.integers(0, 40),
        "writeback_delay": st.sampled_from(["0s", "30s", "1d", "2d", "100ms"]),
        "discard": st.booleans(),
    },
)


@given(OPTIONS, st.integers(1, 1 << 36), st.integers(1, 1 << 36), st.sampled_from([512, 4096]), st.booleans())
def test_any_cache_is_either_refused_with_reasons_or_planned_whole(
    options: dict[str, Any], slow: int, fast: int, sector: int, on_array: bool
) -> None:
    spec = spec_of(**options)
    problems = LAYER.check(spec, ONE_EACH, PLACE)
    if problems:
        assert all(p.code in REFUSALS and p.remedy and p.place.startswith(PLACE) for p in problems)
        return
    on = array(slow * 512) if on_array else disk("slow", slow * 512, sector)
    given_parts = parts(on, disk("fast", fast * 512, sector))
    try:
        planned = LAYER.plan(spec, given_parts, Names("t"), Policy())
    except ProblemError as error:
        if {p.code for p in error.problems} <= {"bcache-too-small", "bcache-block"}:
            return
        raise
    assert planned.offers
    shape = LAYER.shape(spec, given_parts)
    assert 0 < planned.offers[0].size_bytes == shape.size_bytes == planned.targets[0].size_bytes < on.size_bytes
    assert sector <= planned.offers[0].logical_sector_bytes <= 4096 or on_array
    lines = [argv for draft in (*planned.build, *planned.teardown) for argv in (*draft.commands, *draft.undo)]
    assert all(word and "wipe-bcache" not in word for argv in lines for word in argv)
    assert all(draft.action in LAYER.actions for draft in (*planned.build, *planned.teardown))


def scenario_with(layout: dict[str, Any]) -> str:
    return json.dumps(
        {
            "schema": "raidtui.scenario/1",
            "name": "x",
            "roles": {"slow": {"count": 2}, "fast": {"count": 1}},
            "layouts": {"x": layout},
            "workloads": {"w": {"fio": {"rw": "read", "bs": "4KiB", "size": "1GiB", "runtime": "1s"}}},
        }
    )


def test_a_cache_before_an_array_and_a_filesystem_on_top_can_be_read() -> None:
    cached = {"bcache": {"on": {"md": {"level": "raid1", "on": "@slow"}}, "cache": "@fast", "mode": "writeback"}}
    read = read_document(scenario_with({"filesystem": {"type": "xfs", "on": cached}}))
    assert [node.kind for node in read.scenario.layouts["x"].walk()] == ["md", "bcache", "filesystem"]


def test_a_layout_that_names_flashcache_is_refused_with_what_took_its_place() -> None:
    with pytest.raises(ProblemError) as caught:
        read_document(scenario_with({"filesystem": {"type": "xfs", "on": {"flashcache": {"on": "@slow", "any": 1}}}}))
    (problem,) = caught.value.problems
    assert (problem.code, problem.place, problem.exit) == ("flashcache", "$.layouts.x.filesystem.on.flashcache", 2)
    assert "writecache" in problem.remedy
    assert "bcache" in problem.remedy
    assert "flashcache" not in [kind.kind for kind in describe().layers], "what cannot be built is not offered"
    found = explain("flashcache")
    assert "none exists for today's kernels" in found["meaning"]
    assert all(name in found["meaning"] for name in ("bcache", "dm-cache", "writecache"))


def test_a_module_that_is_there_all_the_same_is_seen(tmp_path: Path) -> None:
    modules = tmp_path / os.uname().release
    modules.mkdir()
    assert not has_module("flashcache", tmp_path, tmp_path)
    (modules / "modules.dep").write_text("extra/flashcache.ko.xz: kernel/drivers/md/dm-mod.ko.xz\n")
    assert has_module("flashcache", tmp_path, tmp_path)
    assert not has_module("flash", tmp_path, tmp_path)
