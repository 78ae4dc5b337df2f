"""One lab with the disks of one scenario and a canary: replays its layouts, one at a time, and looks at what is left."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from checks import looks, of_journal, of_result
from report import COLUMNS, Report, Row, Wish
from wanted import CANARY, Wanted

from raidtui.base import proc
from raidtui.lab.control import Lab
from raidtui.lab.links import LinkSpec
from raidtui.lab.qemu import cpus_of_each

LONGEST_S = 3600.0
LEFT = "; ".join((
    "ls -d /sys/block/md* /dev/bcache[0-9]* 2>/dev/null", "zpool list -H -o name", "dmsetup ls | grep -v 'No devices'",
    "pgrep -x fio",
))  # fmt: skip
"""Commands whose output shows remains of a layout in a guest; empty output means that nothing is left."""
LEFT_ON_CLIENT = "ls /sys/class/iscsi_session; grep -L pcie /sys/class/nvme/*/transport; pgrep -x fio"


def replay_layouts(one: Wanted, wishes: list[Wish], report: Report, brief: bool, at_once: int) -> None:
    """These layouts of a scenario, in one lab; in a fresh one after whatever went wrong."""
    bench: Bench | None = None
    try:
        for wish in wishes:
            try:
                bench = bench or Bench(one, at_once)
                row = bench.run(wish.layout, report.folder / one.name, brief=brief)
            except Exception as error:
                wrong = (f"{type(error).__name__}: {error}",)
                row = Row(one.name, wish.layout, dict.fromkeys(COLUMNS, False), 0.0, wrong)
            report.add(wish, row)
            clean = all(row.passed_columns.get(column) for column in ("gone", "blank", "canary"))
            if not clean and bench is not None:
                bench.close()
                bench = None
    finally:
        if bench is not None:
            bench.close()


class Bench:
    """Taken down by `close`, whatever happened."""

    def __init__(self, wanted: Wanted, at_once: int) -> None:
        self.wanted = wanted
        self.lab = Lab(f"all-{os.getpid()}-{wanted.name}"[:40])
        specs = [spec for disks in wanted.roles.values() for spec in disks]
        try:
            hosts, link = 1 + sum(wanted.clients.values()), LinkSpec(rxe=True) if wanted.clients else None
            self.lab.up([*specs, CANARY], _say, cpus=cpus_of_each(at_once), hosts=hosts, link=link)
            self._let_in()
            serials = self.lab.serials
            self.roles: dict[str, list[str]] = {}
            for role, disks in wanted.roles.items():
                self.roles[role], serials = serials[: len(disks)], serials[len(disks) :]
            (self.canary,) = serials
            self.lab.run(f"head -c 16777216 /dev/urandom > /dev/{self.lab.kernel_name(self.canary)}; sync")
            self.canary_hash = self.lab.disk_hash(self.canary)
        except BaseException:
            self.lab.down()
            raise

    def _let_in(self) -> None:
        """Let root of the storage server log in on every client."""
        if not self.wanted.clients:
            return
        self.lab.run("ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519")
        self.lab.run("printf 'Host *\\n  StrictHostKeyChecking accept-new\\n' > /root/.ssh/config")
        key = self.lab.run("cat /root/.ssh/id_ed25519.pub").out
        for number in range(1, 1 + sum(self.wanted.clients.values())):
            self.lab.client(number).run("cat >> /root/.ssh/authorized_keys", input_bytes=key)

    def close(self) -> None:
        self.lab.down()

    def run(self, layout: str, folder: Path, *, brief: bool = False) -> Row:
        """Replay one layout with `--quick`; its journal, talk and result are kept in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        result = folder / f"{layout}.result.json"
        result.unlink(missing_ok=True)
        words = [self.wanted.name, "--quick", "--layout", layout, *self._binding(layout), *self._hosts(layout)]
        words += [word for name in self.wanted.two_of(layout) for word in ("--workload", name)] if brief else []
        done = self._raidtui("replay", *words, "--json", "-o", str(result))
        (folder / f"{layout}.jsonl").write_bytes(done.out)
        (folder / f"{layout}.err").write_bytes(done.err)
        events = [json.loads(line)["event"] for line in done.out.splitlines() if line.startswith(b'{"seq"')]
        kept = json.loads(result.read_text()) if result.exists() else None
        passed, wrong = looks(of_result(kept, layout), of_journal(events), self._outside())
        if done.code:
            wrong.append(f"raidtui ended with {done.code}: {done.error_text.strip()[-600:]}")
        if wrong:
            # The lab is taken down after this: what its kernel said would be lost.
            shutil.copyfile(self.lab.files.serial_log, folder / f"{layout}.console")
            with contextlib.suppress(proc.ToolError):
                told = self.lab.run("journalctl -b --no-pager -n 400", check=False)
                (folder / f"{layout}.journal").write_bytes(told.out)
        return Row(self.wanted.name, layout, passed, time.monotonic() - began, tuple(wrong))

    def _binding(self, layout: str) -> list[str]:
        """`--bind` and `--erase` for the roles that this layout uses."""
        text = json.dumps(json.loads(self.wanted.data)["layouts"][layout])
        used = {role: disks for role, disks in self.roles.items() if f'"@{role}"' in text}
        erase = ",".join(disk for disks in used.values() for disk in disks)
        return [
            *(word for role, disks in used.items() for word in ("--bind", f"{role}={','.join(disks)}")),
            "--erase",
            erase,
        ]

    def _hosts(self, layout: str) -> list[str]:
        """`--host` for the groups that this layout is exported to."""
        text = json.dumps(json.loads(self.wanted.data)["layouts"][layout])
        names = (f"root@c{number}" for number in itertools.count(1))
        given = {group: ",".join(itertools.islice(names, count)) for group, count in self.wanted.clients.items()}
        used = [f"{group}={found}" for group, found in given.items() if f'"to": "{group}"' in text]
        return [word for one in used for word in ("--host", one)]

    def _raidtui(self, *words: str) -> proc.Finished:
        argv = [sys.executable, "-m", "raidtui", "--on", f"lab:{self.lab.name}", *words]
        return proc.run(argv, timeout_s=LONGEST_S, env=os.environ, check=False, max_output_bytes=1 << 30)

    def _outside(self) -> dict[str, Any]:
        """Look for remains without raidtui."""
        disks = [disk for serials in self.roles.values() for disk in serials]
        return {
            "not blank": [disk for disk in disks if not self.lab.is_zero(disk)],
            "left": [*self.lab.run(LEFT, check=False).text.split(), *self._left_on_clients()],
            "canary": self.lab.disk_hash(self.canary) == self.canary_hash,
        }


    def _left_on_clients(self) -> list[str]:
        """Return connections and loads that a client still has."""
        clients = [self.lab.client(number) for number in range(1, 1 + sum(self.wanted.clients.values()))]
        return [word for client in clients for word in client.run(LEFT_ON_CLIENT, check=False).text.split()]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
