"""Reach the guest over ssh and keep its copy of raidtui the same as the one running here."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from raidtui.base import proc
from raidtui.base.files import write_atomic
from raidtui.lab.host import tool
from raidtui.lab.state import DEFAULT_NAME, LabFiles, LabState
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.remote.pack import Code, local_code
from raidtui.remote.start import code_message, link_script

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


def write_config(path: Path, port: int, image: Path, master: Path, clients: Sequence[LabFiles] = ()) -> None:
    """Write the configuration, and beside it copies of the image's keys: a lab outlives its image in the cache.

    The configuration of a host names it `lab`; that of a storage server names its clients, too (`lab-c1`).
    """
    for name in ("key", "known_hosts"):
        if not (path.parent / name).exists():
            write_atomic(path.parent / name, (image / name).read_bytes())
    text = config_text(port, path.parent / "key", path.parent / "known_hosts", master)
    for client in clients:
        text += client.ssh_config.read_text().replace(f"Host {HOST}\n", f"\nHost {HOST}-{client.host}\n")
    write_atomic(path, text.encode())


def argv(config: Path, *, multiplexed: bool = True, tty: bool = False) -> list[str]:
    """Return the argv prefix that runs a command in the guest. Without `multiplexed` a new connection is made."""
    own = [] if multiplexed else ["-o", "ControlMaster=no", "-o", "ControlPath=none"]
    return [tool("ssh"), "-F", str(config), *own, *(["-t"] if tty else []), HOST]


def wait_for_server(port: int, timeout_s: float, lives: Callable[[], object] = lambda: True) -> bool:
    """Wait until an ssh server answers on the port. Return False after `timeout_s`, or if its machine no longer `lives`."""
    deadline = time.monotonic() + timeout_s
    while (left_s := deadline - time.monotonic()) > 0 and lives():
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


def code() -> Code:
    """Return the code for a guest. Libraries are part of its image."""
    return local_code(())


def sync_files(ssh_argv: list[str]) -> bool:
    """Send this raidtui to the guest unless it has it already. Return True if it was sent."""
    wanted = code()
    script = link_script(wanted.version)
    there = proc.run([*ssh_argv, script], timeout_s=60, check=False)
    if there.text.strip() == "raidtui: there":
        return False
    proc.run([*ssh_argv, script], timeout_s=120, input_bytes=code_message(wanted, (), link=True))
    return True


def running_lab(name: str) -> tuple[LabFiles, LabState]:
    """Return files and state of a running lab. Raises ProblemError (`lab.down`)."""
    files = LabFiles(name)
    state = files.load()
    if state is None or not state.ready or not files.pids():
        up_line = "raidtui lab up" + ("" if files.lab == DEFAULT_NAME else f" {files.lab}")
        raise fail(LAB_DOWN, f"{files.title} is not up", remedy=up_line)
    return files, state


def lab_argv(name: str = DEFAULT_NAME, *, multiplexed: bool = False, tty: bool = False) -> list[str]:
    """Return the argv prefix that runs a command in a running lab."""
    files, _ = running_lab(name)
    return argv(files.ssh_config, multiplexed=multiplexed, tty=tty)


def sync_code(name: str = DEFAULT_NAME) -> bool:
    """Send this raidtui to the guest unless it has it already. Return True if it was sent."""
    return sync_files(lab_argv(name, multiplexed=True))
