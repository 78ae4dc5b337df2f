"""A cell's frames add up: columns, totals, write amplification, and whether the counters agree with the workload."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.model.frame import CacheState, Frame, MdState
from raidtui.watch.series import FULL, Busy, SeriesFold, counters_agree, write_amplification


def text(reads: int = 0, writes: int = 0, flushes: int = 0) -> str:
    """4 KiB requests, reads of 2 ms and writes of 5 ms each, one at a time; flushes of 1 ms."""
    busy = 2 * reads + 5 * writes
    moved = f"{reads} 0 {8 * reads} {2 * reads} {writes} 0 {8 * writes} {5 * writes}"
    return f"{moved} 0 {busy} {busy} 0 0 0 0 {flushes} {flushes}"


def first(devices: dict[str, str], at_s: float = 10.0) -> Frame:
    return Frame(at_s=at_s, unix_s=0, whole=True, devices=devices, cpus={"cpu0": "0 0 0 0 0 0 0"})


def test_columns_and_totals_of_a_cell() -> None:
    fold = SeriesFold(["sda", "sdb", "absent"])
    fold.add(first({"sda": text(), "sdb": text(), "other": text()}))
    fold.add(Frame(at_s=11, unix_s=1, span_s=1, devices={"sda": text(reads=100), "other": text(1)},
                   cpus={"cpu0": "1 0 0 1 0 0 0"}, temperatures_c={"sda": 40.0}))  # fmt: skip
    fold.add(Frame(at_s=13, unix_s=3, span_s=2, devices={"sda": text(reads=100, writes=40, flushes=4)},
                   cpus={"cpu0": "3 0 0 1 0 0 0"}, temperatures_c={"sda": 39.0}))  # fmt: skip
    series = fold.series()
    assert (series.at_s, series.span_s) == ([1, 3], [1, 2])
    assert set(series.devices) == {"sda", "sdb"}
    sda = series.devices["sda"]
    assert (sda["reads_per_s"], sda["writes_per_s"]) == ([100, 0], [0, 20])
    assert (sda["read_bytes_per_s"], sda["written_bytes_per_s"]) == ([409600, 0], [0, 81920])
    assert (sda["read_await_ms"], sda["write_await_ms"]) == ([2, None], [None, 5])
    assert (sda["queue_length"], sda["util_percent"]) == ([0.2, 0.1], [20, 10])
    totals = series.totals["sda"]
    assert (totals.known_s, totals.reads, totals.writes, totals.flushes) == (3, 100, 40, 4)
    assert (totals.read_bytes, totals.written_bytes, totals.discarded_bytes) == (409600, 163840, 0)
    assert (totals.read_await_ms, totals.write_await_ms, totals.flush_await_ms) == (2, 5, 1)
    assert totals.util_mean_percent == pytest.approx(13.3333)
    assert totals.util_max_percent == 20
    assert totals.temperature_max_c == 40
    assert series.totals["sdb"].read_bytes == 0
    assert series.cores_used == [0.5, 1.0]
    assert series.cores_used_mean == pytest.approx(0.8333)


def test_what_ran_beside_the_workload_is_told_once_with_its_second() -> None:
    fold = SeriesFold(["sda", "md0"])
    full = {"dm-3": CacheState(1, 1, size_bytes=100, dirty_bytes=96)}
    fold.add(first({"sda": text()}))
    fold.add(Frame(at_s=11, unix_s=1, span_s=1, md={"md0": MdState("clean", "idle")}))
    fold.add(Frame(at_s=12, unix_s=2, span_s=1, md={"md0": MdState("clean", "check")}, caches=full))
    fold.add(Frame(at_s=13, unix_s=3, span_s=1, md={"md0": MdState("clean", "check")}, caches=full))
    assert fold.series().busy == (Busy("md0", "check", 2.0), Busy("dm-3", FULL, 2.0))


def test_a_cache_is_full_when_there_is_no_room_left_and_not_when_all_that_it_holds_is_dirty() -> None:
    fold = SeriesFold(["dm-3"])
    fold.add(first({"dm-3": text()}))
    for at_s, held in ((11, 10), (12, 60), (13, 96)):
        state = CacheState(1, 1, size_bytes=held, target_bytes=100, dirty_bytes=held)
        fold.add(Frame(at_s=at_s, unix_s=1, span_s=1, caches={"dm-3": state}))
    assert fold.series().busy == (Busy("dm-3", FULL, 3.0),)


def test_requests_that_were_merged_are_counted() -> None:
    fold = SeriesFold(["sda"])
    fold.add(first({"sda": text()}))
    fold.add(Frame(at_s=11, unix_s=1, span_s=1, devices={"sda": "10 30 80 5 20 60 160 5 0 5 5 0 0 0 0 0 0"}))
    totals = fold.series().totals["sda"]
    assert (totals.reads, totals.reads_merged, totals.writes, totals.writes_merged) == (10, 30, 20, 60)


def test_a_device_that_left_is_unknown_from_then_on_and_its_totals_say_so() -> None:
    fold = SeriesFold(["sda"])
    fold.add(first({"sda": text()}))
    fold.add(Frame(at_s=11, unix_s=1, span_s=1, devices={"sda": text(reads=7)}))
    fold.add(Frame(at_s=12, unix_s=2, span_s=1, gone=("sda",)))
    fold.add(Frame(at_s=13, unix_s=3, span_s=1, devices={"sda": text(reads=5)}))
    fold.add(Frame(at_s=14, unix_s=4, span_s=1, devices={"sda": text(reads=6)}))
    series = fold.series()
    assert series.devices["sda"]["reads_per_s"] == [7, None, None, 1]
    assert (series.totals["sda"].reads, series.totals["sda"].known_s) == (8, 2)


def test_a_series_begins_with_a_whole_frame_and_passes_over_what_was_before() -> None:
    fold = SeriesFold(["sda"])
    fold.add(Frame(at_s=9, unix_s=0, span_s=1, devices={"sda": text(reads=50)}))
    fold.add(Frame(at_s=10, unix_s=0, span_s=1, whole=True, devices={"sda": text(reads=60)}))
    fold.add(Frame(at_s=11, unix_s=0, span_s=1, devices={"sda": text(reads=61)}))
    assert fold.series().at_s == [1]
    assert fold.series().totals["sda"].reads == 1


def test_a_series_of_nothing_is_empty() -> None:
    fold = SeriesFold(["sda"])
    fold.add(first({"sda": text()}))
    series = fold.series()
    assert (series.at_s, series.devices, series.totals, series.cores_used_mean) == ([], {}, {}, None)


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7), st.floats(0.1, 100)), min_size=1, max_size=20))
def test_totals_are_exactly_what_the_counters_counted(steps: list[tuple[int, int, float]]) -> None:
    fold = SeriesFold(["sda"])
    fold.add(first({"sda": text(3, 3)}, at_s=0.0))
    reads, writes, at_s = 3, 3, 0.0
    for more_reads, more_writes, span_s in steps:
        reads, writes, at_s = reads + more_reads, writes + more_writes, at_s + span_s
        fold.add(Frame(at_s=at_s, unix_s=at_s, span_s=span_s, devices={"sda": text(reads, writes)}))
    totals = fold.series().totals["sda"]
    assert (totals.reads, totals.writes) == (reads - 3, writes - 3)
    assert (totals.read_bytes, totals.written_bytes) == (4096 * (reads - 3), 4096 * (writes - 3))


def test_write_amplification() -> None:
    assert write_amplification([100, 100], 100) == 2.0
    assert write_amplification([100, None], 100) is None
    assert write_amplification([100], 0) is None
    assert write_amplification([], 100) is None


def test_counters_agree_when_the_device_moved_all_of_it_and_little_else() -> None:
    gib, mib = 1 << 30, 1 << 20
    assert counters_agree(gib, gib) is True
    assert counters_agree(gib, gib + 28 * mib) is True
    assert counters_agree(gib, gib + 30 * mib) is False
    assert counters_agree(gib, gib + 28 * mib, extra_bytes=0) is False
    assert counters_agree(gib, gib - 20 * mib) is True
    assert counters_agree(gib, gib - 30 * mib) is False
    assert counters_agree(gib, 0) is False
    assert counters_agree(0, mib) is True
    assert counters_agree(0, 0, extra_bytes=0) is True
    assert counters_agree(gib, None) is None
