"""Where an engine runs, as an argv: this machine, another server over ssh, or the lab. One client, another prefix."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from raidtui.base.proc import CLEAN_ENV, ToolError
from raidtui.model.problem import fail


class Place(NamedTuple):
    """How to start an engine there. `env` is the whole environment of the argv."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]


def place(on: str) -> Place:
    """`""` is this machine, `lab` or `lab:NAME` a lab, anything else an ssh destination.

    Raises ProblemError (code `place`) for a destination that ssh could take for an option, and for a lab that is not up.
    """
    if not on:
        return _here()
    if on == "lab" or on.startswith("lab:"):
        from raidtui.lab import address as lab_address

        name = on.partition(":")[2] or "default"
        try:
            ssh_argv = lab_address.engine_argv(name)
        except ToolError as error:
            # A lab that is up and does not answer: worth another try, as with any other server.
            raise fail("engine-start", str(error), place=f"lab {name}") from None
        return Place(f"lab {name}", (*ssh_argv, "raidtui", "engine"), _ssh_env())
    if not re.fullmatch(r"[A-Za-z0-9_.@:%\[\]-]{1,200}", on) or on.startswith("-"):
        raise fail("place", f"{on[:80]!r} is not an ssh destination", remedy="Write user@host, or lab, or lab:NAME.")
    return Place(on, ("ssh", "-T", "-o", "ServerAliveInterval=15", "--", on, "raidtui", "engine"), _ssh_env())


def _here() -> Place:
    main = str(Path(__file__).resolve().parent.parent / "__main__.py")
    argv = (engine_python(), "-I", main, "engine")
    if os.geteuid() == 0:
        return Place("this machine", argv, CLEAN_ENV)
    # Without root the engine still lists disks and reads scenarios; what needs root says so.
    prefix: tuple[str, ...] = ("sudo", "--") if sys.stdin.isatty() and os.environ.get("RAIDTUI_SUDO") != "no" else ()
    keep = {key: os.environ[key] for key in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME") if key in os.environ}
    return Place("this machine", prefix + argv, {**CLEAN_ENV, **keep})


def engine_python() -> str:
    """The system's Python where it can run the engine (gi and the storage libraries live only there), else our own."""
    system = "/usr/bin/python3"
    # A look at the folders is enough and costs nothing; the engine's `doctor` does the real check.
    if any(Path(system).parent.parent.glob("lib/python3/dist-packages/msgspec/__init__.py")):
        return system
    return sys.executable


def _ssh_env() -> Mapping[str, str]:
    # ssh needs its agent, its config and a terminal for the passphrase: the caller's environment, untouched.
    return dict(os.environ)
