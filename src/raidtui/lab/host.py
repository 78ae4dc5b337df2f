"""This machine's side of a lab: the packages it needs, and progress lines for the operator."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from raidtui.base import proc
from raidtui.model.problem import Exit, Refusal, fail

LAB_PACKAGES: Final = Refusal(
    "lab.packages",
    "Packages for the lab are missing",
    "The lab needs QEMU, mmdebstrap and a few other Debian packages on this machine. They are installed automatically "
    "only as root, or with sudo after a question.",
    "Run the command that the message shows.",
)

LAB_TOOL_MISSING: Final = Refusal(
    "lab.tool-missing",
    "A program that the lab needs is missing",
    "QEMU, ssh or a program that builds the image is not installed on this machine.",
    "Install the package that the message names; as root, `raidtui lab up` installs what it needs.",
)

_DEBIAN_KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
_TOOLS: Final = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
    "chroot": "coreutils",
    "dpkg-deb": "dpkg",
}
PIP_INSTALL: Final = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--no-input",
                      "--disable-pip-version-check", "--root-user-action=ignore")  # fmt: skip
"""Arguments of a Python that puts libraries, and nothing that they need, into a folder (`--target`)."""
_APT_TIMEOUT_S: Final = 1800.0


def tool(name: str) -> str:
    """Return the path of a program. Raises ProblemError (`lab.tool-missing`)."""
    path = proc.find_tool(name)
    if path is None:
        raise fail(LAB_TOOL_MISSING, f"{name} is not installed", remedy=f"apt-get install {_TOOLS[name]}")
    return path


def python_with_pip() -> str | None:
    """Return a Python that can download packages: this one or the system's; None if neither has pip."""
    found = (python for python in (sys.executable, "/usr/bin/python3") if Path(python).exists())
    return next((p for p in found if proc.run([p, "-c", "import pip"], timeout_s=60, check=False).code == 0), None)


def missing_packages() -> list[str]:
    """Return the Debian packages that must be installed."""
    missing = {package for tool, package in _TOOLS.items() if proc.find_tool(tool) is None}
    if not Path(_DEBIAN_KEYRING).exists():
        missing.add("debian-archive-keyring")
    if python_with_pip() is None:
        missing.add("python3-pip")
    return sorted(missing)


def require_packages(say: Say) -> None:
    """Install what is missing: as root without a question, with sudo after one on a terminal, else a ProblemError."""
    missing = missing_packages()
    if not missing:
        return
    apt = proc.find_tool("apt-get")
    install = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    by_hand = fail(LAB_PACKAGES, f"the lab needs packages that are not installed: {', '.join(missing)}",
                   exit=Exit.REFUSED, remedy=f"sudo {' '.join(install)}")  # fmt: skip
    if apt is None:
        raise by_hand
    prefix: list[str] = []
    if os.geteuid() != 0:
        sudo = proc.find_tool("sudo")
        if sudo is None or not sys.stdin.isatty():
            raise by_hand
        say(f"the lab needs packages that are not installed: {', '.join(missing)}")
        print("Install them with sudo now? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise by_hand
        prefix = [sudo]
    say(f"installing {', '.join(missing)}")
    env = proc.CLEAN_ENV | {"DEBIAN_FRONTEND": "noninteractive"}
    env |= {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}
    try:
        # Package lists may be missing or too old.
        proc.run([*prefix, apt, "-q", "update"], timeout_s=_APT_TIMEOUT_S, env=env, check=False)
        proc.run([*prefix, apt, "-q", *install[1:]], timeout_s=_APT_TIMEOUT_S, env=env)
    except proc.ToolError as error:
        raise fail(LAB_PACKAGES, f"packages cannot be installed: {error.reason[-500:]}", exit=Exit.REFUSED,
                   remedy=f"sudo {' '.join(install)}") from error  # fmt: skip


Say = Callable[[str], None]
"""Prints a progress line; the argument has no line break."""


def silent(line: str) -> None:
    """Discard a progress line."""


def timed(say: Say) -> Say:
    """Return `say` with the seconds since this call before every line."""
    began = time.monotonic()
    return lambda line: say(f"[{time.monotonic() - began:5.1f} s] {line}")
