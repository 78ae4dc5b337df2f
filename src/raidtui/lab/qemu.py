"""Run QEMU: its command line, its machine protocol (QMP), saved machines, and disks plugged in and out."""

from __future__ import annotations

import errno
import hashlib
import os
import shlex
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal

import msgspec

from raidtui.base import proc
from raidtui.base.files import read_text
from raidtui.lab.disks import MAX_NVME, LabDisk
from raidtui.lab.host import tool
from raidtui.lab.links import End
from raidtui.lab.state import DEFAULT_CPUS, LabFiles
from raidtui.model.problem import Exit, Refusal, fail

LAB_QEMU: Final = Refusal(
    "lab.qemu",
    "QEMU failed",
    "QEMU did not start, refused a command or ended; the message quotes it.",
    "Run `raidtui lab up` again. If QEMU does not start at all, check /dev/kvm and the free memory.",
)

MEMORY_MIB: Final = 2048
KERNEL_LINE: Final = (
    "root=/dev/vda rw console=ttyS0 quiet loglevel=4 net.ifnames=0 mitigations=off nokaslr audit=0 "
    "systemd.show_status=0 rd.udev.log_level=3 tsc=reliable random.trust_cpu=1 cryptomgr.notests raid=noautodetect"
)
_PORTS_PER_SLOT: Final = 8
_QUEUES: Final = 2
"""I/O queues of a disk."""


def kvm_possible() -> bool:
    """Return True if this machine offers KVM. Only the first boot shows if guests really run under it."""
    if not any(flag in (read_text("/proc/cpuinfo") or "").split() for flag in ("vmx", "svm")):
        return False
    try:
        os.close(os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def cpus_of_each(labs: int) -> int:
    """Return the CPUs of each of several labs. More emulated CPUs than real ones would wait for each other."""
    return max(1, min(DEFAULT_CPUS, (os.cpu_count() or 1) // labs))


def machine_argv(accel: str, cpus: int) -> list[str]:
    """Return the arguments that a saved machine and the machine that loads it must share. `accel` is `kvm` or `tcg`."""
    fast = ["-accel", "kvm", "-cpu", "host"] if accel == "kvm" else [
        "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max,-la57"]  # fmt: skip
    # If only one CPU is possible, QEMU (7.2) emulates without memory barriers: devices then miss the guest's doorbells, and
    # their commands hang until the kernel's timeout.
    possible = max(cpus, 2)
    argv = [
        tool("qemu-system-x86_64"), "-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none",
        "-machine", "q35,vmport=off,smm=off,usb=off,graphics=off", *fast,
        "-smp", f"{cpus},maxcpus={possible}", "-m", str(MEMORY_MIB), "-rtc", "base=utc",
        "-device", "vmgenid,guid=auto",
        "-object", "rng-random,id=entropy,filename=/dev/urandom",
        "-device", "virtio-rng-pci,rng=entropy,addr=0x3",
        "-device", f"virtio-scsi-pci,id=scsi,addr=0x4,num_queues={_QUEUES}",
    ]  # fmt: skip
    for port in range(MAX_NVME):
        slot, function = divmod(port, _PORTS_PER_SLOT)
        many = ",multifunction=on" if function == 0 else ""
        argv += ["-device", f"pcie-root-port,id=rp{port},chassis={port + 1},slot={port + 1},io-reserve=0,"
                            f"addr={0x10 + slot:#x}.{function}{many}"]  # fmt: skip
    return argv


def own_argv(overlay: Path, port: int, qmp: Path, pid_file: Path, serial_log: Path) -> list[str]:
    """Return the arguments of one machine: the overlay of its root disk, its ssh port on the loopback, its files."""
    return [
        "-drive", f"if=none,id=root,format=qcow2,cache=unsafe,discard=unmap,file={_quoted(overlay)}",
        "-device", "virtio-blk-pci,drive=root,serial=RTLAB-SYSTEM,addr=0x5",
        "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22",
        "-device", "virtio-net-pci,netdev=net,romfile=,addr=0x6",
        "-chardev", f"file,id=serial,append=on,path={_quoted(serial_log)}", "-serial", "chardev:serial",
        "-qmp", f"unix:{_quoted(qmp)},server=on,wait=off",
        "-pidfile", str(pid_file), "-daemonize",
    ]  # fmt: skip


def boot_argv(kernel: Path, initrd: Path) -> list[str]:
    return ["-kernel", str(kernel), "-initrd", str(initrd), "-append", KERNEL_LINE]


def snapshot_key(accel: str, cpus: int, prepared: str) -> str:
    """Return a key of all that a saved machine depends on: QEMU's version, its arguments, the commands run in it."""
    version = proc.run([tool("qemu-system-x86_64"), "--version"], timeout_s=20).out
    cpu = read_text("/proc/cpuinfo") if accel == "kvm" else ""
    model = next((line for line in (cpu or "").splitlines() if line.startswith("model name")), "")
    shape = "\0".join([*machine_argv(accel, cpus), KERNEL_LINE, model, prepared])
    return hashlib.sha256(version + shape.encode()).hexdigest()[:12]


def block_node(disk: LabDisk, folder: Path, fails: str = "") -> dict[str, Any]:
    """Return the arguments of `blockdev-add`: zeroes and discards become holes in the host's file, flushes do nothing.

    `fails`: kind of request (`read`, `write`) that always ends in an error.
    """
    quick = {"discard": "unmap", "cache": {"direct": False, "no-flush": True}}
    file: dict[str, Any] = {"driver": "file", "filename": str(folder / disk.file_name), **quick}
    if fails:
        kinds = ("write", "write-zeroes", "discard") if fails == "write" else (fails,)
        errors = [{"event": "none", "iotype": kind, "errno": errno.EIO} for kind in kinds]
        file = {"driver": "blkdebug", "image": file, "inject-error": errors, **quick}
    return {"driver": "raw", "node-name": disk.node, "detect-zeroes": "unmap", "file": file, **quick}


def device(disk: LabDisk) -> dict[str, Any]:
    """Return the arguments of `device_add`."""
    common = {
        "id": disk.node, "drive": disk.node, "serial": disk.serial,
        "logical_block_size": disk.spec.sector_bytes, "physical_block_size": 4096,
    }  # fmt: skip
    if disk.spec.kind == "nvme":
        return common | {"driver": "nvme", "bus": f"rp{disk.port}", "max_ioqpairs": _QUEUES, "msix_qsize": _QUEUES + 1}
    scsi = common | {
        "driver": "scsi-hd", "bus": "scsi.0", "scsi-id": disk.port, "lun": 0, "wwn": disk.wwn,
        "vendor": "RTLAB", "product": disk.model, "device_id": disk.serial,
    }  # fmt: skip
    if disk.spec.kind == "hdd":
        return scsi | {"rotation_rate": 7200, "discard_granularity": 0}
    return scsi | {"rotation_rate": 1, "discard_granularity": 4096}


def _quoted(path: Path) -> str:
    """Return a path for QEMU's option lists, where a comma is doubled."""
    return str(path).replace(",", ",,")


class QmpError(Exception):
    """QEMU refused a command, or does not answer."""


class Qmp:
    """One connection to QEMU, used as a context manager. QEMU serves one at a time, so it should be short."""

    def __init__(self, path: Path, timeout_s: float = 30.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._buffer = bytearray()
        self.events: list[dict[str, Any]] = []
        deadline = time.monotonic() + timeout_s
        try:
            _connect(self._socket, path, deadline)
            self._receive(deadline)
            self.command("qmp_capabilities", timeout_s=timeout_s)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Qmp:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._socket.close()

    def command(self, name: str, /, timeout_s: float = 30.0, **arguments: Any) -> Any:
        """Send a command and return its result. Raises QmpError if QEMU refuses or does not answer in time."""
        message: dict[str, Any] = {"execute": name}
        if arguments:
            message["arguments"] = arguments
        try:
            self._socket.sendall(msgspec.json.encode(message) + b"\n")
        except OSError as error:
            raise QmpError(f"{name}: QEMU is gone ({error.strerror})") from error
        deadline = time.monotonic() + timeout_s
        while True:
            answer = self._receive(deadline)
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise QmpError(f"{name}: {answer['error'].get('desc', answer['error'])}")
            self.events.append(answer)

    def wait_event(self, name: str, timeout_s: float, **data: Any) -> dict[str, Any]:
        """Return the next event (or an earlier unread one) of that name whose data contains these values."""
        deadline = time.monotonic() + timeout_s
        while True:
            for event in self.events:
                if event.get("event") == name and data.items() <= event.get("data", {}).items():
                    self.events.remove(event)
                    return event
            self.events.append(self._receive(deadline))

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise QmpError("QEMU does not answer")
            self._socket.settimeout(left_s)
            try:
                chunk = self._socket.recv(65536)
            except TimeoutError as error:
                raise QmpError("QEMU does not answer") from error
            except OSError as error:
                raise QmpError(f"QEMU is gone ({error.strerror})") from error
            if not chunk:
                raise QmpError("QEMU is gone")
            self._buffer += chunk
        line, _, rest = self._buffer.partition(b"\n")
        self._buffer = bytearray(rest)
        answer: dict[str, Any] = msgspec.json.decode(line)
        return answer


def _connect(sock: socket.socket, path: Path, deadline: float) -> None:
    while True:
        sock.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            return sock.connect(str(path))
        except OSError as error:
            if time.monotonic() > deadline:
                raise QmpError(f"QEMU does not answer on {path} ({error})") from error
            time.sleep(0.05)


Fails = Literal["", "read", "write"]

_PORT_TRIES = 5
_LOAD_TIMEOUT_S = 120.0
_UNPLUG_TIMEOUT_S = 30.0


def make_overlay(path: Path, backing: Path) -> None:
    """Create a root disk whose unwritten parts are those of `backing`."""
    path.unlink(missing_ok=True)
    argv = [tool("qemu-img"), "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(backing), str(path)]
    proc.run(argv, timeout_s=60)


def start(files: LabFiles, image: Path, accel: str, cpus: int, *, incoming: bool = False) -> int:
    """Start QEMU, paused; return the loopback port of the guest's ssh server. With `incoming` it waits for `load`."""
    files.qmp.unlink(missing_ok=True)
    files.pid_file.unlink(missing_ok=True)
    for attempt in range(1, _PORT_TRIES + 1):
        port = _free_port()
        argv = [
            *machine_argv(accel, cpus),
            *own_argv(files.overlay, port, files.qmp, files.pid_file, files.serial_log),
            *boot_argv(image / "vmlinuz", image / "initrd"),
            "-S",
            *(["-incoming", "defer"] if incoming else []),
        ]  # fmt: skip
        try:
            proc.run(argv, timeout_s=60, cwd="/")
        except proc.ToolError as error:
            # Another process may take the port before QEMU starts.
            if "host forwarding" in error.reason and attempt < _PORT_TRIES:
                continue
            raise fail(LAB_QEMU, f"QEMU does not start: {error.reason}", exit=Exit.BUILD_FAILED) from error
        return port
    raise AssertionError("unreachable")


def load(qmp: Qmp, state_file: Path) -> None:
    """Load a saved machine into one that was started with `incoming`. It stays paused."""
    qmp.command("migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}])
    qmp.command("migrate-incoming", uri=f"exec:exec cat {shlex.quote(str(state_file))}")
    _await_migration(qmp, "the saved machine cannot be loaded")


def save(qmp: Qmp, state_file: Path) -> None:
    """Pause the machine and write its memory and devices to `state_file`."""
    qmp.command("stop")
    qmp.command("migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}])
    unlimited: dict[str, Any] = {"max-bandwidth": 1 << 36}
    qmp.command("migrate-set-parameters", **unlimited)
    qmp.command("migrate", uri=f"exec:exec cat > {shlex.quote(str(state_file))}")
    _await_migration(qmp, "the machine cannot be saved")


def _await_migration(qmp: Qmp, trouble: str) -> None:
    """Wait until QEMU has saved or loaded the machine. Raises QmpError with the text `trouble` if that failed."""
    while True:
        status = qmp.wait_event("MIGRATION", _LOAD_TIMEOUT_S)["data"]["status"]
        if status == "completed":
            return
        if status == "failed":
            raise QmpError(trouble)


def plug(qmp: Qmp, folder: Path, disks: Sequence[LabDisk], fails: Fails = "") -> None:
    """Plug disks into the machine, in this order."""
    for disk in disks:
        qmp.command("blockdev-add", **block_node(disk, folder, fails))
        try:
            qmp.command("device_add", **device(disk))
        except QmpError:
            _drop_node(qmp, disk)
            raise


def plug_link(qmp: Qmp, end: End, sockets: Path) -> None:
    """Plug the network card at one end of a link into the machine. The link's socket is in the folder `sockets`.

    The storage server's end listens for as long as its machine runs; the client's end is connected to it.
    """
    name = f"link{end.number}"
    if end.at_server:
        qmp.command("netdev_add", type="stream", id=name, server=True, addr=_socket(end.number, sockets))
        _wait_listening(sockets / name)
    else:
        # A hub between card and connection: the connection can be replaced, and the guest keeps its card.
        qmp.command("netdev_add", type="hubport", id=name, hubid=end.number)
        connect_link(qmp, end.number, sockets)
    qmp.command("device_add", driver="virtio-net-pci", netdev=name, id=f"{name}-card", mac=end.mac, romfile="",
                bus=f"rp{MAX_NVME - end.number}")  # fmt: skip


def connect_link(qmp: Qmp, number: int, sockets: Path) -> None:
    """Connect the client's end of a link to the storage server's machine, again if that was started anew.

    QEMU before 8.0 does not reconnect by itself.
    """
    wire, port = f"wire{number}", f"wire{number}-port"
    for old in (wire, port):
        with suppress(QmpError):  # at the first time there is none
            qmp.command("netdev_del", id=old)
    qmp.command("netdev_add", type="stream", id=wire, server=False, addr=_socket(number, sockets))
    qmp.command("netdev_add", type="hubport", id=port, hubid=number, netdev=wire)


def _wait_listening(path: Path, timeout_s: float = 30.0) -> None:
    """Wait until QEMU listens on the socket, which it begins after it has answered the command."""
    deadline = time.monotonic() + timeout_s
    accepts = "00010000"  # the column Flags of /proc/net/unix: proc(5)
    while not any(words[3] == accepts and words[7:] == [str(path)] for words in _unix_sockets()):
        if time.monotonic() > deadline:
            raise QmpError(f"QEMU does not listen on {path}")
        time.sleep(0.02)


def _unix_sockets() -> list[list[str]]:
    return [line.split(None, 7) for line in (read_text("/proc/net/unix") or "").splitlines()]


def _socket(number: int, sockets: Path) -> dict[str, Any]:
    return {"type": "unix", "path": str(sockets / f"link{number}")}


def set_link(qmp: Qmp, number: int, *, up: bool) -> None:
    """Cut or restore a link at one end, as if the cable was pulled or plugged in: the guest's card loses its carrier."""
    qmp.command("set_link", name=f"link{number}", up=up)


def unplug(qmp: Qmp, disk: LabDisk) -> None:
    """Unplug a disk and wait until the guest has released it."""
    qmp.command("device_del", id=disk.node)
    qmp.wait_event("DEVICE_DELETED", _UNPLUG_TIMEOUT_S, device=disk.node)
    _drop_node(qmp, disk)


def _drop_node(qmp: Qmp, disk: LabDisk) -> None:
    arguments: dict[str, Any] = {"node-name": disk.node}
    qmp.command("blockdev-del", **arguments)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
