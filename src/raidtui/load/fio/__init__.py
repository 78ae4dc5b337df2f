"""The workload engine `fio`: typed options, rules, the command line, its process and reports."""

from __future__ import annotations

from typing import Final

from raidtui.load.fio.engine import FioEngine

ENGINE: Final = FioEngine()
