"""The demonstration, on a lab: on a terminal the screens, elsewhere a replay of `quick` on four of its disks."""

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
A_YEAR_S = 365 * 86400.0
"""The screens stay open as long as somebody wants."""


def raidtui(*words: str, capture: bool = False) -> tuple[int, bytes]:
    """Run one command, on our own terminal unless its output is wanted."""
    child = spawn((*RAIDTUI, *words), stdin=None, stdout=-1 if capture else None, env=os.environ, cwd=ROOT)
    out = child.stdout.read() if child.stdout else b""
    code = child.wait(A_YEAR_S)
    return (1 if code is None else code), out


def show(*words: str) -> None:
    print(f"\n$ raidtui {' '.join(words)}", flush=True)


def main() -> int:
    """Exit code of what was shown."""
    show("lab", "up", LAB)
    code, _ = raidtui("lab", "up", LAB)
    if code:
        return code
    going_on = False
    try:
        if sys.stdin.isatty() and sys.stdout.isatty():
            show(*ON)
            code, _ = raidtui(*ON)
            going_on = run_going_on()
        else:
            code = replay()
    finally:
        if going_on:
            print(f"A run goes on in the lab. To see it: raidtui {' '.join(ON)}; to end it: raidtui lab down {LAB}")
        else:
            show("lab", "down", LAB)
            raidtui("lab", "down", LAB)
    return code


def replay() -> int:
    """Replay `quick` headless on the first four free disks."""
    show(*ON, "disks")
    raidtui(*ON, "disks")
    _, listing = raidtui(*ON, "disks", "--json", capture=True)
    free = [disk["id"] for disk in json.loads(listing)["disks"] if not disk.get("reasons")][:4]
    chosen = ",".join(sorted(free))
    words = (*ON, "replay", "quick", "--bind", f"data={chosen}", "--erase", chosen)
    show(*words)
    return raidtui(*words)[0]


def run_going_on() -> bool:
    _, listing = raidtui(*ON, "runs", "--json", capture=True)
    return any(run["state"] == "running" for run in json.loads(listing or b'{"runs": []}')["runs"])


if __name__ == "__main__":
    sys.exit(main())
