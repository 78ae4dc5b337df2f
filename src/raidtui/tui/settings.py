"""Settings of the operator: the config file, and themes."""

from __future__ import annotations

import contextlib
import os
import re
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


def read_config(folder: Path) -> tuple[Config, tuple[str, ...]]:
    """Return the settings, and a sentence for each line or setting of the file that was ignored."""
    path = folder / "config.toml"
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode()
    except FileNotFoundError:
        return Config(), ()
    except (OSError, ValueError) as error:
        return Config(), (f"{clean(path, 200)} was ignored: {clean(error, 300)}",)
    values, wrong = _readable_lines(text)
    given: dict[str, str | dict[str, str]] = {}
    for name, value in values.items():
        if name == "theme" and isinstance(value, str):
            given[name] = value
        elif name == "keys" and isinstance(value, dict):
            given[name] = {key: keys for key, keys in value.items() if isinstance(keys, str)}
            wrong += [f"keys: {key!r} was ignored: a text of keys belongs there" for key in value if key not in given[name]]
        else:
            why = {"theme": "it has to be a text", "keys": "it has to be a table"}.get(name, "there is no such setting")
            wrong.append(f"{name!r} was ignored: {why}")
    return msgspec.convert(given, Config), tuple(f"config.toml: {clean(sentence, 300)}" for sentence in wrong)


_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


def _readable_lines(text: str) -> tuple[dict[str, Any], list[str]]:
    """Return the content of a TOML text without the lines that cannot be read, and a sentence for each of those."""
    lines = text.split("\n")
    wrong: list[str] = []
    while True:
        try:
            return tomllib.loads("\n".join(lines)), wrong
        except tomllib.TOMLDecodeError as error:
            place = _AT_LINE.search(str(error))
            last = max((number for number, line in enumerate(lines) if line.strip()), default=0)
            number = min(int(place[1]) - 1, last) if place and place[1] else last
            if not lines[number].strip():
                return {}, [*wrong, f"the file was ignored: {error}"]
            wrong.append(f"line {number + 1} was ignored: {lines[number].strip()[:80]}")
            lines[number] = ""


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
