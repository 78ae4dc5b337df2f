"""How to reach a lab that is up: the argv prefix of everything that runs in it."""

from __future__ import annotations

from raidtui.lab import code, ssh
from raidtui.lab.state import DEFAULT_NAME, LabFiles, LabState
from raidtui.model.problem import fail


def running_lab(name: str) -> tuple[LabFiles, LabState]:
    """A lab that is up, or a ProblemError that says how to get one."""
    files = LabFiles(name)
    state = files.load()
    if state is None or not state.ready or not files.pids():
        up_line = "raidtui lab up" + ("" if name == DEFAULT_NAME else f" {name}")
        raise fail("lab.down", f"lab {name} is not up", remedy=up_line)
    return files, state


def ssh_argv(name: str = DEFAULT_NAME, *, multiplexed: bool = False, tty: bool = False) -> list[str]:
    """The argv prefix that runs a command in a lab that is up."""
    files, _ = running_lab(name)
    return ssh.argv(files.ssh_config, multiplexed=multiplexed, tty=tty)


def engine_argv(name: str = DEFAULT_NAME) -> list[str]:
    """The argv prefix for the client, once the guest's raidtui is the one that runs here."""
    argv = ssh_argv(name, multiplexed=True)
    code.sync(argv)
    return argv


def sync_code(name: str = DEFAULT_NAME) -> bool:
    """Make the guest's raidtui the one that runs here. True when something had to be sent."""
    return code.sync(ssh_argv(name, multiplexed=True))
