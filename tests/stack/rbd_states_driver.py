"""Runs in the guest: looks at the cluster as raidtui does around a cell, changes it in between, and prints the marks.

    python3 -I rbd_states_driver.py STATE.json

A state has two lists of steps, `first` (before the first look) and `then` (between both). A step is a line of shell, a
question to the monitors (`status`, or a prefix such as `osd pool stats`), and a pattern that the answer has to match before
anything else is done. One JSON object on stdout: marks, seconds of the second look, and the last status that was seen.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import Any

import msgspec
import rados

sys.path.insert(0, "/opt/raidtui")

from raidtui.stack.rbd.health import watch
from raidtui.stack.rbd.spec import Cluster, RbdPool

POOL = RbdPool("rtabcdefgha", "u", Cluster(), 1 << 30)
"""A pool that is not there: every other one is somebody else's."""
PATIENCE_S = 240


def answer(cluster: Any, prefix: str) -> str:
    """Return what monitors or manager answer, over one connection: the command `ceph` takes seconds for each."""
    command = json.dumps({"prefix": prefix, "format": "json"})
    code, out, words = cluster.mon_command(command, b"") if prefix == "status" else cluster.mgr_command(command, b"")
    if code:
        raise SystemExit(f"{prefix}: {words or code}")
    return out.decode()


def step(cluster: Any, line: str, question: str, pattern: str) -> str:
    """Run a line of shell, and wait until the answer matches; return it."""
    subprocess.run(["sh", "-c", line], check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    said, until = "", time.monotonic() + PATIENCE_S
    while pattern and not re.search(pattern, said := answer(cluster, question)):
        if time.monotonic() > until:
            raise SystemExit(f"{pattern!r} is not seen in the {question}: {said}")
        time.sleep(0.2)
    return said


def main() -> None:
    state = json.loads(sys.argv[1])
    cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", name="client.admin")
    cluster.connect(timeout=PATIENCE_S)
    seen = [step(cluster, *one) for one in state["first"]]
    ended = watch(None, POOL)
    seen += [step(cluster, *one) for one in state["then"]]
    began = time.monotonic()
    marks = ended()
    print(json.dumps({"marks": msgspec.to_builtins(marks), "seconds": time.monotonic() - began, "seen": seen[-1:]}))


main()
