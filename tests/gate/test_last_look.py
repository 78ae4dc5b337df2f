"""A disk is looked at before it is written to: what the run left is told from what somebody else put there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from raidtui.gate import last_look
from raidtui.gate.permit import Permit
from raidtui.inventory import Signature
from raidtui.inventory.sampling import Content
from raidtui.model.disk import Disk
from raidtui.model.problem import ProblemError

OWN = Signature("linux_raid_member", "aaaa", where="sda")
HIS = Signature("ext4", "bbbb", "his", "filesystem", where="sda")
DISK = Disk("Sa", "sda", 1 << 30, "Sa", "wa", "model")
PERMIT = cast(Permit, SimpleNamespace(disk=DISK, verify=lambda: None, alive=lambda: True))


def found(monkeypatch: pytest.MonkeyPatch, content: Content, *, blank: bool) -> str:
    monkeypatch.setattr(last_look, "_read", lambda permit, whole: content)
    problem = last_look.taken(PERMIT, lambda: [OWN], blank=blank)
    return f"{problem.code} {problem.place}: {problem.message}" if problem else ""


@pytest.mark.parametrize(
    ("content", "blank"),
    [
        (Content(fill="zeroes"), True),
        (Content(fill="ones"), True),
        (Content(), False),
        (Content(fill="data", data_at=0), False),
        (Content((OWN,)), False),
    ],
)
def test_what_the_run_left_is_nobody_elses(monkeypatch: pytest.MonkeyPatch, content: Content, blank: bool) -> None:
    assert found(monkeypatch, content, blank=blank) == ""


@pytest.mark.parametrize(
    ("content", "blank", "says"),
    [
        (Content((HIS,)), True, "filesystem ext4 (uuid bbbb, name his) on sda"),
        (Content((OWN, HIS)), False, "filesystem ext4 (uuid bbbb, name his) on sda"),
        (Content((OWN._replace(uuid="cccc"),)), False, "md superblock"),
        (Content((OWN,)), True, "md superblock"),
        (Content(fill="data", data_at=4096), True, "near byte 4096"),
    ],
)
def test_what_the_run_did_not_put_there_is_somebody_elses(
    monkeypatch: pytest.MonkeyPatch, content: Content, blank: bool, says: str
) -> None:
    told = found(monkeypatch, content, blank=blank)
    assert told.startswith("disk-taken Sa: ")
    assert says in told


@pytest.mark.parametrize(
    ("content", "command"),
    [
        (Content((HIS,)), "wipefs -a /dev/sda"),
        (Content((HIS._replace(where="sda1"),)), "wipefs -a /dev/sda1"),
        (Content((OWN,)), "mdadm --zero-superblock /dev/sda"),
        (Content((HIS._replace(type="zfs_member", remains=True),)), "blkdiscard -z /dev/sda"),
        (Content(fill="data", data_at=4096), "blkdiscard -z /dev/sda"),
    ],
)
def test_the_way_out_clears_the_kind_of_data_that_was_found(
    monkeypatch: pytest.MonkeyPatch, content: Content, command: str
) -> None:
    monkeypatch.setattr(last_look, "_read", lambda permit, whole: content)
    problem = last_look.taken(PERMIT, list, blank=True)
    assert problem is not None
    assert problem.remedy == f"If nobody needs it: {command}, then: raidtui recover"


def test_a_disk_that_cannot_be_read_is_not_taken_for_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(permit: Any, whole: bool) -> Content:
        raise OSError("Input/output error")

    monkeypatch.setattr(last_look, "_read", fails)
    for alive, code in ((True, "unchecked"), (False, "disk-gone")):
        permit = cast(Permit, SimpleNamespace(disk=DISK, verify=lambda: None, alive=lambda alive=alive: alive))
        with pytest.raises(ProblemError) as caught:
            last_look.taken(permit, list, blank=False)
        assert caught.value.problems[0].code == code
