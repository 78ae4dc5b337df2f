"""Making and removing a pool of a Vitastor cluster: nothing that was there before, or is somebody else's, is removed.

The cluster is a file (`vitastor_stand_in.py`). Whether real tools do what they are asked for is tested in the lab.
"""

from __future__ import annotations

import errno
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from raidtui.base import proc
from raidtui.model.problem import ProblemError
from raidtui.model.units import Size
from raidtui.stack.context import Context
from raidtui.stack.vitastor import images, pool
from raidtui.stack.vitastor.plan import pool_of
from raidtui.stack.vitastor.spec import VitastorCluster, VitastorCopies, VitastorImages, VitastorPieces, VitastorSpec

HERE = Path(__file__).parent
SAID: dict[str, Any] = json.loads((HERE.parent / "data/vitastor/cluster.json").read_text())
COPIES = VitastorSpec(Size("32MiB"), 2, replicated=VitastorCopies(2, 1), failure_domain="osd", pg_num=8)
POOL = pool_of(COPIES, "rtabcdefgha", "u")
IMAGES = VitastorImages(POOL.name, "v", POOL.cluster, POOL.name, POOL.images, COPIES.size.bytes)
OTHERS = ["rtrep", "rtxor"]


class Cluster:
    """The stand-in, a run's folder beside it, and what is kept in the file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "cluster.json"
        tool = folder / "vitastor-cli"
        tool.write_text(f"#!{sys.executable} -I\n" + (HERE / "vitastor_stand_in.py").read_text())
        tool.chmod(0o755)
        (folder / "run").mkdir()
        kept = ("status", "ls-osd", "ls-pools", "pg-list", "ls")
        self.change(log=[], fails={}, next=3, **{verb: SAID[verb] for verb in kept})
        self.context = Context("r", folder / "run", {}, lambda *_: None, threading.Event())

    def change(self, **more: Any) -> None:
        before = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.file.write_text(json.dumps({**before, **more}))

    def __getitem__(self, name: str) -> Any:
        return json.loads(self.file.read_text())[name]

    @property
    def pools(self) -> list[str]:
        return [one["name"] for one in self["ls-pools"]]

    @property
    def images(self) -> list[str]:
        return [one["name"] for one in self["ls"]]

    def changes(self) -> list[str]:
        """Return the commands that changed something."""
        return [line for line in self["log"] if line.split()[0] in ("create-pool", "create", "rm", "rm-pool")]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(proc, "TOOL_DIRS", (str(tmp_path),))
    monkeypatch.setattr(pool, "LATE_S", 0.0)
    return Cluster(tmp_path)


def codes(error: pytest.ExceptionInfo[ProblemError]) -> set[tuple[str, int]]:
    return {(problem.code, problem.exit) for problem in error.value.problems}


def test_pool_and_images_are_made_read_back_and_removed_alone(cluster: Cluster) -> None:
    made = pool.create(cluster.context, POOL)
    assert made.facts["pool"]["id"] == 3
    images.create(cluster.context, IMAGES)
    found = images.verify(cluster.context, IMAGES).facts["images"]
    assert {name: one["size"] for name, one in found.items()} == dict.fromkeys(POOL.images, 32 << 20)
    assert pool.remove(cluster.context, POOL).result == "undone"
    assert (cluster.pools, cluster.images) == (OTHERS, ["rt0", "rt1"])
    count = len(cluster.changes())
    assert pool.remove(cluster.context, POOL).result == "nothing to do"
    assert len(cluster.changes()) == count
    assert not list(cluster.context.folder.iterdir())


def test_a_pool_that_is_not_active_in_time_may_become_so_later(cluster: Cluster) -> None:
    cluster.change(fails={"create-pool": [errno.EAGAIN, "was created, but failed to become active"]})
    assert pool.create(cluster.context, POOL).result == "created"
    assert pool.remove(cluster.context, POOL).result == "undone"


def test_pieces_are_compared_with_what_was_made(cluster: Cluster) -> None:
    spec = VitastorSpec(Size("32MiB"), erasure=VitastorPieces(2, 1, scheme="xor"), failure_domain="osd", pg_num=8)
    coded = pool_of(spec, "rtabcdefghb", "u")
    facts = pool.create(cluster.context, coded).facts["pool"]
    assert (facts["scheme"], facts["pg_size"], facts["pg_minsize"], facts["parity_chunks"]) == ("ec", 3, 2, 1)


def test_without_a_record_nothing_is_removed(cluster: Cluster) -> None:
    cluster.change(**{"ls-pools": [*cluster["ls-pools"], {"id": 3, "name": POOL.name, "status": "active"}]})
    assert pool.remove(cluster.context, POOL).result == "nothing to do"
    assert POOL.name in cluster.pools


def test_a_pool_of_a_run_that_was_killed_while_it_made_it_is_removed(cluster: Cluster) -> None:
    pool.create(cluster.context, POOL)
    record = pool.NOTES.read(cluster.context.folder, POOL.name)
    assert record is not None
    pool.NOTES.write(cluster.context.folder, POOL.name, pool.Record(record.pools, record.osds))
    assert pool.remove(cluster.context, POOL).result == "undone"
    assert cluster.pools == OTHERS


def test_what_has_the_planned_name_already_is_left(cluster: Cluster) -> None:
    cluster.change(**{"ls-pools": [*cluster["ls-pools"], {"id": 7, "name": POOL.name, "status": "active"}]})
    with pytest.raises(ProblemError) as refused:
        pool.create(cluster.context, POOL)
    assert codes(refused) == {("vitastor-exists", 3)}
    pool.NOTES.write(cluster.context.folder, POOL.name, pool.Record((1, 2, 7), ("1:4258267136",)))
    with pytest.raises(ProblemError) as left:
        pool.remove(cluster.context, POOL)
    assert codes(left) == {("vitastor-exists", 6)}
    assert cluster.changes() == []


def test_a_pool_with_an_image_of_somebody_else_is_left_as_it_is(cluster: Cluster) -> None:
    pool.create(cluster.context, POOL)
    images.create(cluster.context, IMAGES)
    cluster.change(ls=[*cluster["ls"], {"name": "precious", "pool_id": 3, "pool_name": POOL.name, "size": 1}])
    with pytest.raises(ProblemError) as left:
        pool.remove(cluster.context, POOL)
    assert codes(left) == {("vitastor-foreign", 6)}
    assert {*POOL.images, "precious"} <= set(cluster.images)
    cluster.change(ls=[one for one in cluster["ls"] if one["name"] != "precious"])
    assert pool.remove(cluster.context, POOL).result == "undone"


def test_nothing_is_removed_on_another_cluster(cluster: Cluster) -> None:
    pool.create(cluster.context, POOL)
    others = [{**one, "size": 1 << 40} if one["type"] == "osd" else one for one in cluster["ls-osd"]]
    cluster.change(**{"ls-osd": others})
    count = len(cluster.changes())
    with pytest.raises(ProblemError) as left:
        pool.remove(cluster.context, POOL)
    assert codes(left) == {("vitastor-other-cluster", 6)}
    assert len(cluster.changes()) == count


def test_an_error_is_told_with_its_text_and_the_images_made_until_then_are_removed(cluster: Cluster) -> None:
    pool.create(cluster.context, POOL)
    cluster.change(fails={"create": [errno.EEXIST, "Image already exists"]})
    with pytest.raises(ProblemError) as failed:
        images.create(cluster.context, IMAGES)
    assert codes(failed) == {("tool-failed", 4)}
    assert failed.value.problems[0].message.endswith("Image already exists")
    cluster.change(fails={})
    pool.remove(cluster.context, POOL)
    assert cluster.pools == OTHERS


@pytest.mark.parametrize(
    ("change", "spec", "code"),
    [
        ({}, COPIES, ""),
        ({}, VitastorSpec(Size("100GiB"), replicated=VitastorCopies(2), failure_domain="osd"), "vitastor-too-large"),
        ({}, VitastorSpec(Size("1GiB"), erasure=VitastorPieces(4, 2), failure_domain="osd"), "vitastor-too-few-domains"),
        ({}, VitastorSpec(Size("1GiB"), config="/nowhere/vitastor.conf"), "vitastor-no-config"),
        ({"status": {**SAID["status"], "pg_states": {"active": 8, "incomplete": 8}}}, COPIES, "vitastor-not-clean"),
        ({"status": {**SAID["status"], "no_recovery": True}}, COPIES, ""),
        ({"fails": {"status": [errno.EINVAL, "etcd_address is missing in Vitastor configuration"]}}, COPIES,
         "vitastor-no-config"),
    ],
    ids=["none", "large", "few", "config", "unclean", "caution", "etcd"],
)
def test_what_is_in_the_way_is_found_before_anything_is_made(
    cluster: Cluster, change: dict[str, Any], spec: VitastorSpec, code: str
) -> None:
    cluster.change(**change)
    found = list(pool.in_the_way(pool_of(spec, POOL.name, "u")))
    assert [(one.code, one.exit) for one in found] == ([(code, 3)] if code else [])
    assert cluster.changes() == []


def test_the_cluster_is_named_in_every_command_after_its_verb(cluster: Cluster) -> None:
    other = cluster.folder / "b.conf"
    other.write_text("{}")
    own = pool_of(COPIES, POOL.name, "u")
    named = type(own)(**{**{name: getattr(own, name) for name in own.__struct_fields__},
                         "cluster": VitastorCluster(str(other))})  # fmt: skip
    pool.create(cluster.context, named)
    pool.remove(cluster.context, named)
    assert all(f" --config_path {other}" in line and not line.startswith("-") for line in cluster["log"])
