"""The demonstration: bring a lab up, replay the scenario `quick` on four of its disks, print the comparison, clean up."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from raidtui.base.proc import spawn

RAIDTUI = (sys.executable, "-m", "raidtui")
LAB = "demo"
ON = ("--on", f"lab:{LAB}")
ROOT = Path(__file__).resolve().parent.parent
LONGEST_S = 3600.0


def raidtui(*words: str, capture: bool = False) -> tuple[int, bytes]:
    """Run one command, on our own terminal unless its output is wanted."""
    child = spawn((*RAIDTUI, *words), stdout=-1 if capture else None, env=os.environ, cwd=ROOT)
    out = child.stdout.read() if child.stdout else b""
    code = child.wait(LONGEST_S)
    return (1 if code is None else code), out


def show(*words: str) -> None:
    print(f"\n$ raidtui {' '.join(words)}", flush=True)


def main() -> int:
    """Exit code of the replay."""
    show("lab", "up", LAB)
    code, _ = raidtui("lab", "up", LAB)
    if code:
        return code
    try:
        show(*ON, "disks")
        raidtui(*ON, "disks")
        _, listing = raidtui(*ON, "disks", "--json", capture=True)
        free = [disk["id"] for disk in json.loads(listing)["disks"] if not disk.get("reasons")][:4]
        chosen = ",".join(sorted(free))
        words = (*ON, "replay", "quick", "--bind", f"data={chosen}", "--erase", chosen)
        show(*words)
        code, _ = raidtui(*words)
    finally:
        show("lab", "down", LAB)
        raidtui("lab", "down", LAB)
    return code


if __name__ == "__main__":
    sys.exit(main())
