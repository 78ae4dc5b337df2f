"""Reasons why raidtui does not start on a server that ssh reaches: no Python, a missing library, no room, no root."""

from __future__ import annotations

import re
import shlex
from typing import Final

from raidtui.base.text import clean
from raidtui.model.packages import family_of, install_argv, translated
from raidtui.model.problem import Problem, ProblemError, Refusal
from raidtui.remote.start import OLDEST_PYTHON, TOP, answer_in

SERVER_PYTHON: Final = Refusal(
    "server-python",
    "The server has no Python that is new enough",
    "The engine needs Python 3.11 or newer in /usr/bin. Nothing was changed there.",
    "Install it from the distribution; `raidtui --on HOST prepare` does it where the distribution is known.",
)
SERVER_LIBRARY: Final = Refusal(
    "server-library",
    "The server lacks a Python library",
    "The engine needs msgspec and pyudev. raidtui brings what is installed beside it, but a library with machine code fits "
    "only the same version of Python on the same kind of processor.",
    "`raidtui --on HOST prepare` installs the distribution's package. If there is none, run raidtui here with the server's "
    "version of Python: its library fits then.",
)
SERVER_FOLDER: Final = Refusal(
    "server-folder",
    "raidtui cannot be put on the server",
    "The code goes to /opt/raidtui. /opt and /opt/raidtui must be real folders of root that nobody else may write, and "
    "there must be room. What is there already was not changed.",
    "Correct what the message names, and try again.",
)
SERVER_ROOT: Final = Refusal(
    "server-root",
    "No root rights on the server",
    "The engine needs root. A user other than root gets there by `sudo -n`, which never asks for a password.",
    "Log in as root (`--on root@HOST`), or allow the user sudo without a password: a line `USER ALL=(root) NOPASSWD: ALL` "
    "in a file of /etc/sudoers.d.",
)

_PYTHONS: Final = {"apt": ("python3",), "dnf": ("python3.12",), "zypper": ("python311",)}
"""Package with a Python that is new enough, where the distribution has one."""
_SUDO_REFUSES: Final = r"^sudo: .*(password|terminal|tty)|not in the sudoers|not allowed to (run|execute)"


class Lacks(ProblemError):
    """The engine did not start because a package is missing."""

    def __init__(self, problem: Problem, distribution: str, packages: tuple[str, ...]) -> None:
        super().__init__(problem)
        self.distribution = distribution
        self.packages = packages
        """Its names in this distribution; none if it is not known."""


def not_started(name: str, said: str) -> ProblemError | None:
    """Return the problem that the command on server `name` told, or sudo did; None if it is none of these."""
    name, host, on = clean(name), clean(name.rpartition("@")[2]), clean(name.replace("lab ", "lab:"))
    if re.search(_SUDO_REFUSES, said, re.MULTILINE):
        return ProblemError(SERVER_ROOT.problem(
            f"sudo on {host} does not start raidtui without a password: {said}", place=name,
            remedy=f"--on root@{host}, or a line `USER ALL=(root) NOPASSWD: ALL` in a file of /etc/sudoers.d there."
        ))  # fmt: skip
    if (answer := answer_in(said)) is None:
        return None
    kind, text = answer.kind, clean(answer.text, 400)
    if kind == "sudo":
        return ProblemError(SERVER_ROOT.problem(
            "there is no sudo, and the user is not root", place=name, remedy=f"Log in as root: --on root@{host}"
        ))  # fmt: skip
    if kind == "python":
        return _without_python(name, on, *_split(text.removeprefix("ID=")))
    if kind == "library":
        library, rest = _split(text)
        return _without_library(name, on, library, *_split(rest))
    return ProblemError(SERVER_FOLDER.problem(
        f"raidtui cannot be put there: {text}", place=name,
        remedy=f"/opt and {TOP} must be real folders of root that nobody else may write, with 50 MB of room."
    ))  # fmt: skip


def _without_python(name: str, on: str, distribution: str, found: str) -> Lacks:
    distribution = distribution.strip('"')
    packages = _PYTHONS.get(family_of(distribution), ())
    oldest = ".".join(map(str, OLDEST_PYTHON))
    return Lacks(
        SERVER_PYTHON.problem(
            f"no Python {oldest} or newer is in /usr/bin: {found or 'no python3'}", place=name,
            remedy=_install(on, distribution, packages) or f"Install Python {oldest} or newer there.",
        ), distribution, packages,
    )  # fmt: skip


def _without_library(name: str, on: str, library: str, distribution: str, about: str) -> Lacks:
    packages = translated(distribution, (f"python3-{library}",)) if family_of(distribution) else ()
    other = "If it has no such package, run raidtui here under the same version of Python: its library fits then."
    return Lacks(
        SERVER_LIBRARY.problem(
            f"{library} is not installed for its Python ({about}), and the one here does not fit", place=name,
            remedy="\n".join(filter(None, (_install(on, distribution, packages), other))),
        ), distribution, packages,
    )  # fmt: skip


def _install(on: str, distribution: str, packages: tuple[str, ...]) -> str:
    argv = install_argv(distribution, packages)
    return f"raidtui --on {on} prepare, which runs there: {shlex.join(argv)}" if argv else ""


def _split(text: str) -> tuple[str, str]:
    first, _, rest = text.partition(" ")
    return first, rest
