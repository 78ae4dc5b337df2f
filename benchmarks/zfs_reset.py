#!/usr/bin/env python3
"""The policy's `reset` and the numbers: what a pool looks like before each cell, and what the same workload reaches in it.

    .venv/bin/python benchmarks/zfs_reset.py [--rounds 3] [--seconds 5] [--disk 3x256M]

In a lab of its own, a volume on raidz1 is overwritten at random in grouped rounds, once with each of `none`, `rollback` and
`rewind`. Prints for each cell what was allocated in the pool when it began, how fragmented free space was, and its IOPS;
then the seconds of all resets beside those that as many buildings would have taken (create, fill, read back, take down).
"""

from __future__ import annotations

import argparse
import json
import os
from datetime import datetime
from typing import Any

from raidtui.lab import ssh
from raidtui.lab.control import Lab
from raidtui.lab.disks import parse_spec

WATCH = "while :; do echo $(date +%s.%N) $(zpool list -Hp -o alloc,frag); sleep 0.5; done > /root/watched 2>&1"
BUILDING = ("zpool.create", "zpool.volume", "zpool.verify", "prefill", "zpool.destroy")
RESETS = {"none": (), "rollback": ("zpool.snapshot", "zpool.rollback"), "rewind": ("zpool.checkpoint", "zpool.rewind")}


def scenario(reset: str, rounds: int, seconds: int) -> dict[str, Any]:
    load = {"rw": "randrw", "rwmixread": 30, "bs": "16KiB", "size": "96MiB", "iodepth": 8, "runtime": f"{seconds}s"}
    return {
        "schema": "raidtui.scenario/1",
        "name": f"reset-{reset}",
        "roles": {"data": {"count": 3}},
        "layouts": {"raidz1": {"zpool": {"vdevs": [{"raidz1": "@data"}], "volume": {"size": "50%"}}}},
        "workloads": {"mixed": {"fio": {"direct": True, "ioengine": "libaio", **load}}},
        "policy": {"reset": reset, "order": "grouped", "rounds": rounds},
    }


def measure(lab: Lab, reset: str, asked: argparse.Namespace) -> None:
    given = json.dumps(scenario(reset, asked.rounds, asked.seconds)).encode()
    lab.run("cat > /root/reset.json", input_bytes=given)
    lab.run(f"setsid sh -c '{WATCH}' < /dev/null > /dev/null 2>&1 & echo $! > /root/watching")
    argv = ("replay", "/root/reset.json", "--erase", ",".join(lab.serials), "--json")
    ran = lab.raidtui(*argv, timeout_s=1800)
    lab.run("kill -- -$(cat /root/watching)", check=False)
    if ran.code:
        raise SystemExit(f"{reset}: {ran.error_text or ran.text[-2000:]}")
    seen = [line.split() for line in lab.run("cat /root/watched").text.splitlines()]
    pools = [(float(at), *rest) for at, *rest in seen if len(rest) == 2]
    seconds: dict[str, float] = {}
    action: dict[int, str] = {}
    for line in ran.text.splitlines():
        record = json.loads(line)
        event = record["event"]
        if event["kind"] == "step-started":
            action[event["step"]] = event["action"]
            if event["action"] == "measure":
                began = datetime.fromisoformat(record["wall"]).timestamp()
        elif event["kind"] == "step-done":
            name = action[event["step"]]
            seconds[name] = seconds.get(name, 0.0) + event["seconds"]
        elif event["kind"] == "cell-done":
            rate = sum((event["cell"]["summary"].get(way) or {}).get("iops", 0) for way in ("read", "write"))
            alloc, frag = next((rest for at, *rest in reversed(pools) if at <= began + 0.2), ("?", "?"))
            mib = f"{int(alloc) / (1 << 20):8.2f}" if alloc.isdecimal() else alloc
            print(
                f"{reset:9} {event['cell']['id']:20} {mib} MiB allocated, {frag:>2} % fragmented, {rate:8.0f} IOPS",
                flush=True,
            )
    of_resets = sum(seconds.get(name, 0.0) for name in RESETS[reset])
    of_building = sum(seconds.get(name, 0.0) for name in BUILDING)
    print(f"{reset:9} resets {of_resets:.1f} s; one building {of_building:.1f} s, {asked.rounds} of them "
          f"{asked.rounds * of_building:.1f} s", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--disk", default="3x256M", help="the lab's disks")
    parser.add_argument("--reset", default=",".join(RESETS), help="which ones")
    asked = parser.parse_args()
    lab = Lab(f"bench-{os.getpid()}").up(parse_spec(asked.disk))
    try:
        ssh.sync_code(lab.name)
        for reset in asked.reset.split(","):
            measure(lab, reset, asked)
    finally:
        lab.down()


if __name__ == "__main__":
    main()
