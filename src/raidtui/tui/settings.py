"""Settings of the operator: the config file, and themes."""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from textual.color import Color, ColorParseError
from textual.theme import Theme

from raidtui.base.paths import shipped_folder
from raidtui.base.text import clean

_MAX_BYTES = 1 << 20


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `config.toml`."""

    theme: str = ""
    """Name of a theme; empty: chosen for the terminal."""
    keys: dict[str, str] = {}
    """Keys by binding id: `"run.pause" = "p,space"`. `raidtui`'s `?` sheet lists the ids."""


def read_config(folder: Path) -> tuple[Config, str]:
    """Return the settings, and the error of the file (empty if it has none)."""
    path = folder / "config.toml"
    try:
        return msgspec.convert(_toml(path), Config), ""
    except FileNotFoundError:
        return Config(), ""
    except (OSError, ValueError, msgspec.ValidationError) as error:
        return Config(), f"{clean(path, 200)} was ignored: {clean(error, 300)}"


DEFAULT = "raidtui-dark"
FEW_COLOURS = "ansi-16"
"""For terminals that have the sixteen ANSI colours and no more."""
_MANY_COLOURS = ("256color", "direct", "kitty", "alacritty", "ghostty", "foot", "wezterm", "contour", "rio")
"""Parts of TERM that promise 256 colours or more."""
_BAD = (OSError, ValueError, msgspec.ValidationError, ColorParseError)
"""Errors of a theme file that cannot be used."""


class ThemeFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of a theme file. Colours are `#rrggbb`, names, or `ansi_…` if `ansi` is true."""

    name: str
    primary: str
    dark: bool = True
    ansi: bool = False
    secondary: str | None = None
    warning: str | None = None
    error: str | None = None
    success: str | None = None
    accent: str | None = None
    foreground: str | None = None
    background: str | None = None
    surface: str | None = None
    panel: str | None = None
    variables: dict[str, str] = {}


def read_themes(own_folder: Path) -> tuple[list[Theme], str]:
    """Return all themes, the operator's last (they replace those of the same name), and one notice for all bad files."""
    themes: dict[str, Theme] = {}
    bad = []
    for path in _files(shipped_folder("themes"), own_folder / "themes"):
        try:
            theme = _read(path)
        except _BAD as error:
            bad.append(f"{clean(path.name, 80)}: {clean(error, 160)}")
        else:
            themes[theme.name] = theme
    return list(themes.values()), f"themes that could not be read: {'; '.join(bad)}" if bad else ""


def shipped_theme(wanted: str, own_folder: Path, env: Mapping[str, str] = os.environ) -> Theme | None:
    """Return the first theme, reading its file alone; None if all files have to be read, as for themes of the operator."""
    path = next((path for path in _files(shipped_folder("themes")) if path.stem == (wanted or _fitting(env))), None)
    if path is None or any(_files(own_folder / "themes")):
        return None
    with contextlib.suppress(*_BAD):
        return _read(path)
    return None


def choose(wanted: str, known: list[Theme], env: Mapping[str, str] = os.environ) -> str:
    """Return the name of the wanted theme if it is known, else of the one that fits the terminal."""
    names = {theme.name for theme in known}
    if wanted in names:
        return wanted
    return next((name for name in (_fitting(env), DEFAULT) if name in names), "textual-dark")


def _fitting(env: Mapping[str, str]) -> str:
    return FEW_COLOURS if few_colours(env) else DEFAULT


def few_colours(env: Mapping[str, str] = os.environ) -> bool:
    """Return True if the terminal reports at most sixteen ANSI colours."""
    # Over ssh COLORTERM is lost, but TERM is not.
    term, colorterm = env.get("TERM", ""), env.get("COLORTERM", "")
    return not any(name in term for name in _MANY_COLOURS) and colorterm not in ("truecolor", "24bit")


def _files(*folders: Path | None) -> Iterator[Path]:
    for folder in folders:
        if folder is not None and folder.is_dir():
            yield from sorted(folder.glob("*.toml"))


def _toml(path: Path) -> Any:
    with path.open("rb") as file:
        return tomllib.loads(file.read(_MAX_BYTES).decode())


def _read(path: Path) -> Theme:
    values = msgspec.structs.asdict(msgspec.convert(_toml(path), ThemeFile))
    for field, value in values.items():
        if isinstance(value, str) and field != "name":
            Color.parse(value)
    return Theme(**values)
