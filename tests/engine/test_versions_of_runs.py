"""A run names the raidtui that made it, so that its journal can be read by that version."""

from __future__ import annotations

from pathlib import Path

from raidtui.base.paths import PACKAGE
from raidtui.engine.run import runs
from raidtui.engine.run.recover import _by_its_own


def test_a_run_of_another_version_says_how_that_one_recovers_it(tmp_path: Path) -> None:
    run, other = tmp_path / "20260101-000000-abcdefgh", tmp_path / "0123456789abcdef"
    run.mkdir()
    assert _by_its_own(run) == "", "made before runs named their version"
    (run / runs.CODE_NAME).write_text(f"{other}\n")
    assert _by_its_own(run) == "", "that version is gone"
    (other / "raidtui").mkdir(parents=True)
    (other / "raidtui/__main__.py").touch()
    assert f"-I {other}/raidtui/__main__.py recover {run.name}" in _by_its_own(run)
    (run / runs.CODE_NAME).write_text(f"{PACKAGE.parent}\n")
    assert _by_its_own(run) == "", "it was this one"
