"""Counters become rates with the meanings of `iostat -x`, and are None where nothing is known."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.model.frame import (
    Counters,
    CpuTimes,
    Flow,
    Frame,
    Frames,
    MdState,
    cpu_rates,
    ms_between,
    rates,
    read_counters,
    read_cpu_times,
)

DATA = Path(__file__).parent / "data"
ZERO = Counters(*[0] * 17)
COUNTS = st.integers(0, 2**63 - 1)


def recorded(name: str, device: str) -> Counters:
    """What iostat itself had read when it printed `iostat.json` (taken from its system calls)."""
    for line in (DATA / f"diskstats.{name}").read_text().splitlines():
        _, _, found, *numbers = line.split()
        if found == device:
            counters = read_counters(" ".join(numbers))
            assert counters is not None
            return counters
    raise LookupError(device)


def test_rates_are_the_ones_that_iostat_printed_for_the_same_two_readings() -> None:
    (statistic,) = json.loads((DATA / "iostat.json").read_text())["sysstat"]["hosts"][0]["statistics"]
    (expected,) = statistic["disk"]
    found = rates(recorded("before", "vda"), recorded("after", "vda"), 2.0)
    assert found is not None
    assert found.discard is not None

    def flow(letter: str, flow: Flow) -> dict[str, float | None]:
        return {
            f"{letter}/s": flow.ios_per_s,
            f"{letter}kB/s": flow.bytes_per_s / 1024,
            f"{letter}rqm/s": flow.merged_per_s,
            f"{letter}rqm": flow.merged_percent,
            f"{letter}_await": flow.await_ms,
            f"{letter}areq-sz": None if flow.request_bytes is None else flow.request_bytes / 1024,
        }

    ours = {
        **flow("r", found.read),
        **flow("w", found.write),
        **flow("d", found.discard),
        "f/s": found.flushes_per_s,
        "f_await": found.flush_await_ms,
        "aqu-sz": found.queue_length,
        "util": found.util_percent,
    }
    expected.pop("disk_device")
    assert ours.keys() == expected.keys()
    for column, printed in expected.items():
        assert ours[column] == pytest.approx(printed, abs=0.0051), column


def test_cpu_shares_are_the_ones_that_iostat_printed() -> None:
    (statistic,) = json.loads((DATA / "iostat.json").read_text())["sysstat"]["hosts"][0]["statistics"]
    total = [(DATA / f"stat.{name}").read_text().splitlines()[0].partition("  ")[2] for name in ("before", "after")]
    before, after = (read_cpu_times(text) for text in total)
    assert before is not None
    assert after is not None
    found = cpu_rates(before, after)
    assert found is not None
    expected = statistic["avg-cpu"]
    assert found.user == pytest.approx(expected["user"], abs=0.0051)
    assert found.system + found.irq + found.softirq == pytest.approx(expected["system"], abs=0.0051)
    assert found.iowait == pytest.approx(expected["iowait"], abs=0.0051)
    assert found.idle == pytest.approx(expected["idle"], abs=0.0051)
    assert found.busy == pytest.approx(100 - expected["idle"] - expected["iowait"], abs=0.0101)


def test_a_device_that_did_nothing_has_zero_rates_but_no_latency() -> None:
    found = rates(ZERO, ZERO, 1.0)
    assert found is not None
    assert found.read == Flow(0, 0, 0, merged_percent=None, await_ms=None, request_bytes=None)
    assert (found.flushes_per_s, found.flush_await_ms) == (0, None)
    assert (found.queue_length, found.util_percent) == (0, 0)


@pytest.mark.parametrize("field", ["reads", "sectors_written", "writes_merged", "discards", "flushes"])
def test_counters_that_began_anew_give_no_rates(field: str) -> None:
    before = msgspec.structs.replace(ZERO, **{field: 5})
    assert rates(before, ZERO, 1.0) is None
    assert rates(ZERO, before, 1.0) is not None


def test_no_time_gives_no_rates() -> None:
    assert rates(ZERO, ZERO, 0.0) is None


def test_kernels_that_count_neither_discards_nor_flushes_have_none() -> None:
    old = read_counters("1 0 8 1 1 0 8 1 0 2 2")
    assert old is not None
    assert (old.discards, old.flushes) == (None, None)
    found = rates(old, old, 1.0)
    assert found is not None
    assert (found.discard, found.flushes_per_s, found.flush_await_ms) == (None, None, None)


def test_times_wrap_at_32_bits_and_counts_do_not() -> None:
    before = msgspec.structs.replace(ZERO, ms_io=2**32 - 100, ms_io_weighted=2**32 - 1)
    after = msgspec.structs.replace(ZERO, ms_io=400, ms_io_weighted=1999)
    found = rates(before, after, 1.0)
    assert found is not None
    assert found.util_percent == 50
    assert found.queue_length == 2


def test_a_time_that_began_anew_is_not_taken_for_a_wrap() -> None:
    assert ms_between(1_000_000, 3) is None
    assert ms_between(None, 3) is None


@given(COUNTS, COUNTS)
def test_a_time_never_runs_backwards(a: int, b: int) -> None:
    between = ms_between(a, b)
    assert between is None or 0 <= between < 2**31


@given(st.text())
def test_no_text_makes_the_readers_raise(text: str) -> None:
    for read in (read_counters, read_cpu_times):
        found = read(text)
        assert found is None or text.strip()


@given(st.lists(COUNTS, min_size=11, max_size=17))
def test_counters_read_what_the_kernel_printed(numbers: list[int]) -> None:
    found = read_counters(" ".join(map(str, numbers)))
    assert found is not None
    assert [value for value in msgspec.structs.astuple(found) if value is not None] == numbers


@given(st.lists(COUNTS, max_size=10))
def test_a_line_that_is_too_short_is_no_counters(numbers: list[int]) -> None:
    assert read_counters(" ".join(map(str, numbers))) is None


def test_newer_kernels_may_append_fields() -> None:
    assert read_counters(" ".join(map(str, range(20)))) == Counters(*range(17))


def test_idle_may_go_back_a_little_but_work_may_not() -> None:
    before = CpuTimes(10, 0, 10, 100, 50, 0, 0, 0)
    found = cpu_rates(before, CpuTimes(20, 0, 10, 99, 49, 0, 0, 0))
    assert found is not None
    assert found.busy == 100
    assert cpu_rates(before, CpuTimes(9, 0, 10, 200, 50, 0, 0, 0)) is None
    assert cpu_rates(before, before) is None


LINE = " ".join(["5"] * 17)
LATER = " ".join(["9"] * 17)


def test_the_first_frame_gives_no_rates_and_an_unchanged_device_zero_ones() -> None:
    frames = Frames()
    frames.apply(Frame(at_s=1, unix_s=0, whole=True, devices={"sda": LINE, "sdb": LINE}, cpus={"cpu0": "1 0 0 1 0 0 0"}))
    assert frames.rates("sda") is None
    assert frames.cores_used() is None
    frames.apply(Frame(at_s=3, unix_s=2, span_s=2, devices={"sda": LATER}, cpus={"cpu0": "2 0 0 2 0 0 0"}))
    changed, unchanged = frames.rates("sda"), frames.rates("sdb")
    assert changed is not None
    assert unchanged is not None
    assert (changed.read.ios_per_s, unchanged.read.ios_per_s) == (2, 0)
    assert frames.cores_used() == 0.5
    assert frames.rates("sdc") is None


def test_a_device_that_came_has_rates_from_its_second_frame_on_and_one_that_left_has_none() -> None:
    frames = Frames()
    frames.apply(Frame(at_s=1, unix_s=0, whole=True, devices={"sda": LINE}))
    frames.apply(Frame(at_s=2, unix_s=1, span_s=1, devices={"sdb": LINE}, gone=("sda",)))
    assert frames.rates("sdb") is None
    assert frames.counters("sda") is None
    assert list(frames.devices) == ["sdb"]
    frames.apply(Frame(at_s=3, unix_s=2, span_s=1))
    assert frames.rates("sdb") is not None


def test_a_whole_frame_in_between_keeps_the_rates_and_drops_what_it_does_not_name() -> None:
    frames = Frames()
    frames.apply(Frame(at_s=1, unix_s=0, whole=True, devices={"sda": LINE, "sdb": LINE}))
    frames.apply(Frame(at_s=2, unix_s=1, span_s=1, whole=True, devices={"sda": LATER}))
    found = frames.rates("sda")
    assert found is not None
    assert found.write.ios_per_s == 4
    assert frames.counters("sdb") is None


def test_a_reader_may_begin_at_a_whole_frame_that_is_not_the_first() -> None:
    frames = Frames()
    frames.apply(Frame(at_s=2, unix_s=1, span_s=1, whole=True, devices={"sda": LINE}))
    assert frames.rates("sda") is None
    assert frames.counters("sda") == Counters(*[5] * 17)


def test_a_first_frame_forgets_what_was_before() -> None:
    frames = Frames()
    frames.apply(Frame(at_s=1, unix_s=0, whole=True, devices={"sda": LINE}))
    frames.apply(Frame(at_s=1, unix_s=0, whole=True, devices={"sda": LATER}))
    assert frames.rates("sda") is None


def test_a_frame_survives_the_journal() -> None:
    frame = Frame(
        at_s=1.5,
        unix_s=2.5,
        span_s=1.0,
        devices={"sda": LINE},
        gone=("sdb",),
        cpus={"cpu0": "1 2"},
        md={"md127": MdState("clean", "resync", 0, 5, 10)},
        temperatures_c={"sda": 41.5},
    )
    assert msgspec.json.decode(msgspec.json.encode(frame), type=Frame) == frame
