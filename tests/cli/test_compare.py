"""`raidtui compare` and `raidtui open`: files, runs, formats, and what is refused."""

import json

import made
import pytest

from raidtui.cli.main import main
from raidtui.model.convert import encode
from raidtui.model.measure import Direction, Latency, Summary
from raidtui.model.result import Cell


@pytest.fixture
def files(tmp_path):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_bytes(encode(made.result()))
    two.write_bytes(encode(made.result(made.cell("raid1", "sync-4k", 3000.0))))
    return str(one), str(two)


def timed(layout, bins):
    """Return a valid cell whose writes took so many ns each."""
    ordered = sorted(ns for ns, count in bins.items() for _ in range(count))
    p99 = ordered[int(0.99 * (len(ordered) - 1))] / 1000
    write = Direction(1000, 4096000, 100.0, 409600.0, 10.0, Latency(1.0, 1.0, p99, None, ordered[-1] / 1000))
    report = {"jobs": [{"write": {"clat_ns": {"bins": {str(ns): count for ns, count in bins.items()}}}}]}
    return Cell(f"{layout}/w#1", layout, "w", 1, True, (), summary=Summary(write=write), report=report)


def test_a_table_of_two_results(engine, files):
    said = engine.run("compare", *files)
    assert (said.code, said.err, said.requests) == (0, "", [])
    answer, _, shown = said.out.partition("\n\n")
    assert answer.startswith("raid1:1 has the highest number for sync-4k: 105 % above raid1:2\n")
    assert [line.split()[0] for line in shown.splitlines()[:6]] == [
        "LAYOUT",
        "disk",
        "disk",
        "raid1:1",
        "raid5:1",
        "raid1:2",
    ]


def test_too_few_rounds_for_a_condition_are_said(engine, files, tmp_path):
    new = tmp_path / "new.json"
    new.write_bytes(encode(made.result(made.cell("raid1", "sync-4k", 3000.0), run="20260201-120000-bbbb1234")))
    said = engine.run("compare", files[0], str(new), "--fail-if", "worse > 5 %")
    assert "can never fail --fail-if: too few rounds; four of each are enough" in said.err
    assert "raid1 under sync-4k is worse" not in said.err


@pytest.mark.parametrize("how", ["table", "md", "csv", "html", "svg", "json"])
def test_another_metric_is_compared_in_every_format(engine, tmp_path, how):
    file = tmp_path / "one.json"
    cells = [timed("raid1", {1000: 99, 50_000: 9}), timed("raid5", {1000: 99, 200_000: 9})]
    file.write_bytes(encode(made.result(*cells)))
    said = engine.run("compare", str(file), "--metric", "p99", "--format", how)
    assert (said.code, said.err) == (0, "")
    assert engine.run("compare", str(file), "--metric", "p99", "-o", str(tmp_path / f"{how}.xlsx")).code == 0
    if how == "table":
        assert "less is better" in said.out
        assert "50" in said.out
    if how == "json":
        document = json.loads(said.out)
        assert document["units"] == ["p99"]
        assert [round(row["entries"][0]["typical"]) for row in document["rows"]] == [50, 200]


def test_a_metric_that_no_cell_has_is_refused_with_those_that_are_known(engine, files):
    refused = engine.run("compare", files[0], "--metric", "cores")
    assert refused.code == 2
    assert "no-metric" in refused.err
    assert "Known here: rate" in refused.err


def test_each_format_goes_to_stdout(engine, files):
    assert engine.run("compare", files[0], "--format", "md").out.splitlines()[2].startswith("| Layout |")
    assert engine.run("compare", files[0], "--format", "csv").out.startswith("layout,workload,")
    document = json.loads(engine.run("compare", files[0], "--json").out)
    assert document["baseline"] == "disk S64GNE0R100001"


def test_a_files_name_says_its_format_and_nothing_is_replaced(engine, files, tmp_path):
    target = tmp_path / "out.md"
    said = engine.run("compare", *files, "-o", str(target))
    assert (said.code, said.out) == (0, "")
    kept = target.read_bytes()
    assert b"\n\n| Layout |" in kept
    assert engine.run("compare", *files, "-o", str(target)).code == 2
    assert target.read_bytes() == kept


def test_a_dash_is_stdout(engine, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert engine.run("compare", files[0], "-o", "-").out == engine.run("compare", files[0]).out
    assert engine.run("compare", files[0], "-o", "-", "--format", "md").out.splitlines()[2].startswith("| Layout |")
    assert not (tmp_path / "-").exists()


def test_of_many_layouts_those_are_named_that_were_probably_meant(engine, tmp_path):
    file = tmp_path / "many.json"
    file.write_bytes(encode(made.result(*(made.cell(f"l{n}", "sync-4k", 1.0) for n in range(30)))))
    refused = engine.run("compare", str(file), "--baseline", "L29")
    assert refused.code == 2
    assert "Known: l29, " in refused.err
    assert " more." in refused.err


def test_a_fact_that_nothing_has_cannot_be_meant(engine, files):
    refused = engine.run("compare", *files, "--meant", "kernle")
    assert refused.code == 2
    assert "--meant kernle" in refused.err
    assert "kernel" in refused.err.partition("Known:")[2]
    assert engine.run("compare", *files, "--meant", "kernel").code == 0


def test_a_name_that_ends_like_no_format_is_refused_and_nothing_is_written(engine, files, tmp_path):
    target = tmp_path / "out.pdf"
    refused = engine.run("compare", *files, "-o", str(target))
    assert refused.code == 2
    assert "no format has the file extension .pdf" in refused.err
    assert ".html" in refused.err
    assert not target.exists()
    assert engine.run("compare", *files, "-o", str(tmp_path / "OUT.MD")).code == 0
    assert (tmp_path / "OUT.MD").read_bytes().startswith(b"- raid1:1 has the highest number")


def test_the_baseline_is_a_layout_by_name(engine, files):
    assert "% of raid1:2" in engine.run("compare", *files, "--baseline", "raid1:2").out
    said = engine.run("compare", *files, "--baseline", "raid9")
    assert said.code == 2
    assert "Known: disk S64GNE0R100001" in said.err


def test_a_run_is_fetched_from_its_server(engine, files):
    engine.answers(result={"result": made.result()})
    said = engine.run("compare", made.RUN, files[1])
    assert said.code == 0
    assert said.requests == [{"method": "result", "params": {"run": made.RUN}}]


def test_a_file_that_is_no_result_is_refused_by_name(engine, tmp_path):
    (tmp_path / "x.json").write_text('{"schema": "raidtui.scenario/1"}')
    said = engine.run("compare", "x.json")
    assert said.code == 2
    assert "x.json" in said.err


def test_open_needs_the_screens(engine, files):
    said = engine.run("open", files[0])
    assert (said.code, said.out) == (2, "")
    assert "[no-terminal]" in said.err


def test_open_checks_the_file_and_hands_it_to_the_screens(files):
    given = []
    screens = lambda args: given.append((str(args.open_file), args.open_run)) or 0  # noqa: E731
    assert main(["open", files[0]], screens) == 0
    assert main(["--on", "stor1", "open", made.RUN], screens) == 0
    assert given == [(files[0], ""), ("None", made.RUN)]


def test_open_of_a_broken_file_never_reaches_the_screens(tmp_path):
    (tmp_path / "x.json").write_text("{")
    assert main(["open", "x.json"], lambda args: pytest.fail("the screens were opened")) == 2


@pytest.mark.parametrize(
    ("ending", "begins"), [("html", b"<!DOCTYPE html>"), ("xlsx", b"PK"), ("svg", b"<?xml"), ("png", b"\x89PNG")]
)
def test_a_snapshot_is_written_by_its_files_name(engine, files, tmp_path, ending, begins):
    target = tmp_path / f"out.{ending}"
    assert engine.run("compare", *files, "-o", str(target)).code == 0
    assert target.read_bytes().startswith(begins)


def test_one_kind_of_chart_alone(engine, files, tmp_path):
    both, bars = tmp_path / "both.svg", tmp_path / "bars.svg"
    assert engine.run("compare", *files, "-o", str(both)).code == 0
    assert engine.run("compare", *files, "--chart", "bars", "-o", str(bars)).code == 0
    assert bars.stat().st_size < both.stat().st_size
    said = engine.run("compare", *files, "--chart", "bars")
    assert (said.code, "no-such-chart" in said.err) == (2, True)


def test_kept_results_are_found_by_words_and_compared(engine, files, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept = tmp_path / "state" / "raidtui" / "results"
    kept.mkdir(parents=True, mode=0o700)
    for folder in (kept, kept.parent):
        folder.chmod(0o700)
    (kept / "one.result.json").write_bytes(encode(made.result()))
    (kept / "broken.result.json").write_text("{")
    listed = engine.run("results", "tiny")
    assert (listed.code, made.RUN in listed.out, "broken" in listed.out) == (0, True, False)
    document = json.loads(engine.run("results", "--json").out)
    assert {one["run"] for one in document["results"]} == {made.RUN, ""}
    assert engine.run("compare", "--find", "tiny stor1").out == engine.run("compare", str(kept / "one.result.json")).out
    assert "% of raid1:1" in engine.run("compare", files[1], "--find", "tiny", "--baseline", "raid1:1").out
    said = engine.run("compare", "--find", "no such words")
    assert (said.code, "no-kept-result" in said.err) == (2, True)


def test_a_folder_of_results_is_listed_without_keeping_anything_in_it(engine, files, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = sorted(tmp_path.iterdir())
    assert made.RUN in engine.run("results", "--in", str(tmp_path)).out
    assert [path for path in sorted(tmp_path.iterdir()) if path.name not in ("cache", "state")] == before
    assert engine.run("results", "--in", files[0]).code == 2


def test_results_and_compare_find_by_the_same_options(engine, files, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for number, run in enumerate((made.RUN, "20260131-130000-abcd1235")):
        (folder / f"{number}.result.json").write_bytes(encode(made.result(run=run)))
    alone = engine.run("compare", str(folder / "1.result.json"), str(folder / "0.result.json"), "--json").out
    for options in (["--in", "elsewhere"], ["--in", "elsewhere", "--all"], ["--in", "elsewhere", "--find", "tiny"]):
        listed = json.loads(engine.run("results", *options, "--json").out)["results"]
        assert {one["run"] for one in listed} == {"20260131-130000-abcd1235", made.RUN}
        found = json.loads(engine.run("compare", *options, "--json").out)
        assert {source["run"] for source in found["sources"]} == {one["run"] for one in listed}
        assert len(found["cells"]) == len(json.loads(alone)["cells"])
    said = engine.run("results", "--in", "elsewhere", "--find", "nothing")
    assert said.out == "No result has these words.\n"
    said = engine.run("compare", "--in", "elsewhere", "--find", "nothing")
    assert (said.code, "no-kept-result" in said.err) == (2, True)
    assert engine.run("compare", "--in", files[0]).code == 2


def test_of_too_many_found_results_the_newest_are_compared_unless_all_are_asked_for(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("raidtui.cli.results.MOST_COMPARED", 40)
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(42):
        (folder / f"{number}.result.json").write_bytes(encode(made.result(run=f"20260131-1200{number:02}-abcd1234")))
    said = engine.run("compare", "--in", "many", "--json")
    assert said.err == "42 results were found; the newest 40 are compared: --all compares all\n"
    assert len(json.loads(said.out)["sources"]) == 40
    assert len(json.loads(engine.run("compare", "--in", "many", "--all", "--json").out)["sources"]) == 42


def test_nothing_to_compare_is_said(engine):
    said = engine.run("compare")
    assert (said.code, "nothing-given" in said.err) == (2, True)


@pytest.mark.parametrize("name", ["", "sub/", "x" * 300 + ".csv", "file.json/x.csv", "none/x.csv"])
def test_a_name_that_nothing_can_be_written_to_is_refused(engine, files, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.json").write_text("{}")
    assert main(["compare", files[0], "-o", name]) == 2
    assert "[output]" in capsys.readouterr().err


def test_a_comparison_has_every_note_that_import_prints(engine, files, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("layout,test,zone,IOPS,IOPS std\nraid5,4k read,a,1,2\nraid5,4k read,a,3,4\nraid6,4k read,b,x5,4\n")
    notes = engine.run("import", str(table)).err.splitlines()
    assert len(notes) == 4
    for format in ("table", "md", "html", "json"):
        said = "".join(engine.run("compare", files[0], str(table), "--format", format).out.split())
        for note in notes:
            words = "".join(note.split())
            assert words in said.replace("&#x27;", "'").replace("&#39;", "'"), (format, note)


def test_a_published_table_names_its_article_in_every_format(engine, files):
    for format in ("table", "md", "html", "json"):
        printed = engine.run("compare", files[0], "habr-753322", "--format", format).out
        said = "".join(printed.split()).replace("&#x27;", "'")
        assert "publishedas'SoftwareNVMeRAIDsofmdadm,LVM,ZFSandLVMwithVDO,locally'" in said
        assert "https://habr.com/ru/articles/753322/" in said
