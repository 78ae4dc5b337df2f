"""Disks of a run are held unless a layer has them, looked at before they are written to, and left where they are taken."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raidtui.inventory import REASONS
from raidtui.model.disk import Disk
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.stack import blank as blanking
from raidtui.stack import context
from raidtui.stack.blank import DisksToBlank, blank
from raidtui.stack.context import Context
from raidtui.stack.teardown import lend, may_erase

TAKEN = Problem("disk-taken", "a filesystem", "B", exit=3)


class FakePermit:
    """A disk that `user` may have instead of the run."""

    def __init__(self, name: str) -> None:
        self.disk = Disk(name, f"sd{name.lower()}", 1 << 30, name, name, "model")
        self.held, self.user, self.fresh = True, "", False
        self.held_parts: set[str] = set()
        self.used_parts: set[str] = set()

    def hold(self, patience_s: float = 0.0) -> None:
        if self.user:
            raise fail(REASONS["busy"], f"{self.user} has it", place=self.disk.id, exit=Exit.REFUSED)
        self.held = True

    def let_go(self) -> None:
        self.held = False
        self.held_parts.clear()

    def holds_part(self, name: str) -> bool:
        return name in self.held_parts

    def hold_part(self, name: str) -> None:
        if name in self.used_parts:
            raise fail(REASONS["busy"], f"a layer has {name}", place=self.disk.id, exit=Exit.REFUSED)
        self.held_parts.add(name)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> tuple[Context, dict[str, Any], dict[str, bool], list[str]]:
    """A context on three disks, what looking at each finds, which were looked at as blank ones, and which were erased."""
    permits = {name: FakePermit(name) for name in "ABC"}
    made = Context("run", Path("/nowhere"), permits, lambda *_: None, threading.Event())  # type: ignore[arg-type]
    looked: dict[str, bool] = {}
    erased: list[str] = []

    def look(permit: FakePermit, ours: Callable[[], Any], *, blank: bool) -> Problem | None:
        looked[permit.disk.id] = blank
        return TAKEN if permit.fresh else None

    def make_blank(permit: FakePermit, **_: Any) -> dict[str, Any]:
        erased.append(permit.disk.id)
        return {"method": "discard"}

    monkeypatch.setattr(context, "taken", look)
    monkeypatch.setattr(blanking, "make_blank", make_blank)
    return made, permits, looked, erased


def test_a_layer_is_lent_its_disks_and_gives_back_what_it_does_not_keep(bench: Any) -> None:
    made, permits, _, _ = bench
    with made.lend(["A", "B"]):
        assert [permit.held for permit in permits.values()] == [False, False, True]
        permits["A"].user = "md"
    assert [permit.held for permit in permits.values()] == [False, True, True]
    made.about_to_write(["A", "B"])
    permits["A"].user = ""
    made.hold(permits)
    assert permits["A"].held


def test_a_disk_that_somebody_has_instead_of_a_layer_is_not_written_to(bench: Any) -> None:
    made, permits, _, _ = bench
    permits["B"].let_go()
    permits["B"].user = "mkfs"
    with pytest.raises(ProblemError, match="mkfs has it"):
        made.about_to_write(["A", "B"])
    assert made.written == set()


def test_disks_are_looked_at_before_they_are_written_to_and_none_is_where_one_is_taken(bench: Any) -> None:
    made, permits, looked, _ = bench
    made.about_to_write(["A"])
    made.about_to_write(["A", "C"])
    assert looked == {"A": False, "C": True}
    permits["B"].fresh = True
    with pytest.raises(ProblemError) as caught:
        made.about_to_write(["A", "B"])
    assert caught.value.problems == (TAKEN,)
    assert made.written == {"A", "C"}


def test_a_disk_that_somebody_took_is_not_made_blank_and_the_others_are(bench: Any) -> None:
    made, permits, _, erased = bench
    made.written |= {"A", "B", "C"}
    permits["B"].fresh = True
    permits["C"].let_go()
    permits["C"].user = "mkfs"
    outcome = blank(made, DisksToBlank(("disk:A", "disk:B", "disk:C"), if_written=True))
    assert erased == ["A"]
    assert list(outcome.facts["blank"]) == ["A"]
    assert [(problem.code, problem.place) for problem in outcome.problems] == [("disk-taken", "B"), ("busy", "C")]
    assert made.written == {"B", "C"}


def test_leavings_beside_what_somebody_put_there_are_not_taken_off(bench: Any) -> None:
    made, permits, _, _ = bench
    assert may_erase(made, "md:rtabc0a")
    permits["A"].let_go()
    assert may_erase(made, "disk:A")
    assert permits["A"].held
    permits["B"].fresh = True
    assert not may_erase(made, "disk:B")
    permits["C"].let_go()
    permits["C"].user = "mkfs"
    with pytest.raises(ProblemError, match="mkfs has it"):
        may_erase(made, "disk:C")


def test_partitions_of_a_disk_are_lent_looked_at_and_erased_as_the_disk_is(bench: Any) -> None:
    made, permits, looked, _ = bench
    made.parts |= {"partition:p1": ("A", "sda1"), "partition:p2": ("A", "sda2")}
    permit = permits["A"]
    permit.user, permit.held, permit.used_parts, permit.held_parts = "p1's layer", False, {"sda1"}, {"sda2"}
    assert made.disk_of("partition:p2") == made.disk_of("disk:A") == "A"
    assert made.disk_of("md:rtabc0a") is None
    assert made.holds("partition:p2")
    assert not made.holds("partition:p1"), "a layer has it"
    made.written.add("A")
    assert may_erase(made, "partition:p2")
    assert looked == {"A": False}, "a disk is looked at while any of its partitions is held"
    with pytest.raises(ProblemError, match="a layer has sda1"):
        may_erase(made, "partition:p1")
    permit.fresh = True
    assert not may_erase(made, "partition:p2")
    with lend(made, "partition:p2"):
        assert not made.holds("partition:p2")
