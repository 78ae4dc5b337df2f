"""Kept scenarios and unsaved drafts on this machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

from raidtui.front.kept import (
    UnsavedDraft,
    bring_back_kept,
    delete_kept,
    discard,
    keep,
    kept_path,
    kept_scenarios,
    left_drafts,
    read_kept,
)
from raidtui.model.problem import ProblemError

DOCUMENT = {"schema": "raidtui.scenario/1", "name": "one"}


@pytest.fixture(autouse=True)
def _state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_a_kept_scenario_is_found_with_its_disks():
    keep(kept_path("a name/../x"), DOCUMENT, {"data": ("S1", "S2")})
    (found,) = kept_scenarios()
    assert found.name == "a-name-..-x"
    assert found.scenario.bind == {"data": ("S1", "S2")}
    assert read_kept(b'{"schema": "raidtui.scenario/1"}') is None


def test_a_deleted_scenario_comes_back_as_it_was_but_replaces_none():
    keep(kept_path("one"), DOCUMENT, {"data": ("S1",)})
    delete_kept(kept_path("one"))
    assert not list(kept_scenarios())
    keep(kept_path("one"), {**DOCUMENT, "name": "new"}, {})
    with pytest.raises(ProblemError, match="of this name again"):
        bring_back_kept()
    kept_path("one").unlink()
    bring_back_kept()
    assert [one.scenario.document for one in kept_scenarios()] == [DOCUMENT]
    with pytest.raises(ProblemError, match="no scenario of the library was deleted"):
        bring_back_kept()
    with pytest.raises(ProblemError, match="not deleted"):
        delete_kept(kept_path("gone"))


def test_a_draft_is_left_only_when_its_process_ended():
    mine = UnsavedDraft()
    mine.keep(DOCUMENT, {})
    assert left_drafts() == []
    words = "from raidtui.front.kept import UnsavedDraft; UnsavedDraft().keep({'name': 'two'}, {})"
    subprocess.run([sys.executable, "-c", words], check=True)
    (left,) = left_drafts()
    assert left.scenario.document == {"name": "two"}
    discard(left.path)
    mine.forget()
    assert left_drafts() == []
    assert not list(left.path.parent.iterdir())
