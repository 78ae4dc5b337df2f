"""Runs in the guest: takes the whole Ceph cluster away while a workload loads a mapped image, and says how the run ends.

    python3 -I rbd_away_driver.py SCENARIO

All daemons are stopped (SIGSTOP), so that connections stay and nothing answers. Recovery is tried without the cluster, and
again once it is back. One JSON object on stdout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, "/opt/raidtui")

from raidtui.engine.methods import _plan
from raidtui.engine.run import runs
from raidtui.engine.run.journal import Journal
from raidtui.engine.run.recover import recover
from raidtui.engine.run.runner import Runner
from raidtui.model.event import WorkloadSampled
from raidtui.model.plan import Options
from raidtui.model.protocol import PlanRequest
from raidtui.stack.rbd import cluster, plan

DAEMONS = ("ceph-mon@a", "ceph-mgr@x", "ceph-osd@0", "ceph-osd@1", "ceph-osd@2")
SHORT_S = 30


def send(signal: str) -> None:
    subprocess.run(["systemctl", "kill", "-s", signal, *DAEMONS], check=True)


def take_away_once_loaded() -> None:
    original = Journal.append

    def append(self, event):
        if isinstance(event, WorkloadSampled):
            Journal.append = original
            send("STOP")
        return original(self, event)

    Journal.append = append


def recovered(name: str) -> dict:
    began = time.monotonic()
    done = next(iter(recover(name)))
    codes = sorted({problem.code for problem in done.problems})
    return {"exit": done.exit, "codes": codes, "seconds": round(time.monotonic() - began), "mapped": mapped()}


def mapped() -> list[str]:
    return os.listdir("/sys/bus/rbd/devices")


def main() -> None:
    # The real ones, four minutes and 90 s, would take an hour here.
    plan.REQUEST_TIMEOUT_S = SHORT_S
    cluster.run.__defaults__ = (float(SHORT_S),)
    cluster.ask.__kwdefaults__ = {"deadline_s": float(SHORT_S)}
    request = PlanRequest(Path(sys.argv[1]).read_text(), {}, Options(quick=True), {})
    folder = runs.create(_plan(request, "")[0])[1]
    began = time.monotonic()
    try:
        pid = os.fork()
        if pid == 0:
            take_away_once_loaded()
            os._exit(int(Runner(folder).run()))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        told = {"exit": code, "seconds": round(time.monotonic() - began), "mapped": mapped()}
        told["away"] = recovered(folder.name)
    finally:
        send("CONT")
    subprocess.run(["lab-ceph", "wait"], check=True, timeout=900)
    print(json.dumps({**told, "back": recovered(folder.name), "state": runs.info(folder).state}))


main()
