"""Directories of raidtui. As root everything is under /var and /run, never in a home directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import raidtui
from raidtui.base.files import private_folder

PACKAGE: Final = Path(raidtui.__file__).resolve().parent

ENTRY: Final = PACKAGE / "__main__.py"
"""File to start another raidtui process by path, where the package need not be installed: `python3 -I ENTRY engine`."""


def _home_relative(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    return Path(value) if value.startswith("/") else Path.home() / fallback


def state_folder() -> Path:
    """Return the folder of results and runs: `/var/lib/raidtui` for root, else `$XDG_STATE_HOME/raidtui`."""
    if os.geteuid() == 0 and not os.environ.get("XDG_STATE_HOME"):
        return private_folder(Path("/var/lib/raidtui"))
    return private_folder(_home_relative("XDG_STATE_HOME", ".local/state") / "raidtui")


def cache_folder() -> Path:
    """Return the folder of lab images: `$XDG_CACHE_HOME/raidtui`, `/var/cache/raidtui` for root."""
    if os.geteuid() == 0 and not os.environ.get("XDG_CACHE_HOME"):
        return private_folder(Path("/var/cache/raidtui"))
    return private_folder(_home_relative("XDG_CACHE_HOME", ".cache") / "raidtui")


def config_folder() -> Path:
    """Return the folder of the operator's settings and themes: `$XDG_CONFIG_HOME/raidtui`. It is never created here."""
    return _home_relative("XDG_CONFIG_HOME", ".config") / "raidtui"


def run_folder() -> Path:
    """Return the folder of locks and sockets: `/run/raidtui` for root, else under the user's runtime folder."""
    if os.geteuid() == 0:
        return private_folder(Path("/run/raidtui"))
    return private_folder(_home_relative("XDG_RUNTIME_DIR", ".cache") / "raidtui-run")


def shipped_folder(kind: str) -> Path | None:
    """Return the folder of the shipped `scenarios` or `themes`: inside an installed package, or beside it in a checkout."""
    inside, checkout = PACKAGE / "shipped" / kind, PACKAGE.parents[1] / kind
    return next((folder for folder in (inside, checkout) if folder.is_dir()), None)


def engine_python() -> str:
    """Return the system's Python if it can run the engine (only it has gi and the storage libraries), else this Python."""
    system = "/usr/bin/python3"
    # Looking for the folder is enough here; `doctor` checks thoroughly.
    if any(Path(system).parent.parent.glob("lib/python3/dist-packages/msgspec/__init__.py")):
        return system
    return sys.executable
