"""The library: every file is read once, found by words, and compared from the index as from the file."""

import gzip
import os
import sqlite3
from pathlib import Path

import msgspec
import pytest
from test_comparing import cell, result, slim
from test_formats import real

from raidtui.model.convert import encode
from raidtui.results import library as index
from raidtui.results.compare import compare, compare_many
from raidtui.results.extract import extract
from raidtui.results.library import KEPT, Library, Unfolding, lean_extract, packed

REAL = Path(__file__).parent.parent / "data" / "results"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "results"
    made.mkdir()
    return made


@pytest.fixture
def open_library(folder, tmp_path):
    opened = []

    def open_():
        opened.append(Library(folder, tmp_path / "index.sqlite"))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


def put(folder, name, **changes):
    path = folder / f"{name}.result.json"
    one = msgspec.structs.replace(result(cell("a", "w", 100), cell("b", "w", 50, reasons=["lost"])), **changes)
    path.write_bytes(encode(one))
    return path


@pytest.mark.parametrize("number", [1, 2])
def test_what_is_read_for_the_index_is_what_the_whole_file_says(number):
    data = gzip.decompress((REAL / f"quick-{number}.result.json.gz").read_bytes())
    assert lean_extract(data)[0] == slim(extract(real(number)))


def test_a_file_is_read_once_for_as_long_as_it_stays_as_it_is(folder, open_library):
    put(folder, "one"), put(folder, "two")
    assert open_library().refresh() == (2, 2, 0)
    assert open_library().refresh() == (2, 0, 0)
    path = put(folder, "two", run="another-run")
    os.utime(path, ns=(1, 1))
    (folder / "one.result.json").unlink()
    library = open_library()
    assert library.refresh() == (1, 1, 1)
    assert [known.run for known in library.search()] == ["another-run"]


def test_every_word_must_be_found_in_any_case_and_the_newest_comes_first(folder, open_library):
    put(folder, "one", run="r1", started="2026-01-01T00:00:00Z")
    put(folder, "two", run="r2", started="2026-02-01T00:00:00Z", rehearsal=True)
    library = open_library()
    library.refresh()
    assert [known.run for known in library.search()] == ["r2", "r1"]
    assert [known.run for known in library.search("REHEARSAL 6.12")] == ["r2"]
    assert [known.run for known in library.search("2026-01")] == ["r1"]
    assert library.search("nothing-like-it") == []
    assert [known.run for known in library.search("", limit=1)] == ["r2"]
    assert library.search("%' OR 1=1 --") == []


def test_what_is_known_of_a_file(folder, open_library):
    path = put(folder, "one", exit=5)
    library = open_library()
    library.refresh()
    (known,) = library.search()
    assert (known.path, known.host, known.cells, known.valid, known.exit, known.problem) == (path, "h", 2, 1, 5, "")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[" * 100_000, b'{"schema":"raidtui.scenario/1"}', b"\xff\xfe", b'{"schema":"x\x1b[31m"}']
)
def test_a_file_that_is_no_result_is_kept_with_its_reason(folder, open_library, data):
    (folder / "bad.json").write_bytes(data)
    put(folder, "good")
    library = open_library()
    library.refresh()
    bad = next(known for known in library.search("bad"))
    assert bad.problem
    assert "\x1b" not in bad.problem
    assert len(list(library.extracts([known.path for known in library.search()]))) == 1


def test_pipes_hidden_files_and_names_that_are_no_text_are_passed_over(folder, open_library):
    os.mkfifo(folder / "pipe.json")
    (folder / ".half.json").write_text("{")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.json")).write_text("{")
    assert open_library().refresh().files == 0


def test_a_folder_that_is_not_there_is_an_empty_library(tmp_path):
    library = Library(tmp_path / "none", tmp_path / "index.sqlite")
    assert library.refresh() == (0, 0, 0)
    library.close()


def test_a_comparison_from_the_index_has_the_numbers_of_one_from_the_files(folder, open_library):
    results = [real(1), real(2)]
    for number, one in enumerate(results):
        (folder / f"{number}.result.json").write_bytes(encode(one))
    library = open_library()
    library.refresh()
    paths = sorted(known.path for known in library.search())
    found, whole = compare_many(library.extracts(paths)), compare_many(results)
    assert [row.label for row in found.rows] == [row.label for row in whole.rows]
    assert [[e and (e.median, e.of_baseline, e.verdict, e.latency) for e in row.entries] for row in found.rows] == [
        [e and (e.median, e.of_baseline, e.verdict, e.latency) for e in row.entries] for row in whole.rows
    ]
    assert found.notes == ("of results 1-2 the index's numbers are compared: no percentiles over all rounds, "
                           "no charts over time; fewer results are read whole", *whole.notes)  # fmt: skip


def test_an_index_that_is_broken_or_of_another_version_is_made_anew(folder, open_library, tmp_path):
    put(folder, "one")
    (tmp_path / "index.sqlite").write_bytes(b"this is no database, but long enough to be read as one" * 100)
    assert open_library().refresh() == (1, 1, 0)
    with sqlite3.connect(tmp_path / "index.sqlite") as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    assert open_library().refresh() == (1, 1, 0)


def test_an_index_that_is_broken_inside_is_made_anew(folder, open_library, tmp_path):
    for number in range(60):
        put(folder, f"r{number}")
    library = open_library()
    library.refresh()
    library.close()
    index = tmp_path / "index.sqlite"
    whole = index.read_bytes()
    index.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    again = open_library()
    assert again.refresh().files == 60
    assert len(again.search("h")) == 60


@pytest.mark.parametrize("number", [1, 2])
def test_what_was_packed_is_unpacked_as_it_was(number):
    found = slim(extract(real(number)))
    data, shared = packed(found)
    assert Unfolding().extract(KEPT.decode(data), shared) == found


def test_what_results_have_in_common_is_kept_and_read_once(folder, open_library, tmp_path):
    for number in range(30):
        put(folder, f"r{number}", run=f"run-{number}")
    library = open_library()
    library.refresh()
    with sqlite3.connect(tmp_path / "index.sqlite") as db:
        assert db.execute("SELECT count(*) FROM shared").fetchone()[0] < 10
    db.close()
    one, *others = library.extracts([known.path for known in library.search()])
    assert len(others) == 29
    assert all(other.facts is one.facts and other.layouts is one.layouts for other in others)
    assert all(other.points[0].command is one.points[0].command for other in others)


def test_what_no_result_shares_any_more_is_forgotten(folder, open_library, tmp_path, monkeypatch):
    monkeypatch.setattr(index, "_SWEEP_FROM", 10)
    for number in range(20):
        put(folder, f"r{number}", scenario={"name": f"s{number}", "layouts": {"a": {"md": {"level": f"raid{number}"}}}})
    open_library().refresh()
    for number in range(1, 20):
        (folder / f"r{number}.result.json").unlink()
    library = open_library()
    assert library.refresh() == (1, 0, 19)
    with sqlite3.connect(tmp_path / "index.sqlite") as db:
        assert db.execute("SELECT count(*) FROM shared").fetchone()[0] < 10
    db.close()
    assert [one.scenario for one in library.extracts([folder / "r0.result.json"])] == ["s0"]


def test_an_index_that_lacks_what_results_share_says_so(folder, open_library, tmp_path):
    path = put(folder, "one")
    library = open_library()
    library.refresh()
    with sqlite3.connect(tmp_path / "index.sqlite") as db:
        db.execute("DELETE FROM shared")
    db.close()
    with pytest.raises(sqlite3.DatabaseError, match="not whole"):
        library.extracts([path])


def test_an_index_in_memory_needs_no_file(folder):
    put(folder, "one")
    library = Library(folder, None)
    assert library.refresh() == (1, 1, 0)
    assert len(library.search()) == 1
    library.close()


def test_a_thousand_results_are_compared_without_reading_a_file(folder, open_library):
    one = extract(result(cell("a", "w", 100), cell("b", "w", 50)))
    many = [msgspec.structs.replace(one, run=f"r{n}") for n in range(1000)]
    found = compare_many(many)
    assert len(found.rows) == 2000
    assert found.rows[0].label == "a:1"
    assert (
        found.rows[1].entries[0].of_baseline
        == compare(result(cell("a", "w", 100), cell("b", "w", 50))).rows[1].entries[0].of_baseline
    )
