"""The page, the workbook and the charts: made by libraries, so what is in them is looked at, not their bytes."""

import io
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

import msgspec
import pytest
from matplotlib.figure import Figure
from test_comparing import cell, result, slim
from test_formats import real, two
from test_verdicts import rounds

from raidtui.model.measure import Latency
from raidtui.model.problem import ProblemError
from raidtui.model.result import Pass, Steady
from raidtui.model.statistics.samples import geometric_mean
from raidtui.model.sweep import Swept
from raidtui.results.charts import CHARTS, courses, panels_of
from raidtui.results.charts.drawing import round_times
from raidtui.results.charts.sheet import panel_svgs
from raidtui.results.compare import compare, compare_many
from raidtui.results.formats import FORMATS
from raidtui.results.lines import share_interval_text
from raidtui.results.rates import latency_text, rate_text

SWEPT = Swept("fsync-write-4k", "4KiB")
HOSTILE = "</script><script>alert(1)</script>\"'&$x^{2}$\x1b[31m\u202e=1+1"
SVG = "{http://www.w3.org/2000/svg}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def campaign():
    """Two real results, each of whose cells counts as five rounds that scatter a little; one round is not valid.

    Each round is made of five passes that are all the same. One workload is of a sweep.
    """
    found = []
    for number in (1, 2):
        one, cells = real(number), []
        for count in range(1, 6):
            for each in one.cells:
                factor = 1 + (count - 3) / 200
                summary = msgspec.structs.replace(
                    each.summary, write=msgspec.structs.replace(each.summary.write, iops=each.summary.write.iops * factor)
                )
                lost = count == 2 and each.layout == "raid5"
                steady = Steady(tuple(Pass(61.0 * number, summary) for number in range(5)), 5, (1, 5))
                cells.append(msgspec.structs.replace(each, round=count, id=f"{each.id}#{count}", summary=summary,
                             steady=steady, sweep=SWEPT if each.workload == "fsync-write-4k-t1q1" else None,
                             valid=not lost, reasons=("the array resynced",) if lost else ()))  # fmt: skip
        found.append(msgspec.structs.replace(one, cells=tuple(cells)))
    return found


def hostile():
    bad = result(cell("a", "w", 5, reasons=[HOSTILE]), cell("a", "w", 6, round=2), cell("b", "w", 7, part=HOSTILE))
    bad.scenario["title"] = HOSTILE
    return bad


class Page(HTMLParser):
    """What a page is made of."""

    VOID = frozenset(("meta", "link", "br", "input"))

    def __init__(self, data):
        super().__init__()
        self.open, self.ids, self.links, self.addresses, self.tags, self.text = [], [], [], [], [], []
        self.feed(data.decode())
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "xlink:href", "src") and value:
                (self.links if value.startswith("#") else self.addresses).append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def page():
    return FORMATS["html"].write(compare_many(campaign()))


def test_the_page_is_well_formed_and_every_id_is_unique(page):
    found = Page(page)
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))


def test_the_page_needs_nothing_but_itself(page):
    found = Page(page)
    assert all(address.startswith("data:") for address in found.addresses)
    assert not re.search(rb"(?<!xmlns=\")(?<!xmlns:xlink=\")https?://(?!www\.w3\.org/)", page)
    assert b"default-src 'none'" in page
    assert not {"img", "iframe", "object"} & set(found.tags)


class Paper(HTMLParser):
    """The headings, tables and print-only sentences of a page that is printed without “every detail”."""

    def __init__(self, data):
        super().__init__()
        self.open, self.heads, self.left_out, self.tables = [], [], [], 0
        self.feed(data.decode())

    def handle_starttag(self, tag, attrs):
        if tag not in Page.VOID:
            self.open.append((tag, dict(attrs).get("class") or ""))
        self.tables += tag == "table" and not self.hidden

    def handle_endtag(self, tag):
        self.open.pop()

    @property
    def hidden(self):
        return any("detail" in kind.split() for _, kind in self.open)

    def handle_data(self, data):
        if self.open and self.open[-1][0] in ("h2", "h3"):
            (self.left_out if self.hidden else self.heads).append(data)


def test_on_paper_there_is_a_summary_that_says_what_is_left_out(page):
    paper = Paper(page)
    assert paper.heads == ["Old against new", "Which one, for what", "Layouts × workloads", "Sweeps",
                           "Sweep fsync-write-4k: IOPS and mean latency by queue depth", "Charts", "Old against new",
                           "IOPS against latency", "Layouts side by side", "Round by round", "Latency by percentile",
                           "Under the roof of the bare disks", "Results"]  # fmt: skip
    assert paper.tables == 4
    text = page.decode()
    sections = [head for head in paper.left_out if f"<h2>{head}</h2>" in text]
    assert sections[-1] == "Every cell, its run and its command"
    note = re.search(r'<p class="on-paper">(.*?)</p>', text, re.DOTALL).group(1)
    assert all(f"“{head}”" in note for head in sections)
    assert "<h3>Devices over time</h3>" in text
    assert "Devices over time" in paper.left_out
    assert "details of “Charts”" in note
    print_rules = text[text.index("@media print") : text.index("</style>")]
    assert ".detail { display: none; }" in print_rules
    assert "body:has(#print-all:checked) .detail { display: block; }" in print_rules
    assert '<input type="checkbox" id="print-all">' in text


def test_what_differs_is_on_paper_in_one_line_a_fact():
    one, other = real(1), real(2)
    other = msgspec.structs.replace(other, machine=msgspec.structs.replace(other.machine, kernel="6.99"))
    text = FORMATS["html"].write(compare_many([one, other])).decode()
    section = text[text.index('<section id="confounders"') :]
    assert '<div class="detail"><div class="scroll' in section
    assert re.search(r'<ul class="notes on-paper">.*<li>confounder kernel: 6\.99 with ', section, re.DOTALL)
    assert "details of “What else differs”" in text


def test_every_number_of_the_page_leads_to_its_cells_with_run_and_command(page):
    found = Page(page)
    targets = [link[1:] for link in found.links if link.startswith("#cell-")]
    assert len(set(targets)) == 24
    assert set(targets) <= set(found.ids)
    text = page.decode()
    for one in campaign():
        assert text.count(one.run) >= len(one.cells)
    assert text.count("<code>/usr/bin/fio ") == 120


def test_the_page_has_every_kind_of_chart_with_words_for_who_cannot_see_it(page):
    text = page.decode()
    for chart in CHARTS.values():
        assert f"<h3>{chart.title}</h3>" in text
    assert text.count("<figure>") == text.count('role="img"') == text.count("aria-label=") > 10


def test_the_page_has_the_latency_of_all_rounds_together(page):
    text = page.decode()
    section = text[text.index('<section id="latency"') :]
    assert (
        section[: section.index("</section>")].count('<tr><th scope="row">') == 2 * 6 * 3
    )  # two results, six rows, write, sync, write


def test_the_page_says_what_is_not_valid_and_what_the_signs_mean(page):
    text = page.decode()
    assert "4 of 5" in text
    assert "the array resynced" in text
    assert "95 % confidence" in text


def test_names_from_outside_are_never_markup_formula_or_mathematics():
    comparison = compare(hostile())
    text = FORMATS["html"].write(comparison).decode()
    assert text.count("<script>") == 1
    assert "\x1b" not in text
    Page(text.encode())
    assert FORMATS["png"].write(comparison).startswith(b"\x89PNG")
    ET.fromstring(FORMATS["svg"].write(comparison))
    book = zipfile.ZipFile(io.BytesIO(FORMATS["xlsx"].write(comparison)))
    assert not any("alert" in formula for formula in formulas(book).values())


@pytest.mark.parametrize("name", ["html", "xlsx", "svg", "png"])
def test_a_snapshot_of_nothing_can_be_written(name):
    assert FORMATS[name].write(compare(result()))
    assert FORMATS[name].write(compare_many(two()))


def test_a_drawing_has_its_letters_as_text_and_the_themes_colours():
    svg = FORMATS["svg"].charts(compare_many(campaign()), ["bars"]).decode()
    ET.fromstring(svg)
    assert ">raid5:1</text>" in svg
    assert "prefers-color-scheme: dark" in svg
    assert ".f-ink{fill:var(--ink,#1c2430)}" in svg


def test_colours_of_a_drawing_do_not_need_variables_of_styles():
    """librsvg, LibreOffice and Inkscape know none: they have the attributes, and rules precede attributes where known."""
    comparison = compare_many(campaign())
    drawing = ET.fromstring(FORMATS["svg"].write(comparison))
    light = {"ink": "#1c2430", "muted": "#5b6675", "grid": "#d5dae1", "paper": "#ffffff"}
    themed = 0
    for element in drawing.iter():
        assert not any("var(" in value for value in element.attrib.values())
        assert "fill" not in element.get("style", "")
        assert "stroke" not in element.get("style", "")
        for way, colour in re.findall(r"\b([fs])-(\w+)", element.get("class", "")):
            assert element.get({"f": "fill", "s": "stroke"}[way]) == light[colour]
            themed += 1
        for way in ("fill", "stroke"):
            assert element.get(way) not in light.values() or f"{way[0]}-" in element.get("class")
    assert themed > 200
    assert b".s-ink{stroke:var(--ink,#1c2430)}" in FORMATS["html"].write(comparison)


def ticks(svg, way):
    """The texts of the ticks of a panel: those of the x axis are centred, those of the y axis end at it."""
    anchor = {"x": "middle", "y": "end"}[way]
    return re.findall(rf'<text [^>]*text-anchor="{anchor}"[^>]*>([\d,.]+)</text>', svg)


def test_parts_of_one_panel_have_the_same_axes():
    names = [f"l{number:02}" for number in range(13)]
    rounds = [cell(name, "w", 10 if name > "l06" else 5000, round=count)
              for name in names for count in range(1, 4 if name > "l06" else 7)]  # fmt: skip
    comparison = compare(result(*rounds, order=names))
    first, second = panel_svgs(panels_of(comparison, ["rounds"]), 1)
    assert ticks(first, "y") == ticks(second, "y")
    assert "4,000" in ticks(second, "y")
    assert ticks(first, "x") == ticks(second, "x")
    assert "6" in ticks(second, "x")
    alone, *_ = panel_svgs(panels_of(compare(result(*rounds[-3:])), ["rounds"]), 1)
    assert "4,000" not in ticks(alone, "y")


@pytest.mark.parametrize("kind", CHARTS)
def test_one_kind_of_chart_can_be_had_alone(kind):
    comparison = compare_many(campaign())
    panels = panels_of(comparison, [kind])
    assert [one.title for one in panels] == [one.title for one in CHARTS[kind].panels(comparison)]
    for svg in panel_svgs(panels, 1):
        ET.fromstring(svg.replace("<svg ", '<svg xmlns:xlink="http://www.w3.org/1999/xlink" ', 1))
    drawn = ET.fromstring(FORMATS["svg"].charts(comparison, [kind]))
    assert len(drawn.findall(f"{SVG}g[@transform]")) == len(panels) + 2, "and the two of the head"


def test_latencies_of_one_workload_have_the_same_axes_whatever_their_direction():
    panels = panels_of(compare_many(campaign()), ["latency"])
    drawn = dict(zip((panel.title for panel in panels), panel_svgs(panels, 1), strict=True))
    writes, syncs = (f"fsync-write-4k-t1q1, latency of {way}" for way in ("write", "sync"))
    assert re.findall(r">([\d.]+ [µm]?s)<", drawn[writes]) == re.findall(r">([\d.]+ [µm]?s)<", drawn[syncs])
    assert ticks(drawn[writes], "x") == ticks(drawn[syncs], "x")


def test_a_sheet_says_what_it_shows_and_what_its_signs_mean():
    comparison = compare_many(campaign())
    drawn = FORMATS["svg"].charts(comparison, ["bars"]).decode()
    for words in ("Comparison of 2 results", "result 2: quick", "▲ above, ▼ below the baseline",
                  "the thin line on a bar: the 95 % confidence interval", "one colour and one shape"):  # fmt: skip
        assert words in drawn
    assert "thin line" not in FORMATS["svg"].charts(comparison, ["sweeps"]).decode()


def test_workloads_of_a_sweep_are_drawn_as_curves_and_not_again_as_bars():
    comparison = compare_many(campaign())
    both = FORMATS["svg"].write(comparison).decode()
    assert ">fsync-write-4k, queue depth × jobs" in both
    assert ">seq-write-1m-q8, MB/s</text>" in both
    assert ">fsync-write-4k-t1q1, IOPS</text>" not in both
    assert ">fsync-write-4k-t1q1, IOPS</text>" in FORMATS["svg"].charts(comparison, ["bars"]).decode()


def test_round_times_at_an_axis_do_not_touch_and_are_there_where_times_are_alike():
    for low, high in ((650, 2000), (78, 92), (1, 1e7)):
        axes = Figure(figsize=(4, 3)).add_axes((0.1, 0.1, 0.8, 0.8))
        axes.set_xscale("log")
        round_times(axes.xaxis, low, high, 0.15)
        at = [math.log10(place / low) / math.log10(high / low) for place in axes.get_xticks()]
        assert len(at) >= 1
        assert all(after - before >= 0.149 for before, after in pairwise(at))


def test_devices_of_cells_of_one_workload_have_the_same_time_axis(monkeypatch):
    monkeypatch.setattr(courses, "_MOST_ROWS", 6)
    one = real(1)
    workload = next(each.workload for each in one.cells if len(each.device_at_s) > 3)
    cells = tuple(
        msgspec.structs.replace(each, device_at_s=tuple(at * factor for at in each.device_at_s))
        for each in one.cells
        if each.workload == workload
        for factor in [3 if each.layout == "raid5" else 1]
    )
    panels = panels_of(compare(msgspec.structs.replace(one, cells=cells)), ["heat-map"])
    axes = {tuple(ticks(svg, "x")) for svg in panel_svgs(panels, 1)}
    assert len(panels) > 1
    assert len(axes) == 1


def places(drawing):
    """The corner of each panel of a sheet."""
    moved = [group.get("transform") for group in drawing.findall(f"{SVG}g[@transform]")]
    return [tuple(map(float, re.findall(r"[\d.]+", one))) for one in moved]


def test_the_latency_of_each_workload_stands_beside_its_rate_row_by_row():
    comparison = compare_many(campaign())
    panels = panels_of(comparison, ["bars"])
    assert [panel.title for panel in panels] == [
        "fsync-write-4k-t1q1, IOPS", "fsync-write-4k-t1q1, latency: dot p50, line to p99",
        "seq-write-1m-q8, MB/s", "seq-write-1m-q8, latency: dot p50, line to p99",
    ]  # fmt: skip
    sheet = FORMATS["svg"].charts(comparison, ["bars"])
    _, _, (x1, y1), (x2, y2), (x3, y3), (x4, y4) = places(ET.fromstring(sheet))
    assert (x1, y1, x2, y2) == (x3, y1, x4, y1)
    assert (y3, y3 > y1) == (y4, True)
    rate, latency, *_ = panel_svgs(panels, 1)
    names = re.compile(r' y="([\d.]+)"[^>]*>((?:raid|disk)[^<]*)</text>')
    assert names.findall(rate) == names.findall(latency)
    entry = comparison.rows[0].entries[0]
    assert set(entry.latency) == {"write", "sync"}
    for name, one in entry.latency.items():
        words = f"{latency_text(one.p50_us)} / {latency_text(one.p99_us)}"
        assert f">{name} {words}</text>" in latency
        assert f"{name} p50 {latency_text(one.p50_us)}, p99 {latency_text(one.p99_us)}" in panels[1].about
    assert FORMATS["html"].write(comparison).count(b'<div class="pair"><figure>') == 1, "the other workload is of a sweep"


def test_where_only_the_mean_latency_is_known_it_is_drawn_and_where_none_is_known_nothing_is():
    def with_latency(latency):
        one = cell("a", "w", 100)
        flow = msgspec.structs.replace(one.summary.write, latency=latency)
        return result(msgspec.structs.replace(one, summary=msgspec.structs.replace(one.summary, write=flow)))

    _, mean = panels_of(compare(with_latency(Latency(mean_us=1234.0))), ["bars"])
    assert mean.title == "w, mean latency"
    assert ">mean 1.23 ms</text>" in next(panel_svgs([mean], 1))
    assert len(panels_of(compare(with_latency(Latency())), ["bars"])) == 1


def marks(svg):
    """The texts of the marks of a panel or sheet, with the class of each."""
    boxes = re.findall(r'<rect class="(l\d+|)" [^>]*><title>([^<]*)</title></rect>', svg)
    assert len(boxes) == svg.count("<title>")
    return [(layout, unescape(words)) for layout, words in boxes]


def test_a_mark_tells_layout_workload_value_unit_interval_and_rounds():
    comparison = compare(result(*rounds("a", 1), *rounds("b", 3, factor=0.5), order=("a", "b")))
    (name,), (unit,) = comparison.workloads, comparison.units
    entry = comparison.rows[1].entries[0]
    (first, _), (layout, words) = marks(next(panel_svgs(panels_of(comparison, ["bars"])[:1], 1)))
    assert (first, layout) == ("l0", "l1")
    inside = f"{rate_text(entry.interval_low, unit)} to {rate_text(entry.interval_high, unit)}"
    share = f"▼{entry.of_baseline * 100:.0f} % of a"
    assert words == (f"b, {name}: {rate_text(entry.typical, unit)} {unit}, 95 % interval {inside}, "
                     f"{entry.valid} rounds, {share}")  # fmt: skip


def test_every_kind_of_chart_has_marks_with_texts_and_so_has_the_sheet():
    comparison = compare_many(campaign())
    for kind in CHARTS:
        for svg in panel_svgs(panels_of(comparison, [kind]), 1):
            found = marks(svg)
            assert found
            assert all(words.count(", ") and ": " in words for _, words in found)
    assert len(marks(FORMATS["svg"].charts(comparison, ["bars"]).decode())) == 4 * 12
    rounds_ = "".join(words for svg in panel_svgs(panels_of(comparison, ["rounds"]), 1) for _, words in marks(svg))
    assert "in round 2, not valid" in rounds_


def test_the_name_of_a_layout_in_a_legend_or_at_a_row_can_switch_all_that_is_drawn_of_it():
    comparison = compare_many(campaign())
    for kind in ("bars", "rounds", "passes", "latency", "lines", "roofline"):
        for svg in panel_svgs(panels_of(comparison, [kind]), 1):
            named = set(re.findall(r'<rect data-layout="(\d+)"', svg))
            assert named
            assert named == set(re.findall(r'<g class="l(\d+)">', svg)) == set(re.findall(r'<g class="n(\d+)">', svg))
            assert named == {layout[1:] for layout, _ in marks(svg)}
    for svg in panel_svgs(panels_of(comparison, ["heat-map"]), 1):
        assert "data-layout" not in svg


def test_the_script_of_the_page_finds_what_it_works_on(page):
    text = page.decode()
    script = text[text.rindex("<script>") :]
    for name in ("marks", "names"):
        assert f'<g class="{name}"' in text
        assert f'".{name} rect' in script
    assert "data-layout" in script
    assert '<p class="scripted muted" hidden>' in text
    assert 'tabindex="0"' not in "".join(re.findall(r"<svg[^>]*>", text))  # without it a chart is a picture


def test_more_layouts_than_can_be_told_apart_are_in_panels_of_their_own_and_what_is_not_drawn_is_said():
    names = [f"l{number}" for number in range(25)]
    many = compare(result(*(cell(name, "w", 100) for name in names), order=names))
    assert [panel.title for panel in panels_of(many, ["roofline"])] == [
        f"Throughput by operation size ({number} of 3)" for number in (1, 2, 3)
    ]
    loads = [f"w{number}" for number in range(30)]
    wide = compare(result(*(cell("a", load, 100) for load in loads), loads=loads))
    titles = [panel.title for panel in panels_of(wide, ["bars"])]
    assert titles[23:] == ["w23, IOPS", "Layouts side by side: 6 more are not drawn"]
    assert b"6 more are not drawn" in FORMATS["html"].write(wide)


def test_numbers_without_whole_cells_have_the_charts_that_they_can_have():
    from raidtui.results.extract import extract

    comparison = compare_many([slim(extract(one)) for one in campaign()])
    kinds = {kind for kind, chart in CHARTS.items() if chart.panels(comparison)}
    assert kinds == {"changes", "bars", "rounds", "roofline"}


def test_without_the_charting_library_the_page_says_so_and_a_drawing_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("raidtui.results.formats.page.available", lambda: False)
    assert b"matplotlib, which was not installed" in FORMATS["html"].write(compare_many(two()))
    with pytest.raises(ProblemError) as caught:
        FORMATS["svg"].write(compare_many(two()))
    assert caught.value.problems[0].code == "no-charts"


def test_libraries_are_imported_only_when_something_is_drawn():
    code = ("import sys, raidtui.results.formats as f; import raidtui.results.charts\n"
            "print(sorted({'matplotlib', 'numpy', 'xlsxwriter'} & set(sys.modules)))")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# The workbook.


def sheet(book, number):
    """Values of a sheet by cell."""
    strings = ["".join(node.itertext()) for node in ET.fromstring(book.read("xl/sharedStrings.xml"))]
    found = {}
    for node in ET.fromstring(book.read(f"xl/worksheets/sheet{number}.xml")).iter(f"{MAIN}c"):
        value = node.find(f"{MAIN}v")
        if value is not None and value.text is not None:
            kind = node.get("t")
            found[node.get("r")] = (
                strings[int(value.text)] if kind == "s" else value.text if kind == "str" else float(value.text)
            )
    return found


def formulas(book, number=1):
    nodes = ET.fromstring(book.read(f"xl/worksheets/sheet{number}.xml")).iter(f"{MAIN}c")
    return {node.get("r"): formula.text for node in nodes if (formula := node.find(f"{MAIN}f")) is not None}


@pytest.fixture(scope="module")
def book():
    return zipfile.ZipFile(io.BytesIO(FORMATS["xlsx"].write(compare_many(campaign()))))


def test_typical_rounds_of_the_workbook_are_formulas_over_the_cells_they_name(book):
    values, cells = sheet(book, 1), sheet(book, 4)
    found = {at: text for at, text in formulas(book).items() if "MEDIAN(" in text}
    assert len(found) == 24
    for at, text in found.items():
        first, last = map(int, re.search(r"\$E\$(\d+):\$E\$(\d+)", text).groups())
        numbers = [cells[f"E{row}"] for row in range(first, last + 1) if f"E{row}" in cells]
        assert {cells[f"A{row}"] for row in range(first, last + 1)} == {values[f"A{at[1:]}"]}
        assert values[at] == pytest.approx(geometric_mean(numbers))


def test_percentages_of_the_workbook_are_formulas_over_the_chosen_baseline(book):
    values = sheet(book, 1)
    comparison = compare_many(campaign())
    assert (values["B2"], values["B3"]) == (comparison.baseline, 1)
    shares = {at: text for at, text in formulas(book).items() if "$B$3" in text}
    assert len(shares) == 24
    for at, text in shares.items():
        row, median_at = at[1:], re.match(r'IF\((\w+)=""', text).group(1)
        base = values[f"{median_at[0]}6"]
        if row != "6":
            assert values[at] == pytest.approx(values[median_at] / base)


def test_the_baseline_of_the_workbook_is_told_by_its_very_letters():
    named = zipfile.ZipFile(io.BytesIO(FORMATS["xlsx"].write(compare(result(
        cell("RAID5", "w", 100), cell("raid5", "w", 50), order=("RAID5", "raid5")
    )))))  # fmt: skip
    found = formulas(named)
    assert "EXACT($A$6:$A$7,$B$2)" in found["B3"]
    assert "IF(EXACT($A7,$B$2)," in found["C7"]


def test_latencies_of_the_workbook_are_those_over_all_rounds():
    comparison = compare_many(campaign())
    book = zipfile.ZipFile(io.BytesIO(FORMATS["xlsx"].write(comparison)))
    values = sheet(book, 6)
    assert [values[f"{letter}1"] for letter in "DG"] == ["rounds", "p99_us"]
    first = comparison.rows[0].entries[0]
    (direction, latency), *_ = first.latency.items()
    assert (values["A2"], values["C2"], values["D2"]) == (comparison.rows[0].label, direction, first.valid)
    assert values.get("G2") == (None if latency.p99_us is None else pytest.approx(latency.p99_us))


def test_a_mean_over_more_workloads_than_a_formula_takes_is_a_number():
    loads = [f"w{n}" for n in range(256)]
    cells = [cell(name, load, rate) for name, rate in (("a", 100), ("b", 50)) for load in loads]
    many = zipfile.ZipFile(io.BytesIO(FORMATS["xlsx"].write(compare(result(*cells, loads=loads)))))
    assert not any("GEOMEAN" in formula and "MEDIAN" not in formula for formula in formulas(many).values())
    assert 0.5 in sheet(many, 1).values()


def test_the_workbook_has_a_chart_with_intervals_for_each_workload(book):
    charts = [name for name in book.namelist() if name.startswith("xl/charts/chart") and b"barChart" in book.read(name)]
    assert len(charts) == 2
    assert all(b"<c:errBars>" in book.read(name) for name in charts)


def test_the_same_comparison_gives_the_same_workbook(book):
    again = zipfile.ZipFile(io.BytesIO(FORMATS["xlsx"].write(compare_many(campaign()))))
    assert {name: again.read(name) for name in again.namelist()} == {name: book.read(name) for name in book.namelist()}


FORMULAS = ('=HYPERLINK("http://a","b")', "+1+1", "-2+3", "@SUM(A1)", "=a!B2", "x!A1")


def test_names_never_become_formulas_of_the_workbook(recwarn):
    cells = [cell(name, load, 100 + n) for n, name in enumerate(FORMULAS) for load in FORMULAS]
    bad = result(*cells, cell("a", "x!A1", 5, reasons=list(FORMULAS)), order=FORMULAS, loads=FORMULAS)
    bad.scenario["title"] = "=1+1"
    book = zipfile.ZipFile(io.BytesIO(FORMATS["xlsx"].write(compare(bad, "=a!B2"))))
    sheets = [name for name in book.namelist() if name.startswith("xl/worksheets/sheet")]
    own = re.compile(r"(IFERROR|IF)\(.*\)")
    for number in range(1, len(sheets) + 1):
        assert all(own.fullmatch(text) for text in formulas(book, number).values())
        assert not set(FORMULAS) & set(formulas(book, number).values())
    assert {*FORMULAS} <= {*sheet(book, 1).values()}
    charts = [ET.fromstring(book.read(name)) for name in book.namelist() if name.startswith("xl/charts/chart")]
    references = {node.text for chart in charts for node in chart.iter(f"{CHART}f")}
    assert all(re.fullmatch(r"Comparison!\$[A-Z]+\$\d+(:\$[A-Z]+\$\d+)?", text) for text in references)
    values = sheet(book, 1)
    titles = [next(node.iter(f"{CHART}title")).find(f".//{CHART}f").text for node in charts]
    assert [values[title.removeprefix("Comparison!").replace("$", "")] for title in titles] == [
        f"{name}, IOPS" for name in FORMULAS
    ]
    assert not recwarn.list


def test_verdicts_reach_every_format():
    comparison = compare(result(*rounds("a", 1), *rounds("b", 3), *rounds("c", 2, factor=0.9), order=("a", "b", "c")))
    book = zipfile.ZipFile(io.BytesIO(FORMATS["xlsx"].write(comparison)))
    told = [str(value) for at, value in sheet(book, 1).items() if at[0] == "H" and int(at[1:]) > 5]
    found = [(row.entries[0].verdict, share_interval_text(row.entries[0])) for row in comparison.rows[1:]]
    assert sorted(filter(None, told)) == sorted(" ".join(one) for one in found)
    assert {verdict for verdict, _ in found} == {"different", "not told apart"}
    for name in ("table", "md", "html"):
        assert "~" in FORMATS[name].write(comparison).decode()
