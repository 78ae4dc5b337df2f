"""Reading result files, and layouts × workloads: medians, spread, shares of a baseline, what is invalid."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.model.convert import encode
from raidtui.model.disk import Fingerprint
from raidtui.model.measure import Direction, Summary
from raidtui.model.plan import Options
from raidtui.model.problem import Problem, ProblemError
from raidtui.model.result import Built, Cell, Machine, Result
from raidtui.results.compare import compare, compare_many
from raidtui.results.extract import Extract, Point
from raidtui.results.load import read_result
from raidtui.results.rates import iops_text, latency_text, mb_s_text, percent_text, rate_text


def cell(layout, workload, iops, *, round=1, block=4096, reasons=(), part="", read=0.0):
    def direction(rate):
        return Direction(int(rate * 10), int(rate * 10 * block), rate, rate * block, 10.0) if rate else None

    summary = Summary(read=direction(read), write=direction(iops))
    return Cell(f"{layout}/{workload}#{round}", layout, workload, round, not reasons, tuple(reasons), part, summary)


def result(*cells, layouts=(), order=("a", "b"), loads=("w",)):
    scenario = {"name": "t", "layouts": {key: {} for key in order}, "workloads": {key: {} for key in loads}}
    return Result(
        "raidtui.result/1", "0.1.0", "20260131-120000-abcd1234", "d" * 64, False, True, "", None, None, "", scenario,
        Options(), {"data": (Fingerprint("S", "S", "eui.1", "M", 1 << 40, 512, 1, "b"),)}, Machine("h", "6.12"), (),
        tuple(layouts), tuple(cells),
    )  # fmt: skip


def slim(found):
    """Return an extract without whole cells, as the index keeps it."""
    points = tuple(msgspec.structs.replace(one, cell=None) for one in found.points)
    return msgspec.structs.replace(found, points=points, bare={}, cpus=0, disks=(), network_speeds={})


def test_the_typical_round_and_the_share_of_the_baseline():
    found = compare(result(*(cell("a", "w", v, round=n) for n, v in enumerate((90, 100, 140), 1)), cell("b", "w", 50)))
    a, b = (row.entries[0] for row in found.rows)
    assert found.baseline == "a"
    assert (a.median, a.low, a.high, a.of_baseline, a.valid) == (100, 90, 140, None, 3)
    assert a.typical == pytest.approx((90 * 100 * 140) ** (1 / 3))
    assert b.of_baseline == pytest.approx(50 / a.typical)


def test_a_round_unlike_the_others_and_a_round_of_nothing_are_said():
    odd = compare(result(*(cell("a", "w", v, round=n) for n, v in enumerate((585, 590, 3.2, 580), 1))))
    assert odd.notes == ("a under w, round 3 is unlike the others: 3.2 against 585 IOPS",)
    none = compare(result(*(cell("a", "w", v, round=n) for n, v in enumerate((585, 0, 590), 1))))
    assert none.notes == ("a under w, round 2: nothing was moved; it is not in the number",)
    points = tuple(Point(str(n), "a", "w", n, iops=v) for n, v in enumerate((585.0, 0.0, 590.0), 1))
    given = compare_many([Extract("t", points, layouts={"a": {}}, workloads={"w": "w"}, imported=True)])
    assert given.rows[0].entries[0].typical == 585
    assert given.notes[-1].startswith("a under w, round 2: measured 0; it counts")


def test_the_number_shown_is_inside_its_interval():
    for values in ((100, 101, 10, 11), (5, 500, 501, 502), (1, 2, 3)):
        entry = compare(result(*(cell("a", "w", v, round=n) for n, v in enumerate(values, 1)))).rows[0].entries[0]
        assert entry.interval_low < entry.typical < entry.interval_high


def test_an_invalid_cell_enters_no_number():
    found = compare(result(cell("a", "w", 100), cell("a", "w", 900, round=2, reasons=["lost"]),
                           cell("b", "w", 1, reasons=["lost", "slow"])))  # fmt: skip
    a, b = (row.entries[0] for row in found.rows)
    assert (a.median, a.high, a.valid, a.cells, a.reasons) == (100, 100, 1, 2, ("lost",))
    assert (b.median, b.of_baseline, b.reasons) == (None, None, ("lost", "slow"))


def test_the_baseline_is_the_first_row_with_a_valid_number_or_the_one_named():
    cells = (cell("a", "w", 1, reasons=["lost"]), cell("b", "w", 50), cell("c", "w", 25))
    assert compare(result(*cells, order=("a", "b", "c"))).baseline == "b"
    named = compare(result(*cells, order=("a", "b", "c")), "c")
    assert named.rows[1].entries[0].of_baseline == 2.0


def test_a_row_without_a_number_above_0_is_no_baseline_unless_it_is_asked_for():
    cells = (cell("a", "w", 0), cell("b", "w", 50))
    assert compare(result(*cells)).baseline == "b"
    assert compare(result(*cells), "a").baseline == "a"


def test_large_blocks_are_compared_by_throughput_small_ones_by_operations():
    found = compare(result(cell("a", "bulk", 1000, block=1 << 20), cell("a", "w", 1000), loads=("w", "bulk")))
    assert found.workloads == ("w", "bulk")
    assert found.units == ("IOPS", "MB/s")
    assert [rate_text(e.median, u) for e, u in zip(found.rows[0].entries, found.units, strict=True)] == ["1,000", "1,049"]


def test_a_mix_counts_both_directions():
    assert compare(result(cell("a", "w", 300, read=700))).rows[0].entries[0].median == 1000


def test_each_disk_of_a_layout_measured_disk_by_disk_has_its_row():
    found = compare(result(cell("a", "w", 1, part="S1"), cell("a", "w", 2, part="S2"), cell("b", "w", 3)))
    assert [row.label for row in found.rows] == ["a S1", "a S2", "b"]


def test_a_layout_that_could_not_be_built_has_a_row_with_the_reason():
    failed = Built("b", 1, "failed", problem=Problem("tool-failed", "mdadm refused", exit=4))
    found = compare(result(cell("a", "w", 1), layouts=[failed]))
    assert (found.rows[1].label, found.rows[1].failed, found.rows[1].entries) == ("b", "mdadm refused", (None,))


def test_an_empty_result_compares_to_nothing():
    assert compare(result()).rows == ()


def test_a_result_is_read_back_as_it_was_written():
    given_ = result(cell("a", "w", 100), cell("b", "w", 50))
    assert read_result(encode(given_)) == given_


def test_the_tools_own_report_is_kept():
    text = encode(result(cell("a", "w", 1))).replace(b'"workload":"w"', b'"workload":"w","report":{"jobs":[1]}')
    assert read_result(text).cells[0].report == {"jobs": [1]}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "json"),
        (b'{"schema":"raidtui.result/1","schema":"raidtui.result/1"}', "json"),
        (b'{"schema":"raidtui.result/2"}', "not-a-result"),
        (b'{"schema":"raidtui.result/1"}', "schema"),
        (encode(result()).replace(b'"complete":true', b'"complete":true,"extra":1'), "schema"),
        (encode(result()).replace(b'"rehearsal":false', b'"rehearsal":"no"'), "schema"),
        (b"[]", "schema"),
    ],
)
def test_what_is_no_result_is_refused(data, code):
    with pytest.raises(ProblemError) as caught:
        read_result(data)
    assert caught.value.problems[0].code == code
    assert caught.value.exit == 2


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_crash_the_reader(data):
    with pytest.raises(ProblemError):
        read_result(data)


def test_numbers_never_follow_the_locale():
    assert [iops_text(v) for v in (0.5, 8.26, 412.4, 2817002.93)] == ["0.5", "8.3", "412", "2,817,003"]
    assert [mb_s_text(v) for v in (90.35e6, 20_275.2e6)] == ["90.3", "20,275"]
    assert [latency_text(v) for v in (None, 8.25, 85, 1240, 2.1e6)] == ["–", "8.2 µs", "85 µs", "1.24 ms", "2.10 s"]
    assert [percent_text(v) for v in (None, 0.012, 0.84, 1.01)] == ["–", "1.2 %", "84 %", "101 %"]


def test_slices_of_a_ranking_are_not_the_same_as_whole_workloads():
    def sliced(**ranking):
        one = result(cell("a", "w", 100))
        return msgspec.structs.replace(one, scenario={**one.scenario, "policy": {"ranking": ranking}})

    whole = result(cell("a", "w", 100))
    assert len(compare_many([whole, whole]).workloads) == 1
    assert len(compare_many([whole, sliced()]).workloads) == 2
    assert len(compare_many([sliced(), sliced(slice="5s")]).workloads) == 1
    assert len(compare_many([sliced(), sliced(slice="10s")]).workloads) == 2
