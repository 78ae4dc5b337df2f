"""Runs in the lab's guest, as root: runs with tuning, whole, killed and refused, and what the kernel's settings were.

    python3 -I tuning_driver.py SCENARIO BINDING.json CASE…

One JSON line per case on stdout: the settings before and after, and what the run said of itself.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, "/opt/raidtui")

from raidtui.engine.methods import _plan
from raidtui.engine.run import claims, runs
from raidtui.engine.run.recover import recover
from raidtui.engine.run.runner import Runner
from raidtui.gate import locks
from raidtui.model.plan import Options
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import PlanRequest
from raidtui.stack.tuning import apply
from raidtui.stack.zfs.tuning import CLAIM

SCENARIO, BINDING = json.loads(Path(sys.argv[1]).read_text()), json.loads(sys.argv[2])
FILES = [
    f"/sys/block/{path.name}/queue/{file}"
    for path in sorted(Path("/sys/block").glob("nvme*"))
    for file in ("scheduler", "nr_requests", "read_ahead_kb", "write_cache")
]
FILES += ["/sys/module/zfs/parameters/zfs_txg_timeout", "/sys/module/zfs/parameters/zfs_dirty_data_max"]


def seen() -> dict[str, str]:
    return {file: Path(file).read_text().strip() for file in FILES}


def start(**options: Any) -> Path:
    bind = {role: tuple(ids) for role, ids in BINDING.items()}
    plan, _ = _plan(PlanRequest(json.dumps(SCENARIO), bind, Options(quick=True, **options)), "")
    return runs.create(plan)[1]


def child(work: Callable[[], Any]) -> int:
    """Its exit code, in a process of its own; negative where a signal ended it."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = int(work() or 0)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def told(folder: Path) -> dict[str, Any]:
    result = json.loads((folder / "result.json").read_bytes())
    steps = [line for line in (folder / "journal.jsonl").read_text().splitlines() if '"step-' in line]
    return {
        "problems": [[p["code"], p["message"], p.get("place", "")] for p in result.get("problems", [])],
        "layouts": result.get("layouts", []),
        "cells": [[cell["id"], cell["valid"], cell.get("reasons", [])] for cell in result.get("cells", [])],
        "steps": [json.loads(line)["event"] for line in steps],
        "promised": [
            [step["action"], step.get("commands", [])]
            for step in json.loads((folder / "plan.json").read_bytes())["steps"]
            if step["action"] == "tune.set"
        ],
        "left": [path.name for path in folder.glob("tuning-*")],
        "state": runs.info(folder).state,
    }


def whole(layout: str) -> dict[str, Any]:
    """Build, measure, take down."""
    folder = start(layouts=(layout,))
    return {"exit": child(lambda: Runner(folder).run()), **told(folder)}


def refused(claimed: tuple[str, ...], relied: tuple[str, ...] = ()) -> list[list[str]]:
    """Why another run that changes or relies on these cannot begin."""
    try:
        claims.release(claims.take("another-run", claimed, relied))
    except ProblemError as error:
        return [[problem.code, problem.remedy] for problem in error.problems]
    return []


def killed(layout: str, writes: int) -> dict[str, Any]:
    """SIGKILL right after so many settings were written; another run that claims the same; and then `recover`, twice."""
    folder = start(layouts=(layout,))

    def work() -> int:
        original, count = apply.write, 0

        def write(file: Path, value: str) -> None:
            nonlocal count
            original(file, value)
            count += 1
            if count == writes:
                os.kill(os.getpid(), signal.SIGKILL)

        apply.write = write
        return int(Runner(folder).run())

    code, while_dead = child(work), seen()
    steps = runs.plan_of(folder).steps
    another, relying = refused(claims.claims_of(steps)), refused((), claims.relied_on(steps))
    first, again = (next(iter(recover(folder.name))) for _ in range(2))
    return {
        "run": folder.name,
        "killed": code == -signal.SIGKILL,
        "while_dead": while_dead,
        "another": another,
        "relying": relying,
        "recovered": [first.exit, list(first.actions), [p.message for p in first.problems]],
        "again": [again.exit, list(again.actions)],
        "left": [path.name for path in folder.glob("tuning-*")],
        "state": runs.info(folder).state,
    }


def held(layout: str) -> dict[str, Any]:
    """Another run has what belongs to the whole server."""
    taken = locks.take("another-run", [CLAIM])
    folder = start(layouts=(layout,))
    code = child(lambda: Runner(folder).run())
    for lock in taken:
        lock.release()
    return {"exit": code, **told(folder)}


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "array": lambda: whole("array"),
    "pool": lambda: whole("pool"),
    "not taken": lambda: whole("too-many"),
    "held": lambda: held("pool"),
    "array killed after 1": lambda: killed("array", 1),
    "array killed after 5": lambda: killed("array", 5),
    "array killed after all": lambda: killed("array", 14),
    "array killed while putting back": lambda: killed("array", 16),
    "pool killed": lambda: killed("pool", 1),
}


def main() -> None:
    subprocess.run(["zpool", "list"], check=False, capture_output=True)  # loads the module
    for name in sys.argv[3:]:
        began, before = time.monotonic(), seen()
        try:
            found = CASES[name]()
        except ProblemError as error:
            found = {"problems": [[p.code, p.message] for p in error.problems]}
        found |= {"case": name, "before": before, "after": seen(), "seconds": round(time.monotonic() - began, 1)}
        print(json.dumps(found), flush=True)


main()
