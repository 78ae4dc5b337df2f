"""The lab's tests, the long ones too: one row for each file of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from report import COLUMNS, Report, Row, Wish

from raidtui.base import proc

LONGEST_S = 6 * 3600.0


def row_files(root: Path) -> Iterator[Path]:
    """Every file with tests that need the lab."""
    for path in sorted((root / "tests").rglob("test_*.py")):
        if "mark.lab" in path.read_text():
            yield path


def run_tests(root: Path, path: Path, wish: Wish, report: Report, at_once: int) -> None:
    """Run one file of tests beside others; what it said is kept in the report's folder."""
    began = time.monotonic()
    argv = [sys.executable, "-m", "pytest", "-m", "lab", "-q", str(path)]
    environ = {**os.environ, "RAIDTUI_LABS_AT_ONCE": str(at_once)}
    done = proc.run(argv, timeout_s=LONGEST_S, env=environ, cwd=root, check=False, max_output_bytes=1 << 30)
    (report.folder / f"{path.stem}.txt").write_bytes(done.out + done.err)
    failed = [line for line in done.text.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.code and not failed:
        failed = [f"pytest ended with {done.code}"]
    passed = dict.fromkeys(COLUMNS, not done.code)
    report.add(wish, Row(path.stem, "", passed, time.monotonic() - began, tuple(failed)))
