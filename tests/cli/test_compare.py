"""`raidtui compare` and `raidtui open`: files, runs, formats, and what is refused."""

import json

import made
import pytest

from raidtui.cli.main import main
from raidtui.model.convert import encode


@pytest.fixture
def files(tmp_path):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_bytes(encode(made.result()))
    two.write_bytes(encode(made.result(made.cell("raid1", "sync-4k", 3000.0))))
    return str(one), str(two)


def test_a_table_of_two_results(engine, files):
    said = engine.run("compare", *files)
    assert (said.code, said.err, said.requests) == (0, "", [])
    assert [line.split()[0] for line in said.out.splitlines()[:6]] == [
        "LAYOUT",
        "disk",
        "disk",
        "raid1:1",
        "raid5:1",
        "raid1:2",
    ]


def test_each_format_goes_to_stdout(engine, files):
    assert engine.run("compare", files[0], "--format", "md").out.startswith("| Layout |")
    assert engine.run("compare", files[0], "--format", "csv").out.startswith("layout,workload,")
    document = json.loads(engine.run("compare", files[0], "--json").out)
    assert document["baseline"] == "disk S64GNE0R100001"


def test_a_files_name_says_its_format_and_nothing_is_replaced(engine, files, tmp_path):
    target = tmp_path / "out.md"
    said = engine.run("compare", *files, "-o", str(target))
    assert (said.code, said.out) == (0, "")
    kept = target.read_bytes()
    assert kept.startswith(b"| Layout |")
    assert engine.run("compare", *files, "-o", str(target)).code == 2
    assert target.read_bytes() == kept


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
