"""Control of a lab for tests: power cuts, unplugged and replaced disks, slow disks, a stopped machine, cut links.

Everything is done from outside the guest, so the guest can neither prevent nor hide it.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from raidtui.base import proc
from raidtui.lab import disks, life, qemu, ssh
from raidtui.lab.disks import DiskSpec, LabDisk, free_port, make_disk
from raidtui.lab.flavours import PLAIN, Flavour
from raidtui.lab.host import Say, silent
from raidtui.lab.links import LinkSpec
from raidtui.lab.qemu import Qmp
from raidtui.lab.ssh import LAB_DOWN
from raidtui.lab.state import DEFAULT_CPUS, DEFAULT_NAME, LabFiles, LabState
from raidtui.model.problem import fail


class Lab:
    """Control of one host of a lab: of the storage server, or of a client (`NAME/c1`). Disks are named by serial."""

    def __init__(self, name: str = DEFAULT_NAME) -> None:
        self.name = name
        self.files = LabFiles(name)

    # --- its life

    def up(self, specs: Sequence[DiskSpec], say: Say = silent, *, cold: bool = False, cpus: int = DEFAULT_CPUS,
           hosts: int = 1, link: LinkSpec | None = None, flavour: Flavour = PLAIN) -> Lab:  # fmt: skip
        life.up(self.name, specs, say, cold=cold, cpus=cpus, hosts=hosts, link=link, flavour=flavour)
        return self

    def down(self) -> None:
        life.down(self.name)

    def crash(self) -> None:
        """Cut the power. Data that the guest had not written to the disks is lost."""
        ssh.close_master(self.files.ssh_config, self.files.ssh_master)
        self.files.kill()

    def start(self) -> None:
        """Switch a crashed machine on again, with the disks that were plugged in. Kernel names change."""
        with self.files.lock():
            life.restart(self.files, self.state)

    def reboot(self) -> None:
        """Crash and start."""
        self.crash()
        self.start()

    def pause(self) -> None:
        """Stop the machine's time, until `resume`."""
        self.qmp("stop")

    def resume(self) -> None:
        self.qmp("cont")

    # --- its clients

    def client(self, number: int) -> Lab:
        """Return the control of a client, which has the same abilities."""
        return Lab(f"{self.files.lab}/c{number}")

    def cut(self, number: int) -> None:
        """Pull the cable between the storage server and a client. It stays pulled if they crash and start again."""
        life.set_link(self.files.server(), number, up=False)

    def restore(self, number: int) -> None:
        """Plug the cable in again."""
        life.set_link(self.files.server(), number, up=True)

    # --- its disks

    @property
    def state(self) -> LabState:
        state = self.files.load()
        if state is None:
            raise fail(LAB_DOWN, f"lab {self.name} is not up", remedy="raidtui lab up")
        return state

    @property
    def serials(self) -> list[str]:
        """Serial of every disk of this lab, plugged in or not, sorted."""
        return sorted(disk.serial for disk in self.state.disks)

    def disk(self, serial: str) -> LabDisk:
        return next(disk for disk in self.state.disks if disk.serial == serial)

    def disk_file(self, serial: str) -> Path:
        return self.files.folder / self.disk(serial).file_name

    def unplug(self, serial: str) -> None:
        """Unplug the disk. Returns when the guest has released it."""
        disk, state = self.disk(serial), self.state
        with Qmp(self.files.qmp) as qmp:
            qemu.unplug(qmp, disk)
        state.plugged = [other for other in state.plugged if other != serial]
        self.files.save(state)

    def plug(self, serial: str, *, like_new: bool = False, fails: qemu.Fails = "") -> None:
        """Plug the disk in again. `like_new` makes it blank; with `fails` all its reads or writes fail."""
        state = self.state
        disk = self.disk(serial)
        if like_new:
            path = self.files.folder / disk.file_name
            path.unlink()
            disks.make_sparse(path, disk.spec.size_bytes)
        with Qmp(self.files.qmp) as qmp:
            qemu.plug(qmp, self.files.folder, [disk], fails)
        state.plugged.append(serial)
        self.files.save(state)

    def add_disk(self, spec: DiskSpec) -> str:
        """Plug in an additional disk; return its serial."""
        state = self.state
        number = 1 + max((int(disk.serial.rsplit("-", 1)[-1]) for disk in state.disks), default=0)
        disk = make_disk(self.name, number, free_port(state.disks, spec.kind, len(life.links_of(self.files, state))), spec)
        disks.make_sparse(self.files.folder / disk.file_name, spec.size_bytes)
        state.disks.append(disk)
        self.files.save(state)
        self.plug(disk.serial)
        return disk.serial

    def throttle(self, serial: str, *, iops: int = 0, bytes_per_s: int = 0) -> None:
        """Limit the rate of a disk; zeroes remove the limit."""
        rates = {"iops": iops, "bps": bytes_per_s} | dict.fromkeys(("iops_rd", "iops_wr", "bps_rd", "bps_wr"), 0)
        self.qmp("block_set_io_throttle", id=self._qdev(serial), **rates)

    def disk_hash(self, serial: str) -> str:
        """Return the hash of the disk's content, read from outside the guest. Holes and zeroes are the same."""
        return disks.content_hash(self.disk_file(serial))

    def is_zero(self, serial: str) -> bool:
        """Return True if the disk holds only zeroes."""
        return disks.is_zero(self.disk_file(serial))

    def kernel_name(self, serial: str) -> str | None:
        """Return the disk's present kernel name in the guest (`nvme3n1`); None if the guest does not see it."""
        script = (
            "for b in /sys/block/nvme* /sys/block/sd*; do [ -e $b ] || continue; "
            "s=$(cat $b/device/serial 2>/dev/null || tail -c +5 $b/device/vpd_pg80 2>/dev/null); echo ${b##*/} $s; done"
        )
        for line in self.run(script).text.splitlines():
            name, _, found = line.partition(" ")
            if found.strip() == serial:
                return name
        return None

    # --- the guest

    def qmp(self, command: str, **arguments: Any) -> Any:
        """Send one command to QEMU and return its result."""
        with Qmp(self.files.qmp) as qmp:
            return qmp.command(command, **arguments)

    def run(self, command: str | Sequence[str], timeout_s: float = 60.0, *, check: bool = True,
            input_bytes: bytes | None = None) -> proc.Finished:  # fmt: skip
        """Run a line of shell or an argv in the guest."""
        line = command if isinstance(command, str) else " ".join(shlex.quote(word) for word in command)
        argv = [*ssh.argv(self.files.ssh_config), line]
        return proc.run(argv, timeout_s=timeout_s, check=check, input_bytes=input_bytes)

    def raidtui(self, *words: str, timeout_s: float = 120.0, check: bool = False) -> proc.Finished:
        """Run raidtui in the guest, after updating it to the version of this machine."""
        ssh.sync_code(self.name)
        return self.run(["raidtui", *words], timeout_s, check=check)

    def put_file(self, source: Path, target: str) -> None:
        self.run(f"cat > {shlex.quote(target)}", 300.0, input_bytes=source.read_bytes())

    def wait_for(self, command: str, timeout_s: float = 120.0) -> None:
        """Run a shell line in the guest until it succeeds."""
        deadline = time.monotonic() + timeout_s
        while self.run(command, timeout_s, check=False).code != 0:
            if time.monotonic() > deadline:
                raise TimeoutError(f"not true in the guest within {timeout_s:g} s: {command}")
            time.sleep(0.2)

    def _qdev(self, serial: str) -> str:
        return self.disk(serial).node
