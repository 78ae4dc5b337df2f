"""Entry of the process that executes a plan."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from raidtui.engine.run.runner import Runner


def run_folder(folder: str) -> int:
    """Execute the plan in this run's folder and return the exit code."""
    os.umask(0o077)
    return run(Runner(Path(folder)))


def run(runner: Runner) -> int:
    """Execute a runner's plan in this process. SIGTERM and SIGINT cancel it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: runner.cancel.set())
    return int(runner.run())
