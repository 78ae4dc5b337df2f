"""The gate admits all disks or none, for one run at a time, and only the very disks that were planned with."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raidtui import gate
from raidtui.gate import locks, permit
from raidtui.inventory import REASONS, Examined, Signature
from raidtui.inventory.content import Content, content_reasons
from raidtui.inventory.reasons import reason
from raidtui.model.disk import Disk, Fingerprint, fingerprint
from raidtui.model.problem import Exit, ProblemError, fail

# The package offers the function of the same name.
admission = importlib.import_module("raidtui.gate.admit")


def disk(letter: str, **changes: Any) -> Disk:
    plain = Disk(f"S{letter}", f"sd{letter}", 1 << 30, f"S{letter}", f"w{letter}", "model", diskseq=ord(letter), major=8)
    return msgspec.structs.replace(plain, minor=ord(letter), **changes)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Examined]:
    """A made-up server: id → what examining the disk says. Pins are files."""
    found = {f"S{letter}": Examined(disk(letter), evidence={"letter": letter}) for letter in "abc"}
    seen: dict[str, Any] = {}

    def examine(**question: Any) -> tuple[Examined, ...]:
        seen.update(question)
        return tuple(e for e in found.values() if e.disk.id in question["only"])

    monkeypatch.setattr(locks, "run_folder", lambda: tmp_path)
    monkeypatch.setattr(admission, "examine", examine)
    monkeypatch.setattr(admission, "boot_id", lambda: "boot")
    monkeypatch.setattr(permit, "_open_checked", lambda disk, devno, flags: os.open("/dev/null", os.O_RDONLY))
    return found


def recovery_refusal(wanted: list[Fingerprint], ours: Any) -> list[tuple[str, str]]:
    """What an admission in a recovery refuses; no lock is left of those disks."""
    permits, problems = gate.admit_for_recovery("r1", wanted, ours)
    assert permits == []
    assert gate.holders() == {}
    assert {problem.exit for problem in problems} == {int(Exit.REFUSED)}
    return [(problem.code, problem.place) for problem in problems]


def recovered(*question: Any, **more: Any) -> list[Any]:
    """The permits of an admission in a recovery that refuses no disk."""
    permits, problems = gate.admit_for_recovery(*question, **more)
    assert problems == []
    return permits


def want(*letters: str, **changes: Any) -> list[Fingerprint]:
    return [fingerprint(disk(letter, **changes), "boot") for letter in letters]


def refusal(call: Any) -> list[tuple[str, str]]:
    with pytest.raises(ProblemError) as caught:
        call()
    assert {p.exit for p in caught.value.problems} == {int(Exit.REFUSED)}
    return [(p.code, p.place) for p in caught.value.problems]


def test_free_disks_are_admitted_in_the_order_asked_for(server):
    told: list[Any] = []
    permits = gate.admit("r1", want("b", "a"), told.append)
    assert [p.disk.id for p in permits] == ["Sb", "Sa"]
    assert [t["letter"] for t in told] == ["b", "a"]
    assert gate.holders() == {"wa": "r1", "wb": "r1"}
    for each in permits:
        each.close()
        each.close()
    assert gate.holders() == {}


def test_a_permit_is_not_to_be_had_elsewhere(server):
    [lock] = locks.take("r1", ["wa"])
    with pytest.raises(TypeError):
        gate.Permit(object(), disk("a"), want("a")[0], lock)
    lock.release()


@pytest.mark.parametrize("code", sorted(REASONS))
def test_any_reason_at_all_refuses_and_releases_everything(server, code):
    server["Sb"] = Examined(disk("b", reasons=(reason(code, "because"),)))
    assert refusal(lambda: gate.admit("r1", want("a", "b", "c"))) == [(code, "Sb")]
    assert gate.holders() == {}


def test_every_reason_of_every_disk_is_named(server):
    why = (reason("mounted", "x"), reason("filesystem", "y"))
    server["Sa"], server["Sc"] = Examined(disk("a", reasons=why)), Examined(disk("c", reasons=why[:1]))
    assert refusal(lambda: gate.admit("r1", want("a", "b", "c"))) == [
        ("mounted", "Sa"),
        ("filesystem", "Sa"),
        ("mounted", "Sc"),
    ]


def test_a_disk_that_is_gone_refuses(server):
    del server["Sa"]
    assert refusal(lambda: gate.admit("r1", want("a", "b"))) == [("disk-gone", "Sa")]


@pytest.mark.parametrize(
    "changes",
    [
        {"serial": "x"},
        {"wwid": "x"},
        {"model": "x"},
        {"size_bytes": 1},
        {"logical_sector_bytes": 4096},
        {"diskseq": 1},
        {"diskseq": None},
    ],
)
def test_a_disk_that_is_not_the_planned_one_refuses(server, changes):
    assert refusal(lambda: gate.admit("r1", want("a", **changes))) == [("disk-changed", "Sa")]


def test_a_plan_of_another_boot_is_refused(server):
    assert refusal(lambda: gate.admit("r1", [fingerprint(disk("a"), "yesterday")])) == [("disk-changed", "Sa")]


def test_a_disk_cannot_be_asked_for_twice(server):
    assert refusal(lambda: gate.admit("r1", want("a", "a"))) == [("disk-twice", "")]


def test_two_runs_on_overlapping_disks_and_only_one_gets_them(server):
    permits = gate.admit("r1", want("a", "b"))
    with pytest.raises(ProblemError, match="held by run r1") as caught:
        gate.admit("r2", want("b", "c"))
    assert caught.value.exit == Exit.REFUSED
    assert gate.holders() == {"wa": "r1", "wb": "r1"}
    for each in permits:
        each.close()
    for each in gate.admit("r2", want("b", "c")):
        each.close()


def test_a_pin_that_cannot_be_opened_releases_everything(server, monkeypatch):
    def fail_second(wanted: Disk, devno: int, flags: int) -> int:
        if wanted.id == "Sb":
            raise permit.gone(wanted)
        return os.open("/dev/null", os.O_RDONLY)

    monkeypatch.setattr(permit, "_open_checked", fail_second)
    before = os.listdir("/proc/self/fd")
    assert refusal(lambda: gate.admit("r1", want("a", "b", "c"))) == [("disk-gone", "Sb")]
    assert gate.holders() == {}
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_closed_permit_gives_no_way_to_the_disk(server):
    [one] = gate.admit("r1", want("a"))
    one.close()
    assert one.closed
    assert not one.alive()
    for use in (one.path, one.open_for_writing, one.verify):
        with pytest.raises(ProblemError):
            use()


OURS = (Signature("linux_raid_member", "aabbccdd-0011-2233-4455-66778899aabb"), Signature("zfs_member", label="rt1pool"))


def left(letter: str, *signatures: Signature, codes: tuple[str, ...] = ("md-superblock",)) -> Examined:
    return Examined(disk(letter, reasons=tuple(reason(code, "x") for code in codes)), signatures)


def test_recovery_takes_back_what_the_run_created(server):
    server["Sa"] = left("a", Signature("linux_raid_member", "AABBCCDD:00112233:44556677:8899AABB"))
    server["Sb"] = left("b", Signature("zfs_member", "123", "rt1pool"), codes=("zfs-exported", "partitions"))
    server["Sc"] = left("c", codes=("unknown-data",))
    for each in recovered("r1", want("a", "b", "c", diskseq=99), OURS, nameless=["Sc"]):
        each.close()


def test_recovery_refuses_data_without_a_name_that_may_be_anybodys(server):
    server["Sa"] = left("a", codes=("unknown-data",))
    assert "it was away since the run wrote to it" in gate.admit_for_recovery("r1", want("a"), OURS).refused[0].message
    assert recovery_refusal(want("a"), OURS) == [("unknown-data", "Sa")]


def test_recovery_takes_back_data_without_a_name_beside_a_signature_of_the_run(server):
    server["Sa"] = left("a", OURS[0], codes=("md-superblock", "unknown-data"))
    for each in recovered("r1", want("a"), OURS):
        each.close()


@pytest.mark.parametrize(
    "signature",
    [
        Signature("linux_raid_member", "00000000-0011-2233-4455-66778899aabb"),
        Signature("ext4", "aabbccdd-0011-2233-4455-66778899aabb"),
        Signature("linux_raid_member", ""),
        Signature("zfs_member", "", "tank"),
        Signature("zfs_member", "", ""),
    ],
)
def test_recovery_refuses_what_the_run_did_not_create(server, signature):
    server["Sa"] = left("a", OURS[0], signature)
    assert recovery_refusal(want("a"), OURS) == [("md-superblock", "Sa")]


def test_a_refusal_in_a_recovery_names_what_is_not_the_runs_alone(server):
    his = Signature("ext4", "7", "his", "filesystem", where="sda")
    own = OURS[0]._replace(where="sda")
    reasons = [*content_reasons("sda", Content((own, his)))]
    assert len(reasons) == 2
    server["Sa"] = Examined(disk("a", reasons=tuple(reasons)), (own, his))
    assert recovery_refusal(want("a"), OURS) == [("filesystem", "Sa")]


TABLE = Signature("gpt", "11111111-2222-3333-4444-555555555555")


def test_recovery_takes_back_nameless_signatures_in_a_partition_table_of_the_run(server):
    mine = (TABLE._replace(usage="partitions", where="sda"), Signature("PMBR", usage="partitions", where="sda"))
    server["Sa"] = left("a", *mine, Signature("zfs_member", where="sda1"), codes=("partition-table", "zfs-exported"))
    for each in recovered("r1", want("a"), (*OURS, TABLE)):
        each.close()


@pytest.mark.parametrize(
    "inside",
    [
        Signature("zfs_member", "7", "tank", where="sda1"),
        Signature("ext4", where="sda1"),
        Signature("zfs_member", where="sda"),
    ],
)
def test_recovery_refuses_what_others_put_into_a_partition_table_of_the_run(server, inside):
    server["Sa"] = left("a", TABLE._replace(usage="partitions", where="sda"), inside, codes=("zfs-exported",))
    assert recovery_refusal(want("a"), (*OURS, TABLE)) == [("zfs-exported", "Sa")]


def test_recovery_refuses_a_partition_table_of_others(server):
    foreign = TABLE._replace(uuid="11111111-2222-3333-4444-000000000000", usage="partitions", where="sda")
    server["Sa"] = left("a", foreign, Signature("zfs_member", where="sda1"), codes=("partition-table",))
    assert recovery_refusal(want("a"), (*OURS, TABLE)) == [("partition-table", "Sa")]


@pytest.mark.parametrize("code", sorted(set(REASONS) - admission._RECOVERABLE))
def test_recovery_refuses_every_user_of_the_disk(server, code):
    server["Sa"] = left("a", OURS[0], codes=("md-superblock", code))
    assert recovery_refusal(want("a"), OURS) == [(code, "Sa")]


@pytest.mark.parametrize("changes", [{"serial": "x"}, {"wwid": "x"}, {"model": "x"}, {"size_bytes": 1}])
def test_recovery_refuses_another_disk(server, changes):
    assert recovery_refusal(want("a", **changes), OURS) == [("disk-changed", "Sa")]


def test_a_disk_that_is_refused_in_a_recovery_keeps_no_other_from_being_given_back(server):
    server["Sb"] = left("b", OURS[0], codes=("md-superblock", "mounted"))
    [lock] = locks.take("r2", ["wc"])
    permits, problems = gate.admit_for_recovery("r1", want("a", "b", "c"), OURS)
    assert [permit.disk.id for permit in permits] == ["Sa"]
    assert [(problem.code, problem.place) for problem in problems] == [("held", "Sc"), ("mounted", "Sb")]
    assert gate.holders() == {"wa": "r1", "wc": "r2"}
    lock.release()
    permits[0].close()


def test_an_admitted_disk_is_held_until_it_is_lent_and_written_to_without_asking_again(server, monkeypatch):
    asked: list[int] = []

    def opened(wanted: Disk, devno: int, flags: int) -> int:
        asked.append(flags)
        return os.open("/dev/null", os.O_RDONLY)

    monkeypatch.setattr(permit, "_open_checked", opened)
    monkeypatch.setattr(permit.Permit, "verify", lambda self: None)
    [one] = gate.admit("r1", want("a"))
    assert asked == [os.O_RDONLY, os.O_RDONLY | os.O_EXCL]
    assert one.held
    for held, flags in ((True, os.O_RDWR), (False, os.O_RDWR | os.O_EXCL)):
        fd = one.open_for_writing()
        assert asked[-1] == flags
        assert (one.exclusive(fd) == fd) is not held
        os.close(fd)
        one.let_go()
    one.hold()
    one.close()
    assert not one.held
    with pytest.raises(ProblemError):
        one.hold()


def test_a_divided_disk_is_held_by_those_of_its_partitions_that_are_free(server, monkeypatch):
    used = {"/dev/sda1"}

    def opened(wanted: Disk, devno: int, flags: int, part: str = "") -> int:
        if flags & os.O_EXCL and part in used:
            raise fail(REASONS["busy"], f"{part} is busy", place=wanted.id, exit=Exit.REFUSED)
        return os.open(os.devnull, os.O_RDONLY)

    monkeypatch.setattr(permit, "_open_checked", opened)
    monkeypatch.setattr(permit.Permit, "verify", lambda self: None)
    [one] = gate.admit("r1", want("a"))
    assert one.held
    one.divide({"sda1": 1, "sda2": 2})
    assert not one.held
    assert one.divided
    with pytest.raises(ProblemError, match="sda1 is busy"):
        one.hold()
    assert [one.holds_part(name) for name in ("sda1", "sda2")] == [False, True]
    with pytest.raises(ProblemError, match="has partitions: sda1, sda2"):
        one.open_for_writing()
    used.clear()
    one.hold()
    assert one.held
    os.close(one.open_part_for_writing("sda1"))
    one.unite()
    assert not one.held
    assert not one.divided
    one.hold()
    assert one.held
    one.close()


def test_a_disk_that_something_has_by_the_time_it_is_to_be_held_is_refused(server, monkeypatch):
    def opened(wanted: Disk, devno: int, flags: int) -> int:
        if flags & os.O_EXCL and wanted.id == "Sb":
            raise fail(REASONS["busy"], "x", place=wanted.id, exit=Exit.REFUSED)
        return os.open("/dev/null", os.O_RDONLY)

    monkeypatch.setattr(permit, "_open_checked", opened)
    monkeypatch.setattr(admission, "BUSY_PATIENCE_S", 0.0)
    before = os.listdir("/proc/self/fd")
    assert refusal(lambda: gate.admit("r1", want("a", "b", "c"))) == [("busy", "Sb")]
    assert gate.holders() == {}
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_looking_again_asks_no_exclusive_access_to_a_disk_that_is_held(server, monkeypatch):
    monkeypatch.setattr(permit.Permit, "verify", lambda self: None)
    permits = gate.admit("r1", want("a", "b"))
    permits[1].let_go()
    asked: list[Any] = []
    examine = admission.examine
    monkeypatch.setattr(admission, "examine", lambda **ask: asked.append(ask["mine"].holds) or examine(**ask))
    monkeypatch.setattr(permits[1], "hold", lambda patience_s=0.0: None)
    gate.readmit(permits)
    assert asked == [{"Sa"}]
    for each in permits:
        each.close()


def test_a_lock_dies_with_its_process(server, tmp_path):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom raidtui.gate import locks\n"
        f"locks.run_folder = lambda: Path({str(tmp_path)!r})\nlocks.take('r9', ['wa'])\n"
        "print('ready', flush=True)\ntime.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout
    assert child.stdout.readline() == b"ready\n"
    assert gate.holders() == {"wa": "r9"}
    child.kill()
    child.wait()
    child.stdout.close()
    assert gate.holders() == {}


def test_a_lock_file_that_is_a_link_is_not_followed(server, tmp_path):
    target = tmp_path / "precious"
    target.write_text("x")
    locks.lock_path("wa").symlink_to(target)
    with pytest.raises(OSError):  # noqa: PT011
        locks.take("r1", ["wa"])
    assert target.read_text() == "x"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(st.text(min_size=1, max_size=300), min_size=2, max_size=2, unique=True))
def test_any_identity_gives_a_safe_file_name_of_its_own(server, keys):
    paths = [locks.lock_path(key) for key in keys]
    assert paths[0] != paths[1]
    assert all(path.parent == locks.lock_folder() and len(path.name) < 120 for path in paths)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
def test_any_identity_and_run_is_read_back_from_the_lock(server, key, run_id):
    key, run_id = (text.encode("utf-8", "replace").decode() for text in (key, run_id))
    taken = locks.take(run_id, [key])
    assert gate.holders() == {key: run_id}
    for lock in taken:
        lock.release()


def test_recovery_does_not_take_data_for_the_runs_beside_uberblocks_that_name_no_pool(server):
    remains = Signature("zfs_member", version="uberblock", where="sda", remains=True)
    server["Sa"] = left("a", remains, codes=("zfs-exported", "unknown-data"))
    pool = Signature("zfs_member", "123", "rt1pool")
    assert recovery_refusal(want("a"), (*OURS, pool)) == [("unknown-data", "Sa")]
