"""Freeing a disk: what may be erased, what the consent is to, and what refuses it. The gate itself is tried in the lab."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

import made

from raidtui.engine import free
from raidtui.inventory import CONTENT, REASONS
from raidtui.model.disk import Disk, Reason
from raidtui.model.problem import ProblemError

STALE = Reason("md-superblock", "md superblock of array 1", "mdadm --zero-superblock /dev/nvme1n1")


def disk(*reasons: Reason, **differs: Any) -> Disk:
    return made.disk(1, reasons=reasons, **differs)


def refused(*reasons: Reason) -> list[str]:
    with pytest.raises(ProblemError) as caught:
        free.look("S64GNE0R100001", [disk(*reasons)])
    return [problem.code for problem in caught.value.problems]


@pytest.mark.parametrize("code", sorted(CONTENT))
def test_what_is_on_a_disk_and_used_by_nobody_can_be_erased(code: str):
    plan = free.look("S64GNE0R100001", [disk(Reason(code, "something"))])
    assert plan.disk.reasons[0].code == code


@pytest.mark.parametrize("code", sorted(set(REASONS) - CONTENT))
def test_every_other_reason_refuses_it_whatever_else_is_on_it(code: str):
    assert refused(STALE, Reason(code, "something")) == ["not-freeable"]


def test_of_the_disk_of_the_running_system_only_that_is_told():
    system, mounted = Reason("system", "the running system stands on it", system=True), Reason("mounted", "mounted on /")
    with pytest.raises(ProblemError) as caught:
        free.look("S64GNE0R100001", [disk(mounted, system, STALE)])
    (problem,) = caught.value.problems
    assert ("[system]" in problem.message, "another disk" in problem.remedy) == (True, True)


def test_a_free_disk_and_an_unknown_one_are_told():
    assert refused() == ["free-already"]
    with pytest.raises(ProblemError) as caught:
        free.look("/dev/nvme1n1", [disk(STALE)])
    assert caught.value.problems[0].code == "no-such-disk"


def test_the_digest_is_of_the_disk_and_of_what_is_on_it():
    plan = free.look("S64GNE0R100001", [disk(STALE)])
    other = msgspec.structs.replace(STALE, message="md superblock of array 2")
    assert free.look("S64GNE0R100001", [disk(other)]).digest != plan.digest
    assert free.look("S64GNE0R100001", [disk(STALE, size_bytes=1 << 40)]).digest != plan.digest
    first, second = (Reason("unknown-data", f"data near byte {at}") for at in (1, 2))
    assert free.look("S64GNE0R100001", [disk(first)]).digest == free.look("S64GNE0R100001", [disk(second)]).digest


@pytest.mark.parametrize(("digest", "erase"), [("", "S64GNE0R100001"), (None, "S64GNE0R100002"), (None, "/dev/nvme1n1")])
def test_nothing_is_opened_without_consent_to_what_was_shown(digest: str | None, erase: str, monkeypatch):
    monkeypatch.setattr(free, "admit_to_free", lambda *_: pytest.fail("the gate was asked"))
    plan = free.look("S64GNE0R100001", [disk(STALE)])
    with pytest.raises(ProblemError) as caught:
        next(free.free(plan, plan.digest if digest is None else digest, erase))
    assert [(problem.code, bool(problem.remedy)) for problem in caught.value.problems] == [("free-consent", True)]
