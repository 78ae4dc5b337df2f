"""The operator's settings: `config.toml` in the config folder. What is wrong in it is one notice, never an end."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from raidtui.base.text import clean

_MAX_BYTES = 1 << 20


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `config.toml`."""

    theme: str = ""
    """Name of a theme; empty: chosen for the terminal."""
    keys: dict[str, str] = {}
    """Keys by binding id: `"run.pause" = "p,space"`. `raidtui`'s `?` sheet lists the ids."""


def read_config(folder: Path) -> tuple[Config, str]:
    """The settings, and what was wrong with the file (empty: nothing)."""
    path = folder / "config.toml"
    try:
        with path.open("rb") as file:
            given: Any = tomllib.loads(file.read(_MAX_BYTES).decode())
        return msgspec.convert(given, Config), ""
    except FileNotFoundError:
        return Config(), ""
    except (OSError, ValueError, msgspec.ValidationError) as error:
        return Config(), f"{clean(path, 200)} was ignored: {clean(error, 300)}"
