"""Curves of a sweep: IOPS against latency by what is in flight, and the knee, in every format."""

import io
import json
import random
import re
import xml.etree.ElementTree as ET
import zipfile

import msgspec
import pytest
from test_comparing import result, slim

from raidtui.model.convert import encode
from raidtui.model.measure import Direction, Latency, Summary
from raidtui.model.result import Cell
from raidtui.model.statistics.knee import knee_of
from raidtui.model.sweep import Swept, expanded
from raidtui.results.charts import panels_of
from raidtui.results.charts.sheet import sheet_svg
from raidtui.results.compare import compare, compare_many
from raidtui.results.extract import extract
from raidtui.results.facts import given_of
from raidtui.results.formats import FORMATS
from raidtui.results.formats.text import table_lines
from raidtui.results.library import KEPT, Unfolding, lean_extract, packed
from raidtui.results.load import read_result
from raidtui.results.sweep_lines import grid, knee_lines
from raidtui.results.verdicts import answer_lines

FIO = {"rw": "randread", "bs": "4KiB", "runtime": "5s"}
CURVE = {1: (10_000, 100), 4: (30_000, 133), 16: (41_000, 390), 64: (42_230, 1482)}
"""IOPS and mean latency in µs by queue depth; with Little's law."""


def cell(layout, swept, iops, us, *, round=1, reasons=()):
    load = f"{swept.name}-t{swept.numjobs}q{swept.iodepth}"
    read = Direction(int(iops * 5), int(iops * 5 * 4096), iops, iops * 4096, 5.0, Latency(us, us, us * 2, us * 3, us * 4))
    return Cell(f"{layout}/{load}/{round}", layout, load, round, not reasons, tuple(reasons), summary=Summary(read=read),
                sweep=swept)  # fmt: skip


def curve(layout, factor=1.0, jobs=(1,), curve=CURVE, name="seek", size="4KiB", **changes):
    return [cell(layout, Swept(name, size, job, depth), iops * factor, us / factor * job, **changes)
            for job in jobs for depth, (iops, us) in curve.items()]  # fmt: skip


def swept(*cells, order=("raid5", "raid10"), **options):
    made = result(*cells, order=order)
    made.scenario["workloads"] = {"seek": {"fio": {**FIO, "iodepth": list(CURVE), "numjobs": [1], **options}}}
    return made


def test_the_knee_is_the_fewest_in_flight_with_nine_tenths_of_the_best_rate():
    assert knee_of([(load, rate) for load, (rate, _) in CURVE.items()]) == 2
    assert knee_of([(1, 100), (2, 90), (4, 80)]) == 0, "more than the first load brings nothing"
    assert knee_of([(1, 10), (4, 40), (16, 160)]) is None, "it still rises"
    assert knee_of([(1, 100), (64, 100)]) is None, "two loads are no curve"
    assert knee_of([(4, 91), (4, 95), (1, 10), (8, 100)]) == 1, "of equal loads the faster one"
    assert knee_of([]) is None
    assert knee_of([(1, 0), (2, 0), (4, 0)]) is None


def test_noise_below_the_margin_hardly_moves_the_knee():
    chance = random.Random(7)
    true = [(1, 100), (2, 195), (4, 370), (8, 640), (16, 900), (32, 1000), (64, 1005), (128, 1000)]
    found = {knee_of([(load, rate * chance.uniform(0.97, 1.03)) for load, rate in true]) for _ in range(300)}
    assert found <= {4, 5}


def test_the_workloads_of_a_sweep_are_a_curve_for_each_layout_in_the_order_of_what_is_in_flight():
    (sweep,) = compare(swept(*curve("raid5"), *curve("raid10", 2, jobs=(4, 1)))).sweeps
    assert (sweep.name, [one.label for one in sweep.curves]) == ("seek", ["raid5", "raid10"])
    raid5, raid10 = sweep.curves
    assert [(point.in_flight, point.iops, point.mean_us) for point in raid5.points] == [
        (depth, pytest.approx(iops), us) for depth, (iops, us) in CURVE.items()
    ]
    assert raid5.points[raid5.knee].in_flight == 16
    assert [(point.in_flight, point.numjobs) for point in raid10.points] == [
        (1, 1), (4, 1), (4, 4), (16, 1), (16, 4), (64, 1), (64, 4), (256, 4),
    ]  # fmt: skip


def test_rounds_are_one_point_and_cells_that_are_not_valid_are_none():
    rounds = [*curve("raid5", 0.9), *curve("raid5", 1.1, round=2), *curve("raid5", 9, round=3, reasons=["lost"])]
    (sweep,) = compare(swept(*rounds)).sweeps
    assert sweep.curves[0].points[0].iops == pytest.approx(10_000 * (0.9 * 1.1) ** 0.5)
    (sweep,) = compare(swept(*curve("raid5", reasons=["lost"]))).sweeps
    assert [point.iops for point in sweep.curves[0].points] == [None] * 4
    assert list(knee_lines(sweep)) == []


def test_each_block_size_is_a_curve_of_its_own():
    cells = [
        *curve("raid5"),
        *(msgspec.structs.replace(one, workload=f"{one.workload}-64k", sweep=Swept("seek", "64KiB", 1, one.sweep.iodepth))
          for one in curve("raid5", 0.3)),
    ]  # fmt: skip
    (sweep,) = compare(swept(*cells)).sweeps
    assert [head for head, *_ in grid(sweep).columns] == ["raid5 4KiB", "raid5 64KiB"]


def test_the_knee_is_said_with_what_more_in_flight_brings():
    (sweep,) = compare(swept(*curve("raid5"), *curve("raid10", curve={1: (10, 100), 4: (40, 100), 16: (160, 100)}))).sweeps
    assert list(knee_lines(sweep)) == [
        "raid5: knee at 16 in flight: 41,000 IOPS at 390 µs; 64 in flight brings +3 % IOPS and 3.8 × the latency",
        "raid10: no knee up to 16 in flight: fewer have less than 90 % of its 160 IOPS",
    ]
    (both,) = compare(swept(*curve("raid5", jobs=(1, 4)))).sweeps
    assert next(iter(knee_lines(both))).startswith("raid5: knee at 16 in flight (queue depth 16, 1 job): 41,000 IOPS")
    (few,) = compare(swept(*curve("raid5", curve={1: (10, 100), 4: (40, 100)}))).sweeps
    assert list(knee_lines(few)) == ["raid5: no knee is looked for in fewer than 3 different loads"]


def test_the_table_has_depths_down_and_layouts_and_jobs_across():
    (sweep,) = compare(swept(*curve("raid5", jobs=(1, 4)), *curve("raid10", 2))).sweeps
    title, first, columns = grid(sweep)
    assert title == "Sweep seek: IOPS and mean latency by queue depth and jobs"
    assert first == ["DEPTH", "1", "4", "16", "64"]
    assert columns[0] == [
        "raid5, 1 job", "10,000 at 100 µs", "30,000 at 133 µs", "*41,000 at 390 µs", "42,230 at 1.48 ms",
    ]  # fmt: skip
    assert [column[0] for column in columns] == ["raid5, 1 job", "raid5, 4 jobs", "raid10, 1 job"]
    by_jobs = [cell("raid5", Swept("seek", "4KiB", jobs, 1), jobs * 100, 50) for jobs in (1, 2, 8)]
    title, first, columns = grid(compare(swept(*by_jobs)).sweeps[0])
    assert (title, first) == ("Sweep seek: IOPS and mean latency by jobs", ["JOBS", "1", "2", "8"])
    assert columns == [["raid5", "100 at 50 µs", "200 at 50 µs", "800 at 50 µs"]]


@pytest.mark.parametrize("name", ["table", "md", "html"])
def test_formats_for_readers_have_the_table_and_the_knees(name):
    text = FORMATS[name].write(compare(swept(*curve("raid5"), *curve("raid10", 2)))).decode()
    shown = re.sub(r"<[^>]*>|\\", " ", text)
    assert "Sweep seek: IOPS and mean latency by queue depth" in shown
    assert "41,000 at 390 µs" in shown
    assert "raid5: knee at 16 in flight" in shown
    assert "90 % of a curve" in shown
    assert "Sweep" not in FORMATS[name].write(compare(result())).decode()


def test_a_narrow_terminal_has_the_table_in_parts():
    comparison = compare(swept(*curve("raid5", jobs=(1, 4, 16))))
    for width in (40, 80, 200):
        lines = [str(line) for line in table_lines(comparison, width, about=False) if not line.sentence]
        assert all(len(line) <= width for line in lines)
        assert sum(line.startswith("DEPTH") for line in lines) == {40: 3, 80: 1, 200: 1}[width]


def test_old_against_new_has_the_curves_of_both():
    old, new = swept(*curve("raid5")), msgspec.structs.replace(swept(*curve("raid5", 1.2)), run="20260202-120000-zzzz9999")
    comparison = compare_many((old, new))
    assert comparison.pairs
    assert [one.label for one in comparison.sweeps[0].curves] == ["raid5:1", "raid5:2"]
    assert "raid5:2: knee at 16" in "\n".join(map(str, table_lines(comparison, 120)))


def test_the_json_has_every_point_and_the_knee():
    (sweep,) = json.loads(FORMATS["json"].write(compare(swept(*curve("raid5")))))["sweeps"]
    (found,) = sweep["curves"]
    assert found["points"][found["knee"]] == {
        "column": 2, "numjobs": 1, "iodepth": 16, "in_flight": 16, "iops": pytest.approx(41_000), "mean_us": 390.0,
        "p99_us": 780.0,
    }  # fmt: skip


def test_the_chart_labels_points_with_depth_and_jobs_and_says_the_knees():
    comparison = compare(swept(*curve("raid5"), *curve("raid10", 2)))
    (panel,) = panels_of(comparison, ["sweeps"])
    assert panel.title == "seek, queue depth × jobs"
    assert "raid10: knee at 16 in flight" in panel.about
    svg = sheet_svg([panel]).decode()
    for words in ("1×1", "16×1", "64×1", "raid5", "raid10", "mean latency"):
        assert f">{words}<" in svg, words


def test_many_layouts_are_in_several_panels_and_a_latency_that_is_not_known_has_no_place():
    names = [f"layout{number}" for number in range(14)]
    comparison = compare(swept(*(one for name in names for one in curve(name)), order=names))
    assert len(panels_of(comparison, ["sweeps"])) == 2
    replace = msgspec.structs.replace
    untimed = [replace(one, summary=Summary(read=replace(one.summary.read, latency=Latency()))) for one in curve("raid5")]
    comparison = compare(swept(*untimed))
    assert comparison.sweeps[0].curves[0].knee == 2
    assert [panel.title for panel in panels_of(comparison, ["sweeps"])] == ["There is nothing to draw"]


SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"


def test_a_workbook_has_a_sheet_of_each_sweep_whose_chart_and_rates_are_cells():
    names = ("=cmd|'/c calc'!A1", "+1", "@x", "-x")
    comparison = compare(swept(*(one for name in names for one in curve(name, 1 + names.index(name))), order=names))
    book = zipfile.ZipFile(io.BytesIO(FORMATS["xlsx"].write(comparison)))
    sheets = [one.get("name") for one in ET.fromstring(book.read("xl/workbook.xml")).iter(f"{SHEET}sheet")]
    texts = ["".join(one.itertext()) for one in ET.fromstring(book.read("xl/sharedStrings.xml")).iter(f"{SHEET}si")]
    own = ET.fromstring(book.read(f"xl/worksheets/sheet{sheets.index('Sweep 1') + 1}.xml"))
    cells = {one.get("r"): one for one in own.iter(f"{SHEET}c")}

    def value(at):
        number = cells[at].find(f"{SHEET}v").text
        return texts[int(number)] if cells[at].get("t") == "s" else float(number)

    assert [value(f"{letter}4") for letter in "ABDEFG"] == [names[0], names[0], 1, 1, 1, pytest.approx(10_000)]
    assert [value(f"A{row}") for row in range(4, 20, 4)] == list(names)
    assert value("J6") == "knee"
    assert {cell.find(f"{SHEET}f").text for at, cell in cells.items() if at in ("G4", "G9")} == \
        {"Comparison!$B$6", "Comparison!$J$7"}  # fmt: skip
    chart = ET.fromstring(next(book.read(name) for name in book.namelist()
                               if name.startswith("xl/charts/chart") and b"scatterChart" in book.read(name)))  # fmt: skip
    found = [one.text for one in chart.iter(f"{CHART}f")]
    assert found[0] == "'Sweep 1'!$A$1"
    assert found[1:4] == ["'Sweep 1'!$A$4", "'Sweep 1'!$G$4:$G$7", "'Sweep 1'!$H$4:$H$7"]
    assert len(found) == 1 + 3 * len(names)
    for name in book.namelist():
        if name.startswith("xl/worksheets/sheet"):
            formulas = [one.text for one in ET.fromstring(book.read(name)).iter(f"{SHEET}f")]
            assert not any("cmd" in one or "@x" in one for one in formulas)


def test_a_sweep_is_the_same_from_the_index_as_from_the_file():
    one = swept(*curve("raid5"), *curve("raid10", 2))
    lean = lean_extract(encode(one))[0]
    assert lean == slim(extract(one))
    data, shared = packed(lean)
    assert Unfolding().extract(KEPT.decode(data), shared) == lean
    assert compare_many([lean]).sweeps[0].curves[0].knee == 2


def test_a_result_keeps_its_place_in_a_sweep_and_an_older_one_has_none():
    one = swept(*curve("raid5"))
    data = encode(one)
    assert read_result(data).cells == one.cells
    older = json.loads(data)
    for each in older["cells"]:
        del each["sweep"]
    read = read_result(json.dumps(older).encode())
    assert [each.sweep for each in read.cells] == [None] * 4
    assert compare(read).sweeps == ()


def test_workloads_of_equal_options_are_one_column_whether_listed_or_given_by_hand():
    given = {"seek": {"fio": {**FIO, "iodepth": [1, 4]}}}
    by_hand = {f"seek-q{depth}": {"fio": {**FIO, "iodepth": depth}} for depth in (1, 4)}
    assert expanded(given) == by_hand
    assert given_of({"workloads": given}).workloads == given_of({"workloads": by_hand}).workloads
    large = {"seek": {"fio": {**FIO, "iodepth": list(range(1, 60)), "numjobs": list(range(1, 60))}}}
    assert expanded(large) == large, "nobody's file makes thousands of workloads"
    for strange in ({"w": 5}, {"w": {"fio": None}}, {"w": {"fio": {"iodepth": []}}}, {"w": {"dd": {"bs": ["1MiB"]}}}):
        assert expanded(strange) == strange


def noisy(layout, factors, rounds=5):
    """Rounds of a layout on the curve, each load of it by a factor, which scatter by about 1 %."""
    chance = random.Random(layout)
    return [one for round_ in range(1, rounds + 1) for place, factor in zip(CURVE.items(), factors, strict=True)
            for one in curve(layout, factor * chance.gauss(1, 0.01), curve=dict([place]), round=round_)]  # fmt: skip


def test_a_sweep_is_one_line_of_the_answer_with_what_is_best_where():
    lines = answer_lines(compare(swept(*noisy("raid5", (1.2, 1, 1, 1)), *noisy("raid10", (1, 1.3, 1.3, 1.3)))))
    (line,) = [one for one in lines if "best" in one]
    assert re.fullmatch(r"sweep seek by queue depth: raid5 is best at 1 \(\d+ % above the next\); "
                        r"raid10 is best at 4 to 64 \(\d+ to \d+ % above the next\)", line)  # fmt: skip
    all_ = answer_lines(compare(swept(*noisy("raid5", (1, 1, 1, 1)), *noisy("raid10", (1.3, 1.3, 1.3, 1.3)))))
    assert "sweep seek by queue depth: raid10 is best at all 4 (" in all_[0]
    few = answer_lines(compare(swept(*curve("raid5"), *curve("raid10", 1.2))))
    assert few[0] == "sweep seek by queue depth: raid10 has the highest number at all 4 (20 % above the next)"


def test_a_sweep_counts_as_one_workload_of_many():
    cells = [*noisy("raid5", (1.2, 1, 1, 1)), *noisy("raid10", (1, 1.3, 1.3, 1.3))]
    cells += [changed for name in ("alpha", "beta") for one in cells[::4]
              for changed in [msgspec.structs.replace(one, workload=name, sweep=None, id=f"{one.id}/{name}")]]  # fmt: skip
    lines = answer_lines(compare(swept(*cells)), 2)
    assert lines[0] == "of 3 workloads: best are raid5 for 2; 1 without a clear best"
    assert lines[2] == "and 2 more workloads"
