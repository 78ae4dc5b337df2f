"""Reaching the guest: an ssh configuration of its own, with one shared connection that makes further ones cheap."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

from raidtui.base import proc
from raidtui.base.files import write_atomic
from raidtui.model.problem import Exit, fail

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
    """The argv prefix that runs a command in the guest. Without `multiplexed` it is a session of its own."""
    ssh = proc.find_tool("ssh")
    if ssh is None:
        raise fail("lab.tool-missing", "ssh is not installed", remedy="apt-get install openssh-client")
    own = [] if multiplexed else ["-o", "ControlMaster=no", "-o", "ControlPath=none"]
    return [ssh, "-F", str(config), *own, *(["-t"] if tty else []), HOST]


def wait_for_server(port: int, timeout_s: float) -> bool:
    """Wait until something that speaks ssh answers on the port. False after `timeout_s`."""
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
        raise fail("lab.ssh", "the lab's machine runs, but does not let us in", exit=Exit.BUILD_FAILED,
                   remedy="raidtui lab down, then raidtui lab up")  # fmt: skip


def close_master(config: Path, master: Path) -> None:
    """End the shared connection, if there is one."""
    if master.exists() and config.exists():
        with contextlib.suppress(proc.ToolError):
            proc.run([*argv(config)[:-1], "-O", "exit", HOST], timeout_s=5, check=False)
    master.unlink(missing_ok=True)
