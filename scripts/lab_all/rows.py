"""The lab's tests, the long ones too: one row for each file of them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from report import COLUMNS, Report, Row, Wish

from raidtui.base import proc

LONGEST_S = 6 * 3600.0
TAKE_DOWN_S = 60.0


def row_files(root: Path) -> Iterator[Path]:
    """Every file with tests that need the lab."""
    for path in sorted((root / "tests").rglob("test_*.py")):
        if "mark.lab" in path.read_text():
            yield path


def run_tests(root: Path, path: Path, wish: Wish, report: Report, at_once: int) -> None:
    """Run one file of tests beside others; what it says is in the report's folder while it runs, a line a test."""
    began = time.monotonic()
    argv = [sys.executable, "-m", "pytest", "-m", "lab", "-v", str(path)]
    environ = {**os.environ, "RAIDTUI_LABS_AT_ONCE": str(at_once), "PYTHONUNBUFFERED": "1"}
    said = report.folder / f"{path.stem}.txt"
    print(f"running {path.stem}: {said}", flush=True)
    with said.open("wb") as out:
        child = proc.spawn(argv, stdout=out, stderr=out, env=environ, cwd=root, new_session=True)
        try:
            code = child.wait(LONGEST_S)
        finally:
            if child.poll() is None:
                # As Ctrl-C, but once: it takes its labs down.
                child.signal(signal.SIGINT)
                child.wait(TAKE_DOWN_S)
            child.end()
    failed = [line for line in said.read_text(errors="replace").splitlines() if line.startswith(("FAILED", "ERROR"))]
    if code != 0 and not failed:
        failed = [f"pytest did not end within {LONGEST_S / 3600:g} h" if code is None else f"pytest ended with {code}"]
    passed = dict.fromkeys(COLUMNS, not failed)
    report.add(wish, Row(path.stem, "", passed, time.monotonic() - began, tuple(failed)))
