#!/usr/bin/env python3
"""Time of `raidtui --version` ÷ time of a Python that does nothing.

    .venv/bin/python benchmarks/startup.py [--pairs 15] [-- COMMAND …]

COMMAND is `raidtui --version` beside the running Python unless another is given (`-- python -m raidtui --version`). Its
peer is the same interpreter with the same start-up, `python -c pass`: with site-packages and an environment's .pth files,
since that is what the entry point starts with too. The barest Python there is (`-I -S -c pass`) is printed beside it. A
pair is one run of each in alternating order, after one run of each that is not counted; times are wall clock.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

TARGET = 3.0


def seconds(argv: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("command", nargs="*", default=[str(Path(sys.executable).with_name("raidtui")), "--version"])
    options = parser.parse_args()
    tools = {
        "command": options.command,
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -I -S -c pass": [sys.executable, "-I", "-S", "-c", "pass"],
    }
    found: dict[str, list[float]] = {name: [] for name in tools}
    for pair in range(options.pairs + 1):
        for name in list(tools) if pair % 2 == 0 else list(reversed(tools)):
            took_s = seconds(tools[name])
            if pair:
                found[name].append(took_s)
    print(f"start-up; medians of {options.pairs} alternating pairs; the command is {' '.join(options.command)}")
    for name, times in found.items():
        print(f"  {name:22} {1000 * statistics.median(times):7.1f} ms")
    kept = True
    for name in list(tools)[1:]:
        ratios = [ours / theirs for ours, theirs in zip(found["command"], found[name], strict=True)]
        ratio = statistics.median(ratios)
        print(f"  command ÷ {name:22} {ratio:5.2f} ({min(ratios):.2f} to {max(ratios):.2f})", end="")
        if name == "python -c pass":
            kept = ratio <= TARGET
            print(f"   at most {TARGET:g}: {'kept' if kept else 'MISSED'}", end="")
        print()
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
