"""The lab's tests, the long ones too: one row for each file of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from report import COLUMNS, Row

from raidtui.base import proc

LONGEST_S = 6 * 3600.0


def row_files(root: Path) -> Iterator[Path]:
    """Every file with tests that need the lab."""
    for path in sorted((root / "tests").rglob("test_*.py")):
        if "mark.lab" in path.read_text():
            yield path


def run_rows(root: Path, path: Path, folder: Path) -> Row:
    """Run one file of tests; what it said is kept in `folder`."""
    began = time.monotonic()
    argv = [sys.executable, "-m", "pytest", "-m", "lab", "-q", str(path)]
    done = proc.run(argv, timeout_s=LONGEST_S, env=os.environ, cwd=root, check=False, max_output_bytes=1 << 30)
    (folder / f"{path.stem}.txt").write_bytes(done.out + done.err)
    failed = [line for line in done.text.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.code and not failed:
        failed = [f"pytest ended with {done.code}"]
    return Row(path.stem, "", dict.fromkeys(COLUMNS, not done.code), time.monotonic() - began, tuple(failed))
