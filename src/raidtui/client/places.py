"""Command that starts an engine on this machine, over ssh, or in a lab; and the reason when no engine answers."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from raidtui.base.paths import ENTRY, engine_python, state_folder
from raidtui.base.proc import CLEAN_ENV
from raidtui.base.text import clean, clean_lines
from raidtui.model.problem import ProblemError, Refusal, fail

if TYPE_CHECKING:
    from raidtui.remote.pack import Code

ENGINE_START: Final = Refusal(
    "engine-start",
    "The engine could not be started",
    "The command that starts raidtui there failed or did not answer. Nothing was requested.",
    "The message has its output. Over ssh raidtui brings its code along; the server needs Python 3.11 or newer, and root.",
)
PLACE: Final = Refusal(
    "place",
    "Not a valid place",
    "--on takes an ssh destination, `lab`, `lab:NAME[/c1]`, `sim`, `sim:NAME`, or `sim:FILE` with recorded disks.",
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
    code: Code | None = None
    """Code that the command may ask for before the engine starts (`remote/start.py`)."""
    shell: tuple[str, ...] | None = None
    """Argv before a line of shell that a server runs; None on this machine."""
    unattended: bool = False
    """True if the command has no terminal: it asks nothing, and Ctrl-C does not reach it."""


def place(on: str) -> Place:
    """Return the place of `--on`.

    `""` is this machine, `lab` or `lab:NAME` a lab (`lab:NAME/c1` its first client), `sim`, `sim:NAME` or `sim:FILE` a
    simulated server, anything else an ssh destination.

    Raises ProblemError: `place` for a destination that ssh could take for an option, and for a lab that is not up;
    `recording` for a file without recorded disks.
    """
    if not on:
        return _here()
    if on == "sim" or on.startswith("sim:"):
        return _simulated(on.partition(":")[2])
    if on == "lab" or on.startswith("lab:"):
        from raidtui.lab import ssh as lab_ssh

        name = on.partition(":")[2] or "default"
        return _remote(f"lab {name}", lab_ssh.lab_argv(name, multiplexed=True), lab_ssh.code())
    if not re.fullmatch(r"[A-Za-z0-9_.@:%\[\]-]{1,200}", on) or on.startswith("-"):
        raise fail(PLACE, f"{on[:80]!r} is not an ssh destination", remedy="Write user@host, or lab, or lab:NAME.")
    return _remote(on, ("ssh", "-T", "-o", "ServerAliveInterval=15", "--", on), _code())


@lru_cache(maxsize=1)
def _code() -> Code:
    """Return this raidtui's code, read once: a hundred servers get the same."""
    from raidtui.remote.pack import local_code  # only a server needs it

    return local_code()


def _remote(name: str, ssh: Sequence[str], code: Code) -> Place:
    from raidtui.remote.start import as_root, start_script

    # ssh needs its agent, its config and a terminal for the passphrase: the caller's environment, untouched.
    return Place(name, (*ssh, as_root(start_script(code.version))), dict(os.environ), code, tuple(ssh))


_CONNECT_S: Final = 20


def unattended(where: Place) -> Place:
    """Return a place for one of many servers: questions of several logins would mix on one terminal, so none is asked."""
    argv = where.argv
    if argv[0] == "ssh":
        argv = ("ssh", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={_CONNECT_S}", *argv[1:])
    return where._replace(argv=argv, unattended=True)


def root_argv(place: Place, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the argv that runs a command as root on the machine of a place."""
    if place.shell is None:
        return (*(() if os.geteuid() == 0 else ("sudo", "--")), *argv)
    from raidtui.remote.start import as_root

    return (*place.shell, as_root(shlex.join(argv)))


def _here() -> Place:
    argv = (engine_python(), "-I", str(ENTRY), "engine")
    if os.geteuid() == 0:
        return Place("this machine", argv, CLEAN_ENV)
    # Without root the engine still lists disks and reads scenarios; other requests are refused.
    prefix: tuple[str, ...] = ("sudo", "--") if sys.stdin.isatty() and os.environ.get("RAIDTUI_SUDO") != "no" else ()
    keep = {key: os.environ[key] for key in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME") if key in os.environ}
    return Place("this machine", prefix + argv, {**CLEAN_ENV, **keep})


def _simulated(word: str) -> Place:
    """A server of recorded disks: it needs no rights, and keeps its runs apart from those of real servers."""
    from raidtui.model.recording import named, read_recording  # only this place needs the protocol's structs

    name, state = "simulated server", state_folder() / "simulated"
    if (own := named(word)) is not None:
        name, state = f"{name} {own.name}", state / "named" / own.name
    elif word:
        read_recording(Path(word))  # a wrong file is told at once
        word = str(Path(word).absolute())
    argv = (engine_python(), "-I", str(ENTRY), "engine", "--simulate", word)
    home = {key: os.environ[key] for key in ("HOME",) if key in os.environ}
    return Place(name, argv, {**CLEAN_ENV, **home, "XDG_STATE_HOME": str(state)})


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
    if place.code is not None:
        from raidtui.client.not_started import not_started  # only after a failure

        if (found := not_started(place.name, said)) is not None:
            return found
    text = f": {said}" if said else ""
    if Path(place.argv[0]).name == "ssh" and code == _SSH_FAILED:
        way = next((way for pattern, way in _WAYS_OUT if re.search(pattern, said, re.IGNORECASE)), "`ssh HOST` must work.")
        return fail(UNREACHABLE, f"cannot reach {clean(place.name)}{text or ': ssh ended without a message'}",
                    place=place.name, remedy=way.replace("HOST", place.name))  # fmt: skip
    if code in (_NOT_EXECUTABLE, _NOT_FOUND):
        return fail(ENGINE_START, f"a program that starts raidtui is missing on {clean(place.name)}{text}",
                    place=place.name,
                    remedy="It needs /bin/sh, and the programs stat, id and grep.")  # fmt: skip
    ended = "" if code is None else f", it ended with {code}"
    return fail(ENGINE_START, f"the engine did not start{ended}{text}", place=place.name,
                remedy="Nothing was requested. The output of its command says why.")  # fmt: skip


def last_words(noise: bytes) -> str:
    """Return the end of a command's output as lines without control characters."""
    return clean_lines(noise[-2000:]).strip()
