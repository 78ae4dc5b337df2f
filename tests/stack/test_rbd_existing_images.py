"""Images of a run in an existing pool are found by their ids, and no other image is removed, wherever a run was killed.

The cluster here is a dictionary: what is tested is which images raidtui asks it to remove; `test_lab_rbd.py` has a real
one.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from test_rbd_existing import DUMP, INTO, PIECES, TANK, images

from raidtui.model.plan import Argv
from raidtui.model.problem import ProblemError, fail
from raidtui.stack.calls import TOOL_FAILED
from raidtui.stack.context import Context
from raidtui.stack.rbd import existing
from raidtui.stack.rbd.spec import Cluster

OTHERS = {"vm-1": "0a", "vm-2": "0b"}
IMAGES = images({**INTO, "through": "librbd"})
ONE, TWO = (image.name for image in IMAGES.images)


class Killed(BaseException):
    """The run died here."""


class Ceph:
    """Two pools with images by name, and objects of half-made images."""

    def __init__(self) -> None:
        self.dump: dict[str, Any] = DUMP
        self.images = dict(OTHERS)
        self.half: set[str] = set()
        self.snapshots: set[str] = set()
        self.ran: list[Argv] = []
        self.dies = ""
        """Word of the command after which the run dies."""

    def ask(self, tool: str, cluster: Cluster, *words: str) -> Any:
        if tool == "ceph":
            return self.dump
        if words[0] == "ls":
            return list(self.images)
        if words[0] == "status":
            return {"watchers": []}
        name = words[1].removeprefix("tank/")
        return {"id": self.images[name]}

    def run(self, argv: Argv, deadline_s: float = 0.0) -> None:
        self.ran.append(argv)
        if argv[1] == "create":
            self.images[argv[2].removeprefix("tank/")] = f"id{len(self.ran)}"
        if argv[1] == "rm":
            name = argv[-1].removeprefix("tank/")
            if name not in {*self.images, *self.half}:
                raise fail(TOOL_FAILED, "rbd: delete error: (2) No such file or directory")
            if name in self.snapshots:
                raise fail(TOOL_FAILED, "rbd: image has snapshots - these must be deleted with 'rbd snap purge'")
            self.images.pop(name, None)
            self.half.discard(name)
        if self.dies and self.dies in argv:
            raise Killed


@pytest.fixture
def ceph(monkeypatch: pytest.MonkeyPatch) -> Ceph:
    one = Ceph()
    said = {"ask": one.ask, "run": one.run, "infos": lambda _: {}, "LATE_S": 0.0}
    for name, value in {**said, **dict.fromkeys(("await_rest", "await_unwatched"), lambda *_: None)}.items():
        monkeypatch.setattr(existing, name, value)
    return one


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context("run", tmp_path, {}, lambda *_: None, threading.Event())


def removed(ceph: Ceph) -> list[str]:
    return [argv[-1] for argv in ceph.ran if argv[1] == "rm"]


def code_of(context: Context) -> tuple[str, int]:
    with pytest.raises(ProblemError) as raised:
        existing.take(context, IMAGES)
    (problem,) = raised.value.problems
    return problem.code, problem.exit


def test_what_was_put_is_taken_once_and_others_stay(ceph: Ceph, context: Context) -> None:
    existing.put(context, IMAGES)
    assert set(ceph.images) == {*OTHERS, ONE, TWO}
    assert {image.ref for image in IMAGES.images} <= set(context.built)
    assert existing.take(context, IMAGES).result == "undone"
    assert ceph.images == OTHERS
    assert existing.take(context, IMAGES).result == "nothing to do"
    assert removed(ceph) == [f"tank/{ONE}", f"tank/{TWO}"]


def test_without_a_record_nothing_is_removed(ceph: Ceph, context: Context) -> None:
    ceph.images[ONE] = "theirs"
    assert existing.take(context, IMAGES).result == "nothing to do"
    with pytest.raises(ProblemError):
        existing.put(context, IMAGES)
    assert existing.take(context, IMAGES).result == "nothing to do"
    assert ceph.images == {**OTHERS, ONE: "theirs"}


def test_an_image_that_was_made_when_the_run_died_is_removed(ceph: Ceph, context: Context) -> None:
    ceph.dies = f"tank/{TWO}"
    with pytest.raises(Killed):
        existing.put(context, IMAGES)
    ceph.dies = ""
    assert TWO in ceph.images, "its id was not recorded"
    existing.take(context, IMAGES)
    assert ceph.images == OTHERS


def test_half_of_an_image_is_removed_by_its_name(ceph: Ceph, context: Context) -> None:
    ceph.dies = f"tank/{ONE}"
    with pytest.raises(Killed):
        existing.put(context, IMAGES)
    ceph.dies = ""
    del ceph.images[ONE]  # killed before the pool's directory had it
    ceph.half.add(ONE)
    existing.take(context, IMAGES)
    assert (ceph.images, ceph.half) == (OTHERS, set())


def test_a_name_that_somebody_else_has_now_is_left(ceph: Ceph, context: Context) -> None:
    existing.put(context, IMAGES)
    ceph.images[ONE] = "theirs"
    assert code_of(context) == ("rbd-foreign", 6)
    assert ceph.images[ONE] == "theirs"


def test_a_snapshot_of_somebody_else_keeps_the_image(ceph: Ceph, context: Context) -> None:
    existing.put(context, IMAGES)
    ceph.snapshots.add(ONE)
    assert code_of(context) == ("rbd-snapshots", 6)
    ceph.snapshots.clear()
    assert existing.take(context, IMAGES).result == "undone", "once the snapshot is gone, recovery does the rest"
    assert ceph.images == OTHERS


def test_nothing_is_removed_on_another_cluster_or_in_another_pool_of_that_name(ceph: Ceph, context: Context) -> None:
    existing.put(context, IMAGES)
    ceph.dump = {**DUMP, "fsid": "other"}
    assert code_of(context) == ("rbd-other-cluster", 6)
    ceph.dump = {**DUMP, "pools": [{**TANK, "pool": 9}, PIECES]}
    assert existing.take(context, IMAGES).result == "nothing to do"
    assert removed(ceph) == []
