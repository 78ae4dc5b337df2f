"""Names, notes, tags, pins and deletions of kept results, by the functions and by the command line."""

from __future__ import annotations

import json

import pytest

from raidtui.cli.main import main
from raidtui.front.about import About, abouts, bring_back, delete, deleted, describe
from raidtui.front.files import results_folder
from raidtui.model.problem import ProblemError


@pytest.fixture(autouse=True)
def _folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _kept(name):
    path = results_folder() / f"{name}.result.json"
    path.write_text("{}")
    return path


def test_what_is_said_about_a_result_is_kept_and_an_empty_saying_is_removed():
    path = _kept("one")
    describe(path, About(name="old cables", tags=("cables",), pinned=True))
    assert abouts() == {path.name: About("old cables", "", ("cables",), True)}
    describe(path, About())
    assert abouts() == {}


def test_a_deleted_result_comes_back(tmp_path):
    path = _kept("one")
    delete(path)
    assert not path.exists()
    assert [one.name for one in deleted()] == [path.name]
    assert bring_back("one") == path
    assert path.exists()
    with pytest.raises(ProblemError):
        bring_back("one")
    with pytest.raises(ProblemError):
        delete(tmp_path / "elsewhere.json")


def test_a_result_that_is_being_written_is_not_deleted():
    path = _kept("one")
    (path.parent / f".{path.name}.123.tmp").write_text("{")
    with pytest.raises(ProblemError, match="writing"):
        delete(path)
    assert path.exists()


def test_a_result_with_the_name_of_a_deleted_one_is_not_replaced():
    delete(_kept("one"))
    _kept("one")
    with pytest.raises(ProblemError):
        bring_back("one")


def test_by_command_line_one_result_is_meant(capsys):
    _kept("one")
    _kept("two")
    assert main(["results", "--note", "x"]) == 2
    assert main(["results", "one", "--note", "cold room", "--tag", "a", "--tag", "b", "--untag", "b", "--pin"]) == 0
    capsys.readouterr()
    assert main(["results", "cold", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["results"]
    assert (found["note"], found["tags"], found["pinned"]) == ("cold room", ["a"], True)
    assert main(["results", "cold", "--delete"]) == 0
    assert main(["results", "--deleted"]) == 0
    assert capsys.readouterr().out.endswith("one.result.json\n")
    assert main(["results", "--restore", "one"]) == 0
    assert len(list(results_folder().glob("*.json"))) == 2
