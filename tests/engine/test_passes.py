"""A workload that is run until it is steady: when it ends, which numbers are reported, what is said where it never is."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from test_planning import SCENARIO, plan

from raidtui.engine.run.passes import MOST_PASSES, QUICK_PASSES, Passes, tracking
from raidtui.engine.validity import steadiness
from raidtui.engine.validity.evidence import Evidence
from raidtui.engine.validity.steadiness import find_unsteady_window
from raidtui.load.fio.report import Splitter, bins_of, read_report, summary_of
from raidtui.model.mark import Coded, Mark, mark_of
from raidtui.model.measure import Direction, Latency, Measured, Sample, Summary
from raidtui.model.plan import Options
from raidtui.model.result import Cell

FIO = Path(__file__).parents[1] / "data" / "fio"
ORACLE = (228.90, 240.21, 240.60, 240.71, 240.71)
"""SNIA PTS 2.0.2's example of a window that is steady: range 11.82, excursion of the line 9.66."""


def run(iops: float, mean_us: float = 100.0, *problems: str) -> Measured:
    ios = round(iops * 60)
    write = Direction(ios, ios * 4096, iops, iops * 4096, 60.0, Latency(mean_us, max_us=mean_us * 9))
    samples = (Sample(1.0, 1.0, write=write), Sample(2.0, 1.0, write=write))
    return Measured(Summary(write=write, runtime_s=60.0, jobs=1), ("fio",), samples, problems,
                    raw=msgspec.Raw(b'{"n": %d}' % ios), bins={"write": {int(mean_us * 1000): ios}})  # fmt: skip


def passed(*values: float, most: int = MOST_PASSES) -> Passes:
    passes = Passes(most)
    for number, value in enumerate(values):
        assert not passes.ended
        passes.add(run(value), number * 61.0)
    return passes


def test_snias_own_example_is_steady_after_five_passes() -> None:
    passes = passed(*ORACLE)
    assert passes.ended
    steady = passes.steady()
    assert (steady.reached, steady.window) == (5, (1, 5))
    one = steady.variables["write IOPS"]
    average = sum(ORACLE) / 5
    assert one.average == pytest.approx(average)
    assert one.range_percent == pytest.approx(100 * 11.81 / average, abs=0.01)  # 11.82 in print, of values with more digits
    assert one.excursion_percent == pytest.approx(100 * 9.66 / average, abs=0.01)
    assert one.steady


def test_what_came_before_the_window_is_kept_but_not_reported() -> None:
    passes = passed(4000, 2000, 900, *ORACLE)
    steady = passes.steady()
    assert (steady.reached, steady.window, len(steady.passes)) == (8, (4, 8), 8)
    assert passes.summary.write.iops == pytest.approx(sum(ORACLE) / 5)
    assert passes.summary.write.ios == sum(round(value * 60) for value in ORACLE)
    assert passes.summary.runtime_s == 300
    assert [one["n"] for one in passes.report()] == [round(value * 60) for value in ORACLE]


def test_devices_are_held_against_all_passes_together() -> None:
    passes = passed(4000, 2000, 900, *ORACLE)
    assert passes.whole.summary.write.bytes == sum(round(v * 60) * 4096 for v in (4000, 2000, 900, *ORACLE))
    cell = Cell("c", "l", "w", 1, True, summary=passes.summary)
    assert Evidence(cell, whole=passes.whole.summary).summary == passes.whole.summary
    assert Evidence(cell).summary == passes.summary


def test_samples_of_all_passes_stand_one_after_another() -> None:
    assert [sample.at_s for sample in passed(1, 2).whole.samples] == [1.0, 2.0, 62.0, 63.0]


def test_a_rate_that_changed_before_the_window_is_no_fault_of_what_is_reported() -> None:
    def pass_of(rate: float) -> Measured:
        write = Direction(round(rate), round(rate) * 4096, rate, rate * 4096, 1.0, Latency(100.0))
        samples = tuple(Sample(float(second), 1.0, write=write) for second in range(1, 21))
        return msgspec.structs.replace(run(rate), samples=samples)

    passes = Passes(MOST_PASSES)
    for number, rate in enumerate((4000, 4000, *ORACLE)):
        passes.add(pass_of(rate), number * 21.0)
    cell = Cell("c", "l", "w", 1, True, summary=passes.summary, samples=passes.whole.samples)
    assert [mark.code for mark in steadiness.find_rate_changes(Evidence(cell))] == ["unsteady"]
    assert not list(steadiness.find_rate_changes(Evidence(msgspec.structs.replace(cell, steady=passes.steady()))))


def test_it_goes_on_until_it_is_steady_and_no_longer_than_it_may() -> None:
    restless = [1000.0 * (1 + number % 2) for number in range(MOST_PASSES)]
    passes = passed(*restless)
    assert passes.ended
    steady = passes.steady()
    assert (steady.reached, steady.window, len(steady.passes)) == (None, (21, 25), 25)
    (mark,) = find_unsteady_window(Evidence(Cell("c", "l", "w", 1, True, steady=steady)))
    assert (mark.code, mark.weight) == ("not-steady", "caution")
    assert "25 passes" in mark.sentence
    assert "write IOPS: range 71.4 %" in mark.sentence


def test_a_drift_is_not_steady_though_its_range_is_small() -> None:
    steady = passed(*(1000 + 40 * number for number in range(5)), most=5).steady()
    one = steady.variables["write IOPS"]
    assert one.range_percent < 20 < 100
    assert one.excursion_percent > 10
    assert steady.reached is None


def test_every_variable_has_to_be_steady() -> None:
    passes = Passes(5)
    for mean_us in (100, 100, 100, 100, 300):
        passes.add(run(1000.0, mean_us), 0.0)
    steady = passes.steady()
    assert steady.reached is None
    assert {name: one.steady for name, one in steady.variables.items()} == {
        "write IOPS": True, "write bandwidth": True, "write mean latency": False,
    }  # fmt: skip


def test_a_pass_that_went_wrong_is_the_last_one() -> None:
    passes = passed(1000, 1000)
    passes.add(run(1000.0, 100.0, Coded("io-error", "fio met error 5")), 122.0)
    assert passes.ended
    assert [mark_of(one, "other") for one in passes.whole.problems] == [Mark("io-error", "pass 3: fio met error 5")]
    (mark,) = find_unsteady_window(Evidence(Cell("c", "l", "w", 1, True, steady=passes.steady())))
    assert "only 3 of at least 5" in mark.sentence


def test_a_cell_that_was_not_asked_for_it_is_as_it_was() -> None:
    passes = passed(1000, most=1)
    assert passes.ended
    assert passes.steady() is None
    assert passes.report() == {"n": 60000}
    assert passes.summary == passes.whole.summary == run(1000).summary


def test_percentiles_of_a_window_are_those_of_its_merged_histograms() -> None:
    passes = Passes(5)
    for mean_us in (100, 100, 100, 100, 102):
        passes.add(run(1000.0, mean_us), 0.0)
    latency = passes.summary.write.latency
    assert (latency.p50_us, latency.p99_us) == (100, 102)
    assert latency.mean_us == pytest.approx(100.4)
    assert latency.max_us == 918


def test_without_histograms_there_are_no_percentiles_but_a_mean() -> None:
    passes = Passes(2)
    for mean_us in (100, 300):
        passes.add(msgspec.structs.replace(run(1000.0, mean_us), bins={}), 0.0)
    latency = passes.summary.write.latency
    assert (latency.p99_us, latency.mean_us) == (None, 200)


def test_two_recorded_reports_are_pooled_as_fio_counted_them() -> None:
    reports = [read_report(raw) for raw in recorded()]
    passes = Passes(len(reports))
    for report in reports:
        passes.add(Measured(summary_of(report, 1), ("fio",), raw=msgspec.Raw(report.raw), bins=bins_of(report)), 0.0)
    flows = [report.group.read for report in reports]
    found = passes.summary.read
    assert found.ios == sum(flow.ios for flow in flows)
    assert min(flow.iops for flow in flows) <= found.iops <= max(flow.iops for flow in flows)
    assert found.latency.p99_us is not None
    lows, highs = zip(*((min(f.clat_ns.bins), f.clat_ns.max_ns) for f in flows), strict=True)
    assert min(lows) / 1000 <= found.latency.p50_us <= found.latency.p99_us <= max(highs) / 1000


def recorded() -> list[bytes]:
    """The last reports of two real runs of one workload."""
    return [Splitter().feed((FIO / version / "mix-two-devices.txt").read_bytes())[-1] for version in ("3.33", "3.39")]


def test_reads_and_writes_of_a_mix_are_tracked_each() -> None:
    flow = Direction(10, 40960, 10.0, 40960.0, 1.0, Latency(5.0))
    found = tracking([Summary(read=flow, write=flow), Summary(write=flow)])
    assert set(found) == {f"{way} {what}" for way in ("read", "write") for what in ("IOPS", "bandwidth", "mean latency")}
    assert found["read IOPS"] == [10.0, 0.0]
    assert tracking([Summary(), Summary()]) == {}


def test_the_plan_shows_the_command_once_and_the_most_it_may_take() -> None:
    def measures(options: Options = Options(layouts=("raid5",)), **policy):  # noqa: B008
        made = plan(options, policy={**SCENARIO["policy"], **policy})
        return [step for step in made.steps if step.action == "measure" and step.cell.endswith("/1")]

    for one, many in zip(measures(), measures(steady=True), strict=True):
        assert one.commands == many.commands
        assert many.args["passes"] == MOST_PASSES
        assert many.seconds > 24 * one.seconds
        assert "up to 25 passes of about" in many.title
        assert "passes" not in one.args
    assert {s.args["passes"] for s in measures(Options(quick=True, layouts=("raid5",)), steady=True)} == {QUICK_PASSES}
