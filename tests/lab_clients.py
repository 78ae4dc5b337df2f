"""A lab's storage server and two clients that its root reaches over ssh, and what a run must not leave on any of them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab_harness import start_lab
from raidtui.lab.control import Lab
from raidtui.lab.disks import parse_spec
from raidtui.lab.links import LinkSpec

LEFT = """find /sys/kernel/config/nvmet -mindepth 2 -maxdepth 2 2>/dev/null
grep -L pcie /sys/class/nvme/*/transport 2>/dev/null
ls /sys/class/iscsi_session /sys/kernel/config/target/iscsi 2>/dev/null | grep -E '^session|iqn'
pgrep -x fio; pgrep -f '[r]aidtui/__main__.py peer'; ss -Htln | awk '$4 ~ /^10[.]10/ && $4 !~ /:22$/'
for run in /var/lib/raidtui/runs/*/; do [ -e $run/closed ] || [ ! -e $run/journal.jsonl ] || echo open $run; done"""
HOSTS = ("--host", "clients=root@c1,root@c2")
FREE_WITHIN_S = 120
"""The lease is 30 s, and emulated guests are slow."""


@contextmanager
def lab_with_clients(suffix: str, spec: str = "2x1100M", link: LinkSpec | None = None) -> Iterator[Lab]:
    """A storage server, and two clients `c1` and `c2`; each client has a disk with somebody's data."""
    made = Lab(f"test-{os.getpid()}-{suffix}")
    try:
        lab = start_lab(suffix, spec, hosts=3, link=link)
        lab.run("ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519")
        lab.run("printf 'Host *\\n  StrictHostKeyChecking accept-new\\n' > /root/.ssh/config")
        key = lab.run("cat /root/.ssh/id_ed25519.pub").out
        for client in clients_of(lab):
            client.run("cat >> /root/.ssh/authorized_keys", input_bytes=key)
            client.add_disk(parse_spec("1x64M")[0])
            client.wait_for("[ -b /dev/nvme0n1 ]")
            client.run("yes somebody | head -c 4M | dd of=/dev/nvme0n1 bs=1M conv=fsync status=none")
        yield lab
    finally:
        made.down()


def clients_of(lab: Lab) -> list[Lab]:
    return [lab.client(1), lab.client(2)]


def hosts_of(lab: Lab) -> list[Lab]:
    return [lab, *clients_of(lab)]


def await_nothing_left(*hosts: Lab) -> None:
    until = time.monotonic() + FREE_WITHIN_S
    while left := "".join(host.run(LEFT, check=False).text for host in hosts):
        assert time.monotonic() < until, left
        time.sleep(3)


def assert_untouched(lab: Lab) -> None:
    for client in clients_of(lab):
        assert client.run("yes somebody | head -c 4M | cmp - /dev/nvme0n1 -n 4194304 && echo same").text == "same\n"


def replay_words(
    lab: Lab, folder: Path, scenario: dict[str, Any], *layouts: str, hosts: tuple[str, ...] = HOSTS
) -> list[str]:
    """Write the scenario, and return the command that replays these layouts; the result is in `NAME.result.json` there."""
    file, result = (folder / f"{scenario['name']}{end}" for end in (".json", ".result.json"))
    file.write_text(json.dumps(scenario))
    result.unlink(missing_ok=True)
    serials = ",".join(lab.serials)
    only = [word for layout in layouts for word in ("--layout", layout)]
    return ["replay", str(file), "--bind", f"data={serials}", "--erase", serials, *only, *hosts, "-o", str(result)]
