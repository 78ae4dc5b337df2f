"""Runs in the lab's guest: one fio workload through the engine. JSON on stdin and stdout.

In: {"devices": ["/dev/nvme0n1"], "options": {…}, "prefill": bytes or absent, "patience": s or absent}.
Out: the Measured, or {"refused": code}; with "sectors", what the kernel counted for all devices.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, "/opt/raidtui")

from raidtui.load import child, fio
from raidtui.load.engine import Target, TargetDevice
from raidtui.load.fio import engine
from raidtui.load.fio.spec import FioSpec
from raidtui.model.convert import decode, plain
from raidtui.model.problem import ProblemError

STARTED = Path("/tmp/fio-started")
"""There as soon as the first live sample has come."""
STOP = Path("/tmp/fio-stop")
"""Whoever makes this file stops the run."""


def sectors(devices: list[str]) -> list[int]:
    """Sectors read and written by all devices together."""
    total = [0, 0]
    for device in devices:
        stat = (Path("/sys/class/block") / Path(device).resolve().name / "stat").read_text().split()
        total = [total[0] + int(stat[2]), total[1] + int(stat[6])]
    return total


def stop_when_asked(stop: threading.Event) -> None:
    while not STOP.exists():
        time.sleep(0.2)
    stop.set()


def main() -> None:
    asked: dict[str, Any] = json.load(sys.stdin)
    for mark in (STARTED, STOP):
        mark.unlink(missing_ok=True)
    stop = threading.Event()
    threading.Thread(target=stop_when_asked, args=(stop,), daemon=True).start()
    if "patience" in asked:
        engine.PATIENCE_S = asked["patience"]  # type: ignore[misc]
        child.TERM_GRACE_S = 1.0  # type: ignore[misc]
    devices = []
    for path in asked["devices"]:
        fd = os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
        devices.append(TargetDevice(fd, path, os.lseek(fd, 0, os.SEEK_END)))
    target = Target(tuple(devices))
    before, began = sectors(asked["devices"]), time.monotonic()
    answer: dict[str, Any] = {}
    try:
        with tempfile.TemporaryDirectory() as folder:
            common: dict[str, Any] = {
                "folder": Path(folder),
                "live": lambda sample: STARTED.touch(),
                "stop": stop,
            }
            if "prefill" in asked:
                reading = {"rw": "read", "bs": "4KiB", "runtime": "1s", "size": f"{asked['prefill']}B"}
                measured = fio.ENGINE.prefill(decode(FioSpec, reading), target, **common)
            else:
                measured = fio.ENGINE.run(decode(FioSpec, asked["options"]), target, **common)
            measured = type(measured)(**{n: getattr(measured, n) for n in measured.__struct_fields__ if n != "raw"})
            answer = plain(measured)
            after = sectors(asked["devices"]) if all(map(os.path.exists, asked["devices"])) else before
            answer["sectors"] = [b - a for a, b in zip(before, after, strict=True)]
    except ProblemError as error:
        answer = {"refused": error.problems[0].code, "message": error.problems[0].message}
    answer["seconds"] = time.monotonic() - began
    json.dump(answer, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # a thread of fio that hangs in the kernel must not keep this process


if __name__ == "__main__":
    main()
