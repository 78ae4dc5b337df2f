"""Exports are new files, written completely or not at all."""

import errno
import os

import pytest

from raidtui.front import library
from raidtui.model.problem import ProblemError
from raidtui.results.comparison import Comparison
from raidtui.results.formats import FORMATS

NOTHING = Comparison((), (), (), "")


def test_an_export_that_fails_leaves_no_part_of_a_file(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = tmp_path / "comparison.csv"
    with monkeypatch.context() as patch:
        patch.setattr(library.os, "fsync", full)
        with pytest.raises(ProblemError) as caught:
            library.export(NOTHING, FORMATS["csv"], str(target))
    assert caught.value.problems[0].code == "output"
    assert not target.exists()
    library.export(NOTHING, FORMATS["csv"], str(target))
    assert target.read_bytes().startswith(b"layout,workload")


def test_an_existing_file_is_kept(tmp_path):
    target = tmp_path / "comparison.csv"
    target.write_text("mine")
    with pytest.raises(ProblemError):
        library.export(NOTHING, FORMATS["csv"], str(target))
    assert target.read_text() == "mine"
