"""What must be known of a cell that is valid: each check finds its own fault, and only where it can be sure of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from cell_evidence import (
    DISKS,
    IOPS,
    MIB,
    NAMES,
    READS,
    SECONDS,
    WRITES,
    cell,
    codes,
    direction,
    evidence,
    samples,
    use,
    with_devices,
)

from raidtui.engine.validity import marks
from raidtui.model.frame import CacheState
from raidtui.model.host import HostCores
from raidtui.model.measure import Latency, Summary
from raidtui.model.result import Cell, HostPart
from raidtui.watch.series import FULL, Busy
from raidtui.watch.temperature import Heat

replace = msgspec.structs.replace


def test_a_clean_cell_has_no_marks() -> None:
    assert marks(evidence()) == ()


def quiet(share: float) -> Cell:
    """The disks saw only this share of the reads."""
    each = {name: {"reads": int(IOPS * SECONDS * share / 4), "read_bytes": int(IOPS * SECONDS * share) * 1024}
            for name in NAMES}  # fmt: skip
    return with_devices(cell(), each)


ZVOL: dict[str, Any] = {"memory_cache": "arc"}
HOT_ARC = {"arc": CacheState(190_000, 10_000, size_bytes=1 << 30)}


def test_reads_that_no_disk_saw_and_nobody_wrote_are_no_result() -> None:
    seen = evidence(quiet(0.01), **ZVOL, prefilled=False)
    assert codes(seen) == ["unwritten-read", "not-prefilled"]
    assert not marks(seen)[0].sentence.endswith("memory")
    wrote = Cell("raid0/w/1", "raid0", "w", 1, True, summary=Summary(write=direction()))
    assert codes(seen._replace(earlier=(wrote,))) == ["unwritten-read"]
    small = {"arc": CacheState(10, 10, size_bytes=8 << 30)}
    kept = seen._replace(cell=replace(seen.cell, caches=small), region_bytes=256 * MIB)
    assert codes(kept) == ["unwritten-read", "not-prefilled"]
    assert codes(kept._replace(earlier=(wrote,))) == ["cached-reads"]  # in buffers, which count no hits
    assert codes(evidence(prefilled=False)) == ["not-prefilled"]


def test_reads_from_memory_are_said_unless_the_scenario_says_warm() -> None:
    found = evidence(replace(quiet(0.05), caches=HOT_ARC), **ZVOL, region_bytes=256 * MIB)
    (mark,) = marks(found)
    assert mark.code == "cached-reads"
    assert mark.sentence == "the ARC of 1.0 GiB answered 95 % of the reads, which reach over 256 MiB"
    assert codes(found._replace(caches="warm")) == []
    assert codes(found._replace(caches="cold")) == ["cached-reads"]
    # ZFS's cache of buffers counts no hits: that the blocks were written is enough.
    assert codes(evidence(quiet(0.05), **ZVOL)) == ["cached-reads"]


def test_a_cache_that_fetches_more_than_was_asked_for_is_judged_by_how_often_it_had_to() -> None:
    large = with_devices(quiet(0.1), {name: {"read_bytes": 10**9} for name in NAMES})
    assert codes(evidence(replace(large, caches=HOT_ARC), **ZVOL)) == ["cached-reads"]
    assert codes(evidence(replace(quiet(0.6), caches=HOT_ARC), **ZVOL)) == []


def test_a_block_that_lies_on_several_disks_is_read_once() -> None:
    """The ARC answers 80 %, and what it does not have are four requests each."""
    missed = int(IOPS * SECONDS * 0.2)
    spread = with_devices(cell(), {name: {"reads": missed, "read_bytes": missed * 1024} for name in NAMES})
    found = evidence(replace(spread, caches=HOT_ARC), **ZVOL, region_bytes=256 * MIB)
    (mark,) = marks(found)
    assert (mark.code, mark.sentence.partition(" answered ")[2][:4]) == ("cached-reads", "80 %")


def test_fewer_bytes_of_compressed_blocks_are_no_cache() -> None:
    packed = with_devices(cell(), {name: {"read_bytes": int(IOPS * SECONDS * 0.25) * 1024} for name in NAMES})
    whole = READS._replace(compressible_percent=75)
    assert codes(evidence(packed, **ZVOL, pattern=whole, reduces=("compresses",))) == []
    assert codes(evidence(packed, **ZVOL, pattern=whole._replace(random=False), reduces=("compresses",))) == []
    assert codes(evidence(packed, **ZVOL)) == ["cached-reads"]


def test_a_cache_of_flash_that_holds_everything() -> None:
    cache = {"dm-3": CacheState(9_900, 100, 5_000, 0, size_bytes=4 << 30)}
    small = replace(cell(), caches=cache, devices={**cell().devices, "dm-3": use("target")})
    seen = evidence(small, region_bytes=1 << 30)
    assert codes(seen) == ["fits-cache"]
    assert codes(seen._replace(region_bytes=16 << 30)) == []
    assert codes(seen._replace(caches="warm")) == []


def test_a_cache_that_holds_the_region_and_nothing_else_has_room_for_more() -> None:
    held = CacheState(9_900, 100, size_bytes=1 << 30, target_bytes=4 << 30)
    warm = replace(cell(), caches={"dm-3": held}, devices={**cell().devices, "dm-3": use("target")})
    (mark,) = marks(evidence(warm, region_bytes=1 << 30))
    assert mark.sentence == "the cache answered 99 % of the operations: the region of 1.0 GiB fits into its 4.0 GiB"
    assert codes(evidence(warm, region_bytes=4 << 30)) == []


def in_front(share: float) -> Cell:
    """A bcache, which does not say how large it is; this share of the reads was answered by its cache."""
    devices = {
        "bcache0": use("target"), "nvme1n1": use("cache", "S1", share), "nvme2n1": use("backing", "S2", 1 - share),
    }  # fmt: skip
    return replace(cell(), devices=devices, caches={"bcache0": CacheState(200_000, 0)})


def test_a_cache_that_does_not_say_how_large_it_is_is_judged_by_what_moved_behind_it() -> None:
    (mark,) = marks(evidence(in_front(0.99), region_bytes=1 << 30))
    assert (mark.code, mark.about) == ("fits-cache", "S1")
    assert mark.sentence == "99 % of what the disks moved was on the cache: the region of 1.0 GiB fits into its 1.0 TiB"
    assert codes(evidence(in_front(0.99), region_bytes=1 << 30, caches="warm")) == []
    assert codes(evidence(in_front(0.99), region_bytes=2 << 40)) == []
    assert codes(evidence(in_front(0.80), region_bytes=1 << 30)) == []
    assert codes(evidence(in_front(0.0), region_bytes=1 << 30)) == []
    # Memory in front of both: the cache was hardly asked.
    few = with_devices(in_front(0.99), {"nvme1n1": {"read_bytes": 10**6}, "nvme2n1": {"read_bytes": 0}})
    assert "fits-cache" not in codes(evidence(few, region_bytes=1 << 30))


def written(share: float, **changes: Any) -> Cell:
    """Random writes, of which the disks saw this share."""
    done = int(IOPS * SECONDS)
    each = {"reads": 0, "read_bytes": 0, "mean_read_await_ms": None, "writes": int(done * share / 4),
            "written_bytes": int(done * share) * 1024, "mean_write_await_ms": 0.2}  # fmt: skip
    target = {**each, "writes": done, "written_bytes": done * 4096}
    made = replace(cell(), summary=Summary(write=direction(), jobs=1), **changes)
    return with_devices(made, {"md127": target, **dict.fromkeys(NAMES, each)})


def test_data_that_becomes_less() -> None:
    compressible = WRITES._replace(compressible_percent=80)
    seen = evidence(written(0.3), pattern=compressible, reduces=("compresses",), memory_cache="arc")
    (mark,) = marks(seen)
    assert mark.code == "reduced-data"
    assert "can be compressed by 80 %" in mark.sentence
    assert codes(seen._replace(reduces=())) == []
    assert codes(seen._replace(pattern=WRITES)) == []  # it may still wait in memory
    assert codes(seen._replace(pattern=WRITES, memory_bytes=1 << 30)) == ["reduced-data"]
    assert codes(seen._replace(pattern=WRITES, memory_bytes=1 << 30, region_bytes=64 * MIB)) == []  # written over


def synced(*, flushes: int, mean_us: float, flush_ms: float | None = 0.4) -> Cell:
    made = written(1.0)
    sync = replace(direction(10_000), bytes=0, latency=Latency(mean_us=mean_us))
    made = replace(made, summary=Summary(write=direction(), sync=sync, jobs=1))
    return with_devices(made, {name: {"flushes": flushes, "mean_flush_await_ms": flush_ms} for name in NAMES})


def test_syncs_that_no_disk_can_have_made_durable() -> None:
    assert codes(evidence(synced(flushes=10_000, mean_us=500), pattern=WRITES)) == []
    missing = evidence(synced(flushes=20, mean_us=500), pattern=WRITES)
    assert codes(missing) == ["sync-without-flush"]
    assert codes(evidence(synced(flushes=10_000, mean_us=100, flush_ms=1.2), pattern=WRITES)) == ["sync-without-flush"]
    assert codes(evidence(synced(flushes=10_000, mean_us=100, flush_ms=0.8), pattern=WRITES)) == []  # the write flushed
    safe = {name: replace(disk, write_cache="write through") for name, disk in DISKS.items()}
    assert codes(missing._replace(disks=safe)) == []  # the kernel sends no flushes to such disks


def test_nothing_is_faster_than_its_links() -> None:
    fast = replace(cell(), summary=Summary(read=replace(direction(), bytes_per_s=17e9), runtime_s=SECONDS))
    assert codes(evidence(fast)) == ["above-link"]
    assert codes(evidence(replace(cell(), summary=Summary(read=replace(direction(), bytes_per_s=15e9))))) == []
    emulated = replace(alone("S1", 9e9), devices={"nvme1n1": use("target", "S1", read_bytes=10**12)}, seconds=20.0)
    assert codes(evidence(fast, earlier=(emulated,))) == []  # such a link is no wire
    other = replace(emulated, devices={"nvme9n1": use("target", "S9", read_bytes=10**12)})
    assert codes(evidence(fast, earlier=(other,))) == ["above-link"]  # that of a disk of another layout says nothing


def alone(disk: str, bytes_per_s: float, block: int = MIB) -> Cell:
    flow = replace(direction(1000, block), bytes_per_s=bytes_per_s)
    return Cell(f"disks/{disk}/1", "disks", "bulk", 1, True, part=disk, summary=Summary(read=flow),
                devices={"x": use("target", disk)})  # fmt: skip


def test_an_array_is_not_faster_than_its_disks_together() -> None:
    fast = replace(cell(), summary=Summary(read=replace(direction(), bytes_per_s=5e9)))
    slow_disks = tuple(alone(disk, 1e9) for disk in DISKS)
    assert codes(evidence(fast, earlier=slow_disks)) == ["above-disks"]
    assert codes(evidence(fast, earlier=tuple(alone(disk, 1.3e9) for disk in DISKS))) == []
    assert codes(evidence(fast, earlier=slow_disks[:3])) == []  # of one nothing is known
    assert codes(evidence(fast, earlier=tuple(alone(disk, 1e9, 4096) for disk in DISKS))) == []  # small blocks are no bound


def test_what_disks_give_of_a_mix_or_in_other_blocks_bounds_nothing() -> None:
    fast = replace(cell(), summary=Summary(read=replace(direction(), bytes_per_s=5e9)))
    half = replace(direction(1000, MIB), bytes_per_s=1e9)
    mixed = tuple(replace(alone(disk, 1e9), summary=Summary(read=half, write=half)) for disk in DISKS)
    assert codes(evidence(fast, earlier=mixed)) == []
    bulk = tuple(alone(disk, 1e9) for disk in DISKS)
    assert codes(evidence(fast, earlier=(*bulk, *mixed))) == ["above-disks"]
    # In the very workload of the cell each of them gave more, if in small blocks.
    same = tuple(replace(alone(disk, 1.3e9, 4096), workload="read") for disk in DISKS)
    assert codes(evidence(fast, earlier=(*bulk, *same))) == []


@pytest.mark.parametrize(
    ("hottest_c", "before", "after", "found"),
    [
        (84.0, Heat(84.0), Heat(84.0), True), (83.0, Heat(84.0), Heat(84.0), False), (90.0, Heat(), Heat(), False),
        (None, Heat(84.0, False, 60), Heat(84.0, False, 75), True),
        (40.0, Heat(84.0, False, 60, 3), Heat(84.0, False, 60, 3), False),
        (None, Heat(84.0, False, 60, 3), Heat(84.0, False, 60, 4), True),
        (40.0, Heat(), Heat(None, True, None), True),
    ],
)  # fmt: skip
def test_a_hot_disk_is_named(hottest_c: float | None, before: Heat, after: Heat, found: bool) -> None:
    hot = with_devices(cell(), {"nvme2n1": {"temperature_max_c": hottest_c}})
    its = marks(evidence(hot, heat=({"nvme2n1": before}, {"nvme2n1": after})))
    assert [(mark.code, mark.about) for mark in its] == ([("hot-disk", "S2")] if found else [])


def test_counters_of_heat_that_run_at_once_are_not_added() -> None:
    hot = with_devices(cell(), {"nvme2n1": {"temperature_max_c": 90.0}})
    (mark,) = marks(evidence(hot, heat=({"nvme2n1": Heat(84.0, False, 0, 0)}, {"nvme2n1": Heat(84.0, True, 55, 1)})))
    assert mark.sentence == (
        "disk S2 slowed itself down to cool for 55 s and was above its warning temperature (it counts whole minutes: 1)"
    )


def test_a_thread_that_has_a_core_to_itself_is_the_limit() -> None:
    (mark,) = marks(evidence(replace(cell(), threads={"md127_raid5": 99.2, "kworker/kblockd": 40.0})))
    assert (mark.code, mark.weight, mark.about) == ("cpu-bound", "limit", "md127_raid5")


def test_a_thread_is_held_against_the_time_in_which_the_workload_ran() -> None:
    started = replace(cell(), seconds=21.0, threads={"md127_raid5": 93.5})  # of 20 s in 21
    (mark,) = marks(evidence(started))
    assert mark.sentence == "the kernel's thread md127_raid5 used 98 % of a core"
    half = replace(cell(), seconds=40.0, threads={"md127_raid5": 80.0})
    assert codes(evidence(half)) == []  # what it did may have been before or after
    assert codes(evidence(replace(cell(), seconds=21.0, threads={"md127_raid5": 89.0}))) == []


def slowed(ms: float, seconds: list[float | None] | None = None, **changes: Any) -> dict[str, Any]:
    return {"mean_read_await_ms": ms, "series": {"read_await_ms": seconds or [ms] * SECONDS}, **changes}


def test_a_member_that_takes_longer_than_the_others_is_named() -> None:
    slow = with_devices(cell(), {"nvme3n1": slowed(0.75)})
    assert [(mark.code, mark.about) for mark in marks(evidence(slow))] == [("slow-member", "S3")]
    assert codes(evidence(with_devices(cell(), {"nvme3n1": slowed(0.50)}))) == ["slow-member"]
    assert codes(evidence(with_devices(cell(), {"nvme3n1": slowed(0.40)}))) == []
    assert codes(evidence(with_devices(cell(), {"nvme3n1": slowed(0.50, mean_utilisation_percent=20.0)}))) == []


def test_one_slow_member_of_four_is_named_though_the_others_are_equal() -> None:
    same = {name: slowed(0.30) for name in NAMES}
    (mark,) = marks(evidence(with_devices(cell(), {**same, "nvme3n1": slowed(0.75)})))
    assert (mark.code, mark.about) == ("slow-member", "S3")
    assert "z = over 1000" in mark.sentence
    assert codes(evidence(with_devices(cell(), same))) == []


def test_a_member_that_was_slow_once_is_not_sick() -> None:
    once: list[float | None] = [*[0.3] * 18, 4.5, 4.5]
    assert codes(evidence(with_devices(cell(), {"nvme3n1": slowed(0.72, once)}))) == []
    short: list[float | None] = [0.75, None, 0.75, 0.75]
    assert codes(evidence(with_devices(cell(), {"nvme3n1": slowed(0.75, short)}))) == []


def test_members_are_compared_only_where_they_do_like_work() -> None:
    slow = slowed(0.75)
    other = with_devices(cell(), {"nvme3n1": {**slow, "read_bytes": 10**10}})
    assert codes(evidence(other)) == []
    journal = with_devices(cell(), {"nvme3n1": {**slow, "role": "journal"}})
    assert codes(evidence(journal)) == []
    flushed = with_devices(cell(), {"nvme3n1": {**slow, "flushes": 200_000}})
    assert codes(evidence(flushed)) == []
    unlike = {**DISKS, "S3": replace(DISKS["S3"], model="another")}
    assert codes(evidence(with_devices(cell(), {"nvme3n1": slow}), disks=unlike)) == []


_MERGED = "200000 read operations reached the device as 100000 requests of 8.0 KiB"


def test_members_that_have_nothing_in_common_are_not_compared() -> None:
    apart = {name: {"reads": 1000 * 4**number} for number, name in enumerate(NAMES)}
    assert codes(evidence(with_devices(cell(), apart))) == []


def test_random_operations_that_became_fewer_and_larger() -> None:
    merged = with_devices(cell(), {"md127": {"reads": 100_000}})
    (mark,) = marks(evidence(merged))
    assert (mark.code, mark.sentence) == ("merged", _MERGED)
    assert codes(evidence(merged, pattern=READS._replace(wholly_random=False))) == []
    assert codes(evidence(merged, counted="at least")) == []


def test_an_array_that_is_busy_with_itself_is_no_result() -> None:
    (mark,) = marks(evidence(busy=(Busy("md127", "check", 7.0),)))
    assert (mark.code, mark.weight, mark.at_s) == ("resyncing", "invalid", 7.0)
    assert codes(evidence(busy=(Busy("md1", "check", 7.0),))) == []  # somebody else's


def test_a_latency_that_was_not_met() -> None:
    def searched(depth: int, within: float) -> Cell:
        summary = Summary(read=direction(), queue_depth=depth, latency_target_us=1000.0, latency_percentile=99.0,
                          within_target_percent=within)  # fmt: skip
        return replace(cell(), summary=summary)

    assert codes(evidence(searched(1, 40.0))) == ["latency-missed"]
    assert codes(evidence(searched(1, 99.5))) == []
    assert codes(evidence(searched(8, 90.0))) == []  # deeper queues were tried on the way


def test_a_rate_that_changes_for_good_is_named_with_its_second_and_its_cause() -> None:
    fell = replace(cell(), samples=samples(*[10_000.0] * 12, *[6_000.0] * 8))
    (mark,) = marks(evidence(fell))
    assert (mark.code, mark.at_s) == ("unsteady", 12.0)
    assert mark.sentence == "the rate fell from 10,000 IOPS to 6,000 IOPS at second 12, and stayed there"
    cached = replace(fell, devices={**fell.devices, "dm-3": use("target")})
    (mark,) = marks(evidence(cached, busy=(Busy("dm-3", FULL, 11.0),)))
    assert mark.sentence.endswith("and stayed there: dm-3 became full")
    heat = {"nvme2n1": Heat(84.0, False, 60)}, {"nvme2n1": Heat(84.0, False, 68)}
    hot, slower = marks(evidence(fell, heat=heat))
    assert (hot.code, slower.sentence.partition(": ")[2]) == ("hot-disk", hot.sentence)


def test_a_rate_that_only_stumbles_is_steady() -> None:
    stumbled = [10_000.0] * 8 + [2_000.0] * 3 + [10_000.0] * 9
    noisy = [10_000.0, 7_000.0, 12_000.0, 9_000.0] * 5
    for rates in (stumbled, noisy, [10_000.0] * 5 + [6_000.0] * 5):
        assert codes(evidence(replace(cell(), samples=samples(*rates)))) == []


def loaded(part: HostPart) -> Cell:
    return replace(cell(), hosts={"clients-1": HostPart(jobs=2, cpu_user_percent=5.0, cpu_system_percent=20.0),
                                  "clients-2": part})  # fmt: skip


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (HostPart(jobs=2, cpu_user_percent=17.0, cpu_system_percent=81.0),
         "each of 2 jobs of fio on clients-2 used 98 % of a core"),
        (HostPart(jobs=1, cores=HostCores(4, 3.9)), "3.90 of 4 CPU cores of clients-2 were busy"),
        (HostPart(jobs=2, cpu_user_percent=17.0, cpu_system_percent=71.0, cores=HostCores(4, 3.7)), ""),
        (HostPart(), ""),
    ],
)  # fmt: skip
def test_a_host_without_a_core_left_is_the_limit(part: HostPart, sentence: str) -> None:
    its = [mark for mark in marks(evidence(loaded(part))) if mark.code == "generator-bound"]
    wanted = [(sentence, "limit", "clients-2")] if sentence else []
    assert [(mark.sentence, mark.weight, mark.about) for mark in its] == wanted


def test_jobs_that_poll_use_their_core_at_any_rate() -> None:
    part = HostPart(jobs=1, cpu_user_percent=30.0, cpu_system_percent=70.0)
    found = marks(evidence(loaded(part), pattern=READS._replace(polls=True)))
    assert [mark for mark in found if mark.code == "generator-bound"] == []
