"""Command that starts an engine on this machine, over ssh, or in a lab; and the reason when no engine answers."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.paths import ENTRY, state_folder
from raidtui.base.proc import CLEAN_ENV, ToolError
from raidtui.base.text import clean, clean_lines
from raidtui.model.problem import ProblemError, Refusal, fail

ENGINE_START: Final = Refusal(
    "engine-start",
    "The engine could not be started",
    "The command that starts raidtui there failed or did not answer. Nothing was requested.",
    "Check that raidtui is installed there: `ssh HOST raidtui --version` must print its version.",
)
PLACE: Final = Refusal(
    "place",
    "Not a valid place",
    "--on takes an ssh destination, `lab`, `lab:NAME`, `sim`, or `sim:FILE` with recorded disks.",
    "Write user@host; `raidtui lab status` lists the labs.",
)
UNREACHABLE: Final = Refusal(
    "unreachable",
    "The server cannot be reached",
    "ssh could not log in to the server; the message quotes ssh. Nothing was requested.",
    "Make `ssh HOST` work from this account first.",
)


class Place(NamedTuple):
    """Command that starts an engine. `env` is the whole environment of the command."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]


def place(on: str) -> Place:
    """Return the place of `--on`.

    `""` is this machine, `lab` or `lab:NAME` a lab, `sim` or `sim:FILE` a simulated server, anything else an ssh
    destination.

    Raises ProblemError: `place` for a destination that ssh could take for an option, and for a lab that is not up;
    `recording` for a file without recorded disks.
    """
    if not on:
        return _here()
    # ssh needs its agent, its config and a terminal for the passphrase: the caller's environment, untouched.
    env = dict(os.environ)
    if on == "sim" or on.startswith("sim:"):
        return _simulated(on.partition(":")[2])
    if on == "lab" or on.startswith("lab:"):
        from raidtui.lab import ssh as lab_ssh

        name = on.partition(":")[2] or "default"
        try:
            ssh_argv = lab_ssh.engine_argv(name)
        except ToolError as error:
            # A running lab that does not answer is retried like any other server.
            raise fail(ENGINE_START, str(error), place=f"lab {name}") from None
        return Place(f"lab {name}", (*ssh_argv, "raidtui", "engine"), env)
    if not re.fullmatch(r"[A-Za-z0-9_.@:%\[\]-]{1,200}", on) or on.startswith("-"):
        raise fail(PLACE, f"{on[:80]!r} is not an ssh destination", remedy="Write user@host, or lab, or lab:NAME.")
    return Place(on, ("ssh", "-T", "-o", "ServerAliveInterval=15", "--", on, "raidtui", "engine"), env)


def _here() -> Place:
    argv = (engine_python(), "-I", str(ENTRY), "engine")
    if os.geteuid() == 0:
        return Place("this machine", argv, CLEAN_ENV)
    # Without root the engine still lists disks and reads scenarios; other requests are refused.
    prefix: tuple[str, ...] = ("sudo", "--") if sys.stdin.isatty() and os.environ.get("RAIDTUI_SUDO") != "no" else ()
    keep = {key: os.environ[key] for key in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME") if key in os.environ}
    return Place("this machine", prefix + argv, {**CLEAN_ENV, **keep})


def _simulated(recording: str) -> Place:
    """A server of recorded disks: it needs no rights, and keeps its runs apart from those of real servers."""
    if recording:
        from raidtui.model.recording import read_recording  # only this place needs the protocol's structs

        read_recording(Path(recording))  # a wrong file is told at once
    argv = (engine_python(), "-I", str(ENTRY), "engine", "--simulate", str(Path(recording).absolute()) if recording else "")
    home = {key: os.environ[key] for key in ("HOME",) if key in os.environ}
    return Place("simulated server", argv, {**CLEAN_ENV, **home, "XDG_STATE_HOME": str(state_folder() / "simulated")})


def engine_python() -> str:
    """Return the system's Python if it can run the engine (only it has gi and the storage libraries), else this Python."""
    system = "/usr/bin/python3"
    # Looking for the folder is enough here; `doctor` checks thoroughly.
    if any(Path(system).parent.parent.glob("lib/python3/dist-packages/msgspec/__init__.py")):
        return system
    return sys.executable


_SSH_FAILED: Final = 255
_NOT_EXECUTABLE: Final = 126
_NOT_FOUND: Final = 127

_WAYS_OUT: Final = (
    (r"could not resolve|name or service not known|nodename nor servname|temporary failure in name", "Check the name."),
    (r"connection refused", "Does sshd run there, on that port?"),
    (r"timed out|no route to host|network is unreachable|host is down", "Is the server up, and does the network reach it?"),
    (r"host key verification failed|identification has changed",
     "Connect once with `ssh HOST` and look at the host key before you accept it."),
    (r"permission denied|too many authentication failures", "`ssh HOST` must be able to log in first."),
)  # fmt: skip


def not_reached(place: Place, code: int | None, said: str) -> ProblemError:
    """Return the problem of an engine command that ended with exit code `code` before its hello. `said` is its output."""
    text = f": {said}" if said else ""
    if Path(place.argv[0]).name == "ssh" and code == _SSH_FAILED:
        way = next((way for pattern, way in _WAYS_OUT if re.search(pattern, said, re.IGNORECASE)), "`ssh HOST` must work.")
        return fail(UNREACHABLE, f"cannot reach {clean(place.name)}{text or ': ssh ended without a message'}",
                    place=place.name, remedy=way.replace("HOST", place.name))  # fmt: skip
    if code in (_NOT_EXECUTABLE, _NOT_FOUND):
        return fail(ENGINE_START, f"raidtui is not installed on {clean(place.name)}{text}", place=place.name,
                    remedy="Install it there, where a shell that is not interactive finds it.")  # fmt: skip
    ended = "" if code is None else f", it ended with {code}"
    return fail(ENGINE_START, f"the engine did not start{ended}{text}", place=place.name,
                remedy="Does `raidtui --version` work there?")  # fmt: skip


def last_words(noise: bytes) -> str:
    """Return the end of a command's output as lines without control characters."""
    return clean_lines(noise[-2000:]).strip()
