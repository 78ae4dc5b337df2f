"""What does not have its form is refused in words, with an example, and never with a regular expression."""

from __future__ import annotations

import json
from typing import Any

import pytest

from raidtui.engine.compose.reading import read_document
from raidtui.load.fio.spec import FioSpec
from raidtui.model.convert import decode
from raidtui.model.problem import Problem, ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.bcache.spec import BcacheSpec
from raidtui.stack.lvm.spec import LvmSpec
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


@pytest.mark.parametrize(
    ("type_", "value", "way_out"),
    [
        (LvmSpec, {"on": "@d", "cache": {"on": "@f", "kind": "cachepool"}}, "Did you mean pool?"),
        (LvmSpec, {"on": "@d", "vdo": {"dedupe": True}}, "Did you mean deduplication?"),
        (MdSpec, {"level": "raid5", "on": "@d", "chunk_size": "64KiB"}, "Did you mean chunk?"),
        (BcacheSpec, {"on": "@d", "cache": "@f", "cutoff": "4MiB"}, "Did you mean sequential_cutoff?"),
        (BcacheSpec, {"on": "@d", "cache": "@f", "cache_mode": "writeback"}, "mode?"),
        (ZpoolSpec, {**POOL, "ashift": 12}, '"properties": {"ashift"'),
        (ZpoolSpec, {**POOL, "compress": "lz4"}, '"compression" into the "properties" of volume or dataset'),
        (ZpoolSpec, {"vdevs": [{"stripe": "@d", "ashift": 12}]}, '"properties": {"ashift"'),
        (ZpoolSpec, {**POOL, "dataset": {"recordsize": "1M"}}, '"properties": {"recordsize"'),
        (ZpoolSpec, {**POOL, "dataset": {"ashift": 12}}, 'the "properties" of the zpool'),
        (ZpoolSpec, {**POOL, "spare": "@s"}, "Did you mean spares?"),
    ],
)
def test_a_name_that_is_almost_right_is_put_right(type_: type, value: Any, way_out: str) -> None:
    assert way_out in refused(type_, value).remedy


@pytest.mark.parametrize(
    ("kind", "meant"),
    [("mdadm", "md"), ("zfs", "zpool"), ("fs", "filesystem"), ("xfs", 'filesystem with "type": "xfs"'),
     ("raid5", 'md with "level": "raid5"'), ("zpol", "zpool"), ("LVM", "lvm")],
)  # fmt: skip
def test_a_kind_that_is_called_otherwise_is_named(kind: str, meant: str) -> None:
    document = {"schema": "raidtui.scenario/1", "name": "x", "roles": {"d": {"count": 1}}, "layouts": {"it": {kind: {}}},
                "workloads": {"w": {"fio": {**FIO, "bs": "4KiB"}}}}  # fmt: skip
    with pytest.raises(ProblemError) as caught:
        read_document(json.dumps(document))
    assert caught.value.problems[0].remedy.startswith(f"Did you mean {meant}?")
