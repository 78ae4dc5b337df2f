#!/usr/bin/env python3
"""From exec to the first frame: raidtui ÷ an empty Textual application, in CPU and by the clock.

    .venv/bin/python benchmarks/tui_first_frame.py [--pairs 11]

Each runs on a terminal of 200 × 60; a pair is one run of each in alternating order, after one run of each that is not
counted. raidtui is the command without a word, whose engine answers from a file; its first frame is the whole screen Disks:
head, `connecting …`, details, the keys at the foot. CPU is that of the process up to the frame; the engine's is not in it,
as it does not run on the same machine as a rule. The ratio is the median of the pairs'; that of CPU has the budget, as
the clock also measures what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

BUDGET = 1.3
PATIENCE_S = 60.0
KINDS = ("raidtui", "empty")
CHILD = Path(__file__).resolve().with_name("first_frame_child.py")


def first_frame(kind: str, folder: Path) -> tuple[float, float]:
    """CPU and wall-clock seconds from exec to the first frame."""
    from tui_pty import on_terminal

    report = folder / "report"
    report.unlink(missing_ok=True)
    environ = {"FIRST_FRAME_REPORT": str(report), "FAKE_ENGINE": str(folder / "answers.json")}
    environ |= {name: str(folder) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    # As it is installed: what is imported was compiled before, by the run that is not counted.
    environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    began = time.monotonic()
    with on_terminal([sys.executable, str(CHILD), kind], environ) as tool:
        while not report.exists():
            if time.monotonic() - began > PATIENCE_S or tool.process.poll() is not None:
                raise SystemExit(f"{kind} drew no frame: {tool.everything[-2000:].decode(errors='replace')}")
            time.sleep(0.02)
        cpu_s, at_s = map(float, report.read_text().split())
        return cpu_s, at_s - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=11)
    options = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    os.environ.pop("NO_COLOR", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "answers.json").write_text(json.dumps({"watch-disks": {"events": [], "until": "never", "then": []}}))
        for pair in range(options.pairs + 1):
            for kind in KINDS if pair % 2 == 0 else reversed(KINDS):
                took = first_frame(kind, folder)
                if pair:
                    found[kind].append(took)
    return 0 if judged(found, options.pairs) else 1


def judged(found: dict[str, list[tuple[float, float]]], pairs: int) -> bool:
    """Print both medians and the median ratio; whether CPU is within its budget."""
    from tui_pty import judge

    print(f"first frame; medians of {pairs} alternating pairs")
    for kind, times in found.items():
        cpu_s, wall_s = (statistics.median(each) for each in zip(*times, strict=True))
        print(f"  {kind:8} {cpu_s:6.3f} s of CPU  {wall_s:6.3f} s by the clock")
    kept = True
    for index, what in enumerate(("CPU", "clock")):
        ratios = [ours[index] / theirs[index] for ours, theirs in zip(found["raidtui"], found["empty"], strict=True)]
        kept &= judge(f"{what} ÷ empty Textual app", statistics.median(ratios), BUDGET if what == "CPU" else None)
    return kept


if __name__ == "__main__":
    raise SystemExit(main())
