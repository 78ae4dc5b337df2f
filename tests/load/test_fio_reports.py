"""Reading what real fios wrote, however it arrives."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.load.fio.report import MAX_REPORT_BYTES, Report, Sampler, Splitter, compact, read_report, summary_of
from raidtui.load.fio.verdict import Asked, Ended, problems_of
from raidtui.model.mark import Coded

RECORDED = Path(__file__).parents[1] / "data" / "fio"
VERSIONS = sorted(folder.name for folder in RECORDED.iterdir() if folder.is_dir())


def reports(version: str, name: str) -> list[Report]:
    return [read_report(raw) for raw in Splitter().feed((RECORDED / version / f"{name}.txt").read_bytes())]


TERMINATED = (RECORDED / VERSIONS[0] / "terminated.txt").read_bytes()


@given(st.lists(st.integers(0, len(TERMINATED)), max_size=40))
def test_reports_come_out_whole_however_the_pipe_cuts_them(cuts: list[int]) -> None:
    splitter, found = Splitter(), []
    edges = [0, *sorted(cuts), len(TERMINATED)]
    for start, end in itertools.pairwise(edges):
        found += splitter.feed(TERMINATED[start:end])
    whole = Splitter()
    assert found == whole.feed(TERMINATED)
    assert splitter.text.strip() == b"fio: terminating on signal 15"
    assert splitter.text == whole.text
    assert splitter.rest == b""


def test_one_byte_at_a_time_is_the_same() -> None:
    splitter = Splitter()
    found = [report for n in range(len(TERMINATED)) for report in splitter.feed(TERMINATED[n : n + 1])]
    assert len(found) == 2


@given(st.binary(max_size=300))
def test_garbage_is_kept_as_talk_or_waits_for_its_end(data: bytes) -> None:
    splitter = Splitter()
    found = splitter.feed(data)
    assert splitter.text.count(b"{") == 0
    assert len(b"".join(found)) + len(splitter.text) + len(splitter.rest) == len(data)


def test_a_report_that_was_cut_off_is_known_as_such() -> None:
    splitter = Splitter()
    assert splitter.feed(b'{\n  "jobs" : [\n') == []
    assert splitter.rest


def test_a_report_without_an_end_is_bounded() -> None:
    splitter = Splitter()
    assert splitter.feed(b"{" + b"x" * (MAX_REPORT_BYTES - 1)) == []
    with pytest.raises(ValueError, match="more than"):
        splitter.feed(b"x")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_mix_on_two_devices_is_summed_up(version: str) -> None:
    *_, last = reports(version, "mix-two-devices")
    summary = summary_of(last, jobs=4)
    assert last.version == version
    assert summary.read is not None
    assert summary.write is not None
    assert summary.sync is None
    assert summary.read.bytes == summary.read.ios * 4096
    assert summary.read.iops == pytest.approx(600, rel=0.1)
    assert summary.read.bytes_per_s == pytest.approx(summary.read.iops * 4096, rel=0.01)
    latency = summary.read.latency
    assert 0 < latency.p50_us <= latency.p99_us <= latency.p999_us <= latency.max_us  # type: ignore[operator]
    assert summary.runtime_s == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("version", VERSIONS)
def test_fsyncs_are_a_direction_of_their_own(version: str) -> None:
    *_, last = reports(version, "ramp-fsync")
    summary = summary_of(last, jobs=1)
    assert summary.sync is not None
    assert summary.write is not None
    assert summary.sync.ios == pytest.approx(summary.write.ios / 4, abs=2)
    assert summary.sync.latency.mean_us is not None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["mix-two-devices", "once-through", "terminated"])
def test_samples_add_up_to_the_whole(version: str, name: str) -> None:
    sampler = Sampler()
    every = reports(version, name)
    for report in every:
        sampler.feed(report.group)
    total = sum((s.read.ios if s.read else 0) + (s.write.ios if s.write else 0) for s in sampler.samples)
    # What the last, too short span held is in the summary only.
    assert 0 <= every[-1].group.ios - total <= every[-1].group.ios * (0.13 if len(every) > 1 else 1)
    for sample in sampler.samples:
        for flow in (sample.read, sample.write):
            if flow:
                assert flow.iops == pytest.approx(flow.ios / sample.span_s, rel=0.01)
                assert flow.latency.p50_us is not None
                assert flow.latency.p50_us <= (flow.latency.p999_us or 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_live_samples_count_every_operation_by_its_latency(version: str) -> None:
    sampler = Sampler()
    live = [sample for report in reports(version, "mix-two-devices") if (sample := sampler.feed(report.group))]
    for sample in live:
        for flow, name in ((sample.read, "read"), (sample.write, "write")):
            bins = sample.bins.get(name, {})
            # fio counts an operation and its latency one after the other, in each of its jobs.
            assert sum(bins.values()) == pytest.approx(flow.ios if flow else 0, abs=2, rel=0.02)
            assert not flow or min(bins) <= (flow.latency.p50_us or 0) * 1000 <= 2 * max(bins)
    assert not any(sample.bins for sample in sampler.samples), "results have the tool's report"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_ramp_is_seen_and_not_kept(version: str) -> None:
    sampler = Sampler(ramp_s=2.0)
    live = [sample for report in reports(version, "ramp-fsync") if (sample := sampler.feed(report.group))]
    assert any(sample.at_s < 0 for sample in live)
    assert sampler.samples
    assert all(sample.at_s > 0 and sample.write and sample.write.latency.mean_us for sample in sampler.samples)
    assert sampler.samples[0].write is not None
    assert sampler.samples[0].write.iops == pytest.approx(150, rel=0.15)


def test_a_latency_maximum_belongs_to_the_span_in_which_it_grew() -> None:
    first, *_, last = reports("3.33", "mix-two-devices")
    sampler = Sampler()
    one = sampler.feed(first.group)
    two = sampler.feed(msgspec.structs.replace(last.group, read=_with_max(last, first)))
    assert one is not None
    assert one.read is not None
    assert one.read.latency.max_us is not None
    assert two is not None
    assert two.read is not None
    assert two.read.latency.max_us is None


def _with_max(report: Report, other: Report) -> msgspec.Struct:
    spread = msgspec.structs.replace(report.group.read.clat_ns, max_ns=other.group.read.clat_ns.max_ns)
    return msgspec.structs.replace(report.group.read, clat_ns=spread)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_report_kept_is_one_line_and_says_the_same(version: str) -> None:
    *_, last = reports(version, "mix-two-devices")
    assert b"\n" not in bytes(compact(last))
    assert msgspec.json.decode(compact(last)) == msgspec.json.decode(last.raw)


@pytest.mark.parametrize(
    "raw",
    [b"{}", b"{\n}", b'{"fio version": "fio-3.33", "jobs": []}', b'{"fio version": "fio-3.33", "jobs": [{}]}', b"{nan}"],
)
def test_what_is_no_report_is_an_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_report(raw)


def test_a_search_for_a_latency_says_how_many_operations_kept_it() -> None:
    *_, last = reports("3.33", "mix-two-devices")
    assert (summary_of(last, 4).latency_target_us, summary_of(last, 4).within_target_percent) == (None, None)
    spread = msgspec.structs.replace(last.group.read.clat_ns, bins={500_000: 30, 900_000: 45, 1_200_000: 25})
    none = msgspec.structs.replace(last.group.write.clat_ns, bins={})
    group = msgspec.structs.replace(
        last.group, latency_target=1_000_000, latency_percentile=90.0, latency_depth=1,
        read=msgspec.structs.replace(last.group.read, clat_ns=spread),
        write=msgspec.structs.replace(last.group.write, clat_ns=none),
    )  # fmt: skip
    found = summary_of(msgspec.structs.replace(last, group=group), 4)
    assert (found.latency_target_us, found.latency_percentile, found.queue_depth) == (1000.0, 90.0, 1)
    assert found.within_target_percent == 75.0


ASKED = Asked(jobs=4, runtime_s=2.0, time_based=True)
ENDED = Ended(code=0, stderr="", text="", span_s=2.3)


def verdict(asked: Asked = ASKED, ended: Ended = ENDED, **changes: object) -> list[str]:
    *_, last = reports("3.33", "mix-two-devices")
    group = msgspec.structs.replace(last.group, **changes)
    return list(problems_of(asked, ended, msgspec.structs.replace(last, group=group)))


def test_a_good_run_has_no_problems() -> None:
    assert verdict() == []


def test_an_engine_for_another_fio_has_its_own_code() -> None:
    ended = ENDED._replace(code=1, stderr="bad ioops version 34 (want 36)\nfio: failed to load engine")
    said = next(iter(problems_of(ASKED, ended, None)))
    assert isinstance(said, Coded)
    assert said.code == "fio-engine-version"


@pytest.mark.parametrize(
    ("said", "asked", "ended", "changes"),
    [
        ("the device went away", ASKED, ENDED._replace(code=1), {"error": 28}),
        ("I/O error", ASKED, ENDED._replace(code=1), {"error": 5}),
        ("fio 3.33 ended with signal 9", ASKED, ENDED._replace(code=-9), {}),
        ("fio 3.33 ended with exit code 1: it says so", ASKED, ENDED._replace(code=1, stderr="it says so"), {}),
        ("only 4.0 of 5 jobs ran", ASKED._replace(jobs=5), ENDED, {}),
        ("only 3.0 of 4 jobs ran", ASKED, ENDED, {"job_runtime": 6000}),
        ("the workload ran 2.00 s instead of 3 s", ASKED._replace(runtime_s=3.0), ENDED, {}),
        ("a clock jumped", ASKED, ENDED._replace(span_s=1.0), {}),
        ("the machine was suspended for 3.0 s", ASKED, ENDED._replace(asleep_s=3.0), {}),
        ("the workload was stopped before its end", ASKED, ENDED._replace(code=128, stopped=True), {}),
        ("fio 3.33 exceeded its time limit", ASKED, ENDED._replace(code=128, overdue=True), {}),
        ("the last report of fio 3.33 is incomplete", ASKED, ENDED._replace(cut=True), {}),
        ("cannot be read: \\x1bx", ASKED, ENDED._replace(unread="\x1bx"), {}),
        ("bytes instead of at least", ASKED._replace(blocks=((8192, 100),)), ENDED, {}),
        ("bytes instead of at least", ASKED._replace(blocks=((4096, 50), (8192, 50))), ENDED, {}),
        ("the workload ended after", Asked(4, 60.0, False, 1 << 30), ENDED, {}),
    ],
)
def test_what_is_wrong_is_said(said: str, asked: Asked, ended: Ended, changes: dict[str, object]) -> None:
    assert any(said in sentence for sentence in verdict(asked, ended, **changes))


def test_jobs_whose_last_operation_took_long_do_not_make_the_others_absent() -> None:
    assert verdict(ASKED._replace(runtime_s=1.0), job_runtime=4400) == []


def test_a_mix_of_block_sizes_may_vary_by_chance() -> None:
    assert verdict(ASKED._replace(blocks=((512, 1), (4096, 99)))) == []
    assert verdict(ASKED._replace(blocks=((4096, 100),))) == []


def test_a_stopped_run_is_only_that() -> None:
    stopped = ENDED._replace(code=128, stopped=True, span_s=2.3)
    assert verdict(ASKED._replace(runtime_s=60.0), stopped) == ["the workload was stopped before its end"]


def test_short_and_dropped_and_absent_operations_are_said() -> None:
    *_, last = reports("3.33", "mix-two-devices")
    short = msgspec.structs.replace(last.group.read, short_ios=3, drop_ios=2)
    said = " ".join(verdict(read=short))
    assert "fio 3.33 counted 3 reads of less than a block" in said
    assert "fio 3.33 dropped 2 operations" in said
    none = msgspec.structs.replace(last.group.read, ios=0)
    assert verdict(read=none, write=none) == ["no operation completed"]


def test_no_report_at_all_is_said() -> None:
    assert list(problems_of(ASKED, ENDED, None)) == ["fio ended without a report, so there are no numbers"]


def test_what_fio_says_is_shown_harmless() -> None:
    (sentence,) = verdict(ended=ENDED._replace(code=1, stderr="a\x1b[31m[/dev/sda]\nb"))
    assert sentence == "fio 3.33 ended with exit code 1: a\\x1b[31m[/dev/sda] · b"
