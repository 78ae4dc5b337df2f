"""Checks of a cell: each finds its own fault in what was seen, and nothing in what is as it should be."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from raidtui.engine import validity
from raidtui.engine.explain import explain
from raidtui.engine.validity import CHECKS, KINDS, marks
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.host import HostUse, Neighbour
from raidtui.model.mark import WEIGHTS, Mark
from raidtui.model.measure import Direction, Summary
from raidtui.model.network import NetworkUse
from raidtui.model.result import Cell, DeviceUse, Pass, Steady, marked, marks_of

MIB = 1 << 20
WRITES = Summary(write=Direction(100, 100 * MIB, 100.0, 1e8, 1.0), runtime_s=1.0, jobs=1)
CELL = Cell("a/w/1", "a", "w", 1, False, summary=WRITES)
CLEAN = Evidence(CELL, target_read_bytes=0, target_written_bytes=100 * MIB, monotonic_s=10.0, boottime_s=10.0, wall_s=10.0)


def codes(evidence: Evidence) -> list[str]:
    return [mark.code for mark in marks(evidence)]


def test_a_cell_with_nothing_wrong_has_no_marks() -> None:
    assert marks(CLEAN) == ()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"lost": ("SER1",)}, "disk-lost"),
        ({"said": (Mark("unhealthy", "the array is degraded: 1 of 4 members missing"),)}, "unhealthy"),
        ({"cancelled": True}, "cancelled"),
        ({"cell": Cell("a/w/1", "a", "w", 1, False)}, "nothing-measured"),
        ({"target_written_bytes": 90 * MIB}, "bytes-disagree"),
        ({"target_written_bytes": 110 * MIB}, "bytes-disagree"),
        ({"target_read_bytes": 100 * MIB}, "bytes-disagree"),
        ({"target_written_bytes": None}, "bytes-unknown"),
        ({"boottime_s": 300.0, "wall_s": 300.0}, "suspended"),
        ({"wall_s": 0.0}, "clock-jumped"),
        ({"out_of_space": True}, "samples-missing"),
    ],
)
def test_every_fault_has_a_code_of_its_own(changes: dict[str, object], code: str) -> None:
    assert codes(CLEAN._replace(**changes)) == [code]


def test_the_cause_comes_before_what_follows_from_it() -> None:
    found = marks(CLEAN._replace(lost=("SER1",), out_of_space=True, said=(Mark("unhealthy", "the array is broken"),)))
    assert [mark.code for mark in found] == ["disk-lost", "unhealthy", "samples-missing"]
    assert found[0].about == "SER1"


def test_every_code_is_explained() -> None:
    assert len(KINDS) == 1 + sum(len(check.kinds) for check in CHECKS)
    for code, meaning in KINDS.items():
        assert explain(code)["code"] == code
        assert meaning.weight in WEIGHTS


def test_a_check_that_stumbles_costs_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(evidence: Evidence) -> Iterator[Mark]:
        yield from marks(evidence._replace(region_bytes=1 // 0))

    checks = tuple(check._replace(find=stumble) if check.name == "cool" else check for check in CHECKS)
    monkeypatch.setattr(validity, "CHECKS", checks)
    (mark,) = marks(CLEAN)
    assert (mark.code, mark.weight, mark.about) == ("unchecked", "caution", "cool")


def test_a_cell_is_valid_as_long_as_no_mark_says_that_it_is_not() -> None:
    limit, caution, invalid = Mark("c", "third", "limit"), Mark("b", "second", "caution"), Mark("a", "first")
    good = marked(CELL, (limit, caution))
    assert (good.valid, good.reasons, good.marks) == (True, (), (caution, limit))
    bad = marked(CELL, (limit, invalid, caution, invalid))
    assert (bad.valid, bad.reasons, bad.marks) == (False, ("first",), (invalid, caution, limit))


def test_reasons_of_files_that_are_older_than_marks_are_marks() -> None:
    old = Cell("a/w/1", "a", "w", 1, False, ("the array resynced",))
    assert marks_of(old) == (Mark("invalid-cell", "the array resynced"),)
    assert marks_of(marked(old, (Mark("b", "x", "caution"),))) == (Mark("b", "x", "caution"),)


def test_each_pass_of_a_cell_may_be_followed_by_a_look_of_udev() -> None:
    """It reads some 0.7 MB of a device that was closed: 18 MB after 25 passes of writes."""
    looked = CLEAN._replace(target_read_bytes=18 * MIB)
    assert codes(looked) == ["bytes-disagree"]
    passes = tuple(Pass(12.0 * number, WRITES) for number in range(25))
    steady = msgspec.structs.replace(CELL, steady=Steady(passes, 25, (21, 25), {}))
    assert codes(looked._replace(cell=steady)) == []
    assert codes(looked._replace(cell=steady, target_read_bytes=300 * MIB)) == ["bytes-disagree"]


def on_bcache(counted: int, backing: int, cache: int, name: str = "bcache0") -> Evidence:
    devices = {
        name: DeviceUse("target", written_bytes=counted),
        "sda": DeviceUse("backing", written_bytes=backing),
        "nvme0n1": DeviceUse("cache", written_bytes=cache),
    }
    cell = msgspec.structs.replace(CLEAN.cell, devices=devices)
    return CLEAN._replace(cell=cell, target_written_bytes=counted, counted="at least")


def test_what_is_written_past_a_cache_of_bcache_is_counted_below_it() -> None:
    assert "bytes-disagree" not in codes(on_bcache(0, 100 * MIB, 0))
    assert "bytes-disagree" not in codes(on_bcache(30 * MIB, 70 * MIB, 30 * MIB))
    assert "bytes-disagree" in codes(on_bcache(30 * MIB, 40 * MIB, 30 * MIB)), "the rest is nowhere"
    assert "bytes-disagree" in codes(on_bcache(0, 100 * MIB, 0, "dm-4")), "others count what goes through them"


def on_host(*neighbours: Neighbour, **facts: object) -> Evidence:
    return CLEAN._replace(cell=msgspec.structs.replace(CELL, host=HostUse(neighbours=neighbours, **facts)))


DD = Neighbour(812, "dd", 0.05, 100 * MIB, beside=("sdx",))
BESIDE = {"sdx": 100 * MIB}


@pytest.mark.parametrize(
    ("neighbour", "beside", "found"),
    [
        (Neighbour(7, "make", 1.5), {}, ["noisy-neighbour"]),
        (Neighbour(7, "sshd", 0.1), {}, []),
        (DD, BESIDE, ["noisy-neighbour"]),
        (DD, {}, []),  # it holds the disk open, and wrote elsewhere
        (msgspec.structs.replace(DD, beside=()), BESIDE, []),
        (msgspec.structs.replace(DD, beside=(), unknown_disks=True), BESIDE, ["noisy-neighbour"]),
        (msgspec.structs.replace(DD, beside=(), unknown_disks=True), {"sdx": 10 * MIB}, []),
        (msgspec.structs.replace(DD, written_bytes=MIB // 2), BESIDE, []),  # a log
        (msgspec.structs.replace(DD, own_disks=("SER1",)), {}, ["foreign-writes"]),
        (msgspec.structs.replace(DD, own_disks=("SER1",), written_bytes=1, cores=2.0), {}, ["foreign-writes"]),
    ],
)
def test_neighbours_that_are_busy_or_write_beside_are_named(
    neighbour: Neighbour, beside: dict[str, int], found: list[str]
) -> None:
    assert codes(on_host(neighbour, beside_written_bytes=beside)) == found


def test_processes_that_do_the_work_of_a_layer_are_no_neighbours() -> None:
    osd = Neighbour(504, "osd1", 1.5, daemon="osd")
    assert codes(on_host(osd)) == []
    assert codes(on_host(msgspec.structs.replace(osd, daemon=""))) == ["noisy-neighbour"]
    assert codes(on_host(msgspec.structs.replace(osd, own_disks=("SER1",), written_bytes=1))) == ["foreign-writes"]


def test_a_neighbour_is_named_with_its_figures() -> None:
    (mark,) = marks(on_host(DD, beside_written_bytes=BESIDE))
    assert (mark.weight, mark.about) == ("caution", "812 dd")
    assert mark.sentence == (
        "dd (pid 812) used 0.05 CPU cores and wrote 100 MiB, with sdx of the same controller open for writing"
    )
    (mark,) = marks(on_host(Neighbour(1, "systemd", 0.3, of_children=True)))
    assert mark.sentence.startswith("processes that ended since, children of systemd (pid 1), used 0.30 CPU cores")
    (mark,) = marks(on_host(msgspec.structs.replace(DD, own_disks=("SER1",))))
    assert mark.weight == "invalid"
    assert mark.sentence.endswith("with SER1 of the run open for writing")


@pytest.mark.parametrize("way", ["swapped_in_bytes", "swapped_out_bytes"])
def test_swapping_is_marked(way: str) -> None:
    assert codes(on_host(**{way: 4096})) == ["swapped"]
    assert codes(on_host(swap_used_bytes=1 << 30)) == []


def over_network(**facts: object) -> Evidence:
    use = NetworkUse(**{"received_bytes": 40 * MIB, "sent_bytes": 400 * MIB, "known_s": 20.0, **facts})
    return CLEAN._replace(cell=msgspec.structs.replace(CELL, networks={"eth0": use}))


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({}, []),
        ({"received_errors": 1}, ["network-errors"]),
        ({"sent_errors": 1}, ["network-errors"]),
        ({"received_drops": 20}, []),  # one a second: packets of other protocols
        ({"received_drops": 15, "sent_drops": 6}, ["network-errors"]),
        ({"received_errors": 9, "sent_bytes": 0, "received_bytes": 900}, []),  # the workload's data went elsewhere
    ],
)
def test_packets_that_a_busy_interface_lost_are_marked(facts: dict[str, int], found: list[str]) -> None:
    assert codes(over_network(**facts)) == found


def test_lost_packets_are_told_with_their_direction() -> None:
    (mark,) = marks(over_network(received_packets=1000, received_errors=3, received_drops=40, sent_packets=9, sent_drops=2))
    assert (mark.weight, mark.about) == ("caution", "eth0")
    assert mark.sentence == (
        "network interface eth0: of 1000 packets received 3 with errors, 40 dropped; of 9 packets sent 2 dropped"
    )
