"""The command line at a lab's disks, as somebody types it: to its end, or in the background until a step has begun."""

from __future__ import annotations

import subprocess
import sys
import time

from raidtui.lab.control import Lab


def argv(lab: Lab, *words: str) -> list[str]:
    return [sys.executable, "-m", "raidtui", "--on", f"lab:{lab.name}", *words]


def raidtui(lab: Lab, *words: str, timeout_s: float = 400) -> subprocess.CompletedProcess:
    return subprocess.run(argv(lab, *words), capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL)


def start(lab: Lab, *words: str) -> subprocess.Popen:
    return subprocess.Popen(
        argv(lab, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    )


def start_and_await(lab: Lab, action: str, *words: str, patience_s: float = 400) -> tuple[subprocess.Popen, str]:
    """Start a replay and wait until its run, which is returned too, has begun a step with this action."""
    newest = "ls /var/lib/raidtui/runs 2>/dev/null | tail -1"
    before = lab.run(newest).text.strip()
    process = start(lab, *words)
    begun = f"""grep -q '"kind":"step-started".*"action":"{action}"' /var/lib/raidtui/runs/$run/journal.jsonl"""
    until = time.monotonic() + patience_s
    while lab.run(f"""run=$({newest}); [ "$run" != '{before}' ] && {begun}""", check=False).code:
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            raise AssertionError(f"no {action}: {process.communicate()}")
        time.sleep(0.3)
    return process, lab.run(newest).text.strip()
