"""Reach the guest over ssh and keep its copy of raidtui the same as the one running here."""

from __future__ import annotations

import contextlib
import hashlib
import io
import socket
import tarfile
import time
from pathlib import Path
from typing import Final

import raidtui
from raidtui.base import proc
from raidtui.base.files import write_atomic
from raidtui.lab.host import tool
from raidtui.lab.state import DEFAULT_NAME, LabFiles, LabState
from raidtui.model.problem import Exit, Refusal, fail

LAB_DOWN: Final = Refusal(
    "lab.down",
    "The lab is not up",
    "No lab of this name is running.",
    "`raidtui lab up` starts it; `raidtui lab status` lists the labs.",
)
LAB_SSH: Final = Refusal(
    "lab.ssh",
    "The lab refuses the ssh connection",
    "The machine runs, but its ssh server does not accept the key of the lab.",
    "Run `raidtui lab down`, then `raidtui lab up`.",
)

HOST = "lab"


def config_text(port: int, key: Path, known_hosts: Path, master: Path) -> str:
    """An ssh_config for one lab. Nothing of the operator's own configuration, agent or known hosts takes part."""
    return f"""\
Host {HOST}
    HostName 127.0.0.1
    Port {port}
    User root
    IdentityFile "{key}"
    IdentitiesOnly yes
    IdentityAgent none
    HostKeyAlias raidtui-lab
    UserKnownHostsFile "{known_hosts}"
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    UpdateHostKeys no
    BatchMode yes
    PreferredAuthentications publickey
    KexAlgorithms curve25519-sha256
    Ciphers aes128-gcm@openssh.com
    Compression no
    ConnectTimeout 20
    ServerAliveInterval 15
    ServerAliveCountMax 8
    LogLevel ERROR
    ControlMaster auto
    ControlPath "{master}"
    ControlPersist yes
"""


def write_config(path: Path, port: int, image: Path, master: Path) -> None:
    """Write the configuration, and beside it copies of the image's keys: a lab outlives its image in the cache."""
    for name in ("key", "known_hosts"):
        if not (path.parent / name).exists():
            write_atomic(path.parent / name, (image / name).read_bytes())
    write_atomic(path, config_text(port, path.parent / "key", path.parent / "known_hosts", master).encode())


def argv(config: Path, *, multiplexed: bool = True, tty: bool = False) -> list[str]:
    """Return the argv prefix that runs a command in the guest. Without `multiplexed` a new connection is made."""
    own = [] if multiplexed else ["-o", "ControlMaster=no", "-o", "ControlPath=none"]
    return [tool("ssh"), "-F", str(config), *own, *(["-t"] if tty else []), HOST]


def wait_for_server(port: int, timeout_s: float) -> bool:
    """Wait until an ssh server answers on the port. Return False after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while (left_s := deadline - time.monotonic()) > 0:
        try:
            # QEMU accepts before the guest listens; only the greeting tells.
            with socket.create_connection(("127.0.0.1", port), timeout=min(left_s, 5.0)) as sock:
                if sock.recv(4) == b"SSH-":
                    return True
        except OSError:
            pass
        time.sleep(0.1)
    return False


def open_master(config: Path, timeout_s: float) -> None:
    """Open the shared connection in the background, tied to no terminal or caller."""
    child = proc.spawn([*argv(config)[:-1], "-f", "-N", HOST], stdout=proc.DEVNULL, stderr=proc.DEVNULL, new_session=True)
    code = child.wait(timeout_s)
    if code != 0:
        child.end()
        raise fail(LAB_SSH, "the lab's machine runs, but refused the ssh connection", exit=Exit.BUILD_FAILED,
                   remedy="raidtui lab down, then raidtui lab up")  # fmt: skip


def close_master(config: Path, master: Path) -> None:
    """End the shared connection, if there is one."""
    if master.exists() and config.exists():
        with contextlib.suppress(proc.ToolError):
            proc.run([*argv(config)[:-1], "-O", "exit", HOST], timeout_s=5, check=False)
    master.unlink(missing_ok=True)


GUEST_FOLDER: Final = "/opt/raidtui"
_SKIPPED: Final = ("__pycache__",)


def local_files() -> list[tuple[str, Path]]:
    """Return the files to send, as (name under `/opt/raidtui`, file here), in a stable order."""
    package = Path(raidtui.__file__).resolve().parent
    found = [(f"raidtui/{path.relative_to(package)}", path) for path in _files(package)]
    # In a checkout what is shipped lies at the top of the repository, in an installed package inside of it.
    top = package.parents[1]
    if (top / "pyproject.toml").exists():
        for kind in ("scenarios", "themes"):
            found += [(f"raidtui/shipped/{kind}/{path.relative_to(top / kind)}", path) for path in _files(top / kind)]
    return sorted(found)


def pack_code(files: list[tuple[str, Path]]) -> tuple[str, bytes]:
    """Return the hash of the files and a tar of them, which contains the hash as `.hash`."""
    digest = hashlib.sha256()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, path in files:
            data = path.read_bytes()
            digest.update(f"{name}\0{len(data)}\0".encode())
            digest.update(data)
            _add(tar, name, data, int(path.stat().st_mtime))
        _add(tar, ".hash", digest.hexdigest().encode(), 0)
    return digest.hexdigest(), buffer.getvalue()


def receive_script() -> str:
    """Return the shell command that replaces the guest's raidtui with the tar on its standard input, in one step."""
    return (
        f"set -e; rm -rf {GUEST_FOLDER}.new; mkdir -p {GUEST_FOLDER}.new; tar -xf - -C {GUEST_FOLDER}.new --no-same-owner; "
        f"rm -rf {GUEST_FOLDER}.old; if [ -e {GUEST_FOLDER} ]; then mv {GUEST_FOLDER} {GUEST_FOLDER}.old; fi; "
        f"mv {GUEST_FOLDER}.new {GUEST_FOLDER}; rm -rf {GUEST_FOLDER}.old; sync -f /opt"
    )


def sync_files(ssh_argv: list[str]) -> bool:
    """Send this raidtui to the guest unless it has it already. Return True if it was sent."""
    wanted, tar = pack_code(local_files())
    there = proc.run([*ssh_argv, f"cat {GUEST_FOLDER}/.hash"], timeout_s=60, check=False)
    if there.text.strip() == wanted:
        return False
    proc.run([*ssh_argv, receive_script()], timeout_s=120, input_bytes=tar)
    return True


def _files(folder: Path) -> list[Path]:
    return [p for p in sorted(folder.rglob("*")) if p.is_file() and not set(_SKIPPED) & set(p.parts)]


def _add(tar: tarfile.TarFile, name: str, data: bytes, mtime: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = len(data), mtime, 0o644
    tar.addfile(entry, io.BytesIO(data))


def running_lab(name: str) -> tuple[LabFiles, LabState]:
    """Return files and state of a running lab. Raises ProblemError (`lab.down`)."""
    files = LabFiles(name)
    state = files.load()
    if state is None or not state.ready or not files.pids():
        up_line = "raidtui lab up" + ("" if name == DEFAULT_NAME else f" {name}")
        raise fail(LAB_DOWN, f"lab {name} is not up", remedy=up_line)
    return files, state


def lab_argv(name: str = DEFAULT_NAME, *, multiplexed: bool = False, tty: bool = False) -> list[str]:
    """Return the argv prefix that runs a command in a running lab."""
    files, _ = running_lab(name)
    return argv(files.ssh_config, multiplexed=multiplexed, tty=tty)


def engine_argv(name: str = DEFAULT_NAME) -> list[str]:
    """Return the argv prefix for the client, after updating the guest's raidtui."""
    argv = lab_argv(name, multiplexed=True)
    sync_files(argv)
    return argv


def sync_code(name: str = DEFAULT_NAME) -> bool:
    """Send this raidtui to the guest unless it has it already. Return True if it was sent."""
    return sync_files(lab_argv(name, multiplexed=True))
